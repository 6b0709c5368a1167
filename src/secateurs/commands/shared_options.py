"""Options that several commands share: their names and help, bundled into dataclasses."""

import contextlib
import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from secateurs import __version__
from secateurs.commands._column_types import ColumnTypeParam
from secateurs.commands.command_errors import name_options_in_errors
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import PATH, SIZE
from secateurs.progress import watch_progress
from secateurs.text_format import file_sha256

Command = Callable[..., object]
Decorator = Callable[[Command], Command]


class AliasedOption(click.Option):
    """An option with aliases, which are accepted but neither shown in help nor completed.

    The name of the Python parameter (``--max_bytes``) is always an alias, besides older names.
    """

    def __init__(self, *args: Any, aliases: Iterable[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.aliases = list(aliases)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Register the option and its aliases with the parser."""
        shown = self.opts
        in_python = [f"--{name[2:].replace('-', '_')}" for name in shown if "-" in name[2:]]
        self.opts = [*shown, *in_python, *self.aliases]
        super().add_to_parser(parser, ctx)
        self.opts = shown


option = functools.partial(click.option, cls=AliasedOption)
file_option = functools.partial(option, type=PATH, metavar="FILE")
IGNORE = option(
    "--ignore", multiple=True, metavar="COL", help="Column to ignore, such as an ID; repeatable."
)
DTYPE = option(
    "--dtype",
    multiple=True,
    type=ColumnTypeParam(),
    help="Type of a column: str, category, int, float or bool; repeatable. Default: text if an "
    "encoder of the model was fitted to text, otherwise inferred from the values.",
)


@dataclasses.dataclass(frozen=True)
class TrustOptions:
    """Options about what to trust in a model file."""

    trust: str | None = None
    trust_types: tuple[str, ...] = ()
    sha256: str | None = None
    max_unpacked: float = 4 << 30  # the default of `secateurs.load`
    allow_version_mismatch: bool = False

    @property
    def as_arguments(self) -> list[str]:
        """The options as words of a command, without options that have their default value."""
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
    """Files with the ensemble, the validation set and the test set, and their columns."""

    model: Path | None = None
    data: Path | None = None
    target: str | None = None
    sample_weight: str | None = None
    groups: str | None = None
    time: str | None = None
    sensitive_features: str | None = None
    ignore: tuple[str, ...] = ()
    dtype: tuple[tuple[str, str], ...] = ()
    predictions: Path | None = None
    labels: Path | None = None
    test: Path | None = None
    test_labels: Path | None = None
    positive: str | None = None
    columns: str | None = None

    @property
    def given_paths(self) -> dict[str, Path]:
        """Paths of the input files, by parameter name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Path)}

    @functools.cached_property
    def file_hashes(self) -> dict[str, dict[str, str]]:
        """Name and SHA-256 of each input file."""
        return {
            name: {"file": path.name, "sha256": file_sha256(path)}
            for name, path in self.given_paths.items()
        }

    def excluded_columns(self, features: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the columns that are neither features nor members nor the target.

        Groups, times and sensitive features may be features of the model.
        """
        others = (self.groups, self.time, self.sensitive_features)
        named = [name for name in others if name is not None and name not in (features or ())]
        weights = [] if self.sample_weight is None else [self.sample_weight]
        return (*self.ignore, *weights, *dict.fromkeys(named))

    @property
    def source_name(self) -> str:
        """Name of the file with the ensemble or its predictions."""
        path = self.predictions or self.model
        assert path is not None
        return path.name

    @property
    def prune_command(self) -> list[str]:
        """First words of a ``prune`` command for the same files."""
        words = ["secateurs", "prune"]
        words += [str(path) for path in (self.model, self.data) if path is not None]
        names = ("predictions", "labels", "target", "sample_weight", "groups", "time")
        others = ("sensitive_features", "test", "test_labels", "positive", "columns")
        for name in (*names, *others):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        for name in self.ignore:
            words += ["--ignore", name]
        for name, kind in self.dtype:
            words += ["--dtype", f"{name}={kind}"]
        return words


def bundle_options(name: str, kind: type, *options: Decorator) -> Decorator:
    """Return a decorator that passes options to a command as one dataclass ``kind``.

    Fields without an option have their default.
    """
    fields = [field.name for field in dataclasses.fields(kind)]

    def declare_options(command: Command) -> Command:
        @functools.wraps(command)
        def run_with_bundle(*args: object, **values: object) -> object:
            bundle = kind(**{field: values.pop(field) for field in fields if field in values})
            return command(*args, **{name: bundle}, **values)

        for declare in reversed(options):
            run_with_bundle = declare(run_with_bundle)  # type: ignore[assignment]
        return run_with_bundle

    return declare_options


def common_options(command: Command) -> Command:
    """Add the options that all commands have, and pass an `Output` to the command."""

    @functools.wraps(command)
    def run_with_output(
        as_json: bool, quiet: bool, verbose: bool, debug: bool, **values: object
    ) -> None:
        out = Output(as_json, quiet, verbose or debug)
        start = time.monotonic()
        with (
            name_options_in_errors(),
            out.print_library_warnings(),
            contextlib.redirect_stdout(sys.stderr),
            watch_progress(label=command.__name__),  # displays nothing; `Output.show_progress` does
        ):
            command(out=out, **values)
        compiling = sys.modules.get("secateurs.outputs.compiling")  # not imported just for this
        compile_seconds = 0.0 if compiling is None else compiling.compiling_seconds()
        seconds = max(0.0, time.monotonic() - start - compile_seconds)
        out.print_detail(f"done in {seconds:.1f} s plus compilation, by secateurs {__version__}")

    for declare in (
        option("--debug", is_flag=True, help="Show the traceback of an error."),
        option("-v", "--verbose", is_flag=True, help="Print more details to stderr."),
        option("-q", "--quiet", is_flag=True, help="Print only the result, warnings and errors."),
        option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    ):
        run_with_output = declare(run_with_output)
    return run_with_output


def trust_options(*old_names: str) -> Decorator:
    """Declare the options about trust; ``old_names`` are aliases of ``--max-unpacked``."""
    return bundle_options(
        "trust",
        TrustOptions,
        option(
            "--trust-pickle",
            "trust",
            flag_value="pickle",
            default=None,
            help="Load a pickle or joblib file. This runs code from the file: use it only for "
            "files that you created yourself.",
        ),
        option(
            "--trust-type",
            "trust_types",
            multiple=True,
            metavar="PKG.CLASS",
            help="Type to accept in a .skops file without a check; repeatable.",
        ),
        option("--sha256", metavar="HEX", help="Load the file only if its SHA-256 matches."),
        option(
            "--max-unpacked",
            type=SIZE,
            default="4GiB",
            show_default=True,
            aliases=old_names,
            help="Maximum size of a model, table or .npz file when unpacked.",
        ),
        option(
            "--allow-version-mismatch",
            is_flag=True,
            help="Load a model that was saved with another version of scikit-learn.",
        ),
    )


FILES = bundle_options(
    "files",
    InputFiles,
    click.argument("model", type=PATH, required=False),
    click.argument("data", type=PATH, required=False),
    option("-t", "--target", metavar="COL", help="Column with the true labels or values."),
    option(
        "--sample-weight",
        metavar="COL",
        help="Column with sample weights for all scores, also in the --test file; for .npz files, "
        "the name of an array.",
    ),
    option(
        "--groups",
        metavar="COL",
        help="Column with the group of each sample, such as a patient. Groups are held out as a "
        "whole in cross-validation.",
    ),
    option(
        "--time",
        metavar="COL",
        help="Column with the time of each sample: a number or a date. In cross-validation, "
        "members are selected on earlier samples and scored on later ones.",
    ),
    option(
        "--sensitive-features",
        metavar="COL",
        help="Column with the subgroup of each sample, also in the --test file. Scores are "
        "reported for each subgroup.",
    ),
    IGNORE,
    DTYPE,
    file_option(
        "--predictions",
        help="Predictions instead of MODEL and DATA: one column of labels, values or "
        "probabilities of one class per member, or columns named model:class (.csv, .parquet, "
        ".npy); or an .npz file with the arrays votes, numbers or probabilities (samples × members "
        "× classes), and y, classes, names. Empty cells and NaN are missing predictions.",
    ),
    file_option("--labels", help="True labels or values for --predictions, if in a separate file."),
    file_option(
        "--test",
        help="Test set: samples (or predictions) used neither for training nor for selecting "
        "members. Default: 5-fold cross-validation on DATA.",
    ),
    file_option("--test-labels", help="True labels or values for --test, if in a separate file."),
    option(
        "--positive",
        metavar="LABEL",
        help="Class whose probability --predictions contain, if there is one column per member. "
        "Default: the larger of two numeric labels.",
    ),
    option(
        "--columns",
        metavar="PATTERN",
        help="Pattern of the column names in --predictions, such as '{model}_{class}' for a "
        "probability of each class, or 'oof_{model}'. Other columns are ignored.",
    ),
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
SLIM = option(
    "--slim",
    is_flag=True,
    help="Store only the numbers of trees that prediction reads: predictions stay equal to the "
    "last bit, feature importances are lost.",
)
FORCE = option("--force", is_flag=True, help="Overwrite existing files.")
DRY_RUN = option("--dry-run", is_flag=True, help="Check all input, then stop.")
