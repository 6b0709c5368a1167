"""The best panels within each total cost, compared with panels enumerated in plain Python."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    r2_score,
)

from secateurs import make_pruner
from secateurs.evaluation import panel_search
from secateurs.evaluation.panel_search import PanelSearch, panel_within
from secateurs.objectives import panel_scores
from secateurs.problem import Problem

KINDS = (
    "labels",
    "masked labels",
    "probabilities",
    "weighted",
    "balanced",
    "f1",
    "brier",
    "values",
)


@st.composite
def pools(draw, kinds=KINDS):
    """A problem with costs, and a function that scores a panel in plain NumPy."""
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_samples, n_members = draw(st.integers(6, 30)), draw(st.integers(1, 6))
    n_classes = 2 if kind == "brier" else draw(st.integers(2, 3))
    cost = np.array(draw(st.lists(st.integers(0, 4), min_size=n_members, max_size=n_members)))
    y = np.arange(n_samples) % n_classes
    weight = rng.integers(1, 4, size=n_samples).astype(float) if kind == "weighted" else None
    if kind == "values":
        target = rng.normal(size=n_samples)  # multiples of 1/64 are stored without rounding
        table = np.round(64 * (target[:, None] + rng.normal(size=(n_samples, n_members)))) / 64
        problem = Problem.from_input(table, y=target)

        def score(members):
            return r2_score(target, table[:, members].mean(axis=1))
    elif kind in ("probabilities", "brier"):
        # Multiples of 1/64 are stored without rounding, so that ties are ties.
        cuts = np.sort(rng.integers(65, size=(n_samples, n_members, n_classes - 1)))
        ends = [np.zeros_like(cuts[..., :1]), cuts, np.full_like(cuts[..., :1], 64)]
        table = np.diff(np.concatenate(ends, axis=2)) / 64
        scoring = "neg_brier_score" if kind == "brier" else None
        problem = Problem.from_input(table, y=y, scoring=scoring)

        def score(members):
            mean = table[:, members].mean(axis=1)
            if kind == "brier":
                return -brier_score_loss(y, mean[:, 1])
            return accuracy_score(y, table[:, members].sum(axis=1).argmax(axis=1))
    else:
        right = rng.random((n_samples, n_members)) < 0.6
        table = np.where(right, y[:, None], rng.integers(n_classes, size=right.shape))
        if kind == "masked labels":
            table = np.ma.masked_array(table, rng.random(table.shape) < 0.3)
        scoring = {"balanced": "balanced_accuracy", "f1": "f1_macro"}.get(kind)
        problem = Problem.from_input(table, y=y, sample_weight=weight, scoring=scoring)

        def score(members):
            counts = np.stack([(table[:, members] == c).sum(axis=1) for c in range(n_classes)])
            counts = np.ma.filled(counts, 0)
            answers = np.where(counts.any(axis=0), counts.argmax(axis=0), -1)
            if kind == "balanced":
                return balanced_accuracy_score(y, answers)
            if kind == "f1":
                return f1_score(y, answers, average="macro")
            return accuracy_score(y, answers, sample_weight=weight)

    return problem, cost.astype(float), score


def naive_front(cost, score):
    """Return (cost, score, members) of the panels that no other panel beats, by cost."""
    everybody = range(len(cost))
    panels = [list(c) for size in everybody for c in combinations(everybody, size + 1)]
    rows = sorted(
        (round(float(cost[p].sum()), 9), -round(float(score(p)), 9), len(p), p) for p in panels
    )
    front = []
    for total, loss, _, members in rows:
        if not front or -loss > front[-1][1]:
            front.append((total, -loss, members))
    return front


@given(pools())
def test_the_front_is_that_of_all_panels(drawn):
    problem, cost, score = drawn
    search = PanelSearch(problem, cost)
    assert search.is_exact
    found = [(panel.cost, round(panel.score, 9), list(panel.members)) for panel in search.front()]
    assert found == naive_front(cost, score)


@given(pools(), st.integers(1, 6))
def test_a_limit_of_members_is_a_front_of_smaller_panels(drawn, limit):
    problem, cost, score = drawn

    def limited(members):
        return score(members) if len(members) <= limit else -np.inf

    found = PanelSearch(problem, cost).front(limit)
    assert [panel.members for panel in found] == [
        tuple(members) for _, _, members in naive_front(cost, limited)
    ]


def test_sums_of_the_same_costs_in_another_order_are_one_cost():
    """0.1 + 0.7 + 0.2 and 0.7 + 0.1 + 0.2 differ in their last bit."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    votes = np.where(rng.random((60, 8)) < 0.7, y[:, None], 1 - y[:, None])
    cost = np.array([0.1, 0.7, 0.2, 0.1, 0.7, 0.2, 0.7, 0.1])
    found = PanelSearch(Problem.from_input(votes, y=y), cost).front()
    costs = [round(panel.cost, 9) for panel in found]
    assert len(costs) == len(set(costs))


@pytest.mark.parametrize("is_exact", [True, False])
def test_costs_may_differ_by_many_orders_of_magnitude(is_exact, monkeypatch):
    """The smallest costs are below the rounding errors of the largest, but not of each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    votes = np.where(rng.random((80, 6)) < 0.6, y[:, None], 1 - y[:, None])
    votes[:, 3:] = np.where(rng.random((80, 3)) < 0.8, y[:, None], 1 - y[:, None])
    cost = np.array([0.0, 1e-150, 1e-9, 1.0, 1e9, 1e150])
    if not is_exact:
        search_without_enumeration(monkeypatch)
    front = PanelSearch(Problem.from_input(votes, y=y), cost).front()
    singles = (votes == y[:, None]).mean(axis=0)
    for member in range(6):  # each member costs more than all before it together
        assert panel_within(front, cost[member]).cost <= cost[member]
        assert panel_within(front, cost[member]).score >= singles[: member + 1].max() - 1e-12
    if is_exact:
        panels = [c for size in range(1, 7) for c in combinations(range(6), size)]
        accuracy = {c: float(((votes[:, c].mean(axis=1) > 0.5) == y).mean()) for c in panels}
        for limit in cost:
            best = max(accuracy[c] for c in panels if cost[list(c)].sum() <= limit)
            assert panel_within(front, limit).score == pytest.approx(best, abs=1e-12)


def search_without_enumeration(monkeypatch):
    monkeypatch.setattr(panel_scores, "MOST_ALWAYS", 0)
    monkeypatch.setattr(panel_scores, "_MOST_MEMBERS", 0)
    monkeypatch.setattr(panel_search, "_MOST_SCORED", 0)
    monkeypatch.setattr(panel_search, "_MOST_SCORED_FAST", 0)
    monkeypatch.setattr(panel_search, "_MOST_STARTS", 0)


@given(drawn=pools())
def test_the_search_finds_panels_that_exist_and_bounds_that_hold(drawn):
    problem, cost, score = drawn
    with pytest.MonkeyPatch.context() as monkeypatch:
        search_without_enumeration(monkeypatch)
        search = PanelSearch(problem, cost, make_pruner("best"))
        assert not search.is_exact
        front = search.front()
        limits = [panel.cost for panel in front]
        bounds = search.upper_bounds(limits, front)
    best = naive_front(cost, score)
    for panel, bound in zip(front, bounds, strict=True):
        assert panel.cost == cost[list(panel.members)].sum()
        assert panel.score == pytest.approx(score(list(panel.members)), abs=1e-6)
        optimum = [value for total, value, _ in best if total <= panel.cost][-1]
        assert panel.score <= optimum + 1e-6
        assert np.isnan(bound) or bound >= optimum - 1e-9
    assert [p.score for p in front] == sorted(p.score for p in front)
    singles = [score([m]) for m in range(len(cost))]
    assert front[-1].score >= max(singles) - 1e-6


def test_the_search_is_close_to_the_optimum_of_a_pool(monkeypatch):
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=300)
    right = rng.random((300, 12)) < rng.uniform(0.5, 0.85, size=12)
    votes = np.where(right, y[:, None], rng.integers(3, size=(300, 12)))
    cost = rng.uniform(0.2, 3, size=12)
    problem = Problem.from_input(votes, y=y)
    exact = PanelSearch(problem, cost).front()
    search_without_enumeration(monkeypatch)
    found = PanelSearch(problem, cost).front()
    gaps = [panel.score - panel_within(found, panel.cost).score for panel in exact]
    assert min(gaps) >= 0
    assert max(gaps) <= 0.02


def test_bounds_of_small_panels_are_exact():
    """With panels of up to three members enumerated, a total of three cheap members is proved."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=100)
    votes = np.where(rng.random((100, 30)) < 0.7, y[:, None], 1 - y[:, None])
    search = PanelSearch(Problem.from_input(votes, y=y), np.ones(30))
    assert not search.is_exact
    front = search.front()
    bounds = search.upper_bounds([1, 2, 3], front)
    for limit, bound in zip([1, 2, 3], bounds, strict=True):
        panels = [c for size in range(1, limit + 1) for c in combinations(range(30), size)]
        best = max(np.mean((votes[:, c].mean(axis=1) > 0.5) == y) for c in panels)
        assert panel_within(front, limit).score == bound == pytest.approx(best)
