"""Checks of parameters that several pruners have."""

import numbers
from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from secateurs.exceptions import InputError, unknown_name_error
from secateurs.units import read_keep


def resolve_keep(keep: object, n_members: int, may_decide: bool = False) -> int | None:
    """Return ``keep`` as a number of members, or None if the method is to decide.

    A fraction of n members is ``max(1, round(fraction · n))``.
    """
    allowed = f"Pass a count up to {n_members}, or a fraction in (0, 1] such as 0.1 or '10%'"
    allowed += ", or None to let the method decide." if may_decide else "."
    if keep is None and may_decide:
        return None
    size = read_keep(keep) if isinstance(keep, str) else keep
    if not is_number(size):
        raise InputError(f"{{keep}} is not a valid count or fraction. {allowed}", keep=keep)
    if is_integer(size):
        if size < 1:
            raise InputError(f"{{keep}} keeps no member. {allowed}", keep=size)
        if size > n_members:
            raise InputError(
                f"{{keep}} asks for more members than the ensemble has ({n_members}). {allowed}",
                keep=size,
            )
        return int(size)
    if not 0 < size <= 1:  # also rejects NaN
        raise InputError(f"{{keep}} is not a valid fraction. {allowed}", keep=size)
    return max(1, round(float(size) * n_members))


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a parameter is a real number; True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a parameter is an integer; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def check_fraction(name: str, value: object, zero: bool) -> None:
    """Raise an error unless a parameter is in (0, 1], or 0 if ``zero`` is allowed."""
    # Written so that NaN is rejected.
    if not is_number(value) or not 0 <= value <= 1 or (value == 0 and not zero):
        interval = "[0, 1]" if zero else "(0, 1]"
        raise InputError(
            f"{{{name}}} is out of range. Pass a number in {interval}.", **{name: value}
        )


def check_option(name: str, value: object, options: Iterable[str]) -> None:
    """Raise an error that suggests similar names unless a parameter is one of the options."""
    names = list(options)
    if not isinstance(value, str) or value not in names:
        raise unknown_name_error(name, value, names)
