"""Results of the paper's cells: the schema of a line, and the results of a plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd

from secateurs.benchmarking.result_store import (
    RESULTS,
    Result,
    ResultSchema,
    results_frame,
    stored_results,
)
from secateurs.paper._plan import CELL_FIELDS, Cell, PaperRow, Plan

RowResults = tuple[str, PaperRow, pd.DataFrame]  # name, source and results of a row
_COLUMNS = (
    *(*CELL_FIELDS, "accuracy", "validation_accuracy", "n_kept", "members", "objective"),
    *("seconds", "path_seconds", "group_wins", "train_seconds", "vote_seconds"),
    *("n_train", "n_validation", "n_test", "n_classes", "source"),
)
SCHEMA = ResultSchema(
    Cell,
    {
        **dict.fromkeys(("n_train", "n_validation", "n_test", "n_classes"), int),
        **{"source": str, "train_seconds": float, "vote_seconds": float},
    },
    {
        "prune": {
            **dict.fromkeys(("accuracy", "validation_accuracy", "objective", "seconds"), float),
            **{"n_kept": int, "members": [int]},
        },
        "combination": {"size": int, "points": [(float, float, float)]},
        "size": {"sizes": [int], "accuracies": [float]},
        "speedup": {
            **{"workers": int, "n_groups": int},
            **{f"seconds_{side}": [float] for side in ("comep", "domep", "comep_cpu", "path_cpu")},
        },
        "scale": {"n": int, "d": int, "seconds": float},
    },
    {
        **dict.fromkeys(("path_seconds", "literal_seconds", "literal_path_seconds"), float),
        **{"n_cores": int, "group_wins": int},  # whether a group's result beats that of the union
    },
)


def load_results(out_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """Load all results of a run.

    Parameters
    ----------
    out_dir : str or path-like
        The output folder of `run`.

    Returns
    -------
    DataFrame
        One row per cell, sorted by the fields of the cell, so that it does not depend on the order
        of the measurements. Fields that a kind of cell does not have are NaN or None.

    See Also
    --------
    run : Measure the cells of plans.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from secateurs.paper import load_results
    >>> with TemporaryDirectory() as folder:
    ...     len(load_results(folder))
    0
    """
    results = stored_results(Path(out_dir) / RESULTS, SCHEMA)
    return paper_results_frame(results[cell] for cell in sorted(results))


def paper_results_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return results as a frame that always has the usual columns."""
    return results_frame(results, _COLUMNS)


def plan_results(plan: Plan, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the results of a plan's cells, of any seed, in a fixed order."""
    names = [name for name in CELL_FIELDS if name != "seed"]
    wanted = pd.DataFrame(set(map(attrgetter(*names), plan.cells())), columns=names)
    results = frame.merge(wanted, on=names)
    return results.sort_values(list(CELL_FIELDS), kind="stable", ignore_index=True)


def results_by_row(plan: Plan, frame: pd.DataFrame) -> Iterator[RowResults]:
    """Yield the name, the source and the results (perhaps none) of each row of a plan."""
    wanted = plan_results(plan, frame)
    for name, row in zip(plan.row_names, plan.rows, strict=True):
        source = {"dataset": row.dataset, "reading": row.reading, "learner": row.learner}
        yield name, row, rows_where(wanted, **source)


def rows_where(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return the rows of a frame that have these values."""
    return frame[np.logical_and.reduce([frame[name] == value for name, value in values.items()])]
