"""Render pages of results, and the files of their tables and figures."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

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
    """A section of a page: its title, and its pieces of HTML."""

    title: str
    pieces: Sequence[Markup | HtmlTable]

    @property
    def link_text(self) -> str:
        """The title without parentheses at its end, as the text of a link."""
        return re.sub(r" \([^()]*\)$", "", self.title)

    @property
    def anchor(self) -> str:
        """The title as the target of a link."""
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower()))


def html_piece(kind: str, *values: object, **options: object) -> Markup:
    """Return a piece of HTML from a macro of ``pieces.html``; values are escaped.

    Examples
    --------
    >>> from secateurs.benchmarking.results_page import html_piece
    >>> str(html_piece("paragraph", "Ants & bees", note=True)).strip()
    '<p class="note">Ants &amp; bees</p>'
    """
    macros = template_environment(_PACKAGE).get_template("pieces.html").module
    return Markup(getattr(macros, kind)(*values, **options))


def make_page(
    title: str, intro: Sequence[Markup | HtmlTable], sections: Sequence[PageSection]
) -> str:
    """Return a page of results as one self-contained HTML file."""
    style = (files(_PACKAGE) / "templates" / "results.css").read_text("utf-8")
    return render_document(
        "results.html", title, package=_PACKAGE, style=style, intro=intro, sections=sections
    )


def picture_pieces(pictures: Iterable[Picture], drawn: Mapping[str, bytes]) -> list[Markup]:
    """Return pictures as a list with one piece of HTML; empty if there are no pictures."""
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
    """Return a table of scores as a piece of HTML."""
    rows = [[_bold_cell(text) for text in line] for line in grid.lines]
    table = HtmlTable(grid.headings, rows, caption, range(1, len(grid.headings)))
    return html_piece("boxed", table, "wide")


def _bold_cell(text: str) -> str:
    if not text.startswith(BOLD):
        return text
    best, _, mark = text.removeprefix(BOLD).partition(PLAIN)
    return Markup("<b>{}</b>{}").format(best, mark)


def sheet_files(sheets: Iterable[Sheet]) -> dict[str, bytes]:
    """Return the files of tables by path: text, Markdown, LaTeX and CSV."""
    contents: dict[str, bytes] = {}
    for sheet in sheets:
        texts = {"txt": as_text(sheet), "md": as_markdown(sheet), "tex": as_latex(sheet)}
        for suffix, text in (texts | {"csv": sheet.csv}).items():
            contents[f"tables/{sheet.name}.{suffix}"] = text.encode()
    return contents


def picture_files(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """Return the files of pictures by path: PNG, SVG, and their numbers as CSV."""
    contents: dict[str, bytes] = {}
    for picture in pictures:
        numbers = csv_text(picture.headings, picture.rows).encode()
        for suffix, content in (render_picture(picture) | {"csv": numbers}).items():
            contents[f"figures/{picture.name}.{suffix}"] = content
    return contents


def write_folder_files(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, each completely or not at all; return their paths."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    return [folder / name for name in contents]
