"""Pages and tables from templates that escape by default."""

import base64
import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from secateurs.text_format import NOTHING, format_count, format_signed

_FOLDERS = [("secateurs.report", "templates"), ("secateurs.report", "sections")]


@cache
def template_environment(package: str = "secateurs.report") -> Environment:
    """Return the templates of a package; those of this one are behind them, to be extended.

    Examples
    --------
    >>> from secateurs.report.html_templates import template_environment
    >>> template = template_environment().from_string("{{ name }}: {{ change|signed(2) }}")
    >>> template.render(name="<b>", change=1)
    '&lt;b&gt;: +1.00'
    """
    folders = dict.fromkeys([(package, "templates"), *_FOLDERS])
    made = Environment(
        loader=ChoiceLoader([PackageLoader(*folder) for folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "shown": format_cell,
        "signed": format_signed,
        "counted": format_count,
        "titled": capitalise_first,
    }
    return made


def render_document(
    template: str,
    title: str,
    *,
    package: str = "secateurs.report",
    script: str = "",
    style: str = "",
    **values: Any,
) -> str:
    """Render a template that extends ``document.html``: a page that needs nothing but itself.

    The template stands in the folder ``templates`` of the package and fills the block ``body``.
    Script and style come after those of all pages; the page's content security policy allows these
    scripts and no others. Values are escaped unless they are `Markup` or an `HtmlTable`.

    Examples
    --------
    >>> from secateurs.report.html_templates import render_document
    >>> page = render_document("document.html", "Ants & bees", body="Hello")
    >>> "<title>Ants &amp; bees</title>" in page
    True
    """
    scripts = [text for text in (read_resource("theme.js"), script) if text]
    if any("</script" in text for text in scripts):
        raise ValueError("A script of a page holds </script, which would end it. Write <\\/script.")
    values |= {
        "title": title,
        "style": Markup(read_resource("shared.css") + style),
        "scripts": [Markup(text) for text in scripts],
        "digests": [Markup(f"'sha256-{_script_digest(text)}'") for text in scripts],
    }
    return template_environment(package).get_template(template).render(values)


@dataclass(frozen=True)
class HtmlTable:
    """A table; in a template, ``{{ table }}`` draws it.

    Parameters
    ----------
    headings : sequence of str
        What stands above the columns.
    rows : sequence of sequences
        Text as it is to be shown, escaped unless it is `Markup`, or numbers: see `format_cell`. The first
        cell of a row is its heading.
    caption : str, optional
        What the table is about.
    numeric : collection of int, optional
        Columns to align as numbers. By default, those without text.
    keys : sequence of sequences, optional
        Values of all cells by which readers can sort the rows. By default, they cannot.
    sorted_by : tuple of (int, str), optional
        The column that rows are sorted by, "ascending" or "descending".
    marked : collection of int, optional
        Rows to stand out.

    Examples
    --------
    >>> from secateurs.report.html_templates import HtmlTable
    >>> "1,234" in HtmlTable(["set", "rows"], [["<b>", 1234]]).__html__()
    True
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str | None = None
    numeric: Collection[int] | None = None
    keys: Sequence[Sequence[Any]] | None = None
    sorted_by: tuple[int, str] | None = None
    marked: Collection[int] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.headings) for row in self.rows):
            raise ValueError(f"The rows of a table need {len(self.headings)} cells each.")

    def __html__(self) -> Markup:
        """Return the HTML, as markupsafe and Jinja ask for it."""
        numeric = self.numeric
        if numeric is None:
            texts = {n for row in self.rows for n, cell in enumerate(row) if isinstance(cell, str)}
            numeric = set(range(len(self.headings))) - texts
        template = template_environment().get_template("table.html")
        return Markup(template.render(vars(self) | {"numeric": numeric}))


def format_cell(value: Any) -> str:
    """Return a cell's value as text: thousands apart, four decimals, a dash for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"


def format_decimals(value: float | None, places: int) -> str:
    """Return a number with this many decimals, or a dash."""
    return NOTHING if value is None else f"{value:,.{places}f}"


def capitalise_first(text: str) -> str:
    """Return text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def format_with_error(value: float, error: float | None) -> str:
    """Return a number, and after it how far off it may be."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def format_interval(low: float | None, high: float | None) -> str:
    """Return an interval as text; empty without one, or without width."""
    if low is None or high is None or low == high == 0:
        return ""
    return f"{format_signed(low)} to {format_signed(high)}"


def notes_list(notes: Sequence[str]) -> Markup:
    """Return notes as a list."""
    return Markup(template_environment().get_template("notes.html").render(notes=notes))


@cache
def read_resource(name: str) -> str:
    """Read a file of this package."""
    return resources.files("secateurs.report").joinpath(name).read_text("utf-8")


def _script_digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
