"""What if?: another method, size or weight, worked out in the page."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs._labels import Array
from secateurs.evaluation._budget import n_bytes
from secateurs.outputs._folds import shuffled_by_class
from secateurs.outputs._votes import Votes
from secateurs.report import _base64
from secateurs.report._schema import Maybe
from secateurs.report.sections._section import Plain, Section, Subject

MOST_LABELS = 1_000_000  # votes that go into a page, on rows chosen on and tested on together

_COSTS = {"bytes": Maybe({"base": float, "each": [float]}), "ms": Maybe([[float]])}
_VOTES = {"n_rows": int, "n_all": int, "truth": [int], "votes": _base64.SHAPE}
_SHAPE = {"costs": _COSTS, "choosing": _VOTES, "testing": Maybe(_VOTES)}


def facts(subject: Subject) -> Plain:
    """Return what members cost, and their votes."""
    problem, classes = subject.problem, subject.classes
    most = MOST_LABELS // (2 if problem.has_test else 1)
    tested = votes_on(problem.test_votes, classes, most) if problem.has_test else None
    return {
        "costs": _costs(subject),
        "choosing": votes_on(problem.votes, classes, most),
        "testing": tested,
    }


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
    """Return whether votes are counted on a sample of the rows, and on which."""
    some = [own for own in (data["choosing"], data["testing"]) if own is not None]
    return {
        "is_sampled": any(own["n_rows"] != own["n_all"] for own in some),
        "sample": " and ".join(f"{own['n_rows']:,} of {own['n_all']:,}" for own in some),
    }


SECTION = Section("what-if", "What if?", _SHAPE, facts, view, is_drawn=True)
