"""Prune a fitted ensemble: `prune`, and the `Pruning` that it returns.

===============  ================================================================
`_prune`         select the method, the size and the members
`refit_options`  refit the kept trees, if that helps
`size_limits`    meet limits of nodes, bytes and latency, also by pruned branches
`_pruning`       the pruned ensemble with its summary, report and file
`blend`          the pruned ensemble of a table of predictions
===============  ================================================================
"""

from secateurs.pruning._prune import prune
from secateurs.pruning._pruning import Pruning
from secateurs.pruning.blend import Blend
from secateurs.pruning.refit_options import RefitLike as RefitLike

__all__ = ["Blend", "Pruning", "prune"]
