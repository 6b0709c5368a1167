"""Render pages and tables from Jinja templates that escape all values by default."""

import base64
import hashlib
import math
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from secateurs.text_format import NOTHING, format_count, format_signed
from secateurs.thread_safety import hold_over_forks

_FOLDERS = [("secateurs.report", "templates"), ("secateurs.report", "sections")]


class _Environment(Environment):
    """Templates that are loaded by one thread at a time, and not during a fork.

    A child that is forked while another thread loads a template would inherit Jinja's locks in the
    locked state, and wait for them forever.
    """

    def get_template(self, *args: Any, **options: Any) -> Template:
        """Load a template."""
        with _loading_lock:
            return super().get_template(*args, **options)


_loading_lock = threading.RLock()  # loading a template loads those that it extends
hold_over_forks(_loading_lock)


@cache
def template_environment(package: str = "secateurs.report") -> Environment:
    """Return the templates of a package; they can extend the templates of this package.

    Examples
    --------
    >>> from secateurs.report.html_templates import template_environment
    >>> template = template_environment().from_string("{{ name }}: {{ change|signed(2) }}")
    >>> template.render(name="<b>", change=1)
    '&lt;b&gt;: +1.00'
    """
    folders = dict.fromkeys([(package, "templates"), *_FOLDERS])
    environment = _Environment(
        loader=ChoiceLoader([PackageLoader(*folder) for folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": format_cell,
        "signed": format_signed,
        "counted": format_count,
        "titled": capitalise_first,
    }
    return environment


def render_document(
    template: str,
    title: str,
    *,
    package: str = "secateurs.report",
    script: str = "",
    style: str = "",
    **values: object,
) -> str:
    """Render a template that extends ``document.html`` to a self-contained page.

    The template is in the folder ``templates`` of the package and fills the block ``body``. Script
    and style are added to those that all pages share; the content security policy of the page
    allows only these scripts. Values are escaped unless they are `Markup` or an `HtmlTable`.

    Examples
    --------
    >>> from secateurs.report.html_templates import render_document
    >>> page = render_document("document.html", "Ants & bees", body="Hello")
    >>> "<title>Ants &amp; bees</title>" in page
    True
    """
    scripts = [text for text in (read_resource("theme.js"), script) if text]
    if any("</script" in text for text in scripts):
        raise ValueError(
            "A script of a page contains </script, which would end it. Write <\\/script."
        )
    values |= {
        "title": title,
        "style": Markup(read_resource("shared.css") + style),
        "scripts": [Markup(text) for text in scripts],
        "digests": [Markup(f"'sha256-{_script_digest(text)}'") for text in scripts],
    }
    return template_environment(package).get_template(template).render(values)


@dataclass(frozen=True)
class HtmlTable:
    """A table that is rendered by ``{{ table }}`` in a template.

    Examples
    --------
    >>> from secateurs.report.html_templates import HtmlTable
    >>> "1,234" in HtmlTable(["set", "rows"], [["<b>", 1234]]).__html__()
    True
    """

    headings: Sequence[str]
    # Numbers (see `format_cell`), or text, which is escaped unless it is `Markup`. The first cell
    # of a row is its heading.
    rows: Sequence[Sequence[object]]
    caption: str | None = None
    numeric: Collection[int] | None = None  # right-aligned columns; default: columns without text
    keys: Sequence[Sequence[object]] | None = None  # sort keys of all cells; None: not sortable
    sorted_by: tuple[int, str] | None = None  # column, "ascending" or "descending"
    marked: Collection[int] = ()  # highlighted rows

    def __post_init__(self) -> None:
        if any(len(row) != len(self.headings) for row in self.rows):
            raise ValueError(f"The rows of a table need {len(self.headings)} cells each.")

    def __html__(self) -> Markup:
        """Return the table as HTML; markupsafe and Jinja call this method."""
        numeric = self.numeric
        if numeric is None:
            texts = {n for row in self.rows for n, cell in enumerate(row) if isinstance(cell, str)}
            numeric = set(range(len(self.headings))) - texts
        template = template_environment().get_template("table.html")
        return Markup(template.render(vars(self) | {"numeric": numeric}))


def format_cell(value: object) -> str:
    """Return a cell as text: thousands separators, four decimals, a dash for missing values."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"


def format_decimals(value: float | None, places: int) -> str:
    """Return a number with the given number of decimals; a dash for None."""
    return NOTHING if value is None else f"{value:,.{places}f}"


def capitalise_first(text: str) -> str:
    """Return text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def format_with_error(value: float, error: float | None) -> str:
    """Return a number followed by ± its error, if there is an error."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def format_interval(low: float | None, high: float | None) -> str:
    """Return an interval as text; empty if it is unknown, or zero at both ends."""
    if low is None or high is None or low == high == 0:
        return ""
    return f"{format_signed(low)} to {format_signed(high)}"


def notes_list(notes: Sequence[str]) -> Markup:
    """Return notes as an HTML list."""
    return Markup(template_environment().get_template("notes.html").render(notes=notes))


@cache
def read_resource(name: str) -> str:
    """Return the content of a file of this package."""
    return resources.files("secateurs.report").joinpath(name).read_text("utf-8")


def _script_digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
