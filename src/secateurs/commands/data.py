"""``secateurs data``: the data sets of the paper, at hand or not."""

from pathlib import Path

import click

from secateurs.commands._errors import Refusal
from secateurs.commands._input import shown
from secateurs.commands._options import PATH, common
from secateurs.commands._output import Output, columns
from secateurs.commands._types import near

FOLDER = click.option(
    "--data",
    "folder",
    type=PATH,
    envvar="SECATEURS_DATA",
    show_envvar=True,
    metavar="DIR",
    help="Folder with the data sets as NAME.csv.gz.",
)


@click.group(no_args_is_help=False)
def data() -> None:
    """List, check or fetch the data sets of the paper's experiments."""


@data.command("list")
@FOLDER
@common
def list_sets(out: Output, folder: Path | None) -> None:
    """List the data sets, and where each would come from."""
    from secateurs.paper.datasets import status

    rows = status(existing(folder))
    headings = ("name", "in the paper", "from", "rows", "features", "classes")
    lines = [
        (row["name"], row["paper_name"], row["source"], *(_count(row[key]) for key in headings[3:]))
        for row in rows
    ]
    out.result({"datasets": rows}, columns(headings, lines, left=3))


@data.command("verify")
@FOLDER
@common
def verify_sets(out: Output, folder: Path | None) -> None:
    """Compare the files of the folder with their checksums."""
    from secateurs.paper.datasets import verify

    with out.progress("reading the data sets"):
        rows = verify(_given(folder))
    wrong = [row["name"] for row in rows if row["state"] == "another file"]
    if wrong:
        raise Refusal(
            "checksum",
            f"{folder} has other files than expected of: {shown(wrong, 5)}. Fetch them again.",
        )
    if all(row["state"] == "absent" for row in rows):
        raise Refusal("no_data", f"{folder} has none of the data sets. Give another --data DIR.")
    lines = [(row["name"], row["state"], (row["sha256"] or "")[:16]) for row in rows]
    out.result({"datasets": rows}, columns(("name", "state", "SHA-256"), lines, left=3))


@data.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@FOLDER
@common
def fetch_sets(out: Output, names: tuple[str, ...], folder: Path | None) -> None:
    """Put data sets into the folder: from OpenML, or drawn by their definition."""
    from secateurs.paper.datasets import DATASETS, fetch

    target = _given(folder, must_exist=False)
    for name in names:
        if name not in DATASETS:
            raise Refusal("no_dataset", f"{name!r} is no data set.{near(name, DATASETS)}")
    rows = []
    with out.progress("fetching") as report:
        for done, name in enumerate(names):
            report(done, len(names))
            rows.append(fetch(name, target))
    lines = [(row["name"], row["source"], str(row["path"])) for row in rows]
    out.result({"datasets": rows}, columns(("name", "from", "file"), lines, left=3))


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _given(folder: Path | None, must_exist: bool = True) -> Path:
    if folder is None:
        raise click.UsageError("Which folder? Give --data DIR, or set SECATEURS_DATA.")
    found = existing(folder) if must_exist else folder
    assert found is not None
    return found


def existing(folder: Path | None) -> Path | None:
    """Refuse a folder that is none."""
    if folder is not None and not folder.is_dir():
        raise Refusal("no_folder", f"{folder} is no folder. Give one with NAME.csv.gz files.")
    return folder
