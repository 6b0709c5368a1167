"""Tables as text, CSV, Markdown and LaTeX."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from secateurs.paper._mismatches import Mismatch, mismatches
from secateurs.paper._paper import CONTROL, METHODS, label
from secateurs.paper._tables import Entry, Table, TableRow, column_name

NOTHING = "–"
LEGEND = (
    "The best of the ten methods is marked: highest mean, then lowest standard deviation (of a "
    "sample, as in the paper).",
    "‡ and † mark methods that DOMEP is significantly better and worse than, by a two-tailed "
    "paired t-test at 5 % over the folds; W/T/L counts how often DOMEP wins, ties and loses.",
    "Ranks come from means to two decimals, as printed; equal ones share their ranks. Random, Best "
    "and All (random members, the most accurate members, the whole ensemble) take no part in them.",
)
_CSV_HEADINGS = (
    *("table", "row", "dataset", "reading", "learner", "established", "method", "n_folds"),
    *("mean", "std", "best", "mark", "p_value", "paper_mean", "paper_std", "paper_mark"),
    *("difference", "paper_deviations", "average_rank", "win_tie_loss"),
)
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"±": r"$\pm$", "‡": r"$\ddagger$", "†": r"$\dagger$", "λ": r"$\lambda$", "–": "--"}


@dataclass(frozen=True)
class Grid:
    """Headings and lines of text; ``rules`` are the lines that a rule is drawn above."""

    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    rules: frozenset[int] = frozenset()


def main_grid(table: Table, show: Callable[[Entry], str]) -> Grid:
    """Lay a table out as the paper does: data sets, then W/T/L and average ranks."""
    lines = [(row.name, *(show(row.entries[c]) for c in table.columns)) for row in table.rows]
    counts = (
        NOTHING if column == CONTROL else str(table.win_tie_loss(column))
        for column in table.columns
    )
    ranks = (number(table.ranks.get(column)) for column in table.columns)
    lines += [("t-test (W/T/L)", *counts), ("Average rank", *ranks)]
    headings = ("Data set", *(column_name(column) for column in table.columns))
    return Grid(headings, tuple(lines), frozenset([len(table.rows)]))


def comparison_grid(table: Table) -> Grid | None:
    """Lay out our means beside the paper's, ten methods; None where no row is the paper's."""
    if not any(entry.paper for row in table.rows for entry in row.entries.values()):
        return None
    lines: list[tuple[str, ...]] = []
    rules = []
    for row in table.rows:
        if any(row.entries[method].paper for method in METHODS):
            rules.append(len(lines))
            lines += _comparison(row)
    rules.append(len(lines))
    ours, theirs = table.ranks, table.paper_ranks
    paper_counts = (NOTHING if m == CONTROL else str(table.paper_win_tie_loss(m)) for m in METHODS)
    counts = (NOTHING if m == CONTROL else str(table.win_tie_loss(m)) for m in METHODS)
    lines += [
        ("t-test (W/T/L)", "ours", *counts),
        ("", "paper", *paper_counts),
        ("Average rank", "ours", *(number(ours.get(method)) for method in METHODS)),
        ("", "paper", *(number(theirs[method]) for method in METHODS)),
    ]
    headings = ("Data set", "", *(label(method) for method in METHODS))
    return Grid(headings, tuple(lines), frozenset(rules[1:]))


def _comparison(row: TableRow) -> list[tuple[str, ...]]:
    entries = [row.entries[method] for method in METHODS]
    theirs = (
        f"{e.paper.mean:.2f}±{e.paper.std:.2f}{e.paper.mark}" if e.paper else "" for e in entries
    )
    if not any(entry.folds for entry in entries):
        return [(row.name, "paper", *theirs)]
    return [
        (row.name, "ours", *(plain(entry) for entry in entries)),
        ("", "paper", *theirs),
        ("", "difference", *(number(entry.difference, sign=True) for entry in entries)),
        ("", "in paper's std", *(distance(row.deviations(m)) for m in METHODS)),
    ]


def number(value: float | None, decimals: int = 2, *, sign: bool = False) -> str:
    """Write a number, and a dash where there is none."""
    if value is None or math.isnan(value):
        return NOTHING
    rounded = round(value, decimals) + 0.0  # no negative zero
    return f"{rounded:{'+' if sign else ''}.{decimals}f}".replace("-", "−")


def distance(value: float) -> str:
    """Write a distance in standard deviations."""
    return number(value, 1 if abs(value) < 100 else 0, sign=True)


def plain(entry: Entry, best: str = "") -> str:
    """Write an entry: mean±std, a sign for the best, a mark of the t-test."""
    if not entry.folds:
        return NOTHING
    return f"{entry.mean:.2f}±{number(entry.std)}{best if entry.bold else ''}{entry.mark}"


def mismatch_lines(table: Table) -> list[str]:
    """Say which rows are not like the paper's."""
    return [say_mismatch(found) for found in mismatches(table)]


def say_mismatch(found: Mismatch) -> str:
    """Say how a row differs from the paper's, and why."""
    reason = found.reason or "No reason found yet."
    if not found.established:
        reason += " How the paper read these data is not established."
    return (
        f"{found.row}: {', '.join(found.methods)} more than two of the paper's standard deviations "
        f"away, the furthest {distance(found.furthest)}; on average "
        f"{number(found.difference, sign=True)} points. {reason}"
    )


def as_text(table: Table) -> str:
    """Write a table to be read in a terminal."""
    parts = [f"{table.title}\n{table.caption}\n"]
    parts.append(aligned(main_grid(table, lambda entry: plain(entry, "*"))))
    parts.append("".join(f"{line}\n" for line in ("* is the best of a row.", *LEGEND)))
    comparison = comparison_grid(table)
    if comparison:
        parts.append(f"Ours and the paper's\n\n{aligned(comparison)}")
    parts += _listed("Not like the paper", mismatch_lines(table))
    parts += _listed("Missing", table.notes())
    return "\n".join(parts)


def as_markdown(table: Table) -> str:
    """Write a table as Markdown."""

    def show(entry: Entry) -> str:
        text = plain(entry).removesuffix(entry.mark)
        return f"**{text}**{entry.mark}" if entry.bold else text + entry.mark

    parts = [markdown_head(table.title, table.caption), piped(main_grid(table, show))]
    parts.append("".join(f"{line}  \n" for line in LEGEND))
    comparison = comparison_grid(table)
    if comparison:
        parts += ["### Ours and the paper's\n", piped(comparison)]
    for heading, lines in (
        ("Not like the paper", mismatch_lines(table)),
        ("Missing", table.notes()),
    ):
        if lines:
            parts.append(f"### {heading}\n\n" + "".join(f"- {_pipe(line)}\n" for line in lines))
    return "\n".join(parts)


def as_latex(table: Table) -> str:
    """Write a table as LaTeX; it needs the package booktabs."""

    def show(entry: Entry) -> str:
        text = plain(entry).removesuffix(entry.mark)
        return f"\x02{text}\x03{entry.mark}" if entry.bold else text + entry.mark

    parts = ["% Needs \\usepackage{booktabs}.\n"]
    parts.append(tabular(main_grid(table, show), f"{table.title}. {table.caption}", table.name))
    comparison = comparison_grid(table)
    if comparison:
        caption = f"{table.title}: ours and the paper's."
        parts.append(tabular(comparison, caption, f"{table.name}-paper"))
    for line in (*mismatch_lines(table), *table.notes()):
        parts.append(f"% {' '.join(line.split())}\n")
    return "\n".join(parts)


def as_csv(table: Table) -> str:
    """Write every figure of a table, one line for each data set and method."""
    lines = [_csv_line(table, row, column) for row in table.rows for column in table.columns]
    return csv_text(_CSV_HEADINGS, lines)


def csv_text(headings: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Write lines as CSV; numbers to six decimals, gaps as empty cells."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_csv_cell(value) for value in line] for line in lines)
    return buffer.getvalue()


def _csv_line(table: Table, row: TableRow, column: str) -> tuple[Any, ...]:
    source, entry = row.source, row.entries[column]
    paper = (entry.paper.mean, entry.paper.std, entry.paper.mark) if entry.paper else (None,) * 3
    return (
        *(table.name, row.name, source.dataset, source.reading, source.learner),
        *(source.established, column_name(column), len(entry.folds), entry.mean, entry.std),
        *(entry.bold, entry.mark, entry.test.p_value if entry.test else None, *paper),
        *(entry.difference, row.deviations(column), table.ranks.get(column)),
        None if column == CONTROL else str(table.win_tie_loss(column)),
    )


def _csv_cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return int(value)
    return f"{value:.6f}" if isinstance(value, float) else value


def aligned(grid: Grid) -> str:
    """Write a grid for a terminal, columns under each other."""
    table = [grid.headings, *grid.lines]
    widths = [max(len(line[column]) for line in table) for column in range(len(grid.headings))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    shown = []
    for place, line in enumerate(table):
        if place == 1 or place - 1 in grid.rules:
            shown.append(rule)
        first, *rest = (text.rjust(width) for text, width in zip(line, widths, strict=True))
        shown.append("  ".join([first.strip().ljust(widths[0]), *rest]).rstrip())
    return "".join(f"{line}\n" for line in shown)


def markdown_head(title: str, caption: str) -> str:
    """Write what stands above a table of Markdown."""
    return f"## {_pipe(title)}\n\n{_pipe(caption)}\n"


def piped(grid: Grid) -> str:
    """Write a grid as a table of Markdown."""
    aligned = ["---", *["---:"] * (len(grid.headings) - 1)]
    lines = [grid.headings, aligned, *grid.lines]
    return "".join(f"| {' | '.join(_pipe(text) for text in line)} |\n" for line in lines)


def _pipe(text: str) -> str:
    """Keep foreign names from breaking a table of Markdown or becoming HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def tabular(grid: Grid, caption: str, name: str) -> str:
    """Write a grid as a table of LaTeX, with rules of the package booktabs."""
    shown = []
    for place, line in enumerate(grid.lines):
        if place in grid.rules:
            shown.append("\\midrule")
        shown.append(f"{' & '.join(_tex(text) for text in line)} \\\\")
    return "\n".join(
        [
            "\\begin{table*}\n\\centering\n\\scriptsize\n\\setlength{\\tabcolsep}{2pt}",
            f"\\caption{{{_tex(caption)}}}\\label{{tab:{name}}}",
            f"\\begin{{tabular}}{{l{'c' * (len(grid.headings) - 1)}}}\n\\toprule",
            f"{' & '.join(_tex(text) for text in grid.headings)} \\\\\n\\midrule",
            *shown,
            "\\bottomrule\n\\end{tabular}\n\\end{table*}\n",
        ]
    )


def _tex(text: str) -> str:
    escaped = "".join(_LATEX.get(letter, letter) for letter in text)
    return escaped.replace("−", "$-$").replace("\x02", "\\textbf{").replace("\x03", "}")


def _listed(heading: str, lines: Sequence[str]) -> list[str]:
    return [f"{heading}\n" + "".join(f"- {line}\n" for line in lines)] if lines else []
