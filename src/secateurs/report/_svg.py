"""The main curve as a drawing, for readers whose browser runs no scripts."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 680, 320, 56, 12, 12, 44

Plain = dict[str, Any]
Points = Sequence[tuple[float, float]]


def curve(data: Plain) -> str:
    """Draw accuracy by size of the method that pruned: rows chosen on and rows held out."""
    course = data["courses"][data["chosen"]["course"]]
    n_rows, n_choosing = data["whole"]["n_rows"], data["rows"]["choosing"]
    sizes, keep = course["sizes"], data["chosen"]["keep"]
    held_out = [
        (size, n / n_rows) for size, n in zip(sizes, course["held_out"]["right"], strict=True)
    ]
    choosing = [(size, n / n_choosing) for size, n in zip(sizes, course["choosing"], strict=True)]
    whole = data["whole"]["held_out"] / n_rows
    values = [value for _, value in held_out + choosing] + [whole]
    low, high = min(values), max(values)
    x = _scale(0, math.log(max(2, *sizes)), _LEFT, _WIDTH - _RIGHT)
    y = _scale(low, high, _HEIGHT - _BOTTOM, _TOP)

    def path(points: Points) -> str:
        return " ".join(f"{x(math.log(size)):.1f},{y(value):.1f}" for size, value in points)

    at_keep = dict(held_out).get(keep, whole)
    label = f"Accuracy by members kept, {course['label']}"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{_y_axis(y, low, high)}{_x_axis(x, max(sizes))}"
        f'<line class="level" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(whole):.1f}" '
        f'y2="{y(whole):.1f}"/>'
        f'<polyline class="line c0 dashed" points="{path(choosing)}"/>'
        f'<polyline class="line c0" points="{path(held_out)}"/>'
        f'<circle class="dot c0" r="5" cx="{x(math.log(keep)):.1f}" cy="{y(at_keep):.1f}"/>'
        "</svg>"
    )


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def _y_axis(y: Callable[[float], float], low: float, high: float) -> str:
    ticks = [low + (high - low) * part / 4 for part in range(5)]
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" '
        f'y2="{y(tick):.1f}"/><text class="tick end" x="{_LEFT - 8}" y="{y(tick) + 4:.1f}">'
        f"{tick:.3f}</text>"
        for tick in ticks
    )


def _x_axis(x: Callable[[float], float], largest: int) -> str:
    ticks = [n * 10**power for power in range(7) for n in (1, 2, 5) if n * 10**power <= largest]
    marks = "".join(
        f'<text class="tick middle" x="{x(math.log(tick)):.1f}" y="{_HEIGHT - _BOTTOM + 20}">'
        f"{tick:,}</text>"
        for tick in ticks
    )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return f'{marks}<text class="axis middle" x="{middle}" y="{_HEIGHT - 4}">members kept</text>'
