"""Pruning in groups: any method, spread over many processes."""

from secateurs.distributed._domep import DOMEP
from secateurs.distributed._epfd import EPFD

__all__ = ["DOMEP", "EPFD"]
