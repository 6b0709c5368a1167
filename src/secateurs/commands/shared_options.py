"""Options that several commands share: their values, names and help, bundled into dataclasses."""

import contextlib
import dataclasses
import difflib
import functools
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from secateurs import __version__, units
from secateurs._methods import METHODS
from secateurs.commands._column_types import ColumnTypeParam
from secateurs.commands.command_errors import name_options_in_errors
from secateurs.commands.console_output import Output
from secateurs.progress import watch_progress
from secateurs.text_format import file_sha256
from secateurs.units import Quantity, read_keep

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class KeepParam(click.ParamType):  # type: ignore[type-arg]
    """A count of members, or a fraction of the ensemble."""

    name = "N|FRACTION"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float:
        """Read ``50``, ``0.1`` or ``10%``."""
        if isinstance(value, (int, float)):
            return value
        if (found := read_keep(value)) is None:
            self.fail(
                f"{value!r} is not a valid number of members. Give a count such as 50, or a "
                "fraction such as 0.1 or 10%."
            )
        return found


class QuantityParam(click.ParamType):  # type: ignore[type-arg]
    """A number with a unit; ``shown`` is the unit to print it in."""

    def __init__(self, quantity: Quantity, shown: str = "") -> None:
        self.name = quantity.name.upper()
        self.quantity = quantity
        self.display_unit = shown

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read a number and its unit."""
        if isinstance(value, (int, float)):
            return value
        if (found := self.quantity.read(value)) is None:
            name, examples = self.quantity.name, self.quantity.examples
            self.fail(f"{value!r} is not a valid {name}. Give one such as {examples}.")
        return found

    def format_quantity(self, value: float) -> str:
        """Return a number with its unit, as it can be typed."""
        return f"{value / self.quantity.units[self.display_unit]:.15g}{self.display_unit}"


class WeightParam(click.ParamType):  # type: ignore[type-arg]
    """A weight from 0 to 1, or "auto"."""

    name = "WEIGHT"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        """Read ``0.3`` or ``auto``."""
        if value == "auto" or isinstance(value, float):
            return value
        weight = float(value) if re.fullmatch(r"\d?\.?\d{1,15}", value) else -1.0
        if not 0 <= weight <= 1:
            self.fail(f"{value!r} is not a valid weight. Give a number from 0 to 1, or auto.")
        return weight


class NameParam(click.ParamType):  # type: ignore[type-arg]
    """One of several names, in any case; similar ones are suggested, and completed by the shell.

    Parameters
    ----------
    kind : str
        What the names are of.
    names : mapping of str to str
        The names, each with a line of help.
    """

    name = "NAME"

    def __init__(self, kind: str, names: Mapping[str, str]) -> None:
        self.kind = kind
        self.names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the name in lower case, or fail with suggestions."""
        key = value.lower()
        if key not in self.names:
            self.fail(f"{value!r} is not a {self.kind}.{suggest_names(key, self.names)}")
        return key

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the names that start with what was typed."""
        return [
            CompletionItem(name, help=text)
            for name, text in self.names.items()
            if name.startswith(incomplete.lower())
        ]


def suggest_names(value: str, names: Iterable[str]) -> str:
    """Return a sentence with similar names, or with all if none is similar."""
    known = list(names)
    close = difflib.get_close_matches(value, known, n=3)
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    return f" Give one of: {', '.join(known)}."


_SUMMARIES = {name: method.summary for name, method in METHODS.items()}
PATH = click.Path(path_type=Path)
KEEP = KeepParam()
SIZE = QuantityParam(units.SIZE)
LATENCY = QuantityParam(units.LATENCY, shown="ms")
LOSS = QuantityParam(units.LOSS)
WEIGHT = WeightParam()
METHOD = NameParam("method", _SUMMARIES)
METHOD_OR_AUTO = NameParam(
    "method", {**_SUMMARIES, "auto": "the method that does best on held-out rows"}
)


class AliasedOption(click.Option):
    """An option with aliases, accepted but neither shown in help nor completed.

    Older names are, and the name of the parameter in Python as it is: ``--max_bytes``.
    """

    def __init__(self, *args: Any, aliases: Iterable[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.aliases = list(aliases)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser know the aliases too."""
        shown = self.opts
        in_python = [f"--{name[2:].replace('-', '_')}" for name in shown if "-" in name[2:]]
        self.opts = [*shown, *in_python, *self.aliases]
        super().add_to_parser(parser, ctx)
        self.opts = shown


option = functools.partial(click.option, cls=AliasedOption)
file_option = functools.partial(option, type=PATH, metavar="FILE")
IGNORE = option(
    "--ignore", multiple=True, metavar="COL", help="Column that is not a feature; repeatable."
)
DTYPE = option(
    "--dtype",
    multiple=True,
    type=ColumnTypeParam(),
    help="Type of a column: str, category, int, float or bool; repeatable. Default: text where the "
    "model's encoders know text, otherwise as it looks.",
)


@dataclasses.dataclass(frozen=True)
class TrustOptions:
    """What the user trusts in a model file."""

    trust: str | None = None
    trust_types: tuple[str, ...] = ()
    sha256: str | None = None
    max_unpacked: float = 4 << 30
    allow_version_mismatch: bool = False

    @property
    def as_arguments(self) -> list[str]:
        """The options that say the same."""
        words = ["--trust-pickle"] if self.trust == "pickle" else []
        for name in self.trust_types:
            words += ["--trust-type", name]
        if self.sha256 is not None:
            words += ["--sha256", self.sha256]
        if self.max_unpacked != TrustOptions.max_unpacked:
            words += ["--max-unpacked", f"{self.max_unpacked:.0f}"]
        return words + ["--allow-version-mismatch"] * self.allow_version_mismatch


@dataclasses.dataclass(frozen=True)
class InputFiles:
    """What to prune, the rows to choose on, and the rows to test on."""

    model: Path | None = None
    data: Path | None = None
    target: str | None = None
    sample_weight: str | None = None
    ignore: tuple[str, ...] = ()
    dtype: tuple[tuple[str, str], ...] = ()
    predictions: Path | None = None
    labels: Path | None = None
    test: Path | None = None
    test_labels: Path | None = None

    @property
    def given_paths(self) -> dict[str, Path]:
        """The files that are given, by their names in the command."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Path)}

    @functools.cached_property
    def file_hashes(self) -> dict[str, dict[str, str]]:
        """Name and SHA-256 of each file."""
        return {
            name: {"file": path.name, "sha256": file_sha256(path)}
            for name, path in self.given_paths.items()
        }

    @property
    def excluded_columns(self) -> tuple[str, ...]:
        """The columns that are neither features or members nor the target."""
        return self.ignore if self.sample_weight is None else (*self.ignore, self.sample_weight)

    @property
    def source_name(self) -> str:
        """The name of the file that the ensemble comes from."""
        path = self.predictions or self.model
        assert path is not None
        return path.name

    @property
    def prune_command(self) -> list[str]:
        """The start of a ``prune`` command about the same files."""
        words = ["secateurs", "prune"]
        words += [str(path) for path in (self.model, self.data) if path is not None]
        for name in ("predictions", "labels", "target", "sample_weight", "test", "test_labels"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        for name in self.ignore:
            words += ["--ignore", name]
        for name, kind in self.dtype:
            words += ["--dtype", f"{name}={kind}"]
        return words


def bundle_options(name: str, kind: type, *options: Decorator) -> Decorator:
    """Declare options that reach the command as one dataclass."""
    fields = [field.name for field in dataclasses.fields(kind)]

    def declare_options(command: Command) -> Command:
        @functools.wraps(command)
        def run_with_bundle(*args: Any, **given: Any) -> Any:
            bundle = kind(**{field: given.pop(field) for field in fields})
            return command(*args, **{name: bundle}, **given)

        for declare in reversed(options):
            run_with_bundle = declare(run_with_bundle)  # type: ignore[assignment]
        return run_with_bundle

    return declare_options


def common_options(command: Command) -> Command:
    """Add the options that every command has, and pass its `Output`."""

    @functools.wraps(command)
    def run_with_output(
        as_json: bool, quiet: bool, verbose: bool, debug: bool, **given: Any
    ) -> Any:
        out = Output(as_json, quiet, verbose or debug)
        start = time.monotonic()
        with (
            name_options_in_errors(),
            out.print_library_warnings(),
            contextlib.redirect_stdout(sys.stderr),
            watch_progress(label=command.__name__),  # shows only what `Output.show_progress` does
        ):
            command(out=out, **given)
        compiling = sys.modules.get("secateurs.outputs.compiling")  # heavy, if not needed so far
        waited = 0.0 if compiling is None else compiling.compiling_seconds()
        took = max(0.0, time.monotonic() - start - waited)
        out.print_detail(f"done in {took:.1f} s, besides compiling, by secateurs {__version__}")

    for declare in (
        option("--debug", is_flag=True, help="Show the traceback of an error."),
        option("-v", "--verbose", is_flag=True, help="Print more details on stderr."),
        option("-q", "--quiet", is_flag=True, help="Print only the result, warnings and errors."),
        option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    ):
        run_with_output = declare(run_with_output)
    return run_with_output


def trust_options(*old_names: str) -> Decorator:
    """Declare what the user trusts in a model file."""
    return bundle_options(
        "trust",
        TrustOptions,
        option(
            "--trust-pickle",
            "trust",
            flag_value="pickle",
            default=None,
            help="Load a pickle or joblib file. This runs code from the file: only use it for "
            "files you made yourself.",
        ),
        option(
            "--trust-type",
            "trust_types",
            multiple=True,
            metavar="PKG.CLASS",
            help="Additional type to accept in a skops file, unchecked; repeatable.",
        ),
        option("--sha256", metavar="HEX", help="Load the file only if its SHA-256 matches."),
        option(
            "--max-unpacked",
            type=SIZE,
            default="4GiB",
            show_default=True,
            aliases=old_names,
            help="Maximum size of a model file or .npz file when unpacked.",
        ),
        option(
            "--allow-version-mismatch",
            is_flag=True,
            help="Load a model written with another version of scikit-learn.",
        ),
    )


FILES = bundle_options(
    "files",
    InputFiles,
    click.argument("model", type=PATH, required=False),
    click.argument("data", type=PATH, required=False),
    option("-t", "--target", metavar="COL", help="Column with the true labels, or numbers."),
    option(
        "--sample-weight",
        metavar="COL",
        help="Column with weights of the rows in scores, in --test too; of .npz files an array.",
    ),
    IGNORE,
    DTYPE,
    file_option(
        "--predictions",
        help="Predictions instead of MODEL and DATA: one column of labels or numbers per member "
        "(.csv, .parquet, .npy), or .npz with votes, numbers or probabilities (rows × members × "
        "classes), y, classes, names.",
    ),
    file_option("--labels", help="True labels of the predictions, if in a separate file."),
    file_option(
        "--test",
        help="Rows (or predictions) used neither for training nor for choosing, to measure on. "
        "Default: 5-fold cross-fitting on the rows to choose on.",
    ),
    file_option("--test-labels", help="True labels of --test, if in a separate file."),
)

N_JOBS = option(
    "-j",
    "--n-jobs",
    type=click.IntRange(1, 512),
    metavar="N",
    aliases=["--jobs"],
    help="Number of parallel jobs.",
)
RANDOM_STATE = option(
    "--random-state",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    aliases=["--seed"],
    help="Random seed.",
)
FORCE = option("--force", is_flag=True, help="Overwrite existing files.")
DRY_RUN = option("--dry-run", is_flag=True, help="Check all input, then stop.")
