"""Confusion matrices and who lost: tables with shades, which need no script."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

from secateurs._text import signed
from secateurs.report._html import table

Plain = dict[str, Any]
Matrix = Sequence[Sequence[int]]


def confusion_tables(facts: Plain) -> str:
    """Draw the matrices of all and of the kept members, and what changed."""
    labels = [facts["labels"][place] for place in facts["classes"]]
    whole, kept = facts["whole"], facts["kept"]
    change = [
        [after - before for before, after in zip(*rows, strict=True)]
        for rows in zip(whole, kept, strict=True)
    ]
    cut = ""
    if len(labels) < facts["n_classes"]:
        cut = f" Shown are the {len(labels)} of {facts['n_classes']} classes that changed the most."
    drawn = "".join(
        _matrix(title, labels, matrix, facts["rows"], shade)
        for title, matrix, shade in (
            ("All members", whole, _shade_count),
            ("Kept", kept, _shade_count),
            ("Change", change, _shade_change),
        )
    )
    return (
        f"<p>Rows are true classes, columns predicted ones, on rows held out; classes that changed "
        f"most come first.{cut}</p><div class='confusion'><label class='screen'>"
        f"<input type='checkbox' id='normalised'> as shares of the true class</label>"
        f"<div class='matrices'>{drawn}</div></div>"
    )


def _matrix(
    title: str, labels: Sequence[str], matrix: Matrix, rows: Sequence[int], shade: Any
) -> str:
    head = "".join(f"<th scope='col' title='{escape(name)}'>{escape(name)}</th>" for name in labels)
    body = ""
    for place, (name, line) in enumerate(zip(labels, matrix, strict=True)):
        cells = "".join(
            _cell(value, rows[place], shade(value, rows[place], place == column), title == "Change")
            for column, value in enumerate(line)
        )
        body += f"<tr><th scope='row' title='{escape(name)}'>{escape(name)}</th>{cells}</tr>"
    return (
        f"<div class='scroll' role='region' tabindex='0' aria-label='Confusion matrix: {title}'>"
        f"<table class='matrix'><caption>{title}</caption><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: int, n_rows: int, shade: str, change: bool) -> str:
    part = 100 * value / n_rows if n_rows else 0.0
    count = signed(value, 0) if change and value else f"{value:,}" if value else "·"
    percent = (signed(part, 1) if change else f"{part:.1f}") + " %" if value else "·"
    return (
        f"<td style='{shade}'><span class='count'>{count}</span>"
        f"<span class='part'>{percent}</span></td>"
    )


def _shade_count(value: int, n_rows: int, diagonal: bool) -> str:
    part = value / n_rows if n_rows else 0.0
    colour = "--accent" if diagonal else "--bad"
    strength = 55 * part if diagonal else min(55.0, 250 * part)
    return _shade(colour, strength)


def _shade_change(value: int, n_rows: int, diagonal: bool) -> str:
    part = value / n_rows if n_rows else 0.0
    return _shade("--good" if (part > 0) == diagonal else "--bad", min(60.0, 700 * abs(part)))


def _shade(colour: str, strength: float) -> str:
    if strength < 0.5:
        return ""
    return f"background:color-mix(in srgb,var({colour}) {strength:.0f}%,transparent)"


def loss_tables(facts: Plain) -> str:
    """Draw rows lost and won by class, and by how many members are right."""
    shares = facts["shares"]
    groups = [f"{low:.0%} to {high:.0%}".replace("%", " %") for low, high in pairwise(shares)]
    total_lost, total_won = sum(facts["by_class"]["lost"]), sum(facts["by_class"]["won"])
    by_class = sorted(
        _lines(facts["labels"], facts["by_class"]), key=lambda line: (-line[2], line[3])
    )
    return (
        f"<p>{total_lost:,} rows that all members together had right are now wrong; {total_won:,} "
        "that they had wrong are now right. Counts only: no row is in this page.</p>"
        "<div class='side-by-side'>"
        + _loss_table("true class", by_class, "By class, most lost first")
        + _loss_table(
            "members right",
            _lines(groups, facts["by_share"]),
            "By the share of all members that are right",
        )
        + "</div>"
    )


def _lines(names: Sequence[str], counts: Plain) -> list[list[Any]]:
    columns = (names, counts["rows"], counts["lost"], counts["won"])
    return [list(line) for line in zip(*columns, strict=True)]


def _loss_table(name: str, lines: Sequence[Sequence[Any]], caption: str) -> str:
    rows = [[*line, signed(line[3] - line[2], 0)] for line in lines]
    headings = [name, "rows", "lost", "won", "balance"]
    return table(headings, rows, caption=caption, numeric=(1, 2, 3, 4))
