"""Areas under ROC curves and average precision: compiled, and equal to scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, get_scorer, roc_auc_score

from secateurs import EnsembleSelection, Predictions
from secateurs.exceptions import InputError
from secateurs.measures.ranking_scores import RANKING_SCORES
from secateurs.measures.scoring import Scoring
from secateurs.objectives import MeanScore


def by_scikit_learn(name, probabilities, y, weights):
    """The score of a matrix of probabilities, by scikit-learn's function."""
    n_classes = probabilities.shape[1]
    column = probabilities[:, 1] if n_classes == 2 else probabilities
    if name == "average_precision":
        return average_precision_score(y, column, sample_weight=weights)
    ways = {"average": "weighted" if "weighted" in name else "macro"}
    ways["multi_class"] = "ovo" if "ovo" in name else "ovr"
    return roc_auc_score(y, column, sample_weight=weights, **(ways if n_classes > 2 else {}))


def exact_means(predictions, members):
    """The mean probabilities of some members, divided by their sum: one rounding per value."""
    sums = predictions.cells[members].astype(np.int64).sum(axis=0)
    if predictions.n_classes == 2:
        sums = np.vstack([len(members) * (1 << 14) - sums, sums])
    return (sums / sums.sum(axis=0)).T


def library(seed, n_samples, n_members, n_classes, steps):
    """Probabilities, many of which tie if there are few steps, and y with all classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    table = rng.dirichlet(np.ones(n_classes), size=(n_samples, n_members))
    table[np.arange(n_samples), :, y] += 0.3
    table = np.rint(table * steps) + 1e-9
    return table / table.sum(axis=2, keepdims=True), y, rng.choice([0.25, 1.0, 3.0], n_samples)


@pytest.mark.parametrize("name", RANKING_SCORES)
@given(
    seed=st.integers(0, 999),
    shape=st.tuples(st.integers(8, 40), st.integers(1, 4), st.integers(2, 4)),
    steps=st.sampled_from([2, 7, 1000]),
    weighted=st.booleans(),
)
def test_gains_equal_scikit_learn_on_the_same_means(name, seed, shape, steps, weighted):
    table, y, weights = library(seed, *shape, steps)
    n_members, n_classes = shape[1:]
    if n_classes > 2 and name == "roc_auc":
        return
    weights = weights if weighted and (n_classes == 2 or "ovo" not in name) else None
    predictions = Predictions.encode(table, y)
    objective = MeanScore.for_predictions(
        predictions, Scoring.from_scorer(name, predictions.classes), weights
    )
    selected = []
    for step in range(3):
        gains = objective.gains()
        for member in range(n_members):
            means = exact_means(predictions, [*selected, member])
            expected = by_scikit_learn(name, means, y, weights)
            assert gains[member] == pytest.approx(expected, abs=1e-12)
            assert objective.scoring(means, y, weights) == pytest.approx(expected, abs=1e-12)
        selected.append(step % n_members)
        objective.add(selected[-1])
        assert objective.value == gains[selected[-1]]


@pytest.mark.parametrize("n_samples", [2047, 2048, 5000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_samples_are_sorted_like_few(n_samples, n_classes):
    table, y, _ = library(0, n_samples, 3, n_classes, 50)
    predictions = Predictions.encode(table, y)
    scoring = Scoring.from_scorer("roc_auc_ovr", predictions.classes)
    gains = MeanScore.for_predictions(predictions, scoring).gains()
    expected = [
        by_scikit_learn("roc_auc_ovr", exact_means(predictions, [member]), y, None)
        for member in range(3)
    ]
    np.testing.assert_allclose(gains, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("steps", [2, 50])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_numpy_and_kernels_score_equally(n_classes, steps):
    table, y, _ = library(5, 300, 1, n_classes, steps)
    for name in ("roc_auc_ovr", "average_precision"):
        scoring = Scoring.from_scorer(name, np.arange(n_classes))
        by_numpy, by_kernel = (scoring(table[:, 0], y, w) for w in (None, np.ones(300)))
        assert by_numpy == by_kernel


@pytest.mark.parametrize("scale", [1e150, 1e-139])
def test_weights_of_any_scale_give_the_same_areas(scale):
    table, y, weights = library(1, 30, 3, 3, 7)
    chosen = [
        EnsembleSelection(scoring="roc_auc_ovr", max_models=5)
        .fit(table, y, sample_weight=weights / 4 * factor)
        .runs_[0]
        for factor in (1.0, scale)
    ]
    assert chosen[0].members == chosen[1].members
    np.testing.assert_allclose(chosen[0].scores, chosen[1].scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("labels", [("no", "yes"), (1, 2)])
def test_the_positive_class_is_that_of_scikit_learn(labels):
    table, y, _ = library(2, 40, 2, 2, 9)
    classes = np.array(labels)
    scoring = Scoring.from_scorer("roc_auc", classes)
    expected = roc_auc_score(y, table[:, 0, 1])
    assert scoring(table[:, 0], classes[y]) == pytest.approx(expected, abs=1e-12)
    if labels == (1, 2):  # average precision is that of class 1, which is the first here
        scoring = Scoring.from_scorer("average_precision", classes)
        expected = average_precision_score(y == 0, table[:, 0, 0])
        assert scoring(table[:, 0], classes[y]) == pytest.approx(expected, abs=1e-12)
    else:
        with pytest.raises(InputError, match="which of the classes 'no' and 'yes' is positive"):
            Scoring.from_scorer("average_precision", classes)


def test_a_score_that_is_not_defined_raises_an_error():
    table, y, _ = library(3, 20, 2, 2, 9)
    with pytest.raises(InputError, match="not defined on these samples: y holds one class only"):
        EnsembleSelection(scoring="roc_auc").fit(table, np.zeros_like(y))
    table, y, weights = library(3, 20, 2, 3, 9)
    with pytest.raises(InputError, match="one-vs-one AUC does not accept sample weights"):
        EnsembleSelection(scoring="roc_auc_ovo").fit(table, y, sample_weight=weights)


@pytest.mark.parametrize("name", ["roc_auc_ovr", "average_precision"])
def test_missing_predictions_are_left_out_of_the_mean(name):
    table, y, weights = library(4, 40, 3, 3, 9)
    mask = np.zeros(table.shape, dtype=bool)
    mask[::5, 0] = mask[1::4, 1] = True
    masked = np.ma.masked_array(table, mask)
    pruner = EnsembleSelection(scoring=name, max_models=4)
    known = get_scorer(name)

    def own(estimator, X, y, sample_weight=None):
        return known(estimator, X, y, sample_weight=sample_weight)

    runs = [
        pruner.set_params(scoring=scoring).fit(masked, y, sample_weight=weights).runs_[0]
        for scoring in (name, own)
    ]
    assert runs[0].members == runs[1].members
    np.testing.assert_allclose(runs[0].scores, runs[1].scores, rtol=0, atol=1e-12)
