"""The paper's protocol: bagging on three fifths of the rows, votes on the other two.

An ensemble is trained once and its votes are collected on both parts: everything else is done with
votes. Parts and seeds are those of `secateurs.benchmarking.splits_and_seeds`.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from secateurs.benchmarking.splits_and_seeds import seed_sequence, small_seed, split_samples
from secateurs.ensembles import as_ensemble
from secateurs.outputs.collect import collect_encoded_votes
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.votes import Votes
from secateurs.paper import datasets
from secateurs.paper._plan import Bag
from secateurs.paper._shared_kernel import MOST_ROWS, SharedKernelSVMs

SYNTHETIC = "synthetic"  # learner of votes that are drawn, on data sets "synthetic-ROWS"
STRATIFIED = "-stratified"  # at the end of a learner's name: rows are drawn class by class
_N_TEST = 1000  # test rows of drawn votes

# Module, class and parameters of what is bagged. The text of the paper says "linear models" and no
# more: "lm" is ridge regression, the others are fitted by SGD as in the authors' program.
_LEARNERS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "dt": ("tree", "DecisionTreeClassifier", {}),
    "nb": ("naive_bayes", "GaussianNB", {}),
    "knn": ("neighbors", "KNeighborsClassifier", {}),
    "knn-distance": ("neighbors", "KNeighborsClassifier", {"weights": "distance"}),
    "lm": ("linear_model", "RidgeClassifier", {}),
    "lm-sgd-l1": ("linear_model", "SGDClassifier", {"penalty": "l1"}),
    "lm-sgd-l2": ("linear_model", "SGDClassifier", {"penalty": "l2"}),
    "svm-linear": ("svm", "LinearSVC", {}),
    "svm-rbf": ("svm", "SVC", {"kernel": "rbf", "gamma": "auto", "cache_size": 1000}),
}


@dataclass(frozen=True, eq=False)
class EnsembleVotes:
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


def cast_votes(bag: Bag, data_dir: str | os.PathLike[str] | None = None) -> EnsembleVotes:
    """Train a bag's ensemble and collect its votes.

    Parameters
    ----------
    bag : Bag
        Data, learner, size, fold and seed.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`.

    Returns
    -------
    EnsembleVotes

    Examples
    --------
    >>> from secateurs.paper._plan import Bag
    >>> from secateurs.paper._bagging_protocol import cast_votes
    >>> cast_votes(Bag("iris", "multiclass", "dt", 5, 0, 0)).validation
    Votes(30 samples, 5 members, 3 classes)
    """
    if bag.learner == SYNTHETIC:
        return _draw_votes(bag)
    # One thread: bags run side by side, and sums must not depend on how many cores there are.
    with threadpool_limits(limits=1):
        return _train_and_vote(bag, data_dir)


def _train_and_vote(bag: Bag, data_dir: str | os.PathLike[str] | None) -> EnsembleVotes:
    data = datasets.load(bag.dataset, data_dir, bag.reading)
    rng = np.random.default_rng(seed_sequence(bag.seed, bag.dataset, bag.reading, "folds"))
    parts = split_samples(data.y, bag.fold, rng)
    elapsed = start_stopwatch()
    collect = _train_ensemble(bag, data.X[parts.train], data.y[parts.train])
    trained = elapsed()
    validation, test = (
        collect(data.X[rows], data.y[rows]) for rows in (parts.validation, parts.test)
    )
    seconds = (trained, elapsed() - trained)
    n_classes = len(np.unique(data.y))
    return EnsembleVotes(validation, test, len(parts.train), n_classes, *seconds, data.source)


def _train_ensemble(bag: Bag, X: NDArray[np.float64], y: NDArray[np.str_]) -> Callable[..., Votes]:
    """Train an ensemble; return what collects its votes on labelled rows."""
    module, kind, parameters = _LEARNERS[bag.learner.removesuffix(STRATIFIED)]
    learner = getattr(import_module(f"sklearn.{module}"), kind)(**parameters)
    seed = small_seed(bag.seed, bag.dataset, bag.reading, bag.learner, bag.fold, "train")
    if bag.learner == "svm-rbf" and len(X) <= MOST_ROWS and len(np.unique(y)) == 2:
        return SharedKernelSVMs(bag.n_members, seed).fit(X, y).predict_votes
    model: Any
    with warnings.catch_warnings():
        # Raw values, as in the paper: a linear SVM need not converge on them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if bag.learner.endswith(STRATIFIED):
            model = _train_stratified(learner, bag.n_members, seed, X, y)
        else:
            model = BaggingClassifier(learner, n_estimators=bag.n_members, random_state=seed)
            model.fit(X, y)
    return partial(collect_encoded_votes, as_ensemble(model))


def _train_stratified(
    learner: Any, n_members: int, seed: int, X: NDArray[np.float64], y: NDArray[np.str_]
) -> list[Any]:
    """Bag as the authors' program does: each class has as many rows in a bag as it has in all.

    The plain bootstrap draws from all rows alike, so that classes vary from bag to bag.
    """
    rng = np.random.RandomState(seed)
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = []
    for _ in range(n_members):
        rows = np.concatenate([rng.choice(rows, size=len(rows)) for rows in classes])
        member = clone(learner)
        if "random_state" in member.get_params():
            member.set_params(random_state=rng.randint(2**31 - 1))
        members.append(member.fit(X[rows], y[rows]))
    return members


def _draw_votes(bag: Bag) -> EnsembleVotes:
    """Draw votes of members of 60 to 90 % accuracy, on samples of unequal difficulty.

    There are two classes, or five for the multi-class reading.
    """
    n_classes = 2 if bag.reading == "binary" else 5
    n_validation = int(bag.dataset.removeprefix(f"{SYNTHETIC}-"))
    seed = seed_sequence(bag.seed, bag.dataset, bag.learner, bag.n_members, bag.fold)
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.6, 0.9, bag.n_members)
    validation, test = (
        _draw_labelled_votes(n_rows, n_classes, skill, rng) for n_rows in (n_validation, _N_TEST)
    )
    return EnsembleVotes(validation, test, 0, n_classes, 0.0, 0.0, "generated")


def _draw_labelled_votes(
    n_rows: int, n_classes: int, skill: NDArray[np.float64], rng: np.random.Generator
) -> Votes:
    y = rng.integers(n_classes, size=n_rows, dtype=np.uint8)
    hardness = rng.uniform(-0.1, 0.1, n_rows)
    codes = np.empty((len(skill), n_rows), dtype=np.uint8)
    for member, chance in enumerate(skill):
        is_wrong = rng.random(n_rows) > chance + hardness
        step = rng.integers(1, n_classes, size=n_rows) if n_classes > 2 else 1
        codes[member] = (y + is_wrong * step) % n_classes
    return Votes.from_codes(codes, np.arange(n_classes), y)
