"""Table: how many members the methods keep that decide their own size; the claim on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_number
from secateurs.paper._cell_measurer import FREE_SIZE
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import PAPER_METHODS, TABLES, method_label
from secateurs.paper.claims import Finding, judges_claim, weigh_settings
from secateurs.statistics import Difference, paired_difference

_AROUND = 0.1  # of the number wanted: nearer than that does not matter


@dataclass(frozen=True, eq=False)
class KeptSizes:
    """Members that a method keeps.

    Attributes
    ----------
    method : str
        Short name.
    fixed_size : int
        Number that methods of fixed size keep.
    sizes_by_row : dict of str to list of int
        Members kept on each fold and seed, by table and row.
    """

    method: str
    fixed_size: int
    sizes_by_row: dict[str, list[int]]

    @property
    def row_means(self) -> list[float]:
        """Mean of each row."""
        return [float(np.mean(kept)) for kept in self.sizes_by_row.values()]

    @property
    def mean_excess(self) -> Difference | None:
        """Members kept less those wanted, over rows; None for fewer than two rows."""
        means = self.row_means
        return paired_difference(means, [self.fixed_size] * len(means)) if len(means) > 1 else None


def kept_sizes(plans: Sequence[Plan], frame: pd.DataFrame) -> list[KeptSizes]:
    """Return what the methods of the paper keep that decide their own size, from its tables."""
    found: dict[str, KeptSizes] = {}
    for plan in plans:
        if plan.name not in TABLES:
            continue
        wanted = plan.settings[0].keep
        for name, _, mine in results_by_row(plan, frame):
            for method in PAPER_METHODS:
                kept = rows_where(mine, method=method, variant="library")["n_kept"].dropna()
                if method in FREE_SIZE and len(kept):
                    item = found.setdefault(method, KeptSizes(method, wanted, {}))
                    item.sizes_by_row[f"{plan.title}: {name}"] = [int(n) for n in kept]
    return [found[method] for method in PAPER_METHODS if method in found]


@judges_claim("sizes", "Methods that decide their own size differ in the space they need.")
def judge_sizes(sizes: Sequence[KeptSizes]) -> Finding:
    """Members kept by OO, DREP, SEP, OEP and PEP are compared with what the others keep.

    A method speaks for the claim if the 95 % interval of its mean, over the data sets of the
    tables, lies more than a tenth above or below the number that methods of fixed size keep, and
    against it if it lies within that tenth. Holds if three quarters of the methods speak for it,
    does not hold if more than a quarter speak against it.
    """
    tested = [(item, item.mean_excess) for item in sizes]
    n_for = n_against = 0
    words = []
    for item, beyond in tested:
        slack = _AROUND * item.fixed_size
        told = f"{method_label(item.method)} {np.mean(item.row_means):.1f}"
        if beyond is not None:
            low, high = beyond.interval()
            n_for += low > slack or high < -slack
            n_against += -slack <= low and high <= slack
            told += f" ({item.fixed_size + low:.1f} to {item.fixed_size + high:.1f})"
        words.append(told)
    finding = weigh_settings(len(sizes), n_for, n_against, "methods")
    if not sizes:
        return finding
    numbers = {
        item.method: dict(zip(item.sizes_by_row, item.row_means, strict=True)) for item in sizes
    }
    told = f"Members kept, where others keep {sizes[0].fixed_size}: {', '.join(words)}."
    return finding.with_details(told, kept=numbers)


def kept_sizes_sheet(sizes: Sequence[KeptSizes]) -> Sheet | None:
    """Show how many members those methods keep, row by row.

    Parameters
    ----------
    sizes : sequence of KeptSizes
        One per method.

    Returns
    -------
    Sheet or None
        None where nothing was measured.
    """
    if not sizes:
        return None
    rows = list(dict.fromkeys(row for item in sizes for row in item.sizes_by_row))
    headings = ("Data set", *(method_label(item.method) for item in sizes))
    numbers = {
        row: [float(np.mean(i.sizes_by_row[row])) if row in i.sizes_by_row else None for i in sizes]
        for row in rows
    }
    lines = [
        (row, *(format_number(value, 1) for value in values)) for row, values in numbers.items()
    ]
    means = ("Mean", *(format_number(float(np.mean(item.row_means)), 1) for item in sizes))
    all_kept = [[n for kept in item.sizes_by_row.values() for n in kept] for item in sizes]
    fewest, most = (tuple(str(pick(kept)) for kept in all_kept) for pick in (min, max))
    totals = [means, ("Fewest", *fewest), ("Most", *most)]
    caption = (
        "Members kept by the methods that decide their own size, mean over folds; the others keep "
        f"{sizes[0].fixed_size}."
    )
    text = csv_text(headings, [(row, *values) for row, values in numbers.items()])
    return Sheet("kept", "Members kept", caption, Grid.of_blocks(headings, [lines, totals]), text)
