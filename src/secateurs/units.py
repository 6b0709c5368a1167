"""Read and format quantities with units: sizes, times and fractions."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from secateurs.exceptions import InputError

_DECIMAL = {10**9: "GB", 10**6: "MB", 10**3: "kB"}
# The lengths are limited so that no text can be slow to match or give an infinite number.
_NUMBER = r"(\d{1,15}(?:\.\d{0,30})?|\.\d{1,30})(e-?\d{1,2})?"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity that can be written with a unit."""

    name: str
    units: Mapping[str, float]  # factors of the units in lower case
    examples: str  # for error messages

    def read(self, text: str) -> float | None:
        """Return text with an optional unit as a number; None if it is not valid."""
        match = re.fullmatch(rf"\s*{_NUMBER}\s*([^\W\d]*|%)\s*", text, re.IGNORECASE)
        if not match or match[3].lower() not in self.units:
            return None
        number, unit = float(match[1] + (match[2] or "")), self.units[match[3].lower()]
        # A factor such as 0.01 is inexact; dividing by 100 rounds only once.
        return number / round(1 / unit) if unit < 1 else number * unit

    def read_parameter(self, parameter: str, value: _T | str) -> _T | float:
        """Return a parameter as a number if it is text; raise an error if the text is not valid."""
        if not isinstance(value, str):
            return value
        if (number := self.read(value)) is None:
            raise InputError(
                f"{{{parameter}}} is not a valid {self.name}. Pass a number, or text such as "
                f"{self.examples}.",
                **{parameter: value},
            )
        return number


SIZE = Quantity(
    "size",
    {
        **{"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9},
        **{"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30},
    },
    "5MB or 800kB",
)
LATENCY = Quantity("latency", {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}, "2ms or 0.5s")
LOSS = Quantity("loss", {"": 1, "%": 0.01}, "0.005 or 0.5%")
_FRACTION = Quantity("fraction", {"": 1, "%": 0.01}, "0.1 or 10%")


def read_keep(text: str) -> int | float | None:
    """Return text as a count of members, or as a fraction in (0, 1]; None if it is neither."""
    if re.fullmatch(r"\d{1,9}", text):
        return int(text) or None
    fraction = _FRACTION.read(text)
    # "1e-1" is rejected: a fraction needs a point or a percent sign to differ from a count.
    is_fraction = fraction is not None and ("%" in text or "." in text)
    return fraction if is_fraction and fraction and fraction <= 1 else None


def format_bytes(value: float) -> str:
    """Return a number of bytes with its unit, rounded up so that it is a sufficient limit.

    Examples
    --------
    >>> from secateurs.units import format_bytes
    >>> format_bytes(71), format_bytes(1_234_001)
    ('71 B', '1.24 MB')
    """
    size = next((size for size in _DECIMAL if value >= size), 1)
    return f"{round_up(value / size):.15g} {_DECIMAL.get(size, 'B')}"


def format_milliseconds(value: float) -> str:
    """Return seconds as milliseconds, rounded up."""
    return f"{round_up(1e3 * value):.15g} ms"


def round_up(value: float, digits: int = 3) -> float:
    """Return a number rounded up to a number of significant digits."""
    if not 0 < value < math.inf:
        return float(value)
    places = digits - 1 - math.floor(math.log10(value))
    # Rounding first removes floating-point errors, which `ceil` would turn into a whole unit.
    scaled = math.ceil(round(value * 10.0**places, 6))
    return scaled / 10.0**places
