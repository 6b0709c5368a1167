"""``secateurs reproduce``: the paper's experiments, again."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from secateurs.commands._errors import Refusal
from secateurs.commands._method import cluster
from secateurs.commands._options import PATH, SEED, Workers, common, on_workers
from secateurs.commands._output import Output, columns
from secateurs.commands._types import near
from secateurs.commands.data import FOLDER, existing


class PlanName(click.ParamType):  # type: ignore[type-arg]
    """A table or figure of the paper, by the name of its plan."""

    name = "NAME"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Take the name of a plan."""
        if value not in plan_names():
            self.fail(f"{value!r} is no table or figure.{near(value, plan_names())}", param, ctx)
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Offer the plans that begin so."""
        return [CompletionItem(name) for name in plan_names() if name.startswith(incomplete)]


def plan_names() -> list[str]:
    """Name the plans without loading what they need."""
    folder = files("secateurs") / "paper" / "plans"
    return sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".toml"))


@click.command()
@click.option(
    "--only",
    type=PlanName(),
    multiple=True,
    help="One table or figure, such as table-dt; repeatable. Default: all.",
)
@click.option(
    "--quick/--full",
    default=False,
    show_default=True,
    help="Small data sets that are at hand, in minutes; or everything, in hours.",
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("reproduction"),
    show_default=True,
    help="Folder for all that is made. A run that was stopped goes on.",
)
@FOLDER
@SEED
@on_workers("Ensembles made at once.", "Make the ensembles on a Dask cluster.")
@click.option("--dry-run", is_flag=True, help="Count what there is to measure, then stop.")
@common
def reproduce(
    *,
    out: Output,
    only: tuple[str, ...],
    quick: bool,
    output: Path,
    folder: Path | None,
    seed: int,
    workers: Workers,
    dry_run: bool,
) -> None:
    """Repeat the paper's experiments: tables, figures and a page of results.

    Stopped runs go on where they were when the same command is typed again.

    \b
    secateurs reproduce --quick --only table-dt -o results
    """  # noqa: D301
    existing(folder)
    if output.exists() and not output.is_dir():
        raise Refusal("no_folder", f"{output} is no folder. Give another one.")
    from secateurs.paper import PLANS, load_plan
    from secateurs.paper import reproduce as run_plans

    if dry_run:
        counts = {name: _n_cells(load_plan(name, quick)) for name in only or PLANS}
        rows = [(name, f"{count:,}") for name, count in counts.items()]
        out.result({"cells": counts}, columns(("", "cells"), rows))
        return
    with cluster(workers, out) as client, out.progress("measuring") as report:
        outcome = run_plans(
            output,
            only=only or None,
            quick=quick,
            data_dir=folder,
            n_jobs=workers.jobs,
            executor=client,
            callback=report,
            seed=seed,
        )
    facts = {
        "folder": str(output),
        "cells": outcome.n_cells,
        "measured_now": outcome.n_run,
        "seconds": outcome.seconds,
        "missing": {item.dataset: item.reason for item in outcome.missing},
        "claims": {claim.claim: claim.verdict for claim in outcome.claims},
        "page": str(output / "index.html"),
        "tables": _files(output / "tables"),
        "figures": _files(output / "figures"),
    }
    out.result(facts, _text(facts))
    _say_missing(out, outcome.missing, quick)


def _n_cells(plan: Any) -> int:
    return len(set(plan.cells(0)))


def _files(folder: Path) -> list[str]:
    return sorted(map(str, folder.glob("*")))


def _text(facts: dict[str, Any]) -> str:
    from secateurs.paper._claims import UNKNOWN

    lines = [
        ("measured", f"{facts['cells']:,} cells, {facts['measured_now']:,} of them now"),
        ("data sets missing", ", ".join(facts["missing"]) or "none"),
    ]
    for kind in ("tables", "figures"):
        count = len({Path(name).stem for name in facts[kind]})
        if count:
            lines.append((kind, f"{count} in {Path(facts['folder']) / kind}"))
    lines.append(("page", facts["page"]))
    told = [(v, claim) for claim, v in facts["claims"].items() if v != UNKNOWN]
    if n_open := len(facts["claims"]) - len(told):
        told.append((UNKNOWN, f"{n_open} of the paper's claims, from what was measured"))
    return f"{columns(('', ''), lines, left=2)}\n\n{columns(('', ''), told, left=2)}"


def _say_missing(out: Output, missing: Sequence[Any], quick: bool) -> None:
    if not missing:
        return
    lines = "1 data set is" if len(missing) == 1 else f"{len(missing)} data sets are"
    if quick:
        out.note(f"{lines} not in it, with no place in --quick or no file; missing.json says more")
    else:
        out.warn(f"{lines} not in it: missing.json says why, `secateurs data list` where from.")
