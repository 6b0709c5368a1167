"""Options that several commands share, and how they reach a command: a few small dataclasses."""

import dataclasses
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from secateurs import __version__
from secateurs.commands._output import Output
from secateurs.commands._types import SIZE, WEIGHT

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

PATH = click.Path(path_type=Path)


@dataclasses.dataclass(frozen=True)
class Trust:
    """What the user vouches for in a model file."""

    trust_pickle: bool = False
    trust_types: tuple[str, ...] = ()
    sha256: str | None = None
    max_bytes: float = 4 << 30
    allow_version_mismatch: bool = False


@dataclasses.dataclass(frozen=True)
class Files:
    """What to prune, on which rows, and which rows to test on."""

    model: Path | None = None
    data: Path | None = None
    target: str | None = None
    ignore: tuple[str, ...] = ()
    predictions: Path | None = None
    labels: Path | None = None
    test: Path | None = None
    test_labels: Path | None = None

    @property
    def command(self) -> list[str]:
        """The beginning of a command line about the same files."""
        words = ["secateurs", "prune"]
        words += [str(path) for path in (self.model, self.data) if path is not None]
        for name in ("predictions", "labels", "target", "test", "test_labels"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        for name in self.ignore:
            words += ["--ignore", name]
        return words


@dataclasses.dataclass(frozen=True)
class Workers:
    """How many processes work, and where."""

    jobs: int | None = None
    scheduler: str | None = None


def bundled(name: str, kind: type, *options: Decorator) -> Decorator:
    """Declare options that reach the command as one dataclass."""
    fields = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            bundle = kind(**{field: given.pop(field) for field in fields})
            return command(*args, **{name: bundle}, **given)

        for declare in reversed(options):
            wrapped = declare(wrapped)  # type: ignore[assignment]
        return wrapped

    return decorate


def common(command: Command) -> Command:
    """Give a command its `Output`, and the options that every command has."""

    @functools.wraps(command)
    def wrapped(as_json: bool, quiet: bool, verbose: bool, debug: bool, **given: Any) -> Any:
        out = Output(as_json, quiet, verbose or debug)
        start = time.monotonic()
        with out.catching_warnings():
            command(out=out, **given)
        out.detail(f"done in {time.monotonic() - start:.1f} s by secateurs {__version__}")

    for declare in (
        click.option("--debug", is_flag=True, help="Show where in the program an error arose."),
        click.option("-v", "--verbose", is_flag=True, help="Say more on stderr."),
        click.option("-q", "--quiet", is_flag=True, help="Result, warnings and errors only."),
        click.option("--json", "as_json", is_flag=True, help="The result as one JSON object."),
    ):
        wrapped = declare(wrapped)
    return wrapped


TRUST = bundled(
    "trust",
    Trust,
    click.option(
        "--trust-pickle",
        is_flag=True,
        help="Load a pickle or joblib file; that runs code from it: only for files of your own.",
    ),
    click.option(
        "--trust-type",
        "trust_types",
        multiple=True,
        metavar="PKG.CLASS",
        help="A further type to take from a skops file; its content is not checked.",
    ),
    click.option("--sha256", metavar="HEX", help="Take this very file, and no other."),
    click.option(
        "--max-bytes",
        type=SIZE,
        default="4GiB",
        show_default=True,
        help="Most that the model file may unpack to.",
    ),
    click.option(
        "--allow-version-mismatch",
        is_flag=True,
        help="Load a model that another version of scikit-learn wrote.",
    ),
)

FILES = bundled(
    "files",
    Files,
    click.argument("model", type=PATH, required=False),
    click.argument("data", type=PATH, required=False),
    click.option("-t", "--target", metavar="COL", help="Column of the true labels."),
    click.option(
        "--ignore", multiple=True, metavar="COL", help="A column that is no feature; repeatable."
    ),
    click.option(
        "--predictions",
        type=PATH,
        metavar="FILE",
        help="Instead of MODEL and DATA: one column of labels a member (.csv, .parquet, .npy), or "
        ".npz with votes or probabilities (rows × members × classes), y, classes, names.",
    ),
    click.option(
        "--labels", type=PATH, metavar="FILE", help="True labels of the predictions, if apart."
    ),
    click.option(
        "--test",
        type=PATH,
        metavar="FILE",
        help="Rows (or predictions) that served for neither training nor choosing, for honest "
        "figures. Without them: 5-fold cross-fitting on the rows to choose on.",
    ),
    click.option(
        "--test-labels", type=PATH, metavar="FILE", help="True labels of --test, if apart."
    ),
)


def on_workers(jobs: str, scheduler: str) -> Decorator:
    """Options that say who does the work, with their help."""
    return bundled(
        "workers",
        Workers,
        click.option("-j", "--jobs", type=click.IntRange(1, 512), metavar="N", help=jobs),
        click.option("--scheduler", metavar="ADDRESS|local", help=scheduler),
    )


WORKERS = on_workers(
    "Parts done at once.",
    "Prune on a Dask cluster; other methods than comep and domep then work in groups.",
)

SEED = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="For chance."
)
FORCE = click.option("--force", is_flag=True, help="Write over files that exist.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Check all input, then stop.")
WEIGHT_OPTION = click.option(
    "--lambda",
    "weight",
    type=WEIGHT,
    help="Weight of diversity in comep and domep: 0 to 1, or auto. Default: 0.5.",
)
GROUPS = click.option(
    "--groups",
    type=click.IntRange(min=1),
    metavar="M",
    help="Prune in M random groups of members, then among their choices.",
)
RUN = click.option("--run", type=PATH, metavar="FILE.json", help="Write all figures for `report`.")
REPORT = click.option(
    "--report", type=PATH, metavar="FILE.html", help="Write the page to look at, too."
)
