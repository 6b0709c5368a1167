"""Figures for matplotlib, as scikit-learn's displays: they store numbers and draw them.

Create one with ``from_estimator`` (a fitted ensemble and rows), ``from_predictions`` (votes and
true labels) or ``from_result`` (a `secateurs.Pruning` or `secateurs.Comparison`). It stores its
axes as ``ax_`` and its figure as ``figure_``; ``plot(ax=…)`` draws it again without computing.
"""

from secateurs.displays._accuracy_size import AccuracySizeDisplay
from secateurs.displays._diversity_weight import DiversityWeightDisplay
from secateurs.displays._kappa_error import KappaErrorDisplay
from secateurs.displays._pairwise_heatmap import PairwiseHeatmapDisplay
from secateurs.displays._selection_order import SelectionOrderDisplay
from secateurs.displays.critical_difference import CriticalDifferenceDisplay

__all__ = [
    "AccuracySizeDisplay",
    "CriticalDifferenceDisplay",
    "DiversityWeightDisplay",
    "KappaErrorDisplay",
    "PairwiseHeatmapDisplay",
    "SelectionOrderDisplay",
]
