"""Measure ``auto`` against fixed methods in libraries of different models, for `safe`."""

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.kept import data, situations
from secateurs import make_pruner, prune

Values = NDArray[np.float64]
Record = dict[str, Any]
N_TRAINED, N_TESTED, N_VALIDATION = 800, 3000, (300, 800)
KEEP = 6
FIXED = ("best", "joint", "caruana", "single best")
# By kind of predictions: the score asked for, and the unit of its change. Without a score, the
# accuracy or R² is reported.
SCORINGS: dict[str, dict[str | None, str]] = {
    "labels": {None: "points of accuracy"},
    "probabilities": {
        None: "points of accuracy",
        "accuracy": "points of accuracy",
        "neg_log_loss": "hundredths of log loss",
    },
    "values": {None: "hundredths of R²", "neg_root_mean_squared_error": "% of RMSE"},
}


def measured(table: data.Table, build_regressors: Any) -> Iterator[Record]:
    """Yield the gain of each method over the mean or vote of all models, on test samples."""
    order = np.random.RandomState(1).permutation(len(table.X))
    X, y = table.X[order], table.y[order]
    n_train, n_pool = min(N_TRAINED, len(X) // 3), min(max(N_VALIDATION), len(X) // 3)
    ends = [n_train, n_train + n_pool, n_train + n_pool + N_TESTED]
    (X_train, X_pool, X_test, _), (y_train, y_pool, y_test, _) = (
        np.split(X, ends),
        np.split(y, ends),
    )
    if table.is_regression:
        models = build_regressors(X_train, y_train, 1)
        tables = {"values": [_stack(models, "predict", part) for part in (X_pool, X_test)]}
    else:
        if len(np.unique(y_train)) < len(np.unique(y)):
            return
        models = situations._library(X_train, y_train, 1)
        soft = [_stack(models, "predict_proba", part) for part in (X_pool, X_test)]
        tables = {"labels": [part.argmax(axis=2) for part in soft], "probabilities": soft}
    for kind, (pool, test) in tables.items():
        for n_samples in (n for n in N_VALIDATION if n <= len(pool)):
            given = pool[:n_samples], y_pool[:n_samples]
            for scoring in SCORINGS[kind]:
                for keep in (KEEP, None):
                    case = {"kind": kind, "n": n_samples, "scoring": scoring, "keep": keep}
                    gains = {
                        method: _gain(method, *given, test, y_test, scoring, keep)
                        for method in (*FIXED, "auto")
                    }
                    yield {"data": table.name, **case, "gains": gains}


def _stack(models: Sequence[Any], method: str, X: Values) -> Values:
    return np.stack([getattr(model, method)(X) for model in models], axis=1)


def _gain(  # noqa: PLR0917
    method: str, table: Values, y: Values, test: Values, y_test: Values, scoring: Any, keep: Any
) -> float:
    """Return the gain of the pruned library over all models, in the unit of the score."""
    options: dict[str, Any] = {"scoring": scoring, "random_state": 0, "keep": keep}
    if method == "single best":
        asked = None if scoring == "accuracy" else scoring
        pruner: Any = make_pruner("caruana", keep=1, max_models=1, scoring=asked)
        options["keep"] = None
    else:
        pruner = method
    pruning = prune(table, None, y, pruner, **options)
    every = list(range(test.shape[1]))
    before = _score(combined(test, every, None), y_test, scoring)
    after = _score(
        combined(test, pruning.member_indices.tolist(), pruning.weights), y_test, scoring
    )
    if scoring == "neg_root_mean_squared_error":
        return 100 * (1 - after / before)
    return 100 * (after - before)


def combined(table: Values, members: list[int], weights: Values | None) -> Values:
    """Return the vote, or the mean, of some columns of a table of predictions."""
    given = np.ones(len(members)) if weights is None else weights
    columns = table[:, members]
    if table.dtype.kind == "i":
        votes = np.eye(int(table.max()) + 1)[columns]
        return np.tensordot(votes, given, (1, 0)).argmax(axis=1)
    return np.tensordot(columns, given / given.sum(), (1, 0))


def _score(predicted: Values, truth: Values, scoring: str | None) -> float:
    """Return the score on test samples; for the RMSE, the loss itself."""
    if predicted.ndim == 2 and scoring == "neg_log_loss":
        return float(np.log(predicted[np.arange(len(truth)), truth].clip(1e-3)).mean())
    if predicted.ndim == 2:
        predicted = predicted.argmax(axis=1)
    if predicted.dtype.kind == "i":
        return float(np.mean(predicted == truth))
    error = float(np.mean((predicted - truth) ** 2))
    return error**0.5 if scoring is not None else 1 - error / float(np.var(truth))


def write_records(table: data.Table, build_regressors: Any, path: Path) -> None:
    """Measure a data set, unless a file has the results."""
    if path.exists():
        return
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = "".join(json.dumps(r) + "\n" for r in measured(table, build_regressors))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(f"{path.stem}, libraries: {time.process_time() - start:.0f} s", flush=True)


def library_table(records: list[Record]) -> pd.DataFrame:
    """Return mean and lowest gains by kind, score and size; methods are columns."""
    rows = [
        {
            "predictions": record["kind"],
            "score": record["scoring"] or "default",
            "members": str(record["keep"] or "default"),
            **record["gains"],
        }
        for record in records
    ]
    grouped = pd.DataFrame(rows).groupby(["predictions", "score", "members"], sort=False)
    means, lowest = grouped.mean(), grouped.min().add_prefix("lowest ")
    fixed = [name for name in FIXED if name != "single best"]
    means["auto, compared with the best fixed"] = means["auto"] - means[[*fixed]].max(axis=1)
    return means.join(lowest[["lowest best", "lowest auto"]]).join(grouped.size().rename("cases"))
