"""Arrays as text: packed into bytes, deflated where that pays, in base64.

The page unpacks them in ``choose.js``.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKED_ARRAY_SHAPE = {"bits": int, "shape": [int], "deflated": bool, "base64": str}
_WORTH_DEFLATING = 1 << 14  # bytes; below, the page reads faster without
_BITS = (1, 2, 4, 8, 16)


def pack_array(values: NDArray[Any], n_codes: int | None = None) -> dict[str, Any]:
    """Pack codes below ``n_codes`` in as few bits as possible; without it, floats in 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.report._base64 import pack_array
    >>> packed = pack_array(np.array([0, 2, 1, 2]), n_codes=3)
    >>> packed["bits"], packed["base64"]
    (2, 'mA==')
    """
    if n_codes is None:
        bits, data = 64, values.astype("<f8").tobytes()
    else:
        bits = next(bits for bits in _BITS if n_codes <= 1 << bits)
        single = (values.ravel()[:, None].astype(np.uint16) >> np.arange(bits, dtype=np.uint16)) & 1
        data = np.packbits(single, bitorder="little").tobytes()
    small = zlib.compress(data, 9) if len(data) >= _WORTH_DEFLATING else data
    deflated = len(small) < len(data)
    text = base64.b64encode(small if deflated else data).decode()
    return {"bits": bits, "shape": list(values.shape), "deflated": deflated, "base64": text}
