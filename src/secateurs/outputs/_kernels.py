"""Counting, compiled: bit planes, popcounts, histograms and vote tallies.

Every kernel takes arrays, fills or returns arrays, counts in integers and releases the GIL. None
uses threads: parallelism lives above. With ``NUMBA_DISABLE_JIT=1`` they run as plain Python.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

WORD_BITS = 64
_TILE_WORDS = 2048  # 16 KiB of a plane: one tile of each side stays in the first-level cache


def popcount(word):
    """Count the bits set in a 64-bit word."""
    return int(word).bit_count()


@intrinsic
def _ctpop(typing_context, word):
    def emit(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), emit


@overload(popcount)
def _compiled_popcount(word):
    return lambda word: _ctpop(word)  # noqa: PLW0108 (numba wants a function)


@njit(nogil=True, cache=True)
def mark_present(values, low, seen):
    """Set ``seen[v - low]`` for every value v of a 2-D integer array."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            seen[np.int64(values[row, column]) - low] = True


@njit(nogil=True, cache=True)
def look_up(values, low, table, codes):
    """Fill codes with ``table[v - low]`` for every value v of a 2-D integer array."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            codes[row, column] = table[np.int64(values[row, column]) - low]


@njit(nogil=True, cache=True)
def pack_rows(codes, planes, first_word):
    """Write a block of coded rows (rows × members) into the planes, from one word on.

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


@njit(nogil=True, cache=True)
def append_bits(planes, n_bits, joined):
    """OR planes into joined, moved ``n_bits`` places on."""
    first_word = n_bits // WORD_BITS
    shift = np.uint64(n_bits % WORD_BITS)
    back = np.uint64(WORD_BITS) - shift
    for member in range(planes.shape[0]):
        for label in range(planes.shape[1]):
            for word in range(planes.shape[2]):
                bits = planes[member, label, word]
                if bits != 0:  # words beyond the last sample are empty and have no place
                    joined[member, label, first_word + word] |= bits << shift
                    if shift > 0 and bits >> back != 0:
                        joined[member, label, first_word + word + 1] |= bits >> back


@njit(nogil=True, cache=True)
def copy_rows(table, rows, other, places):
    """Copy some rows to places of another table, four side by side: each is slow to begin."""
    n_together = rows.size // 4 * 4
    for i in range(0, n_together, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        to_a, to_b, to_c, to_d = places[i], places[i + 1], places[i + 2], places[i + 3]
        for column in range(table.shape[1]):
            other[to_a, column] = table[a, column]
            other[to_b, column] = table[b, column]
            other[to_c, column] = table[c, column]
            other[to_d, column] = table[d, column]
    for i in range(n_together, rows.size):
        other[places[i]] = table[rows[i]]


@njit(nogil=True, cache=True)
def plane_sizes(planes, sizes):
    """Count the bits of each plane."""
    for member in range(planes.shape[0]):
        for label in range(planes.shape[1]):
            plane = planes[member, label]
            sizes[member, label] = joint_count(plane, plane)


@njit(nogil=True, cache=True)
def joint_count(plane, other):
    """Number of samples set in both planes (whole arrays: a bounded range would not vectorise)."""
    total = np.uint64(0)
    for word in range(plane.size):
        total += popcount(plane[word] & other[word])
    return total


@njit(nogil=True, cache=True)
def joint_planes(planes, others, tables):
    """Count the samples set in each pair of planes.

    Fills ``tables[i, j, a, b]`` for plane a of member i and plane b of the other side's member j.
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


@njit(nogil=True, cache=True)
def complete_tables(sizes, other_sizes, tables):
    """Fill the last row and column of each table, which follow from the class sizes."""
    last = tables.shape[2] - 1
    for i in range(tables.shape[0]):
        for j in range(tables.shape[1]):
            for a in range(last):
                known = 0
                for b in range(last):
                    known += tables[i, j, a, b]
                tables[i, j, a, last] = sizes[i, a] - known
            for b in range(last + 1):
                known = 0
                for a in range(last):
                    known += tables[i, j, a, b]
                tables[i, j, last, b] = other_sizes[j, b] - known


@njit(nogil=True, cache=True)
def sum_of_cells(tables, values, sums):
    """Add up ``values[count]`` over the cells of each table, always in the same order."""
    sums[:] = 0.0
    for i in range(tables.shape[0]):
        for a in range(tables.shape[2]):
            for b in range(tables.shape[3]):
                for j in range(tables.shape[1]):
                    sums[i, j] += values[tables[i, j, a, b]]


@njit(nogil=True, cache=True)
def joint_codes(codes, others, tables):
    """Count the samples of each pair of labels by histogram: the way for many classes."""
    for i in range(codes.shape[0]):
        for j in range(others.shape[0]):
            table = tables[i, j]
            for sample in range(codes.shape[1]):
                table[codes[i, sample], others[j, sample]] += 1


@njit(nogil=True, cache=True)
def plane_outcomes(planes, outcomes, counts):
    """Count, for each member, the samples whose vote leads to each outcome, from planes.

    ``outcomes[c, n]`` is where a vote for class c on sample n leads. One plane is made of each
    outcome and class; a member's votes for the last class are all those not in its planes.
    """
    n_classes, n_samples = outcomes.shape
    n_words = planes.shape[2]
    bits = np.zeros((counts.shape[1], n_classes, n_words), dtype=np.uint64)
    seen = np.zeros(counts.shape[1], dtype=np.bool_)
    for label in range(n_classes):
        for sample in range(n_samples):
            outcome = outcomes[label, sample]
            seen[outcome] = True
            bit = np.uint64(1) << np.uint64(sample % WORD_BITS)
            bits[outcome, label, sample // WORD_BITS] |= bit
    counts[:, 0] = n_samples
    for outcome in range(1, counts.shape[1]):
        if seen[outcome]:
            last = bits[outcome, n_classes - 1]
            everywhere = np.int64(joint_count(last, last))
            for member in range(planes.shape[0]):
                total = everywhere
                for label in range(n_classes - 1):
                    plane = planes[member, label]
                    total += np.int64(joint_count(plane, bits[outcome, label]))
                    total -= np.int64(joint_count(plane, last))
                counts[member, outcome] = total
                counts[member, 0] -= total


@njit(nogil=True, cache=True)
def code_outcomes(codes, outcomes, counts):
    """Count, for each member, the samples whose vote leads to each outcome, from codes."""
    for member in range(codes.shape[0]):
        for sample in range(codes.shape[1]):
            counts[member, outcomes[codes[member, sample], sample]] += 1


@njit(nogil=True, cache=True)
def agreement_planes(planes, truth, agreed):
    """Fill agreed (members, 1, words) with where each member's label equals the truth's.

    ``truth`` (classes, words) has a plane for every class, the last one included.
    """
    last = planes.shape[1]
    for member in range(planes.shape[0]):
        for word in range(planes.shape[2]):
            bits = np.uint64(0)
            others = np.uint64(0)
            for label in range(last):
                bits |= planes[member, label, word] & truth[label, word]
                others |= planes[member, label, word]
            agreed[member, 0, word] = bits | (truth[last, word] & ~others)


@njit(nogil=True, cache=True)
def tally_votes(codes, step, tally):
    """Add ``step`` to the tally (samples × classes) for each vote; missing ones do not count."""
    n_classes = tally.shape[1]
    for member in range(codes.shape[0]):
        for sample in range(codes.shape[1]):
            code = codes[member, sample]
            if code < n_classes:
                tally[sample, code] += step


@njit(nogil=True, cache=True)
def right_votes(planes, truth, right):
    """Mark the samples on which the vote is right; ties go to the lowest class.

    Votes for a class are counted for 64 samples at once, in words of which each holds one binary
    digit of the counts. ``truth`` has a plane for each class; a class without a plane of its own
    has what the others leave: of two classes it wins where the other has less than half.
    """
    n_members, n_planes, n_words = planes.shape
    n_digits = 1
    while n_members >> n_digits:
        n_digits += 1
    best = np.zeros((n_digits, n_words), dtype=np.uint64)
    count = np.empty((n_digits, n_words), dtype=np.uint64)
    carry = np.empty(n_words, dtype=np.uint64)
    right[:] = truth[0]
    for label in range(truth.shape[0]):
        if label == 1 and n_planes == 1:
            for digit in range(n_digits):
                is_set = (n_members + 1) // 2 >> digit & 1
                count[digit] = ~np.uint64(0) if is_set else np.uint64(0)
            _keep_larger(count, truth[1], best, right)
            break
        count[:] = np.uint64(0)
        for member in range(n_members):
            if label < n_planes:
                carry[:] = planes[member, label]
            else:
                carry[:] = ~np.uint64(0)
                for other in range(n_planes):
                    _without(planes[member, other], carry)
            for digit in range(n_digits):
                if (member + 1) >> digit:
                    _add_digit(count[digit], carry)
        _keep_larger(count, truth[label], best, right)


@njit(nogil=True, cache=True)
def _without(plane, carry):
    """Clear the bits of a plane."""
    for word in range(plane.size):
        carry[word] &= ~plane[word]


@njit(nogil=True, cache=True)
def _add_digit(digit, carry):
    """Add what is carried to one digit of many counts; what is left over is carried on."""
    for word in range(digit.size):
        both = digit[word] & carry[word]
        digit[word] ^= carry[word]
        carry[word] = both


@njit(nogil=True, cache=True)
def _keep_larger(count, truth, best, right):
    """Where counts are larger than the best so far, put them in its place, and the truth."""
    for word in range(right.size):
        more = np.uint64(0)
        equal = ~np.uint64(0)
        for digit in range(count.shape[0] - 1, -1, -1):
            more |= equal & count[digit, word] & ~best[digit, word]
            equal &= ~(count[digit, word] ^ best[digit, word])
        for digit in range(count.shape[0]):
            best[digit, word] = (best[digit, word] & ~more) | (count[digit, word] & more)
        right[word] = (right[word] & ~more) | (truth[word] & more)


@njit(nogil=True, cache=True)
def winners(tally, winner):
    """Find the class with the most votes, the lowest one of tied classes."""
    for sample in range(tally.shape[0]):
        best = 0
        for label in range(1, tally.shape[1]):
            if tally[sample, label] > tally[sample, best]:
                best = label
        winner[sample] = best


@njit(nogil=True, cache=True)
def n_sharing(tally, label):
    """Count the classes that share the win with one; 0 where it lost."""
    tied = 0
    for other in range(tally.size):
        if tally[other] > tally[label]:
            return 0
        tied += tally[other] == tally[label]
    return tied


@njit(nogil=True, cache=True)
def shares(tally, y, share):
    """Find how many classes share the win with the true one; 0 where the true one lost."""
    for sample in range(tally.shape[0]):
        share[sample] = n_sharing(tally[sample], y[sample])


@njit(nogil=True, cache=True)
def share_counts(tally, y, counts):
    """Count the samples by how many classes share the win with the true one."""
    for sample in range(tally.shape[0]):
        counts[n_sharing(tally[sample], y[sample])] += 1


@njit(nogil=True, cache=True)
def flip_rounds(flips, codes, y, repeats, weights, most, chosen, tally):  # noqa: PLR0917
    """Let members join or leave, round by round, and take back what is worth less than before.

    ``flips`` (rounds, members) says who; ``repeats`` how often each sample occurs; ``weights`` what
    one is worth on which so many classes share the win with the true one. Nobody, and more than
    ``most`` members, are worth least. Updates the mask and the tally.
    """
    worth = _worth(tally, y, repeats, weights)
    for turn in range(flips.shape[0]):
        if not flips[turn].any():
            continue
        _flip(flips[turn], codes, chosen, tally)
        after = np.int64(-1)
        if 0 < chosen.sum() <= most:
            after = _worth(tally, y, repeats, weights)
        if after < worth:
            _flip(flips[turn], codes, chosen, tally)
        else:
            worth = after


@njit(nogil=True, cache=True)
def _worth(tally, y, repeats, weights):
    worth = np.int64(0)
    for sample in range(y.size):
        worth += repeats[sample] * weights[n_sharing(tally[sample], y[sample])]
    return worth


@njit(nogil=True, cache=True)
def _flip(flips, codes, chosen, tally):
    for member in range(flips.size):
        if flips[member]:
            tally_votes(codes[member : member + 1], -1 if chosen[member] else 1, tally)
            chosen[member] = not chosen[member]


@njit(nogil=True, cache=True)
def outcomes_lowest(tally, y, outcomes):
    """Say for each class and sample whether the vote is right (1) after one more vote for it.

    The winner-update rule with ties to the lowest class: with top count m and winner w, one more
    vote for c wins if it passes m, or reaches it and c < w; otherwise w stays.
    """
    n_samples, n_classes = tally.shape
    for sample in range(n_samples):
        winner = 0
        for label in range(1, n_classes):
            if tally[sample, label] > tally[sample, winner]:
                winner = label
        top = tally[sample, winner]
        for label in range(n_classes):
            count = tally[sample, label] + 1
            after = label if count > top or (count == top and label < winner) else winner
            outcomes[label, sample] = after == y[sample]


@njit(nogil=True, cache=True)
def outcomes_shared(tally, y, added, removed):  # noqa: PLR0912 (one case a branch)
    """Say for each class and sample how many classes share the win with the true one.

    ``added`` is for one more vote for the class, ``removed`` for one vote less (undefined where
    the class has none); 0 means that the true class loses.
    """
    n_samples, n_classes = tally.shape
    for sample in range(n_samples):
        truth = y[sample]
        top, n_top, second, n_second = -1, 0, -1, 0
        for label in range(n_classes):
            count = tally[sample, label]
            if count > top:
                second, n_second = top, n_top
                top, n_top = count, 1
            elif count == top:
                n_top += 1
            elif count > second:
                second, n_second = count, 1
            elif count == second:
                n_second += 1
        stays = n_top if tally[sample, truth] == top else 0
        for label in range(n_classes):
            count = tally[sample, label]
            if count + 1 > top:
                added[label, sample] = 1 if label == truth else 0
            elif count + 1 == top:
                won = label == truth or stays > 0
                added[label, sample] = n_top + 1 if won else 0
            else:
                added[label, sample] = stays
            if count < top:
                removed[label, sample] = stays
            elif n_top > 1:
                removed[label, sample] = n_top - 1 if stays > 0 and label != truth else 0
            elif top - 1 > second:
                removed[label, sample] = 1 if label == truth else 0
            else:
                won = label == truth or tally[sample, truth] == second
                removed[label, sample] = n_second + 1 if won else 0


@njit(nogil=True, cache=True)
def walk_tree(  # noqa: PLR0917
    values, n_features, features, thresholds, children, leaf_codes, codes
):
    """Send rows down a tree and fill codes with the codes of the leaves they end in.

    ``values`` are the rows one after the other; a row goes to ``children[2·node]`` where its value
    is at most the threshold, else to the next one; a leaf's children are itself. Some rows walk
    side by side, so that one waits for memory while others go on, and nothing is guessed;
    unsigned indices spare the check for negative ones.
    """
    side = 16
    nodes = np.zeros(side, dtype=np.uintp)
    starts = np.zeros(side, dtype=np.uintp)
    for first in range(0, codes.size, side):
        n_rows = min(side, codes.size - first)
        for row in range(n_rows):
            nodes[row] = np.uintp(0)
            starts[row] = np.uintp((first + row) * n_features)
        moved = np.uintp(1)
        while moved != np.uintp(0):
            moved = np.uintp(0)
            for row in range(n_rows):
                node = nodes[row]
                value = values[starts[row] + np.uintp(features[node])]
                step = np.uintp(0) if value <= thresholds[node] else np.uintp(1)
                child = np.uintp(children[(node << np.uintp(1)) + step])
                moved |= child ^ node
                nodes[row] = child
        for row in range(n_rows):
            codes[first + row] = leaf_codes[nodes[row]]
