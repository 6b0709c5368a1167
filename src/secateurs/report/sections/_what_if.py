"""Section "What if?": explore other methods, sizes and weights in the page.

The page contains the members that every method selects at every size, and counts votes itself.
"""

import pickle
import shlex
from collections.abc import Sequence

import numpy as np

from secateurs.evaluation.alternatives import can_select_in_browser, diversity_weight_of
from secateurs.evaluation.score_table import SizeCurve
from secateurs.outputs.stratified_folds import shuffled_by_class
from secateurs.outputs.votes import Votes
from secateurs.problem.model_costs import pickle_bytes
from secateurs.pruners import COMEP, BasePruner
from secateurs.report._command_text import cli_method, constructor_call, numeric_diversity_weight
from secateurs.report._schema import PACKED_ARRAY_SHAPE, Nullable, pack_array
from secateurs.report.diversity_weights import diversity_weight_grid
from secateurs.report.member_diagnostics import n_right_by_group
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import Array, IndexArray, JsonObject

# Votes in a page, of the validation and test set together: one byte or less each, so that pages
# stay small and the browser counts them while a slider moves.
MOST_LABELS = 1_000_000

_COSTS = {"bytes": Nullable({"base": float, "each": [float]}), "ms": Nullable([[float]])}
_VOTES = {"n_rows": int, "n_all": int, "truth": [int], "votes": PACKED_ARRAY_SHAPE}
_VOTES |= {"sample_weights": Nullable(PACKED_ARRAY_SHAPE)}
_WHOLE: JsonObject = dict.fromkeys(("choosing", "held_out", "held_out_labels", "n_rows"), int)
_COURSE: JsonObject = {
    "label": str,
    "method": Nullable(str),
    "weight": Nullable(float),
    "live": bool,
}
_COURSE |= {"sizes": [int], "order": Nullable([int]), "sets": Nullable([[int]]), "choosing": [int]}
_COURSE |= {"held_out": {"right": [float], "lost": [int], "won": [int]}}
_COURSE |= {"held_out_labels": Nullable([int])}
_COURSE |= {"weights": Nullable([Nullable([float])]), "options": str, "call": Nullable(str)}
_SHAPE = {"costs": _COSTS, "choosing": _VOTES, "testing": Nullable(_VOTES)}
_SHAPE |= {"whole": _WHOLE, "courses": [_COURSE]}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the costs and votes of members, and the selections of every method at every size."""
    problem, classes = context.problem, context.classes
    by_own_vote, by_labels = context.curve.by_own_vote, context.curve.by_labels
    most = MOST_LABELS // (2 if problem.has_test_set else 1)
    test = None
    if problem.has_test_set:
        votes, weight = problem.test_predictions, problem.sample_weight_test
        test = packed_votes(votes, classes, most, weight)
    return {
        "costs": _member_costs(context),
        "choosing": packed_votes(problem.predictions, classes, most, problem.sample_weight),
        "testing": test,
        "whole": {
            "choosing": int(context.predictions.is_right().sum()),
            "held_out": by_own_vote.n_right_full,
            "held_out_labels": by_labels.n_right_full,
            "n_rows": by_own_vote.n_samples,
        },
        "courses": [
            _method_course(label, curve, context.predictions, context.live_comep)
            for label, curve in context.evaluation.curves.items()
        ],
    }


def _method_course(
    label: str, curve: SizeCurve, validation: Votes, live: COMEP | None
) -> JsonObject:
    """Return the members that a method selects at each size, and their numbers of correct votes."""
    selection, pruner, counts = curve.selection, curve.selection.largest_pruner, curve.by_own_vote
    weights, groups, method = selection.group_weights, selection.member_groups, cli_method(pruner)
    held_out: JsonObject = {"right": counts.n_right, "lost": counts.n_lost, "won": counts.n_won}
    is_weighted = curve.accuracy is not counts
    if is_weighted:  # so that division by the number of samples gives the weighted accuracy
        held_out["right"] = curve.accuracy.values * counts.n_samples
    return {
        "label": label,
        "method": method and method.name,
        "options": "" if method is None else shlex.join(method.options),
        "call": None if method and method.is_plain else constructor_call(pruner, "{keep}"),
        "weight": numeric_diversity_weight(pruner),
        "sizes": selection.sizes.tolist(),
        "order": selection.order,
        "sets": None if selection.order is not None else groups,
        "weights": [weights.get(index) for index in range(len(groups))] if weights else None,
        "choosing": n_right_by_group(validation, groups, weights).tolist(),
        "held_out": {name: numbers.tolist() for name, numbers in held_out.items()},
        "held_out_labels": None if is_weighted else curve.by_labels.n_right.tolist(),
        "live": live is not None and _is_run_in_page(pruner, live),
    }


def _is_run_in_page(pruner: BasePruner, live: COMEP) -> bool:
    """Return whether a method is the COMEP that the page runs, with a weight of its grid."""
    if not (
        isinstance(pruner, COMEP) and can_select_in_browser(pruner) and pruner.start == live.start
    ):
        return False
    same_start = pruner.random_state == live.random_state or live.start != "random"
    return same_start and diversity_weight_of(pruner) in diversity_weight_grid(
        diversity_weight_of(live)
    )


def _member_costs(context: ReportContext) -> JsonObject:
    """Return the bytes of each member, and milliseconds per sample by number of members."""
    if context.problem.has_only_predictions:
        return {"bytes": None, "ms": None}
    ensemble, latency = context.problem.ensemble, context.row_latency
    each = _pickled_bytes(ensemble.members)
    full = pickle_bytes(ensemble, range(ensemble.n_members))
    return {
        "bytes": {"base": max(0, full - sum(each)), "each": each},
        "ms": latency
        and [[size, 1e3 * latency.seconds_for(size)] for size in latency.sizes.tolist()],
    }


def _pickled_bytes(members: Sequence[object]) -> list[int]:
    """Return the bytes that each member adds to a pickle.

    The pickle already has another member, because parts that members share are stored once.
    """

    def added_bytes(member: object, other: object) -> int:
        return len(pickle.dumps([other, member])) - len(pickle.dumps([other]))

    first, *rest = members
    return [added_bytes(first, members[-1]), *(added_bytes(member, first) for member in rest)]


def packed_votes(
    votes: Votes, classes: Array, most: int, sample_weight: Array | None = None
) -> JsonObject:
    """Return packed votes and true labels; of a random selection if there are many samples."""
    shown = sample_by_class(votes.truth, max(1, most // votes.n_members))
    codes = np.append(np.searchsorted(classes, votes.classes), len(classes))
    truth = codes[votes.truth[shown]]
    order = np.argsort(truth, kind="stable")
    labels = codes[votes.packed.decode()[:, shown[order]]]
    return {
        "n_rows": len(shown),
        "n_all": votes.n_samples,
        "truth": np.bincount(truth, minlength=len(classes)).tolist(),
        "votes": pack_array(labels, len(classes) + votes.has_missing),
        "sample_weights": None
        if sample_weight is None
        else pack_array(_mean_of_one(sample_weight[shown[order]])),
    }


def _mean_of_one(weights: Array) -> Array:
    """Return weights with a mean of 1, so that their sum is the number of samples."""
    return weights / weights.mean()


def sample_by_class(truth: Array, most: int, seed: int = 0) -> IndexArray:
    """Return the indices of at most ``most`` samples, stratified and sorted by class."""
    order = shuffled_by_class(truth, np.random.RandomState(seed))
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, max(1, most)).round().astype(int)]


def template_values(data: JsonObject) -> JsonObject:
    """Return the score, and whether the page has the votes of all samples."""
    votes = [part for part in (data["choosing"], data["testing"]) if part is not None]
    return {
        "score": data["score"]["label"],
        "by_labels": data["rows"]["counts_labels"],
        "is_sampled": any(part["n_rows"] != part["n_all"] for part in votes),
        "sample": " and ".join(f"{part['n_rows']:,} of {part['n_all']:,}" for part in votes),
    }


SECTION = ReportSection("what-if", "What if?", _SHAPE, collect_data, template_values, is_drawn=True)
