"""Tests of which methods are better, over folds and over data sets.

Scores are a table, data sets × methods, in which higher is better: a `pandas.DataFrame` with
methods as columns, or an array. All tests are two-sided. Scores that differ by less than 1e-12
count as equal.
"""

from secateurs.statistics._folds import PairedTest, WinTieLoss, paired_t_test, win_tie_loss
from secateurs.statistics._pairs import Pairwise, nemenyi, smallest_p_value, wilcoxon_holm
from secateurs.statistics._paragraph import describe, format_p
from secateurs.statistics._ranks import (
    Friedman,
    aggregated_ranks,
    average_ranks,
    critical_difference,
    friedman,
)

__all__ = [
    "Friedman",
    "PairedTest",
    "Pairwise",
    "WinTieLoss",
    "aggregated_ranks",
    "average_ranks",
    "critical_difference",
    "describe",
    "format_p",
    "friedman",
    "nemenyi",
    "paired_t_test",
    "smallest_p_value",
    "wilcoxon_holm",
    "win_tie_loss",
]
