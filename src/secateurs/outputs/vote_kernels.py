"""Compiled loops that walk decision trees and count votes: tallies, winners, ties, outcomes."""

import numpy as np

from secateurs.outputs.bit_kernels import WORD_BITS, joint_count
from secateurs.outputs.compiling import inlined, kernel


@kernel
def walk_tree(values, n_features, features, thresholds, children, leaves):  # noqa: PLR0917
    """Fill in the leaves that samples reach in a decision tree.

    ``values`` are the samples one after another. A sample goes from a node to ``children[2·node]``
    if its value is at most the threshold, else to ``children[2·node + 1]``; a leaf's children are
    itself. Sixteen samples are walked side by side, so that one waits for memory while others go
    on, and no branch is mispredicted (docs/decisions/0007-collecting-votes.md).
    """
    side = 16
    width = np.uintp(n_features)  # unsigned indices avoid Numba's test for negative ones
    for first in range(0, leaves.size, side):
        # Not min(), which Numba compiles as a function of its own.
        last = first + side if first + side < leaves.size else leaves.size
        for row in range(first, last):
            leaves[row] = 0
        moved = np.uintp(1)
        while moved != np.uintp(0):
            moved = np.uintp(0)
            for row in range(first, last):
                sample = np.uintp(row)
                node = np.uintp(leaves[sample])
                value = values[sample * width + np.uintp(features[node])]
                step = np.uintp(0) if value <= thresholds[node] else np.uintp(1)
                child = np.uintp(children[(node << np.uintp(1)) + step])
                moved |= child ^ node
                leaves[sample] = child


@kernel
def tally_votes(codes, step, tally):
    """Add ``step`` to the tally (samples × classes) for each vote that is not missing."""
    n_classes = tally.shape[1]
    for member in range(codes.shape[0]):
        for sample in range(codes.shape[1]):
            code = codes[member, sample]
            if code < n_classes:
                tally[sample, code] += step


@kernel
def find_winners(tally, winner):
    """Fill in the class with the most votes; ties go to the lowest class."""
    for sample in range(tally.shape[0]):
        best = 0
        for label in range(1, tally.shape[1]):
            if tally[sample, label] > tally[sample, best]:
                best = label
        winner[sample] = best


@kernel
def mark_correct_votes(planes, truth, work, right):  # noqa: PLR0912 (one branch per case)
    """Mark the samples on which the vote is correct; ties go to the lowest class.

    Votes for a class are counted for 64 samples at once, in words that hold one binary digit of the
    counts each. ``truth`` has a plane for each class. The last class has no plane of votes: its
    votes are those not in the other planes, and with two classes it wins where the first class has
    less than half of the votes. ``work`` (2 · digits + 1, words) is memory for the counts of the
    best class so far, those of the current class, and the carry; it is passed as zeros.
    """
    n_members, n_planes, n_words = planes.shape
    n_digits = work.shape[0] // 2
    carry = work[2 * n_digits]
    for word in range(n_words):
        right[word] = truth[0, word]
    for label in range(truth.shape[0]):
        is_rest = label == 1 and n_planes == 1
        for digit in range(n_digits):
            is_set = is_rest and (n_members + 1) // 2 >> digit & 1
            for word in range(n_words):
                work[n_digits + digit, word] = ~np.uint64(0) if is_set else np.uint64(0)
        for member in range(0 if is_rest else n_members):
            if label < n_planes:
                for word in range(n_words):
                    carry[word] = planes[member, label, word]
            else:
                for word in range(n_words):
                    carry[word] = ~np.uint64(0)
                for voted in range(n_planes):
                    for word in range(n_words):
                        carry[word] &= ~planes[member, voted, word]
            for digit in range(n_digits):
                if (member + 1) >> digit:
                    for word in range(n_words):
                        both = work[n_digits + digit, word] & carry[word]
                        work[n_digits + digit, word] ^= carry[word]
                        carry[word] = both
        # Where the counts are larger than the best so far, copy the counts and the truth.
        for word in range(n_words):
            more = np.uint64(0)
            equal = ~np.uint64(0)
            for digit in range(n_digits - 1, -1, -1):
                best, count = work[digit, word], work[n_digits + digit, word]
                more |= equal & count & ~best
                equal &= ~(count ^ best)
            for digit in range(n_digits):
                count = work[n_digits + digit, word]
                work[digit, word] = (work[digit, word] & ~more) | (count & more)
            right[word] = (right[word] & ~more) | (truth[label, word] & more)
        if is_rest:
            break


@inlined
def count_tied_classes(tally, sample, label):
    """Return the number of classes, including ``label``, that tie for the win; 0 if it lost."""
    n_tied = 0
    for rival in range(tally.shape[1]):
        if tally[sample, rival] > tally[sample, label]:
            n_tied = 0
            break
        n_tied += tally[sample, rival] == tally[sample, label]
    return n_tied


@kernel
def ties_per_sample(tally, y, ties):
    """Fill in the number of classes tied with the true class; 0 where the true class lost."""
    for sample in range(tally.shape[0]):
        ties[sample] = count_tied_classes(tally, sample, y[sample])


@kernel
def tie_histogram(tally, y, counts):
    """Count the samples by the number of classes tied with the true class."""
    for sample in range(tally.shape[0]):
        counts[count_tied_classes(tally, sample, y[sample])] += 1


@kernel
def outcomes_lowest(tally, y, outcomes):
    """Fill in, per class and sample, whether the vote is correct (1) after one more vote for it.

    This is the winner-update rule with ties to the lowest class: with the top count m and the
    winner w, one more vote for c wins if it exceeds m, or reaches m and c < w; otherwise w stays.
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


@kernel
def outcomes_shared(tally, y, added, removed):  # noqa: PLR0912 (one branch per case)
    """Fill in, per class and sample, the number of classes tied with the true class.

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


@kernel
def plane_outcomes(planes, outcomes, bits, seen, last_sizes, counts):  # noqa: PLR0917
    """Count, for each member, the samples whose vote leads to each outcome, from planes.

    ``outcomes[c, n]`` is the outcome of a vote for class c on sample n. ``bits`` (outcomes,
    classes, words), ``seen`` and ``last_sizes`` (outcomes) are passed as zeros; ``bits`` gets a
    plane for each outcome and class. A member votes for the last class where none of its planes is
    set.
    """
    n_classes, n_samples = outcomes.shape
    for label in range(n_classes):
        for sample in range(n_samples):
            outcome = outcomes[label, sample]
            seen[outcome] = True
            bit = np.uint64(1) << np.uint64(sample % WORD_BITS)
            bits[outcome, label, sample // WORD_BITS] |= bit
            last_sizes[outcome] += label == n_classes - 1
    for outcome in range(1, counts.shape[1]):
        if seen[outcome]:
            last = bits[outcome, n_classes - 1]
            for member in range(planes.shape[0]):
                total = last_sizes[outcome]
                for label in range(n_classes - 1):
                    plane = planes[member, label]
                    total += np.int64(joint_count(plane, bits[outcome, label]))
                    total -= np.int64(joint_count(plane, last))
                counts[member, outcome] = total
                counts[member, 0] -= total


@kernel
def code_outcomes(codes, outcomes, counts):
    """Count, for each member, the samples whose vote leads to each outcome, from codes."""
    for member in range(codes.shape[0]):
        for sample in range(codes.shape[1]):
            counts[member, outcomes[codes[member, sample], sample]] += 1


@kernel
def plane_weights(planes, digits, totals):
    """Add to each member's total the weights of its votes, from planes.

    ``digits`` (classes - 1, digits, words) holds a plane for each binary digit of the weights, with
    the samples on which the digit is set.
    """
    for member in range(planes.shape[0]):
        for label in range(digits.shape[0]):
            for digit in range(digits.shape[1]):
                count = np.int64(joint_count(planes[member, label], digits[label, digit]))
                totals[member] += count << digit


@kernel
def code_weights(codes, weights, totals):
    """Add to each member's total the weights (classes × samples) of its votes, from codes."""
    for member in range(codes.shape[0]):
        total = np.int64(0)
        for sample in range(codes.shape[1]):
            total += weights[codes[member, sample], sample]
        totals[member] += total


@kernel
def flip_rounds(flips, codes, y, repeats, weights, most, chosen, tally):  # noqa: PLR0917
    """Add or remove members, round by round, and undo rounds that lower the score.

    ``flips`` (rounds, members) marks the members to add or remove in each round, ``repeats`` is the
    number of times that each sample occurs, and ``weights[q]`` is a sample's score if q classes
    are tied with the true class. An empty set, and a set of more than ``most`` members, have the
    lowest score. Updates the mask ``chosen`` and the tally.
    """
    worth = vote_worth(tally, y, repeats, weights)
    for turn in range(flips.shape[0]):
        if not flips[turn].any():
            continue
        _flip_members(flips[turn], codes, chosen, tally)
        after = np.int64(-1)
        if 0 < chosen.sum() <= most:
            after = vote_worth(tally, y, repeats, weights)
        if after < worth:
            _flip_members(flips[turn], codes, chosen, tally)
        else:
            worth = after


@kernel
def vote_worth(tally, y, repeats, weights):
    """Return the score of the vote on samples that occur repeatedly; see `flip_rounds`."""
    worth = np.int64(0)
    for sample in range(y.size):
        worth += repeats[sample] * weights[count_tied_classes(tally, sample, y[sample])]
    return worth


@kernel
def _flip_members(flips, codes, chosen, tally):
    for member in range(flips.size):
        if flips[member]:
            tally_votes(codes[member : member + 1], -1 if chosen[member] else 1, tally)
            chosen[member] = not chosen[member]


@kernel
def flip_each(  # noqa: PLR0912, PLR0917
    codes, y, repeats, weights, chosen, tally, due, gains, changes, order, worths
):
    """Add or remove every member once, each time the member after which the score is highest.

    Arguments are those of `flip_rounds`, except that ``codes`` are (samples, members); fills in the
    order and the score after each step. Ties go to the first member. The score of an empty set is
    −1. Only samples on which one vote changes the score are compared for each member: a few per
    cent of them for a set of many members. A lead of the true class, or of another class, changes
    by at most one vote per step, so that a sample with a lead of L votes is looked at again after
    L − 1 steps. ``due`` (samples), ``gains`` (members) and ``changes`` (2, classes + 1) are memory
    for this; ``due`` and ``changes`` are passed as 0 and the order as −1.
    """
    n_members, n_classes = chosen.size, tally.shape[1]
    n_chosen = 0
    for member in range(n_members):
        n_chosen += chosen[member]
    stays = np.int64(0)
    for sample in range(y.size):
        stays += repeats[sample] * weights[count_tied_classes(tally, sample, y[sample])]
    for turn in range(n_members):
        for member in range(n_members):
            gains[member] = 0
        for sample in range(y.size):
            if due[sample] > turn:
                continue
            of_truth, most = tally[sample, y[sample]], np.int64(-n_members)
            for label in range(n_classes):
                if label != y[sample]:
                    most = max(most, np.int64(tally[sample, label]))
            lead = abs(of_truth - most)
            due[sample] = turn + max(1, lead - 1)
            if lead > 1:
                continue
            # Classes with the most votes, and with at most one vote less.
            top, n_tied, n_rivals = max(most, np.int64(of_truth)), 0, 0
            for label in range(n_classes):
                n_tied += tally[sample, label] == top
                n_rivals += tally[sample, label] >= top - 1
            n_before = n_tied if of_truth == top else 0
            for label in range(n_classes):
                # Classes tied with the true class after one vote more, and after one vote less.
                # Counting them again for each label would take classes² steps.
                is_true, votes = label == y[sample], tally[sample, label]
                added = removed = n_before
                if votes == top:
                    added = 1 if is_true else 0
                    if n_tied > 1:
                        removed = n_tied - 1 if of_truth == top and not is_true else 0
                    else:  # the runners-up tie with the former winner
                        removed = n_rivals if is_true or of_truth == top - 1 else 0
                elif votes == top - 1:
                    added = n_tied + 1 if is_true or of_truth == top else 0
                changes[0, label] = repeats[sample] * (weights[added] - weights[n_before])
                changes[1, label] = repeats[sample] * (weights[removed] - weights[n_before])
            row = codes[sample]
            for member in range(n_members):
                gains[member] += changes[1 if chosen[member] else 0, row[member]]
        best, most = -1, np.int64(-2)
        for member in range(n_members):
            if order[member] < 0:
                worth = stays + gains[member]
                if chosen[member] and n_chosen == 1:
                    worth = np.int64(-1)
                if worth > most:
                    best, most = member, worth
        step = -1 if chosen[best] else 1
        for sample in range(y.size):
            if codes[sample, best] < n_classes:
                tally[sample, codes[sample, best]] += step
        chosen[best] = not chosen[best]
        n_chosen += step
        stays += gains[best]
        order[best], worths[turn] = turn, most
