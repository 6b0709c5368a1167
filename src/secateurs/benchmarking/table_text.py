"""Write tables as text, CSV, Markdown and LaTeX."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from secateurs.text_format import NOTHING, format_columns

BOLD, PLAIN = "\x02", "\x03"  # enclose the best score in a cell; each format replaces them
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"±": r"$\pm$", "‡": r"$\ddagger$", "†": r"$\dagger$", "λ": r"$\lambda$", "–": "--"}
_LATEX |= {"−": "$-$", BOLD: r"\textbf{", PLAIN: "}"}


@dataclass(frozen=True)
class Grid:
    """The cells of a table."""

    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    rules: frozenset[int] = frozenset()  # indices of lines with a horizontal rule above them

    @classmethod
    def of_blocks(
        cls, headings: tuple[str, ...], blocks: Sequence[Sequence[tuple[str, ...]]]
    ) -> "Grid":
        """Return a grid of blocks of lines, with a rule between two blocks."""
        rules = itertools.accumulate(len(block) for block in blocks[:-1])
        return cls(headings, tuple(itertools.chain.from_iterable(blocks)), frozenset(rules))


@dataclass(frozen=True)
class Sheet:
    """A table with its title, caption, legend and notes."""

    name: str  # short, for file names
    title: str
    caption: str
    grid: Grid
    csv: str  # the numbers, for programs
    legend: tuple[str, ...] = ()  # explains the marks
    comparison: Grid | None = None  # our numbers next to those of the paper
    notes: Mapping[str, list[str]] = field(default_factory=dict)  # remarks by heading


def format_number(value: float | None, decimals: int = 2, *, sign: bool = False) -> str:
    """Return a number as text, or a dash for None and NaN."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:{'+' if sign else ''}z.{decimals}f}".replace("-", "−")


def format_distance(value: float) -> str:
    """Return a distance in standard deviations as text."""
    return format_number(value, 1 if abs(value) < 100 else 0, sign=True)


def as_text(sheet: Sheet) -> str:
    """Return a sheet as text for a terminal."""
    return _text_templates().get_template("sheet.txt").render(sheet=sheet)


def as_markdown(sheet: Sheet) -> str:
    """Return a sheet as Markdown."""
    return _text_templates().get_template("sheet.md").render(sheet=sheet)


def as_latex(sheet: Sheet) -> str:
    """Return a sheet as LaTeX; it needs the package booktabs."""
    return _text_templates().get_template("sheet.tex").render(sheet=sheet)


def csv_text(headings: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV, with six decimals and empty cells for missing values."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_csv_cell(value) for value in line] for line in lines)
    return buffer.getvalue()


def _csv_cell(value: object) -> object:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return int(value)
    return f"{value:.6f}" if isinstance(value, float) else value


@cache
def _text_templates() -> Environment:
    """Return the text templates; their delimiters <% and << leave braces to LaTeX."""
    environment = Environment(
        *("<%", "%>", "<<", ">>"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        loader=PackageLoader("secateurs.benchmarking"),
    )
    environment.filters |= {
        "aligned": _align_columns,
        "pipe": _escape_markdown,
        "tex": _escape_latex,
    }
    return environment


def _align_columns(grid: Grid) -> str:
    lines = [[t.replace(BOLD, "").replace(PLAIN, "*") for t in line] for line in grid.lines]
    heading, *shown = format_columns(grid.headings, lines).splitlines()
    rule = "-" * max(map(len, (heading, *shown)))
    for index in sorted({0, *grid.rules}, reverse=True):
        shown.insert(index, rule)
    return "\n".join((heading, *shown))


def _escape_markdown(text: str) -> str:
    """Escape text so that names cannot break a Markdown table or become HTML."""
    text = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
    return text.replace(BOLD, "**").replace(PLAIN, "**")


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
