"""Figures drawn with matplotlib, in the style of scikit-learn's display objects.

Create a display with ``from_estimator`` (a fitted ensemble and samples), ``from_predictions``
(predictions and true labels) or ``from_result`` (a `secateurs.Pruning`, `secateurs.Comparison` or
`secateurs.Frontier`).
It stores its axes as ``ax_`` and its figure as ``figure_``. ``plot(ax=…)`` draws it again without
computing the values again.
"""

from secateurs.displays._accuracy_size import AccuracySizeDisplay
from secateurs.displays._cost_frontier import CostFrontierDisplay
from secateurs.displays._diversity_weight import DiversityWeightDisplay
from secateurs.displays._kappa_error import KappaErrorDisplay
from secateurs.displays._pairwise_heatmap import PairwiseHeatmapDisplay
from secateurs.displays._selection_order import SelectionOrderDisplay
from secateurs.displays.critical_difference import CriticalDifferenceDisplay

__all__ = [
    "AccuracySizeDisplay",
    "CostFrontierDisplay",
    "CriticalDifferenceDisplay",
    "DiversityWeightDisplay",
    "KappaErrorDisplay",
    "PairwiseHeatmapDisplay",
    "SelectionOrderDisplay",
]
