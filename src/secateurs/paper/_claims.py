"""What the paper's claims share: verdicts, and the rule of claims over many settings.

Each claim stands in the file of the table or figure that it rests on. The docstring of its judge is
its rule, written before any result was seen, and is printed with the verdict. Claims over many
settings share a rule: a setting speaks for the claim, against it, or for neither; the claim holds
if three quarters of at least three settings speak for it, does not hold if more than a quarter
speak against it, and cannot be told otherwise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"
ALPHA = 0.05
_MIN_SETTINGS = 3


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and its verdict.

    Attributes
    ----------
    name, claim : str
        Short name, and the claim in a sentence.
    verdict : {"holds", "does not hold", "cannot be told"}
        By the rule.
    told : str
        The numbers behind it, in words.
    rule : str
        How the verdict follows from the numbers.
    numbers : dict
        Plain values.
    """

    name: str
    claim: str
    verdict: str
    told: str
    rule: str
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """What a judge found: the verdict, the numbers in words, and the numbers."""

    verdict: str
    told: str
    numbers: dict[str, Any]

    def adding(self, told: str, **numbers: Any) -> Finding:
        """Return the finding with more words and numbers."""
        return Finding(self.verdict, f"{self.told} {told}".rstrip(), self.numbers | numbers)


Judge = Callable[[Any], Claim]


def claim(name: str, text: str) -> Callable[[Callable[[Any], Finding]], Judge]:
    """Turn a function from evidence to `Finding` into the judge of a claim."""

    def decorate(find: Callable[[Any], Finding]) -> Judge:
        rule = " ".join((inspect.getdoc(find) or "").split())

        @wraps(find)
        def judge(evidence: Any) -> Claim:
            return Claim(name, text, rule=rule, **vars(find(evidence)))

        return judge

    return decorate


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
