"""Pruning in groups of members, spread over processes and machines."""

from secateurs.distributed._epfd import DOMEP, EPFD
from secateurs.engines._limits import Limits, limits

__all__ = ["DOMEP", "EPFD", "Limits", "limits"]
