"""Methods on probabilities and values in plain Python, slowly, from their formulas.

Predictions are a list of samples, each a list of members, each a vector of fractions: a one-hot
label, probabilities, or a single value; None if it is missing.
"""

from fractions import Fraction
from itertools import combinations

from naive import best, grow, mean


def one_hot(label, classes):
    return [Fraction(label == known) for known in classes]


def vectors_of_labels(votes, y):
    """Labels, None where missing, as vectors, and the true ones."""
    known = {label for row in votes for label in row if label is not None} | set(y)
    classes = sorted(known)
    table = [[None if u is None else one_hot(u, classes) for u in row] for row in votes]
    return table, [one_hot(label, classes) for label in y]


def errors(outputs, truth):
    """Prediction less truth, component by component."""
    return [
        [None if f is None else [u - v for u, v in zip(f, t)] for f in row]
        for row, t in zip(outputs, truth)
    ]


def mean_product(off, i, j):
    """G_ij: mean inner product of two members' errors over the samples that both have."""
    common = [(row[i], row[j]) for row in off if row[i] is not None and row[j] is not None]
    if not common:
        return Fraction(0)
    return mean(sum((u * v for u, v in zip(a, b)), Fraction(0)) for a, b in common)


def error_matrix(outputs, truth):
    """G of all pairs."""
    off, n_members = errors(outputs, truth), range(len(outputs[0]))
    return [[mean_product(off, i, j) for j in n_members] for i in n_members]


def shrunken(G, shrink):
    """G with its off-diagonal moved towards row mean + column mean − mean."""
    n = len(G)
    if n == 1:
        return G
    means = [mean(G[i][j] for j in range(n) if j != i) for i in range(n)]
    whole = mean(means)

    def moved(i, j):
        if i == j:
            return G[i][j]
        return (1 - shrink) * G[i][j] + shrink * (means[i] + means[j] - whole)

    return [[moved(i, j) for j in range(n)] for i in range(n)]


def total(G, members):
    return sum((G[i][j] for i in members for j in members), Fraction(0))


def squared_error(G, members):
    """Squared error of the average of a set."""
    return total(G, members) / len(members) ** 2


def joint_error(outputs, truth, keep, shrink=Fraction(0), refine=False):
    """Greedy by the sum of G over all pairs of the set, then swaps if asked for."""
    G = shrunken(error_matrix(outputs, truth), shrink)
    chosen = grow([], len(G), keep, lambda members, t: -total(G, [*members, t]))
    return swapped(G, chosen) if refine else chosen


def swapped(G, chosen):
    """Make the best swap until none helps; ties go to the lowest member out, then in."""
    while True:
        free = [t for t in range(len(G)) if t not in chosen]
        falls = {
            (out, into): total(G, chosen)
            - total(G, [into if member == out else member for member in chosen])
            for out in chosen
            for into in free
        }
        if not falls or max(falls.values()) <= 0:
            return chosen
        out, into = best(falls)
        chosen = [into if member == out else member for member in chosen]


def least_joint_error(outputs, truth, keep):
    """The smallest squared error of any set of this size, by trying all."""
    G = error_matrix(outputs, truth)
    return min(squared_error(G, members) for members in combinations(range(len(G)), keep))
