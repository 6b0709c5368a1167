"""Weight of diversity: what COMEP chooses at every λ."""

from secateurs.evaluation.alternatives import diversity_weight_curve
from secateurs.objectives import TDAS
from secateurs.report import _base64
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable, format_with_error
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection

_SHAPE: JsonObject = {"grid": [float], "starts": [int], "relevance": _base64.PACKED_ARRAY_SHAPE}
_SHAPE |= {"sizes": [int], "held_out": [[int]], "held_out_labels": [[int]]}
_SHAPE |= {"values": Nullable([[float]])}
_SHAPE |= {"at_keep": [float], "half_width": [Nullable(float)], "overlap": [float]}


def collect_data(subject: ReportContext) -> JsonObject:
    """Return COMEP at all weights of diversity, unless there are too many members."""
    if subject.live_comep is None:
        return {"weights": None}
    found = diversity_weight_curve(
        subject.evaluation_plan, subject.live_comep, subject.kept_members, subject.keep
    )
    scoring, selection = subject.problem.scoring, found.curves[0].selection
    place = selection.size_index(subject.keep)
    values = [
        [scoring.display_score(value) for value in curve.main_score.values.tolist()]
        for curve in found.curves
    ]
    return {
        "weights": {
            "grid": found.weights,
            "starts": [curve.selection.members_at(1)[0] for curve in found.curves],
            "relevance": _base64.pack_array(TDAS(subject.predictions, 0.0).relevance),
            "sizes": selection.sizes,
            "held_out": [curve.by_own_vote.n_right.tolist() for curve in found.curves],
            "held_out_labels": [curve.by_labels.n_right.tolist() for curve in found.curves],
            "values": None if subject.problem.is_plain_accuracy else values,
            "at_keep": [line[place] for line in values],
            "half_width": [curve.main_score.half_width[place] for curve in found.curves],
            "overlap": found.overlap,
        }
    }


def template_values(data: JsonObject) -> HtmlTable | None:
    """Return score and overlap by weight; None if there were too many members."""
    own = data["weights"]
    if own is None:
        return None
    score, columns = data["score"]["label"], ("grid", "at_keep", "half_width", "overlap")
    rows = [
        [f"{weight:g}", format_with_error(value, half), f"{overlap:.2f}"]
        for weight, value, half, overlap in zip(*(own[name] for name in columns), strict=True)
    ]
    headings = ["λ", f"{score}, ± half the 95 % interval of the change", "overlap with the kept"]
    return HtmlTable(headings, rows, numeric=(0, 1, 2))


SECTION = ReportSection(
    "weights",
    "Weight of diversity",
    {"weights": Nullable(_SHAPE)},
    collect_data,
    template_values,
    is_drawn=True,
)
