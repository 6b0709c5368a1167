"""Libraries of different models: which ensembles they are, their default method and size."""

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from secateurs import Predictions, make_pruner, prune
from secateurs.evaluation.ensemble_kind import is_library, loss_spread
from secateurs.evaluation.library_method import (
    best_library_size,
    default_candidate,
    error_of_one_sample,
    is_perfect,
    library_scoring,
    score_at_best_size,
)
from secateurs.evaluation.size_search import SizeSearch
from secateurs.measures.score_curve import FoldScores, ScoreCurve
from secateurs.measures.scoring import Scoring
from secateurs.problem import Problem

X, Y = make_classification(1100, 12, n_informative=5, flip_y=0.4, class_sep=0.7, random_state=1)
FIT, CHOOSE = slice(0, 500), slice(500, 1100)


def naive_spread(table, truth):
    """Return the spread of (samples, members, classes), by the definition and with loops."""
    n_samples, n_members, n_classes = table.shape
    errors = [
        [
            sum((table[i, t, c] - (truth[i] == c)) ** 2 for c in range(n_classes))
            for t in range(n_members)
        ]
        for i in range(n_samples)
    ]
    means = [statistics.fmean(row[t] for row in errors) for t in range(n_members)]
    chance = statistics.fmean(statistics.pvariance(row) for row in errors) / n_samples
    return max(0.0, statistics.pvariance(means) - chance) ** 0.5 / statistics.fmean(means)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_the_spread_of_squared_errors_equals_its_twin(seed, n_classes):
    rng = np.random.RandomState(seed)
    table = rng.multinomial(16, np.full(n_classes, 1 / n_classes), (rng.randint(3, 30), 5)) / 16
    truth = rng.randint(n_classes, size=len(table))
    truth[:n_classes] = range(min(n_classes, len(truth)))
    found = loss_spread(Predictions.encode(table, truth))
    assert found == pytest.approx(naive_spread(table, truth), rel=1e-6, abs=1e-6)


def test_models_that_are_equally_often_right_are_a_library_if_some_are_overconfident():
    models = [
        *(LogisticRegression(C=c) for c in (0.01, 1, 100)),
        *(KNeighborsClassifier(k) for k in (1, 15, 40)),
        *(GaussianNB(), BernoulliNB(), DecisionTreeClassifier(random_state=0)),
    ]
    models = [model.fit(X[FIT], Y[FIT]) for model in models]
    table = np.stack([model.predict_proba(X[CHOOSE]) for model in models], axis=1)
    assert is_library(Problem.from_input(table, y=Y[CHOOSE]))
    alike = (
        RandomForestClassifier(40, random_state=0),
        RandomForestClassifier(40, max_depth=4, random_state=0),
        BaggingClassifier(LogisticRegression(), 20, max_samples=0.3, random_state=0),
    )
    for ensemble in alike:
        members = ensemble.fit(X[FIT], Y[FIT]).estimators_
        table = np.stack([member.predict_proba(X[CHOOSE]) for member in members], axis=1)
        assert not is_library(Problem.from_input(table, y=Y[CHOOSE]))


def rare_library(seed=0, n_samples=300, rate=0.08):
    """Return predictions of twelve models, good and bad, for a rare class."""
    rng = np.random.RandomState(seed)
    y = (rng.rand(n_samples) < rate).astype(int)
    quality = np.repeat([1.2, 0.8, 0.3, 0.0], 3)
    signal = quality * y[:, None] + 0.6 * rng.normal(size=(n_samples, 12)) - 2 * (quality > 0)
    share = 1 / (1 + np.exp(-2 * signal))
    return np.stack([1 - share, share], axis=2), y


@pytest.mark.parametrize("rate", [0.08, 0.4])
def test_the_size_for_a_rare_class_is_the_largest_within_the_error_of_one_sample(rate):
    table, y = rare_library(rate=rate)
    problem = Problem.from_input(table, y=y)
    scoring = library_scoring(problem)
    assert scoring.name == "neg_brier_score"
    assert default_candidate(problem) == ("joint" if rate < 0.15 else "best")

    def search():
        return SizeSearch(problem, make_pruner("joint"), np.random.RandomState(3))

    losses = (-search().cross_validate_sizes(scoring).values).tolist()
    found = best_library_size(search(), scoring)
    best = losses.index(min(losses)) + 1
    within = [k for k, loss in enumerate(losses, 1) if loss <= min(losses) + 1 / len(y)]
    assert rate > 0.15 or within[-1] > best  # so that both rules differ
    assert found.size == (within[-1] if rate < 0.15 else best)
    asked = Problem.from_input(table, y=y, scoring="neg_brier_score")
    of_score = SizeSearch(asked, make_pruner("joint"), np.random.RandomState(3))
    assert best_library_size(of_score, asked.scoring).size == best


def test_the_reason_for_the_size_names_the_rare_class():
    table, y = rare_library()
    pruning = prune(table, None, y, random_state=0)
    assert "because a class is rare" in pruning.size_reason
    table, y = rare_library(rate=0.4)
    assert "rare" not in prune(table, None, y, random_state=0).size_reason


@settings(max_examples=60, deadline=None)
@given(
    # Two or four folds, whose shares are exact floats, so that ties are ties.
    st.sampled_from([2, 4]).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 20), min_size=4, max_size=4), min_size=n, max_size=n
        )
    ),
    st.integers(0, 6),
)
def test_the_score_at_the_best_size_within_a_tolerance_equals_its_twin(rows, tolerance):
    folds, empty = [np.array(row, dtype=float) for row in rows], np.zeros((4, 0))
    curve = ScoreCurve(
        float(len(folds)),
        0.0,
        np.mean(folds, axis=0),
        np.zeros(4),
        np.zeros(4),
        tuple(FoldScores(1.0, np.zeros(0), fold, empty) for fold in folds),
    )
    total = 0.0
    for held_out, fold in enumerate(folds):
        others = [other for place, other in enumerate(folds) if place != held_out]
        mean = [statistics.fmean(other[size] for other in others) for size in range(4)]
        good = [size for size in range(4) if mean[size] >= max(mean) - tolerance - 1e-9]
        total += fold[good[-1] if tolerance else mean.index(max(mean))]
    limit = tolerance + 1e-9 if tolerance else 0.0
    found = score_at_best_size(curve, limit)
    assert found == pytest.approx(total / len(folds), abs=1e-6)


def test_a_perfect_model_of_few_samples_is_not_used_alone_for_the_log_loss():
    """One model is right and certain on all samples; in truth, it errs on 3 % of them."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=1200)
    certain = y.astype(float)
    certain[300:] = np.where(rng.rand(900) < 0.03, 1 - y[300:], y[300:])
    signal = (2 * y[:, None] - 1) * np.repeat([2.0, 1.0, 0.2], 3) + rng.normal(size=(1200, 9))
    share = np.column_stack([certain, 1 / (1 + np.exp(-2 * signal))])
    table = np.stack([1 - share, share], axis=2)
    for keep in (4, None):
        pruning = prune(
            table[:300], None, y[:300], keep=keep, scoring="neg_log_loss", random_state=0
        )
        assert len(pruning.member_indices) > 1
        kept = pruning.member_indices
        mean = np.average(share[300:, kept], axis=1, weights=pruning.weights)
        of_truth = np.where(y[300:] == 1, mean, 1 - mean).clip(1e-15)
        alone = np.where(y[300:] == certain[300:], 1.0, 1e-15)
        assert -np.log(of_truth).mean() < -np.log(alone).mean() / 2


@pytest.mark.parametrize(
    ("name", "score", "expected"),
    [
        ("neg_log_loss", -2e-16, True),
        ("neg_log_loss", -0.001, False),
        ("neg_brier_score", 0.0, True),
        ("accuracy", 1.0, False),
        ("roc_auc", 1.0, False),
    ],
)
def test_a_perfect_score_is_a_loss_of_zero(name, score, expected):
    assert is_perfect(score, Scoring.from_scorer(name, np.array([0, 1]))) is expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["accuracy", "neg_brier_score", "neg_log_loss"])
def test_the_error_of_one_sample_is_that_of_a_wrong_prediction(name, n_classes):
    y = np.arange(60) % n_classes
    right = np.eye(n_classes)[y]
    wrong = right.copy()
    wrong[0] = np.eye(n_classes)[(y[0] + 1) % n_classes]
    problem = Problem.from_input(np.stack([right, wrong], axis=1), y=y)
    scoring = Scoring.from_scorer(name, problem.predictions.classes)
    values = [
        scoring(shares if name != "accuracy" else shares.argmax(1), y) for shares in (right, wrong)
    ]
    expected = 0.0 if name == "neg_log_loss" else values[0] - values[1]
    assert error_of_one_sample(problem, scoring) == pytest.approx(expected)
