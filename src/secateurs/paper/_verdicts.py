"""Verdicts on claims, and the rule that claims over many settings share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"
ALPHA = 0.05
_MIN_SETTINGS = 3


@dataclass(frozen=True)
class Finding:
    """What a judge found: the verdict, the numbers in words, and the numbers."""

    verdict: str
    told: str
    numbers: dict[str, Any]


def weigh(n_settings: int, n_for: int, n_against: int, noun: str = "settings") -> Finding:
    """Weigh settings that speak for and against a claim by the common rule."""
    numbers = {"settings": n_settings, "for": n_for, "against": n_against}
    if not n_settings:
        return Finding(UNKNOWN, "It was not measured.", numbers)
    told = f"{n_for} of {n_settings} {noun} speak for it, {n_against} against it."
    if n_settings < _MIN_SETTINGS:
        return Finding(UNKNOWN, f"{told} That is too few.", numbers)
    if n_for >= 0.75 * n_settings:
        return Finding(HOLDS, told, numbers)
    return Finding(FAILS if n_against > 0.25 * n_settings else UNKNOWN, told, numbers)


def listed(names: Sequence[str]) -> str:
    """Name several things, or none."""
    return ", ".join(names) if names else "none"


def plain(series: "pd.Series") -> dict[str, float]:
    """Give a series as plain values."""
    return {str(name): float(value) for name, value in series.items()}


def signed(value: float) -> str:
    """Write a difference with its sign."""
    return f"{value:+.2f}".replace("-", "−")
