"""A pruning as a notebook shows it."""

import numpy as np

from secateurs._text import counted, one_line, plain, printable
from secateurs.evaluation._diagnostics import right_by_size
from secateurs.evaluation._judged import Judged
from secateurs.evaluation._score_curve import score_curve
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.report._templates import Table, environment, interval
from secateurs.report.sections import _before_after

_WIDTH, _HEIGHT = 320, 90
_MOST_POINTS, _MOST_NAMES = 60, 12
_NOT_JUDGED = "pruning.summary() judges it by cross-fitting, which is not quick here."


def pruning_html(problem: Problem, pruner: BasePruner, judged: Judged | None) -> str:
    """Return HTML for a notebook: what was kept, and what that gains and loses.

    The figures are those of ``judged``. A curve has the accuracy by size, or the score of numbers,
    on the rows chosen on, and says so.
    """
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
    kept = "Kept, in the order of choice" + " (weights)" * (own is not None)

    def height(accuracy: float) -> float:
        return _HEIGHT - 4 - (_HEIGHT - 8) * (accuracy - low) / max(high - low, 1e-9)

    across = 4 + (_WIDTH - 8) * (sizes - sizes[0]) / max(1, sizes[-1] - sizes[0])
    points = [f"{x:.1f},{height(y):.1f}" for x, y in zip(across, curve, strict=True)]
    told = [] if judged is None else [f"Scores are from {judged.source}.", *judged.remarks]
    seen = f"{curve[-1]:.4f} of those kept, {whole:.4f} of all (dashed)"
    template = environment().get_template("pruning.html")
    return template.render(
        ensemble=type(ensemble.model).__name__,
        members=f"{len(order):,} of {counted(ensemble.n_members, 'member')}",
        method=one_line(repr(pruner)),
        table=None if judged is None else _table(judged, problem),
        remarks=told or [_NOT_JUDGED],
        what=what,
        width=_WIDTH,
        height=_HEIGHT,
        whole=f"{height(whole):.1f}",
        points=" ".join(points),
        caption=f"By members kept, the {what} on the rows chosen on, where it looks better than it "
        f"is: {seen}.",
        kept=f"{kept}: {', '.join([*names, '…'][: len(order)])}",
    )


def _table(judged: Judged, problem: Problem) -> Table:
    """Return the figures that matter most: members, scores, size and time."""
    shown = ("members", "accuracy", problem.scoring.label, "megabytes", "ms for 1 row")
    known = {name: judged.figures[name] for name in shown if name in judged.figures}
    rows = []
    for name, figure in known.items():
        line = plain(_before_after._line(name, figure._replace(timings=None)))
        both = [_before_after._figure(name, line[column]) for column in ("before", "after")]
        label = _before_after._LABELS.get(name, name)
        between = interval(line["low"], line["high"])
        rows.append([label, *both, _before_after._change(line), between])
    headings = ["", "all members", "kept", "change", "95 % interval"]
    return Table(headings, rows, numeric=range(1, 5))
