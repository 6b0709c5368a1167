"""Section "Score against size": scores of all methods by number of members."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from secateurs._methods import baseline_methods, short_name
from secateurs.evaluation.score_table import SizeCurve
from secateurs.measures.score_curve import score_curve
from secateurs.measures.vote_counts import count_correct
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable, capitalise_first, format_decimals
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import Array, JsonObject

_MOST_SIZES = 24  # rows of the table, about a screen
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 680, 320, 56, 12, 12, 44  # plot and its margins

_CURVE: JsonObject = {
    "label": str,
    "sizes": [int],
    "values": [float],
    "half_width": [Nullable(float)],
}
_CHOOSING: JsonObject = {"values": [float], "counts_labels": bool}
_SHAPE: JsonObject = {"whole": float, "curves": [_CURVE | {"is_nested": bool}], "shown": [int]}
_SHAPE |= {"choosing": Nullable(_CHOOSING)}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the score of the full ensemble, and of every method at every size."""
    scoring, curves = context.problem.scoring, context.evaluation.curves
    return {
        "score_size": {
            "whole": scoring.display_score(context.curve.main_score.full_value),
            "curves": [
                {
                    "label": label,
                    "sizes": curve.selection.sizes,
                    "values": [
                        scoring.display_score(value) for value in curve.main_score.values.tolist()
                    ],
                    "half_width": _finite_or_none(curve.main_score.half_width),
                    "is_nested": curve.selection.order is not None,
                }
                for label, curve in curves.items()
            ],
            "choosing": _validation_scores(context),
            "shown": _initial_curves(
                list(curves.values()), list(curves).index(context.method_name), context.keep
            ),
        }
    }


def _finite_or_none(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _initial_curves(curves: Sequence[SizeCurve], chosen: int, keep: int) -> list[int]:
    """Return the curves to show at first: the reported method, its best rival, and random."""

    def method_name(index: int) -> str | None:
        return short_name(curves[index].selection.largest_pruner)

    def score_at_keep(index: int) -> float:
        return float(curves[index].main_score.values[curves[index].selection.size_index(keep)])

    others = [
        index
        for index, curve in enumerate(curves)
        if index != chosen and curve.selection.order is not None and keep in curve.selection.sizes
    ]
    rivals = [index for index in others if method_name(index) not in baseline_methods()]
    random = [index for index in others if method_name(index) == "random"]
    return [chosen, *sorted(rivals, key=score_at_keep)[-1:], *random[:1]]


def _validation_scores(context: ReportContext) -> JsonObject | None:
    """Return the scores of the reported method on the validation set; None if unknown.

    If only labels of the validation set are known, accuracy counts labels, and other scores are
    unknown.
    """
    problem, selection = context.problem, context.curve.selection
    groups, group_weights = selection.member_groups, selection.group_weights
    if problem.is_plain_accuracy and not problem.is_regression:
        plan = context.evaluation_plan
        samples, n_right = plan.validation_samples, np.zeros(len(groups), dtype=np.int64)
        for ballots in samples.vote_blocks():
            n_right += count_correct(ballots, groups, True, weights=group_weights)[0].n_right
        differs = samples.counts_labels and not plan.scored_samples.counts_labels
        return {"values": n_right / problem.predictions.n_samples, "counts_labels": differs}
    if problem.is_soft and not problem.has_soft_predictions:
        return None
    weights = problem.ensemble.weights, problem.sample_weight
    predictions, scoring = problem.scored_predictions(), problem.scoring
    scores = score_curve(predictions, groups, scoring, *weights, group_weights)
    values = [scoring.display_score(value) for value in scores.values.tolist()]
    return {"values": values, "counts_labels": False}


def template_values(data: JsonObject) -> JsonObject:
    """Return the table, the curve for browsers without scripts, and words for the text."""
    scores, label, vote = data["score_size"], data["score"]["label"], data["ensemble"]["vote"]
    by_labels = data["rows"]["counts_labels"] or data["ensemble"]["predicts"] == "numbers"
    return {
        "table": _scores_table(data),
        "curve": curve_drawing(data),
        "score": label,
        "better": data["score"]["larger_is_better"],
        "is_barred": None in scores["curves"][data["chosen"]["course"]]["half_width"],
        "vote": "" if by_labels else f", using the sum of the members' {vote}",
        "notes": data["method_notes"] if data["leaderboard"] is None else [],
    }


def _scores_table(data: JsonObject) -> HtmlTable:
    scores, label = data["score_size"], data["score"]["label"]
    curves, validation = scores["curves"], scores["choosing"]
    chosen = curves[data["chosen"]["course"]]
    columns = [(curve["label"], curve["sizes"], curve["values"]) for curve in curves]
    if validation is not None:
        by_labels = ", counting labels" * validation["counts_labels"]
        name = f"{chosen['label']}, validation set{by_labels}"
        columns.append((name, chosen["sizes"], validation["values"]))
    rows: list[list[object]] = [
        [size, *(_score_at_size(sizes, values, size) for _, sizes, values in columns)]
        for size in table_sizes(curves, data["chosen"]["keep"])
    ]
    headings = ["members", *(name for name, _, _ in columns)]
    full = f"{scores['whole']:.4f}"
    caption = f"{capitalise_first(label)} on held-out samples. The full ensemble has {full}."
    return HtmlTable(headings, rows, caption, numeric=range(len(headings)))


def _score_at_size(sizes: Sequence[int], values: Sequence[float], size: int) -> str:
    return format_decimals(values[sizes.index(size)], 4) if size in sizes else ""


def table_sizes(curves: Sequence[JsonObject], keep: int) -> list[int]:
    """Return the sizes in the table: those of all methods, thinned evenly on a log scale."""
    sizes = sorted({size for curve in curves for size in curve["sizes"]})
    if len(sizes) <= _MOST_SIZES:
        return sizes
    ratio = (len(sizes) - 1) ** (1 / (_MOST_SIZES - 1))
    indices = {min(len(sizes) - 1, round(ratio**step) - 1) for step in range(_MOST_SIZES)}
    return sorted({sizes[index] for index in indices} | {keep, sizes[-1]})


def curve_drawing(data: JsonObject) -> JsonObject:
    """Return the coordinates of the reported method's curve: held-out samples, validation set.

    Sizes below a third of the reported size are left out, because their low scores would flatten
    the rest of the curve.
    """
    scores, keep = data["score_size"], data["chosen"]["keep"]
    main, full = scores["curves"][data["chosen"]["course"]], scores["whole"]
    shown = [index for index, size in enumerate(main["sizes"]) if size >= keep / 3] or [0]
    sizes = [main["sizes"][index] for index in shown]
    held_out = [main["values"][index] for index in shown]
    validation = []
    if scores["choosing"] is not None:
        validation = [scores["choosing"]["values"][index] for index in shown]
    low, high = min(*held_out, *validation, full), max(*held_out, *validation, full)
    ends = math.log(max(1, sizes[0])), math.log(max(2, *sizes))
    x = _linear_scale(*ends, _LEFT, _WIDTH - _RIGHT)
    y = _linear_scale(low, high, _HEIGHT - _BOTTOM, _TOP)

    def svg_points(values: Sequence[float]) -> str:
        pairs = zip(sizes, values, strict=True) if values else ()
        return " ".join(f"{x(math.log(size)):.1f},{y(value):.1f}" for size, value in pairs)

    ticks = [n * 10**power for power in range(7) for n in (1, 2, 5)]
    levels = [low + (high - low) * quarter / 4 for quarter in range(5)]
    at_keep = dict(zip(sizes, held_out, strict=True)).get(keep, full)
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "bottom": _HEIGHT - _BOTTOM,
        "label": f"{data['score']['label']} by number of members, {main['label']}",
        "full": y(full),
        "validation": svg_points(validation),
        "held_out": svg_points(held_out),
        "dot": (x(math.log(keep)), y(at_keep)),
        "x_ticks": [(x(math.log(n)), f"{n:,}") for n in ticks if sizes[0] <= n <= max(sizes)],
        "y_ticks": [(y(level), f"{level:.3f}") for level in levels],
    }


def _linear_scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low or 1.0
    return lambda value: start + (end - start) * (value - low) / span


SECTION = ReportSection(
    *("score-size", "{Score} against size", {"score_size": _SHAPE}, collect_data, template_values),
    is_drawn=True,
    predicts=None,
)
