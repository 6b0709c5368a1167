"""The results page: verdicts, every table and figure, and last what is missing, in one file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from secateurs.benchmarking.pictures import Picture
from secateurs.benchmarking.results_page import (
    PageSection,
    html_piece,
    picture_pieces,
    score_table_piece,
)
from secateurs.benchmarking.results_page import make_page as page_of
from secateurs.benchmarking.table_text import Sheet, format_distance, format_number
from secateurs.paper._accuracy_tables import AccuracyTable, combined_scores
from secateurs.paper._figure_ranks import ITEM
from secateurs.paper._plan import Plan
from secateurs.paper._plan_runner import MissingDataset
from secateurs.paper._printed_tables import CONTROL, method_label
from secateurs.paper.claims import FAILS, HOLDS, NOT_JUDGED, NOT_MEASURED, UNKNOWN, Claim
from secateurs.report.html_templates import HtmlTable
from secateurs.statistics import describe
from secateurs.text_format import format_count, format_list

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
class PageContents:
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
    missing : sequence of MissingDataset
        Data sets that are not available.
    sources : mapping of str to str
        Where the data sets came from.
    """

    plans: Sequence[Plan]
    claims: Sequence[Claim]
    tables: Sequence[AccuracyTable]
    sheets: Sequence[Sheet]
    pictures: Sequence[Picture]
    missing: Sequence[MissingDataset]
    sources: Mapping[str, str]


def make_reproduction_page(contents: PageContents, drawn: Mapping[str, bytes]) -> str:
    """Return the results page.

    Parameters
    ----------
    contents : PageContents
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
    intro = [html_piece("paragraph", _PAPER.format(len(contents.claims), counted_ones))]
    if any(plan.quick for plan in contents.plans):
        intro.append(html_piece("paragraph", _short_form_note(contents.plans), note=True))
    sections = [
        _verdicts_section(contents),
        *_overall_sections(contents, drawn),
        *_plan_sections(contents, drawn),
        _settings_section(contents),
        _missing_section(contents),
    ]
    return page_of("The paper's experiments, repeated", intro, sections)


def _short_form_note(plans: Sequence[Plan]) -> Markup:
    """Return what a page says of its short forms."""
    short = [plan for plan in plans if plan.quick]
    titles = format_list(plan.title for plan in short)
    what = "This is" if len(short) == len(plans) else f"{titles}: this is"
    rows = (row for plan in short for row in plan.rows)
    names = (row.paper_name.partition(" (stand-in")[0] for row in rows if row.is_stand_in)
    others = format_list(dict.fromkeys(names), nothing="")
    data = _STAND_INS.format(others) if others else _OWN_DATA
    return Markup("{}{}").format(_QUICK.format(what, data), _FULL)


def _verdicts_section(contents: PageContents) -> PageSection:
    claims = [claim for claim in contents.claims if claim.verdict != NOT_MEASURED]
    table = HtmlTable(
        ("Claim", "Verdict", "Measured"),
        [
            (c.claim, f"{_SIGNS[c.verdict]} {c.verdict}", f"{c.weighed} {c.told}".strip())
            for c in claims
        ],
        "Claims of the paper",
    )
    rules = html_piece("terms", [(claim.claim, claim.rule) for claim in claims])
    how = html_piece("details", "How each verdict is reached", rules)
    is_judged = any(claim.verdict != NOT_JUDGED for claim in claims)
    title = "Verdicts" if is_judged else "Claims of the paper, not judged"
    return PageSection(title, [html_piece("boxed", table, "verdicts stacked"), how])


def _missing_section(contents: PageContents) -> PageSection:
    lines = [
        (item.dataset, ", ".join(item.paper_names), ", ".join(item.plans), item.reason)
        for item in contents.missing
    ]
    headings, gaps = (
        ("Data set", "In the paper", "Wanted by", "How to get it"),
        _unmeasured_notes(contents),
    )
    table: Any = html_piece("boxed", HtmlTable(headings, lines), "stacked")
    if all(plan.quick for plan in contents.plans):
        summary = f"{format_count(len(lines), 'data set')} that the full form needs"
        table = html_piece("details", summary, table)
    pieces: list[Any] = [table] if lines else []
    pieces += [html_piece("bullets", gaps)] if gaps else []
    nothing = "Nothing: all data sets were there and everything was measured."
    return PageSection("What is missing", pieces or [html_piece("paragraph", nothing)])


def _unmeasured_notes(contents: PageContents) -> list[str]:
    """Return what was not measured."""
    notes = [
        f"{table.title}: {note}" for table in contents.tables for note in table.missing_notes()
    ]
    there = {p.group for p in contents.pictures} | {sheet.name for sheet in contents.sheets}
    empty = (plan.title for plan in contents.plans if plan.name not in there)
    unknown = (claim.claim for claim in contents.claims if claim.verdict == NOT_MEASURED)
    return [
        *notes,
        *(f"{title}: no results." for title in empty),
        *(f"Not measured yet: {claim}" for claim in unknown),
    ]


def _overall_sections(contents: PageContents, drawn: Mapping[str, bytes]) -> list[PageSection]:
    """Return what is told of all tables together; nothing for a single one or none."""
    scores = combined_scores(contents.tables)
    if len(contents.tables) < 2 or scores.empty:
        return []
    paper, control = combined_scores(contents.tables, paper=True), method_label(CONTROL)
    pieces = [html_piece("paragraph", describe(scores, control=control))]
    if len(paper):
        told = describe(paper, control=control)
        text = f"The same tests on the paper's own printed figures: {told}"
        pieces.append(html_piece("paragraph", text))
    pieces.append(html_piece("paragraph", _DEPENDENT, note=True))
    title = f"All tables together ({ITEM} of the paper)"
    return [PageSection(title, pieces + _group_figures("tables", contents, drawn))]


def _group_figures(group: str, contents: PageContents, drawn: Mapping[str, bytes]) -> list[Markup]:
    return picture_pieces((p for p in contents.pictures if p.group == group), drawn)


def _plan_sections(contents: PageContents, drawn: Mapping[str, bytes]) -> list[PageSection]:
    """Return the sections of tables, then those of figures."""
    tables = {table.name: table for table in contents.tables}
    sections = []
    for place, sheet in enumerate(contents.sheets):
        pieces: list[Any] = [html_piece("paragraph", sheet.caption)]
        if sheet.name in tables:
            pieces += _accuracy_pieces(tables[sheet.name], sheet, with_legend=not place)
        else:
            pieces.append(score_table_piece(sheet.grid, sheet.title))
        pieces += _group_figures(sheet.name, contents, drawn)
        sections.append(PageSection(sheet.title, pieces))
    drawn_plans = {picture.group for picture in contents.pictures}
    written = {sheet.name for sheet in contents.sheets}
    others = (p for p in contents.plans if p.name in drawn_plans and p.name not in written)
    return sections + [
        PageSection(p.heading, _group_figures(p.name, contents, drawn)) for p in others
    ]


def _accuracy_pieces(table: AccuracyTable, sheet: Sheet, with_legend: bool) -> list[Any]:
    """Return what only the section of a table of the paper has."""
    shown: list[Any] = [score_table_piece(sheet.grid, f"{sheet.title}: test accuracy")]
    if with_legend:
        shown += [html_piece("paragraph", line, note=True) for line in sheet.legend]
    if len(table.scores):
        shown.append(html_piece("paragraph", describe(table.scores, control=method_label(CONTROL))))
    if sheet.comparison is None:
        return shown
    beside = score_table_piece(sheet.comparison, "Ours and the paper's")
    numbers = html_piece("details", "Ours and the paper's, number by number", beside)
    if table.is_short:
        return [*shown, numbers]
    far, total = table.paper_mismatches(), len(table.comparable_rows)
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
            *(found.row, ", ".join(found.methods), format_distance(found.furthest_deviation)),
            *(
                format_number(found.difference, sign=True),
                found.established,
                found.reason or "not found",
            ),
        )
        for found in far
    ]
    shown += [html_piece("heading", "Beside the paper"), html_piece("paragraph", likeness)]
    shown += [HtmlTable(headings, rows, "Rows not like the paper's")] if far else []
    return [*shown, numbers]


def _settings_section(contents: PageContents) -> PageSection:
    fields = {"members": "n_members", "kept": "keep", "λ": "diversity_weight"}
    rows = []
    for plan in contents.plans:
        told = [
            f"{name} {', '.join(f'{v:g}' for v in sorted({getattr(s, f) for s in plan.settings}))}"
            for name, f in fields.items()
        ]
        told.append(format_count(len(plan.folds), "fold"))
        data = ", ".join(f"{row.paper_name} ({row.learner})" for row in plan.rows)
        repeats = ": ".join(filter(None, (plan.paper_item, plan.reproduces)))
        rows.append((plan.title, repeats, "; ".join(told), data))
    sources = HtmlTable(("Data set", "From"), sorted(contents.sources.items()))
    pieces = [
        html_piece(
            "boxed", HtmlTable(("Table or figure", "Repeats", "Settings", "Data"), rows), "stacked"
        ),
        html_piece("details", "Where data sets came from", sources),
        html_piece("paragraph", _AGAIN),
    ]
    return PageSection("Settings", pieces)
