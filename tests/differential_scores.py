"""Probabilities and numbers: methods in every way, and ensembles against their members."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import naive_scores
from score_cases import make_scores
from secateurs import collect_predictions, make_pruner, prune
from secateurs._methods import METHODS
from secateurs.exceptions import UnsupportedEnsembleError

SIZES = (1, 2, 3, 7, 8, 9, 63, 64, 65)
NAMES = [name for name in METHODS if set(METHODS[name].traits.outputs) - {"labels"}]
TWINS = {
    "joint": lambda case, pruner, keep: naive_scores.joint_error(
        case.outputs, case.truth, keep, Fraction(pruner.shrink), pruner.refine
    )
}


def differing(rng):
    """Return what is wrong with a method of scores, or None."""
    name = str(rng.choice(NAMES))
    kinds = [kind for kind in METHODS[name].traits.outputs if kind != "labels"]
    kind, n_members = str(rng.choice(kinds)), int(rng.integers(1, 7))
    case = make_scores(
        int(rng.integers(2**32)),
        kind,
        n_members,
        int(rng.choice(SIZES[kind == "numbers" :])),  # R² needs two samples
        int(rng.choice([2, 3, 5])),
        share_missing=float(rng.choice([0, 0.3])) if METHODS[name].traits.takes_missing else 0.0,
    )
    keep = int(rng.integers(1, n_members + 1))
    pruner = make_pruner(name, keep=keep)
    if "random_state" in pruner.get_params():
        pruner.set_params(random_state=0)
    found = {way: _found(fitted) for way, fitted in _in_every_way(rng, pruner, case)}
    told = f"{pruner} on {case.kind} of {len(case.y)}×{n_members}"
    if len({repr(result) for result in found.values()}) > 1:
        return f"{told}: ways differ: {found}"
    if name in TWINS and (expected := TWINS[name](case, pruner, keep)) != found["fit"][0]:
        return f"{told}: {found['fit'][0]} instead of {expected}"
    return None


def _found(pruner):
    return pruner.member_indices_.tolist(), pruner.scores_.tolist()


def _in_every_way(rng, pruner, case):
    yield "fit", clone(pruner).fit(case.given)
    yield "table", clone(pruner).fit(case.table, case.y)
    yield "pickle", pickle.loads(pickle.dumps(clone(pruner).fit(case.given)))
    with ThreadPoolExecutor(3) as pool:
        for fitted in pool.map(lambda one: one.fit(case.given), [clone(pruner) for _ in range(3)]):
            yield "threads at once", fitted
    n_samples = len(case.y)
    cuts = np.unique([0, *rng.integers(0, n_samples + 1, 2), n_samples])
    runs = [slice(*pair) for pair in itertools.pairwise(cuts)]
    present = ~np.ma.getmaskarray(case.table).reshape(n_samples, case.n_members, -1)[..., 0]
    # Every member has a value in the first batch, and somebody in each; labels are all known.
    if present[runs[0]].any(axis=0).all() and all(present[run].any() for run in runs):
        batched = clone(pruner)
        for run in runs:
            batched.partial_fit(type(case.given).encode(case.table[run], case.y[run]))
        yield "batches", batched


def regressors_differing(rng):
    """Return what is wrong with an ensemble of regressors, or None."""
    n_rows, seed, n = int(rng.choice([40, 64, 65])), int(rng.integers(1000)), 5
    X = rng.normal(size=(n_rows, 4))
    y = X @ rng.normal(size=4) * 10.0 ** rng.integers(-6, 7) + rng.normal(size=n_rows)
    tree = DecisionTreeRegressor(max_depth=4, random_state=seed)
    base = (tree, Ridge(), KNeighborsRegressor(3))[rng.integers(3)]
    models = (
        RandomForestRegressor(n, random_state=seed),
        ExtraTreesRegressor(n, random_state=seed),
        BaggingRegressor(base, n, max_features=0.5, random_state=seed),
        VotingRegressor([("tree", tree), ("line", Ridge())], weights=[1, 3]),
        AdaBoostRegressor(tree, n_estimators=n, random_state=seed),
    )
    model = models[rng.integers(len(models))].fit(X, y)
    features = getattr(model, "estimators_features_", None)
    members = list(enumerate(model.estimators_))
    said = [member.predict(X if features is None else X[:, features[t]]) for t, member in members]
    expected = np.stack(said, axis=1)
    try:
        found = collect_predictions(model, X)
    except UnsupportedEnsembleError:
        return None if isinstance(model, AdaBoostRegressor) else f"{model} is refused"
    most = np.abs(expected).max() * 2.0**-29
    if found.shape != expected.shape or np.abs(found - expected).max() > most:
        return f"{model}: collected numbers are off by more than {most}"
    keep = int(rng.integers(1, len(members) + 1))
    small = prune(model, X + 0.01, y, "joint", keep=keep)
    kept = sorted(small.member_indices.tolist())
    weights = None if not isinstance(model, VotingRegressor) else np.array([1, 3])[kept]
    mean = np.average(expected[:, kept], axis=1, weights=weights)
    if not np.allclose(small.estimator.predict(X), mean, rtol=1e-9, atol=1e-9 * np.abs(y).max()):
        return f"{model}: {kept} do not predict their mean"
    return None
