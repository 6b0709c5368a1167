"""Time functions alternately, and write the tables of docs/benchmarks.md."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measurement: a ratio, its target, and the values behind it.

    A limit that people feel is in ``unit``, such as seconds of processor time; a ratio has no unit.
    """

    what: str
    figures: str
    ratio: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the ratio meets its target; None without a target."""
        if self.at_least is not None:
            return self.ratio is not None and self.ratio >= self.at_least
        if self.at_most is not None:
            return self.ratio is not None and self.ratio <= self.at_most
        return None

    def cells(self) -> list[str]:
        """Return the cells of the row as text."""
        unit = f" {self.unit}" if self.unit else ""
        wanted = "–"
        if self.at_least is not None:
            wanted = f"≥ {self.at_least:g}{unit}"
        elif self.at_most is not None:
            wanted = f"≤ {self.at_most:g}{unit}"
        verdict = {True: "yes", False: "**no**", None: "–"}[self.holds]
        ratio = "–" if self.ratio is None else f"{self.ratio:.3g}{unit}"
        return [self.what, ratio, wanted, verdict, self.figures]


def seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """Return the time of a call, the best of several repeats."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def side_by_side(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the best time of each call; calls alternate, so that all see the same load."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            best[name] = min(best[name], seconds(call))
    return best


def processor_time(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the least processor time of each call, which other processes hardly change."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def pretty(duration: float) -> str:
    """Return a duration as text with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if duration >= scale or unit == "µs":
            return f"{duration / scale:.3g} {unit}"
    raise AssertionError


def table(rows: Iterable[Row]) -> str:
    """Return rows as a Markdown table."""
    lines = ["| measurement | result | target | met | details |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    return "\n".join(lines)
