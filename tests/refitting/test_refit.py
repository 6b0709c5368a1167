"""Refitting: exact updates of leaves, synthetic samples, and plain models as the result."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import EarlyStoppingPruner, PrunedClassifier, load, prune, save
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.refitting._leaf_fit import LeafFit, fit_leaves, project_to_simplex
from secateurs.refitting._synthetic_samples import synthetic_samples

N_TRAIN, N_CHOOSE = 300, 450


@st.composite
def problems(draw):
    """Trees of a few leaves over a few rows, with a target; for classes or for numbers."""
    rng = np.random.RandomState(draw(st.integers(0, 10_000)))
    n_rows, n_trees = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    n_classes = draw(st.sampled_from([1, 2, 3]))
    n_nodes = draw(st.integers(1, 4))
    leaves = [rng.randint(n_nodes, size=n_rows) for _ in range(n_trees)]
    if n_classes == 1:
        values = [rng.normal(size=(n_nodes, 1)) for _ in range(n_trees)]
        target, allowed = rng.normal(size=(n_rows, 1)), None
    else:
        values = [rng.dirichlet(np.ones(n_classes), size=n_nodes) for _ in range(n_trees)]
        target = rng.dirichlet(np.ones(n_classes), size=n_rows)
        allowed = [np.ones(n_classes, dtype=bool)] * n_trees
    weights, prior = rng.uniform(0, 2, size=n_rows), draw(st.sampled_from([0.1, 1.0, 5.0]))
    return LeafFit(leaves, values, target, weights, prior, allowed), rng


def objective(fit, first):
    """The objective as the formula has it, row by row."""
    k = len(fit.values)
    total = 0.0
    for row in range(len(fit.target)):
        said = sum(fit.values[tree][fit.leaves[tree][row]] for tree in range(k)) / k
        total += fit.weights[row] * ((said - fit.target[row]) ** 2).sum()
    moved = sum(((now - then) ** 2).sum() for now, then in zip(fit.values, first, strict=True))
    return total + fit.prior / k**2 * moved


@given(problems())
def test_the_objective_never_rises(problem):
    fit, _ = problem
    first = [values.copy() for values in fit.values]
    before = objective(fit, first)
    for _ in range(5):
        fit.sweep()
        now = objective(fit, first)
        np.testing.assert_allclose(fit.objective, now, rtol=1e-9, atol=1e-12)
        assert now <= before + 1e-12
        before = now


@given(problems())
def test_at_the_optimum_no_single_leaf_can_improve_it(problem):
    fit, rng = problem
    first = [values.copy() for values in fit.values]
    fit_leaves(fit, 2000, tolerance=1e-12)
    best = objective(fit, first)
    for values in fit.values:
        for leaf in range(len(values)):
            kept = values[leaf].copy()
            for step in (0.3, 1e-3):
                other = kept + step * rng.normal(size=len(kept))
                values[leaf] = other if fit.allowed is None else project_to_simplex(other[None])[0]
                assert objective(fit, first) >= best - 1e-9
            values[leaf] = kept
    assert fit.allowed is None or all(
        np.allclose(values.sum(axis=1), 1) and (values >= 0).all() for values in fit.values
    )


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5), st.integers(0, 100))
def test_projections_are_nearest_distributions(point, seed):
    near = project_to_simplex(np.array([point]))[0]
    assert near.min() >= 0
    np.testing.assert_allclose(near.sum(), 1)
    others = np.random.RandomState(seed).dirichlet(np.ones(len(point)), size=20)
    assert ((others - point) ** 2).sum(axis=1).min() >= ((near - point) ** 2).sum() - 1e-9


def classifiers():
    tree = DecisionTreeClassifier()
    return {
        "forest": RandomForestClassifier(40, random_state=0),
        "extra": ExtraTreesClassifier(40, bootstrap=True, random_state=0),
        "bagged": BaggingClassifier(tree, 40, max_features=0.7, random_state=0),
        "few rows": BaggingClassifier(tree, 40, max_samples=12, random_state=0),
    }


@pytest.fixture(scope="module")
def classified():
    X, y = make_classification(2500, 12, n_informative=6, n_classes=3, random_state=0)
    return X, np.array(["ant", "bee", "cow"])[y]


@pytest.mark.parametrize("oob", [False, True])
@pytest.mark.parametrize("name", classifiers())
def test_refitted_trees_are_closer_to_the_full_ensemble(classified, name, oob):
    X, y = classified
    model = classifiers()[name].fit(X[:N_TRAIN], y[:N_TRAIN])
    before = pickle.dumps(model)
    rows = slice(0, N_TRAIN) if oob else slice(N_TRAIN, N_CHOOSE)
    given = {"pruner": EarlyStoppingPruner(keep=5), "oob": oob, "random_state": 0}
    kept = prune(model, X[rows], y[rows], **given).estimator
    pruning = prune(model, X[rows], y[rows], refit=True, **given)
    test, whole = X[N_CHOOSE:], model.predict_proba(X[N_CHOOSE:])

    def off(one):
        return ((one.predict_proba(test) - whole) ** 2).mean()

    refitted = pruning.estimator
    assert type(refitted) is type(model)
    assert off(refitted) < off(kept)
    shares = refitted.predict_proba(test)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares.min() >= 0
    assert pickle.dumps(model) == before
    assert pruning.provenance()["refitted"]
    table = pruning.summary(test, y[N_CHOOSE:])
    np.testing.assert_allclose(table.loc["log loss", "after"], log_loss(y[N_CHOOSE:], shares))


REGRESSORS = {
    "forest": RandomForestRegressor(40, random_state=0),
    "extra": ExtraTreesRegressor(40, bootstrap=True, random_state=0),
    "bagged": BaggingRegressor(DecisionTreeRegressor(), 40, max_features=0.7, random_state=0),
}


@pytest.mark.parametrize("oob", [False, True])
@pytest.mark.parametrize("name", REGRESSORS)
def test_refitted_regressors_are_closer_to_the_full_ensemble(name, oob):
    X, y = make_regression(2500, 8, noise=20, random_state=0)
    model = REGRESSORS[name].fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(0, N_TRAIN) if oob else slice(N_TRAIN, N_CHOOSE)
    given = {"pruner": EarlyStoppingPruner(keep=5), "oob": oob, "random_state": 0}
    kept = prune(model, X[rows], y[rows], **given).estimator
    refitted = prune(model, X[rows], y[rows], refit=True, **given).estimator
    test = X[N_CHOOSE:]
    off = [((one.predict(test) - model.predict(test)) ** 2).mean() for one in (kept, refitted)]
    assert off[1] < off[0]


def test_pipelines_of_mixed_types_with_missing_values_are_refitted(tmp_path):
    rng = np.random.RandomState(0)
    numbers, text = rng.normal(size=(900, 3)), rng.choice(["red", "green", "blue"], size=900)
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(colour=text)
    frame.loc[rng.rand(900) < 0.1, "b"] = np.nan
    y = (numbers[:, 0] + (text == "red") > 0.5).astype(int)
    parts = [(OneHotEncoder(), ["colour"]), ("passthrough", ["a", "b", "c"])]
    prepare = make_column_transformer(*parts)
    model = make_pipeline(prepare, RandomForestClassifier(30, random_state=0))
    model.fit(frame[:N_TRAIN], y[:N_TRAIN])
    pruning = prune(
        model,
        frame[N_TRAIN:N_CHOOSE],
        y[N_TRAIN:N_CHOOSE],
        keep=4,
        refit=True,
        X_unlabelled=frame[N_CHOOSE:600],
        random_state=0,
    )
    refitted = pruning.estimator
    assert refitted.score(frame[600:], y[600:]) > 0.8
    path = save(refitted[-1], tmp_path / "small.skops")
    prepared = refitted[:-1].transform(frame[600:])
    assert_array_equal(load(path).predict_proba(prepared), refitted.predict_proba(frame[600:]))


def test_synthetic_samples_take_values_from_near_neighbours():
    frame = pd.DataFrame({"a": [0.0, 0.1, 9.0, 9.1, 9.2], "b": list("xyzzz")})
    frame = pd.concat([frame] * 3, ignore_index=True)
    made = synthetic_samples(frame, frame[["a"]].to_numpy(), 200, np.random.RandomState(0))
    assert made.shape == (200, 2)
    assert set(made["a"]) <= set(frame["a"])
    assert set(made["b"]) <= set(frame["b"])
    # Of the two groups, far apart, no row has columns of both.
    assert ((made["a"] > 5) == (made["b"] == "z")).all()


def test_the_same_random_state_gives_the_same_leaves(classified):
    X, y = classified
    forest = RandomForestClassifier(20, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])

    def refit(seed):
        found = prune(
            forest, X[N_TRAIN:N_CHOOSE], y[N_TRAIN:N_CHOOSE], keep=4, refit=True, random_state=seed
        )
        return found.estimator.predict_proba(X[N_CHOOSE:])

    assert_array_equal(refit(1), refit(1))
    assert not np.array_equal(refit(1), refit(2))


@pytest.mark.parametrize(
    ("model", "given", "error", "told"),
    [
        (AdaBoostClassifier(n_estimators=5), {}, UnsupportedEnsembleError, "cannot be refitted"),
        (BaggingClassifier(GaussianNB(), 5), {}, UnsupportedEnsembleError, "not a decision tree"),
        (
            RandomForestClassifier(5),
            {"synthetic_ratio": -1},
            InputError,
            "synthetic_ratio=-1 is not a valid number",
        ),
    ],
)
def test_what_cannot_be_refitted_is_refused_with_the_reason(classified, model, given, error, told):
    X, y = classified
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    with pytest.raises(error, match=told):
        prune(model, X[N_TRAIN:N_CHOOSE], y[N_TRAIN:N_CHOOSE], "best", 2, refit=True, **given)


def test_a_pruned_classifier_may_be_refitted(classified):
    X, y = classified
    plain, refitted = (
        PrunedClassifier(
            RandomForestClassifier(30, random_state=0),
            EarlyStoppingPruner(keep=4),
            validation="oob",
            refit=refit,
            random_state=0,
        ).fit(X[:N_TRAIN], y[:N_TRAIN])
        for refit in (False, True)
    )
    losses = [log_loss(y[N_TRAIN:], one.predict_proba(X[N_TRAIN:])) for one in (plain, refitted)]
    assert losses[1] < losses[0]
