"""Prune a fitted ensemble: `prune` and `frontier`, and the objects that they return.

================  ================================================================
`_prune`          select the method, the size and the members
`refit_options`   refit the kept trees, if that helps
`size_limits`     meet limits of nodes, bytes and latency, also by pruned branches
`_pruning`        the pruned ensemble with its summary, report and file
`blend`           the pruned ensemble of a table of predictions
`_find_frontier`  find the best panel within every total cost
`cost_frontier`   these panels with their figures
`sequential`      a panel whose members are asked in turn
`_asking_order`   the order with the least expected cost
================  ================================================================
"""

from secateurs.pruning._find_frontier import frontier
from secateurs.pruning._prune import prune
from secateurs.pruning._pruning import Pruning
from secateurs.pruning.blend import Blend
from secateurs.pruning.cost_frontier import Frontier
from secateurs.pruning.refit_options import RefitLike as RefitLike

__all__ = ["Blend", "Frontier", "Pruning", "frontier", "prune"]
