"""Refitting: exact updates of leaves, synthetic samples, and plain models as the result."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
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

from naive_refitting import class_weights
from secateurs import EarlyStoppingPruner, LeafRefit, PrunedClassifier, load, prune, save
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError, SecateursWarning, UnsupportedEnsembleError
from secateurs.refitting import _imitation
from secateurs.refitting._leaf_fit import LeafFit, fit_leaves
from secateurs.refitting._synthetic_samples import synthetic_samples
from secateurs.refitting.refit import RefitTask
from secateurs.refitting.teacher import LabelledSamples, implied_class_weights
from secateurs.refitting.value_limits import ValueLimits, project_to_simplex

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
        target, limits = rng.normal(size=(n_rows, 1)), None
    else:
        values = [rng.dirichlet(np.ones(n_classes), size=n_nodes) for _ in range(n_trees)]
        target = rng.dirichlet(np.ones(n_classes), size=n_rows)
        limits = [ValueLimits(np.ones(n_classes, dtype=bool))] * n_trees
    weights, prior = rng.uniform(0, 2, size=n_rows), draw(st.sampled_from([0.1, 1.0, 5.0]))
    return LeafFit(leaves, values, target, weights, prior, limits), rng


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
                values[leaf] = other if fit.limits is None else project_to_simplex(other[None])[0]
                assert objective(fit, first) >= best - 1e-9
            values[leaf] = kept
    assert fit.limits is None or all(
        np.allclose(values.sum(axis=1), 1) and (values >= 0).all() for values in fit.values
    )


def test_projections_are_between_0_and_1_without_rounding():
    above = np.nextafter(1, 2)
    points = np.array([[above, 0.0, 0.0], [above, -1e-16, 0.0], [0.5, 0.25, 0.25], [0.2, 0.3, 0.5]])
    projected = project_to_simplex(points)
    assert projected.min() >= 0
    assert projected.max() <= 1
    np.testing.assert_allclose(projected, points, atol=1e-15)


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
def test_refitted_regressors_have_smaller_errors(name, oob):
    X, y = make_regression(2500, 8, noise=20, random_state=0)
    model = REGRESSORS[name].fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(0, N_TRAIN) if oob else slice(N_TRAIN, N_CHOOSE)
    given = {"pruner": EarlyStoppingPruner(keep=5), "oob": oob, "random_state": 0}
    kept = prune(model, X[rows], y[rows], **given).estimator
    refitted = prune(model, X[rows], y[rows], refit=True, **given).estimator
    errors = [((one.predict(X[N_CHOOSE:]) - y[N_CHOOSE:]) ** 2).mean() for one in (kept, refitted)]
    assert errors[1] < errors[0]


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
    made, _ = synthetic_samples(frame, frame[["a"]].to_numpy(), 200, np.random.RandomState(0))
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
        *(
            (RandomForestClassifier(5), {"refit": LeafRefit(**{name: value})}, InputError, told)
            for name, value, told in (
                ("synthetic_ratio", -1, "synthetic_ratio=-1 is not valid"),
                ("synthetic_ratio", np.inf, "synthetic_ratio=inf is not valid"),
                ("synthetic_ratio", "many", "synthetic_ratio='many' is not valid"),
                ("n_steps", 1.5, "n_steps=1.5 is not valid. Pass a whole number"),
                ("n_sweeps", 0, "n_sweeps=0 is not valid"),
                ("shrinkage", 0, "shrinkage=0 is not valid. Pass a finite number above 0"),
                ("prior", np.nan, "prior=nan is not valid"),
            )
        ),
        (RandomForestClassifier(5), {"refit": "yes"}, InputError, "refit='yes' is not valid"),
        (
            RandomForestClassifier(5),
            {"X_unlabelled": np.ones((4, 3))},
            InputError,
            "X_unlabelled cannot be used: X has 3 features.*12 features",
        ),
        (
            RandomForestClassifier(5),
            {"X_unlabelled": np.ones((0, 12))},
            InputError,
            "X_unlabelled has no samples",
        ),
        (
            RandomForestClassifier(5),
            {"X_unlabelled": np.full((4, 12), np.inf)},
            InputError,
            "X_unlabelled cannot be used: Input X contains infinity",
        ),
        (
            RandomForestClassifier(5),
            {"X_unlabelled": 7},
            InputError,
            "X_unlabelled is of type int",
        ),
    ],
)
def test_what_cannot_be_refitted_is_refused_with_the_reason(classified, model, given, error, told):
    X, y = classified
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    with pytest.raises(error, match=told) as caught:
        prune(
            model, X[N_TRAIN:N_CHOOSE], y[N_TRAIN:N_CHOOSE], "best", 2, **{"refit": True, **given}
        )
    assert "\n" not in str(caught.value)


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


def brier(model, X, y):
    """Return the Brier score of a classifier."""
    truth = (np.asarray(y)[:, None] == model.classes_).astype(float)
    return ((model.predict_proba(X) - truth) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("oob", [False, True])
def test_the_full_ensemble_is_corrected_with_all_members(classified, oob):
    X, y = classified
    forest = RandomForestClassifier(40, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(0, N_TRAIN) if oob else slice(N_TRAIN, 900)
    pruning = prune(forest, X[rows], y[rows], keep=1.0, refit=True, oob=oob, random_state=0)
    assert len(pruning.estimator.estimators_) == 40
    assert brier(pruning.estimator, X[900:], y[900:]) < brier(forest, X[900:], y[900:])


def test_without_a_correction_the_full_ensemble_stays_as_it_is(classified):
    X, y = classified
    forest = RandomForestClassifier(40, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rng = np.random.RandomState(0)
    noise = rng.permutation(y[N_TRAIN:N_CHOOSE])  # labels without any information
    refit = LeafRefit(n_steps=0)
    found = prune(forest, X[N_TRAIN:N_CHOOSE], noise, "es", 1.0, refit=refit, random_state=0)
    assert_array_equal(found.estimator.predict_proba(X), forest.predict_proba(X))


def test_auto_refits_with_the_automatic_method_only_and_if_it_helps(classified):
    X, y = classified
    forest = RandomForestClassifier(40, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(N_TRAIN, 900)
    given = {"keep": 5, "random_state": 0}
    assert prune(forest, X[rows], y[rows], **given).provenance()["refitted"]
    assert not prune(forest, X[rows], y[rows], "joint", **given).provenance()["refitted"]
    asked = prune(forest, X[rows], y[rows], "joint", refit="auto", **given)
    assert asked.provenance()["refitted"]
    assert not prune(forest, X[rows], y[rows], refit=False, **given).provenance()["refitted"]
    # Labels without information: a forest that predicts their shares cannot be improved.
    noise = np.random.RandomState(0).permutation(y)
    forest = RandomForestClassifier(40, min_samples_leaf=100, random_state=0)
    forest.fit(X[:N_TRAIN], noise[:N_TRAIN])
    full = prune(forest, X[rows], noise[rows], "es", keep=1.0, refit="auto", random_state=0)
    assert not full.provenance()["refitted"]
    assert_array_equal(full.estimator.predict_proba(X), forest.predict_proba(X))


def test_models_that_cannot_be_refitted_are_pruned_without_it(classified):
    X, y = classified
    model = BaggingClassifier(GaussianNB(), 8, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    found = prune(model, X[N_TRAIN:N_CHOOSE], y[N_TRAIN:N_CHOOSE], keep=3, random_state=0)
    assert not found.provenance()["refitted"]


def test_the_estimated_gain_is_close_to_the_gain_on_a_test_set():
    X, y = make_classification(9000, 12, n_informative=6, n_classes=3, random_state=1)
    forest = RandomForestClassifier(60, random_state=0).fit(X[:800], y[:800])
    members = list(range(8))
    for oob, rows in ((True, slice(0, 800)), (False, slice(800, 2000))):
        samples = LabelledSamples(X[rows], y[rows], oob)
        task = RefitTask.from_input(as_ensemble(forest), members, samples, random_state=0)
        gain = task.estimate_gain()
        test = X[2000:], y[2000:]
        before = brier(as_ensemble(forest).slice(members), *test)
        after = brier(task.refitted_ensemble().slice(members), *test)
        assert gain.helps
        assert after < before
        # A sum of squares over 1,200 samples has an error of a tenth or so of the gain.
        assert abs((gain.loss_after - gain.loss_before) - (after - before)) < 0.5 * (before - after)


def test_sample_weights_move_the_leaves_towards_heavy_samples(classified):
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(N_TRAIN, 900)
    heavy = np.where(y[rows] == "ant", 20.0, 1.0)
    given = {"pruner": EarlyStoppingPruner(keep=1.0), "refit": True, "random_state": 0}
    plain = prune(forest, X[rows], y[rows], **given).estimator
    weighted = prune(forest, X[rows], y[rows], sample_weight=heavy, **given).estimator
    shares = [model.predict_proba(X[900:])[:, 0].mean() for model in (plain, weighted)]
    assert shares[1] > shares[0]


def test_class_weights_of_the_forest_are_not_undone():
    """A correction with labels as they are would move a balanced forest back to the majority."""
    X, y = make_classification(3000, 8, weights=[0.92], flip_y=0.1, random_state=0)
    forest = RandomForestClassifier(
        60, class_weight="balanced", min_samples_leaf=5, random_state=0
    ).fit(X[:800], y[:800])
    found = prune(forest, X[800:1600], y[800:1600], "es", 1.0, refit=True, random_state=0)
    recall = [model.predict(X[1600:])[y[1600:] == 1].mean() for model in (forest, found.estimator)]
    assert recall[1] > 0.8 * recall[0]


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1, 1: 12}])
@pytest.mark.parametrize("oob", [False, True])
def test_class_weights_that_hardly_change_the_predictions_do_not_change_the_leaves(
    class_weight, oob
):
    """Leaves of one class are pure with any class weights, so that predictions are not balanced."""
    X, y = make_classification(4000, 12, n_informative=5, weights=[0.92], random_state=0)
    forest = RandomForestClassifier(60, class_weight=class_weight, random_state=0)
    forest.fit(X[:800], y[:800])
    rows = slice(0, 800) if oob else slice(800, 1600)
    found = prune(forest, X[rows], y[rows], "es", 1.0, oob=oob, refit=True, random_state=0)
    assert found.provenance()["refitted"]
    test = X[1600:], y[1600:]
    models = forest, found.estimator
    before, after = (np.square(m.predict_proba(test[0])[:, 1] - test[1]).mean() for m in models)
    assert after < 1.05 * before
    before, after = (model.score(*test) for model in models)
    assert after > before - 0.01


@pytest.mark.parametrize("how", ["weighted", "resampled"])
def test_balanced_training_samples_are_not_undone(how):
    """The correction must not move a forest for balanced samples back to the majority class."""
    X, y = make_classification(
        5000, 10, n_informative=5, weights=[0.93], flip_y=0.05, random_state=1
    )
    forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=0)
    if how == "weighted":
        forest.fit(X[:1000], y[:1000], sample_weight=np.where(y[:1000] == 1, 13.0, 1.0))
    else:
        rare = np.flatnonzero(y[:1000] == 1)
        rows = np.concatenate([rare, np.flatnonzero(y[:1000] == 0)[: len(rare)]])
        forest.fit(X[rows], y[rows])
    found = prune(forest, X[1000:2000], y[1000:2000], "es", 1.0, refit=True, random_state=0)
    recall = [model.predict(X[2000:])[y[2000:] == 1].mean() for model in (forest, found.estimator)]
    assert recall[1] > recall[0] - 0.05


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 12), st.booleans())
def test_implied_class_weights_are_those_of_shares_that_predictions_do_not_move(
    seed, n_classes, n_samples, weighted
):
    rng = np.random.RandomState(seed)
    targets = np.eye(n_classes)[rng.randint(n_classes, size=n_samples)]
    predictions = rng.dirichlet(np.ones(n_classes), size=n_samples)
    weights = rng.uniform(0.2, 2, n_samples) if weighted else np.ones(n_samples)
    found = implied_class_weights(targets, predictions.reshape(-1, n_classes), weights)
    expected = class_weights(targets.tolist(), predictions.tolist(), weights.tolist(), 2000)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_implied_class_weights_are_one_for_predictions_of_the_right_shares():
    targets = np.eye(3)[np.repeat([0, 1, 2], [600, 300, 100])]
    shares = np.tile([0.6, 0.3, 0.1], (1000, 1))
    weights = implied_class_weights(targets, shares, np.ones(1000))
    np.testing.assert_allclose(weights, 1.0, atol=0.02)
    np.testing.assert_allclose(implied_class_weights(targets, targets, np.ones(1000)), 1.0)


@pytest.mark.parametrize("oob", [False, True])
def test_sparse_samples_are_refitted(oob):
    rng = np.random.RandomState(0)
    X = sparse.random(1500, 40, density=0.1, random_state=rng, format="csr")
    y = (np.asarray(X[:, :6].sum(axis=1)).ravel() + 0.1 * rng.rand(1500) > 0.4).astype(int)
    forest = RandomForestClassifier(30, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(0, N_TRAIN) if oob else slice(N_TRAIN, 600)
    given = {"pruner": EarlyStoppingPruner(keep=4), "oob": oob, "random_state": 0}
    kept = prune(forest, X[rows], y[rows], **given).estimator
    for unlabelled in (None, X[600:900]):
        refitted = prune(
            forest, X[rows], y[rows], refit=True, X_unlabelled=unlabelled, **given
        ).estimator
        assert brier(refitted, X[900:], y[900:]) < brier(kept, X[900:], y[900:])


def test_sparse_synthetic_samples_take_each_entry_from_one_of_two_samples():
    X = sparse.random(60, 10, density=0.3, random_state=0, format="csr")
    made, first = synthetic_samples(X, X, 300, np.random.RandomState(0))
    dense = X.toarray()
    for row, source in zip(made.toarray(), first, strict=True):
        # Some sample of the others provides all the values that the first one does not.
        other = np.where(row == dense[source], np.nan, row)
        matches = (dense == other) | np.isnan(other)
        assert matches.all(axis=1).any()


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_only_some_of_very_many_samples_are_imitated(classified, monkeypatch, kind):
    X, y = classified
    monkeypatch.setattr(_imitation, "_MOST_SAMPLES", 60)
    ensemble = as_ensemble(RandomForestClassifier(8, random_state=0).fit(np.asarray(X), y))
    task = RefitTask.from_input(
        ensemble, [0, 3], LabelledSamples(kind(X), y), kind(X), random_state=0
    )
    assert task.samples.labelled.leaves.shape == (8, len(y))  # all labels correct the ensemble
    # 60 of the labelled and 60 of the unlabelled samples, and 30 synthetic samples of each.
    assert task.samples.leaves.shape == (8, 180)
    sources = task.samples.sources
    assert len(set(sources[:60])) == 60
    expected = ensemble.members[3].apply(np.asarray(X, dtype=np.float32)[sources[:60]])
    assert_array_equal(task.samples.leaves[3, :60], expected)
    assert len(task.values) == 2


def test_many_features_limit_the_synthetic_samples_only(classified, monkeypatch):
    X, y = classified
    monkeypatch.setattr(_imitation, "_MOST_VALUES", 12 * 500)
    ensemble = as_ensemble(RandomForestClassifier(8, random_state=0).fit(X, y))
    task = RefitTask.from_input(ensemble, [0, 3], LabelledSamples(X, y), random_state=0)
    assert task.samples.leaves.shape == (8, len(y) + 500)


def test_polars_frames_with_a_column_transformer_are_refitted():
    polars = pytest.importorskip("polars")
    rng = np.random.RandomState(0)
    numbers, text = rng.normal(size=(900, 3)), rng.choice(["red", "green", "blue"], size=900)
    frame = polars.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "colour": text})
    y = (numbers[:, 0] + (text == "red") > 0.5).astype(int)
    prepare = make_column_transformer(
        (OneHotEncoder(), ["colour"]), ("passthrough", ["a", "b"]), sparse_threshold=0
    )
    model = make_pipeline(prepare, RandomForestClassifier(30, random_state=0))
    model.fit(frame[:N_TRAIN], y[:N_TRAIN])
    found = prune(model, frame[N_TRAIN:600], y[N_TRAIN:600], "es", 4, refit=True, random_state=0)
    assert found.estimator.score(frame[600:], y[600:]) > 0.8


def test_labels_that_the_ensemble_does_not_know_are_left_out(classified):
    X, y = classified
    forest = RandomForestClassifier(20, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    labels = y[N_TRAIN:900].astype(object).copy()
    labels[::10] = "dog"
    with pytest.warns(SecateursWarning, match="dog"):
        found = prune(forest, X[N_TRAIN:900], labels, "es", 4, refit="auto", random_state=0)
    known = labels != "dog"
    samples = LabelledSamples(X[N_TRAIN:900], labels.astype(str))
    task = RefitTask.from_input(as_ensemble(forest), [0, 1, 2, 3], samples, random_state=0)
    assert_array_equal(task.indices, np.flatnonzero(known))
    assert found.estimator.classes_.tolist() == ["ant", "bee", "cow"]


def test_summaries_and_reports_work_after_refitting_without_samples(classified, tmp_path):
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    given = {"refit": True, "random_state": 0}
    for size in ({"keep": 5}, {"max_nodes": 300}):
        pruning = prune(forest, X[N_TRAIN:600], y[N_TRAIN:600], "joint", **given, **size)
        assert pruning.summary().loc["members", "after"] == len(pruning.member_indices)
        assert pruning.report(tmp_path / "page.html", force=True).stat().st_size > 1000


def test_the_old_parameter_of_the_ratio_works_with_a_warning(classified):
    X, y = classified
    forest = RandomForestClassifier(20, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(N_TRAIN, N_CHOOSE)
    given = {"keep": 4, "random_state": 0}
    with pytest.warns(FutureWarning, match=r"LeafRefit\(synthetic_ratio"):
        old = prune(forest, X[rows], y[rows], "es", refit=True, synthetic_ratio=3, **given)
    new = prune(forest, X[rows], y[rows], "es", refit=LeafRefit(synthetic_ratio=3), **given)
    assert_array_equal(old.estimator.predict_proba(X), new.estimator.predict_proba(X))


def test_the_estimate_uses_the_folds_that_are_given(classified):
    X, y = classified
    model = RandomForestClassifier(12, max_depth=4, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    rows = slice(N_TRAIN, N_CHOOSE)
    samples = LabelledSamples(X[rows], y[rows])
    task = RefitTask.from_input(as_ensemble(model), [0, 3, 5], samples, None, LeafRefit(1), 0)
    n_samples = len(y[rows])
    seen = []

    def select(training):
        seen.append(training)
        return [0, 3, 5]

    halves = np.arange(n_samples) % 2 == 0
    folds = [(np.flatnonzero(halves), np.flatnonzero(~halves))]
    gain = task.estimate_gain(select, folds)
    assert [one.tolist() for one in seen] == [np.flatnonzero(halves).tolist()]
    scored = X[rows][~halves]
    trees = [model.estimators_[member].predict_proba(scored) for member in (0, 3, 5)]
    truth = (y[rows][~halves][:, None] == model.classes_).astype(float)
    expected = np.square(np.mean(trees, axis=0) - truth).sum(axis=1).mean()
    assert gain.loss_before == pytest.approx(expected, rel=1e-5)
