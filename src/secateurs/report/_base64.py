"""Arrays as text: packed into bytes, deflated where that pays, in base64.

The page unpacks them in ``choose.js``; `unpack` does the same here.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateurs.exceptions import InputError

SHAPE = {"bits": int, "shape": [int], "deflated": bool, "base64": str}
_WORTH_DEFLATING = 1 << 14  # bytes; below, the page reads faster without
_BITS = (1, 2, 4, 8, 16)
_MOST_BYTES = 1 << 28


def pack(values: NDArray[Any], n_codes: int | None = None) -> dict[str, Any]:
    """Pack floats, or codes below ``n_codes`` in as few bits as possible.

    Parameters
    ----------
    values : ndarray
        Numbers, of any shape.
    n_codes : int, optional
        Number of codes. By default, values are packed as 64-bit floats.

    Returns
    -------
    dict
        ``bits`` (64 means floats), ``shape``, ``deflated`` and ``base64``.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.report._base64 import pack, unpack
    >>> packed = pack(np.array([0, 2, 1, 2]), n_codes=3)
    >>> packed["bits"], packed["base64"]
    (2, 'mA==')
    >>> unpack(packed)
    array([0, 2, 1, 2], dtype=uint8)
    """
    if n_codes is None:
        bits, data = 64, values.astype("<f8").tobytes()
    else:
        bits = next(bits for bits in _BITS if n_codes <= 1 << bits)
        data = _pack_codes(values.ravel(), bits)
    small = zlib.compress(data, 9) if len(data) >= _WORTH_DEFLATING else data
    deflated = len(small) < len(data)
    text = base64.b64encode(small if deflated else data).decode()
    return {"bits": bits, "shape": list(values.shape), "deflated": deflated, "base64": text}


def unpack(packed: dict[str, Any]) -> NDArray[Any]:
    """Return the array that `pack` packed."""
    shape, bits = packed["shape"], packed["bits"]
    if bits not in (*_BITS, 64) or any(side < 0 for side in shape):
        raise InputError(
            f"Packed numbers have {bits} bits and shape {shape}, which is not possible."
        )
    n_values = int(np.prod(shape, dtype=object))
    n_bytes = -(-n_values * bits // 8)
    try:
        data = base64.b64decode(packed["base64"], validate=True)
        if packed["deflated"]:
            data = zlib.decompressobj().decompress(data, max(1, min(n_bytes, _MOST_BYTES) + 1))
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


def _pack_codes(codes: NDArray[Any], bits: int) -> bytes:
    if bits >= 8:
        return codes.astype("<u2" if bits == 16 else np.uint8).tobytes()
    a_byte = 8 // bits
    filled = np.zeros(-(-len(codes) // a_byte) * a_byte, dtype=np.uint8)
    filled[: len(codes)] = codes
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (filled.reshape(-1, a_byte) << shifts).sum(axis=1, dtype=np.uint8).tobytes()
