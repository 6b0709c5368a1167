"""Orderings of members by their votes, again: slow, plain, and as their papers write them."""

import math
from fractions import Fraction

from naive import ABSTAINS, all_members, best_members, grow, share, signature, tally, vote

# Margin distance minimisation ---------------------------------------------------------


def margin_distance(votes, y, keep, p=None):
    """Greedily minimise |o - 1/T sum c_t|, o = (p, ..., p) (Martinez-Munoz et al. 2009).

    Without a p it moves: 2 sqrt(2u) / T at step u.
    """
    size = len(votes[0])

    def closeness(chosen, t):
        members = [*chosen, t]
        target = 2 * math.sqrt(2 * len(members)) / size if p is None else p
        return -squared_margin_distance(votes, y, members, target)

    return grow([], size, keep, closeness)


def squared_margin_distance(votes, y, members, p):
    """|o - 1/T sum c_t|^2, o = (p, ..., p), over the members; T is the number of all."""
    signatures = [signature(votes, y, t) for t in members]
    mean_signature = [Fraction(sum(column), len(votes[0])) for column in zip(*signatures)]
    return sum((p - c) ** 2 for c in mean_signature)


# Complementarity and uncertainty weighted accuracy ------------------------------------


def complementarity(votes, y, keep):
    """Add the member right most often where the vote is wrong (Martinez-Munoz & Suarez 2004)."""

    def right_where_wrong(chosen, t):
        wrong = [n for n, truth in enumerate(y) if vote(votes, chosen, n) != truth]
        return sum(1 for n in wrong if votes[n][t] == y[n])

    return grow(best_members(votes, y, 1), len(votes[0]), keep, right_where_wrong)


def uncertainty_weighted(votes, y, keep):
    """Add the member of largest uncertainty weighted accuracy (Partalas et al. 2010).

    The accuracy is a multiple of 1 / len(chosen). Of members that tie, the most accurate is added.
    """

    def accuracy(chosen, t):
        total = Fraction(0)
        for n, truth in enumerate(y):
            n_true = share(votes[n][s] == truth for s in chosen)
            n_false = 1 - n_true
            member_is_right = votes[n][t] == truth
            vote_is_right = vote(votes, chosen, n) == truth
            if member_is_right:
                total += n_false if vote_is_right else n_true
            else:
                total -= n_false if vote_is_right else n_true
        n_right = sum(row[t] == truth for row, truth in zip(votes, y))
        return total + Fraction(n_right, (len(y) + 1) * len(chosen))

    return grow(best_members(votes, y, 1), len(votes[0]), keep, accuracy)


# Individual contributions -------------------------------------------------------------


def contribution(votes, y, t):
    """IC_t: what member t's votes add to the vote of all, over the samples (Lu et al. 2010)."""
    total = 0
    for n, truth in enumerate(y):
        counts = tally(votes, all_members(votes), n)
        v_max, v_sec = sorted([0, 0, *counts.values()], reverse=True)[:2]
        label = votes[n][t]
        if label == ABSTAINS:  # as the most frequent wrong vote, which counts at least itself
            rivals = [count for other, count in counts.items() if other != truth]
            total += counts[truth] - max([1, *rivals]) - v_max
        elif label != truth:
            total += counts[truth] - counts[label] - v_max
        elif label == vote(votes, all_members(votes), n):
            total += v_sec
        else:
            total += 2 * v_max - counts[label]
    return total


def contribution_ordering(votes, y, keep):
    """Members by decreasing individual contribution (Lu et al. 2010)."""
    return sorted(all_members(votes), key=lambda t: (-contribution(votes, y, t), t))[:keep]
