"""The results page of a reproduction: verdicts, tables, figures, settings and missing results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from secateurs.benchmarking.pictures import Picture
from secateurs.benchmarking.results_page import (
    PageSection,
    html_piece,
    picture_pieces,
    score_table_piece,
)
from secateurs.benchmarking.results_page import make_page as make_html_page
from secateurs.benchmarking.table_text import Sheet, format_distance, format_number
from secateurs.paper._accuracy_tables import AccuracyTable, data_set_scores
from secateurs.paper._figure_ranks import ITEM
from secateurs.paper._plan import Plan
from secateurs.paper._plan_runner import MissingDataset
from secateurs.paper._printed_tables import CONTROL, method_label
from secateurs.paper.claims import FAILS, HOLDS, NOT_JUDGED, NOT_MEASURED, UNKNOWN, Claim
from secateurs.report.html_templates import HtmlTable
from secateurs.statistics import describe
from secateurs.text_format import format_count, format_list

_SIGNS = {HOLDS: "✓", FAILS: "✗", UNKNOWN: "?", NOT_JUDGED: "–"}
_VERDICTS_OF_MANY = {
    **{HOLDS: "hold", FAILS: "do not hold", UNKNOWN: "cannot be told"},
    **{NOT_JUDGED: "are not judged", NOT_MEASURED: "were not measured"},
}
_PAPER = Markup(
    "Bian et al., <cite>Ensemble Pruning Based on Objection Maximization With a General "
    "Distributed Framework</cite> (IEEE TNNLS, 2020). Of {} claims: {}."
)
_QUICK = (
    "{} the short form, with fewer members, folds and data sets. It shows measurements, but does "
    "not judge the claims of the paper. {} "
)
_STAND_INS = "In place of data sets of the paper that are not available it uses {}."
_OWN_DATA = "Its data sets are the paper's."
_FULL = Markup("For verdicts, run <code>secateurs reproduce --full --data DIR</code>.")
_ONE_VALUE = (
    "These tests use one value per data set, the mean of its rows in all tables. The figures below "
    "rank the rows, as the paper does; rows of one data set are not independent."
)
_AGAIN = Markup(
    "To create this page again, run <code>secateurs reproduce</code> with the same options. "
    "Existing results are not measured again."
)


@dataclass(frozen=True, eq=False)
class PageContents:
    """Tables, figures and claims that are made from the results of a run."""

    plans: Sequence[Plan]
    claims: Sequence[Claim]
    tables: Sequence[AccuracyTable]  # the paper's tables
    sheets: Sequence[Sheet]  # the same tables ready to be written, then tables not in the paper
    pictures: Sequence[Picture]
    missing: Sequence[MissingDataset]
    sources: Mapping[str, str]  # by data set


def make_reproduction_page(contents: PageContents, drawn: Mapping[str, bytes]) -> str:
    """Return the results page as HTML, from its contents and the figures as SVG by name."""
    verdicts = [claim.verdict for claim in contents.claims]
    counts = [(verdicts.count(verdict), name) for verdict, name in _VERDICTS_OF_MANY.items()]
    summary = ", ".join(f"{count} {name}" for count, name in counts if count)
    intro = [html_piece("paragraph", _PAPER.format(len(contents.claims), summary))]
    if any(plan.quick for plan in contents.plans):
        intro.append(html_piece("paragraph", _short_form_note(contents.plans), note=True))
    sections = [
        _verdicts_section(contents),
        *_overall_sections(contents, drawn),
        *_plan_sections(contents, drawn),
        _settings_section(contents),
        _missing_section(contents),
    ]
    return make_html_page("Reproduction of the paper's experiments", intro, sections)


def _short_form_note(plans: Sequence[Plan]) -> Markup:
    """Return the note about the short forms on a page."""
    short = [plan for plan in plans if plan.quick]
    titles = format_list(plan.title for plan in short)
    subject = "This is" if len(short) == len(plans) else f"{titles}: this is"
    rows = (row for plan in short for row in plan.rows)
    names = (row.paper_name.partition(" (stand-in")[0] for row in rows if row.is_stand_in)
    stand_ins = format_list(dict.fromkeys(names), nothing="")
    data = _STAND_INS.format(stand_ins) if stand_ins else _OWN_DATA
    return Markup("{}{}").format(_QUICK.format(subject, data), _FULL)


def _verdicts_section(contents: PageContents) -> PageSection:
    claims = [claim for claim in contents.claims if claim.verdict != NOT_MEASURED]
    table = HtmlTable(
        ("Claim", "Verdict", "Measured"),
        [
            (c.claim, f"{_SIGNS[c.verdict]} {c.verdict}", f"{c.reason} {c.told}".strip())
            for c in claims
        ],
        "Claims of the paper",
    )
    rules = html_piece("terms", [(claim.claim, claim.rule) for claim in claims])
    details = html_piece("details", "Rules of the verdicts", rules)
    is_judged = any(claim.verdict != NOT_JUDGED for claim in claims)
    title = "Verdicts" if is_judged else "Claims of the paper, not judged"
    return PageSection(title, [html_piece("boxed", table, "verdicts stacked"), details])


def _missing_section(contents: PageContents) -> PageSection:
    lines = [
        (item.dataset, ", ".join(item.paper_names), ", ".join(item.plans), item.reason)
        for item in contents.missing
    ]
    headings = ("Data set", "In the paper", "Needed by", "How to get it")
    notes = _unmeasured_notes(contents)
    table = html_piece("boxed", HtmlTable(headings, lines), "stacked")
    if all(plan.quick for plan in contents.plans):
        summary = f"{format_count(len(lines), 'data set')} that the full form needs"
        table = html_piece("details", summary, table)
    pieces = [table] if lines else []
    pieces += [html_piece("bullets", notes)] if notes else []
    nothing = "Nothing is missing: all data sets were available and all cells were measured."
    return PageSection("Missing data and results", pieces or [html_piece("paragraph", nothing)])


def _unmeasured_notes(contents: PageContents) -> list[str]:
    """Return notes about missing results of tables, plans and claims."""
    notes = [
        f"{table.title}: {note}" for table in contents.tables for note in table.missing_notes()
    ]
    shown = {p.group for p in contents.pictures} | {sheet.name for sheet in contents.sheets}
    empty = (plan.title for plan in contents.plans if plan.name not in shown)
    unmeasured = (claim.claim for claim in contents.claims if claim.verdict == NOT_MEASURED)
    return [
        *notes,
        *(f"{title}: no results." for title in empty),
        *(f"Not measured yet: {claim}" for claim in unmeasured),
    ]


def _overall_sections(contents: PageContents, drawn: Mapping[str, bytes]) -> list[PageSection]:
    """Return the section about all tables together; none for fewer than two tables."""
    scores = data_set_scores(contents.tables)
    if len(contents.tables) < 2 or scores.empty:
        return []
    paper, control = data_set_scores(contents.tables, paper=True), method_label(CONTROL)
    pieces = [html_piece("paragraph", describe(scores, control=control))]
    if len(paper):
        text = f"The same tests on the paper's printed figures: {describe(paper, control=control)}"
        pieces.append(html_piece("paragraph", text))
    pieces.append(html_piece("paragraph", _ONE_VALUE, note=True))
    title = f"All tables together ({ITEM} of the paper)"
    return [PageSection(title, pieces + _group_figures("tables", contents, drawn))]


def _group_figures(group: str, contents: PageContents, drawn: Mapping[str, bytes]) -> list[Markup]:
    return picture_pieces((p for p in contents.pictures if p.group == group), drawn)


def _plan_sections(contents: PageContents, drawn: Mapping[str, bytes]) -> list[PageSection]:
    """Return the sections of the tables, then those of the figures."""
    tables = {table.name: table for table in contents.tables}
    sections = []
    for index, sheet in enumerate(contents.sheets):
        pieces: list[Markup | HtmlTable] = [html_piece("paragraph", sheet.caption)]
        if sheet.name in tables:
            pieces += _accuracy_pieces(tables[sheet.name], sheet, with_legend=index == 0)
        else:
            pieces.append(score_table_piece(sheet.grid, sheet.title))
        pieces += _group_figures(sheet.name, contents, drawn)
        sections.append(PageSection(sheet.title, pieces))
    drawn_plans = {picture.group for picture in contents.pictures}
    written = {sheet.name for sheet in contents.sheets}
    figures = (p for p in contents.plans if p.name in drawn_plans and p.name not in written)
    return sections + [
        PageSection(p.heading, _group_figures(p.name, contents, drawn)) for p in figures
    ]


def _accuracy_pieces(
    table: AccuracyTable, sheet: Sheet, with_legend: bool
) -> list[Markup | HtmlTable]:
    """Return the pieces of an accuracy table: scores, tests and the comparison with the paper."""
    shown: list[Markup | HtmlTable] = [
        score_table_piece(sheet.grid, f"{sheet.title}: test accuracy")
    ]
    if with_legend:
        shown += [html_piece("paragraph", line, note=True) for line in sheet.legend]
    if len(table.scores):
        shown.append(html_piece("paragraph", describe(table.scores, control=method_label(CONTROL))))
    if sheet.comparison is None:
        return shown
    comparison = score_table_piece(sheet.comparison, "Comparison with the paper")
    numbers = html_piece("details", "All accuracies, ours and the paper's", comparison)
    if table.is_short:
        return [*shown, numbers]
    mismatches, n_rows = table.paper_mismatches(), len(table.comparable_rows)
    summary = (
        f"In {n_rows - len(mismatches)} of {n_rows} rows that can be compared, all ten methods are "
        "within two of the paper's standard deviations."
    )
    headings = (
        *("Data set", "Methods", "Largest distance, in std", "Mean difference, points"),
        *("Reading established", "Reason"),
    )
    rows = [
        (
            *(item.row, ", ".join(item.methods), format_distance(item.furthest_deviation)),
            *(format_number(item.difference, sign=True), item.established),
            item.reason or "unknown",
        )
        for item in mismatches
    ]
    shown += [html_piece("heading", "Comparison with the paper"), html_piece("paragraph", summary)]
    shown += [HtmlTable(headings, rows, "Rows that differ from the paper")] if mismatches else []
    return [*shown, numbers]


def _settings_section(contents: PageContents) -> PageSection:
    fields = {"members": "n_members", "kept": "keep", "λ": "diversity_weight"}
    rows = []
    for plan in contents.plans:
        settings = [
            f"{name} {', '.join(f'{v:g}' for v in sorted({getattr(s, f) for s in plan.settings}))}"
            for name, f in fields.items()
        ]
        settings.append(format_count(len(plan.folds), "fold"))
        data = ", ".join(f"{row.paper_name} ({row.learner})" for row in plan.rows)
        repeats = ": ".join(filter(None, (plan.paper_item, plan.reproduces)))
        rows.append((plan.title, repeats, "; ".join(settings), data))
    sources = HtmlTable(("Data set", "Source"), sorted(contents.sources.items()))
    pieces = [
        html_piece(
            "boxed", HtmlTable(("Table or figure", "Repeats", "Settings", "Data"), rows), "stacked"
        ),
        html_piece("details", "Sources of the data sets", sources),
        html_piece("paragraph", _AGAIN),
    ]
    return PageSection("Settings", pieces)
