"""The results page: verdicts, every table and figure, and last what is missing, in one file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from secateurs._text import counted, listed
from secateurs.benchmarking._drawing import Picture
from secateurs.benchmarking._page import Section, figures, piece, wide
from secateurs.benchmarking._page import make_page as page_of
from secateurs.benchmarking._table_text import Sheet, distance, number
from secateurs.paper._accuracy_tables import AccuracyTable, all_scores
from secateurs.paper._claims import FAILS, HOLDS, NOT_JUDGED, NOT_MEASURED, UNKNOWN, Claim
from secateurs.paper._figure_ranks import ITEM
from secateurs.paper._plan import Plan
from secateurs.paper._printed import CONTROL, label
from secateurs.paper._runner import Missing
from secateurs.report._templates import Table
from secateurs.statistics import describe

_SIGNS = {HOLDS: "✓", FAILS: "✗", UNKNOWN: "?", NOT_JUDGED: "–"}
_COUNTED = {
    **{HOLDS: "hold", FAILS: "do not", UNKNOWN: "cannot be told"},
    **{NOT_JUDGED: "are not judged", NOT_MEASURED: "were not measured"},
}
_PAPER = Markup(
    "Bian et al., <cite>Ensemble Pruning Based on Objection Maximization With a General "
    "Distributed Framework</cite> (IEEE TNNLS, 2020). Of {} claims: {}."
)
_QUICK = (
    "{} the short form: fewer members, folds and data sets. It shows what was measured and judges "
    "no claim of the paper. {} "
)
_STAND_INS = "In place of data sets of the paper that are not at hand it uses {}."
_OWN_DATA = "Its data sets are the paper's."
_FULL = Markup("For verdicts: <code>secateurs reproduce --full --data DIR</code>.")
_DEPENDENT = (
    "Some data sets stand in several tables, so these rows are less independent than the tests "
    "assume."
)
_AGAIN = Markup(
    "To make this page again: <code>secateurs reproduce</code>, with the same options; what was "
    "measured already is not measured again."
)


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
    counted_ones = ", ".join(f"{count} {name}" for count, name in counts if count)
    intro = [piece("paragraph", _PAPER.format(len(contents.claims), counted_ones))]
    if any(plan.quick for plan in contents.plans):
        intro.append(piece("paragraph", _short_form(contents.plans), note=True))
    sections = [
        _verdicts(contents),
        *_overall(contents, drawn),
        *_sections(contents, drawn),
        _settings(contents),
        _missing(contents),
    ]
    return page_of("The paper's experiments, repeated", intro, sections)


def _short_form(plans: Sequence[Plan]) -> Markup:
    """Return what a page says of its short forms."""
    short = [plan for plan in plans if plan.quick]
    titles = listed(plan.title for plan in short)
    what = "This is" if len(short) == len(plans) else f"{titles}: this is"
    rows = (row for plan in short for row in plan.rows)
    names = (row.paper_name.partition(" (stand-in")[0] for row in rows if row.is_stand_in)
    others = listed(dict.fromkeys(names), nothing="")
    data = _STAND_INS.format(others) if others else _OWN_DATA
    return Markup("{}{}").format(_QUICK.format(what, data), _FULL)


def _verdicts(contents: Contents) -> Section:
    claims = [claim for claim in contents.claims if claim.verdict != NOT_MEASURED]
    table = Table(
        ("Claim", "Verdict", "Measured"),
        [
            (c.claim, f"{_SIGNS[c.verdict]} {c.verdict}", f"{c.weighed} {c.told}".strip())
            for c in claims
        ],
        "Claims of the paper",
    )
    rules = piece("terms", [(claim.claim, claim.rule) for claim in claims])
    how = piece("details", "How each verdict is reached", rules)
    is_judged = any(claim.verdict != NOT_JUDGED for claim in claims)
    title = "Verdicts" if is_judged else "Claims of the paper, not judged"
    return Section(title, [piece("boxed", table, "verdicts stacked"), how])


def _missing(contents: Contents) -> Section:
    lines = [
        (item.dataset, ", ".join(item.paper_names), ", ".join(item.plans), item.reason)
        for item in contents.missing
    ]
    headings, gaps = ("Data set", "In the paper", "Wanted by", "How to get it"), _gaps(contents)
    table: Any = piece("boxed", Table(headings, lines), "stacked")
    if all(plan.quick for plan in contents.plans):
        summary = f"{counted(len(lines), 'data set')} that the full form needs"
        table = piece("details", summary, table)
    pieces: list[Any] = [table] if lines else []
    pieces += [piece("bullets", gaps)] if gaps else []
    nothing = "Nothing: all data sets were there and everything was measured."
    return Section("What is missing", pieces or [piece("paragraph", nothing)])


def _gaps(contents: Contents) -> list[str]:
    """Return what was not measured."""
    notes = [f"{table.title}: {note}" for table in contents.tables for note in table.notes()]
    there = {p.group for p in contents.pictures} | {sheet.name for sheet in contents.sheets}
    empty = (plan.title for plan in contents.plans if plan.name not in there)
    unknown = (claim.claim for claim in contents.claims if claim.verdict == NOT_MEASURED)
    return [
        *notes,
        *(f"{title}: no results." for title in empty),
        *(f"Not measured yet: {claim}" for claim in unknown),
    ]


def _overall(contents: Contents, drawn: Mapping[str, bytes]) -> list[Section]:
    """Return what is told of all tables together; nothing for a single one or none."""
    scores = all_scores(contents.tables)
    if len(contents.tables) < 2 or scores.empty:
        return []
    paper, control = all_scores(contents.tables, paper=True), label(CONTROL)
    pieces = [piece("paragraph", describe(scores, control=control))]
    if len(paper):
        told = describe(paper, control=control)
        text = f"The same tests on the paper's own printed figures: {told}"
        pieces.append(piece("paragraph", text))
    pieces.append(piece("paragraph", _DEPENDENT, note=True))
    title = f"All tables together ({ITEM} of the paper)"
    return [Section(title, pieces + _figures("tables", contents, drawn))]


def _figures(group: str, contents: Contents, drawn: Mapping[str, bytes]) -> list[Markup]:
    return figures((p for p in contents.pictures if p.group == group), drawn)


def _sections(contents: Contents, drawn: Mapping[str, bytes]) -> list[Section]:
    """Return the sections of tables, then those of figures."""
    tables = {table.name: table for table in contents.tables}
    sections = []
    for place, sheet in enumerate(contents.sheets):
        pieces: list[Any] = [piece("paragraph", sheet.caption)]
        if sheet.name in tables:
            pieces += _accuracy(tables[sheet.name], sheet, with_legend=not place)
        else:
            pieces.append(wide(sheet.grid, sheet.title))
        pieces += _figures(sheet.name, contents, drawn)
        sections.append(Section(sheet.title, pieces))
    drawn_plans = {picture.group for picture in contents.pictures}
    written = {sheet.name for sheet in contents.sheets}
    others = (p for p in contents.plans if p.name in drawn_plans and p.name not in written)
    return sections + [Section(p.heading, _figures(p.name, contents, drawn)) for p in others]


def _accuracy(table: AccuracyTable, sheet: Sheet, with_legend: bool) -> list[Any]:
    """Return what only the section of a table of the paper has."""
    shown: list[Any] = [wide(sheet.grid, f"{sheet.title}: test accuracy")]
    if with_legend:
        shown += [piece("paragraph", line, note=True) for line in sheet.legend]
    if len(table.scores):
        shown.append(piece("paragraph", describe(table.scores, control=label(CONTROL))))
    if sheet.comparison is None:
        return shown
    beside = wide(sheet.comparison, "Ours and the paper's")
    numbers = piece("details", "Ours and the paper's, number by number", beside)
    if table.is_short:
        return [*shown, numbers]
    far, total = table.mismatches(), len(table.comparable)
    likeness = (
        f"{total - len(far)} of {total} rows that can be compared lie within two of the paper's "
        "standard deviations, all ten methods."
    )
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
    shown += [piece("heading", "Beside the paper"), piece("paragraph", likeness)]
    shown += [Table(headings, rows, "Rows not like the paper's")] if far else []
    return [*shown, numbers]


def _settings(contents: Contents) -> Section:
    fields = {"members": "n_members", "kept": "keep", "λ": "diversity_weight"}
    rows = []
    for plan in contents.plans:
        told = [
            f"{name} {', '.join(f'{v:g}' for v in sorted({getattr(s, f) for s in plan.settings}))}"
            for name, f in fields.items()
        ]
        told.append(counted(len(plan.folds), "fold"))
        data = ", ".join(f"{row.paper_name} ({row.learner})" for row in plan.rows)
        repeats = ": ".join(filter(None, (plan.paper_item, plan.reproduces)))
        rows.append((plan.title, repeats, "; ".join(told), data))
    sources = Table(("Data set", "From"), sorted(contents.sources.items()))
    pieces = [
        piece("boxed", Table(("Table or figure", "Repeats", "Settings", "Data"), rows), "stacked"),
        piece("details", "Where data sets came from", sources),
        piece("paragraph", _AGAIN),
    ]
    return Section("Settings", pieces)
