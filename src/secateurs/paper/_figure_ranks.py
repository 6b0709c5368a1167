"""Figures of ranks, ours and the paper's, and the claims about accuracy and ranks."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from secateurs import statistics as stats
from secateurs.benchmarking import pictures as look
from secateurs.benchmarking.rank_pictures import rank_pictures
from secateurs.paper._accuracy_tables import AccuracyTable, combined_scores, data_set_scores
from secateurs.paper._plan import NOT_REPEATED
from secateurs.paper._printed_tables import CONTROL, OURS, PAPER_METHODS, RANDOM, method_label
from secateurs.paper.claims import ALPHA, Finding, Statistic, judges_claim, mean_over_data_sets
from secateurs.text_format import format_count, format_list
from secateurs.typing import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITEM = "Figure 2"  # of the paper
_NAMES = [method_label(method) for method in PAPER_METHODS]
_OWN = [method_label(method) for method in OURS]
_OTHERS = [name for name in _NAMES if name not in _OWN]


@judges_claim("not-worse", "DOMEP is not significantly worse than the centralised methods.")
def judge_not_worse(tables: Sequence[AccuracyTable]) -> Finding:
    """The quantity is the smallest lead of DOMEP over one of the nine other methods, in points.

    Accuracies are averaged over the rows of a data set. The intervals of all nine differences hold
    together (Bonferroni). A loss of less than a tenth of the error does not count as worse, unless
    the whole interval is below 0.
    """
    scores, control = data_set_scores(tables), method_label(CONTROL)
    if not len(scores):
        return Finding(None, "No data set has results of all ten methods.", {})
    statistic = _lead_over_baselines(scores, control)
    check = _lead_over_baselines(_scores_with_random(tables), method_label(RANDOM))
    opponents = [method for method in PAPER_METHODS if method != CONTROL]
    counts = [t.win_tie_loss(method) for t in tables for method in opponents]
    wins, ties, losses = (sum(getattr(c, n) for c in counts) for n in ("wins", "ties", "losses"))
    lost = stats.binomial_test(losses, max(1, wins + ties + losses), ALPHA / 2)
    pairs = stats.wilcoxon_holm(scores, control, ALPHA)
    better, worse = pairs.better_than(control), pairs.worse_than(control)
    ahead = {n: float((scores[control] - scores[n]).mean()) for n in scores if n != control}
    told = (
        f"Wilcoxon–Holm over {format_count(len(scores), 'data set')} finds "
        f"{format_list(better)} better than DOMEP, and {format_list(worse)} worse. "
        f"Of {lost.total} t-tests over folds, one per row and method, DOMEP wins {wins}, "
        f"ties {ties} and loses {losses}; 2.5 % losses are "
        "expected by chance."
    )
    numbers = {
        "data_sets": len(scores),
        "rows": sum(len(table.scores) for table in tables),
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "better": better,
        "worse": worse,
        "p_values": pairs.p_values[control].to_dict(),
        "mean_differences": ahead,
    }
    return Finding(statistic, told, numbers, check)


def _scores_with_random(tables: Sequence[AccuracyTable]) -> pd.DataFrame:
    """Return scores over data sets that include randomly drawn members, where these have any."""
    ranked = (*PAPER_METHODS, RANDOM)
    with_random = [replace(t, ranked=ranked) for t in tables if RANDOM in t.columns]
    names = [method_label(method) for method in ranked]
    return data_set_scores(with_random).reindex(columns=names).dropna()


def _lead_over_baselines(scores: pd.DataFrame, name: str) -> Statistic:
    """Return the smallest lead over the nine other methods, with the margin of the error."""
    others = [other for other in _NAMES if other != method_label(CONTROL)]
    margin = round(float(100 - scores[name].mean()) / 10, 2)
    return replace(_smallest_lead(scores, [name], others), holds_above=-margin, fails_below=0.0)


@judges_claim("best-ranks", "COMEP and DOMEP have the best average ranks.")
def judge_best_ranks(tables: Sequence[AccuracyTable]) -> Finding:
    """The quantity is the lead of COMEP and DOMEP in average rank over data sets.

    It is the best rank among the eight other methods minus the worse of the two ranks, ± Nemenyi's
    critical difference. Accuracies are averaged over the rows of a data set before they are ranked.
    """
    scores = data_set_scores(tables)
    if len(scores) < 2:
        return Finding(None, "Fewer than two data sets have results of all ten methods.", {})
    test, ranks = stats.friedman(scores), stats.average_ranks(scores).sort_values(kind="stable")
    each = format_list(f"{name} {rank:.2f}" for name, rank in ranks.items())
    told = f"Friedman: {stats.format_p(test.f_p_value)}, {len(scores)} data sets. Ranks: {each}."
    numbers = {"p_value": test.f_p_value, "ranks": ranks.to_dict(), "data_sets": len(scores)}
    lead = float(ranks[_OTHERS].min() - ranks[_OWN].max())
    half = stats.critical_difference(len(PAPER_METHODS), len(scores), ALPHA)
    return Finding(Statistic("lead in average rank", lead, lead - half, lead + half), told, numbers)


@judges_claim("superior", "COMEP and DOMEP are significantly better than all other methods.")
def judge_superior(tables: Sequence[AccuracyTable]) -> Finding:
    """The quantity is the smallest lead of COMEP or DOMEP over one of the eight others, in points.

    Accuracies are averaged over the rows of a data set. The intervals of all sixteen differences
    hold together (Bonferroni).
    """
    scores = data_set_scores(tables)
    if len(scores) < 2:
        return Finding(None, "Fewer than two data sets have results of all ten methods.", {})
    statistic = _smallest_lead(scores, _OWN, _OTHERS)
    behind = {name: stats.nemenyi(scores, ALPHA).worse_than(name) for name in _OWN}
    each = "; ".join(f"{name} before {format_list(behind[name])}" for name in _OWN)
    told = f"By Nemenyi's test over {len(scores)} data sets, {each}."
    numbers: JsonObject = {"data_sets": len(scores), "behind": behind}
    paper = data_set_scores(tables, paper=True)
    if len(paper) > 1:
        printed = _smallest_lead(paper, _OWN, _OTHERS)
        theirs = {name: stats.nemenyi(paper, ALPHA).worse_than(name) for name in _OWN}
        each = "; ".join(f"{name} before {format_list(theirs[name])}" for name in _OWN)
        told += (
            f" According to the paper's printed figures ({len(paper)} data sets): {each}; "
            f"{printed}, by which the claim {printed.verdict}."
        )
        numbers |= {"behind_by_the_paper": theirs, "printed": asdict(printed)}
    return Finding(statistic, told, numbers)


def _smallest_lead(scores: pd.DataFrame, own: Sequence[str], others: Sequence[str]) -> Statistic:
    """Return the smallest mean difference of an own and another method over data sets.

    The ends of its interval are the smallest ends of all differences.
    """
    n_pairs = len(own) * len(others)
    leads = [
        mean_over_data_sets({str(k): [v] for k, v in (scores[a] - scores[b]).items()}, n_pairs)
        for a in own
        for b in others
    ]
    value, low, high = (float(np.min(column)) for column in zip(*leads, strict=True))
    return Statistic("smallest lead, points", value, low, high)


def all_rank_pictures(tables: Sequence[AccuracyTable]) -> list[look.Picture]:
    """Return the figures of ranks: first over all tables, then for each table."""
    groups = [(t.name, t.title.lower(), t.name, t.scores, t.paper_scores) for t in tables]
    if len(tables) > 1:
        scores = combined_scores(tables), combined_scores(tables, paper=True)
        groups.insert(0, ("all", "all tables", "tables", *scores))
    pictures = []
    for name, title, group, ours, paper in groups:
        if not ours.empty:
            sides = {"ours": ours} | ({} if paper.empty else {"the paper's": paper})
            # A data set has one row in a table, but up to three in all tables.
            unit = "rows" if name == "all" else "data sets"
            charts = rank_pictures(
                name, title, group, sides, method_label(CONTROL), in_column=True, unit=unit
            )
            repeated = f"Repeats {ITEM} (a) of the paper" if name == "all" else f"Like {ITEM} (a)"
            references = (f"{repeated}{_coverage_note(tables, name)}.", NOT_REPEATED)
            pictures += [
                replace(chart, caption=f"{reference} {chart.caption}")
                for chart, reference in zip(charts, references, strict=True)
            ]
            pictures += [_rank_sums_picture(tables)] if name == "all" else []
    return pictures


def _coverage_note(tables: Sequence[AccuracyTable], name: str) -> str:
    """Return a note if a figure of ranks covers short forms or a single table only."""
    if any(table.is_short for table in tables if name in (table.name, "all")):
        return ", in the short form"
    return "" if name == "all" else ", for this table alone"


def _rank_sums_picture(tables: Sequence[AccuracyTable]) -> look.Picture:
    sides = {
        side: {
            table.title: stats.aggregated_ranks(scores)
            for table in tables
            if len(scores := table.paper_scores if paper else table.scores)
        }
        for side, paper in (("ours", False), ("the paper's", True))
    }
    headings = ("method", *(f"{side}: {title}" for side, parts in sides.items() for title in parts))
    rows = tuple(
        (name, *(float(ranks[name]) for parts in sides.values() for ranks in parts.values()))
        for name in _NAMES
    )
    caption = (
        f"Repeats {ITEM} (b) of the paper{_coverage_note(tables, 'all')}. Sum of the ranks of each "
        "method over the rows of all tables; smaller is better. Rows that were not measured are "
        "missing on our side."
    )
    draw = partial(_draw_rank_sums, sides, [table.title for table in tables])
    title = "Aggregated ranks"
    return look.Picture("aggregated-ranks", "tables", title, caption, headings, rows, draw, 2.6)


def _draw_rank_sums(
    sides: dict[str, dict[str, pd.Series]], titles: Sequence[str], figure: "Figure"
) -> None:
    panels = figure.subplots(1, len(sides), sharey=True)
    looks = ((look.BLUE, ""), (look.AMBER, "////"), (look.GREEN, "...."))
    styles = dict(zip(titles, looks, strict=False))
    for panel, (side, parts) in zip(panels, sides.items(), strict=True):
        left = [0.0] * len(_NAMES)
        for title, ranks in parts.items():
            colour, hatch = styles[title]
            widths = [float(ranks[name]) for name in _NAMES]
            panel.barh(range(len(_NAMES)), widths, 0.75, left=left, color=colour, hatch=hatch,
                       label=title, edgecolor="white", linewidth=0.3)  # fmt: skip
            left = [start + width for start, width in zip(left, widths, strict=True)]
        panel.set_title(side)
        panel.set_xlabel("sum of ranks")
    look.label_rows(panels, _NAMES)
    look.legend_below(figure, panels[-1], 1)


JUDGES = (judge_not_worse, judge_best_ranks, judge_superior)
