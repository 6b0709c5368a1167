"""Score against size: every method at every size, on held-out rows."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from secateurs._methods import baseline_methods, short_name
from secateurs.evaluation.score_curve import score_curve
from secateurs.evaluation.size_curves import SizeCurve, count_correct
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable, capitalise_first, format_decimals
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection
from secateurs.typing import Array

_MOST_SIZES = 24  # rows of the table
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 680, 320, 56, 12, 12, 44  # of the drawing

_CURVE: JsonObject = {
    "label": str,
    "sizes": [int],
    "values": [float],
    "half_width": [Nullable(float)],
}
_CHOOSING: JsonObject = {"values": [float], "counts_labels": bool}
_SHAPE: JsonObject = {"whole": float, "curves": [_CURVE | {"is_nested": bool}], "shown": [int]}
_SHAPE |= {"choosing": Nullable(_CHOOSING)}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the score of all members, and of every method at every size, as people know it."""
    scoring, curves = subject.problem.scoring, subject.evaluation.curves
    return {
        "score_size": {
            "whole": scoring.display_score(subject.curve.main_score.full_value),
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
            "choosing": _validation_scores(subject),
            "shown": _initial_curves(
                list(curves.values()), list(curves).index(subject.method_name), subject.keep
            ),
        }
    }


def _finite_or_none(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _initial_curves(curves: Sequence[SizeCurve], chosen: int, keep: int) -> list[int]:
    """Return the lines to draw at first: the choice, its closest rival, and random members."""

    def method_name(place: int) -> str | None:
        return short_name(curves[place].selection.largest_pruner)

    def score_at_keep(place: int) -> float:
        return float(curves[place].main_score.values[curves[place].selection.size_index(keep)])

    others = [
        place
        for place, curve in enumerate(curves)
        if place != chosen and curve.selection.order is not None and keep in curve.selection.sizes
    ]
    rivals = [place for place in others if method_name(place) not in baseline_methods()]
    random = [place for place in others if method_name(place) == "random"]
    return [chosen, *sorted(rivals, key=score_at_keep)[-1:], *random[:1]]


def _validation_scores(subject: ReportContext) -> JsonObject | None:
    """Return the chosen method's score on the rows chosen on, by the same vote where it is known.

    Where only labels are known of them, labels are counted; another score is not known then.
    """
    problem, selection = subject.problem, subject.curve.selection
    groups, inside = selection.member_groups, selection.group_weights
    if problem.is_plain_accuracy and not problem.is_regression:
        rows, right = (
            subject.evaluation_plan.validation_samples,
            np.zeros(len(groups), dtype=np.int64),
        )
        for ballots in rows.vote_blocks():
            right += count_correct(ballots, groups, True, weights=inside)[0].n_right
        differs = rows.counts_labels and not subject.evaluation_plan.scored_samples.counts_labels
        return {"values": right / problem.predictions.n_samples, "counts_labels": differs}
    if problem.is_soft and not problem.has_soft_predictions:
        return None
    weights = problem.ensemble.weights, problem.sample_weight
    outputs, scoring = problem.scored_predictions(), problem.scoring
    found = score_curve(outputs, groups, scoring, *weights, group_weights=inside)
    values = [scoring.display_score(value) for value in found.values.tolist()]
    return {"values": values, "counts_labels": False}


def template_values(data: JsonObject) -> JsonObject:
    """Return the table, the curve for browsers that run no scripts, and words."""
    own, label, vote = data["score_size"], data["score"]["label"], data["ensemble"]["vote"]
    by_labels = data["rows"]["counts_labels"] or data["ensemble"]["predicts"] == "numbers"
    return {
        "table": _scores_table(data),
        "curve": curve_drawing(data),
        "score": label,
        "better": data["score"]["larger_is_better"],
        "is_barred": None in own["curves"][data["chosen"]["course"]]["half_width"],
        "vote": "" if by_labels else f", adding up {vote}",
        "notes": data["method_notes"] if data["leaderboard"] is None else [],
    }


def _scores_table(data: JsonObject) -> HtmlTable:
    own, label = data["score_size"], data["score"]["label"]
    curves, choosing = own["curves"], own["choosing"]
    chosen = curves[data["chosen"]["course"]]
    columns = [(curve["label"], curve["sizes"], curve["values"]) for curve in curves]
    if choosing is not None:
        name = f"{chosen['label']}, rows chosen on{', by labels' * choosing['counts_labels']}"
        columns.append((name, chosen["sizes"], choosing["values"]))
    rows: list[list[Any]] = [
        [size, *(_score_at_size(sizes, values, size) for _, sizes, values in columns)]
        for size in table_sizes(curves, data["chosen"]["keep"])
    ]
    headings = ["members", *(name for name, _, _ in columns)]
    whole = f"{own['whole']:.4f}"
    caption = f"{capitalise_first(label)} on held-out rows; with all members {whole}."
    return HtmlTable(headings, rows, caption, numeric=range(len(headings)))


def _score_at_size(sizes: Sequence[int], values: Sequence[float], size: int) -> str:
    return format_decimals(values[sizes.index(size)], 4) if size in sizes else ""


def table_sizes(curves: Sequence[JsonObject], keep: int) -> list[int]:
    """Return sizes for the table: those of all methods, thinned out evenly on a log scale."""
    sizes = sorted({size for curve in curves for size in curve["sizes"]})
    if len(sizes) <= _MOST_SIZES:
        return sizes
    ratio = (len(sizes) - 1) ** (1 / (_MOST_SIZES - 1))
    places = {min(len(sizes) - 1, round(ratio**step) - 1) for step in range(_MOST_SIZES)}
    return sorted({sizes[place] for place in places} | {keep, sizes[-1]})


def curve_drawing(data: JsonObject) -> JsonObject:
    """Return where to draw the method that pruned: held-out rows, and rows chosen on.

    Sizes below a third of the one kept are left out: their low scores would flatten the rest.
    """
    own, keep = data["score_size"], data["chosen"]["keep"]
    main, whole = own["curves"][data["chosen"]["course"]], own["whole"]
    drawn = [place for place, size in enumerate(main["sizes"]) if size >= keep / 3] or [0]
    sizes = [main["sizes"][place] for place in drawn]
    held_out = [main["values"][place] for place in drawn]
    choosing = [] if own["choosing"] is None else [own["choosing"]["values"][p] for p in drawn]
    low, high = min(*held_out, *choosing, whole), max(*held_out, *choosing, whole)
    ends = math.log(max(1, sizes[0])), math.log(max(2, *sizes))
    x = _linear_scale(*ends, _LEFT, _WIDTH - _RIGHT)
    y = _linear_scale(low, high, _HEIGHT - _BOTTOM, _TOP)

    def svg_points(values: Sequence[float]) -> str:
        pairs = zip(sizes, values, strict=True) if values else ()
        return " ".join(f"{x(math.log(size)):.1f},{y(value):.1f}" for size, value in pairs)

    ticks = [n * 10**power for power in range(7) for n in (1, 2, 5)]
    levels = [low + (high - low) * part / 4 for part in range(5)]
    at_keep = dict(zip(sizes, held_out, strict=True)).get(keep, whole)
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "bottom": _HEIGHT - _BOTTOM,
        "label": f"{data['score']['label']} by members kept, {main['label']}",
        "whole": y(whole),
        "choosing": svg_points(choosing),
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
