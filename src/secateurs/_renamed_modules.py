"""Load pickles and skops files of earlier versions, which use the old names of modules and classes.

Old names work until the release after the one that renamed them.
"""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # `typing` is not imported, so that `import secateurs` stays fast
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# Modules whose classes can be in a file: pruners, ensembles, predictions and comparisons.
_MOVED = {
    "distributed._epfd": "distributed.epfd",
    "ensembles._boosted": "ensembles._gradient_boosting",
    "ensembles._kinds": "ensembles._sklearn_ensembles",
    "ensembles._other_forests": "ensembles._margin_forests",
    "ensembles._voting": "ensembles._voting_models",
    "evaluation._curves": "evaluation.score_table",
    "evaluation._rows": "evaluation.evaluation_plan",
    "evaluation._score_curve": "measures.score_curve",
    "evaluation._selections": "evaluation.selections",
    "evaluation.score_curve": "measures.score_curve",
    "evaluation.size_curves": "evaluation.score_table",
    "measures._scoring": "measures.scoring",
    "outputs._packing": "outputs.vote_packing",
    "outputs._predictions": "outputs.prediction_table",
    "outputs._score_store": "outputs.prediction_store",
    "outputs._scores": "outputs.predictions",
    "outputs._store": "outputs.vote_store",
    "outputs._votes": "outputs.votes",
    "pruners._selector": "pruners.selector",
}
_RENAMED = {
    "ensembles._boosted.GradientBoosting": "SklearnGradientBoosting",
    "ensembles._kinds.Boosting": "AdaBoost",
    "ensembles._kinds.Models": "ModelCollection",
    "evaluation._curves.Score": "AccuracyCounts",
    "evaluation._rows.Ballots": "VoteBlock",
    "evaluation._rows.Part": "Fold",
    "evaluation._rows.Split": "EvaluationPlan",
    "evaluation._rows.VotedRows": "VotedSamples",
    "evaluation._score_curve.Parts": "JackknifeBlocks",
    "evaluation._score_curve.Weights": "GroupWeights",
    "outputs._packing.Codes": "CodeMatrix",
    "outputs._packing.Planes": "BitPlanes",
    "outputs._predictions.Predictions": "PredictionTable",
    "outputs._score_store.ScoreStore": "PredictionStore",
    "outputs._scores.Scores": "Predictions",
}


class _RenamedModuleFinder:
    """Finds modules by their old names, after all other finders have failed."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, old = name.partition(".")
        return ModuleSpec(name, self) if package == "secateurs" and old in _MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from importlib import import_module

        old = spec.name.partition(".")[2]
        moved = import_module(f"secateurs.{_MOVED[old]}")
        alias = ModuleType(spec.name)
        alias.__getattr__ = lambda name: getattr(moved, _RENAMED.get(f"{old}.{name}", name))  # type: ignore[method-assign]
        return alias

    def exec_module(self, module: ModuleType) -> None:
        pass  # the module was executed under its new name


def install_renamed_modules() -> None:
    """Let old module names be imported; `secateurs` calls this once."""
    sys.meta_path.append(_RenamedModuleFinder())


def restore_renamed(**renamed: str) -> "Callable[[Any, dict[str, Any]], None]":
    """Return a ``__setstate__`` for pickles in which attributes have old names (old=new)."""

    def __setstate__(self: "Any", state: "dict[str, Any]") -> None:  # noqa: N807
        self.__dict__.update({renamed.get(name, name): value for name, value in state.items()})

    return __setstate__
