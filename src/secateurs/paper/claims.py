"""What the paper's claims share: verdicts, and the rule of claims over many settings.

Each claim stands in the file of the table or figure that it rests on. The docstring of its judge is
its rule and is printed with the verdict. Rules were first written before any result was seen; those
with intervals replaced them after one run with seed 0, so only other seeds are a test of
them.

Claims over many settings share a rule: a setting speaks for the claim, against it, or for neither;
the claim holds if three quarters of at least three settings speak for it, does not hold if more
than a quarter speak against it, and cannot be told otherwise.

Each verdict comes with the statistic that it rests on and the interval of that. Accuracies of folds
and seeds come from the same rows, so their differences have the error of Nadeau and Bengio.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from secateurs.statistics import Difference, binomial_test, paired_difference
from secateurs.text_format import format_signed

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"
NOT_JUDGED, NOT_MEASURED = "not judged", "not measured"
UNMEASURED = "It was not measured."
ALPHA = 0.05
LARGE = 2000  # members; the paper's ensembles are far smaller
OVERLAP = 1 / 3  # test rows by training rows of the protocol: a fifth and three fifths
_MIN_SETTINGS = 3


@dataclass(frozen=True)
class Statistic:
    """What a verdict rests on: a value and its interval.

    Attributes
    ----------
    name : str
        What it is, with its unit.
    value, low, high : float
        The value seen, and the ends of its interval.
    level : float
        Confidence level of the interval.
    """

    name: str
    value: float
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and its verdict.

    Attributes
    ----------
    name, claim : str
        Short name, and the claim in a sentence.
    verdict : {"holds", "does not hold", "cannot be told", "not judged", "not measured"}
        By the rule; a claim is not judged by a short form or by stand-ins.
    told : str
        The numbers behind it, in words.
    rule : str
        How the verdict follows from the numbers.
    numbers : dict
        Plain values.
    statistic : Statistic or None
        What the verdict rests on, with its interval; None where nothing was measured.
    weighed : str
        How many settings speak for and against it, where the rule counts them; or why it is not
        judged.
    """

    name: str
    claim: str
    verdict: str
    told: str
    rule: str
    numbers: dict[str, Any]
    statistic: Statistic | None = None
    weighed: str = ""

    def unjudged(self, reason: str) -> Claim:
        """Return the claim with what was measured, if anything, and why there is no verdict."""
        verdict = NOT_MEASURED if self.told == UNMEASURED else NOT_JUDGED
        return replace(self, verdict=verdict, weighed=reason)


@dataclass(frozen=True)
class Finding:
    """What a judge found: the verdict, the numbers in words, the numbers, and the statistic.

    ``weighed`` says in words how many settings speak for the claim and against it.
    """

    verdict: str
    told: str
    numbers: dict[str, Any]
    statistic: Statistic | None = None
    weighed: str = ""

    def with_details(self, told: str, **numbers: Any) -> Finding:
        """Return the finding with more words and numbers."""
        words = f"{self.told} {told}".strip()
        return replace(self, told=words, numbers=self.numbers | numbers)


Judge = Callable[[Any], Claim]


def judges_claim(name: str, text: str) -> Callable[[Callable[[Any], Finding]], Judge]:
    """Turn a function from evidence to `Finding` into the judge of a claim."""

    def decorate(find: Callable[[Any], Finding]) -> Judge:
        rule = " ".join((inspect.getdoc(find) or "").split())

        @wraps(find)
        def judge(evidence: Any) -> Claim:
            return Claim(name, text, rule=rule, **vars(find(evidence)))

        return judge

    return decorate


def weigh_settings(n_settings: int, n_for: int, n_against: int, noun: str = "settings") -> Finding:
    """Weigh settings that speak for and against a claim by the common rule."""
    numbers = {"settings": n_settings, "for": n_for, "against": n_against}
    if not n_settings:
        return Finding(UNKNOWN, UNMEASURED, numbers)
    weighed = f"{n_for} of {n_settings} {noun} speak for it, {n_against} against it."
    share = binomial_test(n_for, n_settings)
    statistic = Statistic(f"share of {noun} for it", share.share, share.low, share.high)
    verdict = UNKNOWN
    if n_settings < _MIN_SETTINGS:
        weighed = f"{weighed} That is too few."
    elif n_for >= 0.75 * n_settings:
        verdict = HOLDS
    elif n_against > 0.25 * n_settings:
        verdict = FAILS
    return Finding(verdict, "", numbers, statistic, weighed)


def fold_difference(first: Any, second: Any) -> Difference | None:
    """Return the mean difference over folds and seeds of a data set; None for fewer than three."""
    return paired_difference(first, second, OVERLAP) if len(first) > 2 else None


def format_difference(found: Difference, level: float = 0.95) -> str:
    """Return a difference in points with its interval as text."""
    low, high = found.interval(level)
    return f"{format_signed(found.mean, 2)} ({format_signed(low, 2)} to {format_signed(high, 2)})"
