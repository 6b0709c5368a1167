"""Compiled loops that count votes: tallies, winners, ties, and what one more vote changes."""

import numpy as np

from secateurs.outputs.bit_kernels import WORD_BITS, joint_count
from secateurs.outputs.compiling import kernel


@kernel
def tally_votes(codes, step, tally):
    """Add ``step`` to the tally (samples × classes) for each vote; missing ones do not count."""
    n_classes = tally.shape[1]
    for member in range(codes.shape[0]):
        for sample in range(codes.shape[1]):
            code = codes[member, sample]
            if code < n_classes:
                tally[sample, code] += step


@kernel
def find_winners(tally, winner):
    """Fill in the class with the most votes, the lowest of tied ones."""
    for sample in range(tally.shape[0]):
        best = 0
        for label in range(1, tally.shape[1]):
            if tally[sample, label] > tally[sample, best]:
                best = label
        winner[sample] = best


@kernel
def mark_correct_votes(planes, truth, right):
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
                    _clear_bits(planes[member, other], carry)
            for digit in range(n_digits):
                if (member + 1) >> digit:
                    _add_digit(count[digit], carry)
        _keep_larger(count, truth[label], best, right)


@kernel
def _clear_bits(plane, carry):
    """Clear the bits of a plane."""
    for word in range(plane.size):
        carry[word] &= ~plane[word]


@kernel
def _add_digit(digit, carry):
    """Add a carry to one digit of many counts; the new carry replaces it."""
    for word in range(digit.size):
        both = digit[word] & carry[word]
        digit[word] ^= carry[word]
        carry[word] = both


@kernel
def _keep_larger(count, truth, best, right):
    """Where counts are larger than the best so far, replace it, and copy the truth."""
    for word in range(right.size):
        more = np.uint64(0)
        equal = ~np.uint64(0)
        for digit in range(count.shape[0] - 1, -1, -1):
            more |= equal & count[digit, word] & ~best[digit, word]
            equal &= ~(count[digit, word] ^ best[digit, word])
        for digit in range(count.shape[0]):
            best[digit, word] = (best[digit, word] & ~more) | (count[digit, word] & more)
        right[word] = (right[word] & ~more) | (truth[word] & more)


@kernel
def count_tied_classes(tally, label):
    """Return the number of classes tied for the win with one, itself included; 0 if it lost."""
    tied = 0
    for other in range(tally.size):
        if tally[other] > tally[label]:
            return 0
        tied += tally[other] == tally[label]
    return tied


@kernel
def ties_per_sample(tally, y, ties):
    """Fill in the number of classes tied with the true one; 0 where the true one lost."""
    for sample in range(tally.shape[0]):
        ties[sample] = count_tied_classes(tally[sample], y[sample])


@kernel
def tie_histogram(tally, y, counts):
    """Count the samples by the number of classes tied with the true one."""
    for sample in range(tally.shape[0]):
        counts[count_tied_classes(tally[sample], y[sample])] += 1


@kernel
def count_overruled_votes(tally, y, counts):
    """Count the wrong votes where the vote is right, the right ones where it is wrong.

    A tie goes to the lowest class.
    """
    for sample in range(tally.shape[0]):
        best, total = 0, 0
        for label in range(tally.shape[1]):
            total += tally[sample, label]
            if tally[sample, label] > tally[sample, best]:
                best = label
        n_right = tally[sample, y[sample]]
        counts[sample] = total - n_right if best == y[sample] else n_right


@kernel
def outcomes_lowest(tally, y, outcomes):
    """Fill in, per class and sample, whether the vote is right (1) after one more vote for it.

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


@kernel
def outcomes_shared(tally, y, added, removed):  # noqa: PLR0912 (one case a branch)
    """Fill in, per class and sample, the number of classes tied with the true one.

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

    ``outcomes[c, n]`` is where a vote for class c on sample n leads. ``bits`` (outcomes, classes,
    words), ``seen`` and ``last_sizes`` (outcomes) come as zeros: one plane is made of each outcome
    and class. A member's votes for the last class are all those not in its planes.
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

    ``digits`` (classes - 1, digits, words) has the weights by their binary digits: one plane of
    each says on which samples it is set.
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
    """Add or remove members, round by round, and undo rounds that are worth less than before.

    ``flips`` (rounds, members) has the members of each round, ``repeats`` how often each sample
    occurs, ``weights[q]`` what a sample is worth if q classes are tied with the true one. No
    members, and more than ``most``, are worth least. Updates the mask and the tally.
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
    """Return what the vote is worth, for samples that occur repeatedly; see `flip_rounds`."""
    worth = np.int64(0)
    for sample in range(y.size):
        worth += repeats[sample] * weights[count_tied_classes(tally[sample], y[sample])]
    return worth


@kernel
def _flip_members(flips, codes, chosen, tally):
    for member in range(flips.size):
        if flips[member]:
            tally_votes(codes[member : member + 1], -1 if chosen[member] else 1, tally)
            chosen[member] = not chosen[member]


@kernel
def flip_each(codes, y, repeats, weights, chosen, tally, order, worths):  # noqa: PLR0917
    """Flip every member once, always the one after which the vote is worth the most.

    Arguments are those of `flip_rounds`; fills in the order and what the vote is worth at each
    step. Equal ones go in the order of members. No members are worth −1.
    """
    n_members, n_samples = codes.shape
    n_classes = tally.shape[1]
    ties = np.empty((2, n_classes, n_samples), dtype=np.int64)
    gains = np.empty((2, n_classes + 1, n_samples), dtype=np.int64)
    free = np.ones(n_members, dtype=np.bool_)
    n_chosen = chosen.sum()
    for turn in range(n_members):
        outcomes_shared(tally, y, ties[0], ties[1])
        for sample in range(n_samples):
            stays = repeats[sample] * weights[count_tied_classes(tally[sample], y[sample])]
            for side in range(2):
                gains[side, n_classes, sample] = stays  # a missing vote
                for label in range(n_classes):
                    gained = weights[ties[side, label, sample]]
                    gains[side, label, sample] = repeats[sample] * gained
        best, most = -1, np.int64(-2)
        for member in range(n_members):
            if free[member]:
                side = 1 if chosen[member] else 0
                worth = np.int64(0)
                for sample in range(n_samples):
                    worth += gains[side, codes[member, sample], sample]
                if side and n_chosen == 1:
                    worth = np.int64(-1)
                if worth > most:
                    best, most = member, worth
        step = -1 if chosen[best] else 1
        tally_votes(codes[best : best + 1], step, tally)
        chosen[best] = not chosen[best]
        free[best] = False
        n_chosen += step
        order[turn], worths[turn] = best, most
