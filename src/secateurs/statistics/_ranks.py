"""Average ranks of methods over data sets, Friedman's test and the critical difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.text_format import format_count

DECIMALS = 12  # to which scores are rounded: smaller differences are rounding errors


def average_ranks(scores: ArrayLike) -> pd.Series:
    """Return the average rank of each method over data sets.

    Parameters
    ----------
    scores : DataFrame or array of shape (n_sets, n_methods)
        Higher is better.

    Returns
    -------
    Series
        Average rank of each method; 1 is the best, and equal scores share ranks.

    Examples
    --------
    >>> from secateurs.statistics import average_ranks
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).tolist()
    [1.0, 2.25, 2.75]
    """
    return _rank_methods(as_score_frame(scores)).mean()


def aggregated_ranks(scores: ArrayLike) -> pd.Series:
    """Return the sum of the ranks of each method over data sets; smaller is better.

    Qian et al. [1]_ draw these sums as bars.

    Parameters
    ----------
    scores : DataFrame or array of shape (n_sets, n_methods)
        Higher is better.

    Returns
    -------
    Series
        Sum of ranks of each method.

    References
    ----------
    .. [1] Qian, Yu and Zhou. "Pareto ensemble pruning". AAAI 2015.

    Examples
    --------
    >>> from secateurs.statistics import aggregated_ranks
    >>> aggregated_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).tolist()
    [2.0, 4.5, 5.5]
    """
    return _rank_methods(as_score_frame(scores)).sum()


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test of whether all methods rank alike.

    Attributes
    ----------
    n_sets, n_methods : int
        Number of data sets and of methods.
    statistic, p_value : float
        Friedman's chi-squared, corrected for shared ranks.
    f_statistic, f_p_value : float
        Iman and Davenport's F, which is less conservative and more accurate.
    """

    n_sets: int
    n_methods: int
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float

    @property
    def degrees(self) -> tuple[int, int]:
        """Degrees of freedom of Iman and Davenport's F."""
        return self.n_methods - 1, (self.n_methods - 1) * (self.n_sets - 1)


def friedman(scores: ArrayLike) -> Friedman:
    """Test by Friedman's test whether all methods rank alike [1]_, [2]_.

    Parameters
    ----------
    scores : DataFrame or array of shape (n_sets, n_methods)
        Higher is better; at least two data sets and three methods.

    Returns
    -------
    Friedman
        The result. Methods that share all ranks have statistic 0 and p-value 1.

    References
    ----------
    .. [1] Iman and Davenport. "Approximations of the critical region of the Friedman statistic".
       Communications in Statistics 9, 1980.
    .. [2] Demšar. "Statistical comparisons of classifiers over multiple data sets". JMLR 7, 2006.

    Examples
    --------
    >>> from secateurs.statistics import friedman
    >>> test = friedman([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.5, 0.6]])
    >>> round(test.statistic, 3), round(test.f_p_value, 3)
    (4.667, 0.049)
    """
    table = as_score_frame(scores)
    n_sets, n_methods = table.shape
    if n_sets < 2 or n_methods < 3:
        raise InputError(
            f"Friedman's test needs two or more data sets and three or more methods. scores has "
            f"{format_count(n_sets, 'data set')} and {format_count(n_methods, 'method')}."
        )
    ranks = _rank_methods(table)
    all_tie = (ranks.nunique(axis=1) == 1).all()  # SciPy would divide by 0
    statistic = 0.0 if all_tie else float(stats.friedmanchisquare(*ranks.to_numpy().T)[0])
    largest = n_sets * (n_methods - 1)
    degrees = n_methods - 1, (n_methods - 1) * (n_sets - 1)
    # The largest statistic means the same order on every data set, for which F is infinite. It is
    # compared with a tolerance, because SciPy's statistic has rounding errors.
    is_same_order = statistic >= largest * (1 - 1e-12)
    f_statistic = np.inf if is_same_order else (n_sets - 1) * statistic / (largest - statistic)
    p_value, f_p_value = stats.chi2.sf(statistic, degrees[0]), stats.f.sf(f_statistic, *degrees)
    tests = statistic, float(p_value), float(f_statistic), float(f_p_value)
    return Friedman(n_sets, n_methods, *tests)


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return the critical difference of average ranks in Nemenyi's test.

    Parameters
    ----------
    n_methods, n_sets : int
        Number of methods and of data sets.
    alpha : float, default=0.05
        Significance level, for all pairs together.

    Returns
    -------
    float
        Average ranks that are further apart differ significantly.

    Examples
    --------
    >>> from secateurs.statistics import critical_difference
    >>> round(critical_difference(n_methods=4, n_sets=14), 2)
    1.25
    """
    if n_methods < 2 or n_sets < 1:
        raise InputError(
            f"n_methods={n_methods} and n_sets={n_sets} leave nothing to compare. Pass two or more "
            "methods and one or more data sets."
        )
    quantile = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf))
    return quantile / float(np.sqrt(2)) * rank_standard_error(n_methods, n_sets)


def rank_standard_error(n_methods: int, n_sets: int) -> float:
    """Return the standard error of the difference of two average ranks."""
    return float(np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def as_score_frame(scores: ArrayLike) -> pd.DataFrame:
    """Return scores as a frame of finite floats, data sets × methods."""
    table = scores if isinstance(scores, pd.DataFrame) else pd.DataFrame(np.asarray(scores))
    if table.empty or not table.columns.is_unique:
        raise InputError(
            f"scores has shape {table.shape} and columns {list(table.columns)}. Pass one row per "
            "data set and one column per method, all of different names."
        )
    table = table.astype(float)
    gaps = list(table[~np.isfinite(table.to_numpy()).all(axis=1)].index)
    if gaps:
        raise InputError(
            f"scores has missing or infinite values for some methods on {gaps}. Leave out these "
            "data sets or methods."
        )
    return table


def _rank_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Rank each row; 1 is the highest score, equal scores share their ranks."""
    return table.round(DECIMALS).rank(axis=1, ascending=False, method="average")
