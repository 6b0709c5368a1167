"""Members within a total cost: never above it, and never worse than simple selections."""

import json
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitted_models import CHOOSE, TEST, X, Y
from secateurs import Predictions, make_pruner, prune
from secateurs.evaluation.cost_selection import PER_COST, CostRules
from secateurs.evaluation.selections import copy_with_members
from secateurs.exceptions import BudgetError, InputError
from secateurs.problem import Problem

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
def test_a_set_is_found_whenever_there_is_one_and_is_never_over_the_total(drawn, method):
    votes, y, cost, limit = drawn
    possible = list(affordable_sets(cost, limit))
    if not possible:
        with pytest.raises(BudgetError, match=f"the cheapest costs {min(cost)}. Pass a larger"):
            prune(votes, y=y, pruner=method, cost=cost, max_cost=limit, random_state=0)
        return
    kept = prune(votes, y=y, pruner=method, cost=cost, max_cost=limit, random_state=0)
    members = kept.member_indices.tolist()
    assert sorted(members) in possible
    # Not worse than the best single member, nor than the order until a member does not fit.
    reached = accuracy(votes, y, members)
    assert reached >= max(accuracy(votes, y, some) for some in possible if len(some) == 1)
    pruner = make_pruner(method)
    if pruner.is_nested:
        start = []
        for member in pruner.with_keep(len(cost)).fit(votes, y).member_indices_.tolist():
            if sum(cost[m] for m in [*start, member]) > limit:
                break
            start.append(member)
        assert not start or reached >= accuracy(votes, y, start)


def joint_error(votes, y, members, labels):
    """Squared error of the mean of one-hot votes."""
    total = Fraction(0)
    for row, label in zip(votes[:, members].tolist(), y.tolist(), strict=True):
        for one in labels:
            mean = Fraction(row.count(one), len(row)) if row else Fraction(1, len(labels))
            total += (mean - (label == one)) ** 2
    return total / len(y)


def naive_greedy(votes, y, cost, limit, per_cost):
    """Add the member with the largest gain, or gain per cost, as the formula has it."""
    chosen, labels = [], {*votes.ravel().tolist(), *y.tolist()}
    while True:
        spent = sum(cost[m] for m in chosen)
        free = [m for m in range(len(cost)) if m not in chosen and spent + cost[m] <= limit]
        if not free:
            return chosen
        before = joint_error(votes, y, chosen, labels)
        gain = {m: before - joint_error(votes, y, [*chosen, m], labels) for m in free}

        def worth(m, gain=gain):
            if not per_cost or gain[m] <= 0:
                return (0, gain[m])
            return (1, gain[m] / cost[m]) if cost[m] else (2, gain[m])

        chosen.append(max(free, key=lambda m: (worth(m), -m)))


@given(priced(), st.booleans())
def test_gains_follow_from_the_formula(drawn, per_cost):
    votes, y, cost, limit = drawn
    problem = Problem.from_input(votes, y=y)
    rules = CostRules(problem, make_pruner("best"), np.array(cost, dtype=float))
    found = rules.rules_by_name[PER_COST if per_cost else "gain"](limit)
    assert found == naive_greedy(votes, y, cost, limit, per_cost)


def test_value_per_cost_finds_what_an_order_by_accuracy_misses():
    """One good member takes all of the total; three fair ones that err apart cost less."""
    y = np.array([0, 1] * 30)
    wrong = [range(6), range(6, 16), range(16, 26), range(26, 36)]
    votes = np.stack([y.copy() for _ in wrong], axis=1)
    for member, rows in enumerate(wrong):
        votes[list(rows), member] ^= 1
    found = prune(votes, y=y, pruner="best", cost=[10, 3, 3, 3], max_cost=10, random_state=0)
    assert sorted(found.member_indices.tolist()) == [1, 2, 3]
    assert found.by_cost.total == 9
    alone = prune(votes, y=y, pruner="best", keep=4).member_indices[0]
    assert alone == 0  # the first of the order, beside which nothing fits


def test_members_free_of_charge_go_first_if_they_help():
    y = np.array([0, 1] * 20)
    good, bad = y.copy(), 1 - y
    good[:8] ^= 1
    votes = np.stack([good, bad, y], axis=1)
    rules = CostRules(
        Problem.from_input(votes, y=y), make_pruner("best"), np.array([0.0, 0.0, 5.0])
    )
    assert rules.rules_by_name[PER_COST](5) == [0, 2, 1]  # the bad one last, although it is free
    assert rules.rules_by_name[PER_COST](0) == [0, 1]
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
    assert told["found_by"] in CostRules(kept.problem, make_pruner("best"), cost).rules_by_name
    again = pickle.loads(pickle.dumps(kept))
    assert again.member_indices.tolist() == members.tolist()
    assert kept.summary(X[TEST], Y[TEST]).loc["members"].iloc[1] == len(members)


def test_cross_validated_scores_select_by_cost_in_each_fold(forest):
    cost = np.random.default_rng(1).uniform(1, 3, size=25)
    kept = prune(forest, X[CHOOSE], Y[CHOOSE], cost=cost, max_cost=9, random_state=0)
    featured = kept.featured(X=X[CHOOSE], beside=False)
    assert any("selected by cost: total cost " in note for note in featured.evaluation.notes)
    selection = kept.by_cost.select_by_rule(kept.problem.on_samples(np.arange(0, 200, 2)))
    (members,) = selection.member_groups
    assert cost[members].sum() <= 9


def test_with_a_tolerance_as_little_is_spent_as_it_allows(forest):
    cost = np.random.default_rng(2).uniform(1, 3, size=25)
    budget = {"cost": cost, "max_cost": 40, "random_state": 0}
    spent = [
        prune(forest, X[CHOOSE], Y[CHOOSE], "best", tolerance=loss, **budget).by_cost.limit
        for loss in (0.3, 0.1, 0.02)
    ]
    assert spent == sorted(spent)
    assert spent[0] < spent[-1] <= 40


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
    assert kept.provenance()["budget"]["rule_chosen_on"] == "the rows chosen on"


def test_numbers_are_judged_by_their_squared_error():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    members = y[:, None] + rng.normal(size=(60, 5)) * [0.3, 0.9, 0.9, 0.9, 3.0]
    scores = Predictions.encode(members, y)
    problem = Problem.from_input([[0, 1]], y=[0])
    rules = CostRules(problem, make_pruner("best"), np.array([9.0, 1, 1, 1, 1]))
    rules.__dict__["_scored_predictions"] = scores
    errors = {m: np.mean((members[:, m] - y) ** 2) for m in range(5)}
    first = max(errors, key=lambda m: (np.var(y) - errors[m]) / rules.cost[m])
    assert rules.rules_by_name[PER_COST](3)[0] == first
    assert rules.rules_by_name["gain"](9)[0] == min(errors, key=errors.get) == 0


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
