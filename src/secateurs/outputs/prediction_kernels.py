"""Compiled loops over predictions in fixed point: products of errors, added up in 64 bits.

The rules of `secateurs.outputs.bit_kernels` hold: arrays in, integers out, no threads, and plain
Python with ``NUMBA_DISABLE_JIT=1``.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from secateurs.outputs.compiling import inlined, kernel

_BLOCK = 1 << 17  # numbers that stay in the cache while others are read (256 KiB)
_TURN = 32  # samples in one turn of `dot_four`'s loop: two vectors of 16 numbers of 16 bits
_HALF = _TURN // 2


def dot_four(errors, index, component, table, members, place, first, last, sums):  # noqa: PLR0917
    """Add the dot products of one row of errors with four members, up to the last complete turn.

    The members are ``members[place:place + 4]``, and their sums ``sums[index, place:place + 4]``.
    Numbers have 16 bits and are at most 2**14. Four members are read side by side, because a
    single one does not use the full memory bandwidth.
    """
    last = first + (last - first) // _TURN * _TURN
    for i in range(place, place + 4):
        for sample in range(first, last):
            error = np.int64(errors[index, component, sample])
            sums[index, i] += error * np.int64(table[members[i], component, sample])


@intrinsic
def _dot_four(  # noqa: PLR0917
    typing_context, errors, index, component, table, members, place, first, last, sums
):
    """Multiply 16 × 16 bits and add neighbours in 32 bits, which processors do in one step.

    LLVM does not compile a plain loop to this instruction, so it is written by hand. Sums of four
    products of at most 2**28 fit into 32 bits. Addresses are computed here, because compiling
    slices of arrays would take longer than all the rest.
    """
    word, wide = ir.IntType(16), ir.IntType(64)
    words = ir.VectorType(word, _HALF)
    products = ir.VectorType(ir.IntType(32), _HALF)
    totals = ir.VectorType(wide, _HALF // 2)

    def emit_dot_four(context, builder, signature, args):
        one, cells, chosen, out = (
            context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 3, 4, 8)
        )
        row, label = args[1:3]
        position, start, stop = args[5:8]

        def wide_constant(value):
            return ir.Constant(wide, value)

        def lane_indices(lane):
            return ir.Constant(
                ir.VectorType(ir.IntType(32), _HALF // 2), list(range(lane, _HALF, 2))
            )

        def address(array, *indices):
            offset = wide_constant(0)
            for index, stride in zip(
                indices, cgutils.unpack_tuple(builder, array.strides), strict=True
            ):
                offset = builder.add(offset, builder.mul(index, stride))
            base = builder.bitcast(array.data, ir.IntType(8).as_pointer())
            return builder.bitcast(builder.gep(base, [offset]), array.data.type)

        def load_widened(pointer, index):
            run = builder.bitcast(builder.gep(pointer, [index]), words.as_pointer())
            return builder.sext(builder.load(run, align=2), products)

        def add_neighbours(left, right):
            product, unused = builder.mul(left, right), ir.Constant(products, ir.Undefined)
            even = builder.shuffle_vector(product, unused, lane_indices(0))
            return builder.add(even, builder.shuffle_vector(product, unused, lane_indices(1)))

        columns = [builder.add(position, wide_constant(i)) for i in range(4)]
        error_run = address(one, row, label, start)
        runs = [
            address(cells, builder.load(address(chosen, column)), label, start)
            for column in columns
        ]
        zeros = ir.Constant(totals, [0] * (_HALF // 2))
        run_totals = [cgutils.alloca_once_value(builder, zeros) for _ in runs]
        for total in run_totals:
            builder.store(zeros, total)
        size = builder.sub(stop, start)
        n_complete = builder.mul(builder.sdiv(size, wide_constant(_TURN)), wide_constant(_TURN))
        turns = cgutils.for_range_slice(
            builder, wide_constant(0), n_complete, wide_constant(_TURN), wide
        )
        with turns as (turn_start, _):
            second = builder.add(turn_start, wide_constant(_HALF))
            left = [load_widened(error_run, turn_start), load_widened(error_run, second)]
            for run, total in zip(runs, run_totals, strict=True):
                first_half = add_neighbours(left[0], load_widened(run, turn_start))
                turn = builder.add(first_half, add_neighbours(left[1], load_widened(run, second)))
                builder.store(builder.add(builder.load(total), builder.sext(turn, totals)), total)
        for column, total in zip(columns, run_totals, strict=True):
            target = address(out, row, column)
            lanes, result = builder.load(total), builder.load(target)
            for lane in range(_HALF // 2):
                index = ir.Constant(ir.IntType(32), lane)
                result = builder.add(result, builder.extract_element(lanes, index))
            builder.store(result, target)
        return context.get_dummy_value()

    integers = (types.int64,) * 3
    arguments = errors, *integers[:2], table, members, *integers, sums
    return types.void(*arguments), emit_dot_four


@overload(dot_four)
def _compiled_dot_four(  # noqa: PLR0917
    errors, index, component, table, members, place, first, last, sums
):
    def compiled(  # noqa: PLR0917
        errors, index, component, table, members, place, first, last, sums
    ):
        _dot_four(errors, index, component, table, members, place, first, last, sums)

    return compiled


@kernel
def add_dot_products(errors, table, members, starts, sums):
    """Add the dot products of errors with members of a table to ``sums[row, place]``.

    ``errors`` is (rows, components, samples). The member ``members[place]`` is multiplied with the
    rows from ``starts[place]`` on; sums of rows before it are undefined. There is a multiple of
    four members, and starts are ascending. Numbers have 16 bits and are at most 2**14; the samples
    of a row and of a member are contiguous.
    """
    n_rows, n_components, n_samples = errors.shape
    # Blocks of complete turns, so that one block of all rows stays in the cache.
    # Not max(), which Numba compiles as a function of its own.
    n_block = _BLOCK // (n_rows if n_rows > 0 else 1) // _TURN * _TURN
    n_block = n_block if n_block > 64 * _TURN else 64 * _TURN
    for first in range(0, n_samples, n_block):
        last = min(n_samples, first + n_block)
        for component in range(n_components):
            for place in range(0, members.size, 4):
                for row in range(starts[place], n_rows):
                    dot_four(errors, row, component, table, members, place, first, last, sums)
    # Unsigned indices avoid Numba's test for negative ones, which takes long to compile.
    for place in range(np.uintp(members.size)):
        member = np.uintp(members[place])
        for row in range(np.uintp(starts[place]), np.uintp(n_rows)):
            total = np.int64(0)
            for component in range(np.uintp(n_components)):
                for sample in range(np.uintp(n_samples // _TURN * _TURN), np.uintp(n_samples)):
                    error = np.int64(errors[row, component, sample])
                    total += error * np.int64(table[member, component, sample])
            sums[row, place] += total


@inlined
def cell_error(cell, true, shift, missing):
    """Return the error of a cell, in 32 bits for faster products; 0 if the cell is missing."""
    error = np.int32(np.int64(cell >> shift) - np.int64(true))
    return error if cell != missing else np.int32(0)


@inlined
def error_dot(errors, cells, truth, shift, missing):
    """Return the sum of products of errors with one member's errors; missing cells count 0."""
    total = np.int64(0)
    for i in range(errors.size):
        error = cell_error(cells[i], truth[i], shift, missing)
        total += np.int64(errors[i]) * np.int64(error)
    return total


@inlined
def error_square(cells, truth, shift, missing):
    """Return the sum of squared errors of one member; missing cells count 0."""
    total = np.int64(0)
    for i in range(cells.size):
        error = np.int64(cell_error(cells[i], truth[i], shift, missing))
        total += error * error
    return total


@kernel
def error_dots(errors, cells, truth, shift, missing, sums):  # noqa: PLR0917
    """Add the products of one member's errors with the errors of each member to sums.

    ``errors`` (components, samples) are 0 where the one member's prediction is missing. The errors
    of ``cells`` (members, components, samples) are the cells, shifted to the right, minus the truth
    (components, samples).
    """
    n_samples = errors.shape[1]
    for first in range(0, n_samples, _BLOCK):
        last = min(n_samples, first + _BLOCK)
        for component in range(errors.shape[0]):
            block = errors[component, first:last]
            true = truth[component, first:last]
            for member in range(cells.shape[0]):
                run = cells[member, component, first:last]
                sums[member] += error_dot(block, run, true, shift, missing)


@kernel
def error_squares(cells, truth, shift, missing, sums):
    """Add the sum of squared errors of each member to sums."""
    for member in range(cells.shape[0]):
        for component in range(cells.shape[1]):
            run = cells[member, component]
            sums[member] += error_square(run, truth[component], shift, missing)


@kernel
def largest_error(cells, truth, shift, missing):
    """Return the largest absolute error of all members."""
    largest = np.int64(0)
    for member in range(cells.shape[0]):
        for component in range(cells.shape[1]):
            run, true = cells[member, component], truth[component]
            for sample in range(run.size):
                error = np.int64(cell_error(run[sample], true[sample], shift, missing))
                largest = max(largest, abs(error))
    return largest
