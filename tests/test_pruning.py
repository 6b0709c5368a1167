"""prune() and what it gives: the right members, sizes, budgets and figures."""

import math
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import naive
from secateurs import COMEP, collect_votes, make_pruner, prune
from secateurs.evaluation import _before_after
from secateurs.evaluation._budget import timings
from secateurs.exceptions import BudgetError, InputError
from secateurs.outputs._folds import folds
from secateurs.problem import row_hashes

X, CODES = make_classification(
    700, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, flip_y=0.15, random_state=1
)
Y = np.array(["ant", "bee", "cat"])[CODES]
FIT, CHOOSE, TEST = slice(0, 300), slice(300, 500), slice(500, 700)

MODELS = {
    "forest": RandomForestClassifier(25, random_state=0),
    "bagging": BaggingClassifier(KNeighborsClassifier(), 10, max_features=0.5, random_state=0),
    "voting": VotingClassifier(
        [
            ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
            ("bayes", GaussianNB()),
            ("linear", LogisticRegression()),
            ("near", KNeighborsClassifier()),
        ],
        voting="soft",
        weights=[1, 2, 3, 4],
    ),
    "boosting": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=12, random_state=0
    ),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(12, random_state=0)),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(X[FIT], Y[FIT]) for name, model in MODELS.items()}


@pytest.fixture(scope="module")
def forest(fitted):
    return fitted["forest"]


@pytest.mark.parametrize("name", MODELS)
def test_the_members_are_those_the_pruner_chooses_from_the_votes(fitted, name):
    model = fitted[name]
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], keep=3)
    votes = collect_votes(model, X[CHOOSE]).tolist()
    expected = naive.comep(votes, Y[CHOOSE].tolist(), 3, 0.5, "spread")
    assert pruning.member_indices.tolist() == expected
    assert type(pruning.estimator) is type(model)
    assert pruning.estimator.predict(X[TEST]).shape == (200,)


def test_lists_dicts_and_tables_of_predictions_are_pruned_alike(fitted):
    models = [fitted[name] for name in ("forest", "bagging", "voting", "boosting")]
    named = dict(zip("abcd", models))
    table = np.stack([model.predict(X[CHOOSE]) for model in models], axis=1)
    frame = pd.DataFrame(table, columns=list("abcd"))
    for given in (models, named):
        pruning = prune(given, X[CHOOSE], Y[CHOOSE], keep=2)
        assert len(pruning.estimator) == 2
        assert type(pruning.estimator) is type(given)
    by_votes = prune(table, y=Y[CHOOSE], keep=2)
    assert by_votes.member_indices.tolist() == pruning.member_indices.tolist()
    assert (by_votes.estimator == table[:, np.sort(by_votes.member_indices)]).all()
    by_frame = prune(frame, y=Y[CHOOSE], keep=2)
    assert sorted(by_frame.estimator.columns) == sorted(by_frame.member_names)
    assert prune(table.tolist(), y=Y[CHOOSE], keep=2).member_indices.tolist() == (
        pruning.member_indices.tolist()
    )


def test_probabilities_vote_for_their_largest(forest):
    given = np.stack([tree.predict_proba(X[CHOOSE]) for tree in forest.estimators_], axis=1)
    pruning = prune(given, y=CODES[CHOOSE], keep=4)
    expected = prune(given.argmax(axis=2), y=CODES[CHOOSE], keep=4)
    assert pruning.member_indices.tolist() == expected.member_indices.tolist()
    assert pruning.estimator.shape == (200, 4, 3)


def test_the_whole_ensemble_predicts_as_before(fitted):
    for model in fitted.values():
        whole = prune(model, X[CHOOSE], Y[CHOOSE], "best", keep=1.0).estimator
        assert (whole.predict_proba(X[TEST]) == model.predict_proba(X[TEST])).all()


def test_pruners_are_given_by_name_or_as_they_are(forest):
    by_name = prune(forest, X[CHOOSE], Y[CHOOSE], "re", 5, backfit=True)
    by_object = prune(forest, X[CHOOSE], Y[CHOOSE], make_pruner("re", keep=5, backfit=True))
    assert by_name.member_indices.tolist() == by_object.member_indices.tolist()
    given = COMEP(keep=3)
    prune(forest, X[CHOOSE], Y[CHOOSE], given)
    assert not hasattr(given, "support_")
    assert len(prune(forest, X[CHOOSE], Y[CHOOSE], given, keep=7).member_indices) == 7


def test_random_methods_depend_on_the_seed_alone(forest):
    first, second = (
        prune(forest, X[CHOOSE], Y[CHOOSE], "random", 5, random_state=seed) for seed in (3, 3)
    )
    assert first.member_indices.tolist() == second.member_indices.tolist()


# Budgets ------------------------------------------------------------------------------


@pytest.mark.parametrize("pruner", ["comep", "re", "best", COMEP(refine=True)])
def test_max_bytes_is_kept_and_used_up(forest, pruner):
    limit = len(pickle.dumps(forest)) // 3
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], pruner, max_bytes=limit)
    assert len(pickle.dumps(pruning.estimator)) <= limit
    larger = prune(forest, X[CHOOSE], Y[CHOOSE], pruner, keep=len(pruning.member_indices) + 1)
    assert len(pickle.dumps(larger.estimator)) > limit


def test_costs_add_up_to_no_more_than_the_total(forest):
    cost = np.random.default_rng(0).uniform(1, 3, size=25)
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], cost=cost, max_cost=12)
    order = prune(forest, X[CHOOSE], Y[CHOOSE], keep=25).member_indices
    n_kept = len(pruning.member_indices)
    assert pruning.member_indices.tolist() == order[:n_kept].tolist()
    assert cost[order[:n_kept]].sum() <= 12 < cost[order[: n_kept + 1]].sum()


def test_a_generous_latency_keeps_everybody(forest):
    assert len(prune(forest, X[CHOOSE], Y[CHOOSE], max_latency=60).member_indices) == 25


@pytest.mark.parametrize("vote", ["auto", "labels"])
@pytest.mark.parametrize("oob", [False, True])
def test_tolerance_gives_the_smallest_set_within_it_on_rows_held_out(forest, vote, oob):
    given = FIT if oob else CHOOSE
    parameters = {"tolerance": 0.02, "vote": vote, "oob": oob, "random_state": 0}
    pruning = prune(forest, X[given], Y[given], "best", **parameters)
    rng = np.random.RandomState(0)
    right = np.zeros(25)
    rows_of = X[given]
    votes = collect_votes(forest, rows_of)
    known = np.ones(votes.shape, dtype=bool)
    if oob:
        for t, seen in enumerate(forest.estimators_samples_):
            known[seen, t] = False
    probabilities = [tree.predict_proba(rows_of) for tree in forest.estimators_]
    one_hot = [(votes[:, [t]] == forest.classes_).astype(float) for t in range(25)]
    shares = probabilities if vote == "auto" else one_hot
    truth = Y[given]
    for chosen_on, held_out in folds(CODES[given], rng):
        right_on = (votes == truth[:, None]) & known
        means = right_on[chosen_on].sum(axis=0) / known[chosen_on].sum(axis=0)
        order = np.argsort(-means.round(12), kind="stable")
        for size in range(1, 26):
            total = sum(shares[t][held_out] * known[held_out, t, None] for t in order[:size])
            right[size - 1] += (forest.classes_[total.argmax(axis=1)] == truth[held_out]).sum()
    accuracy = right / len(truth)
    expected = int(np.flatnonzero(accuracy >= accuracy[-1] - 0.02 - 1e-12)[0]) + 1
    assert len(pruning.member_indices) == expected


def test_tolerance_works_for_methods_that_search_anew_for_each_size(forest):
    given = make_pruner("sep", n_iterations=20, random_state=0)
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], given, tolerance=0.05, random_state=0)
    assert 1 <= len(pruning.member_indices) <= 25


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        ({"max_bytes": 10}, BudgetError, "Not even one member meets max_bytes=10"),
        ({"max_bytes": -1}, InputError, "max_bytes=-1 is not a valid budget"),
        ({"tolerance": float("nan")}, InputError, "tolerance=nan is not a valid budget"),
        ({"cost": [1] * 25}, InputError, "cost and max_cost go together"),
        ({"cost": [1] * 3, "max_cost": 2}, InputError, r"cost has shape \(3,\)"),
        ({"cost": [3] * 25, "max_cost": 2}, BudgetError, "Not even one member meets max_cost=2"),
        ({"keep": 3, "tolerance": 0.1}, InputError, "keep=3 and a budget exclude each other"),
        (
            {"tolerance": 0, "cost": [1] * 25, "max_cost": 1},
            BudgetError,
            "No sub-ensemble of at most 1 member, as the budget allows, meets tolerance=0: ",
        ),
    ],
)
def test_budgets_that_cannot_be_met_are_refused(forest, budget, error, message):
    with pytest.raises(error, match=message):
        prune(forest, X[CHOOSE], Y[CHOOSE], random_state=0, **budget)


# Automatic choices --------------------------------------------------------------------


def test_the_automatic_weight_is_the_best_on_rows_held_out(forest):
    votes = collect_votes(forest, X[CHOOSE])
    pruner = COMEP(keep=5, diversity_weight="auto", random_state=0).fit(votes, Y[CHOOSE])
    splits = list(folds(CODES[CHOOSE], np.random.RandomState(0)))
    right = {}
    for weight in np.arange(11) / 10:
        right[weight] = 0
        for chosen_on, held_out in splits:
            rows, truth = votes[chosen_on].tolist(), Y[CHOOSE][chosen_on].tolist()
            members = COMEP(5, weight).fit(rows, truth).member_indices_.tolist()
            kept = votes[held_out].tolist()
            voted = [naive.vote(kept, members, n) for n in range(len(kept))]
            right[weight] += sum(a == b for a, b in zip(voted, Y[CHOOSE][held_out]))
    best = max(right.values())
    assert right[pruner.diversity_weight_] == best
    nearest = min(abs(w - 0.3) for w, count in right.items() if count == best)
    assert abs(pruner.diversity_weight_ - 0.3) == pytest.approx(nearest)
    again = COMEP(5, pruner.diversity_weight_).fit(votes, Y[CHOOSE])
    assert pruner.member_indices_.tolist() == again.member_indices_.tolist()


def test_the_automatic_method_is_one_of_ours_and_repeatable(forest):
    first, second = (
        prune(forest, X[CHOOSE], Y[CHOOSE], "auto", 5, random_state=1) for _ in range(2)
    )
    assert repr(first.pruner) == repr(second.pruner)
    assert len(first.member_indices) == 5
    by_default = prune(forest, X[CHOOSE], Y[CHOOSE], "auto", random_state=1)
    assert len(by_default.member_indices) == round(0.1 * 25)
    with pytest.raises(InputError, match="takes no parameters, but got backfit"):
        prune(forest, X[CHOOSE], Y[CHOOSE], "auto", backfit=True)


def test_automatic_choices_work_with_out_of_bag_votes(forest):
    pruning = prune(forest, X[FIT], Y[FIT], "auto", 5, oob=True, random_state=0)
    assert pruning.votes.has_missing
    assert len(pruning.member_indices) == 5


# Figures ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_summary_measures_through_the_models_themselves(fitted, name):
    model = fitted[name]
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], keep=3)
    table = pruning.summary(X[TEST], Y[TEST])
    assert table.index.name == "held-out rows (200)"
    assert table.loc["accuracy", "before"] == model.score(X[TEST], Y[TEST])
    assert table.loc["accuracy", "after"] == pruning.estimator.score(X[TEST], Y[TEST])
    assert table.loc["members", "after"] == 3
    assert table.loc["megabytes", "after"] == len(pickle.dumps(pruning.estimator)) / 1e6
    assert table.loc["ms for 1000 rows", "after"] > 0
    change = table.loc["accuracy", "change"]
    assert table.loc["accuracy", "low"] <= change <= table.loc["accuracy", "high"]
    scores = ["accuracy", "balanced accuracy", "log loss"]
    measured = ["megabytes", "ms for 1 row", "ms for 1000 rows"]
    assert list(table.index) == ["members", *scores, *measured]
    assert list(table.columns) == ["before", "after", "change", "low", "high"]


class Slow(GaussianNB):
    """A member that takes ten milliseconds, by a clock of its own."""

    clock = 0.0

    def predict(self, X):
        Slow.clock += 0.01
        return super().predict(X)


def test_more_members_take_longer(monkeypatch):
    monkeypatch.setattr(
        "secateurs.evaluation._budget.time", SimpleNamespace(perf_counter=lambda: Slow.clock)
    )
    models = [Slow().fit(X[rows], Y[rows]) for rows in (slice(0, 60), slice(60, 150), FIT)]
    table = prune(models, X[CHOOSE], Y[CHOOSE], keep=1).summary(X[TEST], Y[TEST])
    for name in ("ms for 1 row", "ms for 1000 rows"):
        assert table.loc[name, ["before", "after"]].tolist() == pytest.approx([30, 10])


@pytest.mark.parametrize(
    ("whole", "kept", "n_warm", "n_cold"),
    [(2.0, 1.0, 1, 2), (0.05, 0.03, 4, 0), (0.03, 0.05, 4, 0), (0.001, 0.0001, 100, 0)],
)
def test_models_are_timed_in_turns_for_as_long_as_allowed(monkeypatch, whole, kept, n_warm, n_cold):
    """Each runs twice a turn, and the second run counts, while 0.3 seconds for each last.

    With 0.08 seconds for both these are four turns of 0.16 seconds. Where one turn takes longer
    than all that, two more follow, without running first.
    """
    clock = [0.0]
    monkeypatch.setattr(
        "secateurs.evaluation._budget.time", SimpleNamespace(perf_counter=lambda: clock[0])
    )
    turns = []

    def predict(name, seconds):
        def run(rows):
            turns.append((name, rows))
            clock[0] += seconds * (1 + len(turns) / 10_000)  # ever slower, so that none are equal

        return run

    found = timings([predict("whole", whole), predict("kept", kept)], "rows", 0.3)
    in_turn = n_warm * ["whole", "whole", "kept", "kept"] + n_cold * ["whole", "kept"]
    assert turns == [(name, "rows") for name in in_turn]
    counted = [4 * turn + run for turn in range(n_warm) for run in (2, 4)]
    counted += [4 * n_warm + 1 + run for run in range(2 * n_cold)]
    slower = 1 + np.array(counted) / 10_000
    assert found == pytest.approx(np.array([whole * slower[::2], kept * slower[1::2]]), rel=1e-6)


def test_a_model_alone_runs_once_before_it_is_timed(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(
        "secateurs.evaluation._budget.time", SimpleNamespace(perf_counter=lambda: clock[0])
    )

    def predict(rows):
        clock[0] += 0.25 if clock[0] else 9.0  # the first run is slow

    assert timings([predict], "rows", 1.2) == pytest.approx(np.full((1, 4), 0.25))
    assert clock[0] == 9.0 + 4 * 0.25


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


def test_rows_chosen_on_are_not_taken_for_held_out_ones(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    with pytest.warns(UserWarning, match="200 of the 200 rows to measure on are rows"):
        table = pruning.summary(X[CHOOSE], Y[CHOOSE])
    assert table.index.name == "rows chosen on (200)"
    with pytest.warns(UserWarning, match="100 of the 200 rows"):
        mixed = pruning.summary(X[400:600], Y[400:600])
    assert mixed.index.name == "partly rows chosen on (200)"


def test_rows_of_whole_numbers_are_told_apart():
    """Their bits differ in few places, which a weak hash of rows would mix up."""
    rows = np.random.default_rng(0).integers(0, 17, size=(20_000, 64)).astype(float)
    assert len(np.unique(row_hashes(rows))) == len(np.unique(rows, axis=0))
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 1]})
    assert len(np.unique(row_hashes(frame))) == 2
    assert row_hashes(sparse.csr_matrix(np.eye(2))) is None


def test_lists_and_tables_are_summed_up_by_their_vote(fitted):
    models = [fitted[name] for name in ("forest", "bagging", "boosting")]
    pruning = prune(models, X[CHOOSE], Y[CHOOSE], keep=1)
    table = pruning.summary(X[TEST], Y[TEST])
    (kept,) = pruning.estimator
    assert table.loc["accuracy", "after"] == kept.score(X[TEST], Y[TEST])
    votes = np.stack([model.predict(X[CHOOSE]) for model in models], axis=1)
    others = np.stack([model.predict(X[TEST]) for model in models], axis=1)
    by_votes = prune(votes, y=Y[CHOOSE], keep=1)
    figures = by_votes.summary(others, Y[TEST])
    assert figures.loc["accuracy"].equals(table.loc["accuracy"])
    with pytest.raises(InputError, match="has 2 members, the one pruned 3"):
        by_votes.summary(others[:, :2], Y[TEST])


def test_rows_and_labels_to_measure_on_go_together(forest):
    with pytest.raises(InputError, match="X_test has 5 rows but y_test has 4 labels"):
        prune(forest, X[CHOOSE], Y[CHOOSE], keep=3).summary(X[:5], Y[:4])


def costs(pruning):
    return _before_after.costs(pruning.problem, pruning.pruner)


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


def test_a_pruning_shows_itself(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    assert repr(pruning).startswith("Pruning(RandomForestClassifier: 3 of 25 members kept by COMEP")
    page = pruning._repr_html_()
    assert len(page) < 60_000
    assert "3 of 25" in page
    assert page.count("<svg") == 1


def test_foreign_names_are_escaped_in_notebooks():
    votes = pd.DataFrame({"<script>x</script>": [0, 1, 1], "b": [0, 0, 1]})
    assert "<script>" not in prune(votes, y=[0, 1, 1], keep=1)._repr_html_()


def test_the_provenance_is_plain(forest):
    note = prune(forest, X[CHOOSE], Y[CHOOSE], keep=3, random_state=0).provenance()
    assert note["method"] == "COMEP"
    assert note["parameters"]["keep"] == 3
    assert len(note["members"]) == len(note["scores"]) == 3
    assert note["n_members_before"] == 25


# Bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": None}, "y is missing"),
        ({"X": None}, "X is missing"),
        ({"vote": "loud"}, "vote='loud' is unknown"),
        ({"pruner": "comp"}, "Did you mean 'comep'"),
        ({"pruner": COMEP(), "refine": True}, "Give refine to the pruner itself"),
        ({"X": X[:5]}, "5 samples but y has 200 labels"),
        ({"keep": 99}, "keep=99 asks for more members"),
    ],
)
def test_bad_arguments_are_refused(forest, arguments, message):
    given = {"X": X[CHOOSE], "y": Y[CHOOSE]} | arguments
    with pytest.raises(ValueError, match=message):
        prune(forest, **given)


def test_training_rows_are_warned_of(forest, fitted):
    for model in (forest, fitted["bagging"]):
        with pytest.warns(UserWarning, match="look like the rows the ensemble was trained on"):
            prune(model, X[FIT], Y[FIT], keep=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(forest, X[FIT], Y[FIT], keep=3, oob=True)
        prune(forest, X[350:650], Y[350:650], keep=3)  # as many, but others


def test_bagging_that_grew_is_pruned_on_any_rows():
    grown = BaggingClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X[FIT], Y[FIT])
    grown.set_params(n_estimators=5).fit(X[FIT], Y[FIT])
    assert len(prune(grown, X[FIT], Y[FIT], keep=2).estimator.estimators_) == 2


def test_parts_without_replacement_leave_rows_out_of_the_bag():
    parts = BaggingClassifier(n_estimators=6, max_samples=0.5, bootstrap=False, random_state=0)
    pruning = prune(parts.fit(X[FIT], Y[FIT]), X[FIT], Y[FIT], keep=2, oob=True)
    assert pruning.votes.n_voted.tolist() == [150] * 6


def test_bad_predictions_are_refused():
    with pytest.raises(InputError, match="Predictions need no X"):
        prune(np.zeros((3, 2), int), X[:3], [0, 1, 0])
    with pytest.raises(InputError, match="do not sum to 1"):
        prune(np.full((3, 2, 2), 0.7), y=[0, 1, 0])
    with pytest.raises(InputError, match="not all finite numbers"):
        prune(np.full((3, 2, 2), np.nan), y=[0, 1, 0])
    with pytest.raises(InputError, match="max_latency needs models"):
        prune(np.zeros((3, 2), int), y=[0, 1, 0], max_latency=1)


def test_pruning_leaves_the_ensemble_as_it_was(forest):
    before = pickle.dumps(forest)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    assert pickle.dumps(forest) == before


def test_an_executor_chooses_the_same_members_and_tells_how_far_it_is(forest):
    rows = (X[CHOOSE], Y[CHOOSE])
    told = []
    with ThreadPoolExecutor(2) as pool:
        shared = prune(
            forest, *rows, keep=5, executor=pool, callback=lambda *step: told.append(step[:2])
        )
        with pytest.raises(InputError, match=r"EPFD\(KappaPruner"):
            prune(forest, *rows, "kp", 5, executor=pool)
    assert shared.member_indices.tolist() == prune(forest, *rows, keep=5).member_indices.tolist()
    assert told == [(step, 5) for step in range(1, 6)]
