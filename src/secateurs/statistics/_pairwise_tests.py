"""Tests of which pairs of methods differ over data sets: Nemenyi and Wilcoxon–Holm."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.statistics._ranks import (
    DECIMALS,
    as_score_frame,
    average_ranks,
    critical_difference,
    rank_standard_error,
)
from secateurs.typing import Array


@dataclass(frozen=True, eq=False)
class Pairwise:
    """Result of a test of pairs of methods.

    Attributes
    ----------
    test : str
        "Nemenyi" or "Wilcoxon–Holm".
    ranks : Series
        Average rank of each method.
    p_values : DataFrame of shape (n_methods, n_methods)
        P-values, corrected for the number of comparisons; 1 on the diagonal, and NaN for pairs
        that were not compared.
    leads : DataFrame of shape (n_methods, n_methods)
        Positive if the row's method is ahead of the column's method, significantly or not.
    alpha : float
        Significance level.
    n_sets : int
        Number of data sets.
    critical_difference : float or None
        Critical difference of average ranks, for Nemenyi's test.
    """

    test: str
    ranks: pd.Series
    p_values: pd.DataFrame
    leads: pd.DataFrame
    alpha: float
    n_sets: int
    critical_difference: float | None = None

    # Methods are column labels of any hashable type, which the stubs of pandas call Any.
    @property
    def order(self) -> list[Any]:
        """The methods, best average rank first."""
        return list(self.ranks.sort_values(kind="stable").index)

    def worse_than(self, method: Any) -> list[Any]:
        """Return the methods that are significantly worse than a method, best first."""
        is_worse = (self.p_values.loc[method] < self.alpha) & (self.leads.loc[method] > 0)
        return [other for other in self.order if is_worse[other]]

    def better_than(self, method: Any) -> list[Any]:
        """Return the methods that are significantly better than a method, best first."""
        return [other for other in self.order if method in self.worse_than(other)]

    def alike(self) -> list[list[Any]]:
        """Return the maximal runs of two or more methods, in rank order, that do not differ."""
        order = self.order
        differ = (self.p_values.loc[order, order] < self.alpha).to_numpy()
        runs = []
        covered = 0  # methods before this index are in a run already
        for start in range(len(order)):
            stop = start + 1
            while stop < len(order) and not differ[start : stop + 1, start : stop + 1].any():
                stop += 1
            if stop > max(covered, start + 1):
                runs.append(order[start:stop])
            covered = max(covered, stop)
        return runs


def nemenyi(scores: ArrayLike, alpha: float = 0.05) -> Pairwise:
    """Compare all pairs of methods by Nemenyi's test of their average ranks [1]_.

    Parameters
    ----------
    scores : DataFrame or array of shape (n_sets, n_methods)
        Higher is better.
    alpha : float, default=0.05
        Significance level, for all pairs together.

    Returns
    -------
    Pairwise
        The result, with the critical difference.

    See Also
    --------
    wilcoxon_holm : More powerful, and independent of the other methods in the table.

    References
    ----------
    .. [1] Demšar. "Statistical comparisons of classifiers over multiple data sets". JMLR 7, 2006.

    Examples
    --------
    >>> from secateurs.statistics import nemenyi
    >>> scores = [[0.9, 0.8, 0.7]] * 8
    >>> nemenyi(scores).p_values.loc[0].round(4).tolist()
    [1.0, 0.1122, 0.0002]
    """
    table = as_score_frame(scores)
    n_sets, n_methods = table.shape
    critical = critical_difference(n_methods, n_sets, alpha)
    ranks = average_ranks(table)
    leads = _as_square_frame(np.subtract.outer(-ranks.to_numpy(), -ranks.to_numpy()), ranks.index)
    studentized = leads.abs().to_numpy() / rank_standard_error(n_methods, n_sets) * np.sqrt(2)
    values = np.asarray(stats.studentized_range.sf(studentized, n_methods, np.inf))
    np.fill_diagonal(values, 1.0)
    p_values = _as_square_frame(values.clip(0, 1), ranks.index)
    return Pairwise("Nemenyi", ranks, p_values, leads, alpha, n_sets, critical)


def wilcoxon_holm(scores: ArrayLike, control: Hashable = None, alpha: float = 0.05) -> Pairwise:
    """Compare pairs of methods by Wilcoxon's signed-rank test, corrected by Holm's procedure.

    Parameters
    ----------
    scores : DataFrame or array of shape (n_sets, n_methods)
        Higher is better.
    control : hashable, optional
        Method to compare with each other method. By default, all pairs are compared.
    alpha : float, default=0.05
        Significance level, for all comparisons together.

    Returns
    -------
    Pairwise
        The result. P-values are exact, even if differences are equal or zero. The ranks of zero
        differences are split evenly between both methods.

    See Also
    --------
    nemenyi : Compare average ranks, with a critical difference that can be drawn.

    Examples
    --------
    >>> from secateurs.statistics import wilcoxon_holm
    >>> scores = [[0.9, 0.8, 0.8 + step / 100] for step in range(8)]
    >>> wilcoxon_holm(scores, control=0).p_values.loc[0].round(4).tolist()
    [1.0, 0.0156, 0.0156]
    """
    table = as_score_frame(scores)
    names = list(table.columns)
    if control is not None and control not in names:
        raise InputError(
            f"{{control}} is not one of the methods. Pass one of: {names}.", control=control
        )
    pairs = [
        (first, second)
        for first, second in combinations(range(len(names)), 2)
        if control is None or control in (names[first], names[second])
    ]
    p_values, leads = np.full((len(names),) * 2, np.nan), np.zeros((len(names),) * 2)
    np.fill_diagonal(p_values, 1.0)
    columns = [table.iloc[:, index] for index in range(len(names))]
    tests = [_signed_rank_test(columns[first] - columns[second]) for first, second in pairs]
    corrected = _holm_correction([p_value for _, p_value in tests])
    for pair, (lead, _), p_value in zip(pairs, tests, corrected, strict=True):
        p_values[pair] = p_values[pair[::-1]] = p_value
        leads[pair], leads[pair[::-1]] = lead, -lead
    index, ranks = table.columns, average_ranks(table)
    matrices = _as_square_frame(p_values, index), _as_square_frame(leads, index)
    return Pairwise("Wilcoxon–Holm", ranks, *matrices, alpha, len(table))


def smallest_p_value(n_sets: int, n_comparisons: int = 1) -> float:
    """Return the smallest possible p-value of Wilcoxon's test with Holm's correction.

    If it is not below the significance level, there are too few data sets to find a difference.

    Parameters
    ----------
    n_sets : int
        Number of data sets.
    n_comparisons : int, default=1
        Number of comparisons to correct for.

    Returns
    -------
    float
        The p-value if one method is better on every data set.

    Examples
    --------
    >>> from secateurs.statistics import smallest_p_value
    >>> smallest_p_value(n_sets=5), smallest_p_value(n_sets=6)
    (0.0625, 0.03125)
    """
    return min(1.0, n_comparisons * 2.0 ** (1 - n_sets))


def _signed_rank_test(differences: ArrayLike) -> tuple[float, float]:
    """Return the sum of signed ranks and its exact p-value, with ties and zeros.

    SciPy's exact test assumes differences without ties and zeros, but accuracies have both.
    """
    values = np.round(np.asarray(differences, dtype=float), DECIMALS)
    # Ranks are doubled, so that shared ranks are integers.
    doubled = np.round(2 * stats.rankdata(np.abs(values))).astype(int)[values != 0]
    signs = np.sign(values[values != 0])
    total = int(doubled.sum())
    # Both signs of each difference are equally likely. Adding one difference after the other gives
    # the probability of each sum of positive ranks.
    probabilities = np.zeros(total + 1)
    probabilities[0] = 1.0
    for rank in doubled:
        probabilities[rank:] = (probabilities[rank:] + probabilities[: total + 1 - rank]) / 2
        probabilities[:rank] /= 2
    lead = float(signs @ doubled) / 2
    smaller_sum = int(doubled[signs < 0].sum()) if lead > 0 else int(doubled[signs > 0].sum())
    return lead, min(1.0, 2 * float(probabilities[: smaller_sum + 1].sum()))


def _holm_correction(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Return p-values corrected by Holm's procedure."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return corrected


def _as_square_frame(values: Array, index: pd.Index[Any]) -> pd.DataFrame:
    return pd.DataFrame(values, index=index, columns=index)
