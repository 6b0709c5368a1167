"""Confidence intervals and tests of shares, differences and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.statistics._ranks import DECIMALS

_LARGEST_R = 1 - 1e-15  # Fisher's z of a correlation of ±1 would be infinite


@dataclass(frozen=True)
class Share:
    """A share of cases, compared with the share expected by chance.

    Attributes
    ----------
    count, total : int
        Number of positive cases, and of all cases.
    chance : float
        The share expected by chance.
    low, high : float
        Clopper and Pearson's interval of the true share.
    more, fewer : float
        One-sided p-values: the probability by chance of at least, and of at most, this count.
    """

    count: int
    total: int
    chance: float
    low: float
    high: float
    more: float
    fewer: float

    @property
    def share(self) -> float:
        """The observed share."""
        return self.count / self.total


def binomial_test(count: int, total: int, chance: float = 0.5, level: float = 0.95) -> Share:
    """Compare a share of independent cases with the share expected by chance.

    Parameters
    ----------
    count, total : int
        Number of positive cases, and of all cases.
    chance : float, default=0.5
        The share expected by chance. For example, two-sided tests at 5 % of equal methods find a
        loss in 2.5 % of the cases.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    Share

    Examples
    --------
    >>> from secateurs.statistics import binomial_test
    >>> test = binomial_test(2, 10)
    >>> round(test.fewer, 4), round(test.low, 3), round(test.high, 3)
    (0.0547, 0.025, 0.556)
    """
    if not 0 <= count <= total or total < 1:
        raise InputError(
            f"{count} of {total} is not a share. Pass a total of 1 or more, and a count up to it."
        )
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, count, total - count + 1)) if count else 0.0
    high = float(stats.beta.ppf(1 - tail, count + 1, total - count)) if count < total else 1.0
    more, fewer = stats.binom.sf(count - 1, total, chance), stats.binom.cdf(count, total, chance)
    return Share(count, total, chance, low, high, float(more), float(fewer))


@dataclass(frozen=True)
class Difference:
    """A mean difference of paired scores, with its standard error.

    Attributes
    ----------
    mean : float
        Mean of the first scores minus the mean of the second scores.
    error : float
        Standard error of the mean.
    freedom : float
        Degrees of freedom of Student's t; infinite if the mean is known exactly.
    """

    mean: float
    error: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of the true difference."""
        half = float(stats.t.ppf((1 + level) / 2, self.freedom)) * self.error if self.error else 0.0
        return self.mean - half, self.mean + half

    def p_above(self, value: float = 0.0) -> float:
        """Return the one-sided p-value of a true difference of at most a value."""
        return self._tail_probability(self.mean - value)

    def p_below(self, value: float = 0.0) -> float:
        """Return the one-sided p-value of a true difference of at least a value."""
        return self._tail_probability(value - self.mean)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that there is no difference."""
        return min(1.0, 2 * min(self.p_above(), self.p_below()))

    def _tail_probability(self, distance: float) -> float:
        if not self.error:
            return 0.0 if distance > 0 else 1.0
        return float(stats.t.sf(distance / self.error, self.freedom))


def paired_difference(first: ArrayLike, second: ArrayLike, overlap: float = 0.0) -> Difference:
    """Return the mean difference of paired scores, with its standard error.

    Parameters
    ----------
    first, second : array-like of shape (n_pairs,)
        Scores on the same folds, in the same order.
    overlap : float, default=0
        Number of test samples divided by the number of training samples, if the scores come from
        repeated splits of the same data. Such scores are not independent, so the standard error is
        enlarged by the correction of Nadeau and Bengio [1]_. 0 for independent pairs.

    Returns
    -------
    Difference

    References
    ----------
    .. [1] Nadeau and Bengio. "Inference for the generalization error". Machine Learning 52, 2003.

    Examples
    --------
    >>> from secateurs.statistics import paired_difference
    >>> difference = paired_difference([0.90, 0.92, 0.91], [0.80, 0.81, 0.83])
    >>> [round(end, 4) for end in difference.interval()]
    [0.0587, 0.1346]
    """
    pair = [np.asarray(scores, dtype=float).ravel() for scores in (first, second)]
    if len(pair[0]) != len(pair[1]) or len(pair[0]) < 2:
        raise InputError(
            f"There are {len(pair[0])} and {len(pair[1])} scores. Pass two or more pairs."
        )
    values: NDArray[np.float64] = np.round(pair[0] - pair[1], DECIMALS)
    if np.isnan(values).any():
        raise InputError("Scores are missing (NaN) in some pairs. Leave those pairs out.")
    n_pairs = len(values)
    deviation = float(values.std(ddof=1)) if np.ptp(values) else 0.0
    error = deviation * float(np.sqrt(1 / n_pairs + overlap))
    return Difference(float(values.mean()), error, n_pairs - 1)


def mean_difference(differences: Sequence[Difference]) -> Difference:
    """Return the mean of independent differences, each with the same weight.

    The degrees of freedom are Satterthwaite's. The result holds for the data sets of these
    differences and does not generalise to other data sets.

    Parameters
    ----------
    differences : sequence of Difference
        For example one per data set.

    Returns
    -------
    Difference

    Examples
    --------
    >>> from secateurs.statistics import mean_difference, paired_difference
    >>> difference = paired_difference([3, 5, 4], [1, 2, 3])
    >>> mean_difference([difference, difference]).mean
    2.0
    """
    if not differences:
        raise InputError("There are no differences. Pass one or more.")
    count = len(differences)
    variances = np.array([difference.error**2 for difference in differences])
    mean = float(np.mean([difference.mean for difference in differences]))
    total = float(variances.sum())
    if not total:
        return Difference(mean, 0.0, float("inf"))
    terms = (v**2 / d.freedom for v, d in zip(variances, differences, strict=True) if v)
    return Difference(mean, float(np.sqrt(total)) / count, float(total**2 / sum(terms)))


@dataclass(frozen=True)
class Equivalence:
    """Result of two one-sided tests of whether scores differ by less than a margin.

    Attributes
    ----------
    difference : Difference
        Difference of the first and second scores.
    margin : float
        Largest irrelevant difference.
    low, high : float
        Interval of the difference at level 1 − 2α. It lies within ± the margin if and only if the
        test finds equivalence.
    p_value : float
        The larger of the two one-sided p-values.
    verdict : {"equivalent", "worse", "better", "neither"}
        "worse" and "better" if the interval lies entirely beyond the margin.
    """

    difference: Difference
    margin: float
    low: float
    high: float
    p_value: float
    verdict: Literal["equivalent", "worse", "better", "neither"]

    @property
    def is_no_worse(self) -> bool:
        """Whether the first scores are not worse by the margin, by the lower of the two tests."""
        return self.low > -self.margin


def equivalence_test(difference: Difference, margin: float, alpha: float = 0.05) -> Equivalence:
    """Test whether a difference is smaller than a margin, by two one-sided tests [1]_.

    Parameters
    ----------
    difference : Difference
        From `paired_difference` or `mean_difference`.
    margin : float
        Largest irrelevant difference, chosen before the scores are known.
    alpha : float, default=0.05
        Significance level of each test.

    Returns
    -------
    Equivalence

    References
    ----------
    .. [1] Schuirmann. "A comparison of the two one-sided tests procedure and the power approach for
       assessing the equivalence of average bioavailability". J. Pharmacokinetics and
       Biopharmaceutics 15, 1987.

    Examples
    --------
    >>> from secateurs.statistics import equivalence_test, paired_difference
    >>> difference = paired_difference([80.1, 79.9, 80.2, 80.0], [80.0, 80.1, 80.1, 79.9])
    >>> equivalence_test(difference, margin=1.0).verdict
    'equivalent'
    """
    if not margin > 0:
        raise InputError("{margin} is not a valid margin. Pass a number above 0.", margin=margin)
    low, high = difference.interval(1 - 2 * alpha)
    p_value = max(difference.p_above(-margin), difference.p_below(margin))
    verdict: Literal["equivalent", "worse", "better", "neither"] = "neither"
    if -margin < low and high < margin:
        verdict = "equivalent"
    elif high < -margin:
        verdict = "worse"
    elif low > margin:
        verdict = "better"
    return Equivalence(difference, margin, low, high, p_value, verdict)


def correlation_interval(r: float, n_points: int, level: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of Pearson's correlation of independent points, by Fisher's z.

    Parameters
    ----------
    r : float
        Observed correlation.
    n_points : int
        Number of points, four or more.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from secateurs.statistics import correlation_interval
    >>> [round(end, 3) for end in correlation_interval(0.5, 28)]
    [0.156, 0.736]
    """
    if n_points < 4 or not -1 <= r <= 1:
        raise InputError(f"r = {r} of {n_points} points has no interval. Pass four or more points.")
    half = float(stats.norm.ppf((1 + level) / 2)) / float(np.sqrt(n_points - 3))
    centre = np.arctanh(np.clip(r, -_LARGEST_R, _LARGEST_R))
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def mean_correlation(values: ArrayLike, level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean of correlations of several folds, with its confidence interval.

    The points of one fold are often not independent, but the correlations of different folds nearly
    are. They are averaged as Fisher's z, with Student's interval over folds.

    Parameters
    ----------
    values : array-like of shape (n_folds,)
        Correlations; NaN for folds without one.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    r, low, high : float
        All NaN without any correlation; low and high are NaN for a single correlation.

    Examples
    --------
    >>> from secateurs.statistics import mean_correlation
    >>> [round(value, 3) for value in mean_correlation([0.4, 0.5, 0.6])]
    [0.505, 0.217, 0.712]
    """
    correlations = np.asarray(values, dtype=float).ravel()
    defined = correlations[~np.isnan(correlations)]
    z = np.arctanh(np.clip(defined, -_LARGEST_R, _LARGEST_R))
    if not len(z):
        return float("nan"), float("nan"), float("nan")
    mean = float(z.mean())
    if len(z) < 2:
        return float(np.tanh(mean)), float("nan"), float("nan")
    error = float(z.std(ddof=1) / np.sqrt(len(z)))
    half = float(stats.t.ppf((1 + level) / 2, len(z) - 1)) * error
    return float(np.tanh(mean)), float(np.tanh(mean - half)), float(np.tanh(mean + half))
