"""A pruning as a notebook shows it."""

import numpy as np

from secateurs._text import printable
from secateurs.evaluation._diagnostics import right_by_size
from secateurs.evaluation._score_curve import score_curve
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.report._templates import environment

_WIDTH, _HEIGHT = 320, 90
_MOST_POINTS, _MOST_NAMES = 60, 12


def pruning_html(problem: Problem, pruner: BasePruner) -> str:
    """Return HTML for a notebook: what was kept, and by size the accuracy, or score of numbers."""
    ensemble, votes, order = problem.ensemble, problem.votes, pruner.member_indices_
    sizes = np.unique(np.linspace(1, len(order), min(len(order), _MOST_POINTS)).round().astype(int))
    groups, own = [order[:size].tolist() for size in sizes], problem.weights
    inside = {} if own is None else {place: own[group] for place, group in enumerate(groups)}
    if problem.is_regression:
        what = f"{problem.scoring.label} of the mean"
        weights = ensemble.weights, problem.sample_weight
        found = score_curve(votes, groups, problem.scoring, *weights, group_weights=inside)
        *curve, whole = map(problem.scoring.shown, [*found.values.tolist(), found.whole_value])
    else:
        what, whole = "accuracy of the vote", votes.accuracy()
        curve = (right_by_size(votes, groups, inside) / votes.n_samples).tolist()
    low, high = min(*curve, whole), max(*curve, whole)
    names = [printable(ensemble.names[member]) for member in order[:_MOST_NAMES]]
    if own is not None:
        names = [f"{name} ({own[m]:.3g})" for name, m in zip(names, order, strict=False)]
    kept = "kept, in order of choice" + " (weights)" * (own is not None)

    def height(accuracy: float) -> float:
        return _HEIGHT - 4 - (_HEIGHT - 8) * (accuracy - low) / max(high - low, 1e-9)

    across = 4 + (_WIDTH - 8) * (sizes - sizes[0]) / max(1, sizes[-1] - sizes[0])
    points = [f"{x:.1f},{height(y):.1f}" for x, y in zip(across, curve, strict=True)]
    template = environment().get_template("pruning.html")
    return template.render(
        lines={
            "ensemble": type(ensemble.model).__name__,
            "method": repr(pruner),
            "members": f"{len(order)} of {ensemble.n_members}",
            f"{what} of the kept, rows chosen on": f"{curve[-1]:.4f} (all members: {whole:.4f})",
            kept: ", ".join([*names, "…"][: len(order)]),
        },
        what=what,
        width=_WIDTH,
        height=_HEIGHT,
        whole=f"{height(whole):.1f}",
        points=" ".join(points),
        range=f"{low:.3f} to {high:.3f}",
    )
