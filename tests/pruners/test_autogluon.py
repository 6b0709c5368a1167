"""Ensemble selection beside AutoGluon's, which `make oracle` installs."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from secateurs import EnsembleSelection, Predictions
from secateurs.measures.scoring import Scoring

FOLDER = os.environ.get("SECATEURS_AUTOGLUON")

pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason="SECATEURS_AUTOGLUON names no folder"),
    pytest.mark.filterwarnings("ignore"),
]
ROUNDING = 1.01e-6  # AutoGluon rounds scores to six decimals, and breaks ties at random
CASES = [
    *(("accuracy", 2), ("accuracy", 4), ("balanced_accuracy", 3), ("neg_log_loss", 2)),
    *(("neg_log_loss", 3), ("roc_auc", 2), ("roc_auc_ovr", 3), ("average_precision", 2)),
    *(("neg_root_mean_squared_error", 1), ("neg_mean_absolute_error", 1)),
]


@pytest.fixture(scope="module")
def autogluon():
    from benchmarks.peers import autogluon_modules

    modules = autogluon_modules(Path(FOLDER))
    assert modules is not None
    return modules


def library(seed, n_classes):
    """Predictions of members of different skill that fixed point represents exactly, and y."""
    rng = np.random.default_rng(seed)
    n_members, n_samples = int(rng.integers(2, 12)), int(rng.integers(30, 90))
    if n_classes == 1:
        y = rng.normal(size=n_samples)
        noise = rng.normal(size=(n_samples, n_members)) * rng.uniform(0.3, 2, n_members)
        return np.round((y[:, None] + noise) * 1024) / 1024, np.round(y * 1024) / 1024
    y = rng.permutation(np.arange(n_samples) % n_classes)
    logits = rng.normal(size=(n_samples, n_members, n_classes)) + rng.normal(size=(n_samples, 1, 1))
    logits[np.arange(n_samples), :, y] += rng.normal(1.0, 0.5, size=n_members)
    table = np.round(softmax(logits, axis=2) * 2**14)
    table[..., 0] += 2**14 - table.sum(axis=2)
    return np.abs(table) / 2**14, y


def score(scoring, table, y, members):
    """The score of the mean of some members, by scikit-learn's metric."""
    classes = np.unique(y) if table.ndim == 3 else []
    return Scoring.from_scorer(scoring, classes)(table[:, members].mean(axis=1), y)


@pytest.mark.parametrize(("scoring", "n_classes"), CASES)
def test_steps_are_those_of_autogluon_except_at_ties(autogluon, scoring, n_classes):
    selection, metrics = autogluon
    n_equal = n_steps = 0
    for seed in range(20):
        table, y = library(seed, n_classes)
        kind = {1: "regression", 2: "binary"}.get(n_classes, "multiclass")
        metric = getattr(metrics, scoring.removeprefix("neg_"))
        rows = [table[:, t, 1] if n_classes == 2 else table[:, t] for t in range(table.shape[1])]
        theirs = selection.EnsembleSelection(
            12, kind, metric, random_state=np.random.RandomState(0)
        ).fit(rows, y)
        pruner = EnsembleSelection(scoring=scoring, max_models=12).fit(Predictions.encode(table, y))
        ours = pruner.runs_[0].members
        steps = zip(ours, theirs.indices_, strict=False)
        same = next((n for n, (a, b) in enumerate(steps) if a != b), len(theirs.indices_))
        n_equal, n_steps = n_equal + min(same, len(ours)), n_steps + len(theirs.indices_)
        if same < min(len(ours), len(theirs.indices_)):
            a, b = (
                score(scoring, table, y, [*ours[:same], m[same]]) for m in (ours, theirs.indices_)
            )
            assert a >= b - 1e-9
            assert a - b <= ROUNDING
        else:
            assert pruner.objective_ >= score(scoring, table, y, theirs.indices_) - 1e-9
    assert n_equal >= n_steps / 2  # or the test would say little
