"""The paper's protocol: bagging on three fifths of the rows, votes on the other two.

An ensemble is trained once and its votes are collected on both parts: everything else is done with
votes. Parts and seeds are those of `secateurs.benchmarking._protocol`.
"""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from secateurs.benchmarking._protocol import seed_sequence, small_seed, split
from secateurs.ensembles import as_ensemble
from secateurs.outputs._collect import votes_of
from secateurs.outputs._compiling import stopwatch
from secateurs.outputs._votes import Votes
from secateurs.paper import datasets
from secateurs.paper._plan import Bag

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
    elapsed = stopwatch()
    ensemble = as_ensemble(_train(bag, data.X[parts.train], data.y[parts.train]))
    trained = elapsed()
    validation, test = (
        votes_of(ensemble, data.X[rows], data.y[rows]) for rows in (parts.validation, parts.test)
    )
    seconds = (trained, elapsed() - trained)
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
