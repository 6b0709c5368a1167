"""Compiled loops that encode labels, pack them into bit planes and count pairs of labels.

Every kernel takes arrays, fills in or returns arrays, counts in integers and releases the GIL. No
kernel starts threads; its callers run in parallel. With ``NUMBA_DISABLE_JIT=1`` kernels run as
plain Python. The same holds for `secateurs.outputs.vote_kernels`.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from secateurs.outputs.compiling import inlined, kernel

WORD_BITS = 64
_TILE_WORDS = 2048  # 16 KiB: one tile of each of two planes stays in the first-level cache
_FOUR_TILE_WORDS = 1024  # 8 KiB: tiles of five planes stay in the first-level cache


def popcount(word):
    """Return the number of bits set in a 64-bit word."""
    return int(word).bit_count()


@intrinsic
def _popcount_intrinsic(typing_context, word):
    def emit_popcount(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), emit_popcount


@overload(popcount)
def _compiled_popcount(word):
    return lambda word: _popcount_intrinsic(word)  # noqa: PLW0108 (numba needs a function)


@kernel
def mark_present(values, low, seen):
    """Set ``seen[v - low]`` for every value v of a 2-D integer array."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            seen[np.int64(values[row, column]) - low] = True


@kernel
def look_up_codes(values, low, table, codes):
    """Fill codes with ``table[v - low]`` for every value v of a 2-D integer array."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            codes[row, column] = table[np.int64(values[row, column]) - low]


@kernel
def pack_rows(codes, planes, first_word):
    """Write a block of codes (samples × members) into the planes, starting at ``first_word``.

    ``planes`` is (members, classes - 1, words); the last class has no plane. A block starts at a
    word boundary, and only the last block may end inside a word.
    """
    n_rows, n_members = codes.shape
    words = np.empty(n_members, dtype=np.uint64)
    for block in range((n_rows + WORD_BITS - 1) // WORD_BITS):
        first = block * WORD_BITS
        last = min(n_rows, first + WORD_BITS)
        for label in range(planes.shape[1]):
            words[:] = np.uint64(0)
            for row in range(first, last):
                shift = np.uint64(row - first)
                for member in range(n_members):
                    bit = np.uint64(codes[row, member] == label)
                    words[member] |= bit << shift
            for member in range(n_members):
                planes[member, label, first_word + block] = words[member]


@kernel
def append_bits(planes, n_bits, joined):
    """OR the planes into ``joined``, shifted by ``n_bits`` bits."""
    first_word = n_bits // WORD_BITS
    shift = np.uint64(n_bits % WORD_BITS)
    back = np.uint64(WORD_BITS) - shift
    for member in range(planes.shape[0]):
        for label in range(planes.shape[1]):
            for word in range(planes.shape[2]):
                bits = planes[member, label, word]
                if bits != 0:  # padding words are empty, and ``joined`` may have none
                    joined[member, label, first_word + word] |= bits << shift
                    if shift > 0 and bits >> back != 0:
                        joined[member, label, first_word + word + 1] |= bits >> back


@kernel
def copy_rows(table, rows, copies, targets):
    """Copy some rows of a table to the target rows of another table."""
    # The start of each row is slow, so that four rows are copied side by side.
    n_together = rows.size // 4 * 4
    for i in range(0, n_together, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        to_a, to_b, to_c, to_d = targets[i], targets[i + 1], targets[i + 2], targets[i + 3]
        for column in range(table.shape[1]):
            copies[to_a, column] = table[a, column]
            copies[to_b, column] = table[b, column]
            copies[to_c, column] = table[c, column]
            copies[to_d, column] = table[d, column]
    for i in range(n_together, rows.size):
        for column in range(table.shape[1]):
            copies[targets[i], column] = table[rows[i], column]


@inlined
def joint_count(plane, other):
    """Return the number of samples set in both planes."""
    # LLVM vectorises a loop over a complete array, but not over a range with other bounds; this
    # is a factor of eight (docs/decisions/0001-bit-planes-and-bytes.md).
    total = np.uint64(0)
    for word in range(plane.size):
        total += popcount(plane[word] & other[word])
    return total


@kernel
def count_joint_planes(planes, others, tables):
    """Count the samples of each pair of labels, except the last label, which has no plane.

    Adds to ``tables[i, j, a, b]`` for label a of member i and label b of member j of ``others``.
    """
    n_words = planes.shape[2]
    for first in range(0, n_words, _TILE_WORDS):
        last = min(n_words, first + _TILE_WORDS)
        for j in range(others.shape[0]):
            for i in range(planes.shape[0]):
                for a in range(planes.shape[1]):
                    plane = planes[i, a, first:last]
                    for b in range(others.shape[1]):
                        tables[i, j, a, b] += joint_count(plane, others[j, b, first:last])


@inlined
def _joint_counts_of_four(first, second, third, fourth, other):
    """Return the numbers of samples set in each of four planes and in a fifth plane."""
    total = total_2 = total_3 = total_4 = np.uint64(0)
    for word in range(other.size):
        bits = other[word]
        total += popcount(first[word] & bits)
        total_2 += popcount(second[word] & bits)
        total_3 += popcount(third[word] & bits)
        total_4 += popcount(fourth[word] & bits)
    return total, total_2, total_3, total_4


@kernel
def count_four_by_four(planes, others, counts):
    """Fill in the number of samples set in each of at least four planes and each other plane.

    Four planes are counted for each word that is read, which takes half of the time of
    `count_joint_planes` (docs/decisions/0001-bit-planes-and-bytes.md).
    """
    n_planes, n_words = planes.shape
    for start in range(0, n_planes, 4):
        i = min(start, n_planes - 4)  # the last four may include planes that are counted already
        for first in range(0, n_words, _FOUR_TILE_WORDS):
            last = min(n_words, first + _FOUR_TILE_WORDS)
            one, two = planes[i, first:last], planes[i + 1, first:last]
            three, four = planes[i + 2, first:last], planes[i + 3, first:last]
            for j in range(others.shape[0]):
                if first == 0:
                    counts[i, j] = counts[i + 1, j] = counts[i + 2, j] = counts[i + 3, j] = 0
                found = _joint_counts_of_four(one, two, three, four, others[j, first:last])
                counts[i, j] += found[0]
                counts[i + 1, j] += found[1]
                counts[i + 2, j] += found[2]
                counts[i + 3, j] += found[3]


@kernel
def count_joint_codes(codes, others, tables):
    """Count the samples of each pair of labels by a histogram, which is faster for many classes."""
    for i in range(codes.shape[0]):
        for j in range(others.shape[0]):
            table = tables[i, j]
            for sample in range(codes.shape[1]):
                table[codes[i, sample], others[j, sample]] += 1


@inlined
def _distance(cell_sum, n_agreed, n_samples, log_n, entropies, relevances, weight):  # noqa: PLR0917
    """Return the TDAC of two members, with the operations of `secateurs.measures.information`.

    ``cell_sum`` is the sum of count · log₂ count over their table of label pairs; ``entropies`` and
    ``relevances`` are the sums of both members.
    """
    if n_agreed == n_samples:
        return 0.0
    joint = 0.0 if cell_sum == n_samples * log_n else log_n - cell_sum / n_samples
    ratio = entropies / joint if joint != 0 else 2.0
    diversity = min(max(2 - ratio, 0.0), 1.0)
    return weight * diversity + (1 - weight) * (relevances / 2)


@kernel
def distances_of_cells(tables, values, log_n, first, second, weight, distances):  # noqa: PLR0917
    """Fill in the TDAC of pairs of members from their tables of label pairs.

    ``values[count]`` is count · log₂ count, and ``log_n`` is log₂ of the number of samples.
    ``first`` and ``second`` are the entropies and the relevances (2, members) of both sides.
    """
    n_samples = values.size - 1
    for i in range(tables.shape[0]):
        for j in range(tables.shape[1]):
            total, n_agreed = 0.0, 0
            for a in range(tables.shape[2]):
                n_agreed += tables[i, j, a, a]
                for b in range(tables.shape[3]):
                    total += values[tables[i, j, a, b]]
            entropies, relevances = first[0, i] + second[0, j], first[1, i] + second[1, j]
            distances[i, j] = _distance(
                total, n_agreed, n_samples, log_n, entropies, relevances, weight
            )


@kernel
def distances_from_member(  # noqa: PLR0917
    member, planes, sizes, values, log_n, profile, weight, table, distances
):
    """Fill in the TDAC of one member to all members, as `distances_of_cells`, from their planes.

    ``sizes`` (members, classes) are the numbers of votes for each class, ``profile`` the entropies
    and the relevances, and ``table`` (classes, classes) is memory for the counts of one pair.
    Without tables of all pairs, a step of a search is little more than reading the planes.
    """
    n_samples, n_planes = values.size - 1, planes.shape[1]
    for other in range(planes.shape[0]):
        for b in range(n_planes + 1):
            table[n_planes, b] = sizes[other, b]
        for a in range(n_planes):
            table[a, n_planes] = sizes[member, a]
            for b in range(n_planes):
                count = np.int64(joint_count(planes[member, a], planes[other, b]))
                table[a, b] = count
                table[a, n_planes] -= count
                table[n_planes, b] -= count
            table[n_planes, n_planes] -= table[a, n_planes]
        total, n_agreed = 0.0, 0
        for a in range(n_planes + 1):
            n_agreed += table[a, a]
            for b in range(n_planes + 1):
                total += values[table[a, b]]
        entropies = profile[0, member] + profile[0, other]
        relevances = profile[1, member] + profile[1, other]
        distances[other] = _distance(
            total, n_agreed, n_samples, log_n, entropies, relevances, weight
        )
