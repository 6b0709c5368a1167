"""Values that options take: sizes, times, members to keep, methods."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from secateurs._methods import METHODS

_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_BYTES |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


class Keep(click.ParamType):  # type: ignore[type-arg]
    """A count of members, or a fraction of the ensemble."""

    name = "N|FRACTION"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float:
        """Read ``50``, ``0.1`` or ``10%``."""
        if isinstance(value, (int, float)):
            return value
        if re.fullmatch(r"\d{1,9}", value) and int(value) > 0:
            return int(value)
        if found := re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?)%", value):
            share = float(found[1]) / 100
        else:
            share = float(value) if re.fullmatch(r"\d?\.\d{1,15}", value) else 0.0
        if not 0 < share <= 1:
            self.fail(
                f"{value!r} is no number of members. Give a count such as 50, or a fraction "
                "such as 0.1 or 10%.",
                param,
                ctx,
            )
        return share


class Quantity(click.ParamType):  # type: ignore[type-arg]
    """A number with a unit."""

    def __init__(self, name: str, units: dict[str, float], example: str) -> None:
        self.name = name
        self.units = units
        self.example = example

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read a number and its unit."""
        if isinstance(value, (int, float)):
            return value
        found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*(\w*)", value)
        if not found or found[2].lower() not in self.units:
            self.fail(
                f"{value!r} is no {self.name.lower()}. Give one such as {self.example}.", param, ctx
            )
        return float(found[1]) * self.units[found[2].lower()]


class Weight(click.ParamType):  # type: ignore[type-arg]
    """A weight from 0 to 1, or "auto"."""

    name = "WEIGHT"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        """Read ``0.3`` or ``auto``."""
        if value == "auto" or isinstance(value, float):
            return value
        weight = float(value) if re.fullmatch(r"\d?\.?\d{1,15}", value) else -1.0
        if not 0 <= weight <= 1:
            self.fail(f"{value!r} is no weight. Give a number from 0 to 1, or auto.", param, ctx)
        return weight


class Name(click.ParamType):  # type: ignore[type-arg]
    """One of some names, in any case; near ones are suggested, and completed by the shell."""

    name = "NAME"

    def __init__(self, kind: str, names: dict[str, str]) -> None:
        self.kind = kind
        self.names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Take the name, or say which ones there are."""
        key = value.lower()
        if key not in self.names:
            self.fail(f"{value!r} is no {self.kind}.{near(key, self.names)}", param, ctx)
        return key

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Offer the names that begin so."""
        begins = incomplete.lower()
        return [
            CompletionItem(name, help=text)
            for name, text in self.names.items()
            if name.startswith(begins)
        ]


def near(value: str, names: Iterable[str]) -> str:
    """Say which names come near, else which there are."""
    known = list(names)
    close = difflib.get_close_matches(value, known, n=3)
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    return f" Give one of: {', '.join(known)}."


_SUMMARIES = {name: method.summary for name, method in METHODS.items()}

KEEP = Keep()
SIZE = Quantity("SIZE", _BYTES, "5MB or 800kB")  # type: ignore[arg-type]
LATENCY = Quantity("LATENCY", _SECONDS, "2ms or 0.5s")
WEIGHT = Weight()
METHOD = Name("method", _SUMMARIES)
METHOD_OR_AUTO = Name("method", {**_SUMMARIES, "auto": "the one that does best on rows held out"})
