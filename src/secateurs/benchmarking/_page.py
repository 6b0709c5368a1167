"""Pages of results and the files beside them: sections of text, tables and figures."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from secateurs.benchmarking._drawing import Picture, render
from secateurs.benchmarking._table_text import (
    BOLD,
    PLAIN,
    Grid,
    Sheet,
    as_latex,
    as_markdown,
    as_text,
    csv_text,
)
from secateurs.persistence._files import write_file
from secateurs.report._templates import Table, document, environment

_PACKAGE = "secateurs.benchmarking"


@dataclass(frozen=True)
class Section:
    """A part of a page: its title, and pieces of HTML, as `piece` and `Table` make them.

    What stands in parentheses at the end of the title is left out of links to it.
    """

    title: str
    pieces: Sequence[Any]

    @property
    def link(self) -> str:
        """The title as the text of a link."""
        return re.sub(r" \([^()]*\)$", "", self.title)

    @property
    def anchor(self) -> str:
        """The title as the target of a link."""
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower()))


def piece(kind: str, *values: Any, **options: Any) -> Markup:
    """Return a piece of HTML, by the name of its macro in ``pieces.html``; values are escaped.

    Examples
    --------
    >>> from secateurs.benchmarking._page import piece
    >>> str(piece("paragraph", "Ants & bees", note=True)).strip()
    '<p class="note">Ants &amp; bees</p>'
    """
    macros: Any = environment(_PACKAGE).get_template("pieces.html").module
    return Markup(getattr(macros, kind)(*values, **options))


def make_page(title: str, intro: Sequence[Any], sections: Sequence[Section]) -> str:
    """Return a page as HTML: one file that needs nothing else."""
    style = (files(_PACKAGE) / "templates" / "results.css").read_text("utf-8")
    return document(
        "results.html", title, package=_PACKAGE, style=style, intro=intro, sections=sections
    )


def figures(pictures: Iterable[Picture], drawn: Mapping[str, bytes]) -> list[Markup]:
    """Return pictures, drawn as SVG, as one piece; none without any."""
    shown = [
        vars(picture)
        | {
            "data": base64.b64encode(drawn[picture.name]).decode(),
            "numbers": Table(picture.headings, picture.rows, picture.title),
        }
        for picture in pictures
    ]
    return [piece("figures", shown)] if shown else []


def wide(grid: Grid, caption: str) -> Markup:
    """Return a table of scores as a piece."""
    rows = [[_cell(text) for text in line] for line in grid.lines]
    table = Table(grid.headings, rows, caption, range(1, len(grid.headings)))
    return piece("boxed", table, "wide")


def _cell(text: str) -> str:
    if not text.startswith(BOLD):
        return text
    best, _, mark = text.removeprefix(BOLD).partition(PLAIN)
    return Markup("<b>{}</b>{}").format(best, mark)


def sheet_files(sheets: Iterable[Sheet]) -> dict[str, bytes]:
    """Return tables as files: text, Markdown, LaTeX and CSV."""
    made: dict[str, bytes] = {}
    for sheet in sheets:
        written = {"txt": as_text(sheet), "md": as_markdown(sheet), "tex": as_latex(sheet)}
        for kind, text in (written | {"csv": sheet.csv}).items():
            made[f"tables/{sheet.name}.{kind}"] = text.encode()
    return made


def picture_files(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """Return pictures as files: PNG, SVG, and their numbers as CSV."""
    made: dict[str, bytes] = {}
    for picture in pictures:
        numbers = csv_text(picture.headings, picture.rows).encode()
        for kind, content in (render(picture) | {"csv": numbers}).items():
            made[f"figures/{picture.name}.{kind}"] = content
    return made


def write_all(folder: Path, made: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, each whole or not at all; return their paths."""
    for name, content in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    return [folder / name for name in made]
