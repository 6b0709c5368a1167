"""``secateurs report``: write the HTML report of a saved run."""

from pathlib import Path

import click

from secateurs.commands._output_files import OutputFiles
from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import FORCE, common_options, option


@click.command()
@click.argument("run", type=PATH, metavar="RUN.json")
@option("-o", "--output", type=PATH, help="Write to this .html file. Default: RUN.html.")
@FORCE
@common_options
def report(out: Output, run: Path, output: Path | None, force: bool) -> None:
    """Write the HTML report of a run.

    RUN.json is a file that `prune`, `compare` or `frontier` wrote with --run. The report is one
    self-contained file.
    """
    require_file(run)
    from secateurs.report import load_run, write_report

    data = load_run(run)
    page = run.with_suffix(".html") if output is None else output
    OutputFiles(report=page, force=force).check_paths(())
    with out.show_progress("writing the report"):
        write_report(data, page, force=force)
    out.print_note(f"wrote {page}")
    out.print_result({"wrote": [str(page)], "bytes": page.stat().st_size}, "")
