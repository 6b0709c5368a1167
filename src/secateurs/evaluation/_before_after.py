"""Before and after: figures of a pruning, and its look in a notebook."""

import html as escaping
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs._labels import as_labels
from secateurs.evaluation._budget import own_vote, predictor, timings
from secateurs.exceptions import InputError
from secateurs.outputs._predictions import Predictions

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.pruning import Pruning

_N_BOOTSTRAP = 2000
# The constants of splitmix64, a public-domain mixer.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


class Figure(NamedTuple):
    """A figure of the whole ensemble and of the pruned one.

    ``low`` and ``high`` are the 95 % interval of the change, where there is one; ``timings`` are
    the single measurements of both, where the figures are medians of some.
    """

    before: float
    after: float
    low: float = np.nan
    high: float = np.nan
    timings: NDArray[np.float64] | None = None


def summary(pruning: "Pruning", X: Any, y: ArrayLike, rng: np.random.RandomState) -> "pd.DataFrame":
    """Compare the pruned ensemble with the whole one on some rows."""
    import pandas as pd

    rows, figures = measure(pruning, X, y, rng)
    values = [(f.before, f.after, f.after - f.before, f.low, f.high) for f in figures.values()]
    columns = ["before", "after", "change", "low", "high"]
    return pd.DataFrame(values, columns=columns, index=pd.Index(figures, name=rows), dtype=float)


def measure(
    pruning: "Pruning", X: Any, y: ArrayLike, rng: np.random.RandomState, *, files: bool = False
) -> tuple[str, dict[str, Figure]]:
    """Measure on some rows: name the rows, and give the figures, with sizes of files if asked."""
    truth = as_labels(y, "y_test").ravel()
    if _num_samples(X) != len(truth):
        raise InputError(
            f"X_test has {_num_samples(X)} rows but y_test has {len(truth)} labels. "
            "Give one true label for each row."
        )
    rows = _which_rows(pruning, X, len(truth))
    whole, kept = _members(pruning)
    figures = {"members": Figure(len(whole), len(kept))}
    if isinstance(pruning.ensemble, Predictions):
        table = Predictions(X)
        if table.n_members != len(whole):
            raise InputError(
                f"The table to test on has {table.n_members} members, the one pruned {len(whole)}. "
                "Give predictions of all members."
            )
        before, after = (own_vote(table, None, members) for members in (whole, kept))
        return rows, figures | _accuracy(truth, before, after, rng)
    before, after = (predictor(pruning.ensemble, members)(X) for members in (whole, kept))
    figures |= _accuracy(truth, before, after, rng)
    models = _models(pruning)
    if all(hasattr(model, "predict_proba") for model in models):
        losses = [_log_loss(model, X, truth) for model in models]
        figures["log loss"] = Figure(losses[0], losses[1])
    return rows, figures | costs(pruning, X, files=files)


def costs(pruning: "Pruning", X: Any = None, *, files: bool = True) -> dict[str, Figure]:
    """Say what models take: megabytes, and milliseconds where there are rows to predict."""
    if isinstance(pruning.ensemble, Predictions):
        return {}
    n_bytes = [len(pickle.dumps(model)) for model in _models(pruning)]
    figures = {"megabytes": Figure(n_bytes[0] / 1e6, n_bytes[1] / 1e6)}
    if files:
        figures |= _file_sizes(pruning, n_bytes)
    return figures if X is None else figures | _milliseconds(pruning, X)


def _members(pruning: "Pruning") -> tuple[list[int], list[int]]:
    return list(range(pruning.ensemble.n_members)), np.sort(pruning.member_indices).tolist()


def _models(pruning: "Pruning") -> tuple[Any, Any]:
    return pruning.ensemble.slice(_members(pruning)[0]), pruning.estimator


def _milliseconds(pruning: "Pruning", X: Any) -> dict[str, Figure]:
    predicts = [predictor(pruning.ensemble, members) for members in _members(pruning)]
    figures = {}
    for name, n_rows in (("ms for 1 row", 1), ("ms for 1000 rows", 1000)):
        times = 1e3 * timings(predicts, _safe_indexing(X, np.arange(n_rows) % _num_samples(X)))
        before, after = np.median(times, axis=1).tolist()
        figures[name] = Figure(before, after, timings=times)
    return figures


def _to_skops(model: Any) -> bytes:
    from secateurs.persistence._models import _dump_skops

    return _dump_skops(model)


def _to_onnx(model: Any) -> bytes:
    import pandas as pd

    from secateurs.persistence import _export

    runtime = _export._FORMATS[".onnx"]
    modules = runtime.modules()
    runtime.refuse(model, pd.DataFrame())  # no rows: what is wrong with the model itself
    return runtime.convert(model, modules)


class _Format(NamedTuple):
    """How to write a model, and what is too large to be written for a figure alone."""

    write: Callable[[Any], bytes]
    most_bytes: int  # of the pickle
    most_members: float = np.inf


# At these limits each takes about a second; all figures together, about two.
_FORMATS = {
    "megabytes as .skops": _Format(_to_skops, 40_000_000),
    "megabytes as .onnx": _Format(_to_onnx, 8_000_000, 100),
}
_written: "WeakKeyDictionary[Pruning, dict[str, Figure]]" = WeakKeyDictionary()


def _file_sizes(pruning: "Pruning", n_bytes: Sequence[int]) -> dict[str, Figure]:
    """Give the size in each format that holds the pruned ensemble; found once for a pruning.

    That of the whole ensemble is NaN where it is too large, or of a kind that cannot be written.
    """
    if pruning not in _written:
        both = list(zip(_models(pruning), map(len, _members(pruning)), n_bytes, strict=True))
        found = {}
        for name, written in _FORMATS.items():
            before, after = (_megabytes(written, *facts) for facts in both)
            if not np.isnan(after):
                found[name] = Figure(before, after)
        _written[pruning] = found
    return _written[pruning]


def _megabytes(written: _Format, model: Any, n_members: int, n_bytes: int) -> float:
    if n_bytes > written.most_bytes or n_members > written.most_members:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about how converters call scikit-learn
        try:
            return len(written.write(model)) / 1e6
        except Exception:  # the format does not hold such a model, or its extra is not installed
            return np.nan


def row_hashes(X: Any) -> NDArray[np.uint64] | None:
    """Hash each row, to know it again; None where rows cannot be told (sparse, predictions)."""
    import pandas as pd

    if X is None or hasattr(X, "tocsr"):
        return None
    values = X if hasattr(X, "iloc") else np.asarray(X)
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "biuf":
        words: Any = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        words = words + np.arange(1, words.shape[1] + 1, dtype=np.uint64) * _GOLDEN
        for shift, factor in _MIXERS:  # floats of whole numbers differ in few bits: spread them
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
        return words.sum(axis=1, dtype=np.uint64)
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(values), index=False))


def _which_rows(pruning: "Pruning", X: Any, n_rows: int) -> str:
    """Name the rows measured on, and warn if the members were chosen on them."""
    held_out = f"held-out rows ({n_rows})"
    if pruning.chosen_rows is None:
        return held_out
    hashes = row_hashes(X)
    n_known = 0 if hashes is None else int(np.isin(hashes, pruning.chosen_rows).sum())
    if n_known == 0:
        return held_out
    warnings.warn(
        f"{n_known} of the {n_rows} rows to measure on are rows the members were chosen on, which "
        "flatters the pruned ensemble. Give other rows.",
        stacklevel=5,
    )
    return f"{'' if n_known == n_rows else 'partly '}rows chosen on ({n_rows})"


def _accuracy(
    truth: NDArray[Any], before: NDArray[Any], after: NDArray[Any], rng: np.random.RandomState
) -> dict[str, Figure]:
    right, still = before == truth, after == truth
    # Each row is worth −1, 0 or 1 of change: resampling rows is drawing from those three.
    n_rows = len(truth)
    lost, won = (right & ~still).sum() / n_rows, (still & ~right).sum() / n_rows
    draws = rng.multinomial(n_rows, [lost, won, max(0.0, 1 - lost - won)], size=_N_BOOTSTRAP)
    low, high = np.percentile((draws[:, 1] - draws[:, 0]) / n_rows, [2.5, 97.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that only predictions show
        balanced = [float(balanced_accuracy_score(truth, codes)) for codes in (before, after)]
    return {
        "accuracy": Figure(float(right.mean()), float(still.mean()), float(low), float(high)),
        "balanced accuracy": Figure(balanced[0], balanced[1]),
    }


def _log_loss(model: Any, X: Any, truth: NDArray[Any]) -> float:
    classes = model.classes_
    known = np.isin(truth, classes)
    if not known.all():
        return float("nan")  # a class the model never saw: infinitely surprised
    return float(log_loss(truth, model.predict_proba(X), labels=classes))


def html(pruning: "Pruning") -> str:
    """Draw a pruning for a notebook: what was kept, and the accuracy of the vote by size."""
    votes, order = pruning.votes, pruning.member_indices
    sizes = np.unique(np.linspace(1, len(order), min(len(order), 60)).round().astype(int))
    curve = [votes.accuracy(order[:size]) for size in sizes]
    whole = votes.accuracy()
    lines = {
        "ensemble": type(pruning.ensemble.model).__name__,
        "method": repr(pruning.pruner),
        "members": f"{len(order)} of {pruning.ensemble.n_members}",
        "vote of the kept, rows chosen on": f"{curve[-1]:.4f} (all members: {whole:.4f})",
        "kept, in order of choice": ", ".join(pruning.member_names[:12])
        + (", …" if len(order) > 12 else ""),
    }
    cells = "".join(
        f"<tr><th style='text-align:left'>{escaping.escape(name)}</th>"
        f"<td style='text-align:left'>{escaping.escape(value)}</td></tr>"
        for name, value in lines.items()
    )
    return f"<table>{cells}</table>{_curve(sizes, curve, whole)}"


def _curve(sizes: NDArray[Any], curve: list[float], whole: float) -> str:
    width, height, low, high = 320, 90, min(*curve, whole), max(*curve, whole)

    def x(size: float) -> float:
        return 4 + (width - 8) * (size - sizes[0]) / max(1, sizes[-1] - sizes[0])

    def y(value: float) -> float:
        return height - 4 - (height - 8) * (value - low) / max(high - low, 1e-9)

    points = " ".join(
        f"{x(size):.1f},{y(value):.1f}" for size, value in zip(sizes, curve, strict=True)
    )
    return (
        f"<svg width='{width}' height='{height}' role='img' aria-label='Accuracy by size'>"
        f"<line x1='0' x2='{width}' y1='{y(whole):.1f}' y2='{y(whole):.1f}' stroke='gray' "
        "stroke-dasharray='4'/>"
        f"<polyline points='{points}' fill='none' stroke='#0072b2' stroke-width='2'/></svg>"
        f"<div>accuracy of the vote by members kept, {low:.3f} to {high:.3f}, on rows chosen on; "
        "dashed: all members</div>"
    )
