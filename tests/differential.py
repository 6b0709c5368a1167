"""Random votes through every method in every way there is: always the answer of the slow twin.

``python tests/differential.py 5000 [first seed]`` tries many more than the test does.
"""

import copy
import itertools
import multiprocessing
import pickle
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from math import comb
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone

import differential_ensembles
import differential_measures
import differential_scores
import naive
import naive_orderings
import naive_pareto
import naive_scores
import naive_selection
from cases import KINDS, make
from secateurs import EPFD, Votes, VoteStore, make_pruner
from secateurs._methods import METHODS
from secateurs.exceptions import InputError

SIZES = (1, 2, 3, 31, 63, 64, 65, 127, 128, 129)
CLASSES = (1, 2, 2, 3, 5, 15, 16, 17, 40)
EDGES = (31, 32, 33, 63, 64, 65, 127, 128, 129)  # members, on few rows: twins are slow
MOST_SETS = 100  # of eight members there are 70
INTEGERS = [np.dtype(f"{sign}{size}") for sign in "iu" for size in (1, 2, 4, 8)]


def members_by_twin(name, votes, y, pruner, keep):
    """Return the members that a method's slow twin chooses; None where that is not to be had.

    Some methods have no twin, and that of ParetoCOMEP compares all sets with all others.
    """
    if name == "pcomep" and comb(len(votes[0]), keep) > MOST_SETS:
        return None
    rng = np.random.RandomState(getattr(pruner, "random_state", None))
    twins = {
        "comep": lambda: naive.comep(votes, y, keep, pruner.diversity_weight, pruner.start),
        "kl": lambda: naive.kl_pruning(naive.class_frequencies(votes, y), keep),
        "kp": lambda: naive.kappa_pruning(votes, keep),
        "oo": lambda: naive.orientation_ordering(votes, y, keep),
        "re": lambda: naive.reduced_error(votes, y, keep),
        "drep": lambda: naive.drep(votes, y, pruner.rho, keep=keep),
        "sep": lambda: naive.sep(votes, y, pruner.n_iterations, rng, keep),
        "oep": lambda: naive.oep(votes, y, keep),
        "pep": lambda: naive.pep(votes, y, pruner.n_iterations, rng, keep)[0],
        "pcomep": lambda: naive_pareto.pareto_comep(votes, y, keep, rng),
        "cluster": lambda: naive.cluster_pruning(votes, y, keep)[0],
        "joint": lambda: naive_scores.joint_error(
            *naive_scores.vectors_of_labels(votes, y), keep, Fraction(pruner.shrink), pruner.refine
        ),
        "boost": lambda: naive.boosting_order(votes, y, keep)[0],
        "mdm": lambda: naive_orderings.margin_distance(
            votes, y, keep, None if pruner.target == "moving" else Fraction(str(pruner.target))
        ),
        "comp": lambda: naive_orderings.complementarity(votes, y, keep),
        "uwa": lambda: naive_orderings.uncertainty_weighted(votes, y, keep),
        "epic": lambda: naive_orderings.contribution_ordering(votes, y, keep),
        "caruana": lambda: naive_selection.ordering(votes, y, keep),
        "es": lambda: naive.early_stopping(len(votes[0]), keep),
        "random": lambda: naive.random_members(len(votes[0]), keep, rng),
        "best": lambda: naive.best_members(votes, y, keep),
    }
    return twins[name]() if name in twins else None


def relabel(rng, n_classes):
    """Return labels of some kind, in an order that sorting keeps."""
    steps = np.cumsum(rng.integers(1, 4, n_classes))
    words = [f"k{step:04d}" for step in steps]
    kinds = [
        *(np.arange(n_classes), steps - 7, steps * 10**12, steps.astype("f4"), steps.astype("f8")),
        *(
            np.array(words),
            np.array(words, dtype=object),
            np.array([f"{word}é€" for word in words]),
        ),
    ]
    for kind in INTEGERS:  # up to the largest there are, past what a float tells apart
        lowest, highest = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        values = [highest - int(steps[-1]) + step for step in steps.tolist()]
        if values[0] >= lowest:
            kinds.append(np.array(values, kind))
    if n_classes <= 2:
        kinds.append(np.array([False, True])[:n_classes])
    return kinds[rng.integers(len(kinds))]


def held(rng, votes, mask, folder):
    """Return the same votes in some container."""
    table = np.asarray(votes)
    if mask is not None:
        return np.ma.array(table, mask=mask)
    frozen = table.copy()
    frozen.flags.writeable = False
    ways = [
        *(table, table.tolist(), np.asfortranarray(table), frozen),
        pd.DataFrame(table, columns=[f"m{t}" for t in range(table.shape[1])]),
        np.repeat(table, 2, axis=1)[:, ::2],  # with gaps between columns
    ]
    if table.dtype.kind != "O":
        np.save(folder / "votes.npy", table)
        ways.append(np.load(folder / "votes.npy", mmap_mode="r"))
    return ways[rng.integers(len(ways))]


def in_every_way(rng, pruner, votes, y, folder):
    """Yield names of ways to fit, and pruners fitted in them, all on the same votes."""
    yield "fit", clone(pruner).fit(votes, y)
    yield "votes", clone(pruner).fit(Votes.encode(votes, y))
    yield "copy", copy.deepcopy(pruner).fit(Votes.encode(votes).with_labels(y))
    store = VoteStore.from_table(
        folder / "store", votes, y, tile_members=int(rng.integers(1, 5)), random_state=1
    )
    yield "store", clone(pruner).fit(VoteStore.open(store.path))
    yield "pickle", pickle.loads(pickle.dumps(clone(pruner).fit(store.load())))
    table = votes if hasattr(votes, "iloc") else np.ma.asanyarray(votes)
    present = ~np.ma.getmaskarray(np.ma.asanyarray(table))
    cuts = np.unique([0, *rng.integers(0, len(y) + 1, 2), len(y)])
    runs = [slice(*pair) for pair in itertools.pairwise(cuts)]
    # Every member has a vote in the first batch, and somebody in each.
    if present[runs[0]].any(axis=0).all() and all(present[run].any() for run in runs):
        batched = clone(pruner)
        for run in runs:
            batched.partial_fit(table[run], y[run])
        yield "batches", batched
    with ThreadPoolExecutor(3) as pool:
        coded = Votes.encode(votes, y)
        for fitted in pool.map(lambda one: one.fit(coded), [clone(pruner) for _ in range(3)]):
            yield "threads at once", fitted
        if hasattr(pruner, "shard"):
            for shard in ("members", "rows"):
                spread = clone(pruner).set_params(shard=shard)
                yield f"shards of {shard}", spread.fit(store, executor=an_executor(rng, pool))


@cache
def processes():
    """Return a pool of processes, started once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["secateurs", "secateurs.engines.sharding"])
    return ProcessPoolExecutor(2, mp_context=context)


def an_executor(rng, threads):
    """Return threads mostly, processes at times."""
    return processes() if rng.random() < 0.05 else threads


def try_one(seed, folder):
    """Return what is wrong with the case of a seed, or None."""
    rng = np.random.default_rng(seed)
    n_classes, n_members = int(rng.choice(CLASSES)), int(rng.integers(1, 9))
    n_samples = int(rng.choice(SIZES))
    if rng.random() < 0.05:
        n_members, n_samples = int(rng.choice(EDGES)), int(rng.integers(1, 4))
    kinds = rng.choice(KINDS, n_members).tolist()
    case = make(seed, n_samples, n_classes, kinds)
    labels = relabel(rng, n_classes)
    name = str(rng.choice(list(METHODS)))
    method = METHODS[name]
    mask = None
    if method.traits.takes_missing and rng.random() < 0.3:
        mask = rng.random((n_samples, n_members)) < rng.choice([0.1, 0.5])
        mask[rng.integers(n_samples, size=n_members), np.arange(n_members)] = False
        mask = mask if mask.any() else None
    votes = held(rng, labels[np.asarray(case.votes)], mask, folder)
    y = labels[np.asarray(case.y)]
    keep = int(rng.integers(1, n_members + 1))
    pruner = make_pruner(name, keep=keep)
    settled = {
        "random_state": seed,
        "n_iterations": 12,
        "diversity_weight": float(rng.choice([0, 0.3, 0.5, 1])),
        "start": ("spread", "relevance", "every", 0)[rng.integers(3 if name == "domep" else 4)],
        "n_groups": int(rng.integers(1, n_members + 1)),
        "shrink": (0.0, 0.5)[rng.integers(2)],
        "target": ("moving", 0.075, 0.3)[rng.integers(3)],
    }
    known = pruner.get_params()
    pruner.set_params(**{key: value for key, value in settled.items() if key in known})
    told = f"seed {seed}: {pruner} on {n_samples}×{n_members}, {n_classes} classes"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {}
        for way, fitted in in_every_way(rng, pruner, votes, y, folder):
            found[way] = (fitted.member_indices_.tolist(), fitted.scores_.tolist())
        if len({repr(result) for result in found.values()}) > 1:
            return f"{told}: ways differ: {found}"
        if mask is not None:
            return None
        expected = members_by_twin(name, case.votes, case.y, pruner, keep)
        chosen = found["fit"][0]
        if expected is not None and list(expected) != chosen:
            return f"{told}: {chosen} instead of {expected}"
        fitted = clone(pruner).fit(votes, y)
        predicted = fitted.predict(votes).tolist()
        weights = getattr(fitted, "weights_", np.ones(len(chosen)))
        right = [
            labels[naive_selection.weighted_vote(case.votes, chosen, weights, n)]
            for n in range(n_samples)
        ]
        if predicted != np.array(right).tolist():
            return f"{told}: another vote"
        fault = differential_measures.differing(rng, case, votes, y)
        fault = fault or in_groups(rng, pruner, votes, y) or refused(rng, pruner, case)
        if rng.random() < 0.15:
            fault = fault or differential_ensembles.differing(rng, labels, folder)
            fault = fault or differential_scores.regressors_differing(rng)
        fault = fault or differential_scores.differing(rng)
        return None if fault is None else f"{told}: {fault}"


def refused(rng, pruner, case):
    """Give labels that are bytes."""
    if rng.random() > 0.1:
        return None
    votes, y = (np.asarray(part).astype("S3").astype(object) for part in case)
    try:
        clone(pruner).fit(votes, y)
    except InputError as error:
        return None if "Decode" in str(error) else f"bytes are refused by: {error}"
    return "bytes are taken for labels"


def in_groups(rng, pruner, votes, y):
    """Compare EPFD in this process with EPFD on threads, processes and joblib's workers."""
    if hasattr(pruner, "n_groups") or getattr(pruner, "start", None) == 0:  # of one group only
        return None
    n_groups = int(rng.integers(1, 4))
    n_groups = min(n_groups, np.asarray(votes).shape[1])
    grouped = EPFD(pruner, n_groups, random_state=0)
    alone = clone(grouped).fit(votes, y).member_indices_.tolist()
    with ThreadPoolExecutor(2) as pool:
        spread = clone(grouped).fit(votes, y, executor=an_executor(rng, pool))
    backend = "loky" if rng.random() < 0.03 else "threading"
    with joblib.parallel_config(backend):
        joint = clone(grouped).set_params(n_jobs=2).fit(votes, y)
    beside = [fitted.member_indices_.tolist() for fitted in (spread, joint)]
    return None if beside == [alone, alone] else f"in groups {alone}, beside {beside}"


def run(seeds):
    """Try seeds; return all that is wrong."""
    wrong = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as place:
            try:
                fault = try_one(seed, Path(place))
            except Exception as error:
                fault = f"seed {seed}: {type(error).__name__}: {error}"
        if fault:
            wrong.append(fault)
    return wrong


if __name__ == "__main__":
    n_cases, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    faults = run(range(start, start + n_cases))
    print(f"{n_cases} cases, {len(faults)} wrong", *faults[:40], sep="\n")
