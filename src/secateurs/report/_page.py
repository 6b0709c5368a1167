"""The page of a report, from its data alone."""

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from secateurs.report import _svg, _tables
from secateurs.report._html import document, table
from secateurs.report._matrices import confusion_tables, loss_tables
from secateurs.report._templates import resource

Plain = dict[str, Any]


def render(data: Plain) -> str:
    """Make the page: one HTML file that needs nothing else.

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
    drawn = [(name, title, section(data)) for name, title, section in _SECTIONS]
    sections = [(name, title, content) for name, title, content in drawn if content]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
    body = (
        f"{_header(data)}<nav class='screen' aria-label='Sections'><ul>{links}</ul></nav><main>"
        + "".join(
            f'<section id="{name}"><h2>{title}</h2>{content}</section>'
            for name, title, content in sections
        )
        + f'</main><script type="application/json" id="data">{as_script(data)}</script>'
    )
    title = f"{data['ensemble']['name']}, pruned"
    script = "\n".join(
        resource(name) for name in ("choose.js", "plots.js", "figures.js", "whatif.js", "page.js")
    )
    return document(title, body, script=script, style=resource("page.css"))


def as_script(data: Plain) -> str:
    """Write data as JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # all ASCII
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _header(data: Plain) -> str:
    made, rows = data["made"], data["rows"]
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    facts = [
        ("Made", f"{made['when']} on {made['machine']}"),
        ("With", versions),
        ("Rows chosen on", _hashed(rows["choosing"], rows["choosing_sha256"])),
    ]
    if rows["testing"] is not None:
        facts.append(("Rows tested on", _hashed(rows["testing"], rows["testing_sha256"])))
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    course = data["courses"][data["chosen"]["course"]]
    title = f"{data['ensemble']['name']}, pruned by {course['label']}"
    return (
        f"<header><h1>{escape(title)}</h1><p class='verdict'>{escape(data['verdict'])}</p>"
        f"<p>{escape(data['safety'])}</p>{_tables.notes_list(data['notes'])}"
        f"<details><summary>When, where and on what</summary><dl>{listed}</dl></details></header>"
    )


def _hashed(n_rows: int, digest: str) -> str:
    return f"{n_rows:,}; SHA-256 of the votes on them {digest}"


def _before_after(data: Plain) -> str:
    said = (
        "On test rows, through the models themselves."
        if data["rows"]["testing"] is not None
        else f"Cross-fitted in {data['rows']['n_folds']} parts: members chosen on the other parts."
    )
    return (
        f"{_tables.before_after_table(data['before_after'])}<p class='note'>{said} "
        f"{_vote_note(data)}{_cost_note(data['before_after'])}</p>"
    )


def _cost_note(lines: Sequence[Plain]) -> str:
    """Say why megabytes are missing and what milliseconds are, where there are such."""
    sizes = [line for line in lines if line["figure"].startswith("megabytes")]
    said = ""
    if any(line["before"] is None for line in sizes):
        said += " A dash: all members are too large to be written so for a figure, or cannot be."
    if any(line["timings"] is not None for line in lines):
        said += " Milliseconds are medians on the machine named above, both timed in turns."
    return said


def _vote_note(data: Plain) -> str:
    if data["rows"]["counts_labels"]:
        return "Each member's label counts once; ties go to the lowest class."
    return f"The vote is the ensemble's own: it adds up {escape(data['ensemble']['vote'])}."


def _what_if(data: Plain) -> str:
    axes = [("members", "members")]
    axes += [("bytes", "megabytes")] if data["costs"]["bytes"] else []
    axes += [("ms", "milliseconds a row")] if data["costs"]["ms"] else []
    options = "".join(f'<option value="{key}">{text}</option>' for key, text in axes)
    return (
        '<div id="what-if-tool" class="screen" hidden>'
        "<p>Choose otherwise and see what it would have given. The page makes COMEP's choice "
        f"itself, from the distances of all pairs, and counts votes again.{_sample_note(data)}</p>"
        '<form id="tool-form" class="controls">'
        '<label>Method <select id="method"></select></label>'
        '<label>Keep <output id="keep-shown"></output>'
        '<input id="keep" type="range" min="0"></label>'
        '<label>Diversity λ <output id="weight-shown"></output>'
        '<input id="weight" type="range" min="0"></label>'
        f'<label>Cost <select id="cost">{options}</select></label>'
        '<label>Tolerance <input id="tolerance" type="number" min="0" max="1" step="any"></label>'
        '<button type="button" id="smallest"></button></form>'
        '<div class="outcome" aria-live="polite"><dl id="figures"></dl></div>'
        '<figure><div id="plot-what-if"></div><figcaption>Blue: the current choice, solid on rows '
        "held out, dashed on rows chosen on. Grey: the other methods. Stairs: the best that a cost "
        "buys. Dotted: all members less the tolerance.</figcaption></figure>"
        '<h3>The same by command</h3><div class="copy"><pre id="command"></pre>'
        '<button type="button" id="copy">Copy</button></div><pre id="python"></pre>'
        '<details id="what-if-numbers"><summary>Show numbers</summary><p>Members, in the order of '
        'choice: <span id="what-if-members"></span></p><div class="scroll" id="what-if-table">'
        "</div></details></div><noscript><p class='note'>This section needs scripts; all others do "
        "without.</p></noscript>"
    )


def _sample_note(data: Plain) -> str:
    """Say that votes counted in the page are those of a sample, if they are."""
    some = [facts for facts in (data["choosing"], data["testing"]) if facts is not None]
    if all(facts["n_rows"] == facts["n_all"] for facts in some):
        return ""
    shown = " and ".join(f"{facts['n_rows']:,} of {facts['n_all']:,}" for facts in some)
    return (
        f" There are too many rows for a page: it counts votes on a sample, {shown} rows, classes "
        "in proportion; accuracies on rows held out are of all rows."
    )


def _curve(data: Plain) -> str:
    return (
        "<p>The solid lines are honest: rows held out. The dashed one is on the rows that the "
        "members were chosen on, where nearly every choice looks good.</p>"
        '<figure class="drawn" hidden><div id="plot-curve"></div><div id="legend" class="legend">'
        "</div><figcaption>Accuracy against size. Shaded: 95 % interval of the change against all "
        "members, of the method that pruned. Level: all members. Click a method to hide it; the "
        "axis follows Cost above."
        "</figcaption></figure>"
        f"<noscript><figure>{_svg.curve(data)}<figcaption>Solid: rows held out; dashed: rows "
        "chosen on; level: all members.</figcaption></figure></noscript>"
        f"{_numbers(_tables.curve_table(data))}"
    )


def _leaderboard(data: Plain) -> str:
    lines = data["leaderboard"]
    if lines is None:
        return ""
    return (
        "<p>Of many figures the best is partly luck: that of the first line will be a little lower "
        f"on new rows.</p>{_tables.leaderboard_table(lines)}"
    )


def _kappa_error(data: Plain) -> str:
    if data["kappa_error"]["n_pairs"] == 0:
        return ""
    return (
        "<p>Every point is a pair of members: the further left, the less alike; the lower, the "
        "fewer errors. Good ensembles come from the lower left.</p>"
        '<figure class="drawn" hidden><div id="plot-kappa"></div><figcaption>κ against mean error, '
        "on the rows chosen on. Grey: pairs of all members; blue: pairs of the kept; line: pairs "
        f"that no other one beats.</figcaption></figure>"
        f"{_numbers(_tables.kappa_error_table(data))}"
    )


def _distances(data: Plain) -> str:
    facts = data["distances"]
    some = "" if facts["complete"] else f" Shown are {len(facts['members'])} members."
    return (
        "<p>How differently members vote: normalised variation of information, 0 for members that "
        f"tell each other, 1 for independent ones.{some}</p>"
        '<figure class="drawn" hidden><div id="plot-distances"></div><figcaption>Members in the '
        "order of their clusters; the kept are ticked at the edges. Colours span the 1st to the "
        "99th percentile.</figcaption></figure>"
        f"{_numbers(_tables.distance_table(data))}"
    )


def _steps(data: Plain) -> str:
    return (
        '<figure class="drawn" hidden><div id="plot-steps"></div><figcaption>Accuracy of the vote '
        "after each step (line) and of the member alone (points), on the rows chosen on."
        f"</figcaption></figure>{_numbers(_tables.step_table(data))}"
    )


def _weights(data: Plain) -> str:
    if data["weights"] is None:
        return ""
    keep = data["chosen"]["keep"]
    return (
        f"<p>What another weight λ of diversity against relevance would have given, at {keep:,} "
        "members chosen by COMEP.</p>"
        '<figure class="drawn" hidden><div id="plot-weights"></div><figcaption>Accuracy on rows '
        "held out with the 95 % interval of its change against all members, and below the overlap "
        "(Jaccard) with the members kept.</figcaption></figure>"
        f"{_numbers(_tables.weight_table(data))}"
    )


def _confusion(data: Plain) -> str:
    return confusion_tables(data["confusion"])


def _losses(data: Plain) -> str:
    return loss_tables(data["losses"])


def _reproduce(data: Plain) -> str:
    chosen, made = data["reproduce"], data["made"]
    parameters = data["chosen"]["parameters"].items()
    rows = [[name, str(value)] for name, value in parameters]
    rows += [[f"version of {name}", number] for name, number in made["versions"].items()]
    shell = "" if chosen["shell"] is None else f"<pre>{escape(chosen['shell'])}</pre>"
    return (
        f"{shell}<pre>{escape(chosen['python'])}</pre>"
        f"{table(['', 'value'], rows, caption='Parameters and versions', numeric=())}"
        '<p class="screen"><button type="button" id="download" hidden>All numbers as JSON</button>'
        "</p><p class='note'><code>secateurs report RUN.json</code> makes this page from that "
        "file.</p>"
    )


def _numbers(content: str) -> str:
    return f"<details><summary>Show numbers</summary>{content}</details>"


_SECTIONS: Sequence[tuple[str, str, Callable[[Plain], str]]] = (
    ("before-after", "Before and after", _before_after),
    ("what-if", "What if?", _what_if),
    ("accuracy-size", "Accuracy against size", _curve),
    ("leaderboard", "Leaderboard", _leaderboard),
    ("kappa-error", "Agreement and error", _kappa_error),
    ("distances", "Distances between members", _distances),
    ("steps", "Order of choice", _steps),
    ("weights", "Weight of diversity", _weights),
    ("confusion", "Confusion", _confusion),
    ("losses", "Who lost", _losses),
    ("reproduce", "Do it again", _reproduce),
)
