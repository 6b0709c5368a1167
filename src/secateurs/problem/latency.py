"""Latency: time predictions of one sample, and model the time by the number of members."""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils import _safe_indexing

from secateurs.ensembles import Ensemble
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.problem import Problem
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, FloatArray, IndexArray, Samples

Predictor: TypeAlias = Callable[[Samples], Array]
# For a size: the members to keep, and the ensemble, weighted if they have weights, to slice.
ServedMembers: TypeAlias = Callable[[int], tuple[list[int], Ensemble]]

# A line needs few sizes. Members of several kinds are interpolated, so more sizes are timed.
_N_SIZES, _N_SIZES_MIXED = 5, 12
_SECONDS_PER_SIZE = 0.2  # trades precision for the waiting time of `max_latency` and `compare`
_MIN_REPEATS, _MAX_REPEATS = 3, 100  # more than 100 hardly change the result
# Timings that vary by more than this share are repeated, up to this many times.
_MAX_NOISE, _MAX_PASSES = 0.1, 4


@dataclass(frozen=True, eq=False)
class Latency:
    """Seconds to predict one sample as a function of the number of members, fitted to timings.

    Members of one kind take equally long, so that a line is fitted. Its slope is the median of the
    slopes of all pairs (Theil and Sen), which a single bad timing hardly changes. Members of
    several kinds differ: their timings are made non-decreasing and interpolated.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.problem.latency import Latency
    >>> latency = Latency(np.array([1, 4, 10, 40]), np.array([3.0, 6.0, 99.0, 42.0]), 1.5, True)
    >>> latency.seconds_for(20), latency.max_members(22.5)
    (22.0, 20)
    """

    sizes: IndexArray  # numbers of members, ascending, from 1 to all of them
    seconds: FloatArray  # typical timing for each size
    preprocessing_seconds: float  # the part that steps before the ensemble take at every size
    is_homogeneous: bool  # whether all members are of one kind
    noise: float = 0.0  # by which share timings vary, see `timing_noise`

    @cached_property
    def per_member(self) -> float:
        """Seconds that each additional member takes."""
        pairs = list(combinations(zip(self.sizes, self.seconds, strict=True), 2))
        slopes = [(later - sooner) / (more - fewer) for (fewer, sooner), (more, later) in pairs]
        return max(0.0, float(np.median(slopes))) if slopes else 0.0

    @cached_property
    def _seconds_without_members(self) -> float:
        """Intercept of the line; noise must not push it below the time of preprocessing."""
        return max(
            self.preprocessing_seconds,
            float(np.median(self.seconds - self.per_member * self.sizes)),
        )

    def seconds_for(self, n_members: int) -> float:
        """Return the seconds to predict one sample with ``n_members`` members."""
        if self.is_homogeneous:
            return self._seconds_without_members + self.per_member * n_members
        return float(np.interp(n_members, self.sizes, np.maximum.accumulate(self.seconds)))

    def max_members(self, limit: float) -> int:
        """Return the largest number of members within a limit in seconds; 0 if there is none."""
        all_sizes = range(1, int(self.sizes[-1]) + 1)
        return sum(self.seconds_for(n_members) <= limit for n_members in all_sizes)


# With the model's own ``n_jobs``, and with ``n_jobs=1`` if that differs.
Latencies: TypeAlias = tuple[Latency, Latency | None]
# By ensemble and by the members of each timed size: a second measurement would differ, so that
# messages would contradict decisions.
_measured: "WeakKeyDictionary[Ensemble, dict[object, Latencies]]" = WeakKeyDictionary()


def measure_latencies(
    problem: Problem, n_members: int, served: ServedMembers, with_one_job: bool = True
) -> Latencies:
    """Measure the latency with the model's own ``n_jobs``, and with ``n_jobs=1`` if that differs.

    Starting threads often takes longer for one sample than evaluating its trees. The same members
    of an ensemble are timed once only.
    """
    ensemble = problem.ensemble
    is_homogeneous = len({type(member) for member in ensemble.members}) == 1
    spaced = np.geomspace(1, n_members, _N_SIZES if is_homogeneous else _N_SIZES_MIXED)
    sizes = np.unique(spaced.round().astype(np.intp))
    sets = [served(int(size)) for size in sizes]
    known = _measured.setdefault(ensemble, {})
    key = (with_one_job, tuple(tuple(members) for members, _ in sets))
    if key not in known:
        timed = _time_sets(problem, sizes, sets, is_homogeneous, with_one_job)
        known.setdefault(key, timed)  # another thread may have timed them first
    return known[key]


def lowest_latencies(problem: Problem) -> Latencies:
    """Return the measured latencies by which one member takes the least time."""
    return min([*_measured[problem.ensemble].values()], key=lambda pair: pair[0].seconds_for(1))


def _time_sets(
    problem: Problem,
    sizes: IndexArray,
    sets: Sequence[tuple[list[int], Ensemble]],
    is_homogeneous: bool,
    with_one_job: bool,
) -> Latencies:
    ensemble = problem.ensemble
    predictors = [make_predictor(weighted, members) for members, weighted in sets]
    if with_one_job and model_n_jobs(ensemble) != 1:
        predictors += [
            make_predictor(_set_one_job(weighted), members) for members, weighted in sets
        ]
    if ensemble.wrappers:
        predictors.append(partial(_run_preprocessing, ensemble))
    timings = _time_until_steady(predictors, _safe_indexing(problem.X, [0]))
    typical, noise = typical_seconds(timings), timing_noise(timings)
    preprocessing = float(typical[-1]) if ensemble.wrappers else 0.0
    by_n_jobs = typical[: len(predictors) - bool(ensemble.wrappers)].reshape(-1, len(sizes))
    latencies = [
        Latency(sizes, seconds, preprocessing, is_homogeneous, noise) for seconds in by_n_jobs
    ]
    return latencies[0], latencies[1] if len(latencies) > 1 else None


def full_ensemble_latency(problem: Problem) -> Latency | None:
    """Measure the latency of the full ensemble's first members; None without models or samples."""
    X = problem.X if problem.X is not None else problem.X_test
    if problem.has_only_predictions or X is None:
        return None
    members = range(problem.n_members)
    return measure_latencies(
        replace(problem, X=X),
        problem.n_members,
        lambda size: (list(members[:size]), problem.ensemble),
        with_one_job=False,
    )[0]


def _set_one_job(ensemble: Ensemble) -> Ensemble:
    changed = copy.copy(ensemble)
    changed.model = copy.copy(ensemble.model)
    changed.model.n_jobs = 1
    return changed


def model_n_jobs(ensemble: Ensemble) -> int:
    """Return the ``n_jobs`` that the model itself predicts with."""
    return getattr(ensemble.model, "n_jobs", None) or 1


def _run_preprocessing(ensemble: Ensemble, X: Samples) -> Samples:
    for pipeline in ensemble.wrappers:
        X = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    return X


def combined_prediction(ensemble: Ensemble, X: Samples, members: Sequence[int]) -> Array:
    """Return the combined prediction of some members as in their ensemble: labels or values."""
    prepared = ensemble.prepare_input(X)
    weights = None if ensemble.weights is None else ensemble.weights[list(members)]
    if isinstance(ensemble, PredictionTable) and ensemble.is_regression:
        return ensemble.numeric_predictions.average(members, weights)  # leaves out missing values
    if ensemble.is_regression:
        values = [ensemble.predicted_values(prepared, member) for member in members]
        return np.average(values, axis=0, weights=weights)
    tally: Array = np.asarray(
        sum(ensemble.vote_contribution(prepared, member) for member in members)
    )
    return ensemble.classes[tally.argmax(axis=1)]


def make_predictor(ensemble: Ensemble, members: Sequence[int]) -> Predictor:
    """Return the predict function of some members; for a prediction table, their vote or mean."""
    served = ensemble.as_predictor(sorted(members))
    if hasattr(served, "predict"):
        predict: Predictor = served.predict
        return predict
    return lambda X: combined_prediction(ensemble, X, sorted(members))


def typical_seconds(timings: FloatArray) -> FloatArray:
    """Return the tenth percentile of the repeats of each predictor.

    Other work on the machine only adds time, in bursts. It may disturb most of the repeats, while
    half of them are enough to change the median.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.problem.latency import typical_seconds
    >>> typical_seconds(np.array([[2.0, 9.0, 2.0, 7.0, 8.0]]))
    array([2.])
    """
    return np.quantile(timings, 0.1, axis=1)


def timing_noise(timings: FloatArray) -> float:
    """Return by which share the median repeat is above the typical one, mean over predictors.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.problem.latency import timing_noise
    >>> timing_noise(np.array([[2.0, 9.0, 2.0, 3.0, 8.0]]))
    0.5
    """
    return float(np.mean(np.median(timings, axis=1) / typical_seconds(timings))) - 1


def _time_until_steady(predictors: Sequence[Predictor], X: Samples) -> FloatArray:
    """Return timings of one sample, with more repeats if other work disturbs them."""
    timings = time_predictions(predictors, X, _SECONDS_PER_SIZE)
    for _ in range(_MAX_PASSES - 1):
        if timing_noise(timings) <= _MAX_NOISE:
            break
        more = time_predictions(predictors, X, _SECONDS_PER_SIZE)
        timings = np.concatenate([timings, more], axis=1)
    return timings


def time_predictions(
    predictors: Sequence[Predictor], X: Samples, max_seconds: float = 0.3
) -> FloatArray:
    """Return the seconds of every repeat, (n_predictors, n_repeats), timed in alternation.

    Alternation lets other work on the machine slow all predictors alike. There are at least three
    repeats, and as many as take ``max_seconds`` per predictor on average.
    """
    budget, spent = max_seconds * len(predictors), 0.0
    rounds: list[list[float]] = []
    with record_warnings():  # restores the filters, which scikit-learn's threads can lose
        while len(rounds) < _MIN_REPEATS or (spent < budget and len(rounds) < _MAX_REPEATS):
            # Another predictor ran before and left its data in the caches: run once before timing.
            is_warmed_up = not rounds or (len(predictors) > 1 and spent < budget)
            rounds.append([_time_once(predict, X, is_warmed_up) for predict in predictors])
            spent += sum(rounds[-1]) * (1 + is_warmed_up)
    return np.transpose(rounds)


def _time_once(predict: Predictor, X: Samples, is_warmed_up: bool) -> float:
    if is_warmed_up:
        predict(X)
    start = time.perf_counter()
    predict(X)
    return time.perf_counter() - start


def bisect_largest_size(order: Sequence[int], meets: Callable[[list[int]], bool]) -> int:
    """Return the largest number of first members that meets a limit, by bisection.

    Bisection is valid because bytes and costs grow with the number of members.
    """
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        fits = meets(list(order[:middle]))
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
