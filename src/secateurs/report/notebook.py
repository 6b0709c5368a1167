"""A pruning as a notebook shows it."""

import numpy as np

from secateurs.evaluation.cross_validated_scores import CrossValidatedScores
from secateurs.evaluation.member_diagnostics import n_right_by_group
from secateurs.evaluation.score_curve import score_curve
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.report.html_templates import HtmlTable, format_interval, template_environment
from secateurs.report.sections import _before_after
from secateurs.text_format import format_count, replace_unprintable, to_json_value, to_one_line

_WIDTH, _HEIGHT = 320, 90
_MOST_POINTS, _MOST_NAMES = 60, 12
_NOT_CROSS_VALIDATED = "pruning.summary() judges it by cross-fitting, which is not quick here."


def pruning_html(problem: Problem, pruner: BasePruner, judged: CrossValidatedScores | None) -> str:
    """Return HTML for a notebook: what was kept, and what that gains and loses.

    The figures are those of ``judged``. A curve has the accuracy by size, or the score of numbers,
    on the rows chosen on, and says so.
    """
    ensemble, votes, order = problem.ensemble, problem.predictions, pruner.member_indices_
    sizes = np.unique(np.linspace(1, len(order), min(len(order), _MOST_POINTS)).round().astype(int))
    groups, own = [order[:size].tolist() for size in sizes], problem.member_weights
    inside = {} if own is None else {place: own[group] for place, group in enumerate(groups)}
    if problem.is_regression:
        what = f"{problem.scoring.label} of the mean"
        weights = ensemble.weights, problem.sample_weight
        found = score_curve(votes, groups, problem.scoring, *weights, group_weights=inside)
        *curve, whole = map(
            problem.scoring.display_score, [*found.values.tolist(), found.full_value]
        )
    else:
        what, whole = "accuracy of the vote", votes.accuracy()
        curve = (n_right_by_group(votes, groups, inside) / votes.n_samples).tolist()
    low, high = min(*curve, whole), max(*curve, whole)
    names = [replace_unprintable(ensemble.member_names[member]) for member in order[:_MOST_NAMES]]
    if own is not None:
        names = [f"{name} ({own[m]:.3g})" for name, m in zip(names, order, strict=False)]
    kept = "Kept, in the order of choice" + " (weights)" * (own is not None)

    def y_position(accuracy: float) -> float:
        return _HEIGHT - 4 - (_HEIGHT - 8) * (accuracy - low) / max(high - low, 1e-9)

    across = 4 + (_WIDTH - 8) * (sizes - sizes[0]) / max(1, sizes[-1] - sizes[0])
    points = [f"{x:.1f},{y_position(y):.1f}" for x, y in zip(across, curve, strict=True)]
    told = (
        [] if judged is None else [f"Scores are from {judged.source_description}.", *judged.remarks]
    )
    seen = f"{curve[-1]:.4f} of those kept, {whole:.4f} of all (dashed)"
    template = template_environment().get_template("pruning.html")
    return template.render(
        ensemble=type(ensemble.model).__name__,
        members=f"{len(order):,} of {format_count(ensemble.n_members, 'member')}",
        method=to_one_line(repr(pruner)),
        table=None if judged is None else _figures_table(judged, problem),
        remarks=told or [_NOT_CROSS_VALIDATED],
        what=what,
        width=_WIDTH,
        height=_HEIGHT,
        whole=f"{y_position(whole):.1f}",
        points=" ".join(points),
        caption=f"By members kept, the {what} on the rows chosen on, where it looks better than it "
        f"is: {seen}.",
        kept=f"{kept}: {', '.join([*names, '…'][: len(order)])}",
    )


def _figures_table(judged: CrossValidatedScores, problem: Problem) -> HtmlTable:
    """Return the figures that matter most: members, scores, size and time."""
    shown = ("members", "accuracy", problem.scoring.label, "megabytes", "ms for 1 row")
    known = {name: judged.figures[name] for name in shown if name in judged.figures}
    rows = []
    for name, figure in known.items():
        line = to_json_value(_before_after._figure_line(name, figure._replace(timings=None)))
        both = [_before_after._format_figure(name, line[column]) for column in ("before", "after")]
        label = _before_after._LABELS.get(name, name)
        between = format_interval(line["low"], line["high"])
        rows.append([label, *both, _before_after._format_change(line), between])
    headings = ["", "all members", "kept", "change", "95 % interval"]
    return HtmlTable(headings, rows, numeric=range(1, 5))
