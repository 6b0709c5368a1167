"""Check the structure of report data, and pack arrays as text for it.

`check_shape` compares JSON values with a shape before a page is rendered from a file of unknown
origin. A shape is `str`, `bool`, `int`, `float` (any finite number), `None` (any value),
``[shape]`` (a list), ``{name: shape}`` (an object with these fields), ``{...: shape}`` (an object
with any fields) or `Nullable` (a shape or null).
"""

import base64
import math
import zlib
from typing import NamedTuple

import numpy as np

from secateurs.exceptions import InputError
from secateurs.typing import Array, JsonObject

_TYPE_NAMES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}

PACKED_ARRAY_SHAPE = {"bits": int, "shape": [int], "deflated": bool, "base64": str}
# In bytes. Smaller arrays are stored as they are: deflating them saves little of the page, and the
# browser would have to inflate them.
_WORTH_DEFLATING = 1 << 14
_CODE_BITS = (1, 2, 4, 8, 16)  # divide a byte or fill whole bytes, so `choose.js` can unpack them


class Nullable(NamedTuple):
    """A shape, or null."""

    shape: object


def check_shape(value: object, shape: object, path: str = "") -> None:
    """Raise an error that names the first place where a value does not have a shape.

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
        text = repr(value)
        text = text if len(text) <= 40 else f"{text[:37]}…{text[-1]}"
        raise InputError(f"has {text} at {path or 'the top'}, where {_TYPE_NAMES[kind]} belongs.")
    if isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(value):
            check_shape(item, shape[0], f"{path}[{index}]")
    if isinstance(shape, dict) and isinstance(value, dict):
        for name in value if ... in shape else shape:
            field_path = f"{path}.{name}" if path else name
            if name not in value:
                raise InputError(f"lacks {field_path}.")
            check_shape(value[name], shape.get(..., shape.get(name)), field_path)


def _has_kind(value: object, kind: type) -> bool:
    if kind is float:  # type() instead of isinstance: booleans are not numbers
        return (type(value) is int or type(value) is float) and math.isfinite(value)
    return type(value) is kind


def pack_array(values: Array, n_codes: int | None = None) -> JsonObject:
    """Return codes below ``n_codes`` packed into few bits, or floats of 64 bits, as base64 text.

    ``choose.js`` unpacks them in the page.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.report._schema import pack_array
    >>> packed = pack_array(np.array([0, 2, 1, 2]), n_codes=3)
    >>> packed["bits"], packed["base64"]
    (2, 'mA==')
    """
    if n_codes is None:
        bits, data = 64, values.astype("<f8").tobytes()
    else:
        bits = next(bits for bits in _CODE_BITS if n_codes <= 1 << bits)
        single = (values.ravel()[:, None].astype(np.uint16) >> np.arange(bits, dtype=np.uint16)) & 1
        data = np.packbits(single, bitorder="little").tobytes()
    compressed = zlib.compress(data, 9) if len(data) >= _WORTH_DEFLATING else data
    deflated = len(compressed) < len(data)
    text = base64.b64encode(compressed if deflated else data).decode()
    return {"bits": bits, "shape": list(values.shape), "deflated": deflated, "base64": text}
