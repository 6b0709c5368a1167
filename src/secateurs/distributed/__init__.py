"""Pruning in groups and in shards: spread over processes and machines."""

from secateurs.distributed._domep import DOMEP
from secateurs.distributed._epfd import EPFD
from secateurs.engines._limits import Limits, limits

__all__ = ["DOMEP", "EPFD", "Limits", "limits"]
