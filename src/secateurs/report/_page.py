"""The page of a report: its sections put together, from the data alone."""

import json

from markupsafe import Markup

from secateurs.report._data import title_of
from secateurs.report._templates import document, notes_list, resource
from secateurs.report.sections import SECTIONS, sections_for
from secateurs.report.sections._section import Plain


def render(data: Plain) -> str:
    """Return the page: one HTML file that needs nothing else.

    Parameters
    ----------
    data : dict
        From `report_data` or `load_run`.

    Returns
    -------
    str

    Examples
    --------
    >>> from secateurs import prune
    >>> from secateurs.report import render, report_data
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> page = render(report_data(prune(votes, y=[0, 0, 1, 1] * 5, keep=2)))
    >>> page.startswith("<!doctype html>")
    True
    """
    drawn = [
        (section, section.html(data)) for section in sections_for(data["ensemble"]["predicts"])
    ]
    return document(
        "page.html",
        f"{title_of(data)}, pruned by {data['chosen']['label']}",
        script="\n".join(map(resource, scripts())),
        style=resource("page.css"),
        data=data,
        notes=notes_list(data["notes"]),
        heading=title_of(data),
        sections=[
            (section.name, section.heading(data), content) for section, content in drawn if content
        ],
        json=as_script(data),
    )


def scripts() -> list[str]:
    """Return the names of the page's scripts, in the order they run."""
    drawings = [f"sections/{section.stem}.js" for section in SECTIONS if section.is_drawn]
    return ["choose.js", "plots.js", "reading.js", "costs.js", "sorting.js", *drawings, "page.js"]


def as_script(data: Plain) -> Markup:
    """Return data as JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # all ASCII
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
