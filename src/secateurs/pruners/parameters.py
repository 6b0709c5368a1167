"""Checks of the parameters that pruners share."""

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from secateurs.exceptions import InputError, unknown_name_error
from secateurs.units import read_keep


def resolve_keep(keep: Any, n_members: int, may_decide: bool = False) -> int | None:
    """Return ``keep`` as a number of members, or None where the method may decide and is to.

    A fraction of n members is ``max(1, round(fraction · n))``.
    """
    allowed = f"Give a count up to {n_members}, or a fraction in (0, 1] such as 0.1 or '10%'"
    allowed += ", or None to let the method decide." if may_decide else "."
    if keep is None and may_decide:
        return None
    read = read_keep(keep) if isinstance(keep, str) else keep
    if not is_number(read):
        raise InputError(f"{{keep}} is not a valid count or fraction. {allowed}", keep=keep)
    keep = read
    if is_integer(keep):
        if keep < 1:
            raise InputError(f"{{keep}} keeps no member. {allowed}", keep=keep)
        if keep > n_members:
            raise InputError(
                f"{{keep}} asks for more members than the ensemble has ({n_members}). {allowed}",
                keep=keep,
            )
        return int(keep)
    if not 0 < keep <= 1:  # NaN as well
        raise InputError(f"{{keep}} is not a valid fraction. {allowed}", keep=keep)
    return max(1, round(float(keep) * n_members))


def is_number(value: Any) -> bool:
    """Return whether a parameter is a real number; True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def is_integer(value: Any) -> bool:
    """Return whether a parameter is an integer; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def check_fraction(name: str, value: Any, zero: bool) -> None:
    """Check that a parameter is a number in [0, 1], or in (0, 1]."""
    if not is_number(value) or not 0 <= value <= 1 or (value == 0 and not zero):  # NaN as well
        interval = "[0, 1]" if zero else "(0, 1]"
        raise InputError(
            f"{{{name}}} is out of range. Give a number in {interval}.", **{name: value}
        )


def check_option(name: str, value: Any, options: Iterable[str]) -> None:
    """Check that a parameter is one of some names; the message suggests close ones."""
    known = list(options)
    if not isinstance(value, str) or value not in known:
        raise unknown_name_error(name, value, known)
