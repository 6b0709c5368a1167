"""Members within a total cost: the best panel of small pools, and never a worse one for more."""

import json
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitted_models import CHOOSE, TEST, X, Y
from secateurs import frontier, make_pruner, prune
from secateurs.evaluation.selections import copy_with_members
from secateurs.exceptions import BudgetError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")
METHODS = ("comep", "re", "best", "oo", "oep")


@st.composite
def priced(draw):
    """Votes, true labels, costs in whole numbers, and a total."""
    n_rows, n_members = draw(st.integers(2, 14)), draw(st.integers(2, 6))
    labels = st.integers(0, draw(st.integers(1, 2)))
    y = draw(st.lists(labels, min_size=n_rows, max_size=n_rows))
    rows = st.lists(labels, min_size=n_members, max_size=n_members)
    votes = draw(st.lists(rows, min_size=n_rows, max_size=n_rows))
    cost = draw(st.lists(st.integers(0, 6), min_size=n_members, max_size=n_members))
    return np.array(votes), np.array(y), cost, draw(st.integers(0, 12))


def accuracy(votes, y, members):
    """Share of rows that the plurality vote gets right; ties go to the lowest label."""
    right = 0
    for row, label in zip(votes[:, members].tolist(), y.tolist(), strict=True):
        right += min(set(row), key=lambda one: (-row.count(one), one)) == label
    return Fraction(right, len(y))


def affordable_sets(cost, limit):
    everybody = range(len(cost))
    for size in range(1, len(cost) + 1):
        for some in combinations(everybody, size):
            if sum(cost[m] for m in some) <= limit:
                yield list(some)


@given(priced(), st.sampled_from(METHODS))
def test_the_best_panel_within_the_total_is_found_whenever_there_is_one(drawn, method):
    votes, y, cost, limit = drawn
    possible = list(affordable_sets(cost, limit))
    if not possible:
        with pytest.raises(BudgetError, match=f"the cheapest costs {min(cost)}. Pass a larger"):
            prune(votes, y=y, pruner=method, cost=cost, max_cost=limit, random_state=0)
        return
    kept = prune(votes, y=y, pruner=method, cost=cost, max_cost=limit, random_state=0)
    members = kept.member_indices.tolist()
    # The best score, then the lowest cost, then the fewest members, then the lowest indices.
    best = min(
        possible,
        key=lambda one: (-accuracy(votes, y, one), sum(cost[m] for m in one), len(one), one),
    )
    assert members == best


@given(priced())
def test_a_larger_total_never_gives_a_worse_panel(drawn):
    votes, y, cost, _ = drawn
    limits = range(min(cost), sum(cost) + 1)
    reached = [
        accuracy(
            votes,
            y,
            prune(votes, y=y, pruner="best", cost=cost, max_cost=limit).member_indices.tolist(),
        )
        for limit in limits
    ]
    assert reached == sorted(reached)


def test_a_panel_of_fair_members_beats_one_good_member():
    """One good member takes all of the total; three fair ones that err apart cost less."""
    y = np.array([0, 1] * 30)
    wrong = [range(6), range(6, 16), range(16, 26), range(26, 36)]
    votes = np.stack([y.copy() for _ in wrong], axis=1)
    for member, rows in enumerate(wrong):
        votes[list(rows), member] ^= 1
    found = prune(votes, y=y, pruner="best", cost=[10, 3, 3, 3], max_cost=10, random_state=0)
    assert sorted(found.member_indices.tolist()) == [1, 2, 3]
    assert found.by_cost.total == 9
    assert repr(found).endswith("members kept by total cost 9)")
    assert not found.reason
    alone = prune(votes, y=y, pruner="best", keep=4).member_indices[0]
    assert alone == 0  # the first of the order, beside which nothing fits


def test_members_without_cost_are_kept_only_if_they_help():
    y = np.array([0, 1] * 20)
    good, bad = y.copy(), 1 - y
    good[:8] ^= 1
    votes = np.stack([good, bad, y], axis=1)
    kept = prune(votes, y=y, cost=[0, 0, 5], max_cost=0, random_state=0)
    assert kept.member_indices.tolist() == [0]


def test_the_result_is_a_pruning_like_any_other(forest):
    cost = np.random.default_rng(0).uniform(1, 3, size=25)
    kept = prune(forest, X[CHOOSE], Y[CHOOSE], "best", cost=cost, max_cost=9, random_state=0)
    members = kept.member_indices
    assert kept.pruner.support_.nonzero()[0].tolist() == sorted(members.tolist())
    assert len(kept.pruner.scores_) == len(members) == kept.pruner.keep
    assert kept.estimator.n_estimators == len(members)
    assert cost[members].sum() <= 9
    told = json.loads(json.dumps(kept.provenance()))["budget"]
    assert told["cost"] == cost.tolist()
    assert told["max_cost"] == 9
    assert told["total_cost"] == pytest.approx(cost[members].sum())
    assert told["is_exact"] is False  # 25 members are too many for all panels
    again = pickle.loads(pickle.dumps(kept))
    assert again.member_indices.tolist() == members.tolist()
    summary = kept.summary(X[TEST], Y[TEST])
    assert summary.loc["members"].iloc[1] == len(members)
    assert summary.loc["cost", ["before", "after"]].tolist() == pytest.approx(
        [cost.sum(), cost[members].sum()]
    )


def test_cross_validated_scores_select_by_cost_in_each_fold(forest):
    cost = np.random.default_rng(1).uniform(1, 3, size=25)
    kept = prune(forest, X[CHOOSE], Y[CHOOSE], cost=cost, max_cost=9, random_state=0)
    featured = kept.featured(X=X[CHOOSE], beside=False)
    assert any("selected by cost: total cost " in note for note in featured.evaluation.notes)
    selection = kept.by_cost.select_again(kept.problem.on_samples(np.arange(0, 200, 2)))
    (members,) = selection.member_groups
    assert cost[members].sum() <= 9


def test_with_a_tolerance_as_little_is_spent_as_it_allows(forest):
    cost = np.random.default_rng(2).uniform(1, 3, size=25)
    budget = {"cost": cost, "max_cost": 60, "random_state": 0}
    spent = [
        prune(forest, X[CHOOSE], Y[CHOOSE], "best", tolerance=loss, **budget).by_cost.limit
        for loss in (0.3, 0.1, 0.02)
    ]
    assert spent == sorted(spent)
    assert spent[0] < spent[-1] <= 60


def test_a_total_beside_bytes_meets_both(forest):
    cost, limit = np.ones(25), 40_000
    kept = prune(forest, X[CHOOSE], Y[CHOOSE], cost=cost, max_cost=20, max_bytes=limit)
    assert len(pickle.dumps(kept.estimator)) <= limit
    assert len(kept.member_indices) < 20
    with pytest.raises(BudgetError, match=r"max_bytes=10: the smallest takes \d.* kB. Pass"):
        prune(forest, X[CHOOSE], Y[CHOOSE], cost=cost, max_cost=20, max_bytes=10)


def test_a_single_row_is_enough():
    kept = prune([[0, 1, 1]], y=[1], cost=[1, 5, 2], max_cost=4, pruner="best")
    assert kept.member_indices.tolist() == [2]


def test_without_a_total_the_cheapest_panel_within_the_tolerance_of_the_best_is_kept():
    """Folds are repeated here one by one, with all panels enumerated on each training part."""
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=80)
    right = rng.random((80, 5)) < [0.9, 0.8, 0.75, 0.7, 0.8]
    votes, cost = np.where(right, y[:, None], 1 - y[:, None]), [8, 3, 2, 1, 3]
    folds = [(np.flatnonzero(np.arange(80) % 4 != f), np.arange(80)[f::4]) for f in range(4)]

    def best(samples, limit):
        return min(
            affordable_sets(cost, limit),
            key=lambda one: (
                -accuracy(votes[samples], y[samples], one),
                sum(cost[m] for m in one),
                len(one),
                one,
            ),
        )

    everybody = np.arange(80)
    limits = sorted({sum(cost[m] for m in best(everybody, limit)) for limit in range(1, 18)})
    held_out = []
    for limit in limits:
        counts = [
            accuracy(votes[test], y[test], best(train, limit)) * len(test) for train, test in folds
        ]
        held_out.append(sum(counts) / 80)
    full = sum(accuracy(votes[test], y[test], list(range(5))) * len(test) for _, test in folds) / 80
    reference = max(*held_out, full)
    end = held_out.index(reference) if reference in held_out and reference > full else len(limits)
    within = [score >= reference - Fraction(2, 100) for score in held_out][: end + 1]
    within += [True] * (end == len(limits))  # the full ensemble, compared with itself
    cheapest = within.index(True)
    expected = best(everybody, limits[cheapest]) if cheapest < len(limits) else list(range(5))
    kept = prune(votes, y=y, cost=cost, tolerance=0.02, cv=folds, random_state=0)
    assert kept.member_indices.tolist() == expected
    assert "the lowest within the tolerance" in kept.by_cost.remark
    same = frontier(votes, y=y, cost=cost, cv=folds).at(tolerance=0.02)
    assert same.member_indices.tolist() == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_full_ensemble_that_is_kept_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=200)
    right = rng.random((200, 7)) < 0.7  # equal and independent: each member helps
    votes, cost = np.where(right, y[:, None], 1 - y[:, None]), [3, 1, 2, 1, 2, 1, 3]
    result = frontier(votes, y=y, cost=cost, random_state=0)
    for kept in (prune(votes, y=y, cost=cost, pruner="joint", random_state=0), result.at()):
        # No panel is selected, so that the change is not that of the panels of each fold.
        assert kept.by_cost.keeps_all == (result.table()["change"].max() < -0.005)
        assert kept.by_cost.keeps_all
        summary = kept.summary()
        assert summary.loc[["members", "cost", "accuracy"], "change"].tolist() == [0, 0, 0]
        assert "within the tolerance, which only the full ensemble meets" in kept.by_cost.remark
        assert any("is within the tolerance of 0.005" in text for text in summary.attrs["remarks"])


def test_the_default_tolerance_applies_without_a_total():
    votes = np.array([[0, 1, 0], [1, 1, 1]] * 10)
    kept = prune(votes, y=[0, 1] * 10, cost=[5, 1, 2], random_state=0)
    assert kept.member_indices.tolist() == [2]
    assert kept.tolerance == 0.005


def test_costs_beside_a_number_of_members_are_reported():
    votes = np.array([[0, 1, 0], [1, 1, 1]] * 10)
    kept = prune(votes, y=[0, 1] * 10, keep=1, pruner="best", cost=[5, 1, 2])
    assert kept.by_cost is None
    assert kept.summary().loc["cost", ["before", "after"]].tolist() == [8, 5]


def test_a_total_without_costs_is_rejected():
    with pytest.raises(InputError, match="max_cost needs cost: the cost of each member"):
        prune([[0, 1], [1, 1]], y=[0, 1], max_cost=1)


def test_a_copy_with_other_members_leaves_the_pruner_as_it_is():
    votes, y = np.random.default_rng(0).integers(2, size=(2, 30, 6))[0], np.arange(30) % 2
    pruner = make_pruner("comep", keep=4).fit(votes, y)
    first = copy_with_members(pruner, pruner.member_indices_[:2].tolist())
    assert first.objective_ == first.scores_[-1] == pruner.scores_[1]
    other = copy_with_members(pruner, [5, 0], [0.5, 0.75])
    assert other.member_indices_.tolist() == [5, 0]
    assert other.keep == 2
    assert not hasattr(other, "objective_")
    assert len(pruner.member_indices_) == 4 == pruner.keep


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (["a", 1], "cost is not numeric"),
        ([-1, 1], r"cost has shape \(2,\) and contains -1"),
        ([float("nan"), 1], "contains nan"),
        ([float("inf"), 1], "contains inf"),
    ],
)
def test_costs_that_make_no_sense_are_refused(cost, message):
    with pytest.raises(InputError, match=message):
        prune([[0, 1], [1, 1]], y=[0, 1], cost=cost, max_cost=1)
