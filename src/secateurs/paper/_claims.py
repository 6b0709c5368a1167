"""The paper's claims, judged by the results.

Each judge's docstring is its rule, written before any result was seen, and is printed with the
verdict. Claims over many settings share a rule: a setting speaks for the claim, against it, or for
neither; the claim holds if three quarters of at least three settings speak for it, does not hold if
more than a quarter speak against it, and cannot be told otherwise.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateurs.paper._paper import label
from secateurs.paper._plan import Plan
from secateurs.paper._rank_claims import judge_best_ranks, judge_not_worse, judge_superior
from secateurs.paper._series import (
    Correlation,
    EpfdPair,
    SpeedUp,
    WeightCurve,
    correlations,
    epfd_pairs,
    speed_ups,
    weight_curves,
)
from secateurs.paper._tables import Table
from secateurs.paper._verdicts import ALPHA, Finding, listed, signed, weigh

if TYPE_CHECKING:
    import pandas as pd

_PAIRS = "pairs of a data set and a method"
_SIZES = "data sets and sizes"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and what became of it.

    Attributes
    ----------
    name, claim : str
        Short name, and the claim in a sentence.
    verdict : {"holds", "does not hold", "cannot be told"}
        By the rule.
    told : str
        The numbers behind it, in words.
    rule : str
        How the verdict follows from the numbers.
    numbers : dict
        Plain values.
    """

    name: str
    claim: str
    verdict: str
    told: str
    rule: str
    numbers: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return asdict(self)


def judge_claims(
    plans: Iterable[Plan], frame: "pd.DataFrame", tables: Sequence[Table]
) -> list[Claim]:
    """Judge all claims of the paper.

    Parameters
    ----------
    plans : iterable of Plan
        What was run.
    frame : DataFrame
        Results, one row a cell.
    tables : sequence of Table
        Tables of the paper, from the same results.

    Returns
    -------
    list of Claim
        All of them; those without results cannot be told.
    """
    known = {plan.name: plan for plan in plans}
    claims = [_claim(name, claim, judge, tables) for name, claim, judge in _TABLE_CLAIMS]
    for plan, (read, judges) in _PLAN_CLAIMS.items():
        series = read(known[plan], frame) if plan in known else []
        claims += [_claim(name, claim, judge, series) for name, claim, judge in judges]
    return claims


def _claim(name: str, claim: str, judge: Callable[[Any], Finding], evidence: Any) -> Claim:
    rule = " ".join((inspect.getdoc(judge) or "").split())
    return Claim(name, claim, rule=rule, **asdict(judge(evidence)))


def judge_faster(races: Sequence[SpeedUp]) -> Finding:
    """COMEP and DOMEP choose from the same votes in turn, for each data set, size and rate.

    A setting speaks for the claim if DOMEP's times, with all that workers cost, are below COMEP's
    by the Mann–Whitney test at 5 %, and against it if they are above. Holds if three quarters of
    the settings speak for it, does not hold if more than a quarter speak against it.
    """
    verdicts = [race.verdict() for race in races]
    finding = weigh(len(races), verdicts.count("faster"), verdicts.count("slower"))
    if not races:
        return finding
    possible = [race.verdict(possible=True) for race in races]
    factors, bare = [race.measured for race in races], [race.possible for race in races]
    told = (
        f"{finding.told} Speed-up {min(factors):.2f} to {max(factors):.2f}, median "
        f"{np.median(factors):.2f}. Without what starting and feeding workers costs: DOMEP faster "
        f"in {possible.count('faster')} and slower in {possible.count('slower')} of {len(races)}, "
        f"median {np.median(bare):.2f}."
    )
    each = [
        {"setting": r.name, "workers": r.workers, "speed_up": r.measured, "possible": r.possible}
        for r in races
    ]
    return Finding(finding.verdict, told, finding.numbers | {"races": each})


def judge_epfd_accuracy(pairs: Sequence[EpfdPair]) -> Finding:
    """Each method and its EPFD version prune the same ensembles, fold by fold.

    A pair of a data set and a method speaks against the claim if the EPFD version is significantly
    less accurate by the t-test at 5 %, or more than one point less accurate on average; otherwise
    for it. Pairs with fewer than three folds speak for neither. Holds if three quarters speak for
    it, does not hold if more than a quarter speak against it.
    """
    tested = [(pair, pair.test) for pair in pairs if len(pair.accuracy) > 2]
    lost = [
        pair for pair, test in tested if pair.difference < -1 or (test and test.verdict == "loss")
    ]
    finding = weigh(len(pairs), len(tested) - len(lost), len(lost), _PAIRS)
    if not pairs:
        return finding
    gains = [pair.difference for pair in pairs]
    named = listed([f"{label(p.method)} on {p.row} ({signed(p.difference)})" for p in lost])
    told = (
        f"{finding.told} Mean difference {signed(float(np.mean(gains)))} points "
        f"({signed(min(gains))} to {signed(max(gains))}). Less accurate: {named}."
    )
    numbers = finding.numbers | {"differences": _by_row(pairs, gains)}
    return Finding(finding.verdict, told, numbers)


def judge_epfd_time(pairs: Sequence[EpfdPair]) -> Finding:
    """The time of a method is compared with that of its EPFD version, a machine for each group.

    That time is what the longest group and the second round take. A pair of a data set and a
    method speaks for the claim if the EPFD version takes at least a tenth less, and against it if
    it takes at least a tenth more. Holds if three quarters speak for it, does not hold if more
    than a quarter speak against it.
    """
    savings = [pair.saving for pair in pairs]
    faster, slower = sum(s >= 1 / 0.9 for s in savings), sum(s <= 1 / 1.1 for s in savings)
    finding = weigh(len(pairs), faster, slower, _PAIRS)
    if not pairs:
        return finding
    serial = [pair.serial_saving for pair in pairs]
    told = (
        f"{finding.told} Times faster: median {np.median(savings):.2f} ({min(savings):.2f} to "
        f"{max(savings):.2f}); on one machine median {np.median(serial):.2f}."
    )
    numbers = finding.numbers | {"savings": _by_row(pairs, savings)}
    return Finding(finding.verdict, told, numbers)


def judge_epfd_pep(pairs: Sequence[EpfdPair]) -> Finding:
    """The saving of time by EPFD, a machine for each group, is compared between methods.

    A data set speaks for the claim if the factor of PEP is the largest of all methods, against it
    if another's is larger. Holds if three quarters speak for it, does not hold if more than a
    quarter speak against it.
    """
    savings = _by_row(pairs, [pair.saving for pair in pairs])
    complete = {row: found for row, found in savings.items() if "pep" in found and len(found) > 1}
    largest = {row: max(found, key=lambda m: found[m]) for row, found in complete.items()}
    n_for = sum(method == "pep" for method in largest.values())
    finding = weigh(len(largest), n_for, len(largest) - n_for, "data sets")
    each = [
        f"{row}: PEP {complete[row]['pep']:.1f}, most {label(method)} {complete[row][method]:.1f}"
        for row, method in largest.items()
    ]
    told = f"{finding.told} Times faster: {'; '.join(each)}." if each else finding.told
    return Finding(finding.verdict, told, finding.numbers | {"savings": savings})


def judge_objective(found: Sequence[Correlation]) -> Finding:
    """Objective and test accuracy of all combinations of members are correlated within folds.

    A data set and size speaks for the claim, a high correlation, if Pearson's r is 0.5 or more with
    p below 5 %, and against it if r is below 0.3 or p is not below 5 %. Holds if three quarters
    speak for it, does not hold if more than a quarter speak against it.
    """
    tests = [item.pearson() for item in found]
    n_for = sum(r >= 0.5 and p < ALPHA for r, p in tests)
    n_against = sum(not (r >= 0.3 and p < ALPHA) for r, p in tests)
    finding = weigh(len(found), n_for, n_against, _SIZES)
    each: list[dict[str, Any]] = [
        {"row": item.row, "size": item.size, "r": r, "p_value": p, "r_by_fold": item.by_fold()}
        for item, (r, p) in zip(found, tests, strict=True)
    ]
    named = [f"{one['row']}, {one['size']} members: {signed(one['r'])}" for one in each]
    told = f"{finding.told} r: {'; '.join(named)}." if named else finding.told
    return Finding(finding.verdict, told, finding.numbers | {"correlations": each})


def judge_mix(curves: Sequence[WeightCurve]) -> Finding:
    """Test accuracy of COMEP at λ = 0.5, the paper's weight, is compared with λ = 0 and λ = 1.

    A data set and size speaks for the claim if the mean over folds at 0.5 is above both others, and
    against it if it is below one of them. Holds if three quarters speak for it, does not hold if
    more than a quarter speak against it. The best of many weights is not compared: chosen by
    looking, it would win by chance.
    """
    tried = [(curve.at(0.0), curve.at(0.5), curve.at(1.0)) for curve in curves]
    means = [
        (float(low.mean()), float(mid.mean()), float(high.mean()))
        for low, mid, high in tried
        if low is not None and mid is not None and high is not None
    ]
    n_for = sum(mid > max(low, high) + 1e-9 for low, mid, high in means)
    n_against = sum(mid < max(low, high) - 1e-9 for low, mid, high in means)
    finding = weigh(len(means), n_for, n_against, _SIZES)
    if not means:
        return finding
    over_relevance = float(np.mean([mid - low for low, mid, _ in means]))
    over_diversity = float(np.mean([mid - high for _, mid, high in means]))
    told = (
        f"{finding.told} On average λ = 0.5 lies {signed(over_relevance)} points from relevance "
        f"alone and {signed(over_diversity)} from diversity alone."
    )
    numbers = {"over_relevance": over_relevance, "over_diversity": over_diversity}
    return Finding(finding.verdict, told, finding.numbers | numbers)


def judge_weight(curves: Sequence[WeightCurve]) -> Finding:
    """The weight λ of the highest mean test accuracy is found for each size of a data set.

    A data set speaks for the claim, one best λ whatever the size, if the best weights of all sizes
    lie within 0.2 of each other, otherwise against it. Sizes for which best and worst weight cannot
    be told apart by the t-test at 5 % are left aside; data sets with fewer than two sizes left
    speak for neither. Holds if three quarters speak for it, does not hold if more than a quarter
    speak against it.
    """
    best: dict[str, dict[int, float]] = {}
    for curve in curves:
        found = best.setdefault(curve.row, {})
        if not curve.is_flat:
            found[curve.keep] = curve.best
    several = [list(found.values()) for found in best.values() if len(found) > 1]
    n_for = sum(max(weights) - min(weights) < 0.2 + 1e-9 for weights in several)
    finding = weigh(len(best), n_for, len(several) - n_for, "data sets")
    each = [
        f"{row}: {listed([f'{weight:g} for {keep}' for keep, weight in found.items()])}"
        for row, found in best.items()
    ]
    told = f"{finding.told} Best λ by size, where it can be told: {'; '.join(each)}."
    return Finding(
        finding.verdict, told if each else finding.told, finding.numbers | {"best": best}
    )


def _by_row(pairs: Sequence[EpfdPair], values: Sequence[float]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for pair, value in zip(pairs, values, strict=True):
        found.setdefault(pair.row, {})[pair.method] = value
    return found


_Judge = tuple[str, str, Callable[[Any], Finding]]
_TABLE_CLAIMS: tuple[_Judge, ...] = (
    (
        "not-worse",
        "DOMEP is not significantly worse than the centralised methods.",
        judge_not_worse,
    ),
    ("best-ranks", "COMEP and DOMEP have the best average ranks.", judge_best_ranks),
    ("superior", "COMEP and DOMEP are significantly better than all others.", judge_superior),
)
_PLAN_CLAIMS: dict[str, tuple[Callable[..., Any], tuple[_Judge, ...]]] = {
    "figure-speedup": (speed_ups, (("faster", "DOMEP is faster than COMEP.", judge_faster),)),
    "figure-epfd": (
        epfd_pairs,
        (
            ("epfd-accuracy", "EPFD keeps accuracy.", judge_epfd_accuracy),
            ("epfd-time", "EPFD saves time.", judge_epfd_time),
            ("epfd-pep", "EPFD saves most of all for PEP.", judge_epfd_pep),
        ),
    ),
    "figure-objective": (
        correlations,
        (("objective", "The objective is highly correlated with accuracy.", judge_objective),),
    ),
    "figure-lambda": (
        weight_curves,
        (
            ("mix", "A mix of both criteria beats either alone.", judge_mix),
            ("weight", "The best λ is a property of the data.", judge_weight),
        ),
    ),
}
