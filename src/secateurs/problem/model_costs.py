"""Sizes, costs and prediction times of ensembles before and after pruning."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble
from secateurs.problem._problem import Problem
from secateurs.problem.latency import Predictor, make_predictor, time_predictions, typical_seconds
from secateurs.pruners import BasePruner
from secateurs.thread_safety import record_warnings
from secateurs.typing import Classifier, FloatArray, Samples

_TIMED_SIZES = (1, 1000)  # samples: the latency of one, and the throughput of many
# Seconds to time each model: for tables that the user asked for, and for a quick look in a
# notebook, where only one sample is kept.
_TIMING_SECONDS, _QUICK_SECONDS = 0.3, 0.1


class BeforeAfter(NamedTuple):
    """A figure of the full ensemble and of the pruned ensemble."""

    before: float
    after: float
    low: float = np.nan  # 95 % interval of the change, if there is one
    high: float = np.nan
    timings: FloatArray | None = None  # single measurements, if the figures are their medians


def member_counts(problem: Problem, pruner: BasePruner) -> dict[str, BeforeAfter]:
    """Return the numbers of members, and their total cost if members have costs."""
    full, kept = full_and_kept(pruner)
    counts = {"members": BeforeAfter(len(full), len(kept))}
    if problem.cost is not None:
        counts["cost"] = BeforeAfter(float(problem.cost.sum()), float(problem.cost[kept].sum()))
    return counts


def panel_coverage(
    problem: Problem, pruner: BasePruner, test: bool = False
) -> dict[str, BeforeAfter]:
    """Return the share of samples with a prediction, if a table has missing predictions."""
    if not problem.shows_coverage:
        return {}
    full, kept = (problem.coverage(members, test) for members in full_and_kept(pruner))
    return {"coverage": BeforeAfter(full, kept)}


def model_costs(
    problem: Problem, pruner: BasePruner, *, files: bool = True, row: Samples = None
) -> dict[str, BeforeAfter]:
    """Measure the models: megabytes, and milliseconds if there are samples to predict.

    If the samples are not kept, only the single sample ``row`` is timed, which is quick.
    """
    if problem.has_only_predictions:
        return {}
    n_bytes = [len(pickle.dumps(model)) for model in full_and_pruned_models(problem, pruner)]
    figures = {"megabytes": BeforeAfter(n_bytes[0] / 1e6, n_bytes[1] / 1e6)}
    if files:
        figures |= _file_sizes(problem, pruner, n_bytes)
    predictors = full_and_pruned_predictors(problem, pruner)
    X = problem.X_test if problem.has_test_set else problem.X
    if X is not None:
        figures |= _prediction_times(predictors, X, _TIMED_SIZES, _TIMING_SECONDS)
    elif row is not None:
        figures |= _prediction_times(predictors, row, [1], _QUICK_SECONDS)
    return figures


def pickle_bytes(ensemble: Ensemble, members: Sequence[int]) -> int:
    """Return the number of bytes of a pickled sub-ensemble."""
    return len(pickle.dumps(ensemble.as_predictor(sorted(members))))


def full_and_kept(pruner: BasePruner) -> tuple[list[int], list[int]]:
    """Return all members and the kept members, in their original order."""
    return list(range(len(pruner.support_))), np.sort(pruner.member_indices_).tolist()


def full_and_pruned_models(problem: Problem, pruner: BasePruner) -> list[Classifier]:
    """Return the full ensemble and the pruned ensemble."""
    full, kept = full_and_kept(pruner)
    return [problem.ensemble.as_predictor(full), problem.served_ensemble.as_predictor(kept)]


def full_and_pruned_predictors(problem: Problem, pruner: BasePruner) -> list[Predictor]:
    """Return the functions that predict with the full ensemble and with the pruned ensemble."""
    full, kept = full_and_kept(pruner)
    return [make_predictor(problem.ensemble, full), make_predictor(problem.served_ensemble, kept)]


def _prediction_times(
    predictors: Sequence[Predictor], X: Samples, sizes: Iterable[int], seconds: float
) -> dict[str, BeforeAfter]:
    """Time predictions of several numbers of samples, each for ``seconds`` per model."""
    figures = {}
    for size in sizes:
        samples = _safe_indexing(X, np.arange(size) % _num_samples(X))
        times = 1e3 * time_predictions(predictors, samples, seconds)
        before, after = typical_seconds(times).tolist()
        figures[f"ms for {size} row{'s' * (size > 1)}"] = BeforeAfter(before, after, timings=times)
    return figures


def _skops_bytes(model: object) -> bytes:
    from secateurs.persistence.skops_files import dump_skops  # needed for reports only

    return dump_skops(model)


def _onnx_bytes(model: object) -> bytes:
    from secateurs.persistence.model_export import onnx_bytes

    return onnx_bytes(model)


# For each format: the function that writes it, and the largest pickle and number of members for
# which it is written just to report its size. At these limits each model takes about a second, and
# all figures together about two.
_FORMATS: dict[str, tuple[Callable[[object], bytes], int, float]] = {
    "megabytes as .skops": (_skops_bytes, 40_000_000, np.inf),
    "megabytes as .onnx": (_onnx_bytes, 8_000_000, 100),
}
_file_sizes_by_pruner: "WeakKeyDictionary[BasePruner, dict[str, BeforeAfter]]" = WeakKeyDictionary()


def _file_sizes(
    problem: Problem, pruner: BasePruner, n_bytes: Sequence[int]
) -> dict[str, BeforeAfter]:
    """Return the file sizes in each format that supports the pruned ensemble; cached per pruner.

    The size of the full ensemble is NaN if it is too large or cannot be written.
    """
    sizes = _file_sizes_by_pruner.get(pruner)
    if sizes is None:
        n_members = map(len, full_and_kept(pruner))
        models = full_and_pruned_models(problem, pruner)
        full_and_pruned = list(zip(models, n_members, n_bytes, strict=True))
        sizes = {}
        for name in _FORMATS:
            before, after = (_file_megabytes(name, *model) for model in full_and_pruned)
            if not np.isnan(after):
                sizes[name] = BeforeAfter(before, after)
        _file_sizes_by_pruner[pruner] = sizes
    return sizes


def _file_megabytes(name: str, model: object, n_members: int, n_bytes: int) -> float:
    write, max_bytes, max_members = _FORMATS[name]
    if n_bytes > max_bytes or n_members > max_members:
        return np.nan
    with record_warnings():  # converters call deprecated functions of scikit-learn
        try:
            return len(write(model)) / 1e6
        except Exception:  # the format does not support the model, or its extra is not installed
            return np.nan
