"""What a report shows, as plain values: the page is made of these and nothing else."""

import hashlib
import math
import os
import pickle
import platform
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from secateurs import __version__
from secateurs._labels import merge_classes
from secateurs.evaluation._alternatives import Featured, is_live, live_pruner, weight_of
from secateurs.evaluation._contenders import parameters_of
from secateurs.evaluation._diagnostics import MOST_LIVE
from secateurs.evaluation._rows import Split
from secateurs.evaluation._weights import weight_curve, weight_grid
from secateurs.objectives import TDAS
from secateurs.outputs._votes import Votes
from secateurs.problem import Problem
from secateurs.pruners import COMEP, BasePruner
from secateurs.report import _sections
from secateurs.report._base64 import pack
from secateurs.report._schema import Maybe
from secateurs.report._sections import MOST_LABELS, Plain
from secateurs.report._words import reproduce, safety, verdict
from secateurs.report.sections import SECTIONS

SCHEMA = "secateurs-run/1"
SHAPE = {
    "schema": str,
    "made": {"when": str, "versions": {...: str}, "machine": str},
    "ensemble": {"name": str, "n_members": int, "names": [str], "classes": [str], "vote": str},
    "rows": {
        "choosing": int,
        "choosing_sha256": str,
        "testing": Maybe(int),
        "testing_sha256": Maybe(str),
        "n_folds": int,
        "out_of_bag": bool,
        "counts_labels": bool,
    },
    "chosen": {"course": int, "keep": int, "members": [int], "parameters": {...: None}},
    "notes": [str],
}
for _section in SECTIONS:
    SHAPE |= _section.shape


class Reportable(Protocol):
    """A result that can be reported: `secateurs.Pruning` or `secateurs.Comparison`."""

    def featured(
        self, X_test: Any = None, y_test: ArrayLike | None = None, *, X: Any = None
    ) -> Featured:
        """Return the choice to show, among others."""


def report_data(
    result: Reportable,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    X: Any = None,
    command: Sequence[str] | None = None,
) -> Plain:
    """Collect everything that a report shows, in plain JSON values.

    Parameters
    ----------
    result : Pruning or Comparison
        What `secateurs.prune` or `secateurs.compare` gave.
    X_test, y_test : array-like, optional
        Rows that served for neither training nor choosing, and their true labels; for predictions
        such a table on other rows. Without them figures are cross-fitted on the rows chosen
        on. A comparison has its own rows.
    X : array-like, optional
        The rows a pruning was chosen on. With them, cross-fitted figures follow the ensemble's own
        vote; without, they count labels, which is all that a pruning remembers.
    command : sequence of str, optional
        The beginning of the command line that does the same, such as
        ``["secateurs", "prune", "forest.skops", "rows.csv", "--target", "churn"]``.

    Returns
    -------
    dict
        Goes into `secateurs.report.render`, and as JSON into a file that
        `secateurs.report.load_run` reads.

    Examples
    --------
    >>> from secateurs import prune
    >>> from secateurs.report import report_data
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> data = report_data(prune(votes, y=[0, 0, 1, 1] * 5, keep=2))
    >>> data["chosen"]["members"]
    [0, 1]
    """
    shown = result.featured(X_test, y_test, X=X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _collect(shown)
    for warning in caught:
        warnings.warn(str(warning.message), stacklevel=2)
    data["notes"] = [*shown.evaluation.notes, *(str(warning.message) for warning in caught)]
    data["leaderboard"] = shown.leaderboard
    data["reproduce"] = reproduce(shown.pruner, data["courses"][data["chosen"]["course"]], command)
    return plain(data)


def _collect(shown: Featured) -> Plain:
    """Collect what a page shows of one method and size, among others."""
    split, curves, problem = (
        shown.evaluation.split,
        shown.evaluation.curves,
        shown.evaluation.problem,
    )
    votes, judged = problem.votes, split.judged_on.votes
    curve, kept = curves[shown.name], shown.pruner.member_indices_.tolist()
    classes = merge_classes(votes.classes, judged.classes)
    voted = _sections.voted_for(shown)
    lines = _sections.before_after(shown, voted)
    p_value = _sections.mcnemar(curve.own, curve.selection.place(shown.keep))
    live = live_pruner(shown.evaluation, shown.pruner)
    weights = _weights(split, live, kept, shown.keep)
    most = MOST_LABELS // (2 if problem.has_test else 1)
    testing = _sections.label_facts(judged, classes, most) if problem.has_test else None
    labels = {"labels": [str(label) for label in judged.classes]}
    return {
        "schema": SCHEMA,
        "made": _made(),
        "ensemble": _sections.ensemble_facts(problem.ensemble, classes),
        "rows": _rows(split),
        "chosen": {
            "course": list(curves).index(shown.name),
            "keep": shown.keep,
            "members": kept,
            "parameters": parameters_of(shown.pruner),
        },
        "verdict": verdict(lines, problem.has_test),
        "safety": safety(lines, p_value),
        "before_after": lines,
        "whole": {
            "choosing": int(votes.is_right().sum()),
            "held_out": curve.own.whole,
            "held_out_labels": curve.labels.whole,
            "n_rows": curve.own.n_rows,
        },
        "courses": [
            _sections.course_facts(label, one, votes)
            | {"live": weights is not None and _same_start(one.selection.pruner, live)}
            for label, one in curves.items()
        ],
        "weights": weights,
        "kappa_error": _sections.kappa_error_facts(votes, kept),
        "distances": _sections.distance_facts(votes, kept),
        "steps": _sections.step_facts(votes, shown.pruner),
        "confusion": _sections.confusion_facts(judged.truth, *voted, judged.n_classes) | labels,
        "losses": _sections.loss_facts(judged, *voted) | labels,
        "costs": _costs(problem, len(kept), lines),
        "choosing": _sections.label_facts(votes, classes, most),
        "testing": testing,
    }


def _same_start(pruner: BasePruner, live: COMEP) -> bool:
    """Whether a method is the COMEP that the page follows, but for a weight of the grid."""
    if not (isinstance(pruner, COMEP) and is_live(pruner)):
        return False
    chance = pruner.random_state == live.random_state or live.start != "random"
    return (
        pruner.start == live.start and chance and weight_of(pruner) in weight_grid(weight_of(live))
    )


def _weights(split: Split, pruner: COMEP, kept: Sequence[int], keep: int) -> Plain | None:
    """Follow COMEP through all weights of diversity, unless there are too many members."""
    votes = split.problem.votes
    if votes.n_members > MOST_LIVE:
        return None
    curve = weight_curve(split, pruner, kept, keep)
    return {
        "grid": curve.weights,
        "starts": [one.selection.members(1)[0] for one in curve.curves],
        "relevance": pack(TDAS(votes, 0.0).relevance),
        "held_out": [one.own.right.tolist() for one in curve.curves],
        "held_out_labels": [one.labels.right.tolist() for one in curve.curves],
        "accuracy": curve.accuracy.tolist(),
        "half_width": curve.half_width.tolist(),
        "overlap": curve.overlap.tolist(),
    }


def _costs(problem: Problem, keep: int, lines: Sequence[Plain]) -> Plain:
    """Say what members cost: bytes each, and milliseconds for one row by their number."""
    ensemble = problem.ensemble
    if problem.is_predictions:
        return {"bytes": None, "ms": None}
    each = _bytes_of(ensemble.members)
    whole = len(pickle.dumps(ensemble.slice(range(ensemble.n_members))))
    costs: Plain = {"bytes": {"base": max(0, whole - sum(each)), "each": each}, "ms": None}
    for line in lines:
        if line["figure"] == "ms for 1 row":
            costs["ms"] = _milliseconds(ensemble.n_members, keep, line["before"], line["after"])
    return costs


def _milliseconds(n_members: int, keep: int, before: float, after: float) -> list[list[float]]:
    """Give points of a line by the number of members: none, the kept and all, as measured."""
    if keep == n_members:
        return [[0, 0.0], [n_members, before]]
    none = after - keep * (before - after) / (n_members - keep)
    return [[0, max(0.0, none)], [keep, after], [n_members, before]]


def _bytes_of(members: Sequence[Any]) -> list[int]:
    """Say what each member adds to a pickle that holds another one already."""

    def added(member: Any, other: Any) -> int:
        return len(pickle.dumps([other, member])) - len(pickle.dumps([other]))

    first, *rest = members
    return [added(first, members[-1]), *(added(member, first) for member in rest)]


def _rows(split: Split) -> Plain:
    problem = split.problem
    tested = problem.has_test
    return {
        "choosing": problem.votes.n_samples,
        "choosing_sha256": _digest(problem.votes),
        "testing": problem.test_votes.n_samples if tested else None,
        "testing_sha256": _digest(problem.test_votes) if tested else None,
        "n_folds": split.n_choices - 1,
        "out_of_bag": problem.oob,
        "counts_labels": split.judged_on.counts_labels,
    }


def _digest(votes: Votes) -> str:
    """Hash votes and true labels, to know the rows again."""
    found = hashlib.sha256(np.ascontiguousarray(votes.packed.decode()).tobytes())
    found.update(np.ascontiguousarray(votes.truth).tobytes())
    return found.hexdigest()


def _made() -> Plain:
    packages = ("numpy", "scipy", "scikit-learn")
    versions = {"secateurs": __version__, "python": platform.python_version()}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in packages},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def plain(value: Any) -> Any:
    """Turn values into those that JSON knows; numbers that are none become None."""
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    return str(value).encode("utf-8", "replace").decode()  # names may hold halves of characters
