"""Reproduce the paper: measure, then write tables, figures, verdicts and one page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from secateurs import __version__
from secateurs.benchmarking.result_store import write_json
from secateurs.benchmarking.results_page import picture_files, sheet_files, write_folder_files
from secateurs.benchmarking.table_text import Sheet
from secateurs.benchmarking.task_runner import Callback
from secateurs.exceptions import import_extra
from secateurs.paper import (
    _figure_epfd,
    _figure_lambda,
    _figure_objective,
    _figure_ranks,
    _figure_scale,
    _figure_size,
    _figure_speedup,
    datasets,
)
from secateurs.paper._accuracy_sheets import accuracy_sheet
from secateurs.paper._accuracy_tables import make_accuracy_table, tables_by_setting
from secateurs.paper._best_fit_ranks import best_fit_ranks_sheet
from secateurs.paper._extra_sheets import authors_sheet, measured_sheet, settings_sheet
from secateurs.paper._kept_sizes import judge_sizes, kept_sizes, kept_sizes_sheet
from secateurs.paper._plan import NOT_REPEATED, PLANS, Plan
from secateurs.paper._plan_files import load_plan
from secateurs.paper._plan_results import load_results, plan_results
from secateurs.paper._plan_runner import MissingDataset, Outcome, run
from secateurs.paper._previous_runs import all_missing_datasets, record_plans, with_previous_plans
from secateurs.paper._printed_fit import distance_sheet, setting_fit_sheet
from secateurs.paper._printed_tables import TABLES
from secateurs.paper._reproduction_page import PageContents, make_reproduction_page
from secateurs.paper.claims import NOT_MEASURED, Claim, Judge
from secateurs.progress import open_stage

# In the order of their claims.
FIGURES = {
    module.FIGURE.plan: module.FIGURE
    for module in (
        *(_figure_speedup, _figure_epfd, _figure_objective),
        *(_figure_lambda, _figure_size, _figure_scale),
    )
}
# Why a short form judges nothing, by whether rows are the paper's: all of them, none, or some.
_SHORT = {
    (True,): "The paper's data, but fewer members and folds than a verdict needs.",
    (False,): "Stand-in data.",
    (False, True): "Stand-in data in part, and fewer members and folds than a verdict needs.",
}
_EXTRA_TABLES = {
    "settings": (best_fit_ranks_sheet, setting_fit_sheet, settings_sheet),
    "bootstrap": (measured_sheet, setting_fit_sheet),
    "learners": (measured_sheet,),
}


def reproduce(
    out_dir: str | os.PathLike[str],
    *,
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    data_dir: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    callback: Callback | None = None,
    seed: int = 0,
) -> Outcome:
    """Repeat the paper's experiments: measure, then write tables, figures and a page.

    Parameters
    ----------
    out_dir : str or path-like
        Folder for everything that is made. An interrupted run continues where it stopped.
    only : str or sequence of str, optional
        Names of `PLANS`; all of them by default. What earlier runs left in the folder stays on the
        page.
    quick, data_dir, n_jobs, executor, callback, seed
        As for `run`.

    Returns
    -------
    Outcome
        With the verdicts on the paper's claims.

    See Also
    --------
    run : Only measures.
    """
    import_extra("matplotlib", "plot", "drawing figures")  # now, not after hours
    names = PLANS if only is None else (only,) if isinstance(only, str) else tuple(only)
    asked = [load_plan(name, quick, data_dir) for name in dict.fromkeys(names)]
    earlier = record_plans(out_dir, asked)
    workers = {"n_jobs": n_jobs, "executor": executor}
    outcome = run(asked, out_dir, data_dir=data_dir, callback=callback, seed=seed, **workers)
    with open_stage("making tables and figures"):
        frame = load_results(out_dir)
        plans = with_previous_plans(asked, earlier, frame)
        missing = all_missing_datasets(
            plans, frame, datasets.data_folder(data_dir), outcome.missing
        )
        contents = make_contents(plans, frame, missing)
        write_outputs(out_dir, contents)
    return replace(outcome, claims=tuple(contents.claims))


def make_contents(
    plans: Sequence[Plan], frame: pd.DataFrame, missing: Iterable[MissingDataset] = ()
) -> PageContents:
    """Turn results into tables, figures and verdicts.

    Parameters
    ----------
    plans : sequence of Plan
        What was run.
    frame : DataFrame
        Results, one row per cell, in any order. What plans ask for and is not there is named as
        missing.
    missing : iterable of MissingDataset
        Data sets that are not available.

    Returns
    -------
    PageContents
        All claims are there; those without a plan are not measured, those of a short form not
        judged, and those without results cannot be told. Figures are not drawn yet.
    """
    known = {plan.name: plan for plan in plans}
    tables = [make_accuracy_table(plan, frame) for plan in plans if plan.name in TABLES]
    extra = [sheet for plan in plans for sheet in _extra_sheets(plan, frame)]
    sizes = kept_sizes(plans, frame)
    series = {
        name: figure.series(known[name], frame) if name in known else []
        for name, figure in FIGURES.items()
    }
    of_tables = [plan for plan in plans if plan.name in TABLES]
    claims = [_judge_claim(judge, tables, of_tables) for judge in _figure_ranks.JUDGES]
    for name, figure in FIGURES.items():
        mine = [plan for plan in plans if plan.name == name]
        countable = _countable_series(series[name], mine) if figure.judges else ()
        claims += [_judge_claim(judge, countable, mine) for judge in figure.judges]
    claims.append(_judge_claim(judge_sizes, sizes, of_tables))
    pictures = _figure_ranks.all_rank_pictures(tables)
    for plan in plans:
        if plan.name in FIGURES:
            pictures += FIGURES[plan.name].pictures(plan, series[plan.name])
    whole = [table for table in tables if not table.is_short]
    more = (distance_sheet(whole), kept_sizes_sheet(sizes), *extra)
    sheets = [_with_paper_reference(s, known) for s in (*map(accuracy_sheet, tables), *more) if s]
    return PageContents(
        plans, claims, tables, sheets, pictures, list(missing), _sources_by_dataset(plans, frame)
    )


def _extra_sheets(plan: Plan, frame: pd.DataFrame) -> list[Sheet | None]:
    """Return the tables of a plan that the paper lacks."""
    if plan.name == "authors":
        return [authors_sheet(plan, frame)]
    if plan.name not in _EXTRA_TABLES:
        return []
    tables = tables_by_setting(plan, frame)
    return [make(tables) for make in _EXTRA_TABLES[plan.name]]


def _with_paper_reference(sheet: Sheet, plans: Mapping[str, Plan]) -> Sheet:
    """Return a table that says which one of the paper it repeats."""
    told = plans[sheet.name].repeated() if sheet.name in plans else NOT_REPEATED
    return replace(sheet, caption=f"{told} {sheet.caption}")


def _judge_claim(judge: Judge, evidence: Sequence[Any], plans: Sequence[Plan]) -> Claim:
    """Judge a claim, unless there is only a short form of what it rests on."""
    if not plans:
        return replace(judge([]), verdict=NOT_MEASURED)
    if any(plan.quick for plan in plans):
        roles = {row.role == "paper" for plan in plans for row in plan.rows}
        return judge(evidence).unjudged(_SHORT[tuple(sorted(roles))])
    return judge(evidence)


def _countable_series(series: Sequence[Any], plans: Sequence[Plan]) -> Sequence[Any]:
    """Return the series that count for a verdict: not those of stand-ins in a whole plan."""
    if any(plan.quick for plan in plans):
        return series
    return [item for item in series if not item.source.is_stand_in]


def write_outputs(out_dir: str | os.PathLike[str], contents: PageContents) -> list[Path]:
    """Write ``tables/``, ``figures/``, ``claims.json`` and ``index.html``; return all paths.

    Tables are identical to the byte for the same accuracies, whatever the order of results.
    """
    folder = Path(out_dir)
    pictures = picture_files(contents.pictures)
    drawn = {p.name: pictures[f"figures/{p.name}.svg"] for p in contents.pictures}
    made = sheet_files(contents.sheets) | pictures
    paths = write_folder_files(
        folder, made | {"index.html": make_reproduction_page(contents, drawn).encode()}
    )
    claims = [asdict(claim) for claim in contents.claims]
    write_json(folder / "claims.json", {"secateurs": __version__, "claims": claims})
    return [*paths, folder / "claims.json"]


def _sources_by_dataset(plans: Iterable[Plan], frame: pd.DataFrame) -> dict[str, str]:
    """Return where the data sets came from."""
    found: dict[str, set[str]] = {}
    for plan in plans:
        for dataset, sources in plan_results(plan, frame).groupby("dataset")["source"]:
            found.setdefault(str(dataset), set()).update(map(str, sources))
    return {dataset: ", ".join(sorted(sources)) for dataset, sources in found.items()}
