"""Reports of several kinds of votes for tests, and the unpacking of their arrays."""

import base64
import warnings
import zlib

import numpy as np
import pandas as pd

import cases
from secateurs import prune
from secateurs.exceptions import InputError
from secateurs.report import report_data

HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=2>",
    "\"' onmouseover=window.hacked=3 x='",
    "${window.hacked=4}",
    "`+(window.hacked=5)+`",
    "line\u2028separator\u2029and <!-- comment",
    "&lt;b&gt; & <b>",
    "x" * 3000,
    "]]> \\u003c/script> \x00",
]


def make_data(kinds, n_classes, *, n_rows=120, n_test=90, seed=0, keep=5, names=None, **parameters):
    """The data of a report of votes of the given kinds; names for members and classes."""
    labels = None if names is None else names[:n_classes]
    votes, y = cases.make(seed, n_rows, n_classes, kinds, labels)
    columns = names[: len(kinds)] if names else None
    frame = pd.DataFrame(np.array(votes, dtype=object if names else int), columns=columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members worse than chance
        how = {"pruner": "comep"} | parameters
        pruning = prune(frame, y=y, keep=keep, random_state=0, **how)
        if n_test is None:
            return report_data(pruning)
        test, y_test = cases.make(seed + 1, n_test, n_classes, kinds, labels)
        return report_data(pruning, np.array(test, dtype=object if names else int), y_test)


def unpack(packed):
    """Return the array that `pack_array` packed."""
    shape, bits = packed["shape"], packed["bits"]
    if bits not in (1, 2, 4, 8, 16, 64) or any(side < 0 for side in shape):
        raise InputError(
            f"Packed numbers have {bits} bits and shape {shape}, which is not possible."
        )
    n_values = int(np.prod(shape, dtype=object))
    n_bytes = -(-n_values * bits // 8)
    try:
        data = base64.b64decode(packed["base64"], validate=True)
        if packed["deflated"]:
            data = zlib.decompressobj().decompress(data, max(1, min(n_bytes, 1 << 28) + 1))
    except (ValueError, zlib.error) as error:
        raise InputError(f"Packed numbers cannot be read: {error}.") from error
    if len(data) != n_bytes:
        raise InputError(f"Packed numbers have {len(data)} bytes where {n_bytes} belong.")
    if bits == 64:
        return np.frombuffer(data, dtype="<f8").reshape(shape)
    if bits == 16:
        return np.frombuffer(data, dtype="<u2").reshape(shape)
    octets = np.frombuffer(data, dtype=np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (octets[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.ravel()[:n_values].reshape(shape)
