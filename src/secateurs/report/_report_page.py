"""Render the page of a report from its data."""

import json

from markupsafe import Markup

from secateurs.report._report_data import report_title
from secateurs.report.html_templates import notes_list, read_resource, render_document
from secateurs.report.sections import SECTIONS, sections_for
from secateurs.typing import JsonObject


def render(data: JsonObject) -> str:
    """Return the page of a report as one self-contained HTML file.

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
    rendered = [
        (section, section.render_html(data))
        for section in sections_for(data["ensemble"]["predicts"])
    ]
    return render_document(
        "page.html",
        f"{report_title(data)}, pruned by {data['chosen']['label']}",
        script="\n".join(map(read_resource, script_names())),
        style=read_resource("page.css"),
        data=data,
        notes=notes_list(data["notes"]),
        heading=report_title(data),
        sections=[
            (section.name, section.format_heading(data), content)
            for section, content in rendered
            if content
        ],
        json=json_for_script(data),
    )


def script_names() -> list[str]:
    """Return the names of the page's scripts, in the order in which they run."""
    drawings = [f"sections/{section.file_stem}.js" for section in SECTIONS if section.is_drawn]
    return ["choose.js", "plots.js", "reading.js", "costs.js", "sorting.js", *drawings, "page.js"]


def json_for_script(data: JsonObject) -> Markup:
    """Return data as JSON that cannot close the script element around it."""
    # Only ASCII: U+2028 and U+2029 would end a line in older JavaScript.
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
