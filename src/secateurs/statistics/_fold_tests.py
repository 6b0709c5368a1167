"""Compare two methods on the folds of a data set, and count wins over several data sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
        Verdict on the first method; a tie unless the difference is significant.
    """

    difference: float
    statistic: float
    p_value: float
    verdict: str


def paired_t_test(first: ArrayLike, second: ArrayLike, alpha: float = 0.05) -> PairedTest:
    """Compare two methods by their scores on the same folds.

    Folds of a cross-validation share training rows, so this test finds differences somewhat more
    often than its significance level.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Scores on the same folds, in the same order.
    alpha : float, default=0.05
        Significance level.

    Returns
    -------
    PairedTest
        Methods with equal scores on every fold tie.

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
            f"The methods have {n_folds} and {len(pair[1])} scores. Give scores of both on the "
            "same two or more folds."
        )
    differences = np.round(pair[0] - pair[1], DECIMALS)
    if np.isnan(differences).any():
        raise InputError("Scores are missing (NaN) on some folds. Leave those folds out.")
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if np.ptp(differences) == 0:
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    else:
        statistic = mean / (spread / float(np.sqrt(n_folds)))
    p_value = float(2 * stats.t.sf(abs(statistic), n_folds - 1))
    verdict = "tie" if p_value >= alpha else "win" if mean > 0 else "loss"
    return PairedTest(mean, statistic, p_value, verdict)


@dataclass(frozen=True)
class WinTieLoss:
    """Number of data sets on which a method wins, ties and loses."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def win_tie_loss(tests: Iterable[PairedTest]) -> WinTieLoss:
    """Count the verdicts of tests, one per data set.

    Parameters
    ----------
    tests : iterable of PairedTest
        The same two methods on several data sets.

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
