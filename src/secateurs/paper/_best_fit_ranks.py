"""Table of ranks with the setting that fits the paper's printed figures best."""

from collections.abc import Mapping
from dataclasses import replace

from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_number
from secateurs.paper._accuracy_tables import AccuracyTable, combined_scores
from secateurs.paper._plan import Setting
from secateurs.paper._plan_files import load_plan
from secateurs.paper._printed_fit import setting_fits, with_printed_accuracies
from secateurs.paper._printed_tables import PAPER_METHODS, TABLE_OF_LEARNER, TABLES, method_label

_OUR_SETTING = "100/20"  # numbers of members and of kept members in our tables


def best_fit_ranks_sheet(tables: Mapping[Setting, AccuracyTable]) -> Sheet | None:
    """Return the table of average ranks, the paper's and ours with the best-fitting setting.

    None if fewer than two settings have a printed row in common.
    """
    fits = setting_fits(tables)
    if not fits:
        return None
    best = fits[0].name
    sides = {
        f"ours, {fit.name}": _split_by_paper_table(tables[fit.setting])
        for fit in fits
        if fit.name in (best, _OUR_SETTING)
    }
    ours = sides[f"ours, {best}"]
    blocks = {
        table.title: {"paper": table.paper_scores}
        | {side: split[index].scores for side, split in sides.items()}
        for index, table in enumerate(ours)
    }
    blocks["All tables"] = {"paper": combined_scores(ours, paper=True)} | {
        side: combined_scores(split) for side, split in sides.items()
    }
    numbers: list[tuple[object, ...]] = []
    shown = []
    for title, block in blocks.items():
        filled = {side: scores for side, scores in block.items() if len(scores)}
        ranks = {side: ours[0].ranks_of(scores).values() for side, scores in filled.items()}
        numbers += [(title, side, len(filled[side]), *ranks[side]) for side in filled]
        lines = [
            (side, str(len(filled[side])), *map(format_number, ranks[side])) for side in filled
        ]
        shown.append([("" if n else title, *line) for n, line in enumerate(lines)])
    caption = (
        "Average ranks of the ten methods. Of all settings (members and how many are kept), "
        f"{best} fits the printed accuracies best."
    )
    headings = ("Table", "", "Rows", *map(method_label, PAPER_METHODS))
    title = "Ranks under the setting that fits the printed figures best"
    text = csv_text(("table", "side", "data_sets", *PAPER_METHODS), numbers)
    name = tables[fits[0].setting].name
    return Sheet(f"{name}-ranks", title, caption, Grid.of_blocks(headings, shown), text)


def _split_by_paper_table(table: AccuracyTable) -> list[AccuracyTable]:
    """Split a table with the rows of all the paper's tables into these tables."""
    parts = []
    for name in TABLES:
        rows = (row for row in table.rows if TABLE_OF_LEARNER.get(row.source.learner) == name)
        printed = tuple(map(with_printed_accuracies, rows))
        parts.append(replace(table, name=name, title=load_plan(name).title, rows=printed))
    return parts
