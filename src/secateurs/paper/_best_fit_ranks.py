"""Ranks of the paper's tables under the setting that fits its printed figures best."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_number
from secateurs.paper._accuracy_tables import AccuracyTable, combined_scores
from secateurs.paper._plan import Setting
from secateurs.paper._plan_files import load_plan
from secateurs.paper._printed_fit import setting_fits, with_printed_accuracies
from secateurs.paper._printed_tables import PAPER_METHODS, TABLE_OF_LEARNER, TABLES, method_label

_USUAL = "100/20"  # members and how many are kept, in our tables


def best_fit_ranks_sheet(tables: Mapping[Setting, AccuracyTable]) -> Sheet | None:
    """Show the ranks of the paper's tables, the paper's and ours under the best-fitting setting.

    Parameters
    ----------
    tables : mapping of Setting to AccuracyTable
        Those of a plan with several settings and the rows of the paper's tables.

    Returns
    -------
    Sheet or None
        None where fewer than two settings have a printed row in common.
    """
    fits = setting_fits(tables)
    if not fits:
        return None
    best = fits[0].name
    sides = {
        f"ours, {fit.name}": _split_by_paper_table(tables[fit.setting])
        for fit in fits
        if fit.name in (best, _USUAL)
    }
    ours = sides[f"ours, {best}"]
    blocks = {
        table.title: {"paper": table.paper_scores}
        | {side: split[place].scores for side, split in sides.items()}
        for place, table in enumerate(ours)
    }
    blocks["All tables"] = {"paper": combined_scores(ours, paper=True)} | {
        side: combined_scores(split) for side, split in sides.items()
    }
    lines: list[list[tuple[Any, ...]]] = [
        [
            (title, side, len(scores), *ours[0].ranks_of(scores).values())
            for side, scores in block.items()
            if len(scores)
        ]
        for title, block in blocks.items()
    ]
    shown = [[_format_ranks_line(n == 0, *line) for n, line in enumerate(block)] for block in lines]
    caption = (
        "Average ranks of the ten methods. Of all settings (members and how many are kept), "
        f"{best} fits the printed accuracies best."
    )
    headings = ("Table", "", "Data sets", *map(method_label, PAPER_METHODS))
    title = "Ranks under the setting that fits the printed figures best"
    text = csv_text(
        ("table", "side", "data_sets", *PAPER_METHODS), [line for block in lines for line in block]
    )
    name = tables[fits[0].setting].name
    return Sheet(f"{name}-ranks", title, caption, Grid.of_blocks(headings, shown), text)


def _format_ranks_line(
    first: bool, title: str, side: str, count: int, *ranks: float
) -> tuple[str, ...]:
    return (title if first else "", side, str(count), *map(format_number, ranks))


def _split_by_paper_table(table: AccuracyTable) -> list[AccuracyTable]:
    """Return the paper's tables out of one that has the rows of all."""
    found = []
    for name in TABLES:
        rows = (row for row in table.rows if TABLE_OF_LEARNER.get(row.source.learner) == name)
        beside = tuple(map(with_printed_accuracies, rows))
        found.append(replace(table, name=name, title=load_plan(name).title, rows=beside))
    return found
