"""Pruned branches: the exact optimum of one tree, budgets, and plain trees as the result."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import roc_auc_score
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    export_text,
)

from naive_refitting import leaf_below, paths, prunings
from secateurs import export, load, prune, save
from secateurs.ensembles.decision_trees import with_pruned_branches
from secateurs.exceptions import (
    BudgetError,
    InputError,
    SecateursWarning,
    UnsupportedEnsembleError,
)
from secateurs.problem import Problem
from secateurs.pruning.size_limits import StepLatency
from secateurs.refitting._imitation import Imitation
from secateurs.refitting.branches import BranchLimits, BranchPruner, prune_branches
from secateurs.refitting.refit import RefitTask
from secateurs.refitting.teacher import LabelledSamples
from secateurs.refitting.value_limits import ValueLimits, project_to_simplex


@st.composite
def tiny(draw, n_trees=None):
    """Draw trees of a few leaves, and samples with a target."""
    rng = np.random.RandomState(draw(st.integers(0, 10_000)))
    n_trees = n_trees or draw(st.integers(1, 3))
    n_outputs = draw(st.sampled_from([1, 2, 3]))
    n_samples = draw(st.integers(2, 15))
    X = rng.normal(size=(40, 3))
    trees = [
        DecisionTreeRegressor(max_leaf_nodes=draw(st.integers(2, 5)), random_state=i)
        .fit(X, rng.normal(size=40))
        .tree_
        for i in range(n_trees)
    ]
    Z = rng.normal(size=(n_samples, 3)).astype(np.float32)
    leaves = np.array([tree.apply(Z) for tree in trees], dtype=np.int32)
    if n_outputs == 1:
        target = rng.normal(size=(n_samples, 1))
        start = [rng.normal(size=(tree.node_count, 1)) for tree in trees]
        limits = [ValueLimits()] * n_trees
    else:
        target = rng.dirichlet(np.ones(n_outputs), size=n_samples)
        start = [rng.dirichlet(np.ones(n_outputs), size=tree.node_count) for tree in trees]
        limits = [ValueLimits(np.ones(n_outputs, dtype=bool))] * n_trees
    weights = rng.uniform(0.1, 2, n_samples)
    return trees, Imitation(leaves, target, weights, start, limits)


def cost_of(tree, imitation, split, prior, price):
    """Return the smallest objective of a pruning of a single tree, leaf by leaf."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    way = paths(left, right)
    groups = {}
    for sample, leaf in enumerate(imitation.leaves[0]):
        groups.setdefault(leaf_below(split, way[leaf]), []).append(sample)
    ends = {leaf_below(split, way[n]) for n in range(len(left)) if left[n] < 0}
    total = price * len(split)
    for end in ends:
        inside = groups.get(end, [])
        start = imitation.start[0][end]
        weight = sum(imitation.weights[i] for i in inside) + prior
        wanted = sum((imitation.weights[i] * imitation.target[i] for i in inside), prior * start)
        value = wanted / weight
        if imitation.limits[0].classes is not None:
            value = project_to_simplex(value[None])[0]
        for i in inside:
            total += imitation.weights[i] * ((imitation.target[i] - value) ** 2).sum()
        total += prior * ((value - start) ** 2).sum()
    return total


@given(tiny(n_trees=1), st.sampled_from([0.0, 0.05, 0.5]), st.sampled_from([0.3, 1.0]))
def test_one_tree_gets_the_best_of_all_prunings(problem, price, prior):
    (tree,), imitation = problem
    pruner = BranchPruner([tree], imitation, prior)
    pruner.sweep(price)
    every = prunings(tree.children_left.tolist(), tree.children_right.tolist())
    best = min(cost_of(tree, imitation, split, prior, price) for split in every)
    np.testing.assert_allclose(pruner.objective(price), best, rtol=1e-9, atol=1e-9)


@given(tiny(), st.sampled_from([0.0, 0.05, 0.5]), st.sampled_from(["nodes", "steps"]))
def test_the_objective_never_rises_at_one_price(problem, price, by):
    trees, imitation = problem
    pruner = BranchPruner(trees, imitation, 1.0, by)
    before = pruner.objective(price)
    for _ in range(4):
        pruner.sweep(price)
        now = pruner.objective(price)
        assert now <= before + 1e-9
        before = now


@given(tiny(), st.integers(1, 12))
@settings(max_examples=50)
def test_budgets_are_met_and_folded_trees_predict_the_same(problem, max_nodes):
    trees, imitation = problem
    pruner = BranchPruner(trees, imitation, 1.0)
    pruner.fit_budget(max_nodes)
    assert pruner.n_nodes <= max_nodes
    mean = np.mean(
        [t.values[leaves] for t, leaves in zip(pruner.trees, imitation.leaves, strict=True)], axis=0
    )
    folded = pruner.folded_trees()
    after = np.mean([t.values[imitation.leaves[i]] for i, t in folded.items()], axis=0)
    np.testing.assert_allclose(mean, after, atol=1e-12)
    assert all(tree.n_nodes > 1 for tree in folded.values()) or len(folded) == 1


@given(tiny(), st.floats(0, 6))
@settings(max_examples=50)
def test_steps_are_the_mean_length_of_the_paths_and_stay_within_a_limit(problem, max_steps):
    trees, imitation = problem
    pruner = BranchPruner(trees, imitation, 1.0, "steps")
    pruner.fit_budget(np.inf, max(max_steps, 1e-9))
    lengths = 0.0
    for tree, pruned, leaves in zip(trees, pruner.trees, imitation.leaves, strict=True):
        way = paths(tree.children_left.tolist(), tree.children_right.tolist())
        split = {node for node in range(tree.node_count) if pruned.is_split[node]}
        lengths += np.mean([way[leaf].index(leaf_below(split, way[leaf])) for leaf in leaves])
    np.testing.assert_allclose(pruner.n_steps, lengths, atol=1e-12)
    assert pruner.n_steps <= max_steps + 1e-8


def test_the_time_of_steps_is_what_whole_trees_take_longer_than_leaves():
    # 2 ms for the model, 0.5 ms for each tree, 0.01 ms for each of 300 steps.
    latency = StepLatency.from_timings(10, 300.0, [2.5e-3, 7e-3, 10e-3])
    assert latency.max_steps(10) == pytest.approx(300)
    assert latency.max_steps(12) == pytest.approx(200)
    assert latency.max_steps(17) == 0
    same = StepLatency.from_timings(10, 300.0, [2.5e-3, 7e-3, 7.1e-3])  # steps take no time
    assert same.max_steps(10) == np.inf
    assert same.max_steps(11) == 0
    assert StepLatency.from_timings(1, 9.0, [2e-3, 2e-3, 3e-3]).max_steps(2) == 0


def test_a_limit_of_latency_allows_more_trees_with_fewer_steps(classified):
    X, y = classified
    forest = RandomForestClassifier(40, random_state=0).fit(X[:400], y[:400])
    ensemble = Problem.from_input(forest, X[400:700], y[400:700]).ensemble
    samples = LabelledSamples(X[400:700], y[400:700])
    task = RefitTask.from_input(ensemble, range(10), samples, random_state=0)
    latency = StepLatency.from_timings(10, 60.0, [1e-3, 1.9e-3, 7e-3])  # steps dominate
    limits = BranchLimits(lambda n_trees: np.inf, latency.max_steps, [20])
    pruned = prune_branches(task, range(40), limits)
    model = pruned.apply_to(ensemble).as_predictor(pruned.members)
    inputs = ensemble.prepare_input(X[400:700])
    n_steps = sum((tree.decision_path(inputs).sum(axis=1) - 1).mean() for tree in model)
    assert len(model) > 10
    assert n_steps <= 1.1 * latency.max_steps(20)  # synthetic samples differ a little


@given(st.integers(0, 1000))
@settings(max_examples=30)
def test_rebuilt_trees_follow_the_splits_that_stay(seed):
    rng = np.random.RandomState(seed)
    X, y = rng.normal(size=(120, 4)), rng.randint(3, size=120)
    X[rng.rand(*X.shape) < 0.1] = np.nan
    tree = DecisionTreeClassifier(random_state=seed).fit(X, y)
    nodes = tree.tree_
    is_split = (nodes.children_left >= 0) & (rng.rand(nodes.node_count) < 0.8)
    values = rng.dirichlet(np.ones(3), size=nodes.node_count)
    pruned = with_pruned_branches(tree, is_split, values)
    way = paths(nodes.children_left.tolist(), nodes.children_right.tolist())
    split = set(np.flatnonzero(is_split).tolist())
    reached = tree.apply(X.astype(np.float32))
    wanted = [values[leaf_below(split, way[leaf])] for leaf in reached]
    np.testing.assert_array_equal(pruned.predict_proba(X), wanted)
    assert pruned.get_n_leaves() == (pruned.tree_.node_count + 1) // 2
    kept = paths(pruned.tree_.children_left.tolist(), pruned.tree_.children_right.tolist())
    assert pruned.get_depth() == max(map(len, kept.values())) - 1
    known = X[~np.isnan(X).any(axis=1)]  # scikit-learn 1.6 ignores missing values in decision_path
    reached = pruned.apply(known.astype(np.float32))
    steps = np.asarray(pruned.decision_path(known).sum(axis=1)).ravel()
    np.testing.assert_array_equal(steps, [len(kept[leaf]) for leaf in reached])
    assert export_text(pruned)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pruned)).predict_proba(X), wanted)


@pytest.fixture(scope="module")
def classified():
    X, y = make_classification(2500, 12, n_informative=6, n_classes=3, random_state=0)
    return X, np.array(["ant", "bee", "cow"])[y]


MODELS = {
    "forest": RandomForestClassifier(60, random_state=0),
    "extra": ExtraTreesClassifier(60, bootstrap=True, random_state=0),
    "bagged": BaggingClassifier(DecisionTreeClassifier(), 60, max_features=0.7, random_state=0),
    "few samples": BaggingClassifier(DecisionTreeClassifier(), 60, max_samples=9, random_state=0),
}


@pytest.mark.parametrize("oob", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_branches_meet_a_number_of_nodes_with_a_plain_model(classified, name, oob):
    X, y = classified
    model = MODELS[name].fit(X[:400], y[:400])
    before = pickle.dumps(model)
    samples = slice(0, 400) if oob else slice(400, 700)
    total = sum(tree.tree_.node_count for tree in model.estimators_)
    given = {"oob": oob, "random_state": 0, "refit": True, "max_nodes": int(0.1 * total)}
    pruning = prune(model, X[samples], y[samples], "joint", branches=True, **given)
    found = pruning.estimator
    assert type(found) is type(model)
    assert sum(tree.tree_.node_count for tree in found.estimators_) <= 0.1 * total
    assert len(found.estimators_) == len(pruning.member_indices)
    shares = found.predict_proba(X[700:])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares.min() >= 0
    assert pickle.dumps(model) == before
    assert pruning.provenance()["refitted"]


def test_branches_predict_better_than_fewer_trees_at_the_same_size(classified):
    X, y = classified
    forest = RandomForestClassifier(100, random_state=0).fit(X[:800], y[:800])
    limit = 0.03 * len(pickle.dumps(forest))
    given = {"oob": True, "random_state": 0, "max_bytes": limit}
    whole = prune(forest, X[:800], y[:800], branches=False, refit=True, **given).estimator
    pruned = prune(forest, X[:800], y[:800], branches=True, refit=True, **given).estimator
    assert len(pickle.dumps(pruned)) <= limit
    assert len(pickle.dumps(whole)) <= limit
    assert len(pruned.estimators_) > len(whole.estimators_)
    assert pruned.score(X[800:], y[800:]) > whole.score(X[800:], y[800:])


def test_regressors_and_files_of_pruned_branches(tmp_path):
    X, y = make_regression(1500, 8, noise=20, random_state=0)
    forest = RandomForestRegressor(60, random_state=0).fit(X[:500], y[:500])
    pruning = prune(forest, X[500:800], y[500:800], max_nodes=2000, random_state=0)
    small = pruning.estimator
    assert sum(tree.tree_.node_count for tree in small.estimators_) <= 2000
    for name in ("safe.skops", "small.joblib"):
        path = pruning.save(tmp_path / name, slim=True)
        again = load(path, trust=None if name.endswith("skops") else "pickle")
        np.testing.assert_array_equal(again.predict(X), small.predict(X))


@pytest.mark.parametrize("suffix", [".onnx", ".treelite"])
@pytest.mark.parametrize("is_slim", [False, True])
def test_pruned_branches_can_be_exported(classified, tmp_path, suffix, is_slim):
    pytest.importorskip({".onnx": "onnxruntime", ".treelite": "treelite"}[suffix])
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:400], y[:400])
    pruning = prune(forest, X[400:700], y[400:700], max_nodes=600, random_state=0)
    model = pruning.slim() if is_slim else pruning.estimator
    export(model, tmp_path / f"small{suffix}", X[700:])  # compares predictions


def test_monotonic_constraints_hold_after_refitting_and_pruning_branches():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(900, 3))
    signs = [1, 0, -1]
    y_values = X[:, 0] - X[:, 2] + 0.5 * rng.normal(size=900)
    for model, y in (
        (RandomForestRegressor(40, monotonic_cst=signs, random_state=0), y_values),
        (RandomForestClassifier(40, monotonic_cst=signs, random_state=0), (y_values > 0) * 1),
    ):
        model.fit(X[:300], y[:300])
        for size in ({"keep": 6}, {"max_nodes": 150, "branches": True}):
            asked = {"refit": True, "random_state": 0, **size}
            found = prune(model, X[300:600], y[300:600], "joint", **asked)
            grid = np.repeat(X[600:640, None], 9, axis=1)
            for column, sign in ((0, 1), (2, -1)):
                moved = grid.copy()
                moved[:, :, column] = np.linspace(-3, 3, 9)
                flat = moved.reshape(-1, 3)
                is_regressor = not hasattr(found.estimator, "classes_")
                predicted = (
                    found.estimator.predict(flat)
                    if is_regressor
                    else found.estimator.predict_proba(flat)[:, 1]
                )
                assert (sign * np.diff(predicted.reshape(40, 9), axis=1) >= -1e-12).all()


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"branches": "always", "max_nodes": 50}, InputError, "branches='always' is not valid"),
        ({"branches": True}, InputError, "branches=True needs a budget"),
        (
            {"branches": True, "max_latency": 1, "tolerance": 0.1},
            InputError,
            "branches=True needs a budget",
        ),
        (
            {"branches": True, "refit": False, "max_nodes": 9},
            InputError,
            "with refit=False",
        ),
        ({"max_nodes": 0}, InputError, "max_nodes=0 is not a valid budget"),
        (
            {"max_nodes": 2},
            BudgetError,
            "max_nodes=2: the smallest has 3 nodes",
        ),
        ({"max_nodes": 9, "tolerance": 0.1}, InputError, "cannot be combined with a tolerance"),
        ({"max_nodes": 9, "keep": 3}, InputError, "keep=3 cannot be combined with a budget"),
        (
            {"max_bytes": 2, "branches": True},
            BudgetError,
            "max_bytes=2: the smallest takes",
        ),
    ],
)
def test_bad_budgets_are_refused_in_one_line(classified, given, error, told):
    X, y = classified
    forest = RandomForestClassifier(10, random_state=0).fit(X[:200], y[:200])
    with pytest.raises(error, match=told) as caught:
        prune(forest, X[200:400], y[200:400], **{"refit": True, **given})
    assert "\n" not in str(caught.value)


def test_models_without_trees_have_no_nodes(classified):
    from sklearn.naive_bayes import GaussianNB

    X, y = classified
    model = BaggingClassifier(GaussianNB(), 5, random_state=0).fit(X[:200], y[:200])
    with pytest.raises(UnsupportedEnsembleError, match="not a decision tree"):
        prune(model, X[200:400], y[200:400], max_nodes=50)


def test_reports_of_pruned_branches_name_the_number_of_nodes(classified, tmp_path):
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:400], y[:400])
    given = {"refit": True, "random_state": 0}
    whole = prune(forest, X[400:700], y[400:700], "joint", keep=5, **given)
    small = prune(forest, X[400:700], y[400:700], "joint", max_nodes=300, branches=True, **given)
    n_nodes = sum(tree.tree_.node_count for tree in small.estimator.estimators_)
    assert whole.provenance()["n_nodes"] is None
    assert small.provenance()["n_nodes"] == n_nodes <= 300
    page = small.report(tmp_path / "page.html").read_text("utf-8")
    assert f"--max-nodes {n_nodes} --branches" in page
    assert f"max_nodes={n_nodes}, branches=True" in page


def test_summaries_say_that_scores_are_those_before_branches_were_pruned(classified):
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:400], y[:400])
    small = prune(forest, X[400:700], y[400:700], max_nodes=300, branches=True, random_state=0)
    n_nodes = sum(tree.tree_.node_count for tree in small.estimator.estimators_)
    remarks = small.summary().attrs["remarks"]
    assert any(f"before their branches were pruned to {n_nodes} nodes" in one for one in remarks)
    assert not any("branches" in one for one in small.summary(X[700:], y[700:]).attrs["remarks"])


def test_prune_warns_if_pruned_branches_cost_much(classified):
    """Scores before branches were pruned do not show it."""
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:400], y[:400])
    with pytest.warns(SecateursWarning, match=r"much worse after pruning: .*ROC AUC") as caught:
        small = prune(forest, X[400:700], y[400:700], max_nodes=5, random_state=0).estimator
    shares = (model.predict_proba(X[400:700]) for model in (forest, small))
    before, after = (roc_auc_score(y[400:700], one, multi_class="ovr") for one in shares)
    assert any(f"{before:.4f} → {after:.4f}" in str(one.message) for one in caught)


def test_saved_models_with_pruned_branches_are_plain(classified, tmp_path):
    X, y = classified
    forest = RandomForestClassifier(30, random_state=0).fit(X[:400], y[:400])
    small = prune(forest, X[400:700], y[400:700], max_nodes=300, random_state=0).estimator
    again = load(save(small, tmp_path / "small.skops"))
    np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    assert all(np.isfinite(small.feature_importances_))
