"""Weights of kept members: what is served is their weighted mean, whatever the ensemble."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import (
    EnsembleSelection,
    LeafRefit,
    PrunedClassifier,
    PrunedRegressor,
    compare,
    prune,
)
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.pruners.member_weights import fit_member_weights

X, CODES = make_classification(
    500, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.2, random_state=2
)
Y = np.array(["ant", "bee", "wasp"])[CODES]
NUMBERS = make_regression(500, 6, noise=20.0, random_state=0)[1] + X[:, 0] * 50
FIT, CHOOSE, TEST = slice(0, 150), slice(150, 350), slice(350, 500)

TREE = DecisionTreeClassifier(max_depth=5, random_state=0)
LINE = LogisticRegression()
SIX = [(f"tree {d}", DecisionTreeClassifier(max_depth=d, random_state=d)) for d in range(1, 7)]
CLASSIFIERS = {
    "forest": RandomForestClassifier(12, max_depth=4, random_state=0),
    "extra trees": ExtraTreesClassifier(12, max_depth=5, random_state=0),
    "bagged trees": BaggingClassifier(TREE, 10, random_state=0),
    "bagged trees, half the features": BaggingClassifier(
        TREE, 10, max_features=0.5, random_state=0
    ),
    "bagged trees, classes not seen": BaggingClassifier(
        TREE, 10, max_samples=4, bootstrap=False, random_state=1
    ),
    "bagged lines": BaggingClassifier(LINE, 8, max_features=0.5, random_state=0),
    "bagged neighbours, classes not seen": BaggingClassifier(
        KNeighborsClassifier(2), 10, max_samples=4, random_state=1
    ),
    "soft voting": VotingClassifier([*SIX, ("line", LINE)], voting="soft"),
    "soft voting, weights": VotingClassifier(SIX, voting="soft", weights=[1, 2, 1, 3, 1, 1]),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(9, random_state=0)),
}
LABELLERS = {
    "hard voting": VotingClassifier([*SIX, ("line", LINE)]),
    "hard voting, weights": VotingClassifier(SIX, weights=[1, 2, 1, 3, 1, 1]),
    "bagged margins": BaggingClassifier(LinearSVC(), 8, max_features=0.7, random_state=0),
    "boosting": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=9),
}
LEAVES = DecisionTreeRegressor(max_depth=5, random_state=0)
REGRESSORS = {
    "forest": RandomForestRegressor(12, max_depth=4, random_state=0),
    "extra trees": ExtraTreesRegressor(12, max_depth=5, random_state=0),
    "bagged trees": BaggingRegressor(LEAVES, 10, max_features=0.5, random_state=0),
    "bagged lines": BaggingRegressor(Ridge(), 8, max_features=0.5, random_state=0),
    "voting": VotingRegressor([("a", LEAVES), ("b", Ridge(9.0)), ("c", Ridge(900.0))]),
}
WAYS = {
    "own": {"pruner": "caruana", "keep": 5},
    "found": {"pruner": "best", "keep": 4, "weights": True},
    "several runs": {"pruner": EnsembleSelection(n_bags=7, random_state=0)},
}
every_way = pytest.mark.parametrize("way", WAYS)


def parts(model):
    """The ensemble in a pipeline, and rows as they arrive there."""
    if hasattr(model, "steps"):
        return model[-1], model[:-1].transform(X)
    return model, X


def answers(model, ask):
    """Yield each member and its predictions on the test set."""
    ensemble, rows = parts(model)
    views = getattr(ensemble, "estimators_features_", [slice(None)] * len(ensemble.estimators_))
    for member, view in zip(ensemble.estimators_, views):
        yield member, getattr(member, ask)(rows[TEST][:, view])


def own_weights(model):
    ensemble, _ = parts(model)
    known = getattr(ensemble, "estimator_weights_", getattr(ensemble, "weights", None))
    return np.ones(len(ensemble.estimators_)) if known is None else np.asarray(known, dtype=float)


def total_weights(model, pruning):
    """Weights of all members in what is served: 0 for those not kept."""
    weights = np.zeros(len(own_weights(model)))
    weights[pruning.member_indices] = pruning.weights
    assert np.isclose(weights.sum(), 1)
    return weights * own_weights(model) / (weights * own_weights(model)).sum()


@every_way
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_are_the_weighted_mean_of_the_members(name, way):
    model = clone(CLASSIFIERS[name]).fit(X[FIT], Y[FIT])
    before = pickle.dumps(model)
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], random_state=0, **WAYS[way])
    assert pickle.dumps(model) == before
    expected = np.zeros((150, 3))
    for weight, (member, shares) in zip(
        total_weights(model, pruning), answers(model, "predict_proba")
    ):
        expected[:, member.classes_.astype(int)] += weight * shares
    served = pruning.estimator
    assert type(served) is type(model)
    np.testing.assert_allclose(served.predict_proba(X[TEST]), expected, atol=1e-12)
    best = expected > expected.max(axis=1, keepdims=True) - 1e-9
    if way == "own":  # weights are small fractions: ties are ties, and go to the lowest class
        np.testing.assert_array_equal(served.predict(X[TEST]), served.classes_[best.argmax(axis=1)])
    again = pickle.loads(pickle.dumps(served))
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), served.predict_proba(X[TEST]))
    clone(served).fit(X[FIT], Y[FIT])
    assert pruning.provenance()["weights"] == pruning.weights.tolist()


@every_way
@pytest.mark.parametrize("name", LABELLERS)
def test_labels_win_by_the_sum_of_weights(name, way):
    model = clone(LABELLERS[name]).fit(X[FIT], Y[FIT])
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], random_state=0, **WAYS[way])
    tally = np.zeros((150, 3))
    for weight, (_, labels) in zip(total_weights(model, pruning), answers(model, "predict")):
        codes = np.searchsorted(model.classes_, labels) if name == "boosting" else labels
        tally[np.arange(150), codes.astype(int)] += weight
    best = (tally > tally.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    np.testing.assert_array_equal(pruning.estimator.predict(X[TEST]), model.classes_[best])


@every_way
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_the_weighted_mean(name, way):
    model = clone(REGRESSORS[name]).fit(X[FIT], NUMBERS[FIT])
    given = WAYS[way] | ({"keep": 2} if name == "voting" else {})
    pruning = prune(model, X[CHOOSE], NUMBERS[CHOOSE], random_state=0, **given)
    expected = sum(
        weight * numbers
        for weight, (_, numbers) in zip(total_weights(model, pruning), answers(model, "predict"))
    )
    assert type(pruning.estimator) is type(model)
    np.testing.assert_allclose(pruning.estimator.predict(X[TEST]), expected)


@pytest.mark.parametrize("are_whole", [True, False])
def test_no_probability_is_above_one(are_whole):
    forest = RandomForestClassifier(25, max_depth=2, random_state=0).fit(X[FIT], CODES[FIT] == 0)
    for tree in forest.estimators_:
        tree.tree_.value[:] = [[1.0, 0.0]]  # all agree
    rng = np.random.default_rng(0)
    for _ in range(100):
        weights = rng.integers(1, 5, 25).astype(float) if are_whole else rng.random(25)
        served = as_ensemble(forest).with_member_weights(weights / weights.sum()).slice(range(25))
        shares = served.predict_proba(X[:2])
        assert shares.max() <= 1
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["forest", "bagged trees", "bagged lines", "soft voting"])
def test_weights_can_be_left_out(name):
    model = clone(CLASSIFIERS[name]).fit(X[FIT], Y[FIT])
    given = {"pruner": "caruana", "keep": 4, "random_state": 0}
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], weights=False, **given)
    kept = np.sort(pruning.member_indices)
    assert pruning.weights is None
    assert pruning.provenance()["weights"] is None
    shares = [shares for _, shares in answers(model, "predict_proba")]
    expected = np.mean([shares[member] for member in kept], axis=0)
    np.testing.assert_allclose(pruning.estimator.predict_proba(X[TEST]), expected)
    assert pruning.estimator.estimators_[0] is model.estimators_[kept[0]]


def test_a_weighted_forest_is_pruned_again_as_its_trees_were_trained():
    for models, y in ((CLASSIFIERS, Y), (REGRESSORS, NUMBERS)):
        for name in ("forest", "bagged trees"):
            model = clone(models[name]).fit(X[FIT], y[FIT])
            first = prune(model, X[CHOOSE], y[CHOOSE], "caruana", keep=5)
            second = prune(first.estimator, X[CHOOSE], y[CHOOSE], "best", keep=3)
            old = np.sort(first.member_indices)[np.sort(second.member_indices)]
            weights = total_weights(model, first)[old]
            ask = "predict" if y is NUMBERS else "predict_proba"
            said = [said for _, said in answers(model, ask)]
            expected = np.average([said[m] for m in old], axis=0, weights=weights)
            np.testing.assert_allclose(getattr(second.estimator, ask)(X[TEST]), expected)
            cut = first.estimator
            cut.estimators_ = cut.estimators_[:2]
            with pytest.raises(InputError, match="has 2 members but 5 member weights"):
                prune(cut, X[CHOOSE], y[CHOOSE], "best", keep=1)


def test_pruned_estimators_serve_the_weights_of_their_method():
    forest = RandomForestClassifier(15, max_depth=4, random_state=0)
    given = {"estimator": forest, "pruner": EnsembleSelection(keep=4), "random_state": 0}
    pruned = PrunedClassifier(**given).fit(X[FIT], Y[FIT])
    weights, trees = np.zeros(15), pruned.pruning_.ensemble.members
    weights[pruned.pruning_.member_indices] = pruned.pruning_.weights
    expected = sum(w * tree.predict_proba(X[TEST]) for w, tree in zip(weights, trees))
    np.testing.assert_allclose(pruned.predict_proba(X[TEST]), expected)
    plain = clone(pruned).set_params(weights=False).fit(X[FIT], Y[FIT])
    assert plain.pruning_.weights is None
    found = PrunedRegressor(RandomForestRegressor(9), "best", weights=True, random_state=0)
    assert found.fit(X[FIT], NUMBERS[FIT]).pruning_.weights is not None


def naive_weights(shares, truth):
    """Add each member once, then the one with the least Brier score again, and keep the best."""
    n_members = shares.shape[1]
    losses, chosen = [], list(range(n_members))

    def loss(members):
        off = shares[:, members].mean(axis=1)
        off[np.arange(len(truth)), truth] -= 1
        return (off**2).sum() / len(truth)

    while len(chosen) < 5 * n_members:
        losses.append(loss(chosen))
        tried = [loss([*chosen, member]) for member in range(n_members)]
        chosen.append(int(np.flatnonzero(np.array(tried) < min(tried) + 1e-12)[0]))
    losses.append(loss(chosen))
    best = int(np.flatnonzero(np.array(losses) < min(losses) + 1e-12)[0])
    return np.bincount(chosen[: n_members + best], minlength=n_members) / (n_members + best)


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_found_as_in_ensemble_selection(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 60)
    shares = rng.dirichlet([1, 1, 1], (60, 5))
    shares[np.arange(60), :3, truth] += 0.4
    shares = np.round(shares / shares.sum(axis=2, keepdims=True) * 2**14) / 2**14
    shares[:, :, 2] = 1 - shares[:, :, :2].sum(axis=2)
    found = fit_member_weights(
        Predictions.encode(shares, truth), range(5), Scoring.from_scorer(None, [0, 1, 2])
    )
    np.testing.assert_allclose(found, naive_weights(shares, truth))
    labels = shares.argmax(axis=2)
    found = fit_member_weights(
        Votes.encode(labels, truth), range(5), Scoring.from_scorer(None, [0, 1, 2])
    )
    np.testing.assert_allclose(found, naive_weights(np.eye(3)[labels], truth))


def test_weights_of_regressors_are_in_the_order_of_the_members():
    predictions = Predictions.encode([[1.0, 3.0, 9.0], [2.0, 4.0, 9.0]], [1.5, 2.5])
    weights = fit_member_weights(predictions, [1, 0], Scoring.from_scorer("r2"))
    assert weights.tolist() == [0.25, 0.75]


def test_found_weights_help_on_the_rows_they_are_found_on_and_none_is_lost():
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[FIT], Y[FIT])
    given = {"pruner": "best", "keep": 8, "scoring": "neg_log_loss"}
    plain, weighted = (
        prune(forest, X[CHOOSE], Y[CHOOSE], weights=weights, **given) for weights in (None, True)
    )
    assert plain.member_indices.tolist() == weighted.member_indices.tolist()
    losses = [
        log_loss(Y[CHOOSE], one.estimator.predict_proba(X[CHOOSE])) for one in (weighted, plain)
    ]
    assert losses[0] < losses[1]
    assert (weighted.weights > 0).all()
    assert all(one > 0 for pair in pairwise(sorted(weighted.weights)) for one in pair)


def test_figures_are_of_the_weighted_vote():
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[FIT], Y[FIT])
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "caruana", keep=4)
    table = pruning.summary(X[TEST], Y[TEST])
    loss = log_loss(Y[TEST], pruning.estimator.predict_proba(X[TEST]))
    np.testing.assert_allclose(table.loc["log loss", "after"], loss)
    assert table.loc["accuracy", "after"] == pruning.estimator.score(X[TEST], Y[TEST])


@pytest.mark.parametrize("kind", ["labels", "shares", "numbers"])
def test_figures_of_predictions_are_of_the_weighted_vote(kind):
    model = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X[FIT], CODES[FIT])
    ask, y = ("predict_proba" if kind == "shares" else "predict"), CODES
    if kind == "numbers":
        model, y = RandomForestRegressor(12, max_depth=3).fit(X[FIT], NUMBERS[FIT]), NUMBERS
    said = np.stack([getattr(tree, ask)(X) for tree in model.estimators_], axis=1)
    said = said.astype(int) if kind == "labels" else said
    pruning = prune(said[CHOOSE], y=y[CHOOSE], pruner="caruana", keep=4)
    table = pruning.summary(said[TEST], y[TEST])
    kept = pruning.member_indices
    if kind == "numbers":
        mean = np.average(said[TEST][:, kept], axis=1, weights=pruning.weights)
        expected = np.sqrt(np.mean((mean - y[TEST]) ** 2))
        found = table.loc["root mean squared error", "after"]
    else:
        hot = np.eye(3)[said] if kind == "labels" else said
        mean = np.average(hot[TEST][:, kept], axis=1, weights=pruning.weights)
        best = (mean > mean.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
        expected, found = np.mean(best == y[TEST]), table.loc["accuracy", "after"]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_senseless_weights_are_refused():
    forest = RandomForestClassifier(5, random_state=0).fit(X[FIT], Y[FIT])
    with pytest.raises(InputError, match=r"weights='auto' is not valid\. Pass True, False or None"):
        prune(forest, X[CHOOSE], Y[CHOOSE], "best", weights="auto")
    with pytest.raises(InputError, match="weights=True and refit=True exclude each other"):
        prune(forest, X[CHOOSE], Y[CHOOSE], "best", weights=True, refit=True)


def test_refitted_leaves_take_the_place_of_weights():
    forest = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X[FIT], Y[FIT])
    given = {"pruner": "caruana", "keep": 4, "refit": LeafRefit(2), "random_state": 0}
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], **given)
    assert pruning.weights is None
    shares = pruning.estimator.predict_proba(X[TEST])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    expected = np.mean(
        [tree.predict_proba(X[TEST]) for tree in pruning.estimator.estimators_], axis=0
    )
    np.testing.assert_allclose(shares, expected)


def test_rounds_of_a_boosted_model_have_no_weights():
    model = GradientBoostingClassifier(n_estimators=5).fit(X[FIT], Y[FIT])
    with pytest.raises(InputError, match="weights=True does not apply to the rounds of a boosted"):
        prune(model, X[CHOOSE], Y[CHOOSE], keep=2, weights=True)


def test_comparisons_judge_the_weighted_vote():
    forest = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X[FIT], Y[FIT])
    found = compare(
        forest,
        *(X[CHOOSE], Y[CHOOSE], ["caruana"]),
        keep=[3, 6],
        X_test=X[TEST],
        y_test=Y[TEST],
        scoring="neg_log_loss",
    )
    name = "caruana scoring=neg_log_loss"
    for keep in (3, 6):
        pruning = found.pruning(name, keep)
        board = found.leaderboard().set_index(["method", "keep"])
        loss = log_loss(Y[TEST], pruning.estimator.predict_proba(X[TEST]))
        assert pruning.weights is not None
        np.testing.assert_allclose(-board.loc[(name, keep), "neg_log_loss"], loss, rtol=1e-3)
        assert board.loc[(name, keep), "bytes"] == len(pickle.dumps(pruning.estimator))


@pytest.mark.parametrize("name", ["forest", "bagged lines"])
def test_a_budget_of_bytes_is_of_what_is_served(name):
    model = clone(CLASSIFIERS[name]).fit(X[FIT], Y[FIT])
    limit = len(pickle.dumps(model)) // 2
    given = {"pruner": "caruana", "scoring": "neg_log_loss", "max_bytes": limit}
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], random_state=0, **given)
    assert len(pickle.dumps(pruning.estimator)) <= limit


def test_the_notebook_shows_weights():
    forest = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X[FIT], Y[FIT])
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "caruana", keep=3, scoring="neg_log_loss")
    shown = pruning._repr_html_()
    assert all(f"({weight:.3g})" in shown for weight in pruning.weights)
    labels = np.stack([tree.predict(X[CHOOSE]) for tree in forest.estimators_], axis=1)
    hot = np.eye(3)[labels[:, pruning.member_indices].astype(int)]
    tally = np.einsum("nmc,m->nc", hot, pruning.weights)
    best = (tally > tally.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    assert f"{np.mean(best == CODES[CHOOSE]):.4f}" in shown
