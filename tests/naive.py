"""Every formula and every pruning method again: slow, plain, and as its paper writes it.

The tests take their expected answers from here. Nothing is shared with the library, nothing is
kept between steps, and what is rational stays a Fraction, so most answers can be compared with ==.
`naive_orderings` has more methods.

`votes[n][t]` is the label that member t gives sample n, `y[n]` the true label. `members` are
columns of `votes`. `proba[n][t][c]` is member t's probability of class c on sample n.
A member that abstains gives the label ABSTAINS, which is never the true one and is no vote.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

ABSTAINS = 10**6  # after all labels

# Choosing and averaging ---------------------------------------------------------------


def best(scores):
    """The member with the largest score; among tied members the lowest.

    Integers and fractions tie when they are equal, real numbers when they are within
    1e-12 * max(1, |largest|) of the largest.
    """
    scores = dict(scores)
    largest = max(scores.values())
    slack = 1e-12 * max(1, abs(largest)) if isinstance(largest, float) else 0
    return min(member for member, score in scores.items() if score >= largest - slack)


def mean(values):
    """Arithmetic mean, a Fraction when the values are rational."""
    values = list(values)
    return sum(values, Fraction(0)) / len(values)


def share(flags):
    """How many of the flags are true, as a fraction of all."""
    flags = list(flags)
    return Fraction(sum(1 for flag in flags if flag), len(flags))


# Votes and their errors ---------------------------------------------------------------


def column(votes, t):
    """The labels that member t gives to all samples."""
    return [row[t] for row in votes]


def all_members(votes):
    """The indices of all members."""
    return list(range(len(votes[0])))


def all_pairs(votes):
    """The unordered pairs i < j of members; a single member pairs with itself."""
    return list(combinations(all_members(votes), 2)) or [(0, 0)]


def all_labels(votes, y=None):
    """The labels that occur in the votes, and in y if it is given, in order."""
    labels = {label for row in votes for label in row}
    return sorted(labels if y is None else labels | set(y))


def tally(votes, members, sample):
    """How many of the members vote for each label on one sample."""
    return Counter(votes[sample][t] for t in members if votes[sample][t] != ABSTAINS)


def winners(votes, members, sample):
    """The labels with the most votes on one sample, in order."""
    counts = tally(votes, members, sample)
    return sorted(label for label in counts if counts[label] == max(counts.values()))


def vote(votes, members, sample):
    """Plurality vote on one sample; a tie goes to the lowest label. None without any vote."""
    return next(iter(winners(votes, members, sample)), None)


def errors(votes, y, members):
    """Number of samples on which the plurality vote is wrong."""
    return sum(1 for n, label in enumerate(y) if vote(votes, members, n) != label)


def expected_errors(votes, y, members):
    """Errors of a vote that draws lots among q tied labels: 1 - 1/q where the truth is tied."""
    if len(members) == 0:
        return math.inf
    total = Fraction(0)
    for n, label in enumerate(y):
        tied = winners(votes, members, n)
        total += 1 - Fraction(1, len(tied)) if label in tied else 1
    return total


def n_correct(votes, y, t):
    """Number of samples that member t gets right."""
    return sum(1 for label, truth in zip(column(votes, t), y) if label == truth)


def member_error(votes, y):
    """Mean error rate of the members."""
    return mean(1 - Fraction(n_correct(votes, y, t), len(y)) for t in all_members(votes))


def right_counts(votes, y):
    """l_n: how many members are right on each sample."""
    return [sum(1 for label in row if label == truth) for row, truth in zip(votes, y)]


def failure_shares(votes, y):
    """p_i: the share of samples on which exactly i = 0..T members are wrong."""
    size = len(votes[0])
    wrong = [size - right for right in right_counts(votes, y)]
    return [share(w == i for w in wrong) for i in range(size + 1)]


# Entropy and information --------------------------------------------------------------


def entropy(labels, base=2):
    """H(X) = -sum_x p(x) log p(x), with counted probabilities (Shannon 1948)."""
    shares = [count / len(labels) for count in Counter(labels).values()]
    return max(0.0, -sum(p * math.log(p, base) for p in shares))


def joint_entropy(a, b, base=2):
    """H(X, Y): the entropy of the pairs."""
    return entropy(list(zip(a, b)), base)


def mutual_information(a, b, base=2):
    """I(X; Y) = sum p(x,y) log p(x,y) / (p(x) p(y)) (Bian et al. 2020, Eq. 1)."""
    n = len(a)
    of_a, of_b, of_both = Counter(a), Counter(b), Counter(zip(a, b))
    total = 0.0
    for (u, v), count in of_both.items():
        total += count / n * math.log(Fraction(count * n, of_a[u] * of_b[v]), base)
    return max(0.0, total)


def nmi(a, b):
    """MI(X, Y) = I(X; Y) / sqrt(H(X) H(Y)), 0 for a constant (Bian et al. 2020, Eq. 2)."""
    if len(set(a)) == 1 or len(set(b)) == 1:
        return 0.0
    return min(1.0, mutual_information(a, b) / math.sqrt(entropy(a) * entropy(b)))


def nvi(a, b):
    """VI(X, Y) = 1 - I(X; Y) / H(X, Y), 0 for two constants (Bian et al. 2020, Eq. 3)."""
    if len(set(a)) == 1 and len(set(b)) == 1:
        return 0.0
    return min(1.0, max(0.0, 1 - mutual_information(a, b) / joint_entropy(a, b)))


def given(y, measure, *columns):
    """A measure conditioned on Y: its mean over the values of Y, weighted by their shares."""
    total = 0.0
    for value in sorted(set(y)):
        rows = [n for n, label in enumerate(y) if label == value]
        total += len(rows) / len(y) * measure(*[[labels[n] for n in rows] for labels in columns])
    return total


def total_correlation(*columns):
    """TC(X_1..T) = sum_t H(X_t) - H(X_1..T) (Watanabe 1960)."""
    return max(0.0, sum(entropy(labels) for labels in columns) - entropy(list(zip(*columns))))


def multi_information(votes, y):
    """I(X_1..T; Y) and its parts: relevancy - redundancy + conditional (Zhou & Li 2010)."""
    columns = [column(votes, t) for t in all_members(votes)]
    joint = mutual_information(list(zip(*columns)), y)
    relevancy = sum(mutual_information(labels, y) for labels in columns)
    redundancy = total_correlation(*columns)
    conditional_redundancy = given(y, total_correlation, *columns)
    return joint, relevancy, redundancy, conditional_redundancy


def pairwise_interaction(votes, y):
    """sum_{i<j} I(X_i; X_j | Y) - I(X_i; X_j): the diversity up to order two (Brown 2009)."""
    total = 0.0
    for i, j in combinations(all_members(votes), 2):
        a, b = column(votes, i), column(votes, j)
        total += given(y, mutual_information, a, b) - mutual_information(a, b)
    return total


def interaction(*columns):
    """I({X_1..m}) = I({X_1..m-1} | X_m) - I({X_1..m-1}) (McGill 1954)."""
    if len(columns) == 2:
        return mutual_information(*columns)
    *others, last = columns
    return given(last, interaction, *others) - interaction(*others)


def interaction_information(votes, y):
    """sum of I({Z, Y}) over all sets Z of two members or more (Brown 2009)."""
    columns = [column(votes, t) for t in all_members(votes)]
    sizes = range(2, len(columns) + 1)
    return sum((interaction(*z, y) for size in sizes for z in combinations(columns, size)), 0.0)


# Measures of a pair -------------------------------------------------------------------


def disagreement(a, b):
    """Share of samples on which the two labels differ (Skalak 1996)."""
    return share(u != v for u, v in zip(a, b))


def kappa(a, b):
    """Cohen's kappa on labels, (T1 - T2) / (1 - T2) (Margineantu & Dietterich 1997)."""
    observed = share(u == v for u, v in zip(a, b))
    labels = set(a) | set(b)
    chance = sum(share(u == c for u in a) * share(v == c for v in b) for c in labels)
    return Fraction(1) if chance == 1 else (observed - chance) / (1 - chance)


def oracle_table(a, b, y):
    """Samples on which both are right, only a, only b, neither (Kuncheva & Whitaker 2003)."""
    cells = Counter((u == truth, v == truth) for u, v, truth in zip(a, b, y))
    return cells[True, True], cells[True, False], cells[False, True], cells[False, False]


def similarity(top, bottom, table):
    """top / bottom; for 0/0 it is 1 if both members are right on the same samples, else 0."""
    _, only_a, only_b, _ = table
    if bottom == 0:
        return Fraction(1) if only_a == only_b == 0 else Fraction(0)
    return Fraction(top) / bottom


def oracle_disagreement(a, b, y):
    """Share of samples on which exactly one is right (Skalak 1996)."""
    _, only_a, only_b, _ = oracle_table(a, b, y)
    return Fraction(only_a + only_b, len(y))


def q_statistic(a, b, y):
    """(ad - bc) / (ad + bc) of the right/wrong table (Yule 1900)."""
    both, only_a, only_b, neither = table = oracle_table(a, b, y)
    product, cross = both * neither, only_a * only_b
    return similarity(product - cross, product + cross, table)


def correlation(a, b, y):
    """Correlation of right and wrong: (ad - bc) / sqrt of the product of the margins."""
    both, only_a, only_b, neither = table = oracle_table(a, b, y)
    of_a = (both + only_a) * (only_b + neither)
    of_b = (both + only_b) * (only_a + neither)
    return float(similarity(both * neither - only_a * only_b, math.sqrt(of_a * of_b), table))


def double_fault(a, b, y):
    """Share of samples on which both are wrong (Giacinto & Roli 2001)."""
    return Fraction(oracle_table(a, b, y)[3], len(y))


def same_fault(a, b, y):
    """Share of samples on which both give the same wrong label."""
    return share(u == v != truth for u, v, truth in zip(a, b, y))


def oracle_kappa(a, b, y):
    """Cohen's kappa on right and wrong (Kuncheva & Whitaker 2003)."""
    both, only_a, only_b, neither = table = oracle_table(a, b, y)
    top = 2 * (both * neither - only_a * only_b)
    bottom = (both + only_a) * (only_a + neither) + (both + only_b) * (only_b + neither)
    return similarity(top, bottom, table)


def mean_over_pairs(measure, votes, y=None):
    """Mean of a pair measure over the pairs i < j; one member is measured with itself."""
    truth = [] if y is None else [y]
    return mean(measure(column(votes, i), column(votes, j), *truth) for i, j in all_pairs(votes))


# Measures of an ensemble --------------------------------------------------------------


def kohavi_wolpert(votes, y):
    """KW = 1/(N T^2) sum_n l_n (T - l_n) (Kohavi & Wolpert 1996)."""
    size = len(votes[0])
    return mean(Fraction(right * (size - right), size**2) for right in right_counts(votes, y))


def label_kohavi_wolpert(votes):
    """The mean over samples of (1 - sum_c P(c)^2) / 2 (Kohavi & Wolpert 1996)."""
    size = len(votes[0])
    agreement = []
    for n in range(len(votes)):
        counts = tally(votes, all_members(votes), n).values()
        agreement.append(sum(Fraction(count, size) ** 2 for count in counts))
    return mean((1 - together) / 2 for together in agreement)


def interrater_agreement(votes, y):
    """kappa = 1 - (1/T sum_n l_n (T - l_n)) / (N (T-1) p (1-p)) (Kuncheva & Whitaker 2003)."""
    size, right = len(votes[0]), right_counts(votes, y)
    accuracy = 1 - member_error(votes, y)
    if size == 1 or accuracy in (0, 1):
        return Fraction(1)
    top = Fraction(sum(r * (size - r) for r in right), size)
    return 1 - top / (len(y) * (size - 1) * accuracy * (1 - accuracy))


def fleiss_kappa(votes):
    """(P - P_e) / (1 - P_e) on labels (Fleiss 1971)."""
    size, samples = len(votes[0]), range(len(votes))
    chance = Fraction(0)
    for label in all_labels(votes):
        chance += share(u == label for row in votes for u in row) ** 2
    if size == 1 or chance == 1:
        return Fraction(1)
    squares = [sum(c**2 for c in tally(votes, all_members(votes), n).values()) for n in samples]
    observed = mean(Fraction(square - size, size * (size - 1)) for square in squares)
    return (observed - chance) / (1 - chance)


def kuncheva_entropy(votes, y):
    """E = 1/N sum_n min(l_n, T - l_n) / (T - ceil(T/2)) (Kuncheva & Whitaker 2003)."""
    size = len(votes[0])
    if size == 1:
        return Fraction(0)
    half = size - math.ceil(size / 2)
    return mean(Fraction(min(right, size - right), half) for right in right_counts(votes, y))


def vote_entropy(votes, base=math.e, normalise=False):
    """-1/N sum_n sum_c P(c) log P(c) of the vote shares (Cunningham & Carney 2000)."""
    value = sum(entropy(list(row), base) for row in votes) / len(votes)
    if not normalise:
        return value
    most = min(len(all_labels(votes)), len(votes[0]))
    return 0.0 if most == 1 else value / math.log(most, base)


def difficulty(votes, y):
    """theta: variance over samples of the share of right members (Hansen & Salamon 1990)."""
    shares = [Fraction(right, len(votes[0])) for right in right_counts(votes, y)]
    centre = mean(shares)
    return mean((p - centre) ** 2 for p in shares)


def generalised_diversity(votes, y):
    """GD = 1 - p(2)/p(1), one or two random members failing (Partridge & Krzanowski 1997)."""
    size, failing = len(votes[0]), failure_shares(votes, y)
    one = sum(Fraction(i, size) * p for i, p in enumerate(failing))
    if size == 1 or one == 0:
        return Fraction(0)
    two = sum(Fraction(i * (i - 1), size * (size - 1)) * p for i, p in enumerate(failing))
    return 1 - two / one


def coincident_failure(votes, y):
    """CFD = 1/(1-p_0) sum_{i>=1} (T-i)/(T-1) p_i (Partridge & Krzanowski 1997)."""
    size, failing = len(votes[0]), failure_shares(votes, y)
    if size == 1 or failing[0] == 1:
        return Fraction(0)
    apart = sum(Fraction(size - i, size - 1) * failing[i] for i in range(1, size + 1))
    return apart / (1 - failing[0])


def disagreement_error_ratio(votes, y):
    """E[disagreement of two draws] / E[member error]; None without errors (Theisen et al. 2023)."""
    columns = [column(votes, t) for t in all_members(votes)]
    error = member_error(votes, y)
    if error == 0:
        return None
    return mean(disagreement(a, b) for a in columns for b in columns) / error


def c_bound(votes, y):
    """1 - (E M)^2 / E M^2, M the margin; None unless E M > 0 (Germain et al. 2015)."""
    size = len(votes[0])
    margins = [Fraction(2 * right - size, size) for right in right_counts(votes, y)]
    if mean(margins) <= 0:
        return None
    return 1 - mean(margins) ** 2 / mean(margin**2 for margin in margins)


def absolute_pearson(a, b):
    """|Pearson correlation| of two lists of floats; 0 if either is constant."""
    if len(set(a)) == 1 or len(set(b)) == 1:
        return 0.0
    centre_a, centre_b = mean(a), mean(b)
    from_a, from_b = [u - centre_a for u in a], [v - centre_b for v in b]
    return abs(dot(from_a, from_b)) / math.sqrt(dot(from_a, from_a) * dot(from_b, from_b))


def loss_correlation(proba, y):
    """Mean over pairs of |Pearson| of the losses 1 - p(true class) (Purucker et al. 2023)."""
    losses = [[1 - p[label] for p in row] for row, label in zip(proba, y)]
    return mean_over_pairs(absolute_pearson, losses)


# Three ambiguities and a penalty ------------------------------------------------------


def dot(a, b):
    """Scalar product."""
    return sum(u * v for u, v in zip(a, b))


def squared_distance(a, b):
    """Squared Euclidean distance."""
    return sum((u - v) ** 2 for u, v in zip(a, b))


def mean_vector(vectors):
    """f-bar: the mean of some vectors, place by place."""
    return [mean(place) for place in zip(*vectors)]


def label_ambiguity(votes):
    """Share of single votes that differ from the ensemble's vote (Zenobi & Cunningham 2001)."""
    members, samples = all_members(votes), range(len(votes))
    return share(votes[n][t] != vote(votes, members, n) for n in samples for t in members)


def loss_ambiguity(votes, y):
    """Mean member error - vote error = good - bad diversity (Brown & Kuncheva 2010)."""
    members, size = all_members(votes), len(votes[0])
    good = bad = Fraction(0)
    for n, right in enumerate(right_counts(votes, y)):
        if vote(votes, members, n) == y[n]:
            good += Fraction(size - right, size) / len(y)
        else:
            bad += Fraction(right, size) / len(y)
    total = member_error(votes, y) - Fraction(errors(votes, y, members), len(y))
    return total, good, bad


def krogh_vedelsby(outputs, targets):
    """Ensemble error = mean member error - ambiguity, squared loss (Krogh & Vedelsby 1995)."""
    ensemble_error, mean_member_error, ambiguity = [], [], []
    for vectors, target in zip(outputs, targets):
        centre = mean_vector(vectors)
        ensemble_error.append(squared_distance(centre, target))
        mean_member_error.append(mean(squared_distance(f, target) for f in vectors))
        ambiguity.append(mean(squared_distance(f, centre) for f in vectors))
    return mean(ensemble_error), mean(mean_member_error), mean(ambiguity)


def correlation_penalty(outputs):
    """For each member the mean of (f_t - f) . sum_{s != t} (f_s - f) (Liu & Yao 1999)."""
    penalties = [[] for _ in outputs[0]]
    for vectors in outputs:
        centre = mean_vector(vectors)
        away = [[u - c for u, c in zip(f, centre)] for f in vectors]
        for t, mine in enumerate(away):
            penalties[t].append(sum(dot(mine, other) for s, other in enumerate(away) if s != t))
    return [mean(values) for values in penalties]


# The objective: TDAC and TDAS ---------------------------------------------------------


def relevance(votes, y, t):
    """MI(h_t, c): how much member t tells about the true labels (Bian et al. 2020)."""
    return nmi(column(votes, t), y)


def tdac(votes, y, i, j, lam):
    """lambda VI + (1 - lambda) (MI_i + MI_j)/2, 0 for equal votes (Bian et al. 2020, Eq. 4)."""
    a, b = column(votes, i), column(votes, j)
    if a == b:
        return 0.0
    return lam * nvi(a, b) + (1 - lam) * (relevance(votes, y, i) + relevance(votes, y, j)) / 2


def tdas(votes, y, members, lam):
    """TDAS: TDAC summed over the unordered pairs (Bian et al. 2020, Eq. 5)."""
    return sum((tdac(votes, y, i, j, lam) for i, j in combinations(sorted(members), 2)), 0.0)


def best_tdas(votes, y, keep, lam):
    """The largest TDAS of any keep members, by trying them all (Bian et al. 2020, Eq. 7)."""
    return max(tdas(votes, y, members, lam) for members in combinations(all_members(votes), keep))


# Searching ----------------------------------------------------------------------------


def grow(chosen, n_members, keep, score):
    """Greedy search: add the member with the best score(chosen, member) until keep are chosen."""
    chosen = list(chosen)
    while len(chosen) < keep:
        rest = [t for t in range(n_members) if t not in chosen]
        chosen.append(best({t: score(chosen, t) for t in rest}))
    return chosen


def best_prefix(order, loss):
    """The shortest beginning of the order among those with the smallest loss."""
    size = best({size: -loss(order[:size]) for size in range(1, len(order) + 1)})
    return order[:size]


def n_kept(keep, n):
    """A count as it is; a fraction of n members rounded, but at least one."""
    return keep if isinstance(keep, int) else max(1, round(keep * n))


def may_be_first(votes):
    """The members with at least half as many answers as the member with the most."""
    answered = [
        sum(1 for label in column(votes, t) if label != ABSTAINS) for t in range(len(votes[0]))
    ]
    return [t for t, count in enumerate(answered) if 2 * count >= max(answered)]


def with_valid_first(votes, order):
    """The order with the first member that may be first in front."""
    front = next((t for t in order if t in may_be_first(votes)), order[0])
    return [front, *(t for t in order if t != front)]


# COMEP --------------------------------------------------------------------------------


def comep(votes, y, keep, lam, start):
    """Greedy maximisation of TDAS (Bian et al. 2020, Algorithm 1)."""
    members = all_members(votes)
    if start == "every":
        runs = {i: comep(votes, y, keep, lam, i) for i in may_be_first(votes)}
        return runs[best({i: tdas(votes, y, run, lam) for i, run in runs.items()})]
    if start == "relevance":
        start = best({t: relevance(votes, y, t) for t in may_be_first(votes)})
    elif start == "spread":
        start = spread_start(votes, y, lam)

    def distance_to_chosen(chosen, t):
        return sum(tdac(votes, y, t, s, lam) for s in chosen)

    return grow([start], len(members), keep, distance_to_chosen)


def spread_references(votes, y, exact_up_to, n_references):
    """All members, or if they are too many some of them, evenly spread over the relevances."""
    members = all_members(votes)
    if len(members) <= exact_up_to:
        return members
    ranked = sorted(members, key=lambda t: (-round(relevance(votes, y, t), 12), t))
    last, steps = len(members) - 1, n_references - 1
    return [ranked[p] for p in sorted({round(j * last / steps) for j in range(n_references)})]


def spread_start(votes, y, lam, exact_up_to=256, n_references=32):
    """The member with the largest mean TDAC to the reference members other than itself."""
    members = all_members(votes)
    if len(members) == 1:
        return 0
    references = spread_references(votes, y, exact_up_to, n_references)
    spread = {}
    for t in members:
        others = [s for s in references if s != t]
        spread[t] = sum(tdac(votes, y, t, s, lam) for s in others) / len(others)
    return best({t: spread[t] for t in may_be_first(votes)})


def swap_refine(votes, y, members, lam):
    """Local search: make the swap that raises TDAS most, while one does (Abbassi et al. 2013)."""
    members = list(members)
    while True:
        now = tdas(votes, y, members, lam)
        outsiders = [t for t in all_members(votes) if t not in members]
        increase = {}
        for leaving in members:
            for entering in outsiders:
                swapped = [entering if t == leaving else t for t in members]
                increase[leaving, entering] = tdas(votes, y, swapped, lam) - now
        if not increase or max(increase.values()) <= 1e-12 * max(1, now):
            return members
        leaving, entering = best(increase)
        members[members.index(leaving)] = entering


# Early stopping, the best, and chance -------------------------------------------------


def deal(n, n_groups, rng):
    """Shuffled members in n mod m groups of ceil(n/m), then groups of floor(n/m)."""
    shuffled = [int(t) for t in rng.permutation(n)]
    groups = []
    for group in range(n_groups):
        size = n // n_groups + (1 if group < n % n_groups else 0)
        groups.append(sorted(shuffled[:size]))
        shuffled = shuffled[size:]
    return groups


def epfd(groups, prune, score):
    """Prune each group, then their union; the union's result unless a group's is strictly better.

    prune(members, round) gives chosen members, score(members) their worth, or None if they do not
    compete (Bian et al. 2020, Algorithm 3).
    """
    chosen = [prune(group, index) for index, group in enumerate(groups)]
    union = sorted(t for members in chosen for t in members)
    result = prune(union, len(groups))
    for members in chosen:
        if score(members) is not None and score(members) > score(result) + 1e-12:
            others = [m for m in chosen if score(m) is not None]
            return chosen, result, max(others, key=score)
    return chosen, result, result


def early_stopping(n, keep):
    """The first members that were built (Margineantu & Dietterich 1997)."""
    return list(range(n))[:keep]


def best_members(votes, y, keep):
    """The members that are right most often."""
    return sorted(all_members(votes), key=lambda t: (-n_correct(votes, y, t), t))[:keep]


def random_members(n, keep, rng):
    """Any members, each choice as likely as the others."""
    return [int(t) for t in rng.permutation(n)[:keep]]


# KL-divergence pruning and kappa pruning ----------------------------------------------


def class_frequencies(votes, y):
    """For each member the share of its votes that each label gets."""
    labels = all_labels(votes, y)
    columns = [column(votes, t) for t in all_members(votes)]
    return [[share(u == label for u in a) for label in labels] for a in columns]


def smoothed(distribution):
    """The distribution with 1e-12 added everywhere, summing to one again."""
    raised = [float(p) + 1e-12 for p in distribution]
    return [p / sum(raised) for p in raised]


def kl_divergence(p, q):
    """KL(P || Q) = sum p log p/q in nats (Kullback & Leibler 1951)."""
    return sum(u * math.log(u / v) for u, v in zip(p, q))


def kl_pruning(distributions, keep, symmetric=False, start=0):
    """Greedily maximise J(U) = sum_{i<j in U} KL(D_i || D_j) (Margineantu & Dietterich 1997)."""
    smooth = [smoothed(distribution) for distribution in distributions]

    def divergence(chosen, t):
        total = 0.0
        for i, j in combinations(sorted([*chosen, t]), 2):
            total += kl_divergence(smooth[i], smooth[j])
            if symmetric:
                total += kl_divergence(smooth[j], smooth[i])
        return total

    return grow([start], len(smooth), keep, divergence)


def kappa_pruning(votes, keep):
    """Pairs by increasing kappa, until keep members are met (Margineantu & Dietterich 1997)."""
    ranked = sorted((kappa(column(votes, i), column(votes, j)), i, j) for i, j in all_pairs(votes))
    chosen = []
    for _, i, j in ranked:
        for t in (i, j):
            if t not in chosen:
                chosen.append(t)
    return chosen[:keep]


# Orientation ordering -----------------------------------------------------------------


def signature(votes, y, t):
    """c_t: +1 on the samples that member t gets right, -1 on the others."""
    return [1 if label == truth else -1 for label, truth in zip(column(votes, t), y)]


def reference_vector(votes, y):
    """c_ref = o + lambda c_ens, orthogonal to c_ens (Martinez-Munoz & Suarez 2006)."""
    c_ens = mean_vector([signature(votes, y, t) for t in all_members(votes)])
    if not any(c_ens):
        return [Fraction(1) for _ in c_ens]
    lam = -sum(c_ens) / dot(c_ens, c_ens)
    return [1 + lam * c for c in c_ens]


def orientation_ordering(votes, y, keep=None):
    """Members by their angle to c_ref, those below 90 degrees (Martinez-Munoz & Suarez 2006)."""
    c_ref = reference_vector(votes, y)
    if not any(c_ref):
        return best_members(votes, y, 1 if keep is None else keep)
    along = [dot(signature(votes, y, t), c_ref) for t in all_members(votes)]
    order = sorted(all_members(votes), key=lambda t: (-along[t], t))
    below_right_angle = sum(1 for product in along if product > 0)
    return order[: max(1, below_right_angle) if keep is None else keep]


# Boosting-based ordering --------------------------------------------------------------


def boosting_order(votes, y, keep):
    """Members by AdaBoost's weighted error, each once, and the errors (Martinez-Munoz 2007)."""
    samples = range(len(y))
    weights = [Fraction(1, len(y)) for _ in samples]
    chosen, errors_then = [], []
    while len(chosen) < keep:
        rest = [t for t in all_members(votes) if t not in chosen]
        error = {t: sum(weights[n] for n in samples if votes[n][t] != y[n]) for t in rest}
        member = best({t: -error[t] for t in rest})
        chosen.append(member)
        errors_then.append(error[member])
        if error[member] == 0 or error[member] >= Fraction(1, 2):
            weights = [Fraction(1, len(y)) for _ in samples]
            continue
        for n in samples:
            wrong = votes[n][member] != y[n]
            weights[n] /= 2 * (error[member] if wrong else 1 - error[member])
    return chosen, errors_then


# Clustering ---------------------------------------------------------------------------


def member_distance(votes, y, i, j, representation):
    """How far apart two members are, by what they are compared by (see ClusterPruner)."""
    a, b = column(votes, i), column(votes, j)
    if representation == "double_fault":
        return 1 - double_fault(a, b, y)
    if representation == "nvi":
        return nvi(a, b)
    if representation == "onehot":  # each different label differs in two places
        return math.sqrt(2 * sum(1 for u, v in zip(a, b) if u != v))
    if representation == "oracle":
        return math.sqrt(oracle_disagreement(a, b, y) * len(y))
    return disagreement(a, b)


def probability_distance(a, b):
    """Euclidean distance of two members' probabilities, over all samples and classes."""
    return math.sqrt(sum(squared_distance(p, q) for p, q in zip(a, b)))


def merged_clusters(n_members, n_clusters, distance, linkage):
    """Merge the two closest clusters, the lexicographically first of those that tie."""
    clusters = [[t] for t in range(n_members)]
    while len(clusters) > n_clusters:
        apart = {}
        for p, q in combinations(range(len(clusters)), 2):
            between = [distance(i, j) for i in clusters[p] for j in clusters[q]]
            joined = {"average": mean, "single": min, "complete": max}[linkage](between)
            apart[p, q] = -joined
        p, q = best(apart)
        clusters[p] = sorted(clusters[p] + clusters.pop(q))
        clusters.sort()
    return clusters


def cluster_pruning(votes, y, keep, how=("double_fault", "average", "accuracy"), proba=None):
    """One member of each cluster, and the clusters (Giacinto, Roli & Fumera 2000).

    proba holds the probabilities, samples x members x classes, if members are compared by them.
    """
    members = all_members(votes)
    representation, linkage, representative = how

    def distance(i, j):
        if proba is not None:
            return probability_distance(column(proba, i), column(proba, j))
        return member_distance(votes, y, i, j, representation)

    if keep is None:
        runs = {}
        for size in range(1, len(members) + 1):
            runs[size] = cluster_pruning(votes, y, size, how, proba)
        return runs[best({k: -expected_errors(votes, y, run[0]) for k, run in runs.items()})]

    def worth(t, cluster):
        if representative == "accuracy":
            return n_correct(votes, y, t)
        if representative == "distant":
            others = [s for s in members if s not in cluster]
            return mean(distance(t, s) for s in others) if others else 0
        inside = [s for s in cluster if s != t]
        return -mean(distance(t, s) for s in inside) if inside else 0

    clusters = merged_clusters(len(members), keep, distance, linkage)
    return [best({t: worth(t, cluster) for t in cluster}) for cluster in clusters], clusters


# Reduced-error pruning and DREP -------------------------------------------------------


def reduced_error(votes, y, keep, backfit=False):
    """Add the member that leaves the vote fewest errors (Margineantu & Dietterich 1997)."""

    def accuracy(chosen, t):
        return -errors(votes, y, [*chosen, t])

    chosen = []
    while len(chosen) < keep:
        chosen = grow(chosen, len(votes[0]), len(chosen) + 1, accuracy)
        if backfit and len(chosen) >= 2:
            chosen = back_fit(votes, y, chosen)
    return chosen


def back_fit(votes, y, chosen):
    """Choose each place again, oldest first, until none changes or for 100 rounds."""
    for _ in range(100):
        before = list(chosen)
        for place, removed in enumerate(before):
            others = chosen[:place] + chosen[place + 1 :]
            free = [t for t in all_members(votes) if t not in others]
            wrong = {t: errors(votes, y, [*others, t]) for t in free}
            if min(wrong.values()) < wrong[removed]:
                chosen = list(chosen)
                chosen[place] = best({t: -wrong[t] for t in free})
        if chosen == before:
            break
    return chosen


def drep_order(votes, y, rho):
    """All members: each time the fewest errors among the share rho most different (see drep)."""
    members = all_members(votes)
    order = [best({t: -errors(votes, y, [t]) for t in members})]
    while len(order) < len(members):
        rest = [t for t in members if t not in order]
        agreement = {}
        for t in rest:
            agreement[t] = sum(1 for row in votes for s in order if row[t] == row[s])
        different = sorted(rest, key=lambda t: (agreement[t], t))
        candidates = different[: max(1, math.ceil(rho * len(rest) - 1e-9))]
        order.append(best({t: -errors(votes, y, [*order, t]) for t in candidates}))
    return order


def drep(votes, y, rho, stop="best_prefix", keep=None):
    """Diversity-regularised pruning: most different first, then fewest errors (Li et al. 2012)."""
    order = drep_order(votes, y, rho)
    if keep is not None:
        return order[:keep]
    if stop == "best_prefix":
        return best_prefix(order, lambda prefix: errors(votes, y, prefix))
    for size in range(1, len(order)):
        now, then = errors(votes, y, order[:size]), errors(votes, y, order[: size + 1])
        if then > now or (stop == "strict" and then == now):
            return order[:size]
    return order


# OEP, SEP and PEP (Qian, Yu & Zhou 2015) ----------------------------------------------


def auto_iterations(n, cap=50000):
    """Rounds of SEP and PEP: n^2 ln n, rounded, at most the cap."""
    return min(cap, round(n * n * math.log(n)))


def oep(votes, y, keep=None):
    """Greedy by expected errors; the beginning with the fewest (Qian et al. 2015)."""

    def accuracy(chosen, t):
        return -expected_errors(votes, y, [*chosen, t])

    order = grow([], len(votes[0]), keep or len(votes[0]), accuracy)
    if keep is not None:
        return order
    return best_prefix(order, lambda prefix: expected_errors(votes, y, prefix))


def random_solution(n, rng, keep=None):
    """Every member with probability one half, somebody at least, keep of them at most."""
    bits = rng.randint(0, 2, size=n)
    while not any(bits):
        bits = rng.randint(0, 2, size=n)
    members = [t for t in range(n) if bits[t]]
    if keep is not None and len(members) > keep:
        members = rng.permutation(members)[:keep].tolist()
    return frozenset(members)


def random_flips(n, rng):
    """Each member with probability 1/n."""
    return frozenset(t for t, u in enumerate(rng.random_sample(n)) if u < 1 / n)


def sep(votes, y, n_iterations, rng, keep=None):
    """Flip bits at random and go there unless it is worse, or too large (Qian et al. 2015)."""
    solution = random_solution(len(votes[0]), rng, keep)
    for _ in range(n_iterations):
        flipped = solution ^ random_flips(len(votes[0]), rng)
        fits = keep is None or len(flipped) <= keep
        if fits and expected_errors(votes, y, flipped) <= expected_errors(votes, y, solution):
            solution = flipped
    return sorted(solution)


def judged(votes, y, solution):
    """A solution with its objectives in front: (expected errors, size, members)."""
    return expected_errors(votes, y, solution), len(solution), tuple(sorted(solution))


def weakly_dominates(z, s):
    """z is as good as s in both objectives."""
    return z[0] <= s[0] and z[1] <= s[1]


def dominates(z, s):
    """z is as good as s in both objectives, and better in one."""
    return weakly_dominates(z, s) and (z[0] < s[0] or z[1] < s[1])


def offer(archive, s):
    """The archive after s asked to come in: s replaces all it weakly dominates."""
    if any(dominates(z, s) for z in archive):
        return archive
    return [z for z in archive if not weakly_dominates(s, z)] + [s]


def vds(votes, y, solution):
    """Variable-depth search: flip the best bit not yet flipped, n times (Qian et al. 2015)."""
    solution, free, visited = frozenset(solution), all_members(votes), []
    while free:
        flip = best({t: -expected_errors(votes, y, solution ^ {t}) for t in free})
        solution = solution ^ {flip}
        free.remove(flip)
        visited.append(solution)
    return visited


def pep(votes, y, n_iterations, rng, keep=None):
    """Pareto ensemble pruning: few errors and few members at once (Qian et al. 2015).

    A child that repeats its parent ends the round if the depth search has already started from it.
    """
    n = len(votes[0])
    archive = [judged(votes, y, random_solution(n, rng, keep))]
    searched = set()
    for _ in range(n_iterations):
        parent = frozenset(archive[rng.randint(len(archive))][2])
        child = parent ^ random_flips(n, rng)
        if not child or (child == parent and child in searched):
            continue
        if any(dominates(z, judged(votes, y, child)) for z in archive):
            continue
        archive = offer(archive, judged(votes, y, child))
        searched.add(child)
        for solution in vds(votes, y, child):
            if solution:
                archive = offer(archive, judged(votes, y, solution))
    front = sorted(archive, key=lambda s: s[1])
    small_enough = [s for s in front if keep is None or s[1] <= keep]
    return list(min(small_enough)[2]), front


def pareto_front(votes, y):
    """All (expected errors, size) that no set of members dominates, by trying every set."""
    members = all_members(votes)
    sizes = range(1, len(members) + 1)
    points = {judged(votes, y, s)[:2] for size in sizes for s in combinations(members, size)}
    return {s for s in points if not any(dominates(z, s) for z in points)}
