"""Several scores, tolerances and subgroups, checked against scikit-learn on the returned model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import get_scorer

from fitted_models import CHOOSE, FIT, TEST, X, Y
from secateurs import compare, prune
from secateurs.evaluation.metrics import METRICS, metric_named
from secateurs.exceptions import BudgetError, InputError
from secateurs.report import report_data

ANT = Y == "ant"
FOREST = RandomForestClassifier(20, random_state=0).fit(X[FIT], ANT[FIT])
SIDES = np.where(X[:, 1] > 0.5, "high", "low")
GIVEN = FOREST, X[CHOOSE], ANT[CHOOSE]
RARE = np.where(np.arange(700) % 50 == 0, "rare", SIDES)


def test_the_first_score_is_optimised_and_all_are_reported():
    names = ["neg_log_loss", "roc_auc", "f1"]
    pruning = prune(*GIVEN, "caruana", keep=5, scoring=names, random_state=0)
    alone = prune(*GIVEN, "caruana", keep=5, scoring="neg_log_loss", random_state=0)
    assert pruning.member_indices.tolist() == alone.member_indices.tolist()
    pruning = prune(*GIVEN, "joint", keep=5, scoring=names, random_state=0)
    table = pruning.summary(X[TEST], ANT[TEST])
    for name, label in zip(names, ["log loss", "ROC AUC", "F1"], strict=True):
        sign = -1 if name.startswith("neg") else 1
        for column, model in (("before", FOREST), ("after", pruning.estimator)):
            expected = sign * get_scorer(name)(model, X[TEST], ANT[TEST])
            assert table.loc[label, column] == pytest.approx(expected)
        assert np.isfinite(table.loc[label, ["low", "high"]].to_numpy(dtype=float)).all()
    held_out = pruning.summary()
    assert {"log loss", "ROC AUC", "F1"} <= set(held_out.index)


def test_a_dict_gives_scores_their_names():
    scoring = {"ranking": "roc_auc", "hits": "accuracy"}
    found = compare(*GIVEN, ["best"], [4], scoring=scoring, random_state=0)
    row = found.leaderboard().set_index("method").loc["best"]
    plain = compare(*GIVEN, ["best"], [4], scoring="roc_auc", random_state=0)
    assert found.score == "ranking"
    assert row["ranking"] == plain.leaderboard().set_index("method").loc["best", "roc_auc"]
    assert row["hits"] == pytest.approx(row["accuracy"])
    assert "ranking" in found.pruning("best", 4).summary().index


@pytest.mark.filterwarnings("ignore:Scores other than:secateurs.exceptions.SecateursWarning")
def test_all_tolerances_hold_and_the_decisive_one_is_named():
    tolerance = {"accuracy": 0.05, "neg_brier_score": "1%", "roc_auc": 0.5}
    pruning = prune(*GIVEN, "joint", tolerance=tolerance, relative_to="full", random_state=0)
    sizes = {
        name: len(
            prune(
                *(*GIVEN, "joint"),
                scoring=name,
                tolerance=loss,
                relative_to="full",
                random_state=0,
            ).member_indices
        )
        for name, loss in tolerance.items()
    }
    assert len(pruning.member_indices) >= max(sizes.values())
    assert sizes[pruning.decided_by] == max(sizes.values())
    remarks = pruning.summary().attrs["remarks"]
    assert f"The number of members was decided by: {pruning.decided_by}." in remarks
    assert sum("the tolerance of" in remark for remark in remarks) == 3


def test_tolerances_relative_to_the_best_size_keep_at_least_as_many():
    kept = [
        len(prune(*GIVEN, "joint", tolerance=0.01, relative_to=to, random_state=0).member_indices)
        for to in ("best", "full")
    ]
    assert kept[0] >= kept[1] or kept[0] < 20


def subgroup_scores(model, rows, name):
    return {
        side: get_scorer(name)(model, X[rows][SIDES[rows] == side], ANT[rows][SIDES[rows] == side])
        for side in ("high", "low")
    }


def test_subgroups_have_lines_with_the_worst_and_the_largest_gap():
    pruning = prune(*GIVEN, "joint", 6, scoring=["accuracy", "neg_log_loss"], random_state=0)
    table = pruning.summary(X[TEST], ANT[TEST], sensitive_features=SIDES[TEST])
    for name, label, sign in (("accuracy", "accuracy", 1), ("neg_log_loss", "log loss", -1)):
        for column, model in (("before", FOREST), ("after", pruning.estimator)):
            scores = subgroup_scores(model, TEST, name)
            for side, score in scores.items():
                assert table.loc[f"{label}, {side}", column] == pytest.approx(sign * score)
            worst = sign * min(scores.values())
            assert table.loc[f"{label}, worst subgroup", column] == pytest.approx(worst)
            gap = max(scores.values()) - min(scores.values())
            assert table.loc[f"{label}, largest gap", column] == pytest.approx(gap)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
def test_samples_of_unknown_subgroups_are_a_subgroup(gap):
    sides = np.where(SIDES == "low", gap, SIDES.astype(object))
    pruning = prune(*GIVEN, "joint", 6, random_state=0, sensitive_features=sides[CHOOSE])
    table = pruning.summary(X[TEST], ANT[TEST], sensitive_features=sides[TEST])
    expected = subgroup_scores(pruning.estimator, TEST, "accuracy")["low"]
    assert table.loc["accuracy, missing", "after"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "method"),
    [(FOREST, "comep"), (GradientBoostingClassifier(n_estimators=5, random_state=0), "es")],
)
@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"sensitive_features": SIDES[CHOOSE]}, "accuracy, worst subgroup"),
        ({"scoring": ["accuracy", "f1_macro"]}, "F1 macro"),
    ],
)
def test_a_summary_needs_no_samples_for_subgroups_and_several_scores(model, method, options, line):
    model = clone(model).fit(X[FIT], ANT[FIT])
    pruning = prune(model, X[CHOOSE], ANT[CHOOSE], method, 4, random_state=0, **options)
    stored, given = pruning.summary(), pruning.summary(X=X[CHOOSE])
    assert line in stored.index
    scores = [name for name in stored.index if name in given.index and not name.startswith("ms")]
    pd.testing.assert_frame_equal(stored.loc[scores], given.loc[scores])


def test_subgroups_are_in_every_table():
    given = {"sensitive_features": SIDES[CHOOSE], "random_state": 0}
    found = compare(*GIVEN, ["joint"], [4], **given)
    tidy = found.score_table().set_index(["method", "subgroup"])
    row = found.leaderboard().set_index("method").loc["joint"]
    sides = [tidy.loc[("joint", side), "value"] for side in ("high", "low")]
    counts = [np.sum(SIDES[CHOOSE] == side) for side in ("high", "low")]
    assert np.average(sides, weights=counts) == pytest.approx(row["accuracy"])
    assert row["worst_subgroup"] == pytest.approx(min(sides))
    assert row["subgroup_gap"] == pytest.approx(max(sides) - min(sides))
    lines = [line["figure"] for line in report_data(found)["before_after"]]
    assert {"accuracy, high", "accuracy, worst subgroup", "accuracy, largest gap"} <= set(lines)


def test_subgroups_of_the_test_set_are_compared():
    test = {"X_test": X[TEST], "y_test": ANT[TEST], "sensitive_features_test": SIDES[TEST]}
    found = compare(*GIVEN, ["joint"], [4], random_state=0, **test)
    model = found.pruning("joint", 4).estimator
    row = found.leaderboard().set_index("method").loc["joint"]
    expected = min(subgroup_scores(model, TEST, "accuracy").values())
    assert row["worst_subgroup"] == pytest.approx(expected, abs=0.01)


def test_a_column_of_the_frame_names_the_subgroups():
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).assign(f7=(X[:, 7] > 0) * 1.0)
    forest = RandomForestClassifier(8, random_state=0).fit(frame[FIT], ANT[FIT])
    pruning = prune(forest, frame[CHOOSE], ANT[CHOOSE], "joint", 4, sensitive_features="f7")
    assert {"accuracy, 0.0", "accuracy, 1.0"} <= set(pruning.summary().index)
    table = pruning.summary(frame[TEST], ANT[TEST], sensitive_features="f7")
    assert {"accuracy, 0.0", "accuracy, 1.0"} <= set(table.index)
    default = pruning.summary(frame[TEST], ANT[TEST])  # the same column
    assert default.index.tolist() == table.index.tolist()
    assert default["after"]["accuracy, 1.0"] == table["after"]["accuracy, 1.0"]
    with pytest.raises(InputError, match="is not a column of X"):
        prune(forest, frame[CHOOSE], ANT[CHOOSE], "joint", 4, sensitive_features="sex")
    with pytest.raises(InputError, match="has shape \\(3,\\), but there are 200 samples"):
        prune(forest, frame[CHOOSE], ANT[CHOOSE], "joint", 4, sensitive_features=[1, 2, 3])


@pytest.mark.filterwarnings("ignore:.*best single member")
def test_no_subgroup_loses_more_than_allowed():
    rng = np.random.default_rng(0)
    y, group = rng.integers(2, size=600), np.where(np.arange(600) % 3 == 0, "small", "large")
    large = np.where((group == "large") | (rng.random(600) < 0.5), y, 1 - y)
    small = np.where((group == "small") | (rng.random(600) < 0.5), y, 1 - y)
    votes = np.stack([large, large, small, small, small], axis=1)
    votes = np.where(rng.random(votes.shape) < 0.05, 1 - votes, votes)
    given = {"sensitive_features": group, "tolerance": 0.4, "random_state": 0}
    free = prune(votes, None, y, "best", **given)
    bound = prune(votes, None, y, "best", max_group_loss=0.05, relative_to="full", **given)
    assert len(free.member_indices) < len(bound.member_indices)
    assert bound.decided_by.startswith("subgroup ")
    table = bound.summary()
    assert table.loc["accuracy, small", "change"] >= -0.1


def test_small_subgroups_are_named_and_undefined_scores_are_not_hidden():
    pruning = prune(*GIVEN, "joint", 4, sensitive_features=RARE[CHOOSE], scoring="roc_auc")
    table = pruning.summary()
    assert any("rare (4)" in remark for remark in table.attrs["remarks"])
    assert "ROC AUC, rare" in table.index


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_group_loss": 0.01}, InputError, "max_group_loss needs sensitive_features"),
        ({"tolerance": {}}, InputError, "has no scores"),
        ({"tolerance": {"accuracyy": 0.1}}, InputError, "accuracyy.*unknown|is not"),
        ({"tolerance": {"accuracy": -1}}, InputError, "tolerance=-1 is not a valid budget"),
        ({"tolerance": {"accuracy": "x"}}, InputError, "is not a valid loss"),
        ({"relative_to": "first"}, InputError, "relative_to"),
        ({"scoring": ["accuracy", "r2"]}, InputError, "r2.*is a regression score"),
    ],
)
def test_bad_limits_give_one_line(options, error, message):
    with pytest.raises(error, match=message) as caught:
        prune(*GIVEN, "joint", **options)
    assert "\n" not in str(caught.value)


def test_a_limit_that_excludes_the_tolerance_of_another_score_names_that_score():
    smallest = {"tolerance": {"neg_log_loss": 0}, "relative_to": "full", "max_bytes": 40_000}
    with pytest.raises(BudgetError, match="the best cross-validated log loss is"):
        prune(*GIVEN, "joint", refit=False, **smallest)


def test_conflicting_tolerances_raise_with_a_way_out():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [270, 30])
    sure = np.where(rng.random(300) < 0.02, 1 - y, y).astype(float)
    good = [np.stack([1 - p, p], axis=1) for p in (0.98 * sure + 0.01,)]
    vague = [np.stack([1 - p, p], axis=1) for p in [0.4 * y + 0.3 + 0.05 * rng.random(300)] * 3]
    table = np.stack([*vague, *good], axis=1)
    try:
        prune(table, None, y, "best", tolerance={"neg_brier_score": 0, "roc_auc": 0})
    except BudgetError as error:
        assert "No size is within all tolerances" in str(error)  # noqa: PT017


def test_baselines_are_the_majority_class_and_the_best_member():
    table = prune(*GIVEN, "joint", 4).summary(X[TEST], ANT[TEST])
    baselines = table.attrs["baselines"]
    majority = not ANT[CHOOSE].mean() < 0.5
    assert baselines["majority class"] == np.mean(ANT[TEST] == majority)
    alone = [tree.score(X[CHOOSE], ANT[CHOOSE]) for tree in FOREST.estimators_]
    best = FOREST.estimators_[int(np.argmax(alone))]
    assert baselines["best single member"] == best.score(X[TEST], ANT[TEST])
    assert "For comparison, accuracy: majority class" in repr(table)
    y = X[:, 0] * 2
    forest = RandomForestRegressor(6, random_state=0).fit(X[FIT], y[FIT])
    table = prune(forest, X[CHOOSE], y[CHOOSE], "joint", 3).summary(X[TEST], y[TEST])
    mean, spread = y[CHOOSE].mean(), np.mean((y[TEST] - y[TEST].mean()) ** 2)
    expected = 1 - np.mean((y[TEST] - mean) ** 2) / spread
    assert table.attrs["baselines"]["mean of the target"] == pytest.approx(expected)


def test_the_leaderboard_has_a_row_for_the_majority_class():
    found = compare(*GIVEN, ["best"], [3], scoring="neg_log_loss", random_state=0)
    row = found.leaderboard().set_index("method").loc["majority class"]
    share = ANT[CHOOSE].mean()
    entropy = share * np.log(share) + (1 - share) * np.log(1 - share)
    assert row["neg_log_loss"] == pytest.approx(entropy, abs=0.01)
    assert (row["members"], row["pareto"]) == (0, False)
    assert found.members("majority class", 0) == []


def test_metrics_format_their_figures():
    assert metric_named("members").format_change(200, 50) == "−75 %"
    assert metric_named("ms for 1 row").format_change(8.0, 2.0) == "4.0× faster"
    assert metric_named("ms for 1 row").format_change(2.0, 8.0) == "+6.00"
    assert metric_named("accuracy").format_change(0.9, 0.875) == "−0.0250"
    assert metric_named("megabytes").format_value(1.25, unit=True) == "1.25 MB"
    assert metric_named("megabytes").format_value(float("nan")) == ""
    assert {metric.kind for metric in METRICS.values()} == {"count", "size", "time", "cost"}
