"""The results page: verdicts first, then every table and figure, in one file."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from secateurs.paper._claims import Claim
from secateurs.paper._drawing import Picture
from secateurs.paper._listings import Listing
from secateurs.paper._mismatches import mismatches, n_compared
from secateurs.paper._paper import CONTROL, label
from secateurs.paper._plan import Plan
from secateurs.paper._selection import settings_of
from secateurs.paper._sources import Missing
from secateurs.paper._table_text import (
    LEGEND,
    Grid,
    comparison_grid,
    distance,
    main_grid,
    number,
    plain,
)
from secateurs.paper._tables import Entry, Table, all_scores
from secateurs.paper._verdicts import FAILS, HOLDS, UNKNOWN
from secateurs.report._html import document, table
from secateurs.statistics import describe

_SIGNS = {HOLDS: "✓", FAILS: "✗", UNKNOWN: "?"}
_COUNTED = {HOLDS: "hold", FAILS: "do not", UNKNOWN: "cannot be told"}
# Marks of bold text that survive escaping; no name of a data set has such letters.
_BOLD, _PLAIN = "\ue000", "\ue001"
_STYLE = """
@media screen and (min-width: 76rem) {
  .wide { width: min(96vw, 84rem); margin-left: calc(50% - min(48vw, 42rem)); }
}
.wide table, .wide thead th { font-size: 0.7rem; }
.wide th, .wide td { padding: 0.25rem 0.3rem 0.25rem 0; white-space: nowrap; }
.verdicts td:nth-child(2) { white-space: nowrap; font-weight: 600; }
.verdicts td, .verdicts th { max-width: 34rem; }
.figures { columns: 24rem; column-gap: 1.5rem; margin-top: 1.5rem; }
.figures figure { margin: 0 0 1.5rem; break-inside: avoid; }
.figures img { width: 100%; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
.figures h3 { margin-top: 0; }
"""


@dataclass(frozen=True, eq=False)
class Contents:
    """What a results page shows.

    Attributes
    ----------
    plans : sequence of Plan
        What was to be run.
    claims : sequence of Claim
        With their verdicts.
    tables : sequence of Table
        The paper's tables.
    listings : sequence of Listing
        Other tables.
    pictures : sequence of Picture
        The figures.
    drawn : mapping of str to bytes
        Each figure as SVG, by name.
    missing : sequence of Missing
        Data sets that could not be had.
    sources : mapping of str to str
        Where the data sets came from.
    """

    plans: Sequence[Plan]
    claims: Sequence[Claim]
    tables: Sequence[Table]
    listings: Sequence[Listing]
    pictures: Sequence[Picture]
    drawn: Mapping[str, bytes]
    missing: Sequence[Missing]
    sources: Mapping[str, str]


def make_page(contents: Contents) -> str:
    """Make the results page.

    Parameters
    ----------
    contents : Contents
        All that it shows.

    Returns
    -------
    str
        HTML. Every name and text in it is escaped.
    """
    body = "\n".join(
        [
            "<main>",
            _head(contents),
            _links(contents),
            _verdicts(contents.claims),
            _gaps(contents),
            _overall(contents),
            *(_table_section(contents, n) for n in range(len(contents.tables))),
            *(_listing_section(item) for item in contents.listings),
            *(_figure_section(contents, plan) for plan in contents.plans),
            _settings(contents),
            "</main>",
        ]
    )
    return document("The paper's experiments, repeated", body, style=_STYLE)


def _head(contents: Contents) -> str:
    verdicts = [claim.verdict for claim in contents.claims]
    counted = {name: verdicts.count(verdict) for verdict, name in _COUNTED.items()}
    counts = ", ".join(f"{count} {name}" for name, count in counted.items() if count)
    short = any(plan.quick for plan in contents.plans)
    note = (
        '<p class="note">This is the short form: fewer folds and members, and data sets of '
        "scikit-learn where the paper's are not at hand. Its verdicts are a trial of the method, "
        "not of the paper.</p>"
    )
    return (
        "<h1>The paper's experiments, repeated</h1>"
        f"<p>Bian et al., <cite>Ensemble Pruning Based on Objection Maximization With a General "
        f"Distributed Framework</cite> (IEEE TNNLS, 2020). Of {len(verdicts)} claims: {counts}.</p>"
        f"{note if short else ''}"
    )


def _links(contents: Contents) -> str:
    grouped = {picture.group for picture in contents.pictures}
    tables = [item.title for item in contents.tables]
    titles = ["Verdicts", "What is missing"]
    titles += ["All tables together"] if "tables" in grouped else []
    titles += [*tables, *(item.title for item in contents.listings)]
    titles += [p.title for p in contents.plans if p.name in grouped and p.title not in tables]
    links = (f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title in (*titles, "Settings"))
    return f"<nav><p>{' · '.join(links)}</p></nav>"


def _heading(title: str) -> str:
    return f'<h2 id="{_anchor(title)}">{escape(title)}</h2>'


def _anchor(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def _verdicts(claims: Sequence[Claim]) -> str:
    rows = [(c.claim, f"{_SIGNS[c.verdict]} {c.verdict}", c.told) for c in claims]
    shown = table(("Claim", "Verdict", "Measured"), rows, caption="Claims of the paper")
    rules = "".join(f"<dt>{escape(c.claim)}</dt><dd>{escape(c.rule)}</dd>" for c in claims)
    return (
        f"{_heading('Verdicts')}<div class='verdicts'>{shown}</div>"
        f"<details><summary>How each verdict is reached</summary><dl>{rules}</dl></details>"
    )


def _gaps(contents: Contents) -> str:
    """Say what is missing, or that nothing is."""
    lost = [
        (item.dataset, ", ".join(item.paper_names), ", ".join(item.plans), item.reason)
        for item in contents.missing
    ]
    notes = [f"{item.title}: {note}" for item in contents.tables for note in item.notes()]
    drawn = {picture.group for picture in contents.pictures}
    listed = {item.name for item in contents.listings} | {t.name for t in contents.tables}
    empty = [p.title for p in contents.plans if p.name not in drawn | listed]
    parts = [_heading("What is missing")]
    if lost:
        parts.append(table(("Data set", "In the paper", "Wanted by", "How to get it"), lost))
    notes += [f"{title}: no results." for title in empty]
    parts.append(_bullets(notes) if notes else "")
    if not lost and not notes:
        parts.append("<p>Nothing: all data sets were there and all was measured.</p>")
    return "".join(parts)


def _overall(contents: Contents) -> str:
    scores = all_scores(contents.tables)
    pictures = [picture for picture in contents.pictures if picture.group == "tables"]
    if len(contents.tables) < 2 or scores.empty:
        return ""
    paper = all_scores(contents.tables, paper=True)
    control = label(CONTROL)
    texts = [f"<p>{escape(describe(scores, control=control))}</p>"]
    if len(paper):
        told = describe(paper, control=control)
        texts.append(f"<p>The same tests on the paper's own printed figures: {escape(told)}</p>")
    return (
        f"{_heading('All tables together')}{''.join(texts)}"
        '<p class="note">Some data sets stand in several tables, so these rows are less '
        "independent than the tests assume.</p>"
        f"{_figures(contents, pictures)}"
    )


def _table_section(contents: Contents, place: int) -> str:
    item = contents.tables[place]
    parts = [_heading(item.title), f"<p>{escape(item.caption)}</p>"]
    parts.append(_wide(main_grid(item, _bold), f"{item.title}: test accuracy"))
    if place == 0:
        parts += [f'<p class="note">{escape(line)}</p>' for line in LEGEND]
    if len(item.scores):
        parts.append(f"<p>{escape(describe(item.scores, control=label(CONTROL)))}</p>")
    parts.append(_comparison(item))
    pictures = [picture for picture in contents.pictures if picture.group == item.name]
    parts.append(_figures(contents, pictures))
    return "".join(parts)


def _comparison(item: Table) -> str:
    grid = comparison_grid(item)
    if grid is None:
        return ""
    far = mismatches(item)
    rows = [
        (
            *(found.row, ", ".join(found.methods), distance(found.furthest)),
            *(number(found.difference, sign=True), found.established, found.reason or "not found"),
        )
        for found in far
    ]
    headings = (
        *("Data set", "Methods", "Furthest, in std", "Mean difference, points"),
        *("Reading established", "Reason"),
    )
    total = n_compared(item)
    told = (
        f"{total - len(far)} of {total} rows that can be compared lie within two of the paper's "
        "standard deviations, all ten methods."
    )
    listed = table(headings, rows, caption="Rows not like the paper's")
    beside = _wide(grid, "Ours and the paper's")
    return (
        f"<h3>Beside the paper</h3><p>{escape(told)}</p>{listed if far else ''}"
        f"<details><summary>Ours and the paper's, figure by figure</summary>{beside}</details>"
    )


def _listing_section(item: Listing) -> str:
    return f"{_heading(item.title)}<p>{escape(item.caption)}</p>{_wide(item.grid, item.title)}"


def _figure_section(contents: Contents, plan: Plan) -> str:
    pictures = [picture for picture in contents.pictures if picture.group == plan.name]
    if not pictures or plan.name in {item.name for item in contents.tables}:
        return ""
    return f"{_heading(plan.title)}{_figures(contents, pictures)}"


def _figures(contents: Contents, pictures: Sequence[Picture]) -> str:
    shown = "".join(_figure(picture, contents.drawn[picture.name]) for picture in pictures)
    return f'<div class="figures">{shown}</div>' if shown else ""


def _figure(picture: Picture, svg: bytes) -> str:
    data = base64.b64encode(svg).decode()
    numbers = table(picture.headings, picture.rows, caption=picture.title)
    return (
        f"<figure><h3>{escape(picture.title)}</h3>"
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(picture.title)}">'
        f"<figcaption>{escape(picture.caption)}</figcaption>"
        f"<details><summary>Show numbers</summary>{numbers}</details></figure>"
    )


def _settings(contents: Contents) -> str:
    rows = [
        (
            *(plan.title, plan.reproduces, "; ".join(_counts(plan))),
            ", ".join(f"{row.paper_name} ({row.learner})" for row in plan.rows),
        )
        for plan in contents.plans
    ]
    headings = ("Table or figure", "Repeats", "Settings", "Data")
    sources = [(name, source) for name, source in sorted(contents.sources.items())]
    return (
        f"{_heading('Settings')}{table(headings, rows)}"
        f"<details><summary>Where data sets came from</summary>"
        f"{table(('Data set', 'From'), sources)}</details>"
        "<p>To make this page again: <code>secateurs reproduce</code>, with the same options; what "
        "was measured already is not measured again.</p>"
    )


def _counts(plan: Plan) -> list[str]:
    settings = settings_of(plan)
    return [
        f"members {_listed(s.n_members for s in settings)}",
        f"kept {_listed(s.keep for s in settings)}",
        f"λ {_listed(s.diversity_weight for s in settings)}",
        f"{len(plan.folds)} folds" if len(plan.folds) > 1 else "1 fold",
    ]


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(set(values)))


def _bold(entry: Entry) -> str:
    text = plain(entry).removesuffix(entry.mark)
    return f"{_BOLD}{text}{_PLAIN}{entry.mark}" if entry.bold else text + entry.mark


def _wide(grid: Grid, caption: str) -> str:
    shown = table(grid.headings, grid.lines, caption=caption, numeric=range(1, len(grid.headings)))
    shown = shown.replace(_BOLD, "<b>").replace(_PLAIN, "</b>")
    return f'<div class="wide">{shown}</div>'


def _bullets(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
