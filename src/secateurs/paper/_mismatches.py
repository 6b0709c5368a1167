"""Rows of a table that are not like the paper's, and why."""

from dataclasses import dataclass

import numpy as np

from secateurs.paper._paper import METHODS, label, reason_for
from secateurs.paper._tables import Table, TableRow

_TOLERATED = 2.0  # of the paper's standard deviations


@dataclass(frozen=True)
class Mismatch:
    """A row whose figures lie more than two of the paper's standard deviations from the paper's.

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


def mismatches(table: Table) -> list[Mismatch]:
    """List the rows that are not like the paper's.

    Parameters
    ----------
    table : Table
        A table that the paper has.

    Returns
    -------
    list of Mismatch
        In the order of the table. Rows without results are not among them; see `Table.notes`.
    """
    found = []
    for row in _comparable(table):
        far = {m: d for m in METHODS if abs(d := row.deviations(m)) > _TOLERATED}
        if far:
            differences = [row.entries[method].difference for method in METHODS]
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


def n_compared(table: Table) -> int:
    """Number of rows that can be compared with the paper's: those that are complete."""
    return len(_comparable(table))


def _comparable(table: Table) -> list[TableRow]:
    return [
        row
        for row in table.rows
        if any(row.entries[method].paper for method in METHODS)
        and all(len(row.entries[method].folds) == row.n_folds for method in METHODS)
    ]
