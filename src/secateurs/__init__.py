"""Keep the few members of an ensemble that together predict best."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from secateurs import displays as displays
    from secateurs import measures as measures
    from secateurs import report as report
    from secateurs.comparison import Comparison as Comparison
    from secateurs.comparison import compare as compare
    from secateurs.distributed import DOMEP as DOMEP
    from secateurs.distributed import EPFD as EPFD
    from secateurs.outputs._collect import collect_votes as collect_votes
    from secateurs.outputs._store import VoteStore as VoteStore
    from secateurs.outputs._votes import Votes as Votes
    from secateurs.pruned_classifier import PrunedClassifier as PrunedClassifier
    from secateurs.pruners import *  # noqa: F403
    from secateurs.pruning import Pruning as Pruning
    from secateurs.pruning import prune as prune

# In the order of the flow. Each is loaded when it is first asked for.
_HOMES = {
    "collect_votes": "secateurs.outputs._collect",
    "Votes": "secateurs.outputs._votes",
    "VoteStore": "secateurs.outputs._store",
    "measures": "secateurs.measures",
    "COMEP": "secateurs.pruners",
    "KLDivergencePruner": "secateurs.pruners",
    "KappaPruner": "secateurs.pruners",
    "OrientationOrderingPruner": "secateurs.pruners",
    "ReducedErrorPruner": "secateurs.pruners",
    "DREP": "secateurs.pruners",
    "SEP": "secateurs.pruners",
    "OEP": "secateurs.pruners",
    "PEP": "secateurs.pruners",
    "EarlyStoppingPruner": "secateurs.pruners",
    "RandomPruner": "secateurs.pruners",
    "BestMembersPruner": "secateurs.pruners",
    "DOMEP": "secateurs.distributed",
    "EPFD": "secateurs.distributed",
    "all_pruners": "secateurs.pruners",
    "make_pruner": "secateurs.pruners",
    "prune": "secateurs.pruning",
    "Pruning": "secateurs.pruning",
    "PrunedClassifier": "secateurs.pruned_classifier",
    "compare": "secateurs.comparison",
    "Comparison": "secateurs.comparison",
    "report": "secateurs.report",
    "displays": "secateurs.displays",
    "save": "secateurs.persistence._models",
    "load": "secateurs.persistence._models",
    "export": "secateurs.persistence._export",
}

__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'secateurs' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if _HOMES[name] == f"secateurs.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
