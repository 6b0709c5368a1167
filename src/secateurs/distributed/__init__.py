"""Pruning in groups of members, spread over processes and machines."""

from secateurs.distributed.epfd import DOMEP, EPFD
from secateurs.engines.run_limits import Limits, limits

__all__ = ["DOMEP", "EPFD", "Limits", "limits"]
