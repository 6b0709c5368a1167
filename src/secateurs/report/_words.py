"""What a report says in words."""

import inspect
import shlex
from collections.abc import Sequence
from typing import Any

from secateurs._text import signed
from secateurs.pruners import BasePruner

_TOLERANCE = 0.005  # half a point of accuracy

Plain = dict[str, Any]


def verdict(lines: Sequence[Plain], tested: bool) -> str:
    """Say in one sentence what was gained and lost."""
    by_name = {line["figure"]: line for line in lines}
    members, accuracy = by_name["members"], by_name["accuracy"]
    where = "test rows" if tested else "rows held out"
    said = (
        f"{members['after']:,.0f} of {members['before']:,.0f} members: accuracy "
        f"{accuracy['after']:.3f} on {where}, against {accuracy['before']:.3f} of all"
    )
    gains = []
    if "ms for 1 row" in by_name:
        faster = by_name["ms for 1 row"]["before"] / by_name["ms for 1 row"]["after"]
        gains.append(f"{faster:.1f}× faster" if faster >= 1.05 else "no faster")
    if "megabytes" in by_name:
        share = 1 - by_name["megabytes"]["after"] / by_name["megabytes"]["before"]
        gains.append(f"{100 * share:.0f} % smaller")
    return f"{said}; {', '.join(gains)}." if gains else f"{said}."


def safety(lines: Sequence[Plain], p_value: float) -> str:
    """Say what can be told of the change in accuracy."""
    line = next(line for line in lines if line["figure"] == "accuracy")
    low, high = line["low"], line["high"]
    if low >= -_TOLERANCE:
        told = "no more than half a point of accuracy is lost"
    elif high < -_TOLERANCE:
        told = "more than half a point of accuracy is lost"
    else:
        told = "these rows are too few to tell whether more than half a point is lost"
    interval = f"95 % interval {signed(low)} to {signed(high)}"
    return (
        f"Change in accuracy {signed(line['change'])}, {interval}: {told}. "
        f"McNemar's exact test of rows lost against rows won: p = {p_value:.2g}."
    )


def reproduce(pruner: BasePruner, course: Plain, command: Sequence[str] | None) -> Plain:
    """Give the lines that do it again: of a shell, as far as they can, and of Python.

    ``command`` is the beginning that the page completes for other choices.
    """
    base = shlex.join(command or ("secateurs", "prune", "MODEL", "DATA", "--target", "COLUMN"))
    whole = None
    if course["method"] is not None:
        whole = f"{base} --method {course['method']} --keep {len(pruner.member_indices_)}"
        whole += "" if course["weight"] is None else f" --lambda {course['weight']:g}"
    return {
        "command": base,
        "shell": whole,
        "python": f"secateurs.prune(ensemble, X, y, {call_of(pruner)})",
        "seed": getattr(pruner, "random_state", None),
    }


def call_of(pruner: BasePruner) -> str:
    """Write a pruner as code that makes it."""
    usual = inspect.signature(type(pruner)).parameters
    named = [
        f"{name}={call_of(value) if isinstance(value, BasePruner) else repr(value)}"
        for name, value in pruner.get_params(deep=False).items()
        if repr(value) != repr(usual[name].default)
    ]
    return f"{type(pruner).__name__}({', '.join(named)})"
