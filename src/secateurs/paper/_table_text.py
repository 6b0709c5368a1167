"""Tables as text, CSV, Markdown and LaTeX."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from secateurs._text import NOTHING, columns

BOLD, PLAIN = "\x02", "\x03"  # in a cell: begin and end of what is marked as the best
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"±": r"$\pm$", "‡": r"$\ddagger$", "†": r"$\dagger$", "λ": r"$\lambda$", "–": "--"}
_LATEX |= {"−": "$-$", BOLD: r"\textbf{", PLAIN: "}"}


@dataclass(frozen=True)
class Grid:
    """Headings and lines of text; ``rules`` are the lines that a rule is drawn above."""

    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    rules: frozenset[int] = frozenset()

    @classmethod
    def of_blocks(
        cls, headings: tuple[str, ...], blocks: Sequence[Sequence[tuple[str, ...]]]
    ) -> "Grid":
        """Return a grid of blocks of lines with a rule between any two."""
        rules = itertools.accumulate(len(block) for block in blocks[:-1])
        return cls(headings, tuple(itertools.chain.from_iterable(blocks)), frozenset(rules))


@dataclass(frozen=True)
class Sheet:
    """A table with everything that is printed around it.

    Attributes
    ----------
    name, title, caption : str
        Short name, heading, and what it shows.
    grid : Grid
        The table.
    csv : str
        The numbers, to be read by programs.
    legend : tuple of str
        What its marks mean.
    comparison : Grid or None
        Our numbers beside the paper's.
    notes : mapping of str to list of str
        Remarks, by heading.
    """

    name: str
    title: str
    caption: str
    grid: Grid
    csv: str
    legend: tuple[str, ...] = ()
    comparison: Grid | None = None
    notes: Mapping[str, list[str]] = field(default_factory=dict)


def number(value: float | None, decimals: int = 2, *, sign: bool = False) -> str:
    """Return a number as text, or a dash where there is none."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:{'+' if sign else ''}z.{decimals}f}".replace("-", "−")


def distance(value: float) -> str:
    """Return a distance in standard deviations as text."""
    return number(value, 1 if abs(value) < 100 else 0, sign=True)


def as_text(sheet: Sheet) -> str:
    """Return a sheet to be read in a terminal."""
    parts = [f"{sheet.title}\n{sheet.caption}\n", _aligned(sheet.grid)]
    if sheet.legend:
        parts.append("".join(f"{line}\n" for line in ("* is the best of a row.", *sheet.legend)))
    if sheet.comparison:
        parts.append(f"Ours and the paper's\n\n{_aligned(sheet.comparison)}")
    for heading, lines in sheet.notes.items():
        parts.append(f"{heading}\n" + "".join(f"- {line}\n" for line in lines))
    return "\n".join(parts)


def as_markdown(sheet: Sheet) -> str:
    """Return a sheet as Markdown."""
    parts = [f"## {_pipe(sheet.title)}\n\n{_pipe(sheet.caption)}\n", _piped(sheet.grid)]
    if sheet.legend:
        parts.append("".join(f"{line}  \n" for line in sheet.legend))
    if sheet.comparison:
        parts += ["### Ours and the paper's\n", _piped(sheet.comparison)]
    for heading, lines in sheet.notes.items():
        parts.append(f"### {heading}\n\n" + "".join(f"- {_pipe(line)}\n" for line in lines))
    return "\n".join(parts)


def as_latex(sheet: Sheet) -> str:
    """Return a sheet as LaTeX; it needs the package booktabs."""
    parts = ["% Needs \\usepackage{booktabs}.\n"] if sheet.legend else []
    parts.append(_tabular(sheet.grid, f"{sheet.title}. {sheet.caption}", sheet.name))
    if sheet.comparison:
        caption = f"{sheet.title}: ours and the paper's."
        parts.append(_tabular(sheet.comparison, caption, f"{sheet.name}-paper"))
    for lines in sheet.notes.values():
        parts += [f"% {' '.join(line.split())}\n" for line in lines]
    return "\n".join(parts)


def csv_text(headings: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return lines as CSV: numbers to six decimals, gaps as empty cells."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_csv_cell(value) for value in line] for line in lines)
    return buffer.getvalue()


def _csv_cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return int(value)
    return f"{value:.6f}" if isinstance(value, float) else value


def _aligned(grid: Grid) -> str:
    lines = [[t.replace(BOLD, "").replace(PLAIN, "*") for t in line] for line in grid.lines]
    heading, *shown = columns(grid.headings, lines).splitlines()
    rule = "-" * max(map(len, (heading, *shown)))
    for place in sorted({0, *grid.rules}, reverse=True):
        shown.insert(place, rule)
    return "".join(f"{line}\n" for line in (heading, *shown))


def _piped(grid: Grid) -> str:
    ruler = ["---", *["---:"] * (len(grid.headings) - 1)]
    lines = [grid.headings, ruler, *grid.lines]
    return "".join(f"| {' | '.join(_pipe(text) for text in line)} |\n" for line in lines)


def _pipe(text: str) -> str:
    """Keep foreign names from breaking a table of Markdown or becoming HTML."""
    text = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
    return text.replace(BOLD, "**").replace(PLAIN, "**")


def _tabular(grid: Grid, caption: str, name: str) -> str:
    lines = [f"{' & '.join(_tex(text) for text in line)} \\\\" for line in grid.lines]
    for place in sorted(grid.rules, reverse=True):
        lines.insert(place, "\\midrule")
    return "\n".join(
        [
            "\\begin{table*}\n\\centering\n\\scriptsize\n\\setlength{\\tabcolsep}{2pt}",
            f"\\caption{{{_tex(caption)}}}\\label{{tab:{name}}}",
            f"\\begin{{tabular}}{{l{'c' * (len(grid.headings) - 1)}}}\n\\toprule",
            f"{' & '.join(_tex(text) for text in grid.headings)} \\\\\n\\midrule",
            *lines,
            "\\bottomrule\n\\end{tabular}\n\\end{table*}\n",
        ]
    )


def _tex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
