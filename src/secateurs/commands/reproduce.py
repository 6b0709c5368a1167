"""``secateurs reproduce``: the experiments of the paper."""

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from secateurs.commands._pruning_options import dask_client, scheduler_option
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.data import DATA_DIR, check_data_folder
from secateurs.commands.shared_options import (
    N_JOBS,
    PATH,
    RANDOM_STATE,
    NameParam,
    common_options,
    option,
)
from secateurs.text_format import format_columns, format_count


def plan_names() -> list[str]:
    """Return the names of the plans, without loading what they need."""
    folder = files("secateurs") / "paper" / "plans"
    return sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".toml"))


@click.command()
@option(
    "--only",
    type=NameParam("table or figure", dict.fromkeys(plan_names(), "")),
    multiple=True,
    help="Table or figure to reproduce, such as table-dt; repeatable. Default: all.",
)
@option(
    "--quick/--full",
    default=False,
    show_default=True,
    help="In minutes, without verdicts: small data sets of the paper from the folder of --data, "
    "stand-ins without it. Or everything, in hours.",
)
@option(
    "-o",
    "--output",
    type=PATH,
    default=Path("reproduction"),
    show_default=True,
    help="Folder for all results. An interrupted run is resumed.",
)
@DATA_DIR
@RANDOM_STATE
@N_JOBS
@scheduler_option("Address of a Dask scheduler, or local: train the ensembles on a cluster.")
@option("--dry-run", is_flag=True, help="Count the measurements to make, then stop.")
@common_options
def reproduce(
    *,
    out: Output,
    only: tuple[str, ...],
    quick: bool,
    output: Path,
    data_dir: Path | None,
    random_state: int,
    n_jobs: int | None,
    executor: str | None,
    dry_run: bool,
) -> None:
    """Reproduce the experiments of the paper.

    Writes tables, figures and a page of results; what earlier runs left in the folder stays on the
    page. To resume an interrupted run, run the same command again.

    \b
    secateurs reproduce --quick --only table-dt -o results
    """  # noqa: D301
    check_data_folder(data_dir)
    if output.exists() and not output.is_dir():
        raise Refusal("no_folder", f"{output} is not a folder. Give another one.")
    from secateurs.paper import PLANS, load_plan
    from secateurs.paper import reproduce as run_plans

    if dry_run:
        plans = [load_plan(name, quick, data_dir) for name in only or PLANS]
        counts = {plan.name: len(set(plan.cells(0))) for plan in plans}
        rows = [(name, f"{count:,}") for name, count in counts.items()]
        out.print_result({"cells": counts}, format_columns(("", "measurements"), rows))
        return
    with dask_client(executor, n_jobs, out) as client, out.show_progress("measuring") as report:
        outcome = run_plans(
            output,
            only=only or None,
            quick=quick,
            data_dir=data_dir,
            n_jobs=n_jobs,
            executor=client,
            callback=report,
            seed=random_state,
        )
    facts = {
        "folder": str(output),
        "cells": outcome.n_cells,
        "measured_now": outcome.n_run,
        "seconds": outcome.seconds,
        "missing": {item.dataset: item.reason for item in outcome.missing},
        "claims": {claim.claim: claim.verdict for claim in outcome.claims},
        "page": str(output / "index.html"),
    }
    for kind in ("tables", "figures"):
        facts[kind] = sorted(map(str, (output / kind).glob("*")))
    out.print_result(facts, _format_outcome(facts, outcome.claims))
    _note_missing(out, outcome.missing, quick)


def _format_outcome(facts: dict[str, Any], claims: Sequence[Any]) -> str:
    """Return verdicts first, then where everything is, then what is missing."""
    from secateurs.paper.claims import NOT_JUDGED, NOT_MEASURED, UNKNOWN

    others = (UNKNOWN, NOT_JUDGED, NOT_MEASURED)
    verdicts = [(claim.verdict, claim.claim) for claim in claims if claim.verdict not in others]
    for verdict in others:
        mine = [c.weighed if verdict == NOT_JUDGED else "" for c in claims if c.verdict == verdict]
        for why, count in Counter(mine).items():
            verdicts.append(
                (verdict, f"{format_count(count, 'claim')} of the paper. {why}".rstrip())
            )
    lines = [("measurements", f"{facts['cells']:,}, {facts['measured_now']:,} of them new")]
    for kind in ("tables", "figures"):
        count = len({Path(name).stem for name in facts[kind]})
        if count:
            lines.append((kind, f"{count} in {Path(facts['folder']) / kind}"))
    lines.append(("page", facts["page"]))
    lines.append(("missing data sets", ", ".join(facts["missing"]) or "none"))
    return (
        f"{format_columns(('', ''), verdicts, left=2)}\n\n{format_columns(('', ''), lines, left=2)}"
    )


def _note_missing(out: Output, missing: Sequence[Any], quick: bool) -> None:
    if not missing:
        return
    lines = "1 data set is" if len(missing) == 1 else f"{len(missing)} data sets are"
    if quick:
        out.print_note(f"{lines} missing: not part of --quick, or without a file; see missing.json")
    else:
        out.warn(f"{lines} missing. See missing.json, and `secateurs data list` for their sources.")
