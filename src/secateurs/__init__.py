"""Prune ensembles: keep the few members that together predict as well as all of them."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # this module imports nothing, so that the command line starts fast
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
    from secateurs.engines.environment import show_versions as show_versions
    from secateurs.outputs.collect import collect_predictions as collect_predictions
    from secateurs.outputs.collect import collect_votes as collect_votes
    from secateurs.outputs.prediction_store import PredictionStore as PredictionStore
    from secateurs.outputs.predictions import Predictions as Predictions
    from secateurs.outputs.vote_store import VoteStore as VoteStore
    from secateurs.outputs.votes import Votes as Votes
    from secateurs.paper import datasets as datasets
    from secateurs.persistence.model_export import export as export
    from secateurs.persistence.model_files import load as load
    from secateurs.persistence.model_files import save as save
    from secateurs.pruned_estimators import PrunedClassifier as PrunedClassifier
    from secateurs.pruned_estimators import PrunedRegressor as PrunedRegressor
    from secateurs.pruners import *  # noqa: F403
    from secateurs.pruning import Blend as Blend
    from secateurs.pruning import Frontier as Frontier
    from secateurs.pruning import Pruning as Pruning
    from secateurs.pruning import frontier as frontier
    from secateurs.pruning import prune as prune
    from secateurs.refitting.refit import LeafRefit as LeafRefit


def _homes() -> dict[str, str]:
    """Return the module of each public name, in the order of imports."""
    from secateurs._methods import METHODS

    return {
        "collect_votes": "secateurs.outputs.collect",
        "collect_predictions": "secateurs.outputs.collect",
        "Votes": "secateurs.outputs.votes",
        "Predictions": "secateurs.outputs.predictions",
        "VoteStore": "secateurs.outputs.vote_store",
        "PredictionStore": "secateurs.outputs.prediction_store",
        "measures": "secateurs.measures",
        **{method.class_name: method.module_name for method in METHODS.values() if method.path},
        "EPFD": "secateurs.distributed",
        "all_pruners": "secateurs.pruners",
        "make_pruner": "secateurs.pruners",
        "register": "secateurs.pruners",
        "LeafRefit": "secateurs.refitting.refit",
        "unregister": "secateurs.pruners",
        "prune": "secateurs.pruning",
        "Pruning": "secateurs.pruning",
        "Blend": "secateurs.pruning",
        "PrunedClassifier": "secateurs.pruned_estimators",
        "PrunedRegressor": "secateurs.pruned_estimators",
        "compare": "secateurs.comparison",
        "Comparison": "secateurs.comparison",
        "frontier": "secateurs.pruning",
        "Frontier": "secateurs.pruning",
        "report": "secateurs.report",
        "displays": "secateurs.displays",
        "benchmark": "secateurs.benchmarking",
        "Benchmark": "secateurs.benchmarking",
        "statistics": "secateurs.statistics",
        "datasets": "secateurs.paper.datasets",
        "save": "secateurs.persistence.model_files",
        "load": "secateurs.persistence.model_files",
        "export": "secateurs.persistence.model_export",
        "show_versions": "secateurs.engines.environment",
    }


# Old public names, which work until the next release.
_RENAMED = {
    "Scores": "Predictions",
    "ScoreStore": "PredictionStore",
    "collect_scores": "collect_predictions",
}


def __getattr__(name: str) -> "Any":
    import gc
    from importlib import import_module

    if name in _RENAMED:
        import warnings

        warnings.warn(
            f"secateurs.{name} was renamed to {_RENAMED[name]}. The old name will be removed in "
            "the next release.",
            FutureWarning,
            stacklevel=2,
        )
        name = _RENAMED[name]

    if name in ("_HOMES", "__all__"):  # created at first use
        return globals().setdefault(name, _homes() if name == "_HOMES" else [*_homes()])
    homes = __getattr__("_HOMES")
    if name not in homes:
        raise AttributeError(f"module 'secateurs' has no attribute {name!r}")
    # Hundreds of modules are imported; the garbage collector would search all objects meanwhile.
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        home = import_module(homes[name])
    finally:
        if is_collecting:
            gc.enable()
    return home if home.__name__.endswith(f".{name}") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})


from secateurs._renamed_modules import install_renamed_modules  # noqa: E402

install_renamed_modules()
