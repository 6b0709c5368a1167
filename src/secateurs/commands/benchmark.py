"""``secateurs benchmark``: compare methods over many data sets, according to a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from secateurs.commands._pruning_options import dask_client, scheduler_option
from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.data import DATA_DIR, check_data_folder
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import DRY_RUN, N_JOBS, common_options, option
from secateurs.exceptions import import_extra
from secateurs.text_format import format_columns

if TYPE_CHECKING:
    from secateurs.benchmarking import Benchmark
    from secateurs.typing import JsonObject


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
@scheduler_option("Train on a Dask cluster: address of its scheduler, or local to start one.")
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

    PLAN.toml names data sets, ensembles and methods. The classes that it names are imported and
    run: use only plans that you trust. Writes tables (text, Markdown, LaTeX, CSV), figures and a
    results page. To resume an interrupted run, run the same command again.

    \b
    secateurs benchmark plan.toml -o results
    """  # noqa: D301
    require_file(plan)
    check_data_folder(data_dir)
    from secateurs.persistence.atomic_files import check_output_folder

    check_output_folder(output)
    from secateurs.commands._benchmark_plan import name_plan_in_errors, read_plan

    with out.show_progress("reading the data sets"), name_plan_in_errors(plan):
        parameters = read_plan(plan, data_dir)
        import_extra("matplotlib", "plot", "drawing figures")  # fail now, not after hours of work
        if dry_run:
            count = _count_measurements(parameters)
    if dry_run:
        out.print_result({"cells": count}, f"{count:,} measurements")
        return
    from secateurs.benchmarking import benchmark as run_benchmark
    from secateurs.commands._plan_modules import upload_plan_modules

    with (
        dask_client(executor, n_jobs, out) as client,
        out.show_progress("measuring") as report,
        name_plan_in_errors(plan),
    ):
        if client is not None:
            upload_plan_modules(client)
        result = run_benchmark(
            **parameters, results=output, n_jobs=n_jobs, executor=client, callback=report
        )
    with out.show_progress("writing"):
        wrote = result.save(output)
    facts = {
        "folder": str(output),
        "page": str(output / "index.html"),
        "ranks": {f"{size:g}": result.ranks(size).to_dict() for size in result.sizes},
        "told": {f"{size:g}": result.describe(size) for size in result.sizes},
        "wrote": list(map(str, wrote)),
    }
    out.print_result(facts, _format_ranks(result))
    out.print_note(f"wrote {output / 'index.html'} and {len(wrote) - 1} more files")


def _count_measurements(parameters: JsonObject) -> int:
    """Check everything that a plan names, and return its number of measurements."""
    from secateurs.benchmarking.study import Study

    study = Study.from_inputs(
        **{name: value for name, value in parameters.items() if name != "title"}
    )
    return sum(len(study.fold_cells(experiment)) for experiment in study.fold_experiments())


def _format_ranks(result: Benchmark) -> str:
    """Return the average ranks per size as a table, and the results of the tests as sentences."""
    ranks = [result.ranks(size) for size in result.sizes]
    best_first = ranks[0].index
    rows = [(method, *(f"{means[method]:.2f}" for means in ranks)) for method in best_first]
    headings = ("average rank", *(f"keep {size:g}" for size in result.sizes))
    tests = [f"keep {size:g}: {result.describe(size)}" for size in result.sizes]
    return "\n\n".join([format_columns(headings, rows), *tests])
