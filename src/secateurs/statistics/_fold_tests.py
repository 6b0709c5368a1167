"""Paired t-test of two methods on the folds of a data set, and counts of wins over data sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.statistics._ranks import DECIMALS


@dataclass(frozen=True)
class PairedTest:
    """Comparison of two methods on the folds of one data set.

    Attributes
    ----------
    difference : float
        Mean of the first method's scores minus the second's.
    statistic, p_value : float
        Statistic and p-value of the paired t-test.
    verdict : {"win", "tie", "loss"}
        Result for the first method; a tie unless the difference is significant.
    """

    difference: float
    statistic: float
    p_value: float
    verdict: Literal["win", "tie", "loss"]


def paired_t_test(first: ArrayLike, second: ArrayLike, alpha: float = 0.05) -> PairedTest:
    """Compare two methods by a paired t-test of their scores on the same folds.

    The folds of a cross-validation share training samples, so this test finds differences somewhat
    more often than its significance level allows.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Scores on the same folds, in the same order.
    alpha : float, default=0.05
        Significance level.

    Returns
    -------
    PairedTest
        The result. Methods with equal scores on every fold tie.

    Examples
    --------
    >>> from secateurs.statistics import paired_t_test
    >>> test = paired_t_test([0.90, 0.92, 0.91], [0.80, 0.81, 0.83])
    >>> test.verdict, round(test.p_value, 4)
    ('win', 0.0082)
    """
    pair = [np.asarray(scores, dtype=float).ravel() for scores in (first, second)]
    n_folds = len(pair[0])
    if len(pair[1]) != n_folds or n_folds < 2:
        raise InputError(
            f"The methods have {n_folds} and {len(pair[1])} scores. Pass the scores of both on the "
            "same folds, at least two."
        )
    differences = np.round(pair[0] - pair[1], DECIMALS)
    if np.isnan(differences).any():
        raise InputError("Scores are missing (NaN) on some folds. Leave those folds out.")
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if np.ptp(differences) == 0:  # the t statistic would be 0/0 or a division by 0
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    else:
        statistic = mean / (deviation / float(np.sqrt(n_folds)))
    p_value = float(2 * stats.t.sf(abs(statistic), n_folds - 1))
    if p_value >= alpha:
        return PairedTest(mean, statistic, p_value, "tie")
    return PairedTest(mean, statistic, p_value, "win" if mean > 0 else "loss")


@dataclass(frozen=True)
class WinTieLoss:
    """Number of data sets on which a method wins, ties and loses."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def win_tie_loss(tests: Iterable[PairedTest]) -> WinTieLoss:
    """Count wins, ties and losses over tests, one per data set.

    Parameters
    ----------
    tests : iterable of PairedTest
        Tests of the same two methods on several data sets.

    Returns
    -------
    WinTieLoss
        Counts for the first method.

    Examples
    --------
    >>> from secateurs.statistics import paired_t_test, win_tie_loss
    >>> folds = [0.90, 0.92, 0.91]
    >>> tests = [paired_t_test(folds, [0.80, 0.81, 0.83]), paired_t_test(folds, folds)]
    >>> print(win_tie_loss(tests))
    1/1/0
    """
    verdicts = [test.verdict for test in tests]
    return WinTieLoss(*(verdicts.count(verdict) for verdict in ("win", "tie", "loss")))
