"""The shape of a report's data, checked before a page is made of a stranger's file.

Shapes are data themselves: `str`, `bool`, `int`, `float` for any finite number, `None` for
anything, ``[shape]`` for a list, ``{name: shape}`` for an object with these fields,
``{...: shape}`` for one with any fields, and `Nullable` for a shape or null.
"""

import math
from typing import Any, NamedTuple

from secateurs.exceptions import InputError

_NAMES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


class Nullable(NamedTuple):
    """A shape, or null."""

    shape: Any


def check_shape(value: Any, shape: Any, path: str = "") -> None:
    """Refuse a value of another shape, and say where it differs.

    Examples
    --------
    >>> from secateurs.report._schema import check_shape
    >>> check_shape({"low": 1, "high": "2"}, {"low": float, "high": float})
    Traceback (most recent call last):
    secateurs.exceptions.InputError: has '2' at high, where a number belongs.
    """
    if isinstance(shape, Nullable):
        shape = None if value is None else shape.shape
    if shape is None:
        return
    kind = shape if isinstance(shape, type) else type(shape)
    if not _has_kind(value, kind):
        came = repr(value)
        came = came if len(came) <= 40 else f"{came[:37]}…{came[-1]}"
        raise InputError(f"has {came} at {path or 'the top'}, where {_NAMES[kind]} belongs.")
    if kind is list:
        for place, one in enumerate(value):
            check_shape(one, shape[0], f"{path}[{place}]")
    if kind is dict:
        for name in value if ... in shape else shape:
            inner = f"{path}.{name}" if path else name
            if name not in value:
                raise InputError(f"lacks {inner}.")
            check_shape(value[name], shape.get(..., shape.get(name)), inner)


def _has_kind(value: Any, kind: type) -> bool:
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is kind  # true and false are not whole numbers
