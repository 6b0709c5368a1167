"""Reproduce the paper: measure, then write tables, figures, verdicts and one page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from secateurs import __version__
from secateurs.benchmarking._page import picture_files, sheet_files, write_all
from secateurs.benchmarking._results import write_json
from secateurs.benchmarking._runner import Callback
from secateurs.exceptions import import_extra
from secateurs.paper import (
    _figure_epfd,
    _figure_lambda,
    _figure_objective,
    _figure_ranks,
    _figure_scale,
    _figure_size,
    _figure_speedup,
)
from secateurs.paper._accuracy_sheets import accuracy_sheet
from secateurs.paper._accuracy_tables import make_table
from secateurs.paper._extra_tables import authors_sheet, measured_sheet, settings_sheet
from secateurs.paper._fit_ranks import fit_ranks_sheet
from secateurs.paper._kept_sizes import judge_sizes, kept_sheet, kept_sizes
from secateurs.paper._page import Contents, make_page
from secateurs.paper._plan import PLANS, Plan, load_plan
from secateurs.paper._printed import TABLES
from secateurs.paper._printed_fit import distance_sheet, fit_sheet
from secateurs.paper._results import load_results, results_of
from secateurs.paper._runner import Missing, Outcome, run

# In the order of their claims.
FIGURES = {
    module.FIGURE.plan: module.FIGURE
    for module in (
        *(_figure_speedup, _figure_epfd, _figure_objective),
        *(_figure_lambda, _figure_size, _figure_scale),
    )
}
_EXTRA_TABLES = {
    "settings": (fit_ranks_sheet, fit_sheet, settings_sheet),
    "bootstrap": (measured_sheet, fit_sheet),
    "learners": (measured_sheet,),
    "authors": (authors_sheet,),
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
        Names of `PLANS`; all of them by default.
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
    plans = [load_plan(name, quick) for name in names]
    workers = {"n_jobs": n_jobs, "executor": executor}
    outcome = run(plans, out_dir, data_dir=data_dir, callback=callback, seed=seed, **workers)
    contents = make_contents(plans, load_results(out_dir), outcome.missing)
    write_outputs(out_dir, contents)
    return replace(outcome, claims=tuple(contents.claims))


def make_contents(
    plans: Sequence[Plan], frame: pd.DataFrame, missing: Iterable[Missing] = ()
) -> Contents:
    """Turn results into tables, figures and verdicts.

    Parameters
    ----------
    plans : sequence of Plan
        What was run.
    frame : DataFrame
        Results, one row per cell, in any order. What plans ask for and is not there is named as
        missing.
    missing : iterable of Missing
        Data sets that are not available.

    Returns
    -------
    Contents
        All claims are there; those without results cannot be told. Figures are not drawn yet.
    """
    known = {plan.name: plan for plan in plans}
    tables = [make_table(plan, frame) for plan in plans if plan.name in TABLES]
    extra = [make(plan, frame) for plan in plans for make in _EXTRA_TABLES.get(plan.name, ())]
    sizes = kept_sizes(plans, frame)
    series = {
        name: figure.series(known[name], frame) if name in known else []
        for name, figure in FIGURES.items()
    }
    claims = [judge(tables) for judge in _figure_ranks.JUDGES]
    claims += [judge(series[n]) for n, figure in FIGURES.items() for judge in figure.judges]
    claims.append(judge_sizes(sizes))
    pictures = _figure_ranks.all_rank_pictures(tables)
    for plan in plans:
        if plan.name in FIGURES:
            pictures += FIGURES[plan.name].pictures(plan, series[plan.name])
    more = (distance_sheet(tables), kept_sheet(sizes), *extra)
    sheets = [*map(accuracy_sheet, tables), *filter(None, more)]
    return Contents(plans, claims, tables, sheets, pictures, list(missing), _sources(plans, frame))


def write_outputs(out_dir: str | os.PathLike[str], contents: Contents) -> list[Path]:
    """Write ``tables/``, ``figures/``, ``claims.json`` and ``index.html``; return all paths.

    Tables are identical to the byte for the same accuracies, whatever the order of results.
    """
    folder = Path(out_dir)
    pictures = picture_files(contents.pictures)
    drawn = {p.name: pictures[f"figures/{p.name}.svg"] for p in contents.pictures}
    made = sheet_files(contents.sheets) | pictures
    paths = write_all(folder, made | {"index.html": make_page(contents, drawn).encode()})
    claims = [asdict(claim) for claim in contents.claims]
    write_json(folder / "claims.json", {"secateurs": __version__, "claims": claims})
    return [*paths, folder / "claims.json"]


def _sources(plans: Iterable[Plan], frame: pd.DataFrame) -> dict[str, str]:
    """Return where the data sets came from."""
    found: dict[str, set[str]] = {}
    for plan in plans:
        for dataset, sources in results_of(plan, frame).groupby("dataset")["source"]:
            found.setdefault(str(dataset), set()).update(map(str, sources))
    return {dataset: ", ".join(sorted(sources)) for dataset, sources in found.items()}
