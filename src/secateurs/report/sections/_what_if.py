"""What if?: another method, size or weight, worked out in the page.

The page has what every method chooses at every size, and counts votes again.
"""

import pickle
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation.alternatives import (
    can_select_in_browser,
    diversity_weight_grid,
    diversity_weight_of,
)
from secateurs.evaluation.budget import pickle_bytes
from secateurs.evaluation.member_diagnostics import n_right_by_group
from secateurs.evaluation.size_curves import SizeCurve
from secateurs.outputs.stratified_folds import shuffled_by_class
from secateurs.outputs.votes import Votes
from secateurs.pruners import COMEP, BasePruner
from secateurs.report import _base64
from secateurs.report._command_text import cli_method, constructor_call, numeric_diversity_weight
from secateurs.report._schema import Nullable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection
from secateurs.typing import Array

MOST_LABELS = 1_000_000  # votes that go into a page, on rows chosen on and tested on together

_COSTS = {"bytes": Nullable({"base": float, "each": [float]}), "ms": Nullable([[float]])}
_VOTES = {"n_rows": int, "n_all": int, "truth": [int], "votes": _base64.PACKED_ARRAY_SHAPE}
_WHOLE = dict.fromkeys(("choosing", "held_out", "held_out_labels", "n_rows"), int)
_COURSE: JsonObject = {
    "label": str,
    "method": Nullable(str),
    "weight": Nullable(float),
    "live": bool,
}
_COURSE |= {"sizes": [int], "order": Nullable([int]), "sets": Nullable([[int]]), "choosing": [int]}
_COURSE |= {"held_out": {"right": [int], "lost": [int], "won": [int]}, "held_out_labels": [int]}
_COURSE |= {"weights": Nullable([Nullable([float])]), "options": str, "call": Nullable(str)}
_SHAPE = {"costs": _COSTS, "choosing": _VOTES, "testing": Nullable(_VOTES)}
_SHAPE |= {"whole": _WHOLE, "courses": [_COURSE]}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return what members cost, their votes, and every method at every size."""
    problem, classes = subject.problem, subject.classes
    own, labels = subject.curve.by_own_vote, subject.curve.by_labels
    most = MOST_LABELS // (2 if problem.has_test_set else 1)
    tested = packed_votes(problem.test_predictions, classes, most) if problem.has_test_set else None
    return {
        "costs": _member_costs(subject),
        "choosing": packed_votes(problem.predictions, classes, most),
        "testing": tested,
        "whole": {
            "choosing": int(subject.predictions.is_right().sum()),
            "held_out": own.n_right_full,
            "held_out_labels": labels.n_right_full,
            "n_rows": own.n_samples,
        },
        "courses": [
            _method_course(label, one, subject.predictions, subject.live_comep)
            for label, one in subject.evaluation.curves.items()
        ],
    }


def _method_course(label: str, curve: SizeCurve, choosing: Votes, live: COMEP | None) -> JsonObject:
    """Return what a method chooses at each size, and how that does."""
    chosen, pruner, own = curve.selection, curve.selection.largest_pruner, curve.by_own_vote
    weights, groups, method = chosen.group_weights, chosen.member_groups, cli_method(pruner)
    return {
        "label": label,
        "method": method and method.name,
        "options": "" if method is None else shlex.join(method.options),
        "call": None if method and method.is_plain else constructor_call(pruner, "{keep}"),
        "weight": numeric_diversity_weight(pruner),
        "sizes": chosen.sizes.tolist(),
        "order": chosen.order,
        "sets": None if chosen.order is not None else groups,
        "weights": [weights.get(place) for place in range(len(groups))] if weights else None,
        "choosing": n_right_by_group(choosing, groups, weights).tolist(),
        "held_out": {name: getattr(own, name).tolist() for name in ("right", "lost", "won")},
        "held_out_labels": curve.by_labels.n_right.tolist(),
        "live": live is not None and _is_run_in_page(pruner, live),
    }


def _is_run_in_page(pruner: BasePruner, live: COMEP) -> bool:
    """Return whether a method is the COMEP that the page runs, up to a weight of the grid."""
    if not (
        isinstance(pruner, COMEP) and can_select_in_browser(pruner) and pruner.start == live.start
    ):
        return False
    chance = pruner.random_state == live.random_state or live.start != "random"
    return chance and diversity_weight_of(pruner) in diversity_weight_grid(
        diversity_weight_of(live)
    )


def _member_costs(subject: ReportContext) -> JsonObject:
    """Return bytes of each member, and milliseconds for one row by the number of members."""
    if subject.problem.has_only_predictions:
        return {"bytes": None, "ms": None}
    ensemble, latency = subject.problem.ensemble, subject.row_latency
    each = _pickled_bytes(ensemble.members)
    whole = pickle_bytes(ensemble, range(ensemble.n_members))
    return {
        "bytes": {"base": max(0, whole - sum(each)), "each": each},
        "ms": latency
        and [[size, 1e3 * latency.seconds_for(size)] for size in latency.sizes.tolist()],
    }


def _pickled_bytes(members: Sequence[Any]) -> list[int]:
    """Return what each member adds to a pickle that holds another one already."""

    def added_bytes(member: Any, other: Any) -> int:
        return len(pickle.dumps([other, member])) - len(pickle.dumps([other]))

    first, *rest = members
    return [added_bytes(first, members[-1]), *(added_bytes(member, first) for member in rest)]


def packed_votes(votes: Votes, classes: Array, most: int) -> JsonObject:
    """Return packed votes and the true labels; of a sample where there are very many rows."""
    shown = sample_by_class(votes.truth, max(1, most // votes.n_members))
    codes = np.append(np.searchsorted(classes, votes.classes), len(classes))
    truth = codes[votes.truth[shown]]
    order = np.argsort(truth, kind="stable")
    labels = codes[votes.packed.decode()[:, shown[order]]]
    return {
        "n_rows": len(shown),
        "n_all": votes.n_samples,
        "truth": np.bincount(truth, minlength=len(classes)).tolist(),
        "votes": _base64.pack_array(labels, len(classes) + votes.has_missing),
    }


def sample_by_class(truth: Array, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Return at most this many rows, classes in proportion, sorted by class."""
    order = shuffled_by_class(truth, np.random.RandomState(seed))
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, max(1, most)).round().astype(int)]


def template_values(data: JsonObject) -> JsonObject:
    """Return words: the score, and whether votes are counted on a sample of the rows."""
    some = [own for own in (data["choosing"], data["testing"]) if own is not None]
    return {
        "score": data["score"]["label"],
        "by_labels": data["rows"]["counts_labels"],
        "is_sampled": any(own["n_rows"] != own["n_all"] for own in some),
        "sample": " and ".join(f"{own['n_rows']:,} of {own['n_all']:,}" for own in some),
    }


SECTION = ReportSection("what-if", "What if?", _SHAPE, collect_data, template_values, is_drawn=True)
