"""``secateurs benchmark``: methods over many data sets, by a plan."""

from pathlib import Path
from typing import Any

import click

from secateurs.commands._pruning_options import dask_client, scheduler_option
from secateurs.commands._table_files import require_file
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.data import DATA_DIR, check_data_folder
from secateurs.commands.shared_options import DRY_RUN, N_JOBS, PATH, common_options, option
from secateurs.exceptions import import_extra
from secateurs.text_format import format_columns


@click.command()
@click.argument("plan", type=PATH, metavar="PLAN.toml")
@option(
    "-o",
    "--output",
    type=PATH,
    default=Path("benchmark"),
    show_default=True,
    help="Folder for all results. An interrupted run is resumed.",
)
@DATA_DIR
@N_JOBS
@scheduler_option("Address of a Dask scheduler, or local: train the ensembles on a cluster.")
@DRY_RUN
@common_options
def benchmark(
    *,
    out: Output,
    plan: Path,
    output: Path,
    data_dir: Path | None,
    n_jobs: int | None,
    executor: str | None,
    dry_run: bool,
) -> None:
    """Compare pruning methods over many data sets.

    PLAN.toml names data sets, ensembles and methods; running it runs the classes it names. Writes
    tables (text, Markdown, LaTeX, CSV), figures and a page. To resume an interrupted run, run the
    same command again.

    \b
    secateurs benchmark plan.toml -o results
    """  # noqa: D301
    require_file(plan)
    check_data_folder(data_dir)
    if output.exists() and not output.is_dir():
        raise Refusal("no_folder", f"{output} is not a folder. Give another one.")
    from secateurs.commands._benchmark_plan import name_plan_in_errors, read_plan

    with out.show_progress("reading the data sets"), name_plan_in_errors(plan):
        parameters = read_plan(plan, data_dir)
        import_extra("matplotlib", "plot", "drawing figures")  # now, not after hours
        if dry_run:
            count = _count_measurements(parameters)
    if dry_run:
        out.print_result({"cells": count}, f"{count:,} measurements")
        return
    from secateurs.benchmarking import benchmark as run_benchmark

    with (
        dask_client(executor, n_jobs, out) as client,
        out.show_progress("measuring") as report,
        name_plan_in_errors(plan),
    ):
        found = run_benchmark(
            **parameters, results=output, n_jobs=n_jobs, executor=client, callback=report
        )
    with out.show_progress("writing"):
        wrote = found.save(output)
    facts = {
        "folder": str(output),
        "page": str(output / "index.html"),
        "ranks": {f"{size:g}": found.ranks(size).to_dict() for size in found.sizes},
        "told": {f"{size:g}": found.describe(size) for size in found.sizes},
        "wrote": list(map(str, wrote)),
    }
    out.print_result(facts, _format_ranks(found))
    out.print_note(f"wrote {output / 'index.html'}, and {len(wrote) - 1} files beside it")


def _count_measurements(parameters: dict[str, Any]) -> int:
    """Check all that a plan names; return how many measurements it asks for."""
    from secateurs.benchmarking.study import Study

    study = Study.from_inputs(
        **{name: value for name, value in parameters.items() if name != "title"}
    )
    return sum(len(study.fold_cells(work)) for work in study.fold_experiments())


def _format_ranks(found: Any) -> str:
    """Return the average ranks by size, and what the tests say."""
    ranks = {size: found.ranks(size) for size in found.sizes}
    best_first = ranks[found.sizes[0]].index
    rows = [(method, *(f"{of[method]:.2f}" for of in ranks.values())) for method in best_first]
    headings = ("average rank", *(f"keep {size:g}" for size in found.sizes))
    told = [f"keep {size:g}: {found.describe(size)}" for size in found.sizes]
    return "\n\n".join([format_columns(headings, rows), *told])
