"""Section "Weight of diversity": score and selection of COMEP for each weight λ."""

from secateurs.objectives import TDAS
from secateurs.report._schema import PACKED_ARRAY_SHAPE, Nullable, pack_array
from secateurs.report.diversity_weights import diversity_weight_curve
from secateurs.report.html_templates import HtmlTable, format_with_error
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import JsonObject

_SHAPE: JsonObject = {"grid": [float], "starts": [int], "relevance": PACKED_ARRAY_SHAPE}
_SHAPE |= {"sizes": [int], "held_out": [[int]], "held_out_labels": [[int]]}
_SHAPE |= {"values": Nullable([[float]])}
_SHAPE |= {"at_keep": [float], "half_width": [Nullable(float)], "overlap": [float]}


def collect_data(context: ReportContext) -> JsonObject:
    """Return the results of COMEP for all weights, unless there are too many members."""
    if context.live_comep is None:
        return {"weights": None}
    sweep = diversity_weight_curve(
        context.evaluation_plan, context.live_comep, context.kept_members, context.keep
    )
    scoring, selection = context.problem.scoring, sweep.curves[0].selection
    index = selection.size_index(context.keep)
    values = [
        [scoring.display_score(value) for value in curve.main_score.values.tolist()]
        for curve in sweep.curves
    ]
    return {
        "weights": {
            "grid": sweep.weights,
            "starts": [curve.selection.members_at(1)[0] for curve in sweep.curves],
            "relevance": pack_array(TDAS(context.predictions, 0.0).relevance),
            "sizes": selection.sizes,
            "held_out": [curve.by_own_vote.n_right.tolist() for curve in sweep.curves],
            "held_out_labels": [curve.by_labels.n_right.tolist() for curve in sweep.curves],
            "values": None if context.problem.is_plain_accuracy else values,
            "at_keep": [line[index] for line in values],
            "half_width": [curve.main_score.half_width[index] for curve in sweep.curves],
            "overlap": sweep.overlap,
        }
    }


def template_values(data: JsonObject) -> HtmlTable | None:
    """Return a table of score and overlap by weight; None if there were too many members."""
    sweep = data["weights"]
    if sweep is None:
        return None
    score, columns = data["score"]["label"], ("grid", "at_keep", "half_width", "overlap")
    rows = [
        [f"{weight:g}", format_with_error(value, half), f"{overlap:.2f}"]
        for weight, value, half, overlap in zip(*(sweep[name] for name in columns), strict=True)
    ]
    headings = ["λ", f"{score}, ± half the 95 % interval of the change"]
    headings.append("overlap with the kept members")
    return HtmlTable(headings, rows, numeric=(0, 1, 2))


SECTION = ReportSection(
    "weights",
    "Weight of diversity",
    {"weights": Nullable(_SHAPE)},
    collect_data,
    template_values,
    is_drawn=True,
)
