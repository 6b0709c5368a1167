"""Pages that need nothing but themselves: the document around a body, and tables."""

import base64
import hashlib
import math
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any

NOTHING = "–"


def document(title: str, body: str, *, script: str = "", style: str = "") -> str:
    """Put a body into a whole page: one file, no request to anywhere, light and dark, printable.

    Parameters
    ----------
    title : str
        Plain text.
    body : str
        HTML, in which foreign text is escaped already.
    script, style : str
        JavaScript and CSS of this page, besides what all pages share.

    Returns
    -------
    str
        The page. Its content security policy lets no script run but these very ones.

    Examples
    --------
    >>> from secateurs.report._html import document
    >>> page = document("Ants & bees", "<p>Hello</p>")
    >>> "<title>Ants &amp; bees</title>" in page
    True
    """
    scripts = [text for text in (resource("theme.js"), script) if text]
    if any("</script" in text for text in scripts):
        raise ValueError("A script of a page holds </script, which would end it. Write <\\/script.")
    allowed = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{resource('shared.css')}{style}</style>\n"
        f"</head>\n<body>\n"
        '<button type="button" id="theme" hidden aria-label="Switch between light and dark">'
        "</button>\n"
        f"{body}\n{''.join(f'<script>{text}</script>' for text in scripts)}\n</body>\n</html>\n"
    )


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str | None = None,
    numeric: Collection[int] | None = None,
) -> str:
    """Draw a table, everything in it escaped; the first cell of a row is its heading.

    Parameters
    ----------
    headings : sequence of str
        What stands above the columns.
    rows : iterable of sequences
        Text as it is to be shown, or numbers: whole ones get their thousands apart, others four
        decimals; None and NaN are shown as a dash.
    caption : str, optional
        What the table is about.
    numeric : collection of int, optional
        Columns to be aligned as numbers. Without it, those that hold no text.

    Returns
    -------
    str
        HTML. Tables that are too wide scroll by themselves, not the page.

    Examples
    --------
    >>> from secateurs.report._html import table
    >>> "1,234" in table(["set", "rows"], [["<b>", 1234]])
    True
    """
    lines = [list(row) for row in rows]
    if numeric is None:
        numeric = [
            column
            for column in range(len(headings))
            if not any(isinstance(line[column], str) for line in lines)
        ]
    css = ['class="number"' if column in numeric else "" for column in range(len(headings))]
    head = "".join(
        f"<th {kind} scope='col'>{escape(text)}</th>"
        for text, kind in zip(headings, css, strict=True)
    )
    body = "".join(f"<tr>{_cells(line, css)}</tr>" for line in lines)
    named = "" if caption is None else f"<caption>{escape(caption)}</caption>"
    label = escape(caption or "table")
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>{named}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def shown(value: Any) -> str:
    """Give a cell's value as text, not escaped."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if float(value).is_integer() and not isinstance(value, float):
        return f"{value:,}"
    return f"{value:,.4f}"


def signed(value: float | None, places: int = 4) -> str:
    """Write a number with its sign, a true minus for negative ones, none for zero."""
    if value is None:
        return NOTHING
    text = f"{value:+.{places}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


@cache
def resource(name: str) -> str:
    """Read a file that lies beside this one."""
    return resources.files("secateurs.report").joinpath(name).read_text("utf-8")


def _cells(line: Sequence[Any], css: Sequence[str]) -> str:
    first, *rest = (f"{kind}>{escape(shown(value))}" for value, kind in zip(line, css, strict=True))
    others = "".join(f"<td {cell}</td>" for cell in rest)
    return f"<th scope='row' {first}</th>{others}"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
