"""What if?: another method, size or weight, worked out in the page.

The page has what every method chooses at every size, and counts votes again.
"""

import pickle
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs.evaluation._alternatives import is_live, weight_grid, weight_of
from secateurs.evaluation._budget import n_bytes
from secateurs.evaluation._curves import SizeCurve
from secateurs.evaluation._diagnostics import right_by_size
from secateurs.outputs._folds import shuffled_by_class
from secateurs.outputs._votes import Votes
from secateurs.pruners import COMEP, BasePruner
from secateurs.report import _base64
from secateurs.report._commands import call_of, diversity_weight, said
from secateurs.report._schema import Maybe
from secateurs.report.sections._section import Plain, Section, Subject

MOST_LABELS = 1_000_000  # votes that go into a page, on rows chosen on and tested on together

_COSTS = {"bytes": Maybe({"base": float, "each": [float]}), "ms": Maybe([[float]])}
_VOTES = {"n_rows": int, "n_all": int, "truth": [int], "votes": _base64.SHAPE}
_WHOLE = dict.fromkeys(("choosing", "held_out", "held_out_labels", "n_rows"), int)
_COURSE: Plain = {"label": str, "method": Maybe(str), "weight": Maybe(float), "live": bool}
_COURSE |= {"sizes": [int], "order": Maybe([int]), "sets": Maybe([[int]]), "choosing": [int]}
_COURSE |= {"held_out": {"right": [int], "lost": [int], "won": [int]}, "held_out_labels": [int]}
_COURSE |= {"weights": Maybe([Maybe([float])]), "options": str, "call": Maybe(str)}
_SHAPE = {"costs": _COSTS, "choosing": _VOTES, "testing": Maybe(_VOTES)}
_SHAPE |= {"whole": _WHOLE, "courses": [_COURSE]}


def facts(subject: Subject) -> Plain:
    """Return what members cost, their votes, and every method at every size."""
    problem, classes = subject.problem, subject.classes
    own, labels = subject.curve.own, subject.curve.labels
    most = MOST_LABELS // (2 if problem.has_test else 1)
    tested = votes_on(problem.test_votes, classes, most) if problem.has_test else None
    return {
        "costs": _costs(subject),
        "choosing": votes_on(problem.votes, classes, most),
        "testing": tested,
        "whole": {
            "choosing": int(subject.votes.is_right().sum()),
            "held_out": own.whole,
            "held_out_labels": labels.whole,
            "n_rows": own.n_rows,
        },
        "courses": [
            _course(label, one, subject.votes, subject.live)
            for label, one in subject.evaluation.curves.items()
        ],
    }


def _course(label: str, curve: SizeCurve, choosing: Votes, live: COMEP | None) -> Plain:
    """Return what a method chooses at each size, and how that does."""
    chosen, pruner, own = curve.selection, curve.selection.pruner, curve.own
    weights, groups, method = chosen.group_weights, chosen.groups, said(pruner)
    return {
        "label": label,
        "method": method and method.name,
        "options": "" if method is None else shlex.join(method.options),
        "call": None if method and method.is_plain else call_of(pruner, "{keep}"),
        "weight": diversity_weight(pruner),
        "sizes": chosen.sizes.tolist(),
        "order": chosen.order,
        "sets": None if chosen.order is not None else groups,
        "weights": [weights.get(place) for place in range(len(groups))] if weights else None,
        "choosing": right_by_size(choosing, groups, weights).tolist(),
        "held_out": {name: getattr(own, name).tolist() for name in ("right", "lost", "won")},
        "held_out_labels": curve.labels.right.tolist(),
        "live": live is not None and _is_followed(pruner, live),
    }


def _is_followed(pruner: BasePruner, live: COMEP) -> bool:
    """Return whether a method is the COMEP that the page runs, up to a weight of the grid."""
    if not (isinstance(pruner, COMEP) and is_live(pruner) and pruner.start == live.start):
        return False
    chance = pruner.random_state == live.random_state or live.start != "random"
    return chance and weight_of(pruner) in weight_grid(weight_of(live))


def _costs(subject: Subject) -> Plain:
    """Return bytes of each member, and milliseconds for one row by the number of members."""
    if subject.problem.is_predictions:
        return {"bytes": None, "ms": None}
    ensemble, latency = subject.problem.ensemble, subject.latency
    each = _bytes_of(ensemble.members)
    whole = n_bytes(ensemble, range(ensemble.n_members))
    return {
        "bytes": {"base": max(0, whole - sum(each)), "each": each},
        "ms": latency and [[size, 1e3 * latency.of(size)] for size in latency.sizes.tolist()],
    }


def _bytes_of(members: Sequence[Any]) -> list[int]:
    """Return what each member adds to a pickle that holds another one already."""

    def added(member: Any, other: Any) -> int:
        return len(pickle.dumps([other, member])) - len(pickle.dumps([other]))

    first, *rest = members
    return [added(first, members[-1]), *(added(member, first) for member in rest)]


def votes_on(votes: Votes, classes: Array, most: int) -> Plain:
    """Return packed votes and the true labels; of a sample where there are very many rows."""
    shown = sample_rows(votes.truth, max(1, most // votes.n_members))
    codes = np.append(np.searchsorted(classes, votes.classes), len(classes))
    truth = codes[votes.truth[shown]]
    order = np.argsort(truth, kind="stable")
    labels = codes[votes.packed.decode()[:, shown[order]]]
    return {
        "n_rows": len(shown),
        "n_all": votes.n_samples,
        "truth": np.bincount(truth, minlength=len(classes)).tolist(),
        "votes": _base64.pack(labels, len(classes) + votes.has_missing),
    }


def sample_rows(truth: Array, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Return at most this many rows, classes in proportion, sorted by class."""
    order = shuffled_by_class(truth, np.random.RandomState(seed))
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, max(1, most)).round().astype(int)]


def view(data: Plain) -> Plain:
    """Return words: the score, and whether votes are counted on a sample of the rows."""
    some = [own for own in (data["choosing"], data["testing"]) if own is not None]
    return {
        "score": data["score"]["label"],
        "by_labels": data["rows"]["counts_labels"],
        "is_sampled": any(own["n_rows"] != own["n_all"] for own in some),
        "sample": " and ".join(f"{own['n_rows']:,} of {own['n_all']:,}" for own in some),
    }


SECTION = Section("what-if", "What if?", _SHAPE, facts, view, is_drawn=True)
