"""``secateurs report``: the page of a run."""

from pathlib import Path

import click

from secateurs.commands._input import require_file
from secateurs.commands._options import FORCE, PATH, common
from secateurs.commands._output import Output
from secateurs.commands._targets import Targets


@click.command()
@click.argument("run", type=PATH, metavar="RUN.json")
@click.option("-o", "--output", type=PATH, help="Where to. Default: RUN.html.")
@FORCE
@common
def report(out: Output, run: Path, output: Path | None, force: bool) -> None:
    """Make the page of a run: one HTML file that needs nothing else.

    RUN.json is what `prune` and `compare` write with --run.
    """
    require_file(run)
    from secateurs.report import load_run, write_report

    page = run.with_suffix(".html") if output is None else output
    Targets(report=page, force=force).check(())
    with out.progress("making the page"):
        write_report(load_run(run), page, force=force)
    out.note(f"wrote {page}")
    out.result({"wrote": [str(page)], "bytes": page.stat().st_size}, "")
