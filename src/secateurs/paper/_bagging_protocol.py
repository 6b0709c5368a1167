"""The paper's protocol: bagging on three fifths of the samples, votes on the other two fifths.

An ensemble is trained once, and its votes are collected on the validation set and the test set. All
measurements only need these votes. Splits and seeds are defined in
`secateurs.benchmarking.splits_and_seeds`.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning

from secateurs.benchmarking.splits_and_seeds import seed_sequence, small_seed, split_samples
from secateurs.ensembles import as_ensemble
from secateurs.outputs.collect import collect_encoded_votes
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.votes import Votes
from secateurs.paper import datasets
from secateurs.paper._plan import Bag
from secateurs.paper._shared_kernel import MAX_SAMPLES, SharedKernelSVMs
from secateurs.thread_safety import limit_libraries_to_one_thread, record_warnings
from secateurs.typing import Parameters

SYNTHETIC = "synthetic"  # learner of randomly drawn votes, with data sets "synthetic-N_SAMPLES"
STRATIFIED = "-stratified"  # suffix of a learner's name: bags are drawn class by class
# Suffixes of a reading, such as "binary+01": the label is also the last feature, with this value
# for the first class and 1 for the second. The paper's 100.00 % on Credit suggests such a column.
LABEL_CODINGS = {"01": 0.0, "pm1": -1.0}
_N_TEST = 1000  # test samples of drawn votes; their accuracy is not a result of the paper

# Module of scikit-learn, class and parameters of each learner. The paper only names "linear
# models": "lm" is ridge regression, the other two are trained by SGD as in the authors' program.
_LEARNERS: Mapping[str, tuple[str, str, Parameters]] = {
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
    """Votes of a trained ensemble on the validation and the test set, with true labels."""

    validation: Votes
    test: Votes
    n_train: int  # number of training samples
    n_classes: int
    train_seconds: float
    vote_seconds: float  # to collect the votes on both sets
    source: str  # of the data set


def cast_votes(bag: Bag, data_dir: str | os.PathLike[str] | None = None) -> EnsembleVotes:
    """Train the ensemble of a bag and collect its votes.

    Examples
    --------
    >>> from secateurs.paper._plan import Bag
    >>> from secateurs.paper._bagging_protocol import cast_votes
    >>> cast_votes(Bag("iris", "multiclass", "dt", 5, 0, 0)).validation
    Votes(30 samples, 5 members, 3 classes)
    """
    if bag.learner == SYNTHETIC:
        return _draw_votes(bag)
    # One thread: bags run in parallel, and sums must not depend on the number of cores.
    with limit_libraries_to_one_thread():
        return _train_and_vote(bag, data_dir)


def _train_and_vote(bag: Bag, data_dir: str | os.PathLike[str] | None) -> EnsembleVotes:
    """Train a bag on a data set of the paper, and collect its votes."""
    reading, _, coding = bag.reading.partition("+")
    data = datasets.load(bag.dataset, data_dir, reading)
    rng = np.random.default_rng(seed_sequence(bag.seed, bag.dataset, reading, "folds"))
    parts = split_samples(data.y, bag.fold, rng)
    X = data.X
    if coding:
        is_second = data.y == np.unique(data.y)[1]
        X = np.column_stack([X, np.where(is_second, 1.0, LABEL_CODINGS[coding])])
    elapsed = start_stopwatch()
    collect = _train_ensemble(bag, X[parts.train], data.y[parts.train])
    trained = elapsed()
    validation, test = (collect(X[part], data.y[part]) for part in (parts.validation, parts.test))
    seconds = (trained, elapsed() - trained)
    n_classes = len(np.unique(data.y))
    return EnsembleVotes(validation, test, len(parts.train), n_classes, *seconds, data.source)


def _train_ensemble(bag: Bag, X: NDArray[np.float64], y: NDArray[np.str_]) -> Callable[..., Votes]:
    """Train an ensemble; return a function that collects its votes on labelled samples."""
    module, kind, parameters = _LEARNERS[bag.learner.removesuffix(STRATIFIED)]
    learner = getattr(import_module(f"sklearn.{module}"), kind)(**parameters)
    seed = small_seed(bag.seed, bag.dataset, bag.reading, bag.learner, bag.fold, "train")
    is_stratified = bag.learner.endswith(STRATIFIED)
    is_svm = bag.learner.removesuffix(STRATIFIED) == "svm-rbf"
    if is_svm and len(X) <= MAX_SAMPLES and len(np.unique(y)) == 2:
        if is_stratified:
            bags = [samples for _, samples in _stratified_bags(learner, bag.n_members, seed, y)]
        else:
            # A bag of dummies draws the same samples as a bag of SVMs with this seed.
            dummies = BaggingClassifier(DummyClassifier(), bag.n_members, random_state=seed)
            bags = dummies.fit(X, y).estimators_samples_
        return SharedKernelSVMs().fit(X, y, bags).predict_votes
    model: BaggingClassifier | list[BaseEstimator]
    # Linear SVMs may not converge on unscaled values, which the paper uses.
    with record_warnings() as recorded:
        if is_stratified:
            model = [
                member.fit(X[samples], y[samples])
                for member, samples in _stratified_bags(learner, bag.n_members, seed, y)
            ]
        else:
            model = BaggingClassifier(learner, n_estimators=bag.n_members, random_state=seed)
            model.fit(X, y)
    for warning in recorded:
        if not isinstance(warning, ConvergenceWarning):
            warnings.warn(warning, stacklevel=2)
    return partial(collect_encoded_votes, as_ensemble(model))


def _stratified_bags(
    learner: BaseEstimator, n_members: int, seed: int, y: NDArray[np.str_]
) -> Iterator[tuple[BaseEstimator, NDArray[np.intp]]]:
    """Yield untrained members and their samples, drawn class by class as in the authors' program.

    The class sizes of every bag are those of the data. With the plain bootstrap, which draws from
    all samples alike, class sizes vary between bags.
    """
    rng = np.random.RandomState(seed)
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]
    for _ in range(n_members):
        samples = np.concatenate([rng.choice(part, size=len(part)) for part in classes])
        member = clone(learner)
        if "random_state" in member.get_params():
            member.set_params(random_state=rng.randint(2**31 - 1))
        yield member, samples


def _draw_votes(bag: Bag) -> EnsembleVotes:
    """Draw votes of members of 60 to 90 % accuracy, on samples of unequal difficulty.

    There are two classes, or five with the multi-class reading.
    """
    n_classes = 2 if bag.reading == "binary" else 5
    n_validation = int(bag.dataset.removeprefix(f"{SYNTHETIC}-"))
    seed = seed_sequence(bag.seed, bag.dataset, bag.learner, bag.n_members, bag.fold)
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.6, 0.9, bag.n_members)
    validation, test = (
        _draw_labelled_votes(n, n_classes, skill, rng) for n in (n_validation, _N_TEST)
    )
    return EnsembleVotes(validation, test, 0, n_classes, 0.0, 0.0, "generated")


def _draw_labelled_votes(
    n_samples: int, n_classes: int, skill: NDArray[np.float64], rng: np.random.Generator
) -> Votes:
    """Draw true labels, and votes of synthetic members with these accuracies."""
    y = rng.integers(n_classes, size=n_samples, dtype=np.uint8)
    hardness = rng.uniform(-0.1, 0.1, n_samples)
    codes = np.empty((len(skill), n_samples), dtype=np.uint8)
    for member, accuracy in enumerate(skill):
        is_wrong = rng.random(n_samples) > accuracy + hardness
        step = rng.integers(1, n_classes, size=n_samples) if n_classes > 2 else 1
        codes[member] = (y + is_wrong * step) % n_classes
    return Votes.from_codes(codes, np.arange(n_classes), y)
