"""Statistics of verdicts: counts against chance, differences and correlations with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.statistics._ranks import DECIMALS


@dataclass(frozen=True)
class Share:
    """A share of cases, compared with one that chance alone would give.

    Attributes
    ----------
    count, total : int
        Cases that count, and all cases.
    chance : float
        The share that chance would give.
    low, high : float
        Clopper and Pearson's interval of the true share.
    more, fewer : float
        P-values, each one-sided: of as many cases or more, and of as many or fewer, by chance.
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
        """The share seen."""
        return self.count / self.total


def binomial_test(count: int, total: int, chance: float = 0.5, level: float = 0.95) -> Share:
    """Compare a share of independent cases with what chance would give.

    Parameters
    ----------
    count, total : int
        Cases that count, and all cases.
    chance : float, default=0.5
        The share that chance would give. A two-sided test at 5 % finds a loss in 2.5 %.
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
        raise InputError(f"{count} of {total} is not a share. Give one case or more.")
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, count, total - count + 1)) if count else 0.0
    high = float(stats.beta.ppf(1 - tail, count + 1, total - count)) if count < total else 1.0
    more, fewer = stats.binom.sf(count - 1, total, chance), stats.binom.cdf(count, total, chance)
    return Share(count, total, chance, low, high, float(more), float(fewer))


@dataclass(frozen=True)
class Difference:
    """A mean difference of paired scores, with its uncertainty.

    Attributes
    ----------
    mean : float
        Mean of the first scores minus the second's.
    error : float
        Standard error of the mean.
    freedom : float
        Degrees of freedom of Student's t; infinite where the mean is known exactly.
    """

    mean: float
    error: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval in which the true difference lies at a confidence level."""
        half = float(stats.t.ppf((1 + level) / 2, self.freedom)) * self.error if self.error else 0.0
        return self.mean - half, self.mean + half

    def p_above(self, value: float = 0.0) -> float:
        """Return the one-sided p-value of a true difference that is not above a value."""
        return self._tail_probability(self.mean - value)

    def p_below(self, value: float = 0.0) -> float:
        """Return the one-sided p-value of a true difference that is not below a value."""
        return self._tail_probability(value - self.mean)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of no difference."""
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
        Test rows divided by training rows, if the scores come from repeated splits of the same
        rows: they are then not independent, and the error is enlarged as Nadeau and Bengio [1]_
        have it. 0 for independent pairs.

    Returns
    -------
    Difference

    References
    ----------
    .. [1] Nadeau and Bengio. "Inference for the generalization error". Machine Learning 52, 2003.

    Examples
    --------
    >>> from secateurs.statistics import paired_difference
    >>> found = paired_difference([0.90, 0.92, 0.91], [0.80, 0.81, 0.83])
    >>> [round(end, 4) for end in found.interval()]
    [0.0587, 0.1346]
    """
    pair = [np.asarray(scores, dtype=float).ravel() for scores in (first, second)]
    if len(pair[0]) != len(pair[1]) or len(pair[0]) < 2:
        raise InputError(
            f"There are {len(pair[0])} and {len(pair[1])} scores. Give two or more pairs."
        )
    values: NDArray[np.float64] = np.round(pair[0] - pair[1], DECIMALS)
    if np.isnan(values).any():
        raise InputError("Scores are missing (NaN) in some pairs. Leave those pairs out.")
    n_pairs = len(values)
    spread = float(values.std(ddof=1)) if np.ptp(values) else 0.0
    return Difference(
        float(values.mean()), spread * float(np.sqrt(1 / n_pairs + overlap)), n_pairs - 1
    )


def mean_difference(differences: Sequence[Difference]) -> Difference:
    """Return the mean of independent differences, each with the same weight.

    The degrees of freedom are Satterthwaite's. What is found holds for the data sets that
    the differences are of; others are not drawn from them.

    Parameters
    ----------
    differences : sequence of Difference
        Such as one per data set.

    Returns
    -------
    Difference

    Examples
    --------
    >>> from secateurs.statistics import mean_difference, paired_difference
    >>> one = paired_difference([3, 5, 4], [1, 2, 3])
    >>> mean_difference([one, one]).mean
    2.0
    """
    if not differences:
        raise InputError("There are no differences. Give one or more.")
    count = len(differences)
    variances = np.array([found.error**2 for found in differences])
    mean = float(np.mean([found.mean for found in differences]))
    total = float(variances.sum())
    if not total:
        return Difference(mean, 0.0, float("inf"))
    parts = sum(v**2 / f.freedom for v, f in zip(variances, differences, strict=True) if v)
    return Difference(mean, float(np.sqrt(total)) / count, float(total**2 / parts))


@dataclass(frozen=True)
class Equivalence:
    """Result of two one-sided tests of whether scores differ by less than a margin.

    Attributes
    ----------
    difference : Difference
        First scores minus second.
    margin : float
        Largest difference that does not matter.
    low, high : float
        Interval of the difference at level 1 − 2α: it lies within ± the margin if and only if the
        test finds equivalence.
    p_value : float
        The larger of the two one-sided p-values.
    verdict : {"equivalent", "worse", "better", "neither"}
        "worse" and "better" if the whole interval lies beyond the margin.
    """

    difference: Difference
    margin: float
    low: float
    high: float
    p_value: float
    verdict: str

    @property
    def is_no_worse(self) -> bool:
        """Whether the first is not worse by the margin: the lower of the two tests."""
        return self.low > -self.margin


def equivalence_test(difference: Difference, margin: float, alpha: float = 0.05) -> Equivalence:
    """Test whether a difference is smaller than a margin, by two one-sided tests [1]_.

    Parameters
    ----------
    difference : Difference
        From `paired_difference` or `mean_difference`.
    margin : float
        Largest difference that does not matter, chosen before looking.
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
    >>> found = paired_difference([80.1, 79.9, 80.2, 80.0], [80.0, 80.1, 80.1, 79.9])
    >>> equivalence_test(found, margin=1.0).verdict
    'equivalent'
    """
    if not margin > 0:
        raise InputError("{margin} is not a valid margin. Give a number above 0.", margin=margin)
    low, high = difference.interval(1 - 2 * alpha)
    p_value = max(difference.p_above(-margin), difference.p_below(margin))
    verdict = "neither"
    if -margin < low and high < margin:
        verdict = "equivalent"
    elif high < -margin:
        verdict = "worse"
    elif low > margin:
        verdict = "better"
    return Equivalence(difference, margin, low, high, p_value, verdict)


def correlation_interval(r: float, n_points: int, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of Pearson's correlation of independent points, by Fisher's z.

    Parameters
    ----------
    r : float
        Correlation seen.
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
        raise InputError(f"r = {r} of {n_points} points has no interval. Give four or more points.")
    half = float(stats.norm.ppf((1 + level) / 2)) / float(np.sqrt(n_points - 3))
    centre = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def mean_correlation(values: ArrayLike, level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean of correlations that were found apart, with its interval.

    Points of one fold are often not independent; correlations of different folds nearly are. They
    are averaged as Fisher's z, and the interval is Student's over folds.

    Parameters
    ----------
    values : array-like of shape (n_folds,)
        Correlations; NaN where there is none.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    r, low, high : float
        All NaN without any correlation; ends are NaN for a single one.

    Examples
    --------
    >>> from secateurs.statistics import mean_correlation
    >>> [round(value, 3) for value in mean_correlation([0.4, 0.5, 0.6])]
    [0.505, 0.217, 0.712]
    """
    found = np.asarray(values, dtype=float).ravel()
    z = np.arctanh(np.clip(found[~np.isnan(found)], -1 + 1e-15, 1 - 1e-15))
    if not len(z):
        return float("nan"), float("nan"), float("nan")
    mean = float(z.mean())
    if len(z) < 2:
        return float(np.tanh(mean)), float("nan"), float("nan")
    error = float(z.std(ddof=1) / np.sqrt(len(z)))
    half = float(stats.t.ppf((1 + level) / 2, len(z) - 1)) * error
    return float(np.tanh(mean)), float(np.tanh(mean - half)), float(np.tanh(mean + half))
