"""Accuracy against size: every method at every size, on held-out rows."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from secateurs._methods import short_name
from secateurs.evaluation._alternatives import is_live, weight_grid, weight_of
from secateurs.evaluation._curves import SizeCurve
from secateurs.evaluation._diagnostics import right_by_size
from secateurs.outputs._votes import Votes
from secateurs.pruners import COMEP, BasePruner
from secateurs.pruners._parameters import is_number
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_MOST_SIZES = 24  # rows of the table
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 680, 320, 56, 12, 12, 44  # of the drawing

_WHOLE = dict.fromkeys(("choosing", "held_out", "held_out_labels", "n_rows"), int)
_COURSE: Plain = {"label": str, "method": Maybe(str), "weight": Maybe(float), "live": bool}
_COURSE |= {"sizes": [int], "order": Maybe([int]), "sets": Maybe([[int]]), "choosing": [int]}
_COURSE |= {"held_out": {"right": [int], "lost": [int], "won": [int]}, "held_out_labels": [int]}
_SHAPE = {"whole": _WHOLE, "courses": [_COURSE]}


def facts(subject: Subject) -> Plain:
    """Return how all members do, and every method at every size."""
    own, labels = subject.curve.own, subject.curve.labels
    return {
        "whole": {
            "choosing": int(subject.votes.is_right().sum()),
            "held_out": own.whole,
            "held_out_labels": labels.whole,
            "n_rows": own.n_rows,
        },
        "courses": [
            _course(label, one, subject.votes, subject.live)
            for label, one in subject.evaluation.curves.items()
        ],
    }


def _course(label: str, curve: SizeCurve, choosing: Votes, live: COMEP | None) -> Plain:
    """Return what a method chooses at each size, and how that does."""
    chosen, pruner, own = curve.selection, curve.selection.pruner, curve.own
    return {
        "label": label,
        "method": short_name(pruner),
        "weight": diversity_weight(pruner),
        "sizes": chosen.sizes.tolist(),
        "order": chosen.order,
        "sets": None if chosen.order is not None else chosen.groups,
        "choosing": right_by_size(choosing, chosen.groups, chosen.group_weights).tolist(),
        "held_out": {name: getattr(own, name).tolist() for name in ("right", "lost", "won")},
        "held_out_labels": curve.labels.right.tolist(),
        "live": live is not None and _is_followed(pruner, live),
    }


def diversity_weight(pruner: BasePruner) -> float | None:
    """Return a method's parameter λ; None without one, or if it is not a number."""
    weight: Any = getattr(pruner, "diversity_weight", None)
    return float(weight) if is_number(weight) else None


def _is_followed(pruner: BasePruner, live: COMEP) -> bool:
    """Return whether a method is the COMEP that the page runs, up to a weight of the grid."""
    if not (isinstance(pruner, COMEP) and is_live(pruner) and pruner.start == live.start):
        return False
    chance = pruner.random_state == live.random_state or live.start != "random"
    return chance and weight_of(pruner) in weight_grid(weight_of(live))


def view(data: Plain) -> Plain:
    """Return the table, and the curve for browsers that run no scripts."""
    return {"table": _table(data), "curve": curve(data)}


def _table(data: Plain) -> Table:
    courses, n_rows = data["courses"], data["whole"]["n_rows"]
    chosen = courses[data["chosen"]["course"]]
    headings = ["members", f"{chosen['label']}, rows chosen on"]
    headings += [course["label"] for course in courses]
    rows = [
        [size, _part(chosen, chosen["choosing"], size, data["rows"]["choosing"])]
        + [_part(course, course["held_out"]["right"], size, n_rows) for course in courses]
        for size in some_sizes(courses, data["chosen"]["keep"])
    ]
    caption = "Share of held-out rows that the vote gets right."
    return Table(headings, rows, caption, numeric=range(len(headings)))


def _part(course: Plain, counts: Sequence[int], size: int, n_rows: int) -> float | str:
    sizes = course["sizes"]
    return counts[sizes.index(size)] / n_rows if size in sizes else ""


def some_sizes(courses: Sequence[Plain], keep: int) -> list[int]:
    """Return sizes for the table: those of all methods, thinned out evenly on a log scale."""
    sizes = sorted({size for course in courses for size in course["sizes"]})
    if len(sizes) <= _MOST_SIZES:
        return sizes
    ratio = (len(sizes) - 1) ** (1 / (_MOST_SIZES - 1))
    places = {min(len(sizes) - 1, round(ratio**step) - 1) for step in range(_MOST_SIZES)}
    return sorted({sizes[place] for place in places} | {keep, sizes[-1]})


def curve(data: Plain) -> Plain:
    """Return where to draw the method that pruned: rows chosen on, and held-out rows."""
    course, keep = data["courses"][data["chosen"]["course"]], data["chosen"]["keep"]
    sizes, n_rows = course["sizes"], data["whole"]["n_rows"]
    held_out = [count / n_rows for count in course["held_out"]["right"]]
    choosing = [count / data["rows"]["choosing"] for count in course["choosing"]]
    whole = data["whole"]["held_out"] / n_rows
    low, high = min(*held_out, *choosing, whole), max(*held_out, *choosing, whole)
    x = _scale(0, math.log(max(2, *sizes)), _LEFT, _WIDTH - _RIGHT)
    y = _scale(low, high, _HEIGHT - _BOTTOM, _TOP)

    def points(values: Sequence[float]) -> str:
        pairs = zip(sizes, values, strict=True)
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
        "label": f"Accuracy by members kept, {course['label']}",
        "whole": y(whole),
        "choosing": points(choosing),
        "held_out": points(held_out),
        "dot": (x(math.log(keep)), y(at_keep)),
        "x_ticks": [(x(math.log(n)), f"{n:,}") for n in ticks if n <= max(sizes)],
        "y_ticks": [(y(level), f"{level:.3f}") for level in levels],
    }


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low or 1.0
    return lambda value: start + (end - start) * (value - low) / span


SECTION = Section("accuracy-size", "Accuracy against size", _SHAPE, facts, view, is_drawn=True)
