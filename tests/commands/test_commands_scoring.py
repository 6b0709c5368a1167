"""Each score that people ask for, wherever it can be asked for: it decides what is chosen."""

import numpy as np
import pytest
from command_line import type_in
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from secateurs import compare, prune
from secateurs.outputs.stratified_folds import stratified_fold_indices

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

OF_CLASSES = ("accuracy", "balanced_accuracy", "neg_log_loss", "neg_brier_score", "roc_auc", "f1")
OF_NUMBERS = ("neg_mean_squared_error", "neg_mean_absolute_error", "r2")
N_ROWS = 240


def made_classes():
    """Members that each do best by another score, for a class of one row in six."""
    rng = np.random.default_rng(0)
    y = (np.arange(N_ROWS) % 6 == 0).astype(int)
    signal = y + rng.normal(0, 0.45, N_ROWS)
    likely = 1 / (1 + np.exp(-5 * (signal - 0.8)))
    members = [
        np.full(N_ROWS, 0.17),  # never the rare class
        (signal > 0.9) * 1.0,  # seldom, and sure of it
        (signal > 0.4) * 1.0,  # often
        (signal > 0.65) * 1.0,
        0.45 * likely,  # ranks well, and never votes for it
        np.clip(likely, 0.01, 0.45),  # how likely it is, but never votes for it
        rng.uniform(0, 1, N_ROWS),
    ]
    shares = np.stack(members, axis=1).round(3)
    return np.stack([1 - shares, shares], axis=2), y


def made_numbers():
    """Members with many small errors, few large ones, and others."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=N_ROWS)
    few = np.where(rng.random(N_ROWS) < 0.02, 3.0, 0.0)
    off = [
        *(rng.normal(0, 0.5, N_ROWS), rng.normal(0, 0.05, N_ROWS) + few),
        *(rng.uniform(-0.9, 0.9, N_ROWS), rng.normal(0, 0.1, N_ROWS) + few / 2),
        np.where(rng.random(N_ROWS) < 0.4, 1.1, 0.01),
    ]
    return y[:, None] + np.stack(off, axis=1), y


class Answering(ClassifierMixin, BaseEstimator):
    """Answers that are known, for the scorers of scikit-learn."""

    classes_ = np.array([0, 1])

    def __init__(self, shares):
        self.shares = shares

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.shares[X[:, 0]].argmax(axis=1)

    def predict_proba(self, X):
        return self.shares[X[:, 0]]


class Predicting(RegressorMixin, BaseEstimator):
    def __init__(self, numbers):
        self.numbers = numbers

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.numbers[X[:, 0]]


def score_of(name, table, members, y, rows):
    """The score of the mean of members on rows, by scikit-learn."""
    mean = table[:, members].mean(axis=1)
    estimator = Answering(mean) if table.ndim == 3 else Predicting(mean)
    return get_scorer(name)(estimator, rows[:, None], y[rows])


def cases():
    for name in (*OF_CLASSES, *OF_NUMBERS):
        yield name, made_classes() if name in OF_CLASSES else made_numbers()


def best_alone(name, table, y):
    everything = np.arange(N_ROWS)
    return int(
        np.argmax([score_of(name, table, [t], y, everything) for t in range(table.shape[1])])
    )


def test_the_made_members_are_best_by_different_scores():
    best = {name: best_alone(name, *made) for name, made in cases()}
    assert len({best[name] for name in OF_CLASSES}) >= 4
    for name in ("balanced_accuracy", "neg_log_loss", "roc_auc", "f1"):
        assert best[name] != best["accuracy"]
    assert best["neg_mean_squared_error"] == best["r2"] != best["neg_mean_absolute_error"]


@pytest.mark.parametrize(("name", "made"), cases(), ids=[name for name, _ in cases()])
def test_prune_and_compare_choose_by_the_score(name, made):
    table, y = made
    expected = best_alone(name, table, y)
    chosen = prune(table, None, y, "caruana", keep=1, scoring=name)
    assert chosen.member_indices.tolist() == [expected]
    given = {"X_test": table, "y_test": y, "scoring": name, "random_state": 0}
    found = compare(table, None, y, {"mine": "caruana"}, keep=[1], **given)
    assert found.pruning("mine", 1).member_indices.tolist() == [expected]
    assert name in found.leaderboard().columns
    assert found.score == name


def smallest_tolerated(name, table, y, tolerance):
    """The first members within a tolerance of all on rows held out, as nine in ten larger sets."""
    sizes = range(1, table.shape[1] + 1)
    parts = [
        off
        for _, off in stratified_fold_indices(y if table.ndim == 3 else np.zeros(N_ROWS), seeded())
    ]
    values = [
        sum(score_of(name, table, range(k), y, off) * len(off) / N_ROWS for off in parts)
        for k in sizes
    ]
    good = [value >= values[-1] - tolerance - 1e-12 for value in values]
    return next(k for k in sizes if good[k - 1] and np.mean(good[k - 1 :]) >= 0.9)


def seeded():
    return np.random.RandomState(0)


TOLERANCES = {"accuracy": 0.02, "balanced_accuracy": 0.02, "f1": 0.02, "neg_log_loss": 0.02}
TOLERANCES |= {"neg_brier_score": 0.02, "roc_auc": 0.01}
TOLERANCES |= {"neg_mean_squared_error": 0.05, "neg_mean_absolute_error": 0.02}


@pytest.mark.filterwarnings("ignore:Scores other than")
def test_a_tolerance_is_of_the_score():
    found = {}
    for name, (table, y) in cases():
        if name not in TOLERANCES:
            continue
        given = {"tolerance": TOLERANCES[name], "scoring": name, "random_state": 0}
        given |= {"relative_to": "full"}
        found[name] = len(prune(table, None, y, "es", **given).member_indices)
        assert found[name] == smallest_tolerated(name, table, y, TOLERANCES[name]), name
    assert len({found[name] for name in found if name in OF_CLASSES}) >= 3
    assert found["neg_mean_squared_error"] != found["neg_mean_absolute_error"]


@pytest.mark.parametrize(("name", "made"), cases(), ids=[name for name, _ in cases()])
def test_the_command_line_chooses_by_the_score(name, made, tmp_path, monkeypatch):
    table, y = made
    monkeypatch.chdir(tmp_path)
    kind = "probabilities" if table.ndim == 3 else "numbers"
    np.savez("table.npz", y=y, **{kind: table})
    words = ("--predictions", "table.npz", "--scoring", name, "-p", "caruana", "-k", "1", "--json")
    ended = type_in("prune", *words, "--test", "table.npz")  # else chosen five times more
    assert ended.code == 0, ended.err
    assert ended.json["members"] == [best_alone(name, table, y)]
    ended = type_in("compare", *words[:4], "-p", "es", "-k", "2", "--json")
    assert ended.code == 0, ended.err
    lines = {line["method"]: line for line in ended.json["leaderboard"]}
    found = compare(table, None, y, ["es"], keep=[2], scoring=name, random_state=0)
    expected = found.leaderboard().set_index("method").loc["es", name]
    assert lines["es"][name] == pytest.approx(expected)
