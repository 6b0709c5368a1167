"""Missing votes: measures use samples with votes of both members, tallies the present votes."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_pareto
from cases import cases, plain
from checks import quick
from secateurs import COMEP, ClusterPruner, ParetoCOMEP, Votes, make_pruner, measures, prune
from secateurs._methods import METHODS
from secateurs.objectives import TDAS

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|one class)"
)


@st.composite
def gapped(draw, **limits):
    """Votes with gaps, None where a vote is missing; every member has one somewhere."""
    case = draw(cases(**limits))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = rng.random((len(case.y), case.n_members)) < draw(st.sampled_from([0.1, 0.4, 0.9]))
    mask[rng.integers(len(case.y), size=case.n_members), np.arange(case.n_members)] = False
    gaps = [
        [None if gone else label for label, gone in zip(row, lost)]
        for row, lost in zip(case.votes, mask)
    ]
    return np.ma.array(case.votes, mask=mask), case.y, gaps


def common(gaps, y, *members):
    """The samples that all the members have: their columns, and the true labels."""
    rows = [n for n, row in enumerate(gaps) if all(row[t] is not None for t in members)]
    return [*([gaps[n][t] for n in rows] for t in members), [y[n] for n in rows]]


def tdac(gaps, y, i, j, weight):
    first, second, _ = common(gaps, y, i, j)
    if first == second:  # also where they have no sample in common
        return 0.0
    relevance = [naive.nmi(*common(gaps, y, t)) for t in (i, j)]
    return weight * naive.nvi(first, second) + (1 - weight) * sum(relevance) / 2


def classes(gaps, y):
    return sorted({label for row in gaps for label in row if label is not None} | set(y))


def is_wrong(gaps, y, members):
    """Where the vote of those who have one errs; ties to the lowest class, no vote is an error."""
    labels = classes(gaps, y)
    votes = [[row[t] for t in members] for row in gaps]
    winners = [
        max(labels, key=lambda c, row=row: (row.count(c), -labels.index(c))) for row in votes
    ]
    voted = [any(vote is not None for vote in row) for row in votes]
    return [winner != truth or not some for winner, truth, some in zip(winners, y, voted)]


def errors(gaps, y, members):
    return sum(is_wrong(gaps, y, members))


def expected_errors(gaps, y, members):
    total = Fraction(0)
    for row, truth in zip(gaps, y):
        counts = {label: [row[t] for t in members].count(label) for label in classes(gaps, y)}
        tied = [label for label, count in counts.items() if count == max(counts.values())]
        total += 1 - Fraction(1, len(tied)) if truth in tied else 1
    return total


@pytest.mark.parametrize("name", ["kappa", "disagreement", "nvi", "double_fault", "q_statistic"])
@given(drawn=gapped(most_members=4))
def test_pairs_are_measured_over_common_samples(name, drawn):
    votes, y, gaps = drawn
    measure = getattr(measures, name)
    matrix = measure.matrix(votes, y)
    for i, j in combinations(range(votes.shape[1]), 2):
        first, second, truth = common(gaps, y, i, j)
        if truth:
            args = (truth,) if measure.needs_truth else ()
            expected = float(getattr(naive, name)(first, second, *args))
            assert matrix[i, j] == pytest.approx(expected, abs=1e-12)
        assert np.isfinite(matrix[i, j])


@given(gapped(most_members=5), st.sampled_from([0.0, 0.3, 1.0]))
def test_tdac_is_over_common_samples(drawn, weight):
    votes, y, gaps = drawn
    members = range(votes.shape[1])
    expected = [[0.0 if i == j else tdac(gaps, y, i, j, weight) for j in members] for i in members]
    got = TDAS(Votes.encode(votes, y), weight).matrix()
    assert got == pytest.approx(np.array(expected), abs=1e-12)


@given(gapped(most_members=5), st.data())
def test_comep_is_greedy_over_common_samples(drawn, data):
    votes, y, gaps = drawn
    n_members = votes.shape[1]
    keep = data.draw(st.integers(1, n_members))

    def gain(chosen, t):
        return float(sum(tdac(gaps, y, t, s, 0.5) for s in chosen))

    expected = naive.grow([0], n_members, keep, gain)
    assert COMEP(keep, start=0).fit(votes, y).member_indices_.tolist() == expected


@pytest.mark.parametrize(("name", "formula"), [("re", errors), ("oep", expected_errors)])
@given(drawn=gapped(most_members=4, most_samples=30), data=st.data())
def test_votes_are_of_those_who_have_one(name, formula, drawn, data):
    votes, y, gaps = drawn
    n_members = votes.shape[1]
    keep = data.draw(st.integers(1, n_members))
    expected = naive.grow([], n_members, keep, lambda chosen, t: -formula(gaps, y, [*chosen, t]))
    pruner = make_pruner(name, keep=keep).fit(votes, y)
    assert pruner.member_indices_.tolist() == expected
    assert pruner.objective_ == pytest.approx(float(formula(gaps, y, expected)) / len(y))


def n_right(gaps, y, t):
    return sum(row[t] == truth for row, truth in zip(gaps, y))


def complementarity(gaps, y, chosen, t):
    wrong = is_wrong(gaps, y, chosen)
    return sum(row[t] == truth and missed for row, truth, missed in zip(gaps, y, wrong))


def uncertainty_weighted(gaps, y, chosen, t):
    """Members without a vote are neither right nor wrong, chosen or not."""
    total = 0
    for row, truth, missed in zip(gaps, y, is_wrong(gaps, y, chosen)):
        against = [row[s] for s in chosen if row[s] is not None and (row[s] == truth) == missed]
        if row[t] is not None:
            total += len(against) if row[t] == truth else -len(against)
    return total * (len(y) + 1) + n_right(gaps, y, t)  # ties: the most correct votes


@pytest.mark.parametrize(
    ("name", "formula"), [("comp", complementarity), ("uwa", uncertainty_weighted)]
)
@given(drawn=gapped(most_members=5, most_samples=30), data=st.data())
def test_orderings_count_only_present_votes(name, formula, drawn, data):
    votes, y, gaps = drawn
    n_members = votes.shape[1]
    keep = data.draw(st.integers(1, n_members))
    first = naive.best({t: n_right(gaps, y, t) for t in range(n_members)})
    expected = naive.grow([first], n_members, keep, lambda chosen, t: formula(gaps, y, chosen, t))
    pruner = make_pruner(name, keep=keep).fit(votes, y)
    assert pruner.member_indices_.tolist() == expected
    assert pruner.objective_ == pytest.approx(errors(gaps, y, expected) / len(y))


@given(gapped(most_members=6, most_samples=30))
def test_a_missing_vote_does_not_change_the_margin(drawn):
    votes, y, gaps = drawn
    n_members = votes.shape[1]

    def signature(label, truth):
        return 0 if label is None else 1 if label == truth else -1

    def closeness(chosen, t):
        members = [*chosen, t]
        target = 2 * math.sqrt(2 * len(members))
        sums = [sum(signature(row[s], truth) for s in members) for row, truth in zip(gaps, y)]
        return -sum((target - total) ** 2 for total in sums) / n_members**2

    pruner = make_pruner("mdm", keep=1.0).fit(votes, y)
    assert pruner.member_indices_.tolist() == naive.grow([], n_members, n_members, closeness)


@given(gapped(most_samples=30))
def test_a_missing_vote_contributes_nothing(drawn):
    votes, y, gaps = drawn
    labels, expected = classes(gaps, y), [0] * votes.shape[1]
    for row, truth in zip(gaps, y):
        counts = [row.count(label) for label in labels]
        v_max, v_sec = sorted([0, *counts])[:-3:-1]
        majority = labels[counts.index(v_max)]
        for t, label in enumerate(row):
            if label is None:
                continue
            if label != truth:
                expected[t] += row.count(truth) - row.count(label) - v_max
            else:
                expected[t] += v_sec if label == majority else 2 * v_max - row.count(label)
    pruner = make_pruner("epic", keep=1.0).fit(votes, y)
    assert pruner.contributions_.tolist() == expected


def boosting_order(gaps, y):
    """Errors are over the weight of the samples a member votes on; the others keep theirs."""
    samples, all_members = range(len(y)), range(len(gaps[0]))
    equal = [Fraction(1, len(y))] * len(y)
    weights, chosen = equal, []

    def error(t):
        voted = [n for n in samples if gaps[n][t] is not None]
        wrong = [n for n in voted if gaps[n][t] != y[n]]
        return Fraction(sum(weights[n] for n in wrong), sum(weights[n] for n in voted))

    while len(chosen) < len(all_members):
        errors_now = {t: error(t) for t in all_members if t not in chosen}
        member = naive.best({t: -e for t, e in errors_now.items()})
        e = errors_now[member]
        chosen.append(member)
        factors = {None: 1, False: 1 / (2 * (1 - e)) if e < 1 else 1, True: 1 / (2 * e) if e else 1}
        grown = [
            weights[n] * factors[None if gaps[n][member] is None else gaps[n][member] != y[n]]
            for n in samples
        ]
        is_reset = e == 0 or e >= Fraction(1, 2)
        weights = equal if is_reset else [weight / sum(grown) for weight in grown]
    return chosen


@given(gapped(most_members=5, most_samples=30))
def test_boosting_weighs_the_samples_that_a_member_votes_on(drawn):
    votes, y, gaps = drawn
    pruner = make_pruner("boost", keep=1.0).fit(votes, y)
    assert pruner.member_indices_.tolist() == boosting_order(gaps, y)


APART = {
    "double_fault": lambda a, b, y: 1 - (naive.double_fault(a, b, y) if y else 0),
    "disagreement": lambda a, b, y: naive.disagreement(a, b) if y else 0,
    "nvi": lambda a, b, y: naive.nvi(a, b) if y else 0,
    "onehot": lambda a, b, y: math.sqrt(naive.disagreement(a, b)) if y else 0,
    "oracle": lambda a, b, y: math.sqrt(naive.oracle_disagreement(a, b, y)) if y else 0,
}


@given(
    gapped(most_members=5, most_samples=30),
    st.sampled_from(sorted(APART)),
    st.sampled_from(["average", "single", "complete"]),
    st.sampled_from(["accuracy", "distant", "medoid"]),
    st.data(),
)
def test_clusters_compare_members_over_common_samples(
    drawn, representation, linkage, representative, data
):
    votes, y, gaps = drawn
    all_members = list(range(votes.shape[1]))
    keep = data.draw(st.integers(1, len(all_members)))

    def distance(i, j):
        return APART[representation](*common(gaps, y, i, j))

    def worth(t, cluster):
        if representative == "accuracy":
            return Fraction(n_right(gaps, y, t), len(common(gaps, y, t)[0]))
        others = [s for s in all_members if s not in cluster]
        if representative == "distant":
            return naive.mean(distance(t, s) for s in others) if others else 0
        return -sum(distance(t, s) for s in cluster if s != t)

    clusters = naive.merged_clusters(len(all_members), keep, distance, linkage)
    expected = [naive.best({t: worth(t, cluster) for t in cluster}) for cluster in clusters]
    pruner = ClusterPruner(keep, representation, linkage, representative).fit(votes, y)
    assert pruner.labels_.tolist() == [
        next(place for place, cluster in enumerate(clusters) if t in cluster) for t in all_members
    ]
    assert pruner.member_indices_.tolist() == expected


@given(gapped(most_members=5, most_samples=25), st.data())
def test_the_pareto_front_compares_members_over_common_samples(drawn, data):
    votes, y, gaps = drawn
    keep, seed = data.draw(st.integers(1, votes.shape[1])), data.draw(st.integers(0, 2**31))
    pruner = ParetoCOMEP(keep, seed).fit(votes, y)
    front = naive_pareto.front(gaps, y, keep)
    assert pruner.pareto_front_["members"].tolist() == [list(s[0]) for s in front]
    expected = naive_pareto.pareto_comep(gaps, y, keep, np.random.RandomState(seed))
    assert pruner.member_indices_.tolist() == expected


@given(gapped())
def test_the_best_members_are_right_most_often_where_they_vote(drawn):
    votes, y, gaps = drawn

    def accuracy(t):
        column, truth = common(gaps, y, t)
        return Fraction(sum(a == b for a, b in zip(column, truth)), len(truth))

    expected = sorted(range(votes.shape[1]), key=lambda t: (-accuracy(t), t))
    pruner = make_pruner("best", keep=1.0).fit(votes, y)
    assert pruner.member_indices_.tolist() == expected
    assert pruner.scores_ == pytest.approx([float(accuracy(t)) for t in expected])


@pytest.mark.parametrize(
    "name", [n for n, method in METHODS.items() if method.traits.takes_missing]
)
@given(drawn=gapped(most_members=5, most_samples=30), data=st.data())
def test_batches_give_the_same_result_as_one_fit(name, drawn, data):
    votes, y, _ = drawn
    whole, batched = quick(name).fit(votes, y), quick(name)
    cut = data.draw(st.integers(0, len(y)))
    for rows in (slice(cut), slice(cut, None)):
        if votes.mask[rows].all(axis=0).any():
            return  # no rows, or somebody without a vote in the first batch
        batched.partial_fit(votes[rows], y[rows])
    assert batched.member_indices_.tolist() == whole.member_indices_.tolist()


@given(gapped())
def test_a_mask_without_missing_votes_changes_nothing(drawn):
    votes, y, _ = drawn
    unmasked = np.ma.array(votes.data, mask=np.zeros(votes.shape, bool))
    coded = Votes.encode(unmasked, y)
    assert not coded.has_missing
    assert (coded.packed.decode() == Votes.encode(votes.data, y).packed.decode()).all()


def test_values_under_a_mask_do_not_matter():
    case = plain(5, 40)
    mask = np.random.default_rng(0).random((40, 5)) < 0.3
    clean = np.ma.array(case.votes, mask=mask)
    dirty = np.ma.array(np.where(mask, np.nan, case.votes), mask=mask)
    first, second = COMEP(keep=3).fit(clean, case.y), COMEP(keep=3).fit(dirty, case.y)
    assert first.scores_.tolist() == second.scores_.tolist()


def test_methods_that_need_every_vote_reject_missing_votes():
    votes = np.ma.array([[0, 1], [1, 1]], mask=[[True, False], [False, False]])
    with pytest.raises(
        ValueError, match="OrientationOrderingPruner cannot work with missing votes"
    ):
        make_pruner("oo").fit(votes, [0, 1])
    with pytest.raises(ValueError, match="a vote of every member on every sample"):
        measures.kohavi_wolpert(votes, [0, 1])


def test_a_member_without_any_vote_is_refused():
    votes = np.ma.array([[0, 1], [1, 1]], mask=[[False, True], [False, True]])
    with pytest.raises(ValueError, match="Member 1 has no vote at all"):
        COMEP(keep=1).fit(votes, [0, 1])
    with pytest.raises(ValueError, match="Member 'oak' has no vote at all"):
        prune({"fir": [0, 1], "oak": [None, None]}, y=[0, 1], pruner="best", missing="ignore")
    with pytest.raises(ValueError, match="masked everywhere"):
        Votes.encode(np.ma.masked_all((2, 2), dtype=int))


def test_true_labels_can_be_added_to_votes_with_missing_entries():
    votes = np.ma.array([["a", "b"], ["b", "b"]], mask=[[True, False], [False, False]])
    labelled = Votes.encode(votes).with_labels(["c", "b"])
    assert labelled.n_right.tolist() == [1, 1]
    assert labelled.n_voted.tolist() == [1, 2]
    assert labelled.vote().tolist() == ["b", "b"]


@st.composite
def agreeing(draw):
    """Votes with gaps that agree where there are any, so that no vote is ever tied; and y."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_members, n_samples = draw(st.integers(3, 7)), draw(st.integers(8, 70))
    n_classes = draw(st.sampled_from([2, 3, 5, 70]))
    votes = np.repeat(rng.integers(n_classes, size=(n_samples, 1)), n_members, axis=1)
    y = np.where(rng.random(n_samples) < 0.6, votes[:, 0], rng.integers(n_classes, size=n_samples))
    mask = rng.random(votes.shape) < draw(st.sampled_from([0.3, 0.6, 0.9]))
    mask[rng.integers(n_samples, size=n_members), np.arange(n_members)] = False
    order = rng.permutation(n_classes)
    return votes, mask, y, order


@pytest.mark.parametrize("name", [name for name, m in METHODS.items() if m.traits.takes_missing])
@settings(max_examples=40, deadline=None)
@given(agreeing(), st.integers(1, 3))
def test_names_and_order_of_the_classes_do_not_matter(name, case, keep):
    """A sample without any vote is not a vote for the lowest class, in any method."""
    votes, mask, y, order = case
    members, values = [], []
    for names in (np.arange(len(order)), order, len(order) - np.arange(len(order))):
        fitted = quick(name, keep=keep).fit(np.ma.array(names[votes], mask=mask), names[y])
        members.append(fitted.member_indices_.tolist())
        values.append(fitted.scores_)
    assert members[0] == members[1] == members[2]
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=1e-9, atol=1e-9)


def test_a_sample_without_any_vote_is_never_correct():
    votes = np.ma.array([[0, 0], [0, 0], [1, 1]], mask=[[1, 1], [0, 1], [1, 1]])
    for names in (np.array([0, 1]), np.array([1, 0]), np.array(["b", "a"])):
        voted = Votes.encode(np.ma.array(names[votes.data], mask=votes.mask), names[[0, 0, 1]])
        assert voted.is_right().tolist() == [False, True, False]
        assert voted.accuracy([1]) == 0.0
