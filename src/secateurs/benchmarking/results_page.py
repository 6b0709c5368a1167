"""Pages of results and the files beside them: sections of text, tables and figures."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from secateurs.benchmarking.pictures import Picture, render_picture
from secateurs.benchmarking.table_text import (
    BOLD,
    PLAIN,
    Grid,
    Sheet,
    as_latex,
    as_markdown,
    as_text,
    csv_text,
)
from secateurs.persistence.atomic_files import write_file
from secateurs.report.html_templates import HtmlTable, render_document, template_environment

_PACKAGE = "secateurs.benchmarking"


@dataclass(frozen=True)
class PageSection:
    """A part of a page: its title, and pieces of HTML, as `html_piece` and `HtmlTable` make them.

    What stands in parentheses at the end of the title is left out of links to it.
    """

    title: str
    pieces: Sequence[Any]

    @property
    def link_text(self) -> str:
        """The title as the text of a link."""
        return re.sub(r" \([^()]*\)$", "", self.title)

    @property
    def anchor(self) -> str:
        """The title as the target of a link."""
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower()))


def html_piece(kind: str, *values: Any, **options: Any) -> Markup:
    """Return a piece of HTML, by the name of its macro in ``pieces.html``; values are escaped.

    Examples
    --------
    >>> from secateurs.benchmarking.results_page import html_piece
    >>> str(html_piece("paragraph", "Ants & bees", note=True)).strip()
    '<p class="note">Ants &amp; bees</p>'
    """
    macros: Any = template_environment(_PACKAGE).get_template("pieces.html").module
    return Markup(getattr(macros, kind)(*values, **options))


def make_page(title: str, intro: Sequence[Any], sections: Sequence[PageSection]) -> str:
    """Return a page as HTML: one file that needs nothing else."""
    style = (files(_PACKAGE) / "templates" / "results.css").read_text("utf-8")
    return render_document(
        "results.html", title, package=_PACKAGE, style=style, intro=intro, sections=sections
    )


def picture_pieces(pictures: Iterable[Picture], drawn: Mapping[str, bytes]) -> list[Markup]:
    """Return pictures, drawn as SVG, as one piece; none without any."""
    shown = [
        vars(picture)
        | {
            "data": base64.b64encode(drawn[picture.name]).decode(),
            "numbers": HtmlTable(picture.headings, picture.rows, picture.title),
        }
        for picture in pictures
    ]
    return [html_piece("figures", shown)] if shown else []


def score_table_piece(grid: Grid, caption: str) -> Markup:
    """Return a table of scores as a piece."""
    rows = [[_bold_cell(text) for text in line] for line in grid.lines]
    table = HtmlTable(grid.headings, rows, caption, range(1, len(grid.headings)))
    return html_piece("boxed", table, "wide")


def _bold_cell(text: str) -> str:
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
        for kind, content in (render_picture(picture) | {"csv": numbers}).items():
            made[f"figures/{picture.name}.{kind}"] = content
    return made


def write_folder_files(folder: Path, made: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, each whole or not at all; return their paths."""
    for name, content in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    return [folder / name for name in made]
