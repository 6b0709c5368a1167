"""The paper's protocol: bagging on three fifths of the rows, votes on the other two.

Each class is shuffled and cut into five blocks of ⌊rows/5⌋. Block i is the test part, block i + 1
the validation part, and the rest, with the rows left over, trains. An ensemble is trained once and
its votes are collected on both parts: everything else is done with votes.

All random seeds derive from names (seed, data set, reading, learner, fold), so a bag can be made
alone, in any order and in any process, and is always the same.
"""

import hashlib
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from secateurs.ensembles import as_ensemble
from secateurs.outputs._collect import votes_of
from secateurs.outputs._votes import Votes
from secateurs.paper import datasets
from secateurs.paper._plan import N_FOLDS, Bag

SYNTHETIC = "synthetic"  # learner of votes that are drawn, on data sets "synthetic-ROWS"
_N_TEST = 1000  # test rows of drawn votes

# Module, class and parameters of what is bagged.
_LEARNERS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "dt": ("tree", "DecisionTreeClassifier", {}),
    "nb": ("naive_bayes", "GaussianNB", {}),
    "knn": ("neighbors", "KNeighborsClassifier", {}),
    "knn-distance": ("neighbors", "KNeighborsClassifier", {"weights": "distance"}),
    "lm": ("linear_model", "RidgeClassifier", {}),
    "svm-linear": ("svm", "LinearSVC", {}),
    "svm-rbf": ("svm", "SVC", {"kernel": "rbf", "gamma": "auto", "cache_size": 1000}),
}


class Parts(NamedTuple):
    """Rows to train on, to prune on and to test on, each in ascending order."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Voted:
    """Votes of a trained ensemble, and what they cost.

    Attributes
    ----------
    validation, test : Votes
        Votes with true labels on the rows to prune on and to test on.
    n_train, n_classes : int
        Rows trained on, and classes of the data.
    train_seconds, vote_seconds : float
        Time to train the ensemble, and to collect the votes on both parts.
    source : str
        Where the data came from.
    """

    validation: Votes
    test: Votes
    n_train: int
    n_classes: int
    train_seconds: float
    vote_seconds: float
    source: str


def split(y: ArrayLike, fold: int, rng: np.random.Generator) -> Parts:
    """Split rows into three parts, class by class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels.
    fold : int
        Which of the five blocks is the test part.
    rng : Generator
        Shuffles the classes; the same for all folds.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.paper._protocol import split
    >>> parts = split(["a"] * 12 + ["b"] * 7, 0, np.random.default_rng(0))
    >>> [len(rows) for rows in parts]  # blocks of 2 and of 1
    [13, 3, 3]
    """
    labels = np.asarray(y)
    held_out = {fold: "test", (fold + 1) % N_FOLDS: "validation"}
    parts: dict[str, list[NDArray[np.intp]]] = {"train": [], "validation": [], "test": []}
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        size = len(rows) // N_FOLDS
        for block in range(N_FOLDS):
            part = held_out.get(block, "train")
            parts[part].append(rows[size * block : size * (block + 1)])
        parts["train"].append(rows[size * N_FOLDS :])
    return Parts(**{name: np.sort(np.concatenate(rows)) for name, rows in parts.items()})


def cast_votes(bag: Bag, data_dir: str | os.PathLike[str] | None = None) -> Voted:
    """Train a bag's ensemble and collect its votes.

    Parameters
    ----------
    bag : Bag
        Data, learner, size, fold and seed.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`.

    Returns
    -------
    Voted

    Examples
    --------
    >>> from secateurs.paper._plan import Bag
    >>> from secateurs.paper._protocol import cast_votes
    >>> cast_votes(Bag("iris", "multiclass", "dt", 5, 0, 0)).validation
    Votes(30 samples, 5 members, 3 classes)
    """
    if bag.learner == SYNTHETIC:
        return _draw_votes(bag)
    # One thread: bags run side by side, and sums must not depend on how many cores there are.
    with threadpool_limits(limits=1):
        return _train_and_vote(bag, data_dir)


def _train_and_vote(bag: Bag, data_dir: str | os.PathLike[str] | None) -> Voted:
    data = datasets.load(bag.dataset, data_dir, bag.reading)
    rng = np.random.default_rng(seed_sequence(bag.seed, bag.dataset, bag.reading, "folds"))
    parts = split(data.y, bag.fold, rng)
    start = time.perf_counter()
    ensemble = as_ensemble(_train(bag, data.X[parts.train], data.y[parts.train]))
    trained = time.perf_counter()
    validation, test = (
        votes_of(ensemble, data.X[rows], data.y[rows]) for rows in (parts.validation, parts.test)
    )
    seconds = (trained - start, time.perf_counter() - trained)
    n_classes = len(np.unique(data.y))
    return Voted(validation, test, len(parts.train), n_classes, *seconds, data.source)


def _train(bag: Bag, X: NDArray[np.float64], y: NDArray[np.str_]) -> Any:
    module, kind, parameters = _LEARNERS[bag.learner]
    learner = getattr(import_module(f"sklearn.{module}"), kind)(**parameters)
    seed = small_seed(bag.seed, bag.dataset, bag.reading, bag.learner, bag.fold, "train")
    model = BaggingClassifier(learner, n_estimators=bag.n_members, random_state=seed)
    with warnings.catch_warnings():
        # Raw values, as in the paper: a linear SVM need not converge on them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def _draw_votes(bag: Bag) -> Voted:
    """Draw two-class votes: members of 60 to 90 % accuracy, on samples of unequal difficulty."""
    n_validation = int(bag.dataset.removeprefix(f"{SYNTHETIC}-"))
    seed = seed_sequence(bag.seed, bag.dataset, bag.learner, bag.n_members, bag.fold)
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.6, 0.9, bag.n_members)
    validation, test = (_draw_part(n_rows, skill, rng) for n_rows in (n_validation, _N_TEST))
    return Voted(validation, test, 0, 2, 0.0, 0.0, "generated")


def _draw_part(n_rows: int, skill: NDArray[np.float64], rng: np.random.Generator) -> Votes:
    y = rng.integers(2, size=n_rows, dtype=np.uint8)
    hardness = rng.uniform(-0.1, 0.1, n_rows)
    codes = np.empty((len(skill), n_rows), dtype=np.uint8)
    for member, chance in enumerate(skill):
        codes[member] = y ^ (rng.random(n_rows) > chance + hardness)
    return Votes.from_codes(codes, np.array([0, 1]), y)


def seed_sequence(*parts: object) -> np.random.SeedSequence:
    """Return a source of randomness for a name, the same on every machine and in any order.

    Examples
    --------
    >>> from secateurs.paper._protocol import seed_sequence
    >>> first, again = seed_sequence(0, "iono", "dt"), seed_sequence(0, "iono", "dt")
    >>> first.generate_state(2).tolist() == again.generate_state(2).tolist()
    True
    """
    text = "\x1f".join(map(str, parts))
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()))


def small_seed(*parts: object) -> int:
    """Return a seed for scikit-learn: an integer below 2³¹."""
    return int(seed_sequence(*parts).generate_state(1)[0] >> 1)
