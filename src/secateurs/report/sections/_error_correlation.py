"""Correlation of errors, of numbers: how alike pairs of members err, and how much."""

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation._diagnostics import error_pairs
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_MOST_PAIRS = 3000  # points of other pairs in the figure
_SHAPE: Plain = {"n_pairs": int, "kept": [[float]], "others": [[float]]}
_SHAPE |= {"mean": Maybe([float]), "mean_kept": Maybe([float])}


def facts(subject: Subject) -> Plain:
    """Return correlation and size of errors of pairs: all of the kept, a sample of the others."""
    pairs = error_pairs(subject.votes, subject.kept)
    among = np.isin(pairs.first, subject.kept) & np.isin(pairs.second, subject.kept)
    points = np.stack([pairs.correlation, pairs.error], axis=1)
    kept, others = np.flatnonzero(among), np.flatnonzero(~among)
    if len(others) > _MOST_PAIRS:
        others = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))

    def mean(places: NDArray[np.intp]) -> list[float] | None:
        return points[places].mean(axis=0).tolist() if len(places) else None

    return {
        "error_correlation": {
            "n_pairs": len(among),
            "kept": points[kept[:_MOST_PAIRS]],
            "others": points[others],
            "mean": mean(np.arange(len(among))),
            "mean_kept": mean(kept),
        }
    }


def view(data: Plain) -> Table | None:
    """Return the means; None without pairs."""
    own = data["error_correlation"]
    if own["n_pairs"] == 0:
        return None
    means = (("all", own["mean"]), ("kept", own["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    headings = ["pairs of members", "correlation of their errors", "root mean squared error"]
    return Table(headings, rows, "Means over pairs, on the rows chosen on.", numeric=(1, 2))


SECTION = Section(
    "error-correlation",
    "Correlation of errors",
    {"error_correlation": _SHAPE},
    facts,
    view,
    is_drawn=True,
    predicts="numbers",
)
