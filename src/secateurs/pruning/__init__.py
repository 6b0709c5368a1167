"""From a fitted ensemble to a smaller one: `prune` and the `Pruning` it returns.

==========  ====================================================
`_prune`    choose members, find their number, refit or weigh them
`_pruning`  the pruned ensemble: what it is, summary, report, file
==========  ====================================================
"""

from secateurs.pruning._prune import prune
from secateurs.pruning._pruning import Pruning

__all__ = ["Pruning", "prune"]
