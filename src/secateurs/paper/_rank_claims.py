"""Claims on accuracy over data sets: DOMEP against all others, and who ranks best."""

from collections.abc import Sequence
from typing import Any

from secateurs.paper._paper import CONTROL, METHODS, OURS, label
from secateurs.paper._tables import Table, all_scores
from secateurs.paper._verdicts import (
    ALPHA,
    FAILS,
    HOLDS,
    UNKNOWN,
    Finding,
    listed,
    plain,
    signed,
)
from secateurs.statistics import (
    average_ranks,
    critical_difference,
    format_p,
    friedman,
    nemenyi,
    smallest_p_value,
    wilcoxon_holm,
)

_OWN = [label(method) for method in OURS]
_OTHERS = [label(method) for method in METHODS if method not in OURS]


def judge_not_worse(tables: Sequence[Table]) -> Finding:
    """DOMEP is compared with the nine other methods, over data sets and on each of them.

    Holds if Wilcoxon's test with Holm's correction over all data sets of the tables finds no method
    better than DOMEP, and t-tests over folds find one better in at most 5 % of all pairs of a data
    set and a method, about what chance would give. Does not hold if either finds more. Cannot be
    told from so few data sets that Wilcoxon's test cannot reach 5 %, nor from fewer than three
    folds.
    """
    scores, control = all_scores(tables), label(CONTROL)
    folds = [len(r.entries[CONTROL].folds) for t in tables for r in t.rows if r.is_ranked]
    others = [method for method in METHODS if method != CONTROL]
    if not len(scores):
        return Finding(UNKNOWN, "No data set has results of all ten methods.", {})
    counts = [t.win_tie_loss(method) for t in tables for method in others]
    wins, ties, losses = (sum(getattr(c, n) for c in counts) for n in ("wins", "ties", "losses"))
    pairs = wilcoxon_holm(scores, control, ALPHA)
    better, worse = pairs.better_than(control), pairs.worse_than(control)
    ahead = {n: float((scores[control] - scores[n]).mean()) for n in scores if n != control}
    least, most = (pick(ahead, key=lambda name: ahead[name]) for pick in (min, max))
    share = losses / max(1, wins + ties + losses)
    if smallest_p_value(len(scores), len(others)) >= ALPHA or min(folds) < 3:
        verdict = UNKNOWN
    else:
        verdict = FAILS if better or share > ALPHA else HOLDS
    told = (
        f"Of {wins + ties + losses} t-tests DOMEP wins {wins}, ties {ties} and loses {losses}. "
        f"Wilcoxon–Holm over {len(scores)} data sets: better than DOMEP {listed(better)}; worse "
        f"{listed(worse)}. Mean accuracy of DOMEP less that of others: {signed(ahead[least])} "
        f"({least}) to {signed(ahead[most])} points ({most})."
    )
    numbers = {
        "data_sets": len(scores),
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "better": better,
        "worse": worse,
        "p_values": plain(pairs.p_values[control]),
        "mean_differences": ahead,
    }
    return Finding(verdict, told, numbers)


def judge_best_ranks(tables: Sequence[Table]) -> Finding:
    """The average ranks of ten methods over all data sets of the tables are compared.

    Holds if COMEP and DOMEP have the two best. Does not hold if another method ranks before one of
    them. Cannot be told where Friedman's test with Iman and Davenport's correction cannot tell the
    methods apart at 5 %.
    """
    scores = all_scores(tables)
    if len(scores) < 2:
        return Finding(UNKNOWN, "Fewer than two data sets have results of all ten methods.", {})
    test, ranks = friedman(scores), average_ranks(scores).sort_values(kind="stable")
    first = set(ranks.index[:2]) == set(_OWN) and ranks.iloc[1] < ranks.iloc[2]
    verdict = UNKNOWN if test.f_p_value >= ALPHA else HOLDS if first else FAILS
    each = listed([f"{name} {rank:.2f}" for name, rank in ranks.items()])
    told = f"Friedman: {format_p(test.f_p_value)}, {len(scores)} data sets. Ranks: {each}."
    return Finding(verdict, told, {"p_value": test.f_p_value, "ranks": plain(ranks)})


def judge_superior(tables: Sequence[Table]) -> Finding:
    """Nemenyi's test at 5 % compares the ten methods over all data sets of the tables.

    Holds if COMEP and DOMEP both rank significantly before each of the eight other methods. Does
    not hold otherwise. Cannot be told from so few data sets that the critical difference is above
    5, the distance if both were the first two everywhere and the others alike.
    """
    scores = all_scores(tables)
    if not len(scores) or critical_difference(len(METHODS), len(scores), ALPHA) > 5:
        told = f"{len(scores)} data sets have results of all ten methods: too few for this test."
        return Finding(UNKNOWN, told, {"data_sets": len(scores)})
    behind = {name: nemenyi(scores, ALPHA).worse_than(name) for name in _OWN}
    verdict = HOLDS if all(set(_OTHERS) <= set(names) for names in behind.values()) else FAILS
    told = "; ".join(f"{name} ranks significantly before {listed(behind[name])}" for name in _OWN)
    numbers: dict[str, Any] = {"data_sets": len(scores), "behind": behind}
    paper = all_scores(tables, paper=True)
    if len(paper):
        theirs = {name: nemenyi(paper, ALPHA).worse_than(name) for name in _OWN}
        each = "; ".join(f"{name} before {listed(theirs[name])}" for name in _OWN)
        told += f". By the paper's own printed figures ({len(paper)} data sets): {each}"
        numbers["behind_by_the_paper"] = theirs
    return Finding(verdict, f"{told}.", numbers)
