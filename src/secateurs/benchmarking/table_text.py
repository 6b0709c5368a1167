"""Tables as text, CSV, Markdown and LaTeX."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from secateurs.text_format import NOTHING, format_columns

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


def format_number(value: float | None, decimals: int = 2, *, sign: bool = False) -> str:
    """Return a number as text, or a dash where there is none."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:{'+' if sign else ''}z.{decimals}f}".replace("-", "−")


def format_distance(value: float) -> str:
    """Return a distance in standard deviations as text."""
    return format_number(value, 1 if abs(value) < 100 else 0, sign=True)


def as_text(sheet: Sheet) -> str:
    """Return a sheet to be read in a terminal."""
    return _text_templates().get_template("sheet.txt").render(sheet=sheet)


def as_markdown(sheet: Sheet) -> str:
    """Return a sheet as Markdown."""
    return _text_templates().get_template("sheet.md").render(sheet=sheet)


def as_latex(sheet: Sheet) -> str:
    """Return a sheet as LaTeX; it needs the package booktabs."""
    return _text_templates().get_template("sheet.tex").render(sheet=sheet)


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


@cache
def _text_templates() -> Environment:
    """Return the templates of text; their marks leave braces to LaTeX."""
    made = Environment(
        *("<%", "%>", "<<", ">>"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        loader=PackageLoader("secateurs.benchmarking"),
    )
    made.filters |= {"aligned": _align_columns, "pipe": _escape_markdown, "tex": _escape_latex}
    return made


def _align_columns(grid: Grid) -> str:
    lines = [[t.replace(BOLD, "").replace(PLAIN, "*") for t in line] for line in grid.lines]
    heading, *shown = format_columns(grid.headings, lines).splitlines()
    rule = "-" * max(map(len, (heading, *shown)))
    for place in sorted({0, *grid.rules}, reverse=True):
        shown.insert(place, rule)
    return "\n".join((heading, *shown))


def _escape_markdown(text: str) -> str:
    """Keep foreign names from breaking a table of Markdown or becoming HTML."""
    text = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
    return text.replace(BOLD, "**").replace(PLAIN, "**")


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
