"""The frontier: the best panel within every total cost, with honest scores."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import r2_score

from secateurs import frontier, prune
from secateurs.displays import CostFrontierDisplay
from secateurs.exceptions import BudgetError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")


def simulated_panel(n_samples=240, n_members=6, seed=0):
    """Answers of models to questions with three choices, and their prices."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_samples)
    right = rng.random((n_samples, n_members)) < np.linspace(0.6, 0.85, n_members)
    votes = np.where(right, y[:, None], rng.integers(3, size=right.shape))
    return votes, y, np.round(rng.uniform(1, 6, size=n_members), 1)


def accuracy(votes, y, members):
    counts = np.stack([(votes[:, members] == label).sum(axis=1) for label in range(3)])
    return np.mean(counts.argmax(axis=0) == y)


def best_panel(votes, y, cost, limit):
    panels = [
        list(members)
        for size in range(1, len(cost) + 1)
        for members in combinations(range(len(cost)), size)
        if cost[list(members)].sum() <= limit + 1e-9
    ]
    keys = [(-accuracy(votes, y, p), round(float(cost[p].sum()), 9), len(p), p) for p in panels]
    return min(keys)[3]


@pytest.fixture(scope="module")
def found():
    votes, y, cost = simulated_panel()
    folds = [(np.flatnonzero(np.arange(240) % 4 != f), np.arange(240)[f::4]) for f in range(4)]
    names = ["ant", "bee", "cat", "dog", "eel", "fox"]
    return frontier(votes, y=y, cost=cost, cv=folds, names=names, random_state=0), folds


def test_each_row_has_the_best_panel_and_its_cross_validated_score(found):
    result, folds = found
    votes, y, cost = simulated_panel()
    table = result.table()
    names = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
    for _, row in table.iterrows():
        members = best_panel(votes, y, cost, row["cost"])
        assert row["names"] == names[members].tolist()
        assert row["validation_score"] == pytest.approx(accuracy(votes, y, members))
        assert row["upper_bound"] == row["validation_score"]
        held_out = [
            accuracy(votes[test], y[test], best_panel(votes[train], y[train], cost, row["cost"]))
            for train, test in folds
        ]
        assert row["accuracy"] == pytest.approx(np.mean(held_out))
        assert row["low"] <= row["change"] <= row["high"]
        assert row["cost_in_turn"] <= row["cost"] + 1e-9
    assert table["is_optimal"].all()
    assert table["cost"].is_monotonic_increasing
    assert table["validation_score"].is_monotonic_increasing
    assert repr(result) == (
        f"Frontier({len(table)} panels of 6 members, exact: cost {table['cost'].iloc[0]:g} to "
        f"{table['cost'].iloc[-1]:g})"
    )


def test_a_total_cost_gives_the_pruning_of_prune(found):
    result, folds = found
    votes, y, cost = simulated_panel()
    for limit in (cost.min(), 7.5, 100):
        pruning = result.at(max_cost=limit)
        same = prune(votes, y=y, cost=cost, max_cost=limit, pruner="joint", cv=folds)
        assert pruning.member_indices.tolist() == same.member_indices.tolist()
        assert pruning.by_cost.remark == same.by_cost.remark
        row = result.table().query("cost <= @limit + 1e-9").iloc[-1]
        assert pruning.summary().loc["accuracy", "after"] == pytest.approx(row["accuracy"])
        assert pruning.summary().loc["cost", "after"] == pytest.approx(row["cost"])


def test_a_tolerance_gives_a_cheaper_panel(found):
    result, _ = found
    totals = [result.at(tolerance=loss).by_cost.total for loss in (0, 0.02, 0.3)]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0]
    assert result.at().by_cost.total <= totals[0]


@pytest.mark.parametrize("seed", range(4))
def test_prune_and_the_frontier_find_the_same_cheapest_panel(seed):
    votes, y, cost = simulated_panel(seed=seed)
    given = {"y": y, "cost": cost, "random_state": seed}
    same = prune(votes, pruner="joint", tolerance=0.02, **given)
    assert frontier(votes, **given).at(tolerance=0.02).member_indices.tolist() == (
        same.member_indices.tolist()
    )


def test_a_total_below_the_cheapest_member_is_rejected(found):
    with pytest.raises(BudgetError, match=r"Not even one member meets max_cost=0\.5: the cheapest"):
        found[0].at(max_cost=0.5)


def test_a_tolerance_for_several_scores_is_rejected(found):
    with pytest.raises(
        InputError, match="has several scores, but panels are compared by the first"
    ):
        found[0].at(tolerance={"accuracy": 0.01})


def test_without_costs_the_cost_is_the_number_of_members():
    votes, y, _ = simulated_panel()
    table = frontier(votes, y=y, random_state=0).table()
    assert table["cost"].tolist() == table["members"].tolist()


def test_subgroups_limit_the_panels():
    votes, y, cost = simulated_panel()
    regions = np.where(np.arange(240) % 3 == 0, "north", "south")
    given = {"cost": cost, "sensitive_features": regions, "random_state": 0}
    result = frontier(votes, y=y, max_group_loss=0.05, **given)
    table = result.table()
    assert {"worst_subgroup", "subgroup_gap", "subgroup_loss"} <= set(table.columns)
    allowed = table[table["subgroup_loss"] <= 0.05]
    assert result.at(max_cost=1e9).by_cost.total == pytest.approx(allowed["cost"].iloc[-1])
    strict = frontier(votes, y=y, max_group_loss=0, **given)
    if not (strict.table()["subgroup_loss"] <= 0).any():
        with pytest.raises(BudgetError, match="No panel within this cost meets max_group_loss=0"):
            strict.at(max_cost=1e9)
    with pytest.raises(InputError, match="max_group_loss needs sensitive_features"):
        frontier(votes, y=y, cost=cost, max_group_loss=0.01)


def test_many_members_have_bounds_that_hold():
    votes, y, cost = simulated_panel(n_members=24)
    result = frontier(votes, y=y, cost=cost, random_state=0)
    table = result.table()
    assert not result.is_exact
    assert (table["upper_bound"] >= table["validation_score"] - 1e-12).all()
    assert table["is_optimal"].iloc[0]  # a single member is affordable
    assert table["validation_score"].is_monotonic_increasing
    assert any("better panels may exist" in note for note in result.notes)


def test_a_test_set_replaces_cross_validation():
    votes, y, cost = simulated_panel()
    test_votes, y_test, _ = simulated_panel(seed=1)
    table = frontier(votes, y=y, cost=cost, X_test=test_votes, y_test=y_test).table()
    for _, row in table.iterrows():
        members = best_panel(votes, y, cost, row["cost"])
        assert row["accuracy"] == pytest.approx(accuracy(test_votes, y_test, members))


def test_regression_and_other_scores_have_frontiers():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    values = y[:, None] + rng.normal(size=(80, 5)) * [0.3, 0.5, 0.5, 0.8, 1]
    table = frontier(values, y=y, cost=[9, 3, 3, 1, 1], random_state=0).table()
    assert table["cost_in_turn"].isna().all()
    assert table["is_optimal"].all()
    votes, labels, cost = simulated_panel(n_members=4)
    given = {"cost": cost, "scoring": ["f1_macro", "accuracy"], "random_state": 0}
    assert {"f1_macro", "accuracy"} <= set(frontier(votes, y=labels, **given).table().columns)


def test_missing_values_are_the_mean_or_left_out():
    rng = np.random.default_rng(0)
    y = rng.normal(size=90)
    values = y[:, None] + rng.normal(size=(90, 2)) * [0.5, 0.6]
    values[30:, 1] = np.nan

    def single_score(**missing):
        table = frontier(values, y=y, cost=[3, 2], random_state=0, **missing).table()
        assert table["names"][0] == ["member 1"]
        return table["validation_score"][0]

    filled = np.where(np.isnan(values[:, 1]), y.mean(), values[:, 1])
    assert single_score() == single_score(missing="wrong")
    assert single_score(missing="wrong") == pytest.approx(r2_score(y, filled))
    assert single_score(missing="ignore") == pytest.approx(r2_score(y[:30], values[:30, 1]))


def test_test_samples_have_weights_and_subgroups():
    votes, y, cost = simulated_panel()
    test_votes, y_test, _ = simulated_panel(seed=1)
    weight, regions = np.arange(240) % 4, np.array(["north", "south"])[np.arange(240) % 2]
    table = frontier(
        votes,
        y=y,
        cost=cost,
        X_test=test_votes,
        y_test=y_test,
        sample_weight_test=weight,
        sensitive_features=regions,
        sensitive_features_test=regions,
    ).table()
    repeated = np.repeat(np.arange(240), weight)
    for _, row in table.iterrows():
        members = best_panel(votes, y, cost, row["cost"])
        assert row["accuracy"] == pytest.approx(
            accuracy(test_votes[repeated], y_test[repeated], members)
        )
        by_region = [
            accuracy(test_votes[part], y_test[part], members)
            for part in (repeated[regions[repeated] == name] for name in ("north", "south"))
        ]
        assert row["worst_subgroup"] == pytest.approx(min(by_region))


def test_weights_are_part_of_the_frontier():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=150)
    table = rng.dirichlet([1, 1], size=(150, 4))
    table[np.arange(150), :, y] += [0.4, 0.6, 0.8, 1.0]
    table /= table.sum(axis=2, keepdims=True)
    result = frontier(table, y=y, cost=[1, 2, 3, 4], weights=True, random_state=0)
    for _, row in result.table().iterrows():
        assert len(row["weights"]) == row["members"]
        assert sum(row["weights"]) == pytest.approx(1)


def test_the_figure_and_the_page_show_the_frontier(found, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    result, _ = found
    axes = CostFrontierDisplay.from_result(result).ax_
    labels = axes.get_legend_handles_labels()[1]
    assert {"held-out samples", "asked in turn", "validation samples"} <= set(labels)
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert "Cost and score" in page
    assert "Solid line: on held-out samples" in page
    assert "selected on. Dash-dotted: members are asked in turn" in page  # all reach the bound
    assert "ant" in page
    assert "max_cost=" in page  # the call that gives the same panel
    assert "<table" in result._repr_html_()
