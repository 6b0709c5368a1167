"""The method of `pruner="auto"`: benchmark prior, noise, kinds of ensembles, and baselines."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from secateurs import compare, make_pruner, prune
from secateurs._methods import METHODS
from secateurs.evaluation.auto_method import (
    CANDIDATES,
    advise_method,
    benchmark_prior,
    cross_validate_methods,
    ensemble_kind,
    rank_candidates,
)
from secateurs.evaluation.library_method import score_at_best_size
from secateurs.evaluation.method_decision import MethodScores, decide_method
from secateurs.exceptions import SecateursWarning
from secateurs.measures.score_curve import FoldScores, ScoreCurve
from secateurs.outputs.stratified_folds import stratified_fold_indices
from secateurs.problem import Problem

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=400)
X = RNG.normal(size=(400, 6)) + np.eye(3)[Y] @ RNG.normal(size=(3, 6))
FIT, CHOOSE = slice(0, 200), slice(200, 400)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(24, random_state=0).fit(X[FIT], Y[FIT])


def trial_of(values, error):
    n = len(values)
    return MethodScores(np.array(values), np.where(np.eye(n, dtype=bool), 0.0, error))


def test_the_best_method_of_the_benchmark_is_used_unless_another_is_significantly_better():
    before = {"a": 0.3, "b": 0.1, "c": 0.2}
    names = list("abc")
    assert decide_method(names, trial_of([0.80, 0.82, 0.81], 0.01), before)[0] == 0
    assert decide_method(names, trial_of([0.80, 0.84, 0.81], 0.01), before)[0] == 1
    assert decide_method(names, trial_of([0.80, 0.84, 0.85], 0.01), before)[0] == 2
    assert (
        decide_method(names, trial_of([0.80, 0.99, 0.99], np.nan), before)[0] == 0
    )  # nobody can tell
    _, why = decide_method(names, trial_of([0.80, 0.84, 0.81], 0.01), before)
    assert "0.0400 better than that of a" in why


def test_the_prior_covers_every_kind_and_candidate():
    for kind, scores in benchmark_prior().items():
        for score, points in scores.items():
            assert all(np.isfinite(value) for value in points.values()), (kind, score)
            assert rank_candidates(points)[0] in CANDIDATES
    for name, (method, parameters) in CANDIDATES.items():
        assert method in METHODS
        make_pruner(method, **parameters)
        assert any(
            name in points for scores in benchmark_prior().values() for points in scores.values()
        )


def members_right(chances, seed):
    """Votes of members that are right with these chances, and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=500)
    right = rng.random((500, len(chances))) < chances
    return np.where(right, y[:, None], 1 - y[:, None]), y


@pytest.mark.parametrize("seed", range(5))
def test_the_kind_depends_on_the_spread_of_error_rates(seed):
    votes, y = members_right([0.8] * 60, seed)
    assert ensemble_kind(Problem.from_input(votes, y=y)) == "alike"
    votes, y = members_right([0.9, 0.8, 0.6, 0.55] * 5, seed)
    assert ensemble_kind(Problem.from_input(votes, y=y)) == "mixed"


def test_weighted_votes_and_numbers_are_kinds_of_their_own():
    boosted = AdaBoostClassifier(n_estimators=6, random_state=0).fit(X[FIT], Y[FIT])
    numbers = RandomForestRegressor(5, random_state=0).fit(X[FIT, 1:], X[FIT, 0])
    assert ensemble_kind(Problem.from_input(boosted, X[CHOOSE], Y[CHOOSE])) == "weighted"
    assert ensemble_kind(Problem.from_input(numbers, X[CHOOSE, 1:], X[CHOOSE, 0])) == "numbers"


@pytest.mark.parametrize("oob", [False, True])
def test_candidates_are_scored_on_samples_they_were_not_selected_on(forest, oob):
    rows = (X[FIT], Y[FIT]) if oob else (X[CHOOSE], Y[CHOOSE])
    problem = Problem.from_input(forest, *rows, oob=oob)
    methods = [make_pruner("re", keep=5), make_pruner("best", keep=5), make_pruner("es", keep=5)]
    found = cross_validate_methods(problem, methods, np.random.RandomState(3))
    right = np.zeros((3, len(rows[1])))
    shares = np.stack([tree.predict_proba(rows[0]) for tree in forest.estimators_])
    if oob:
        for tree, drawn in enumerate(forest.estimators_samples_):
            shares[tree, drawn] = 0.0
    for chosen_on, held_out in stratified_fold_indices(rows[1], np.random.RandomState(3)):
        for place, method in enumerate(methods):
            members = method.fit(problem.predictions.rows(chosen_on)).member_indices_
            totals = shares[members][:, held_out].sum(axis=0)
            right[place, held_out] = totals.argmax(axis=1) == rows[1][held_out]
            right[place, held_out] *= totals.any(axis=1)  # without any vote, nothing is right
    assert found.values == pytest.approx(right.mean(axis=1), abs=0.011)  # ties of probabilities
    apart = (right[0] - right[1]).std() / np.sqrt(len(rows[1]))
    assert found.difference_errors[0, 1] == pytest.approx(apart, rel=0.5)
    assert (found.difference_errors == found.difference_errors.T).all()


def test_a_library_with_useless_models_keeps_none_of_them():
    useless = {f"dummy {n}": DummyClassifier(strategy="uniform", random_state=n) for n in range(4)}
    useful = {"bayes": GaussianNB(), "linear": LogisticRegression(), "near": KNeighborsClassifier()}
    models = {name: m.fit(X[FIT], Y[FIT]) for name, m in {**useless, **useful}.items()}
    pruning = prune(models, X[CHOOSE], Y[CHOOSE], keep=3, random_state=0)
    assert not set(pruning.member_names) & set(useless)
    assert "libraries of different models" in pruning.reason


def test_a_better_baseline_leads_to_a_warning():
    """The first member is always right; the other members are little better than chance."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=300)
    wrong = np.where(rng.rand(300, 9) < 0.45, 1 - y[:, None], y[:, None])
    votes = np.column_stack([y, wrong])
    problem = Problem.from_input(votes, y=y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the best single member is among those chosen
        assert advise_method(problem, 1, np.random.RandomState(0)).reason
    with pytest.warns(SecateursWarning, match="the best single member has a better") as caught:
        advise_method(problem, 9, np.random.RandomState(0))
    assert [warning.filename for warning in caught] == [__file__]


def test_many_samples_are_subsampled(forest, monkeypatch):
    from secateurs.evaluation import auto_method

    monkeypatch.setattr(auto_method, "_MIN_SAMPLES", 50)
    monkeypatch.setattr(auto_method, "_MAX_VOTES", 1)
    seen = []
    monkeypatch.setattr(
        auto_method,
        "cross_validate_methods",
        lambda problem, *more: (
            seen.append(problem.predictions) or cross_validate_methods(problem, *more)
        ),
    )
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=5, random_state=0)
    assert [votes.n_samples for votes in seen] == [50]
    assert pruning.votes.n_samples == 200


def member_table(seed, n_samples, n_members, is_soft):
    """Return predictions of members with different skill, or with the same skill, and labels."""
    rng = np.random.RandomState(seed)
    y = rng.randint(2, size=n_samples)
    skill = rng.uniform(0, 1.2, n_members) if rng.rand() < 0.7 else np.full(n_members, 0.6)
    noise = rng.normal(size=(n_samples, n_members)) + 0.5 * rng.normal(size=(n_samples, 1))
    share = 1 / (1 + np.exp(-((2 * y - 1)[:, None] * skill + noise)))
    return (np.stack([1 - share, share], axis=2) if is_soft else (share > 0.5).astype(int)), y


@pytest.mark.filterwarnings("ignore::secateurs.exceptions.SecateursWarning")
@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([40, 90, 150]),
    st.integers(4, 12),
    st.sampled_from([None, "neg_log_loss", "balanced_accuracy"]),
    st.integers(1, 3),
)
def test_the_advice_of_a_comparison_and_auto_agree(seed, n_samples, n_members, scoring, keep):
    """The comparison has all methods, among them each one that "auto" may select."""
    table, y = member_table(seed, n_samples, n_members, is_soft=scoring == "neg_log_loss")
    options = {"scoring": scoring, "random_state": seed % 1000}
    automatic = prune(table, None, y, keep=keep, **options)
    methods = [
        *("joint", "re", "oo", "mdm", "uwa", "oep", "best", "caruana"),
        *(make_pruner("comep", diversity_weight=weight) for weight in (0.1, 0.3)),
    ]
    methods = [m for m in methods if scoring != "neg_log_loss" or m in ("joint", "best", "caruana")]
    comparison = compare(table, None, y, methods, keep=[keep], **options)
    method, size = comparison.best
    assert size == keep
    assert method.split()[0] == automatic.reason.split(":")[0].split()[0]
    assert comparison.pruning().member_indices.tolist() == automatic.member_indices.tolist()


@pytest.mark.parametrize(("scoring", "noise"), [(None, 1.5), ("accuracy", 0.8)])
def test_the_advice_names_ensemble_selection_for_any_score_that_it_optimises(scoring, noise):
    """Two models know half of the samples each: only weights make use of the less certain one.

    Without ``scoring``, "auto" selects by the Brier score, and the comparison by accuracy.
    """
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=300)
    sign, is_first = 2 * y - 1, rng.rand(300) < 0.5
    experts = [
        np.where(is_first, 4.0 * sign, 0.2 * rng.normal(size=300)),
        np.where(is_first, 0.02 * rng.normal(size=300), 0.4 * sign),
    ]
    shared = noise * rng.normal(size=300)
    similar = [1.3 * sign + shared + 0.2 * rng.normal(size=300) for _ in range(6)]
    share = 1 / (1 + np.exp(-np.stack([*experts, *similar], axis=1)))
    table, options = np.stack([1 - share, share], axis=2), {"scoring": scoring, "random_state": 0}
    automatic = prune(table, None, y, keep=3, **options)
    assert automatic.reason.startswith("caruana: its cross-validated score is")
    comparison = compare(table, None, y, ["best", "joint", "caruana"], keep=[3], **options)
    assert comparison.advice.startswith("use caruana")
    if scoring is not None:
        assert comparison.pruning().member_indices.tolist() == automatic.member_indices.tolist()


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=2, max_size=6),
    st.integers(0, 99),
)
def test_the_score_at_the_best_size_selects_the_size_on_other_folds(values, seed):
    rng = np.random.RandomState(seed)
    weights = rng.randint(1, 9, len(values)).astype(float)
    empty = np.full((4, 1), np.nan)
    folds = tuple(
        FoldScores(weight, np.zeros(1), np.array(row), empty)
        for weight, row in zip(weights, values, strict=True)
    )
    mean = np.average(values, axis=0, weights=weights)
    curve = ScoreCurve(weights.sum(), 0.5, mean, np.zeros(4), np.zeros(4), folds)
    expected = 0.0
    for fold, row in enumerate(values):
        others = [g for g in range(len(values)) if g != fold]
        sums = [sum(weights[g] * values[g][size] for g in others) for size in range(4)]
        best = [size for size in range(4) if sums[size] >= max(sums) - 1e-12]
        expected = expected + weights[fold] * np.array([row[size] for size in best]).mean()
        if len(best) > 1:
            return  # ties may be broken by rounding
    assert score_at_best_size(curve) == pytest.approx(expected / weights.sum())
