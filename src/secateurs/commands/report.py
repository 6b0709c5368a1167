"""``secateurs report``: the HTML report of a run."""

from pathlib import Path

import click

from secateurs.commands._options import FORCE, PATH, common, option
from secateurs.commands._output import Output
from secateurs.commands._tables import require_file
from secateurs.commands._targets import Targets


@click.command()
@click.argument("run", type=PATH, metavar="RUN.json")
@option("-o", "--output", type=PATH, help="Write to this .html file. Default: RUN.html.")
@FORCE
@common
def report(out: Output, run: Path, output: Path | None, force: bool) -> None:
    """Write the HTML report of a run.

    RUN.json is written by `prune` and `compare` with --run. The report is one self-contained file.
    """
    require_file(run)
    from secateurs.report import load_run, write_report

    page = run.with_suffix(".html") if output is None else output
    Targets(report=page, force=force).check(())
    with out.progress("writing the report"):
        write_report(load_run(run), page, force=force)
    out.note(f"wrote {page}")
    out.result({"wrote": [str(page)], "bytes": page.stat().st_size}, "")
