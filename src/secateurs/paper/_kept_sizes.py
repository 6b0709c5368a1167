"""Table of members kept by methods that decide their own size, and the claim about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_number
from secateurs.paper._cell_measurer import FREE_SIZE
from secateurs.paper._plan import Plan
from secateurs.paper._plan_results import results_by_row, rows_where
from secateurs.paper._printed_tables import PAPER_METHODS, TABLES, method_label
from secateurs.paper.claims import UNMEASURED, Finding, geometric_mean, judges_claim
from secateurs.text_format import format_count

_SAME_SIZE = 1.1  # ratio of sizes up to which methods do not differ


@dataclass(frozen=True, eq=False)
class KeptSizes:
    """Numbers of members that a method keeps."""

    method: str
    fixed_size: int  # number of members that methods of fixed size keep
    sizes_by_row: dict[str, list[int]]  # members kept on each fold and seed, by table and row
    data_sets: dict[str, str]  # the paper's name of the data set of each row

    @property
    def row_means(self) -> list[float]:
        """Mean number of kept members on each row."""
        return [float(np.mean(kept)) for kept in self.sizes_by_row.values()]


def kept_sizes(plans: Sequence[Plan], frame: pd.DataFrame) -> list[KeptSizes]:
    """Return the kept sizes of the paper's methods that decide their own size, from its tables."""
    by_method: dict[str, KeptSizes] = {}
    for plan in plans:
        if plan.name not in TABLES:
            continue
        fixed_size = plan.settings[0].keep
        for name, source, mine in results_by_row(plan, frame):
            for method in PAPER_METHODS:
                kept = rows_where(mine, method=method, variant="library")["n_kept"].dropna()
                if method in FREE_SIZE and len(kept):
                    item = by_method.setdefault(method, KeptSizes(method, fixed_size, {}, {}))
                    item.sizes_by_row[f"{plan.title}: {name}"] = [int(n) for n in kept]
                    item.data_sets[f"{plan.title}: {name}"] = source.paper_name
    return [by_method[method] for method in PAPER_METHODS if method in by_method]


@judges_claim("sizes", "Methods that decide their own size differ in the space they need.")
def judge_sizes(sizes: Sequence[KeptSizes]) -> Finding:
    """The quantity is the ratio of the largest to the smallest mean size of the five methods.

    These are OO, DREP, SEP, OEP and PEP. The value is the geometric mean over data sets; sizes are
    averaged over the rows and folds of a data set. A ratio of 1.1 does not count as different.
    """
    if not sizes:
        return Finding(None, UNMEASURED, {})
    ratios: dict[str, list[float]] = {}
    for row, data_set in sizes[0].data_sets.items():
        means = [float(np.mean(s.sizes_by_row[row])) for s in sizes if row in s.sizes_by_row]
        ratios.setdefault(data_set, []).append(max(means) / min(means))
    statistic = replace(geometric_mean("ratio of sizes", ratios), holds_above=_SAME_SIZE)
    each = ", ".join(f"{method_label(s.method)} {np.mean(s.row_means):.1f}" for s in sizes)
    told = (
        f"{format_count(len(ratios), 'data set')}. Mean number of members kept, where other "
        f"methods keep {sizes[0].fixed_size}: {each}."
    )
    numbers = {
        item.method: dict(zip(item.sizes_by_row, item.row_means, strict=True)) for item in sizes
    }
    return Finding(statistic, told, {"kept": numbers})


def kept_sizes_sheet(sizes: Sequence[KeptSizes]) -> Sheet | None:
    """Return the table of kept sizes, row by row; None if nothing was measured."""
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
