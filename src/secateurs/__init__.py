"""Keep the few members of an ensemble that together predict best."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # this module imports nothing, so that the command line is there at once
if TYPE_CHECKING:
    from typing import Any

    from secateurs import displays as displays
    from secateurs import measures as measures
    from secateurs import report as report
    from secateurs import statistics as statistics
    from secateurs.benchmarking import Benchmark as Benchmark
    from secateurs.benchmarking import benchmark as benchmark
    from secateurs.comparison import Comparison as Comparison
    from secateurs.comparison import compare as compare
    from secateurs.distributed import DOMEP as DOMEP
    from secateurs.distributed import EPFD as EPFD
    from secateurs.engines._environment import show_versions as show_versions
    from secateurs.outputs._collect import collect_scores as collect_scores
    from secateurs.outputs._collect import collect_votes as collect_votes
    from secateurs.outputs._score_store import ScoreStore as ScoreStore
    from secateurs.outputs._scores import Scores as Scores
    from secateurs.outputs._store import VoteStore as VoteStore
    from secateurs.outputs._votes import Votes as Votes
    from secateurs.paper import datasets as datasets
    from secateurs.persistence._export import export as export
    from secateurs.persistence._models import load as load
    from secateurs.persistence._models import save as save
    from secateurs.pruned_estimators import PrunedClassifier as PrunedClassifier
    from secateurs.pruned_estimators import PrunedRegressor as PrunedRegressor
    from secateurs.pruners import *  # noqa: F403
    from secateurs.pruning import Pruning as Pruning
    from secateurs.pruning import prune as prune


def _homes() -> dict[str, str]:
    """Return where public names live, in the order of the flow."""
    from secateurs._methods import METHODS

    return {
        "collect_votes": "secateurs.outputs._collect",
        "collect_scores": "secateurs.outputs._collect",
        "Votes": "secateurs.outputs._votes",
        "Scores": "secateurs.outputs._scores",
        "VoteStore": "secateurs.outputs._store",
        "ScoreStore": "secateurs.outputs._score_store",
        "measures": "secateurs.measures",
        **{method.pruner: method.home for method in METHODS.values() if method.path},
        "EPFD": "secateurs.distributed",
        "all_pruners": "secateurs.pruners",
        "make_pruner": "secateurs.pruners",
        "register": "secateurs.pruners",
        "prune": "secateurs.pruning",
        "Pruning": "secateurs.pruning",
        "PrunedClassifier": "secateurs.pruned_estimators",
        "PrunedRegressor": "secateurs.pruned_estimators",
        "compare": "secateurs.comparison",
        "Comparison": "secateurs.comparison",
        "report": "secateurs.report",
        "displays": "secateurs.displays",
        "benchmark": "secateurs.benchmarking",
        "Benchmark": "secateurs.benchmarking",
        "statistics": "secateurs.statistics",
        "datasets": "secateurs.paper.datasets",
        "save": "secateurs.persistence._models",
        "load": "secateurs.persistence._models",
        "export": "secateurs.persistence._export",
        "show_versions": "secateurs.engines._environment",
    }


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in ("_HOMES", "__all__"):  # made when they are first asked for, as the names are loaded
        return globals().setdefault(name, _homes() if name == "_HOMES" else [*_homes()])
    homes = __getattr__("_HOMES")
    if name not in homes:
        raise AttributeError(f"module 'secateurs' has no attribute {name!r}")
    home = import_module(homes[name])
    return home if home.__name__.endswith(f".{name}") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
