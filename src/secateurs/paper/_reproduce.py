"""Reproduce the paper: measure, then write tables, figures, verdicts and a results page."""

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
from secateurs.paper._extra_sheets import (
    authors_sheet,
    credit_sheet,
    measured_sheet,
    settings_sheet,
)
from secateurs.paper._figure_base import PaperFigure, RowSeriesT
from secateurs.paper._kept_sizes import judge_sizes, kept_sizes, kept_sizes_sheet
from secateurs.paper._plan import NOT_REPEATED, PLANS, Plan
from secateurs.paper._plan_files import load_plan
from secateurs.paper._plan_results import load_results, plan_results
from secateurs.paper._plan_runner import MissingDataset, Outcome, run
from secateurs.paper._previous_runs import all_missing_datasets, record_plans, with_previous_plans
from secateurs.paper._printed_fit import distance_sheet, setting_fit_sheet
from secateurs.paper._printed_tables import TABLES
from secateurs.paper._reproduction_page import PageContents, make_reproduction_page
from secateurs.paper.claims import NOT_MEASURED, Claim, Evidence, Judge
from secateurs.progress import open_stage
from secateurs.typing import ExecutorLike

# In the order of their claims on the page.
FIGURES: dict[str, PaperFigure[Any]] = {
    module.FIGURE.plan: module.FIGURE
    for module in (
        *(_figure_speedup, _figure_epfd, _figure_objective),
        *(_figure_lambda, _figure_size, _figure_scale),
    )
}
# Why a short form judges no claims, by whether all, none or some of its rows are the paper's.
_SHORT = {
    (True,): "The paper's data, but fewer members and folds than a verdict needs.",
    (False,): "Stand-in data.",
    (False, True): "Partly stand-in data, and fewer members and folds than a verdict needs.",
}
_EXTRA_TABLES = {
    "settings": (best_fit_ranks_sheet, setting_fit_sheet, settings_sheet),
    "bootstrap": (measured_sheet, setting_fit_sheet),
    "bootstrap-svm": (measured_sheet, setting_fit_sheet),
    "learners": (measured_sheet,),
}


def reproduce(
    out_dir: str | os.PathLike[str],
    *,
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    data_dir: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    callback: Callback | None = None,
    seed: int = 0,
) -> Outcome:
    """Repeat the paper's experiments: measure, then write tables, figures and a page.

    Parameters
    ----------
    out_dir : str or path-like
        Folder for all outputs. An interrupted run continues where it stopped.
    only : str or sequence of str, optional
        Names out of `PLANS`; all of them by default. The page also shows results of previous runs
        in the folder.
    quick, data_dir, n_jobs, executor, callback, seed
        See `run`.

    Returns
    -------
    Outcome
        With the verdicts on the paper's claims.

    See Also
    --------
    run : Only measure.
    """
    # A missing matplotlib is reported now, not after hours of measuring.
    import_extra("matplotlib", "plot", "drawing figures")
    names = PLANS if only is None else (only,) if isinstance(only, str) else tuple(only)
    requested = [load_plan(name, quick, data_dir) for name in dict.fromkeys(names)]
    previous = record_plans(out_dir, requested)
    outcome = run(
        requested,
        out_dir,
        data_dir=data_dir,
        n_jobs=n_jobs,
        executor=executor,
        callback=callback,
        seed=seed,
    )
    with open_stage("making tables and figures"):
        frame = load_results(out_dir)
        plans = with_previous_plans(requested, previous, frame)
        missing = all_missing_datasets(
            plans, frame, datasets.data_folder(data_dir), outcome.missing
        )
        contents = make_contents(plans, frame, missing)
        write_outputs(out_dir, contents)
    return replace(outcome, claims=tuple(contents.claims))


def make_contents(
    plans: Sequence[Plan], frame: pd.DataFrame, missing: Iterable[MissingDataset] = ()
) -> PageContents:
    """Return tables, figures and verdicts made from results; figures are not drawn yet.

    The results may be in any order, and results that plans need and ``frame`` does not have are
    listed as missing. All claims are included: claims without a plan are "not measured", claims of
    short forms "not judged", and claims without results "cannot be told".
    """
    plan_by_name = {plan.name: plan for plan in plans}
    tables = [make_accuracy_table(plan, frame) for plan in plans if plan.name in TABLES]
    extra_sheets = [sheet for plan in plans for sheet in _extra_sheets(plan, frame)]
    sizes = kept_sizes(plans, frame)
    series = {
        name: figure.make_series(plan_by_name[name], frame) if name in plan_by_name else []
        for name, figure in FIGURES.items()
    }
    table_plans = [plan for plan in plans if plan.name in TABLES]
    claims = [_judge_claim(judge, tables, table_plans) for judge in _figure_ranks.JUDGES]
    for name, figure in FIGURES.items():
        mine = [plan for plan in plans if plan.name == name]
        countable = _countable_series(series[name], mine) if figure.judges else ()
        claims += [_judge_claim(judge, countable, mine) for judge in figure.judges]
    claims.append(_judge_claim(judge_sizes, sizes, table_plans))
    pictures = _figure_ranks.all_rank_pictures(tables)
    for plan in plans:
        if plan.name in FIGURES:
            pictures += FIGURES[plan.name].make_pictures(plan, series[plan.name])
    full_tables = [table for table in tables if not table.is_short]
    full_plans = [plan for plan in table_plans if not plan.quick]
    tables_by_seed = [
        [make_accuracy_table(plan, part) for plan in full_plans]
        for _, part in (frame.groupby("seed") if full_plans and len(frame) else ())
    ]
    made = (
        *map(accuracy_sheet, tables),
        *(distance_sheet(full_tables, tables_by_seed), kept_sizes_sheet(sizes), *extra_sheets),
    )
    sheets = [_with_paper_reference(sheet, plan_by_name) for sheet in made if sheet]
    return PageContents(
        plans, claims, tables, sheets, pictures, list(missing), _sources_by_dataset(plans, frame)
    )


def _extra_sheets(plan: Plan, frame: pd.DataFrame) -> list[Sheet | None]:
    """Return the tables of a plan that the paper does not have."""
    if plan.name == "authors":
        return [authors_sheet(plan, frame)]
    if plan.name == "credit":
        return [credit_sheet(plan, frame)]
    if plan.name not in _EXTRA_TABLES:
        return []
    tables = tables_by_setting(plan, frame)
    return [make(tables) for make in _EXTRA_TABLES[plan.name]]


def _with_paper_reference(sheet: Sheet, plans: Mapping[str, Plan]) -> Sheet:
    """Return a table whose caption first names the table of the paper that it repeats."""
    reference = plans[sheet.name].repeated() if sheet.name in plans else NOT_REPEATED
    return replace(sheet, caption=f"{reference} {sheet.caption}")


def _judge_claim(
    judge: Judge[Evidence], evidence: Sequence[Evidence], plans: Sequence[Plan]
) -> Claim:
    """Return a claim with its verdict: "not judged" if any of its plans is a short form."""
    if not plans:
        return replace(judge([]), verdict=NOT_MEASURED)
    if any(plan.quick for plan in plans):
        roles = {row.role == "paper" for plan in plans for row in plan.rows}
        return judge(evidence).unjudged(_SHORT[tuple(sorted(roles))])
    return judge(evidence)


def _countable_series(series: Sequence[RowSeriesT], plans: Sequence[Plan]) -> Sequence[RowSeriesT]:
    """Return the series that count for a verdict: in a full plan, stand-in data do not."""
    if any(plan.quick for plan in plans):
        return series
    return [item for item in series if not item.source.is_stand_in]


def write_outputs(out_dir: str | os.PathLike[str], contents: PageContents) -> list[Path]:
    """Write ``tables/``, ``figures/``, ``claims.json`` and ``index.html``; return all paths.

    Tables of equal accuracies are equal byte for byte, in whatever order the results were measured.
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
    """Return the sources of the measured data sets."""
    sources: dict[str, set[str]] = {}
    for plan in plans:
        for dataset, column in plan_results(plan, frame).groupby("dataset")["source"]:
            sources.setdefault(str(dataset), set()).update(map(str, column))
    return {dataset: ", ".join(sorted(names)) for dataset, names in sources.items()}
