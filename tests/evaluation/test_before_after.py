"""Figures of the full ensemble and of the pruned ensemble."""

import math
import pickle
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fitted_models import CHOOSE, FIT, MODELS, TEST, X, Y
from secateurs import prune
from secateurs.evaluation.metrics import SUMMARY_COLUMNS, Summary
from secateurs.exceptions import InputError, SecateursWarning
from secateurs.problem import model_costs

_AUC = {False: "ROC AUC", True: "ROC AUC one-vs-rest"}


@pytest.mark.parametrize("name", MODELS)
def test_the_summary_measures_through_the_models_themselves(fitted, name):
    model = fitted[name]
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], "best", keep=3)
    table = pruning.summary(X[TEST], Y[TEST])
    assert table.index.name == "test set (200 samples)"
    assert table.loc["accuracy", "before"] == model.score(X[TEST], Y[TEST])
    assert table.loc["accuracy", "after"] == pruning.estimator.score(X[TEST], Y[TEST])
    assert table.loc["members", "after"] == 3
    assert table.loc["megabytes", "after"] == len(pickle.dumps(pruning.estimator)) / 1e6
    assert table.loc["ms for 1000 rows", "after"] > 0
    change = table.loc["accuracy", "change"]
    assert table.loc["accuracy", "low"] <= change <= table.loc["accuracy", "high"]
    scores = ["accuracy", "balanced accuracy", "log loss", "Brier score"]
    for column, scored in (("before", model), ("after", pruning.estimator)):
        shares = scored.predict_proba(X[TEST])
        expected = log_loss(Y[TEST], shares, labels=model.classes_)
        np.testing.assert_allclose(table.loc["log loss", column], expected)
        errors = shares - (Y[TEST][:, None] == model.classes_)
        brier = (errors**2).sum(axis=1).mean() / (2 if shares.shape[1] == 2 else 1)
        np.testing.assert_allclose(table.loc["Brier score", column], brier)
        many = {"multi_class": "ovr", "labels": model.classes_} if shares.shape[1] > 2 else {}
        auc = roc_auc_score(Y[TEST], shares if many else shares[:, 1], **many)
        np.testing.assert_allclose(table.loc[_AUC[bool(many)], column], auc)
    scores.append(_AUC[bool(many)])
    measured = ["megabytes", "ms for 1 row", "ms for 1000 rows"]
    assert list(table.index) == ["members", *scores, *measured]
    assert list(table.columns) == ["before", "after", "change", "low", "high"]


@pytest.mark.parametrize(
    "options", [{"pruner": "es", "refit": True}, {"pruner": "caruana", "weights": True}]
)
def test_scorers_that_predict_changed_samples_see_the_returned_model(forest, options):
    def shifted(estimator, samples, y):
        return np.mean(estimator.predict(samples[:, ::-1]) == y)

    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=4, scoring={"shifted": shifted}, **options)
    row = pruning.summary(X[TEST], Y[TEST]).loc["shifted"]
    assert row["before"] == shifted(forest, X[TEST], Y[TEST])
    assert row["after"] == shifted(pruning.estimator, X[TEST], Y[TEST])


@pytest.mark.filterwarnings("ignore:Scores other than:secateurs.exceptions.SecateursWarning")
def test_the_summary_shows_all_columns_and_whether_the_tolerance_holds(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "best", tolerance=0.05)
    table = pruning.summary(X[TEST], Y[TEST])
    n_alarms = len(table.attrs["alarms"])
    *lines, remark = repr(table).splitlines()
    baselines, alarms = lines[-1 - n_alarms], lines[len(lines) - n_alarms :]
    lines = lines[: -1 - n_alarms]
    assert baselines.startswith("For comparison, accuracy: majority class 0.")
    assert alarms == table.attrs["alarms"]
    assert lines[0].split() == ["before", "after", "change", "low", "high"]
    assert max(map(len, lines)) <= 80
    assert len(lines) == 2 + len(table)
    change = table.loc["accuracy", "change"]
    word = "within" if change >= -0.05 - 1e-12 else "not within"
    assert remark.startswith(f"On these samples the accuracy is {word} the tolerance of 0.05: ")
    assert remark in table._repr_html_()
    assert type(table.loc[["accuracy"]]) is pd.DataFrame
    assert "\nCross-validated: " in repr(pruning.summary())


def test_summaries_show_as_many_digits_as_a_figure_has():
    names = ["members", "cost", "accuracy", "squared error", "megabytes", "ms for 1 row"]
    nan = float("nan")
    rows = [
        (200.0, 34.0, -166.0, nan, nan),
        (20.0, 17.0, -3.0, nan, nan),
        (0.96664, 0.9755, 0.00886, -0.0111, 0.02),
        (12345.678, 0.5, -12345.178, nan, nan),
        (107.1401, 1.18201, -105.95809, nan, nan),
        (0.0, 3e-05, 3e-05, nan, nan),
    ]
    table = Summary(rows, index=names, columns=SUMMARY_COLUMNS)
    assert [re.split("  +", line.rstrip())[1:] for line in repr(table).splitlines()[1:]] == [
        ["200", "34", "−166"],
        ["20.00", "17.00", "−3.00"],
        ["0.9666", "0.9755", "+0.0089", "−0.0111", "+0.0200"],
        ["12,346", "0.5000", "−12,345"],
        ["107", "1.18", "−106"],
        ["0.000", "0.000", "0.000"],
    ]
    assert "<td>−106</td>" in table._repr_html_()
    table["change"] = "my own text"
    assert "my own text" in repr(table)
    assert "my own column" in repr(table.assign(note="my own column"))


class Slow(GaussianNB):
    """A member that takes ten milliseconds, by a clock of its own."""

    clock = 0.0

    def predict_proba(self, X):
        Slow.clock += 0.01
        return super().predict_proba(X)


def test_more_members_take_longer(monkeypatch):
    monkeypatch.setattr(
        "secateurs.problem.latency.time", SimpleNamespace(perf_counter=lambda: Slow.clock)
    )
    models = [Slow().fit(X[rows], Y[rows]) for rows in (slice(0, 60), slice(60, 150), FIT)]
    table = prune(models, X[CHOOSE], Y[CHOOSE], "best", keep=1).summary(X[TEST], Y[TEST])
    for name in ("ms for 1 row", "ms for 1000 rows"):
        assert table.loc[name, ["before", "after"]].tolist() == pytest.approx([30, 10])


def test_the_interval_is_that_of_a_paired_bootstrap(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=5)
    table = pruning.summary(X[TEST], Y[TEST])
    before, after = (m.predict(X[TEST]) == Y[TEST] for m in (forest, pruning.estimator))
    rng = np.random.default_rng(0)
    rows = rng.integers(200, size=(4000, 200))
    changes = after[rows].mean(axis=1) - before[rows].mean(axis=1)
    low, high = np.percentile(changes, [2.5, 97.5])
    assert table.loc["accuracy", "low"] == pytest.approx(low, abs=0.006)
    assert table.loc["accuracy", "high"] == pytest.approx(high, abs=0.006)


def test_validation_samples_in_the_test_set_lead_to_a_warning(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    told = "200 of 200 test samples are also in the validation set"
    with pytest.warns(SecateursWarning, match=told):
        table = pruning.summary(X[CHOOSE], Y[CHOOSE])
    assert table.index.name == "validation set (200 samples)"
    with pytest.warns(SecateursWarning, match="100 of 200 test samples are also in"):
        mixed = pruning.summary(X[400:600], Y[400:600])
    assert mixed.index.name == "test set (200 samples, 100 also in the validation set)"


def test_a_few_duplicates_are_counted_and_name_no_table(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    rows = [*range(TEST.start, TEST.stop), CHOOSE.start, CHOOSE.start + 1]
    with pytest.warns(SecateursWarning, match="2 of 202 test samples are also in the validation"):
        table = pruning.summary(X[rows], Y[rows])
    assert table.index.name == "test set (202 samples, 2 also in the validation set)"


def test_lists_and_tables_are_summed_up_by_their_vote(fitted):
    models = [fitted[name] for name in ("forest", "bagging", "boosting")]
    pruning = prune(models, X[CHOOSE], Y[CHOOSE], "best", keep=1)
    table = pruning.summary(X[TEST], Y[TEST])
    (kept,) = pruning.members
    assert table.loc["accuracy", "after"] == kept.score(X[TEST], Y[TEST])
    shares = np.stack([model.predict_proba(X[CHOOSE]) for model in models], axis=1)
    others = np.stack([model.predict_proba(X[TEST]) for model in models], axis=1)
    by_shares = prune(shares, None, Y[CHOOSE], "best", keep=1, classes=kept.classes_)
    figures = by_shares.summary(others, Y[TEST])
    assert figures.loc["accuracy"].equals(table.loc["accuracy"])
    np.testing.assert_allclose(figures.loc["log loss"], table.loc["log loss"], rtol=1e-3)
    with pytest.raises(InputError, match="has 2 members, the validation table 3"):
        by_shares.summary(others[:, :2], Y[TEST])


def costs(pruning):
    return model_costs.model_costs(pruning.problem, pruning.pruner)


def test_ensembles_of_very_many_members_are_not_converted():
    forest = RandomForestClassifier(101, max_depth=2, random_state=0).fit(X[FIT], Y[FIT])
    figures = costs(prune(forest, X[CHOOSE], Y[CHOOSE], keep=100))
    assert math.isnan(figures["megabytes as .onnx"].before)
    assert figures["megabytes as .onnx"].after > 0
    figures = costs(prune(forest, X[CHOOSE], Y[CHOOSE], "best", keep=1.0))
    assert list(figures) == ["megabytes", "megabytes as .skops"]


def test_large_ensembles_are_not_written_for_a_figure():
    forest = RandomForestClassifier(12, max_depth=2, random_state=0).fit(X[FIT], Y[FIT])
    forest.ballast = np.zeros(1_000_000)  # 8 megabytes, and the trees
    assert list(costs(prune(forest, X[CHOOSE], Y[CHOOSE], keep=3))) == [
        "megabytes",
        "megabytes as .skops",
    ]
    forest.ballast = np.zeros(5_000_000)
    assert list(costs(prune(forest, X[CHOOSE], Y[CHOOSE], keep=3))) == ["megabytes"]


def test_formats_that_do_not_hold_an_ensemble_are_left_out(monkeypatch, forest):
    bagging = BaggingClassifier(KNeighborsClassifier(), 6, random_state=0).fit(X[FIT], Y[FIT])
    odd = RandomForestClassifier(6, max_depth=2, random_state=0).fit(X[FIT], Y[FIT])
    odd.note = 1j  # skops knows no complex numbers

    def formats(model):
        names = [*costs(prune(model, X[CHOOSE], Y[CHOOSE], keep=3))][1:]
        return [name.removeprefix("megabytes as ") for name in names]

    assert formats(forest) == [".skops", ".onnx"]
    assert formats(bagging) == [".skops"]  # neighbours come out differently in ONNX
    assert formats(odd) == [".onnx"]
    assert formats([forest, bagging, forest, bagging]) == [".skops"]
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    assert formats(forest) == [".skops"]  # without the extra
