"""Claims of the paper: verdicts, and the common rule of claims about many settings.

Each claim is defined in the file of the table or figure that it is based on. The docstring of its
judge is the rule of the verdict and is printed with it. The first rules were written before any
result was seen. Rules with intervals replaced them after one run with seed 0, so only runs with
other seeds test them.

Claims about many settings share a rule. A setting supports the claim, contradicts it, or does
neither. The claim holds if at least three quarters of three or more settings support it, does not
hold if more than a quarter contradict it, and cannot be told otherwise.

Each verdict comes with the statistic that it is based on and its interval. Accuracies of different
folds and seeds come from the same samples, so their differences have Nadeau and Bengio's corrected
standard error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TypeAlias, TypeVar

from secateurs.statistics import Difference, binomial_test, paired_difference
from secateurs.text_format import format_signed
from secateurs.typing import FloatArray, JsonObject

Evidence = TypeVar("Evidence")  # rows, curves or other measurements that a claim is judged by

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"
NOT_JUDGED, NOT_MEASURED = "not judged", "not measured"
UNMEASURED = "Not measured."
ALPHA = 0.05
LARGE = (
    2000  # members; ensembles of the paper are far smaller, so larger ones have their own claims
)
OVERLAP = 1 / 3  # test samples / training samples of the protocol: one fifth and three fifths
_MIN_SETTINGS = 3  # with one or two settings, shares of a quarter and three quarters mean nothing


@dataclass(frozen=True)
class Statistic:
    """The statistic that a verdict is based on, with its confidence interval."""

    name: str  # with its unit
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
        The verdict; claims are not judged by short forms or stand-in data.
    told : str
        Description of the measured numbers.
    rule : str
        How the verdict follows from the numbers.
    numbers : dict
        The measured numbers.
    statistic : Statistic or None
        The statistic that the verdict is based on; None if nothing was measured.
    weighed : str
        Number of settings that support and contradict the claim, if the rule counts settings; or
        the reason why the claim is not judged.
    """

    name: str
    claim: str
    verdict: str
    told: str
    rule: str
    numbers: JsonObject
    statistic: Statistic | None = None
    weighed: str = ""

    def unjudged(self, reason: str) -> Claim:
        """Return the claim without a verdict, with the reason why it is not judged."""
        verdict = NOT_MEASURED if self.told == UNMEASURED else NOT_JUDGED
        return replace(self, verdict=verdict, weighed=reason)


@dataclass(frozen=True)
class Finding:
    """Result of a judge; the fields have the same meaning as those of `Claim`."""

    verdict: str
    told: str
    numbers: JsonObject
    statistic: Statistic | None = None
    weighed: str = ""

    def with_details(self, description: str, **numbers: object) -> Finding:
        """Return the finding with a further description and further numbers."""
        told = f"{self.told} {description}".strip()
        return replace(self, told=told, numbers=self.numbers | numbers)


Judge: TypeAlias = Callable[[Sequence[Evidence]], Claim]


def judges_claim(
    name: str, text: str
) -> Callable[[Callable[[Sequence[Evidence]], Finding]], Judge[Evidence]]:
    """Turn a function that returns a `Finding` into a judge; its docstring is the rule."""

    def decorate(find: Callable[[Sequence[Evidence]], Finding]) -> Judge[Evidence]:
        rule = " ".join((inspect.getdoc(find) or "").split())

        @wraps(find)
        def judge(evidence: Sequence[Evidence]) -> Claim:
            return Claim(name, text, rule=rule, **vars(find(evidence)))

        return judge

    return decorate


def weigh_settings(n_settings: int, n_for: int, n_against: int, noun: str = "settings") -> Finding:
    """Judge a claim by the number of settings that support and contradict it: the common rule."""
    numbers = {"settings": n_settings, "for": n_for, "against": n_against}
    if not n_settings:
        return Finding(UNKNOWN, UNMEASURED, numbers)
    weighed = f"{n_for} of {n_settings} {noun} support the claim, {n_against} contradict it."
    share = binomial_test(n_for, n_settings)
    statistic = Statistic(f"share of {noun} that support it", share.share, share.low, share.high)
    verdict = UNKNOWN
    if n_settings < _MIN_SETTINGS:
        weighed = f"{weighed} These are too few for a verdict."
    elif n_for >= 0.75 * n_settings:
        verdict = HOLDS
    elif n_against > 0.25 * n_settings:
        verdict = FAILS
    return Finding(verdict, "", numbers, statistic, weighed)


def fold_difference(
    first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray
) -> Difference | None:
    """Return the mean difference over folds and seeds of a data set; None for fewer than three."""
    return paired_difference(first, second, OVERLAP) if len(first) > 2 else None


def format_difference(difference: Difference, level: float = 0.95) -> str:
    """Return a difference in points with its interval as text."""
    low, high = (format_signed(end, 2) for end in difference.interval(level))
    return f"{format_signed(difference.mean, 2)} ({low} to {high})"
