"""The results page: verdicts first, then every table and figure, in one file."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from secateurs._text import counted
from secateurs.paper._accuracy_tables import AccuracyTable, all_scores
from secateurs.paper._claims import FAILS, HOLDS, UNKNOWN, Claim
from secateurs.paper._drawing import Picture
from secateurs.paper._plan import Plan
from secateurs.paper._printed import CONTROL, label
from secateurs.paper._runner import Missing
from secateurs.paper._table_text import BOLD, PLAIN, Grid, Sheet, distance, number
from secateurs.report._templates import Table, document
from secateurs.statistics import describe

_SIGNS = {HOLDS: "✓", FAILS: "✗", UNKNOWN: "?"}
_COUNTED = {HOLDS: "hold", FAILS: "do not", UNKNOWN: "cannot be told"}


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything made from the results of a run.

    Attributes
    ----------
    plans : sequence of Plan
        What was to be run.
    claims : sequence of Claim
        With their verdicts.
    tables : sequence of AccuracyTable
        Numbers of the paper's tables.
    sheets : sequence of Sheet
        The same tables, ready to be written, then those that the paper lacks.
    pictures : sequence of Picture
        The figures.
    missing : sequence of Missing
        Data sets that are not available.
    sources : mapping of str to str
        Where the data sets came from.
    """

    plans: Sequence[Plan]
    claims: Sequence[Claim]
    tables: Sequence[AccuracyTable]
    sheets: Sequence[Sheet]
    pictures: Sequence[Picture]
    missing: Sequence[Missing]
    sources: Mapping[str, str]


def make_page(contents: Contents, drawn: Mapping[str, bytes]) -> str:
    """Return the results page.

    Parameters
    ----------
    contents : Contents
        What it shows.
    drawn : mapping of str to bytes
        Each figure as SVG, by name.

    Returns
    -------
    str
        HTML. Every name and text in it is escaped.
    """
    verdicts = [claim.verdict for claim in contents.claims]
    counts = [(verdicts.count(verdict), name) for verdict, name in _COUNTED.items()]
    pictures: dict[str, list[dict[str, Any]]] = {}
    for picture in contents.pictures:
        pictures.setdefault(picture.group, []).append(_picture(picture, drawn[picture.name]))
    overall = _overall(contents, pictures.get("tables", []))
    sections = _sections(contents, pictures)
    together = ["All tables together"] if overall else []
    titles = ["Verdicts", "What is missing", *together, *(s["title"] for s in sections), "Settings"]
    return document(
        "results.html",
        "The paper's experiments, repeated",
        package="secateurs.paper",
        style=(files("secateurs.paper") / "templates" / "results.css").read_text("utf-8"),
        anchor=_anchor,
        titles=titles,
        claims=contents.claims,
        counts=", ".join(f"{count} {name}" for count, name in counts if count),
        quick=any(plan.quick for plan in contents.plans),
        verdicts=Table(
            ("Claim", "Verdict", "Measured"),
            [(c.claim, f"{_SIGNS[c.verdict]} {c.verdict}", c.told) for c in contents.claims],
            "Claims of the paper",
        ),
        missing=Table(
            ("Data set", "In the paper", "Wanted by", "How to get it"),
            [
                (item.dataset, ", ".join(item.paper_names), ", ".join(item.plans), item.reason)
                for item in contents.missing
            ],
        ),
        gaps=_gaps(contents),
        overall=overall,
        sections=sections,
        settings=_settings(contents.plans),
        sources=Table(("Data set", "From"), sorted(contents.sources.items())),
    )


def _anchor(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def _picture(picture: Picture, svg: bytes) -> dict[str, Any]:
    numbers = Table(picture.headings, picture.rows, picture.title)
    return vars(picture) | {"data": base64.b64encode(svg).decode(), "numbers": numbers}


def _gaps(contents: Contents) -> list[str]:
    """Return what was not measured."""
    notes = [f"{table.title}: {note}" for table in contents.tables for note in table.notes()]
    there = {p.group for p in contents.pictures} | {sheet.name for sheet in contents.sheets}
    empty = (plan.title for plan in contents.plans if plan.name not in there)
    return notes + [f"{title}: no results." for title in empty]


def _overall(contents: Contents, pictures: Sequence[Any]) -> dict[str, Any] | None:
    """Return what is told of all tables together; None for a single one or none."""
    scores = all_scores(contents.tables)
    if len(contents.tables) < 2 or scores.empty:
        return None
    paper, control = all_scores(contents.tables, paper=True), label(CONTROL)
    texts = [describe(scores, control=control)]
    if len(paper):
        told = describe(paper, control=control)
        texts.append(f"The same tests on the paper's own printed figures: {told}")
    return {"texts": texts, "pictures": pictures}


def _sections(contents: Contents, pictures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the sections of tables, then those of figures."""
    tables = {table.name: table for table in contents.tables}
    sections = []
    for place, sheet in enumerate(contents.sheets):
        section = {"title": sheet.title, "pictures": pictures.get(sheet.name, [])}
        section |= {"caption": sheet.caption, "table": _wide(sheet.grid, sheet.title)}
        if sheet.name in tables:
            section |= _accuracy(tables[sheet.name], sheet)
            section["legend"] = () if place else sheet.legend
        sections.append(section)
    written = {sheet.name for sheet in contents.sheets}
    others = (p for p in contents.plans if p.name in pictures and p.name not in written)
    return sections + [{"title": plan.title, "pictures": pictures[plan.name]} for plan in others]


def _accuracy(table: AccuracyTable, sheet: Sheet) -> dict[str, Any]:
    """Return what only the section of a table of the paper has."""
    told = describe(table.scores, control=label(CONTROL)) if len(table.scores) else ""
    shown = {"table": _wide(sheet.grid, f"{sheet.title}: test accuracy"), "told": told}
    if sheet.comparison is None:
        return shown
    far, total = table.mismatches(), len(table.comparable)
    headings = (
        *("Data set", "Methods", "Furthest, in std", "Mean difference, points"),
        *("Reading established", "Reason"),
    )
    rows = [
        (
            *(found.row, ", ".join(found.methods), distance(found.furthest)),
            *(number(found.difference, sign=True), found.established, found.reason or "not found"),
        )
        for found in far
    ]
    return shown | {
        "comparison": _wide(sheet.comparison, "Ours and the paper's"),
        "likeness": f"{total - len(far)} of {total} rows that can be compared lie within two of "
        "the paper's standard deviations, all ten methods.",
        "mismatches": Table(headings, rows, "Rows not like the paper's"),
    }


def _wide(grid: Grid, caption: str) -> Table:
    rows = [[_cell(text) for text in line] for line in grid.lines]
    return Table(grid.headings, rows, caption, range(1, len(grid.headings)))


def _cell(text: str) -> str:
    if not text.startswith(BOLD):
        return text
    best, _, mark = text.removeprefix(BOLD).partition(PLAIN)
    return Markup("<b>{}</b>{}").format(best, mark)


def _settings(plans: Iterable[Plan]) -> Table:
    fields = {"members": "n_members", "kept": "keep", "λ": "diversity_weight"}
    rows = []
    for plan in plans:
        told = [
            f"{name} {', '.join(f'{v:g}' for v in sorted({getattr(s, f) for s in plan.settings}))}"
            for name, f in fields.items()
        ]
        told.append(counted(len(plan.folds), "fold"))
        data = ", ".join(f"{row.paper_name} ({row.learner})" for row in plan.rows)
        rows.append((plan.title, plan.reproduces, "; ".join(told), data))
    return Table(("Table or figure", "Repeats", "Settings", "Data"), rows)
