"""Figures for matplotlib, as scikit-learn's displays: they store numbers and draw them.

Create one with ``from_estimator`` (a fitted ensemble and rows), ``from_predictions`` (votes and
true labels) or ``from_result`` (a `secateurs.Pruning` or `secateurs.Comparison`). It stores its
axes as ``ax_`` and its figure as ``figure_``; ``plot(ax=…)`` draws it again without computing.
"""

from secateurs.displays._critical_difference import CriticalDifferenceDisplay
from secateurs.displays._held_out import AccuracySizeDisplay, DiversityWeightDisplay
from secateurs.displays._members import (
    KappaErrorDisplay,
    PairwiseHeatmapDisplay,
    SelectionOrderDisplay,
)

__all__ = [
    "AccuracySizeDisplay",
    "CriticalDifferenceDisplay",
    "DiversityWeightDisplay",
    "KappaErrorDisplay",
    "PairwiseHeatmapDisplay",
    "SelectionOrderDisplay",
]
