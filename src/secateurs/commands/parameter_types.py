"""Types of the values of options: sizes, quantities with units, and names of methods."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from secateurs import units
from secateurs._methods import METHODS
from secateurs.units import Quantity, read_keep

_Parameter = click.Parameter | None
_Context = click.Context | None


class KeepParam(click.ParamType):  # type: ignore[type-arg]
    """Number of members to keep: a count, or a fraction of the ensemble."""

    name = "N|FRACTION"

    def convert(self, value: str | float, param: _Parameter, ctx: _Context) -> int | float:
        """Convert ``50``, ``0.1`` or ``10%`` to a number."""
        if isinstance(value, (int, float)):
            return value
        if (keep := read_keep(value)) is None:
            self.fail(
                f"{value!r} is not a valid number of members. Pass a count such as 50, or a "
                "fraction such as 0.1 or 10%."
            )
        return keep


class QuantityParam(click.ParamType):  # type: ignore[type-arg]
    """A number with a unit, such as ``5MB``; ``shown`` is the unit to print it in."""

    def __init__(self, quantity: Quantity, shown: str = "") -> None:
        self.name = quantity.name.upper()
        self.quantity = quantity
        self.display_unit = shown

    def convert(self, value: str | float, param: _Parameter, ctx: _Context) -> float:
        """Convert a number and its unit to a number in base units."""
        if isinstance(value, (int, float)):
            return value
        if (number := self.quantity.read(value)) is None:
            name, examples = self.quantity.name, self.quantity.examples
            self.fail(f"{value!r} is not a valid {name}. Pass a value such as {examples}.")
        return number

    def format_quantity(self, value: float) -> str:
        """Return a number with its unit, as it can be passed on the command line."""
        return f"{value / self.quantity.units[self.display_unit]:.15g}{self.display_unit}"


class ToleranceParam(QuantityParam):
    """A loss such as ``0.01`` or ``1%``, or the loss of a named score: ``neg_log_loss=0.01``."""

    def __init__(self) -> None:
        super().__init__(units.LOSS)

    def convert(  # type: ignore[override]
        self, value: str | float | tuple[str, float], param: _Parameter, ctx: _Context
    ) -> float | tuple[str, float]:
        """Convert ``1%`` to a number, and ``neg_log_loss=0.01`` to a pair."""
        if not isinstance(value, str) or "=" not in value:
            return super().convert(value, param, ctx)  # type: ignore[arg-type]
        name, _, loss = value.partition("=")
        return name.strip(), super().convert(loss, param, ctx)


def combine_tolerances(
    ctx: click.Context, param: click.Parameter, values: Sequence[float | tuple[str, float]]
) -> float | tuple[tuple[str, float], ...] | None:
    """Return one loss, or the losses of several scores."""
    named = tuple(value for value in values if isinstance(value, tuple))
    plain = [value for value in values if not isinstance(value, tuple)]
    if named and plain:
        raise click.BadParameter("Pass one loss, or NAME=LOSS for every score.", ctx, param)
    return named or (plain[-1] if plain else None)


class WeightParam(click.ParamType):  # type: ignore[type-arg]
    """A weight from 0 to 1, or "auto"."""

    name = "WEIGHT"

    def convert(self, value: str | float, param: _Parameter, ctx: _Context) -> float | str:
        """Convert ``0.3`` to a number, and keep ``auto``."""
        if value == "auto" or isinstance(value, float):
            return value
        weight = float(value) if re.fullmatch(r"\d?\.?\d{1,15}", value) else -1.0
        if not 0 <= weight <= 1:
            self.fail(f"{value!r} is not a valid weight. Pass a number from 0 to 1, or auto.")
        return weight


class NameParam(click.ParamType):  # type: ignore[type-arg]
    """A name from a list, in upper or lower case, with suggestions and shell completion."""

    name = "NAME"

    def __init__(self, kind: str, names: Mapping[str, str]) -> None:
        self.kind = kind  # of thing that is named, such as "method"
        self.names = names  # each with a line of help

    def convert(self, value: str, param: _Parameter, ctx: _Context) -> str:
        """Return the name in lower case, or fail and suggest similar names."""
        key = value.lower()
        if key not in self.names:
            self.fail(f"{value!r} is not a {self.kind}.{suggest_names(key, self.names)}")
        return key

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that start with the typed text."""
        return [
            CompletionItem(name, help=text)
            for name, text in self.names.items()
            if name.startswith(incomplete.lower())
        ]


def suggest_names(value: str, names: Iterable[str]) -> str:
    """Return a sentence that suggests similar names, or lists all names if none is similar."""
    known = list(names)
    close = difflib.get_close_matches(value, known, n=3)
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    return f" Pass one of: {', '.join(known)}."


_SUMMARIES = {name: method.summary for name, method in METHODS.items()}
PATH = click.Path(path_type=Path)
KEEP = KeepParam()
SIZE = QuantityParam(units.SIZE)
LATENCY = QuantityParam(units.LATENCY, shown="ms")
LOSS = QuantityParam(units.LOSS)
TOLERANCE = ToleranceParam()
WEIGHT = WeightParam()
METHOD = NameParam("method", _SUMMARIES)
METHOD_OR_AUTO = NameParam(
    "method", {**_SUMMARIES, "auto": "the method that is likely best for these data"}
)
