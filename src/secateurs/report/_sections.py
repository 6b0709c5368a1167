"""The sections of a report, each as plain values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.utils import check_random_state

from secateurs._labels import Array
from secateurs._methods import short_name
from secateurs.ensembles import Ensemble
from secateurs.evaluation import _before_after, _diagnostics
from secateurs.evaluation._alternatives import Featured
from secateurs.evaluation._before_after import Figure
from secateurs.evaluation._budget import predictor
from secateurs.evaluation._curves import Score, SizeCurve, whole_vote
from secateurs.evaluation._weights import distances_of
from secateurs.outputs._votes import Votes
from secateurs.pruners import BasePruner
from secateurs.pruners._base import is_number
from secateurs.report._base64 import pack, sample_rows

MOST_LABELS = 1_000_000  # votes that go into a page, of rows chosen on and rows tested on together
_MOST_PAIRS = 3000  # points of other pairs in the κ–error figure
_MOST_CLASSES = 15  # in the confusion matrices

Plain = dict[str, Any]


def ensemble_facts(ensemble: Ensemble, classes: Array) -> Plain:
    """Say what was pruned."""
    vote = "probabilities" if ensemble.soft else "labels"
    if ensemble.weights is not None:
        vote = f"weighted {vote}"
    return {
        "name": type(ensemble.model).__name__,
        "n_members": ensemble.n_members,
        "names": [str(name) for name in ensemble.names],
        "classes": [str(label) for label in classes],
        "vote": vote,
    }


def voted_for(shown: Featured) -> tuple[Array, Array]:
    """Return the codes that all and the kept members vote for on the rows judged on.

    Through the models themselves where these are at hand.
    """
    rows, problem = shown.evaluation.split.judged_on, shown.evaluation.problem
    if not problem.has_test or problem.is_predictions:
        return whole_vote(rows), shown.evaluation.curves[shown.name].predicted[shown.keep]
    both = range(problem.n_members), shown.pruner.member_indices_.tolist()
    labels = [predictor(problem.ensemble, members)(rows.X) for members in both]
    before, after = (np.searchsorted(rows.votes.classes, one) for one in labels)
    return before, after


def before_after(shown: Featured, voted: tuple[Array, Array]) -> list[Plain]:
    """Compare the kept with all members: through the models on test rows, else cross-fitted."""
    problem, pruner = shown.evaluation.problem, shown.pruner
    if problem.has_test:
        _, figures = _before_after.measure(problem, pruner, check_random_state(0), files=True)
    else:
        curve = shown.evaluation.curves[shown.name]
        before, after = (_balanced(problem.votes.truth, codes) for codes in voted)
        figures = _before_after.count(pruner) | {
            "accuracy": _before_after.held_out_accuracy(curve, shown.keep),
            "balanced accuracy": Figure(before, after),
        }
        figures |= _before_after.costs(problem, pruner)
    return [_line(name, figure) for name, figure in figures.items()]


def _balanced(truth: Array, predicted: Array) -> float:
    """Give the mean of the classes' shares of rows right."""
    rows = np.bincount(truth)
    right = np.bincount(truth[predicted == truth], minlength=len(rows))
    return float((right[rows > 0] / rows[rows > 0]).mean())


def _line(name: str, figure: Figure) -> Plain:
    line = {"figure": name, "before": figure.before, "after": figure.after}
    line |= {"change": figure.after - figure.before, "low": figure.low, "high": figure.high}
    if figure.timings is None:
        return line | {"timings": None}
    spread = (_spread(times) for times in figure.timings)
    return line | {"timings": dict(zip(("before", "after"), spread, strict=True))}


def _spread(times: Array) -> Plain:
    """Give single timings, and where the middle nine tenths of them lie."""
    low, high = np.percentile(times, [5, 95])
    return {"low": float(low), "high": float(high), "all": times.round(6).tolist()}


def mcnemar(own: Score, place: int) -> float:
    """P-value of McNemar's exact test: whether as many rows are lost as won, but for chance."""
    lost, won = int(own.lost[place]), int(own.won[place])
    return 1.0 if lost + won == 0 else float(binomtest(won, lost + won).pvalue)


def course_facts(name: str, curve: SizeCurve, choosing: Votes) -> Plain:
    """Say what a method chooses at each size and how it does."""
    chosen, pruner = curve.selection, curve.selection.pruner
    groups = [chosen.members(size) for size in chosen.sizes]
    weight: Any = getattr(pruner, "diversity_weight", None)
    return {
        "label": name,
        "method": short_name(pruner),
        "weight": float(weight) if is_number(weight) else None,
        "sizes": chosen.sizes.tolist(),
        "order": chosen.order,
        "sets": None if chosen.order is not None else groups,
        "choosing": _diagnostics.right_by_size(choosing, groups).tolist(),
        "held_out": score_facts(curve.own),
        "held_out_labels": curve.labels.right.tolist(),
    }


def score_facts(score: Score) -> Plain:
    """Give the counts of a score by size."""
    return {"right": score.right.tolist(), "lost": score.lost.tolist(), "won": score.won.tolist()}


def kappa_error_facts(votes: Votes, kept: Sequence[int]) -> Plain:
    """Give κ and mean error of pairs: all of the kept members, a sample of the others."""
    pairs = _diagnostics.kappa_error(votes)
    among = pairs.among(kept)
    others = np.flatnonzero(~among)
    shown = others
    if len(others) > _MOST_PAIRS:
        shown = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))
    chosen = np.flatnonzero(among)[:_MOST_PAIRS]
    front = np.flatnonzero(pairs.front)
    front = front[np.lexsort((pairs.error[front], pairs.kappa[front]))]

    def points(places: Any) -> list[list[float]]:
        return np.stack([pairs.kappa[places], pairs.error[places]], axis=1).round(5).tolist()

    def middle(mask: Any) -> list[float] | None:
        if not mask.any():
            return None
        return [float(pairs.kappa[mask].mean()), float(pairs.error[mask].mean())]

    named = np.stack([pairs.first[front], pairs.second[front]], axis=1).tolist()
    return {
        "n_pairs": len(pairs.first),
        "kept": points(chosen),
        "others": points(shown),
        "front": points(front),
        "front_pairs": named,
        "mean": middle(np.ones(len(among), dtype=bool)),
        "mean_kept": middle(among),
    }


def distance_facts(votes: Votes, kept: Sequence[int]) -> Plain:
    """Give the distances of all pairs, or of some where there are very many members."""
    pairs = _diagnostics.pair_distances(votes, kept)
    complete = len(pairs.members) == votes.n_members
    values = distances_of(votes) if complete else pairs.values
    n_others = max(1, len(pairs.members) - 1)
    apart = np.where(np.eye(len(pairs.members), dtype=bool), np.inf, pairs.values)
    return {
        "members": pairs.members.tolist(),
        "complete": complete,
        "order": pairs.order.tolist(),
        "low": pairs.low,
        "high": pairs.high,
        "mean": (pairs.values.sum(axis=0) / n_others).tolist(),
        "nearest": pairs.members[apart.argmin(axis=0)].tolist(),
        "to_nearest": (apart.min(axis=0) if len(apart) > 1 else np.zeros(len(apart))).tolist(),
        "triangle": pack(values[np.triu_indices(len(values), 1)]),
    }


def step_facts(votes: Votes, pruner: BasePruner) -> list[Plain]:
    """Follow the choice step by step."""
    members, scores = pruner.member_indices_.tolist(), pruner.scores_.tolist()
    steps = _diagnostics.selection_steps(votes, members, scores)
    return [
        {
            "member": step.member,
            "score": step.score,
            "accuracy": step.accuracy,
            "alone": step.alone,
            "distance": step.distance,
        }
        for step in steps
    ]


def confusion_facts(truth: Array, before: Array, after: Array, n_classes: int) -> Plain:
    """Give the confusion matrices of all and of the kept, of the classes that change the most."""
    whole = _diagnostics.confusion(truth, before, n_classes)
    kept = _diagnostics.confusion(truth, after, n_classes)
    moved = np.abs(whole - kept).sum(axis=1) + np.abs(whole - kept).sum(axis=0)
    most = np.argsort(-moved, kind="stable")[:_MOST_CLASSES]
    shown = most if n_classes > _MOST_CLASSES else np.argsort(-moved, kind="stable")
    grid = np.ix_(shown, shown)
    return {
        "classes": shown.tolist(),
        "n_classes": n_classes,
        "whole": whole[grid].tolist(),
        "kept": kept[grid].tolist(),
        "rows": whole[shown].sum(axis=1).tolist(),
    }


def loss_facts(votes: Votes, before: Array, after: Array) -> Plain:
    """Count who lost and who won: by class, and by the share of all members that are right."""
    truth = votes.truth
    right, still = before == truth, after == truth
    n_shares = len(_diagnostics.SHARES) - 1
    by_class = _diagnostics.losses(truth.astype(np.intp), votes.n_classes, right, still)
    by_share = _diagnostics.losses(_diagnostics.by_share(votes), n_shares, right, still)
    return {
        "by_class": {name: counts.tolist() for name, counts in by_class._asdict().items()},
        "by_share": {name: counts.tolist() for name, counts in by_share._asdict().items()},
        "shares": list(_diagnostics.SHARES),
    }


def label_facts(votes: Votes, classes: Array, most: int) -> Plain:
    """Pack the votes on some rows, with the true labels; a sample where there are very many."""
    shown = sample_rows(votes.truth, max(1, most // votes.n_members))
    codes = np.append(np.searchsorted(classes, votes.classes), len(classes))
    truth = codes[votes.truth[shown]]
    order = np.argsort(truth, kind="stable")
    labels = codes[votes.packed.decode()[:, shown[order]]]
    return {
        "n_rows": len(shown),
        "n_all": votes.n_samples,
        "truth": np.bincount(truth, minlength=len(classes)).tolist(),
        "votes": pack(labels, len(classes) + votes.has_missing),
    }
