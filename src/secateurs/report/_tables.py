"""The tables of a report: every figure has one."""

from collections.abc import Sequence
from html import escape
from typing import Any

from secateurs._text import NOTHING, signed
from secateurs.report._html import table

_MOST_SIZES = 24  # lines of the table behind a curve
_MOST_FRONT = 40
_LABELS = {"megabytes": "MB as pickle"}  # short ones, for small screens
_LABELS |= {f"megabytes as {suffix}": f"MB as {suffix}" for suffix in (".skops", ".onnx")}

Plain = dict[str, Any]


def leaderboard_table(lines: Sequence[Plain]) -> str:
    """Draw a leaderboard."""
    headings = ["method", "members", "accuracy", "change", "95 % interval"]
    headings += ["megabytes", "ms a row", "seconds to choose", "Pareto"]
    rows = [
        [
            line["method"],
            line["members"],
            f"{line['accuracy']:.4f} ± {line['standard_error']:.4f}",
            signed(line["change"]),
            interval(line["low"], line["high"]),
            megabytes(line["bytes"]),
            decimals(line["ms"], 2),
            decimals(line["seconds"], 3),
            "●" if line["pareto"] else "",
        ]
        for line in lines
    ]
    caption = "Most accurate first. ● nothing is at least as accurate and cheaper."
    return table(headings, rows, caption=caption, numeric=range(1, 8))


def notes_list(notes: Sequence[str]) -> str:
    """Draw notes as a list."""
    return f"<ul class='note'>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"


def before_after_table(lines: Sequence[Plain]) -> str:
    """Draw the figures of all and of the kept members."""
    rows: list[list[str]] = []
    for line in lines:
        name: str = line["figure"]
        figures = [_figure(name, line[column]) for column in ("before", "after")]
        label = _LABELS.get(name, name)
        rows.append([label, *figures, _change(line), interval(line["low"], line["high"])])
        if line["timings"] is not None:
            rows.append(_spread_of_timings(line["timings"]))
    headings = ["", "all members", "kept", "change", "95 % interval"]
    return table(headings, rows, numeric=range(1, 5))


def curve_table(data: Plain) -> str:
    """Draw accuracy by size: one column a method."""
    courses, n_rows = data["courses"], data["whole"]["n_rows"]
    chosen = courses[data["chosen"]["course"]]
    sizes = _some_sizes(courses, data["chosen"]["keep"])
    headings = ["members", f"{chosen['label']}, rows chosen on"]
    headings += [course["label"] for course in courses]
    rows = []
    for size in sizes:
        row = [size, share(_at(chosen, "choosing", size), data["rows"]["choosing"])]
        rows.append(row + [share(_right_at(course, size), n_rows) for course in courses])
    caption = "Share of rows held out that the vote gets right."
    return table(headings, rows, caption=caption, numeric=range(len(headings)))


def kappa_error_table(data: Plain) -> str:
    """Draw the pairs that no other pair beats, and the means."""
    facts, names = data["kappa_error"], data["ensemble"]["names"]
    rows = [
        [label, *(f"{value:.4f}" for value in mean)]
        for label, mean in (("mean of all pairs", facts["mean"]), ("kept", facts["mean_kept"]))
        if mean is not None
    ]
    pairs = list(zip(facts["front_pairs"], facts["front"], strict=True))[:_MOST_FRONT]
    for (first, second), (kappa, error) in pairs:
        rows.append([f"{names[first]} and {names[second]}", f"{kappa:.4f}", f"{error:.4f}"])
    caption = "Means, and the pairs that no other is both less alike and better than."
    return table(["pair", "κ", "mean error"], rows, caption=caption, numeric=(1, 2))


def distance_table(data: Plain) -> str:
    """Draw how far members are from the others, in the order of the heatmap."""
    facts, names = data["distances"], data["ensemble"]["names"]
    kept = set(data["chosen"]["members"])
    rows = []
    for place in facts["order"]:
        member = facts["members"][place]
        near = facts["nearest"][place]
        mark = "●" if member in kept else ""
        figures = [f"{facts['mean'][place]:.4f}", names[near], f"{facts['to_nearest'][place]:.4f}"]
        rows.append([names[member], mark, *figures])
    headings = ["member", "kept", "mean distance", "nearest", "distance to it"]
    return table(headings, rows, caption="Normalised variation of information.", numeric=(2, 4))


def step_table(data: Plain) -> str:
    """Draw the choice step by step."""
    names = data["ensemble"]["names"]
    rows = [
        [
            number,
            names[step["member"]],
            decimals(step["score"], 4),
            decimals(step["accuracy"], 4),
            decimals(step["alone"], 4),
            decimals(step["distance"], 4),
        ]
        for number, step in enumerate(data["steps"], 1)
    ]
    headings = ["step", "member", "score of the method", "accuracy of the vote after it"]
    headings += ["accuracy alone", "mean distance to those before"]
    caption = "On the rows chosen on, counting labels."
    return table(headings, rows, caption=caption, numeric=(0, 2, 3, 4, 5))


def weight_table(data: Plain) -> str:
    """Draw accuracy and overlap by weight of diversity."""
    facts = data["weights"]
    columns = (facts["grid"], facts["accuracy"], facts["half_width"], facts["overlap"])
    rows = [
        [f"{weight:g}", f"{accuracy:.4f} ± {half:.4f}", f"{overlap:.2f}"]
        for weight, accuracy, half, overlap in zip(*columns, strict=True)
    ]
    headings = ["λ", "accuracy, ± half the 95 % interval of the change", "overlap with the kept"]
    return table(headings, rows, numeric=(0, 1, 2))


def interval(low: float | None, high: float | None) -> str:
    """Write an interval; nothing where there is none, or no width to speak of."""
    if low is None or high is None or low == high == 0:
        return ""
    return f"{signed(low)} to {signed(high)}"


def decimals(value: float | None, places: int) -> str:
    """Write a number with so many decimals."""
    return NOTHING if value is None else f"{value:,.{places}f}"


def megabytes(n_bytes: float | None) -> str:
    """Write bytes in millions."""
    return NOTHING if n_bytes is None else f"{n_bytes / 1e6:,.3f}"


def share(count: int | None, n_rows: int) -> str:
    """Write a count as a share of rows; nothing where there is none."""
    return "" if count is None else f"{count / n_rows:.4f}"


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return NOTHING
    if name == "members":
        return f"{value:,.0f}"
    return f"{value:,.3f}" if name.startswith(("ms", "megabytes")) else f"{value:.4f}"


def _spread_of_timings(timings: Plain) -> list[str]:
    spread = []
    for column in ("before", "after"):
        low, high = timings[column]["low"], timings[column]["high"]
        places = 3 if high < 1 else 2 if high < 100 else 1
        spread.append(f"{decimals(low, places)}–{decimals(high, places)}")
    return [f"5–95 % of {len(timings['before']['all']):,} timings", *spread, "", ""]


def _change(line: Plain) -> str:
    before, after, change = line["before"], line["after"], line["change"]
    if change is None:
        return NOTHING
    if line["figure"].startswith(("members", "megabytes")):
        return f"{signed(100 * change / before, 0)} %" if before else NOTHING
    if line["figure"].startswith("ms"):
        return f"{before / after:.1f}× faster" if after and before >= after else signed(change, 3)
    return signed(change)


def _some_sizes(courses: Sequence[Plain], keep: int) -> list[int]:
    """Take sizes for a table: those of all courses, thinned out evenly on a log scale."""
    sizes = sorted({size for course in courses for size in course["sizes"]})
    if len(sizes) <= _MOST_SIZES:
        return sizes
    ratio = (len(sizes) - 1) ** (1 / (_MOST_SIZES - 1))
    places = {min(len(sizes) - 1, round(ratio**step) - 1) for step in range(_MOST_SIZES)}
    return sorted({sizes[place] for place in places} | {keep, sizes[-1]})


def _at(course: Plain, name: str, size: int) -> int | None:
    return course[name][course["sizes"].index(size)] if size in course["sizes"] else None


def _right_at(course: Plain, size: int) -> int | None:
    sizes = course["sizes"]
    return course["held_out"]["right"][sizes.index(size)] if size in sizes else None
