"""What the data of a report must look like, before a page is made of a stranger's file."""

import math
from collections.abc import Mapping
from typing import Any

from secateurs.exceptions import InputError

TEXT, WHOLE, NUMBER, FLAG = "text", "a whole number", "a number", "true or false"


class Maybe:
    """Something, or null."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec


class Each:
    """An object with any names, and something under each."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec


_PACKED = {"bits": WHOLE, "shape": [WHOLE], "deflated": FLAG, "base64": TEXT}
_LABELS = {"n_rows": WHOLE, "n_all": WHOLE, "truth": [WHOLE], "votes": _PACKED}
_TIMINGS = {"low": NUMBER, "high": NUMBER, "all": [NUMBER]}
_LOSSES = {"rows": [WHOLE], "lost": [WHOLE], "won": [WHOLE]}
_LINE = {
    "figure": TEXT,
    "before": Maybe(NUMBER),
    "after": Maybe(NUMBER),
    "change": Maybe(NUMBER),
    "low": Maybe(NUMBER),
    "high": Maybe(NUMBER),
    "timings": Maybe({"before": _TIMINGS, "after": _TIMINGS}),
}
_COURSE = {
    "label": TEXT,
    "method": Maybe(TEXT),
    "weight": Maybe(NUMBER),
    "live": FLAG,
    "sizes": [WHOLE],
    "order": Maybe([WHOLE]),
    "sets": Maybe([[WHOLE]]),
    "choosing": [WHOLE],
    "held_out": {"right": [WHOLE], "lost": [WHOLE], "won": [WHOLE]},
    "held_out_labels": [WHOLE],
}
_WEIGHTS = {
    "grid": [NUMBER],
    "starts": [WHOLE],
    "relevance": _PACKED,
    "held_out": [[WHOLE]],
    "held_out_labels": [[WHOLE]],
    "accuracy": [NUMBER],
    "half_width": [NUMBER],
    "overlap": [NUMBER],
}
_BOARD_LINE = {
    "method": TEXT,
    "keep": WHOLE,
    "members": WHOLE,
    "accuracy": NUMBER,
    "standard_error": NUMBER,
    "change": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "bytes": Maybe(NUMBER),
    "ms": Maybe(NUMBER),
    "seconds": NUMBER,
    "pareto": FLAG,
}
RUN = {
    "schema": TEXT,
    "made": {"when": TEXT, "versions": Each(TEXT), "machine": TEXT},
    "ensemble": {
        "name": TEXT,
        "n_members": WHOLE,
        "names": [TEXT],
        "classes": [TEXT],
        "vote": TEXT,
    },
    "rows": {
        "choosing": WHOLE,
        "choosing_sha256": TEXT,
        "testing": Maybe(WHOLE),
        "testing_sha256": Maybe(TEXT),
        "n_folds": WHOLE,
        "out_of_bag": FLAG,
        "counts_labels": FLAG,
    },
    "chosen": {"course": WHOLE, "keep": WHOLE, "members": [WHOLE], "parameters": Each(None)},
    "verdict": TEXT,
    "safety": TEXT,
    "before_after": [_LINE],
    "whole": {"choosing": WHOLE, "held_out": WHOLE, "held_out_labels": WHOLE, "n_rows": WHOLE},
    "courses": [_COURSE],
    "weights": Maybe(_WEIGHTS),
    "kappa_error": {
        "n_pairs": WHOLE,
        "kept": [[NUMBER]],
        "others": [[NUMBER]],
        "front": [[NUMBER]],
        "front_pairs": [[WHOLE]],
        "mean": Maybe([NUMBER]),
        "mean_kept": Maybe([NUMBER]),
    },
    "distances": {
        "members": [WHOLE],
        "complete": FLAG,
        "order": [WHOLE],
        "low": NUMBER,
        "high": NUMBER,
        "mean": [NUMBER],
        "nearest": [WHOLE],
        "to_nearest": [NUMBER],
        "triangle": _PACKED,
    },
    "steps": [
        {
            "member": WHOLE,
            "score": Maybe(NUMBER),
            "accuracy": NUMBER,
            "alone": NUMBER,
            "distance": Maybe(NUMBER),
        }
    ],
    "confusion": {
        "classes": [WHOLE],
        "n_classes": WHOLE,
        "whole": [[WHOLE]],
        "kept": [[WHOLE]],
        "rows": [WHOLE],
        "labels": [TEXT],
    },
    "losses": {"by_class": _LOSSES, "by_share": _LOSSES, "shares": [NUMBER], "labels": [TEXT]},
    "costs": {
        "bytes": Maybe({"base": NUMBER, "each": [NUMBER]}),
        "ms": Maybe([[NUMBER]]),
    },
    "choosing": _LABELS,
    "testing": Maybe(_LABELS),
    "notes": [TEXT],
    "leaderboard": Maybe([_BOARD_LINE]),
    "reproduce": {"command": TEXT, "shell": Maybe(TEXT), "python": TEXT, "seed": Maybe(None)},
}


def check(value: Any, spec: Any = RUN, path: str = "") -> None:
    """Refuse values that are not as described, and say where.

    Examples
    --------
    >>> from secateurs.report._schema import NUMBER, check
    >>> check({"low": 1, "high": "2"}, {"low": NUMBER, "high": NUMBER})
    Traceback (most recent call last):
    secateurs.exceptions.InputError: has '2' at high, where a number belongs.
    """
    if isinstance(spec, Maybe):
        if value is not None:
            check(value, spec.spec, path)
    elif isinstance(spec, list):
        _refuse_unless(isinstance(value, list), value, "a list", path)
        for place, one in enumerate(value):
            check(one, spec[0], f"{path}[{place}]")
    elif isinstance(spec, (dict, Each)):
        _refuse_unless(isinstance(value, dict), value, "an object", path)
        wanted = spec if isinstance(spec, dict) else dict.fromkeys(value, spec.spec)
        _check_fields(value, wanted, path)
    elif spec is not None:
        _refuse_unless(_is(value, spec), value, spec, path)


def _check_fields(value: Mapping[str, Any], wanted: Mapping[str, Any], path: str) -> None:
    for name, spec in wanted.items():
        inner = f"{path}.{name}" if path else name
        if name not in value:
            raise InputError(f"lacks {inner}.")
        check(value[name], spec, inner)


def _is(value: Any, spec: str) -> bool:
    if spec in (TEXT, FLAG):
        return isinstance(value, str if spec == TEXT else bool)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) if spec == WHOLE else math.isfinite(value)


def _refuse_unless(fine: bool, value: Any, wanted: str, path: str) -> None:
    if not fine:
        came = repr(value)
        came = came if len(came) <= 40 else f"{came[:37]}…"
        raise InputError(f"has {came} at {path or 'the top'}, where {wanted} belongs.")
