"""Pages and tables from HTML that is escaped already."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from markupsafe import Markup

from secateurs.report import _templates
from secateurs.report._templates import Table


def document(title: str, body: str, *, script: str = "", style: str = "") -> str:
    """Put a body into a whole page."""
    return _templates.document(
        "document.html", title, script=script, style=style, body=Markup(body)
    )


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str | None = None,
    numeric: Collection[int] | None = None,
) -> str:
    """Draw a table, everything in it escaped."""
    return Table(headings, list(rows), caption, numeric).__html__()
