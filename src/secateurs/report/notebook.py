"""Render a pruning as HTML for notebooks."""

import numpy as np

from secateurs.evaluation.metrics import PruningFigures, describe_baselines, metric_named
from secateurs.measures.score_curve import score_curve
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.report.html_templates import (
    HtmlTable,
    capitalise_first,
    format_interval,
    template_environment,
)
from secateurs.report.member_diagnostics import n_right_by_group
from secateurs.report.sections import _before_after
from secateurs.text_format import format_count, replace_unprintable, to_json_value, to_one_line

_WIDTH, _HEIGHT = 320, 90
_MOST_POINTS = 60  # of the curve: about one per five pixels
_MOST_NAMES = 12  # limits the list of kept members to a line or two
_NOT_CROSS_VALIDATED = (
    "pruning.summary() computes cross-validated scores, which would take too long here."
)


def pruning_html(
    problem: Problem, pruner: BasePruner, cross_validated: PruningFigures | None
) -> str:
    """Return HTML with the kept members, their cross-validated scores if known, and a curve.

    The curve shows accuracy, or the score for regression, by number of members on the validation
    set; its caption says that these scores are too optimistic.
    """
    ensemble, votes, order = problem.ensemble, problem.predictions, pruner.member_indices_
    sizes = np.unique(np.linspace(1, len(order), min(len(order), _MOST_POINTS)).round().astype(int))
    groups, own = [order[:size].tolist() for size in sizes], problem.member_weights
    weights = {} if own is None else {index: own[group] for index, group in enumerate(groups)}
    if problem.is_regression:
        score = f"{problem.scoring.label} of the mean"
        given = ensemble.weights, problem.sample_weight
        scores = score_curve(votes, groups, problem.scoring, *given, weights)
        *curve, full = map(
            problem.scoring.display_score, [*scores.values.tolist(), scores.full_value]
        )
    else:
        score, full = "accuracy of the vote", votes.accuracy()
        curve = (n_right_by_group(votes, groups, weights) / votes.n_samples).tolist()
    low, high = min(*curve, full), max(*curve, full)
    names = [replace_unprintable(ensemble.member_names[member]) for member in order[:_MOST_NAMES]]
    if own is not None:
        names = [f"{name} ({own[m]:.3g})" for name, m in zip(names, order, strict=False)]
    kept = "Kept members in order of selection" + " (weights)" * (own is not None)

    def y_position(value: float) -> float:  # 4 pixels of margin; a flat curve is not divided by 0
        return _HEIGHT - 4 - (_HEIGHT - 8) * (value - low) / max(high - low, 1e-9)

    across = 4 + (_WIDTH - 8) * (sizes - sizes[0]) / max(1, sizes[-1] - sizes[0])
    points = [f"{x:.1f},{y_position(y):.1f}" for x, y in zip(across, curve, strict=True)]
    remarks, table = [_NOT_CROSS_VALIDATED], None
    if cross_validated is not None:
        source = f"Scores are from the {cross_validated.source_description}."
        remarks = [source, *cross_validated.remarks]
        remarks += describe_baselines(problem.scoring.label, cross_validated.baseline_scores)
        table = _figures_table(cross_validated, problem)
    ends = f"{curve[-1]:.4f} for the pruned ensemble, {full:.4f} for the full ensemble (dashed)"
    template = template_environment().get_template("pruning.html")
    return template.render(
        ensemble=type(ensemble.model).__name__,
        members=f"{len(order):,} of {format_count(ensemble.n_members, 'member')}",
        method=to_one_line(repr(pruner)),
        table=table,
        remarks=remarks,
        score=score,
        width=_WIDTH,
        height=_HEIGHT,
        full=f"{y_position(full):.1f}",
        points=" ".join(points),
        caption=f"{capitalise_first(score)} by number of members, on the validation set, where it "
        f"is too optimistic: {ends}.",
        kept=f"{kept}: {', '.join([*names, '…'][: len(order)])}",
    )


def _figures_table(cross_validated: PruningFigures, problem: Problem) -> HtmlTable:
    """Return a table of the most important figures: members, scores, size and time."""
    names = ("members", "coverage", "accuracy", problem.scoring.label, "megabytes", "ms for 1 row")
    figures = cross_validated.figures
    rows = []
    for name, figure in ((name, figures[name]) for name in dict.fromkeys(names) if name in figures):
        line = to_json_value(_before_after.figure_line(name, figure._replace(timings=None)))
        values = [_before_after._format_figure(name, line[key]) for key in ("before", "after")]
        label = metric_named(name).label or name
        interval = format_interval(line["low"], line["high"])
        rows.append([label, *values, _before_after._format_change(line), interval])
    headings = ["", "full ensemble", "pruned", "change", "95 % interval"]
    return HtmlTable(headings, rows, numeric=range(1, 5))
