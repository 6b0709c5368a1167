"""Prune a fitted ensemble: `prune`, and the `Pruning` that it returns.

==========  =======================================================
`_prune`    select the method, the size and the members; refit them
`_pruning`  the pruned ensemble with its summary, report and file
==========  =======================================================
"""

from secateurs.pruning._prune import prune
from secateurs.pruning._pruning import Pruning

__all__ = ["Pruning", "prune"]
