"""Statistical tests that compare methods over folds and over data sets.

Scores are a table, data sets × methods, in which higher is better: a `pandas.DataFrame` with
methods as columns, or an array. Tests are two-sided unless stated otherwise. Scores are rounded to
12 decimals, so that rounding errors do not count as differences.
"""

from secateurs.statistics._description import describe, format_p
from secateurs.statistics._fold_tests import PairedTest, WinTieLoss, paired_t_test, win_tie_loss
from secateurs.statistics._intervals import (
    Difference,
    Equivalence,
    Share,
    binomial_test,
    correlation_interval,
    equivalence_test,
    mean_correlation,
    mean_difference,
    paired_difference,
)
from secateurs.statistics._pairwise_tests import Pairwise, nemenyi, smallest_p_value, wilcoxon_holm
from secateurs.statistics._ranks import (
    Friedman,
    aggregated_ranks,
    average_ranks,
    critical_difference,
    friedman,
)

__all__ = [
    "Difference",
    "Equivalence",
    "Friedman",
    "PairedTest",
    "Pairwise",
    "Share",
    "WinTieLoss",
    "aggregated_ranks",
    "average_ranks",
    "binomial_test",
    "correlation_interval",
    "critical_difference",
    "describe",
    "equivalence_test",
    "format_p",
    "friedman",
    "mean_correlation",
    "mean_difference",
    "nemenyi",
    "paired_difference",
    "paired_t_test",
    "smallest_p_value",
    "wilcoxon_holm",
    "win_tie_loss",
]
