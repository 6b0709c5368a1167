"""Pruning methods, one file each."""

from typing import Any

from secateurs.pruners._base import BasePruner, check_option
from secateurs.pruners._best_members import BestMembersPruner
from secateurs.pruners._comep import COMEP
from secateurs.pruners._drep import DREP
from secateurs.pruners._early_stopping import EarlyStoppingPruner
from secateurs.pruners._kappa import KappaPruner
from secateurs.pruners._kl import KLDivergencePruner
from secateurs.pruners._oep import OEP
from secateurs.pruners._orientation import OrientationOrderingPruner
from secateurs.pruners._pep import PEP
from secateurs.pruners._random import RandomPruner
from secateurs.pruners._reduced_error import ReducedErrorPruner
from secateurs.pruners._selector import SelectorPruner
from secateurs.pruners._sep import SEP

_PRUNERS: dict[str, type[BasePruner]] = {
    "kl": KLDivergencePruner,
    "kp": KappaPruner,
    "oo": OrientationOrderingPruner,
    "re": ReducedErrorPruner,
    "drep": DREP,
    "sep": SEP,
    "oep": OEP,
    "pep": PEP,
    "es": EarlyStoppingPruner,
    "random": RandomPruner,
    "best": BestMembersPruner,
}

__all__ = [
    "COMEP",
    "DREP",
    "OEP",
    "PEP",
    "SEP",
    "BasePruner",
    "BestMembersPruner",
    "EarlyStoppingPruner",
    "KLDivergencePruner",
    "KappaPruner",
    "OrientationOrderingPruner",
    "RandomPruner",
    "ReducedErrorPruner",
    "SelectorPruner",
    "all_pruners",
    "make_pruner",
]


def all_pruners() -> dict[str, type[BasePruner]]:
    """Give the pruners by their short names, as the paper has them, in lower case.

    Examples
    --------
    >>> from secateurs import all_pruners
    >>> list(all_pruners())[:5]
    ['comep', 'domep', 'kl', 'kp', 'oo']
    """
    from secateurs.distributed import DOMEP  # behind the pruners in the flow

    return {"comep": COMEP, "domep": DOMEP, **_PRUNERS}


def make_pruner(name: str, **parameters: Any) -> BasePruner:
    """Make a pruner by its short name.

    Parameters
    ----------
    name : str
        One of `all_pruners`, in any case.
    **parameters
        Parameters of that pruner.

    Examples
    --------
    >>> from secateurs import make_pruner
    >>> make_pruner("kp", keep=20)
    KappaPruner(keep=20)
    """
    key = name.lower() if isinstance(name, str) else name
    known = all_pruners()
    check_option("pruner", key, known)
    return known[key](**parameters)
