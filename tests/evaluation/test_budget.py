"""The size that meets a budget, and how predictions are timed."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from fitted_models import CHOOSE, CODES, FIT, X, Y
from secateurs import COMEP, collect_votes, make_pruner, prune
from secateurs.exceptions import BudgetError, InputError, SecateursWarning
from secateurs.outputs.stratified_folds import stratified_fold_indices
from secateurs.problem.latency import Latency, time_predictions
from secateurs.units import format_bytes


@pytest.mark.parametrize("pruner", ["comep", "re", "best", COMEP(refine=True)])
def test_max_bytes_is_kept_and_used_up(forest, pruner):
    limit = len(pickle.dumps(forest)) // 3
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], pruner, max_bytes=limit)
    assert len(pickle.dumps(pruning.estimator)) <= limit
    larger = prune(forest, X[CHOOSE], Y[CHOOSE], pruner, keep=len(pruning.member_indices) + 1)
    assert len(pickle.dumps(larger.estimator)) > limit


def test_a_generous_latency_keeps_all_members(forest):
    assert len(prune(forest, X[CHOOSE], Y[CHOOSE], max_latency=60).member_indices) == 25


@pytest.mark.parametrize("vote", ["auto", "labels"])
@pytest.mark.parametrize("oob", [False, True])
def test_tolerance_keeps_the_smallest_set_within_it_by_cross_validation(forest, vote, oob):
    given = FIT if oob else CHOOSE
    parameters = {"tolerance": 0.02, "vote": vote, "oob": oob, "random_state": 0}
    parameters |= {"relative_to": "full"}
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
    for chosen_on, held_out in stratified_fold_indices(CODES[given], rng):
        right_on = (votes == truth[:, None]) & known
        means = right_on[chosen_on].sum(axis=0) / known[chosen_on].sum(axis=0)
        order = np.argsort(-means.round(12), kind="stable")
        for size in range(1, 26):
            total = sum(shares[t][held_out] * known[held_out, t, None] for t in order[:size])
            right[size - 1] += (forest.classes_[total.argmax(axis=1)] == truth[held_out]).sum()
    accuracy = right / len(truth)
    good = accuracy >= accuracy[-1] - 0.02 - 1e-12
    enough = [size for size in range(1, 26) if good[size - 1] and good[size - 1 :].mean() >= 0.9]
    assert len(pruning.member_indices) == enough[0]


def test_tolerance_works_for_methods_that_search_for_each_size(forest):
    given = make_pruner("sep", n_iterations=20, random_state=0)
    pruning = prune(
        forest, X[CHOOSE], Y[CHOOSE], given, tolerance=0.05, relative_to="full", random_state=0
    )
    assert 1 <= len(pruning.member_indices) <= 25


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        ({"max_bytes": 10}, BudgetError, r"max_bytes=10: the smallest takes \d.* kB"),
        (
            {"max_latency": 1e-9},
            BudgetError,
            r"max_latency=1e-09: one takes \d.* ms. Pass a",
        ),
        ({"max_bytes": -1}, InputError, "max_bytes=-1 is not a valid budget"),
        ({"tolerance": float("nan")}, InputError, "tolerance=nan is not a valid budget"),
        ({"max_cost": 2}, InputError, "max_cost needs cost"),
        ({"cost": [1] * 3, "max_cost": 2}, InputError, r"cost has shape \(3,\)"),
        ({"cost": [3] * 25, "max_cost": 2}, BudgetError, "max_cost=2: the cheapest costs 3. Pass"),
        ({"keep": 3, "tolerance": 0.1}, InputError, "keep=3 cannot be combined with a budget"),
        (
            {"tolerance": 0, "cost": [1] * 25, "max_cost": 1},
            BudgetError,
            "No sub-ensemble that meets max_cost=1 meets tolerance=0: the best .* is 0",
        ),
        (
            {"tolerance": 0, "max_bytes": 20_000},
            BudgetError,
            r"budget allows at most \d members?, and no such sub-ensemble meets tolerance=0: ",
        ),
    ],
)
def test_budgets_that_cannot_be_met_are_refused(forest, budget, error, message):
    with pytest.raises(error, match=message):
        prune(forest, X[CHOOSE], Y[CHOOSE], random_state=0, **budget)


def test_the_error_names_the_first_and_the_smallest_member():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    rows[:, 0] += y
    members = [DecisionTreeClassifier(max_depth=d).fit(rows, y) for d in (1, None)]
    sizes = [len(pickle.dumps([member])) for member in members]
    with pytest.raises(BudgetError, match=r"it takes .* kB, the smallest takes .* kB. Pass a"):
        prune(members, rows, y, "best", max_bytes=sum(sizes) / 2)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(71, "71 B"), (1000, "1 kB"), (1001, "1.01 kB"), (999_999, "1000 kB"), (2.5e9, "2.5 GB")],
)
def test_bytes_are_rounded_up_so_that_they_are_enough(value, shown):
    assert format_bytes(value) == shown


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
        "secateurs.problem.latency.time", SimpleNamespace(perf_counter=lambda: clock[0])
    )
    turns = []

    def predict(name, seconds):
        def run(rows):
            turns.append((name, rows))
            clock[0] += seconds * (1 + len(turns) / 10_000)  # ever slower, so that none are equal

        return run

    found = time_predictions([predict("whole", whole), predict("kept", kept)], "rows", 0.3)
    in_turn = n_warm * ["whole", "whole", "kept", "kept"] + n_cold * ["whole", "kept"]
    assert turns == [(name, "rows") for name in in_turn]
    counted = [4 * turn + run for turn in range(n_warm) for run in (2, 4)]
    counted += [4 * n_warm + 1 + run for run in range(2 * n_cold)]
    slower = 1 + np.array(counted) / 10_000
    assert found == pytest.approx(np.array([whole * slower[::2], kept * slower[1::2]]), rel=1e-6)


@pytest.fixture
def timed(monkeypatch):
    """Let forests take 2 ms and 0.1 ms a tree; with ``n_jobs=2`` 8 ms and 0.05 ms a tree."""
    clock, noise, predict = [0.0], np.random.default_rng(0), RandomForestClassifier.predict

    def slow(model, rows):
        base, each = (2e-3, 1e-4) if model.n_jobs in (None, 1) else (8e-3, 5e-5)
        luck = 1 + noise.exponential(0.03) + 20 * (noise.random() < 0.1)  # and now and then a pause
        clock[0] += (base + each * len(model.estimators_)) * luck
        return predict(model, rows)

    monkeypatch.setattr(RandomForestClassifier, "predict", slow)
    monkeypatch.setattr(
        "secateurs.problem.latency.time", SimpleNamespace(perf_counter=lambda: clock[0])
    )
    monkeypatch.setattr("secateurs.problem.latency._SECONDS_PER_SIZE", 0.2)
    return clock


@pytest.fixture(scope="module")
def wide():
    """A forest of 60 trees."""
    return RandomForestClassifier(60, max_depth=3, random_state=0).fit(X[FIT], Y[FIT])


def test_equal_calls_keep_nearly_equal_numbers_within_a_latency(wide, timed):
    sizes = [
        len(prune(wide, X[CHOOSE], Y[CHOOSE], "best", max_latency=5e-3).member_indices)
        for _ in range(3)
    ]
    # 30 trees take 5 ms; the median timing is 2 % longer.
    assert all(26 <= size <= 30 for size in sizes)
    assert max(sizes) - min(sizes) <= 3


def test_latency_uses_n_jobs_of_the_model_and_warns_if_one_job_is_faster(wide, timed):
    model = copy.copy(wide)
    model.n_jobs = 2
    message = (
        r"With \d+ members, predicting one sample takes 9\.\d+ ms with the model's n_jobs=2, "
        r"but 5\.\d+ ms with n_jobs=1, which allows 60 members within max_latency=0.01. "
        r"Set n_jobs=1"
    )
    with pytest.warns(SecateursWarning, match=message):
        pruning = prune(model, X[CHOOSE], Y[CHOOSE], "best", max_latency=0.01)
    assert 30 <= len(pruning.member_indices) <= 40
    assert pruning.estimator.n_jobs == model.n_jobs == 2
    with pytest.raises(BudgetError, match=r"one takes 8\.\d+ ms, or 2\.\d+ ms with n_jobs=1 in"):
        prune(model, X[CHOOSE], Y[CHOOSE], "best", max_latency=7e-3)


def test_the_error_reports_the_time_of_preprocessing(wide, timed):
    def slowly(rows):
        timed[0] += 0.0167
        return rows

    model = make_pipeline(FunctionTransformer(slowly), wide)
    found = prune(model, X[CHOOSE], Y[CHOOSE], "best", max_latency=0.0217).member_indices
    assert 26 <= len(found) <= 30
    message = r"max_latency=0.01: one takes 18\.\d+ ms, of which preprocessing takes 16\.7 ms. Pass"
    with pytest.raises(BudgetError, match=message):
        prune(model, X[CHOOSE], Y[CHOOSE], "best", max_latency=0.01)


@pytest.mark.filterwarnings("ignore:keep=1")
def test_a_latency_that_allows_a_single_member_leads_to_a_warning(wide, timed):
    message = r"max_latency=0.0022 allows a single member only: one takes 2\.\d+ ms, and each ad"
    with pytest.warns(SecateursWarning, match=message):
        pruning = prune(wide, X[CHOOSE], Y[CHOOSE], "best", max_latency=2.2e-3)
    assert len(pruning.member_indices) == 1


def test_noise_never_makes_members_take_no_time():
    noisy = Latency(np.array([1, 5, 25]), np.array([0.001, 0.001, 0.9]), 0.0, is_homogeneous=True)
    assert noisy.seconds_for(1) > 0
    assert noisy.max_members(1e-9) == 0


def test_members_of_several_kinds_are_timed_as_they_are():
    sizes, seconds = np.array([1, 2, 3, 6]), np.array([1.0, 1.1, 9.0, 8.9])
    mixed = Latency(sizes, seconds, 0.0, is_homogeneous=False)
    assert [mixed.max_members(limit) for limit in (0.9, 1.0, 8.9, 9.0)] == [0, 1, 2, 6]


def test_a_model_alone_runs_once_before_it_is_timed(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(
        "secateurs.problem.latency.time", SimpleNamespace(perf_counter=lambda: clock[0])
    )

    def predict(rows):
        clock[0] += 0.25 if clock[0] else 9.0  # the first run is slow

    assert time_predictions([predict], "rows", 1.2) == pytest.approx(np.full((1, 4), 0.25))
    assert clock[0] == 9.0 + 4 * 0.25
