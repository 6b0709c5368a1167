"""Figures of ranks, ours and the paper's, and the claims about accuracy and ranks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from secateurs import statistics as stats
from secateurs.benchmarking import pictures as look
from secateurs.benchmarking.rank_pictures import rank_pictures
from secateurs.paper._accuracy_tables import AccuracyTable, combined_scores
from secateurs.paper._plan import NOT_REPEATED
from secateurs.paper._printed_tables import CONTROL, OURS, PAPER_METHODS, method_label
from secateurs.paper.claims import ALPHA, FAILS, HOLDS, UNKNOWN, Finding, Statistic, judges_claim
from secateurs.text_format import format_list, format_signed
from secateurs.typing import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITEM = "Figure 2"  # of the paper
_NAMES = [method_label(method) for method in PAPER_METHODS]
_OWN = [method_label(method) for method in OURS]
_OTHERS = [name for name in _NAMES if name not in _OWN]


@judges_claim("not-worse", "DOMEP is not significantly worse than the centralised methods.")
def judge_not_worse(tables: Sequence[AccuracyTable]) -> Finding:
    """DOMEP is compared with the nine other methods over all data sets and on each data set.

    The claim does not hold if Wilcoxon's test with Holm's correction over all data sets of the
    tables
    finds a method better than DOMEP. It does not hold either if DOMEP loses more t-tests over folds
    than the 2.5 % expected by chance, by a one-sided binomial test at 5 % over all pairs of a data
    set and a method. (Pairs of one data set share DOMEP's results, so this test is rather too
    sensitive.) The claim holds otherwise. It cannot be told if there are too few data sets for
    Wilcoxon's test to reach 5 %, or fewer than three folds.
    """
    scores, control = combined_scores(tables), method_label(CONTROL)
    folds = [len(r.entries[CONTROL].folds) for t in tables for r in t.rows if r.is_ranked]
    opponents = [method for method in PAPER_METHODS if method != CONTROL]
    if not len(scores):
        return Finding(UNKNOWN, "No data set has results of all ten methods.", {})
    counts = [t.win_tie_loss(method) for t in tables for method in opponents]
    wins, ties, losses = (sum(getattr(c, n) for c in counts) for n in ("wins", "ties", "losses"))
    pairs = stats.wilcoxon_holm(scores, control, ALPHA)
    better, worse = pairs.better_than(control), pairs.worse_than(control)
    ahead = {n: float((scores[control] - scores[n]).mean()) for n in scores if n != control}
    least, most = (pick(ahead, key=lambda name: ahead[name]) for pick in (min, max))
    lost = stats.binomial_test(losses, max(1, wins + ties + losses), ALPHA / 2)
    if stats.smallest_p_value(len(scores), len(opponents)) >= ALPHA or min(folds) < 3:
        verdict = UNKNOWN
    else:
        verdict = FAILS if better or lost.more < ALPHA else HOLDS
    told = (
        f"Of {lost.total} t-tests DOMEP wins {wins}, ties {ties} and loses {losses}, which is "
        f"{100 * lost.share:.1f} % ({100 * lost.low:.1f} to {100 * lost.high:.1f}); 2.5 % are "
        f"expected by chance ({stats.format_p(lost.more)} for as many losses or more). "
        f"Wilcoxon–Holm over {len(scores)} data sets finds {format_list(better)} better than "
        f"DOMEP, and {format_list(worse)} worse. Mean accuracy of DOMEP minus that of other "
        f"methods: {format_signed(ahead[least], 2)} ({least}) to "
        f"{format_signed(ahead[most], 2)} points ({most})."
    )
    numbers = {
        "data_sets": len(scores),
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "p_value_of_losses": lost.more,
        "better": better,
        "worse": worse,
        "p_values": pairs.p_values[control].to_dict(),
        "mean_differences": ahead,
    }
    statistic = Statistic("share of t-tests lost", lost.share, lost.low, lost.high)
    return Finding(verdict, told, numbers, statistic)


@judges_claim("best-ranks", "COMEP and DOMEP have the best average ranks.")
def judge_best_ranks(tables: Sequence[AccuracyTable]) -> Finding:
    """The average ranks of the ten methods over all data sets of the tables are compared.

    The claim holds if COMEP and DOMEP have the two best ranks. It does not hold if another method
    ranks before one of them. It cannot be told if Friedman's test with Iman and Davenport's
    correction finds no difference between the methods at 5 %.
    """
    scores = combined_scores(tables)
    if len(scores) < 2:
        return Finding(UNKNOWN, "Fewer than two data sets have results of all ten methods.", {})
    test, ranks = stats.friedman(scores), stats.average_ranks(scores).sort_values(kind="stable")
    are_first = set(ranks.index[:2]) == set(_OWN) and ranks.iloc[1] < ranks.iloc[2]
    verdict = UNKNOWN if test.f_p_value >= ALPHA else HOLDS if are_first else FAILS
    each = format_list(f"{name} {rank:.2f}" for name, rank in ranks.items())
    told = f"Friedman: {stats.format_p(test.f_p_value)}, {len(scores)} data sets. Ranks: {each}."
    numbers = {"p_value": test.f_p_value, "ranks": ranks.to_dict()}
    return Finding(verdict, told, numbers, _rank_lead(scores))


@judges_claim("superior", "COMEP and DOMEP are significantly better than all other methods.")
def judge_superior(tables: Sequence[AccuracyTable]) -> Finding:
    """Nemenyi's test at 5 % compares the ten methods over all data sets of the tables.

    The claim holds if COMEP and DOMEP both rank significantly before each of the eight other
    methods, and does not hold otherwise. It cannot be told if there are so few data sets that the
    critical difference is above 5: this is the difference in ranks if both were first on every data
    set and all other methods were equal.
    """
    scores = combined_scores(tables)
    if not len(scores) or stats.critical_difference(len(PAPER_METHODS), len(scores), ALPHA) > 5:
        told = f"{len(scores)} data sets have results of all ten methods, too few for this test."
        return Finding(UNKNOWN, told, {"data_sets": len(scores)})
    behind = {name: stats.nemenyi(scores, ALPHA).worse_than(name) for name in _OWN}
    verdict = HOLDS if all(set(_OTHERS) <= set(names) for names in behind.values()) else FAILS
    told = "; ".join(
        f"{name} ranks significantly before {format_list(behind[name])}" for name in _OWN
    )
    numbers: JsonObject = {"data_sets": len(scores), "behind": behind}
    paper = combined_scores(tables, paper=True)
    if len(paper):
        theirs = {name: stats.nemenyi(paper, ALPHA).worse_than(name) for name in _OWN}
        each = "; ".join(f"{name} before {format_list(theirs[name])}" for name in _OWN)
        told += f". According to the paper's printed figures ({len(paper)} data sets): {each}"
        numbers["behind_by_the_paper"] = theirs
    return Finding(verdict, f"{told}.", numbers, _rank_lead(scores))


def _rank_lead(scores: pd.DataFrame) -> Statistic:
    """Return the lead in rank of COMEP and DOMEP over the other methods, ± critical difference."""
    ranks = stats.average_ranks(scores)
    lead = float(ranks[_OTHERS].min() - ranks[_OWN].max())
    half = stats.critical_difference(len(PAPER_METHODS), len(scores), ALPHA)
    return Statistic("lead in average rank", lead, lead - half, lead + half)


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
            charts = rank_pictures(name, title, group, sides, method_label(CONTROL), in_column=True)
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
        "method over the data sets of all tables; smaller is better. Data sets that were not "
        "measured are missing on our side."
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
