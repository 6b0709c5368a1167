"""``secateurs reproduce``: repeat the experiments of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from secateurs.commands._pruning_options import dask_client, scheduler_option
from secateurs.commands.console_output import Output
from secateurs.commands.data import DATA_DIR, check_data_folder
from secateurs.commands.parameter_types import PATH, NameParam
from secateurs.commands.shared_options import N_JOBS, RANDOM_STATE, common_options, option
from secateurs.text_format import format_columns, format_count

if TYPE_CHECKING:
    from secateurs.paper.claims import Claim
    from secateurs.typing import JsonObject


def plan_names() -> list[str]:
    """Return the names of the plans, without importing `secateurs.paper`."""
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
    help="--quick takes minutes and gives no verdicts: it uses small data sets of the paper from "
    "--data, or substitutes without it. --full runs everything and takes hours.",
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
@scheduler_option("Train on a Dask cluster: address of its scheduler, or local to start one.")
@option("--dry-run", is_flag=True, help="Print the number of measurements, then stop.")
@option(
    "--authors",
    type=PATH,
    metavar="DIR",
    help="Instead of the experiments: run the authors' program and this library on the same votes, "
    "and write a page that compares them. DIR contains clones of github.com/eustomaqua/EPFD and "
    "github.com/eustomaqua/PyEnsemble; nothing is downloaded.",
)
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
    authors: Path | None,
) -> None:
    """Reproduce the experiments of the paper.

    Writes tables, figures and a results page, which includes the results of earlier runs in the
    same folder. To resume an interrupted run, run the same command again.

    \b
    secateurs reproduce --quick --only table-dt -o results
    """  # noqa: D301
    check_data_folder(data_dir)
    from secateurs.persistence.atomic_files import check_output_folder

    check_output_folder(output)
    if authors is not None:
        if only or quick or executor or dry_run:
            raise click.UsageError(
                "--authors cannot be used with --only, --quick, --scheduler or --dry-run."
            )
        _compare_with_authors(out, authors, output)
        return
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


def _compare_with_authors(out: Output, folder: Path, output: Path) -> None:
    from secateurs.paper._authors_comparison import compare_with_authors

    with out.show_progress("comparing with the authors' program"):
        rows = compare_with_authors(folder, output)
    equal = Counter(row["method"] for row in rows if row["is_equal"])
    total = Counter(row["method"] for row in rows)
    lines = [(method, f"{equal[method]} of {count} equal") for method, count in total.items()]
    lines.append(("page", str(output / "authors.html")))
    facts = {"rows": rows, "page": str(output / "authors.html")}
    out.print_result(facts, format_columns(("", ""), lines, left=2))


def _format_outcome(facts: JsonObject, claims: Sequence[Claim]) -> str:
    """Return the verdicts, the paths of the results and the missing data sets as text."""
    from secateurs.paper.claims import NOT_JUDGED, NOT_MEASURED, UNKNOWN

    undecided = (UNKNOWN, NOT_JUDGED, NOT_MEASURED)  # only counted
    verdicts = [(claim.verdict, claim.claim) for claim in claims if claim.verdict not in undecided]
    for verdict in undecided:
        reasons = Counter(
            claim.reason if verdict == NOT_JUDGED else ""
            for claim in claims
            if claim.verdict == verdict
        )
        for reason, count in reasons.items():
            verdicts.append(
                (verdict, f"{format_count(count, 'claim')} of the paper. {reason}".rstrip())
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


def _note_missing(out: Output, missing: Sequence[object], quick: bool) -> None:
    if not missing:
        return
    data_sets = "1 data set is" if len(missing) == 1 else f"{len(missing)} data sets are"
    if quick:
        out.print_note(f"{data_sets} missing (see missing.json), or not part of --quick")
    else:
        out.warn(
            f"{data_sets} missing. See missing.json, and `secateurs data list` for their sources."
        )
