"""Table: how many members the methods keep that decide their own size; the claim on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from secateurs.benchmarking._table_text import Grid, Sheet, csv_text, number
from secateurs.paper._claims import Finding, claim, weigh
from secateurs.paper._measure import FREE_SIZE
from secateurs.paper._plan import Plan
from secateurs.paper._printed import PAPER_METHODS, TABLES, label
from secateurs.paper._results import results_by_row, where
from secateurs.statistics import Difference, paired_difference

_AROUND = 0.1  # of the number wanted: nearer than that does not matter


@dataclass(frozen=True, eq=False)
class KeptSize:
    """Members that a method keeps.

    Attributes
    ----------
    method : str
        Short name.
    wanted : int
        Number that methods of fixed size keep.
    by_row : dict of str to list of int
        Members kept on each fold and seed, by table and row.
    """

    method: str
    wanted: int
    by_row: dict[str, list[int]]

    @property
    def means(self) -> list[float]:
        """Mean of each row."""
        return [float(np.mean(kept)) for kept in self.by_row.values()]

    @property
    def beyond(self) -> Difference | None:
        """Members kept less those wanted, over rows; None for fewer than two rows."""
        means = self.means
        return paired_difference(means, [self.wanted] * len(means)) if len(means) > 1 else None


def kept_sizes(plans: Sequence[Plan], frame: pd.DataFrame) -> list[KeptSize]:
    """Return what the methods of the paper keep that decide their own size, from its tables."""
    found: dict[str, KeptSize] = {}
    for plan in plans:
        if plan.name not in TABLES:
            continue
        wanted = plan.settings[0].keep
        for name, _, mine in results_by_row(plan, frame):
            for method in PAPER_METHODS:
                kept = where(mine, method=method, variant="library")["n_kept"].dropna()
                if method in FREE_SIZE and len(kept):
                    item = found.setdefault(method, KeptSize(method, wanted, {}))
                    item.by_row[f"{plan.title}: {name}"] = [int(n) for n in kept]
    return [found[method] for method in PAPER_METHODS if method in found]


@claim("sizes", "Methods that decide their own size differ in the space they need.")
def judge_sizes(sizes: Sequence[KeptSize]) -> Finding:
    """Members kept by OO, DREP, SEP, OEP and PEP are compared with what the others keep.

    A method speaks for the claim if the 95 % interval of its mean, over the data sets of the
    tables, lies more than a tenth above or below the number that methods of fixed size keep, and
    against it if it lies within that tenth. Holds if three quarters of the methods speak for it,
    does not hold if more than a quarter speak against it.
    """
    tested = [(item, item.beyond) for item in sizes]
    n_for = n_against = 0
    words = []
    for item, beyond in tested:
        slack = _AROUND * item.wanted
        told = f"{label(item.method)} {np.mean(item.means):.1f}"
        if beyond is not None:
            low, high = beyond.interval()
            n_for += low > slack or high < -slack
            n_against += -slack <= low and high <= slack
            told += f" ({item.wanted + low:.1f} to {item.wanted + high:.1f})"
        words.append(told)
    finding = weigh(len(sizes), n_for, n_against, "methods")
    if not sizes:
        return finding
    numbers = {item.method: dict(zip(item.by_row, item.means, strict=True)) for item in sizes}
    told = f"Members kept, where others keep {sizes[0].wanted}: {', '.join(words)}."
    return finding.adding(told, kept=numbers)


def kept_sheet(sizes: Sequence[KeptSize]) -> Sheet | None:
    """Show how many members those methods keep, row by row.

    Parameters
    ----------
    sizes : sequence of KeptSize
        One per method.

    Returns
    -------
    Sheet or None
        None where nothing was measured.
    """
    if not sizes:
        return None
    rows = list(dict.fromkeys(row for item in sizes for row in item.by_row))
    headings = ("Data set", *(label(item.method) for item in sizes))
    numbers = {
        row: [float(np.mean(i.by_row[row])) if row in i.by_row else None for i in sizes]
        for row in rows
    }
    lines = [(row, *(number(value, 1) for value in values)) for row, values in numbers.items()]
    means = ("Mean", *(number(float(np.mean(item.means)), 1) for item in sizes))
    all_kept = [[n for kept in item.by_row.values() for n in kept] for item in sizes]
    fewest, most = (tuple(str(pick(kept)) for kept in all_kept) for pick in (min, max))
    totals = [means, ("Fewest", *fewest), ("Most", *most)]
    caption = (
        "Members kept by the methods that decide their own size, mean over folds; the others keep "
        f"{sizes[0].wanted}."
    )
    text = csv_text(headings, [(row, *values) for row, values in numbers.items()])
    return Sheet("kept", "Members kept", caption, Grid.of_blocks(headings, [lines, totals]), text)
