"""Table of members kept by methods that decide their own size, and the claim about it."""

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

_TOLERANCE = 0.1  # as a fraction of the fixed size; smaller differences in size do not matter


@dataclass(frozen=True, eq=False)
class KeptSizes:
    """Numbers of members that a method keeps."""

    method: str
    fixed_size: int  # number of members that methods of fixed size keep
    sizes_by_row: dict[str, list[int]]  # members kept on each fold and seed, by table and row

    @property
    def row_means(self) -> list[float]:
        """Mean number of kept members on each row."""
        return [float(np.mean(kept)) for kept in self.sizes_by_row.values()]

    @property
    def mean_excess(self) -> Difference | None:
        """Mean difference from the fixed size over rows; None for fewer than two rows."""
        means = self.row_means
        return paired_difference(means, [self.fixed_size] * len(means)) if len(means) > 1 else None


def kept_sizes(plans: Sequence[Plan], frame: pd.DataFrame) -> list[KeptSizes]:
    """Return the kept sizes of the paper's methods that decide their own size, from its tables."""
    by_method: dict[str, KeptSizes] = {}
    for plan in plans:
        if plan.name not in TABLES:
            continue
        fixed_size = plan.settings[0].keep
        for name, _, mine in results_by_row(plan, frame):
            for method in PAPER_METHODS:
                kept = rows_where(mine, method=method, variant="library")["n_kept"].dropna()
                if method in FREE_SIZE and len(kept):
                    item = by_method.setdefault(method, KeptSizes(method, fixed_size, {}))
                    item.sizes_by_row[f"{plan.title}: {name}"] = [int(n) for n in kept]
    return [by_method[method] for method in PAPER_METHODS if method in by_method]


@judges_claim("sizes", "Methods that decide their own size differ in the space they need.")
def judge_sizes(sizes: Sequence[KeptSizes]) -> Finding:
    """The sizes that OO, DREP, SEP, OEP and PEP keep are compared with the fixed size.

    A method supports the claim if the 95 % interval of its mean size, over the data sets of the
    tables, is more than a tenth above or below the number of members that the other methods keep.
    It contradicts the claim if the interval is within this tenth. The claim holds if three quarters
    of the methods support it and does not hold if more than a quarter contradict it.
    """
    tested = [(item, item.mean_excess) for item in sizes]
    n_for = n_against = 0
    texts = []
    for item, excess in tested:
        tolerance = _TOLERANCE * item.fixed_size
        text = f"{method_label(item.method)} {np.mean(item.row_means):.1f}"
        if excess is not None:
            low, high = excess.interval()
            n_for += low > tolerance or high < -tolerance
            n_against += -tolerance <= low and high <= tolerance
            text += f" ({item.fixed_size + low:.1f} to {item.fixed_size + high:.1f})"
        texts.append(text)
    finding = weigh_settings(len(sizes), n_for, n_against, "methods")
    if not sizes:
        return finding
    numbers = {
        item.method: dict(zip(item.sizes_by_row, item.row_means, strict=True)) for item in sizes
    }
    description = (
        f"Mean number of members kept, where other methods keep {sizes[0].fixed_size}: "
        f"{', '.join(texts)}."
    )
    return finding.with_details(description, kept=numbers)


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
