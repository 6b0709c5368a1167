"""Pruning in groups of members, distributed over processes and machines."""

from secateurs.distributed.epfd import DOMEP, EPFD
from secateurs.engines.executors import Limits, limits

__all__ = ["DOMEP", "EPFD", "Limits", "limits"]
