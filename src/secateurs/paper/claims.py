"""Claims of the paper, and the one rule of all verdicts.

Each claim is a quantity with a confidence interval and a limit: see `Statistic.verdict`. It is
defined in the file of the table or figure that it is based on. The docstring of its judge describes
the quantity and is printed with the verdict.

Observations of one data set are not independent: rows of several tables, folds, seeds, methods and
sizes share its samples. Quantities over data sets therefore have one value per data set, in which
everything else is averaged, and their interval is Student's over data sets. Where there are too
few data sets for that, the interval is over folds, with Nadeau and Bengio's corrected standard
error. It holds for the samples of these data sets, and more seeds hardly narrow it.

A claim that something is kept within a margin also needs a check: randomly drawn members have to
fail the same test. If they do not, the margin is too wide or the data too easy to tell a loss.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TypeAlias, TypeVar

import numpy as np

from secateurs.statistics import Difference, paired_difference
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
# Test samples / all other samples of the protocol: one fifth and four fifths. The validation
# samples count, since the members are selected on them.
OVERLAP = 1 / 4
_MIN_DATA_SETS = 3  # Student's interval over two data sets is too wide for any verdict


@dataclass(frozen=True)
class Statistic:
    """The quantity that a claim is judged by, with its confidence interval and its limits."""

    name: str  # with its unit
    value: float
    low: float
    high: float
    holds_above: float = 0.0
    fails_below: float | None = None  # None is ``holds_above``
    level: float = 0.95

    @property
    def verdict(self) -> str:
        """The verdict, which follows from the interval alone."""
        if self.high < self._fails_below:
            return FAILS
        return HOLDS if self.low > self.holds_above else UNKNOWN

    @property
    def rule(self) -> str:
        """The rule of the verdict in a sentence."""
        interval = f"the {100 * self.level:g} % interval"
        above, below = map(_format_limit, (self.holds_above, self._fails_below))
        if self._fails_below > self.holds_above:  # an interval can be above one and below the other
            return (
                f"The claim does not hold if {interval} is below {below}; otherwise, it holds if "
                f"the interval is above {above}."
            )
        return (
            f"The claim holds if {interval} is above {above}, and does not hold if it is below "
            f"{below}."
        )

    @property
    def _fails_below(self) -> float:
        return self.holds_above if self.fails_below is None else self.fails_below

    @property
    def _decimals(self) -> int:
        """Decimals of the printed interval: more than two if an end would be rounded to a limit."""
        distances = (self.low - self.holds_above, self.high - self._fails_below)
        nearest = min([abs(distance) for distance in distances if distance] + [0.01])
        return min(math.ceil(-math.log10(nearest)), 6)

    def __str__(self) -> str:
        is_signed = min(self.value, self.low) < 0  # ratios and shares are never negative
        n = self._decimals
        value, low, high = (
            format_signed(number, n) if is_signed else f"{number:.{n}f}"
            for number in (self.value, self.low, self.high)
        )
        return f"{self.name}: {value} ({low} to {high})"


def _format_limit(limit: float) -> str:
    return f"{limit:g}".replace("-", "−")


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
        The quantity, and how the verdict follows from its interval.
    numbers : dict
        The measured numbers.
    statistic : Statistic or None
        The quantity that the verdict follows from; None if it has no interval.
    reason : str
        Why the claim is not judged, if it is not.
    check : Statistic or None
        The same quantity of randomly drawn members, which have to fail; None if there is no check.
    """

    name: str
    claim: str
    verdict: str
    told: str
    rule: str
    numbers: JsonObject
    statistic: Statistic | None = None
    reason: str = ""
    check: Statistic | None = None

    def unjudged(self, reason: str) -> Claim:
        """Return the claim without a verdict, with the reason why it is not judged."""
        verdict = NOT_MEASURED if self.told == UNMEASURED else NOT_JUDGED
        return replace(self, verdict=verdict, reason=reason)


@dataclass(frozen=True)
class Finding:
    """Result of a judge; the fields have the same meaning as those of `Claim`."""

    statistic: Statistic | None
    told: str
    numbers: JsonObject
    check: Statistic | None = None


Judge: TypeAlias = Callable[[Sequence[Evidence]], Claim]


def judges_claim(
    name: str, text: str
) -> Callable[[Callable[[Sequence[Evidence]], Finding]], Judge[Evidence]]:
    """Turn a function that returns a `Finding` into a judge; its docstring is the quantity."""

    def decorate(find: Callable[[Sequence[Evidence]], Finding]) -> Judge[Evidence]:
        quantity = " ".join((inspect.getdoc(find) or "").split())

        @wraps(find)
        def judge(evidence: Sequence[Evidence]) -> Claim:
            finding = find(evidence)
            statistic = finding.statistic
            if statistic is None or np.isnan([statistic.low, statistic.high]).any():
                return Claim(name, text, UNKNOWN, finding.told, quantity, finding.numbers)
            told = f"{statistic}. {finding.told}".strip()
            told = told[0].upper() + told[1:]
            rule, verdict, check = f"{quantity} {statistic.rule}", statistic.verdict, finding.check
            if check is not None:
                is_measured = not np.isnan([check.low, check.high]).any()
                told += f" Check with random members: {check if is_measured else 'not measured'}."
                rule += " It only holds if randomly drawn members fail the same test."
                if verdict == HOLDS and check.verdict != FAILS:
                    verdict = UNKNOWN
                    if is_measured:
                        told += " They do not fail, so the test cannot tell a loss."
            return Claim(name, text, verdict, told, rule, finding.numbers, statistic, check=check)

        return judge

    return decorate


def mean_over_data_sets(
    values: Mapping[str, Sequence[float]], n_comparisons: int = 1
) -> tuple[float, float, float]:
    """Return the mean over data sets with Student's 95 % interval; NaN for fewer than three.

    The values of a data set are averaged first. With several comparisons, the intervals of all of
    them hold together at 95 % (Bonferroni).
    """
    means = [float(np.mean(mine)) for mine in values.values()]
    if len(means) < _MIN_DATA_SETS:
        return float(np.mean(means)) if means else np.nan, np.nan, np.nan
    difference = paired_difference(means, [0.0] * len(means))
    return difference.mean, *difference.interval(1 - ALPHA / n_comparisons)


def geometric_mean(name: str, ratios: Mapping[str, Sequence[float]]) -> Statistic:
    """Return the geometric mean of ratios over data sets, with its interval; the limit is 1."""
    logarithms = {row: np.log(np.asarray(mine)).tolist() for row, mine in ratios.items()}
    value, low, high = np.exp(mean_over_data_sets(logarithms)).tolist()
    return Statistic(name, value, low, high, holds_above=1.0)


def group_by_data_set(names: Sequence[str], values: Sequence[float]) -> dict[str, list[float]]:
    """Return the values of each data set."""
    groups: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        groups.setdefault(name, []).append(float(value))
    return groups


def fold_difference(
    first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray
) -> Difference | None:
    """Return the mean difference over folds and seeds of a data set; None for fewer than three."""
    return paired_difference(first, second, OVERLAP) if len(first) > 2 else None


def format_difference(difference: Difference, level: float = 0.95) -> str:
    """Return a difference in points with its interval as text."""
    low, high = (format_signed(end, 2) for end in difference.interval(level))
    return f"{format_signed(difference.mean, 2)} ({low} to {high})"
