"""Ensemble selection in plain Python, from its formula, without running sums.

`outputs[n][t]` is the prediction of member t for sample n: a label, a list of probabilities by
class, a value, or None if it is missing. `bag` holds members, some more than once.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import partial

import naive

EPSILON = 2.0**-52


def said(outputs, bag, sample):
    return [outputs[sample][t] for t in bag if outputs[sample][t] is not None]


def vote(values):
    counts = Counter(values)
    return min(label for label in counts if counts[label] == max(counts.values()))


def mean(values):
    """The exact mean of values, or of lists of values, element by element."""
    if isinstance(values[0], list):
        return [naive.mean(map(Fraction, column)) for column in zip(*values)]
    return naive.mean(map(Fraction, values))


def most_likely(shares):
    return min(c for c in range(len(shares)) if shares[c] == max(shares))


def weighted(values, weights):
    """A weighted mean: rational unless a value is a float."""
    if any(isinstance(value, float) for value in values):
        return math.fsum(v * float(w) for v, w in zip(values, weights)) / float(sum(weights))
    return sum(v * w for v, w in zip(values, weights)) / Fraction(sum(weights))


def right(answers, y):
    labels = [most_likely(a) if isinstance(a, list) else a for a in answers]
    return [Fraction(label == truth) for label, truth in zip(labels, y)]


def accuracy(answers, y, weights):
    return weighted(right(answers, y), weights)


def balanced_accuracy(answers, y, weights):
    hits = right(answers, y)
    rates = []
    for label in sorted(set(y)):
        rows = [n for n in range(len(y)) if y[n] == label]
        rates.append(weighted([hits[n] for n in rows], [weights[n] for n in rows]))
    return naive.mean(rates)


def neg_log_loss(answers, y, weights):
    of_truth = [float(a[truth]) for a, truth in zip(answers, y)]
    return weighted([math.log(min(max(p, EPSILON), 1 - EPSILON)) for p in of_truth], weights)


def neg_brier_score(answers, y, weights):
    losses = [
        sum((p - (label == truth)) ** 2 for label, p in enumerate(a))
        for a, truth in zip(answers, y)
    ]
    halves = 2 if len(answers[0]) == 2 else 1
    return -weighted(losses, weights) / halves


def neg_mean_squared_error(answers, y, weights):
    return -weighted([(a - Fraction(t)) ** 2 for a, t in zip(answers, y)], weights)


def neg_mean_absolute_error(answers, y, weights):
    return -weighted([abs(a - Fraction(t)) for a, t in zip(answers, y)], weights)


def r2(answers, y, weights):
    middle = [weighted([Fraction(t) for t in y], weights)] * len(y)
    apart = neg_mean_squared_error(middle, y, weights)
    return 1 - neg_mean_squared_error(answers, y, weights) / apart


def neg_max_error(answers, y, weights):
    return -max(abs(a - Fraction(t)) for a, t in zip(answers, y))


def area(answers, y, weights, label, others):
    """Share of the pairs in which the sample of the class has the larger probability of it."""
    pairs = [
        (Fraction(1 + (p[label] > q[label]) - (p[label] < q[label]), 2), Fraction(v * w))
        for p, truth, v in zip(answers, y, weights)
        for q, other, w in zip(answers, y, weights)
        if truth == label and other in others
    ]
    return weighted([win for win, _ in pairs], [weight for _, weight in pairs])


def roc_auc(answers, y, weights):
    return area(answers, y, weights, 1, {0})


def roc_auc_ovr(answers, y, weights):
    labels = range(len(answers[0]))
    return naive.mean(area(answers, y, weights, c, {*labels} - {c}) for c in labels)


def roc_auc_ovr_weighted(answers, y, weights):
    labels = range(len(answers[0]))
    areas = [area(answers, y, weights, c, {*labels} - {c}) for c in labels]
    return weighted(areas, [sum(w for w, t in zip(weights, y) if t == c) for c in labels])


def pair_areas(answers, y, weights):
    return {
        (c, j): (area(answers, y, weights, c, {j}) + area(answers, y, weights, j, {c})) / 2
        for c in range(len(answers[0]))
        for j in range(c)
    }


def roc_auc_ovo(answers, y, weights):
    return naive.mean(pair_areas(answers, y, weights).values())


def roc_auc_ovo_weighted(answers, y, weights):
    areas = pair_areas(answers, y, weights)
    return weighted(list(areas.values()), [sum(t in pair for t in y) for pair in areas])


def precision_of(answers, y, weights, label):
    """Mean over the samples of a class of the precision among those ranked as high or higher."""

    def precision(least):
        high = [(t == label, w) for a, t, w in zip(answers, y, weights) if a[label] >= least]
        return weighted([Fraction(hit) for hit, _ in high], [w for _, w in high])

    of_class = [(a[label], w) for a, t, w in zip(answers, y, weights) if t == label]
    return weighted([precision(least) for least, _ in of_class], [w for _, w in of_class])


def average_precision(answers, y, weights):
    labels = range(len(answers[0])) if len(answers[0]) > 2 else [1]
    return naive.mean(precision_of(answers, y, weights, c) for c in labels)


PERFECT = {
    **{"accuracy": 1, "balanced_accuracy": 1, "r2": 1},
    **{"neg_log_loss": -1e-12, "neg_brier_score": 0},
    **{"neg_mean_squared_error": 0, "neg_mean_absolute_error": 0},
}


def score(outputs, y, bag, scoring, weights=None, *, fallback=None):
    """The score of the mean of a bag, on the rows that some member of it has.

    With a fallback, on all rows: it is the answer for a row that no member of the bag has.
    """
    rows = [n for n in range(len(y)) if fallback is not None or said(outputs, bag, n)]
    is_labels = isinstance(next(v for row in outputs for v in row if v is not None), (int, str))
    combine = vote if is_labels else mean
    answers = [combine(said(outputs, bag, n)) if said(outputs, bag, n) else fallback for n in rows]
    shares = [1 if weights is None else weights[n] for n in rows]
    return scoring(answers, [y[n] for n in rows], shares)


def select(
    outputs,
    y,
    scoring,
    *,
    keep=None,
    max_models=50,
    replacement=True,
    best_prefix=True,
    sorted_start=0,
    members=None,
    weights=None,
    fallback=None,
    first=None,
):
    """Caruana et al. 2004: the bag step by step, its scores, and how many steps count."""
    value = partial(score, outputs, y, scoring=scoring, weights=weights, fallback=fallback)
    library = list(range(len(outputs[0]))) if members is None else list(members)
    most = len(library) if keep is None else min(keep, len(library))
    start = []
    while len(start) < min(sorted_start, most, max_models):
        left = [t for t in library if t not in start]
        start.append(naive.best({t: value([t]) for t in left}))
    bag, scores = [], []
    while len(bag) < max_models:
        if len(bag) < len(start):
            added = start[len(bag)]
        else:
            full = len(set(bag)) == most
            candidates = [t for t in library if t in bag or not full]
            if not replacement:
                candidates = [t for t in candidates if t not in bag]
            if not bag and first is not None:
                candidates = first
            if not candidates:
                break
            added = naive.best({t: value([*bag, t]) for t in candidates})
        bag.append(added)
        scores.append(value(bag))
        perfect = PERFECT.get(scoring.__name__)
        if perfect is not None and scores[-1] >= perfect and len(bag) >= len(start):
            break
    n_steps = len(bag)
    if best_prefix:
        first = max(0, len(start) - 1)
        n_steps = naive.best({n: scores[n] for n in range(first, len(bag))}) + 1
    return bag, scores, n_steps


def multiplicities(bag, n_steps):
    """The different members in the order of choice, and the share of each in the bag."""
    counts = Counter(bag[:n_steps])
    return list(counts), [Fraction(count, n_steps) for count in counts.values()]


def ordering(votes, y, keep):
    """The members that 50 steps by the accuracy of the vote choose, cut at the best."""
    bag, _, n_steps = select(votes, y, accuracy, keep=keep)
    return multiplicities(bag, n_steps)[0]


def bagged(outputs, y, scoring, bags, keep=None, **options):
    """Bagged selection: the mean weight of each member over runs among some members each."""
    total = Counter()
    for members in bags:
        bag, _, n_steps = select(outputs, y, scoring, keep=keep, members=members, **options)
        for t, share in zip(*multiplicities(bag, n_steps)):
            total[t] += share / len(bags)
    ranked = sorted(total, key=lambda t: (-total[t], t))[:keep]
    return ranked, [total[t] / sum(total[m] for m in ranked) for t in ranked]


def weighted_vote(votes, members, weights, sample):
    """The label with the largest weight, the lowest of tied ones."""
    shares = Counter()
    for t, weight in zip(members, weights):
        shares[votes[sample][t]] += Fraction(weight).limit_denominator(10**6)
    return min(label for label in shares if shares[label] == max(shares.values()))
