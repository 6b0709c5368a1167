"""Rows of our tables that differ from the paper's, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateurs.paper._accuracy_tables import AccuracyTable, TableRow
from secateurs.paper._printed import PAPER_METHODS, label, reason_for
from secateurs.paper._table_text import distance, number

_TOLERATED = 2.0  # of the paper's standard deviations


@dataclass(frozen=True)
class Mismatch:
    """A row whose accuracies lie more than two of the paper's standard deviations from the paper's.

    Attributes
    ----------
    row : str
        Name of the row.
    methods : tuple of str
        Which methods lie outside.
    furthest : float
        The largest distance, in the paper's standard deviations.
    difference : float
        Mean difference of all ten methods, in points.
    established : bool
        Whether the paper's reading of the data is established.
    reason : str
        The reason found; empty where there is none yet.
    """

    row: str
    methods: tuple[str, ...]
    furthest: float
    difference: float
    established: bool
    reason: str

    def __str__(self) -> str:
        reason = self.reason or "No reason found yet."
        if not self.established:
            reason += " How the paper read these data is not established."
        return (
            f"{self.row}: {', '.join(self.methods)} more than two of the paper's standard "
            f"deviations away, the furthest {distance(self.furthest)}; on average "
            f"{number(self.difference, sign=True)} points. {reason}"
        )


def mismatches(table: AccuracyTable) -> list[Mismatch]:
    """Return the rows that differ from the paper's.

    Parameters
    ----------
    table : AccuracyTable
        A table that the paper has.

    Returns
    -------
    list of Mismatch
        In the order of the table. Rows without results are in `AccuracyTable.notes` instead.
    """
    found = []
    for row in _comparable(table):
        far = {m: d for m in PAPER_METHODS if abs(d := row.deviations(m)) > _TOLERATED}
        if far:
            differences = [row.entries[method].difference for method in PAPER_METHODS]
            found.append(
                Mismatch(
                    row.name,
                    tuple(label(method) for method in far),
                    max(far.values(), key=abs),
                    float(np.nanmean(differences)),
                    row.source.established,
                    reason_for(table.name, row.source.paper_name, far),
                )
            )
    return found


def n_compared(table: AccuracyTable) -> int:
    """Return the number of rows that can be compared with the paper's: the complete ones."""
    return len(_comparable(table))


def _comparable(table: AccuracyTable) -> list[TableRow]:
    return [
        row
        for row in table.rows
        if any(row.entries[method].paper for method in PAPER_METHODS)
        and all(len(row.entries[method].folds) == row.n_folds for method in PAPER_METHODS)
    ]
