"""Plans of earlier runs: the page of a folder shows all that was measured there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from secateurs.benchmarking.result_store import write_json
from secateurs.benchmarking.task_runner import ResultsFolder
from secateurs.exceptions import InputError, describe_error
from secateurs.paper import datasets
from secateurs.paper._plan import PLANS, Plan
from secateurs.paper._plan_files import measured_plan
from secateurs.paper._plan_results import plan_results
from secateurs.paper._plan_runner import MissingDataset, left_out_datasets, missing_dataset

_RECORD = "plans.json"  # beside the results: the plans asked for so far, as they were then


def record_plans(out_dir: str | os.PathLike[str], plans: Iterable[Plan]) -> list[Plan]:
    """Note in the results folder which plans are asked for; return the others noted before."""
    path = Path(ResultsFolder.create(out_dir).path).with_name(_RECORD)
    known = _read_recorded_plans(path)
    now = {p.name: {"quick": p.quick, "datasets": [r.dataset for r in p.rows]} for p in plans}
    write_json(path, known | now)
    return [
        measured_plan(name, known[name]["quick"], known[name]["datasets"])
        for name in PLANS
        if name in known and name not in now
    ]


def _read_recorded_plans(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        known = json.loads(path.read_text("utf-8"))
        for form in known.values():
            if not (isinstance(form["quick"], bool) and isinstance(form["datasets"], list)):
                raise ValueError("it names no plans")
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{path} is damaged: {describe_error(error)}. It says which tables and figures belong on the "
            "page. Delete it, and ask for all of them again: what was measured is kept."
        ) from error
    return dict(known)


def with_previous_plans(
    asked: Sequence[Plan], earlier: Sequence[Plan], frame: pd.DataFrame
) -> list[Plan]:
    """Return plans with those of before that have results, in the order of `PLANS`."""
    measured = [plan for plan in earlier if len(plan_results(plan, frame))]
    return sorted((*asked, *measured), key=lambda plan: PLANS.index(plan.name))


def all_missing_datasets(
    plans: Sequence[Plan],
    frame: pd.DataFrame,
    data_dir: Path | None,
    known: Iterable[MissingDataset],
) -> list[MissingDataset]:
    """Return the data sets that plans have no results of, with the reasons known of.

    For a short form, these are the ones that the whole plan needs and that are not at hand.
    """
    reasons = {item.dataset: item.reason for item in known}
    lacking: dict[str, list[Plan]] = {}
    for plan in plans:
        there = set(plan_results(plan, frame)["dataset"])
        names = dict.fromkeys(row.dataset for row in plan.rows if row.role != "synthetic")
        for name in names if not plan.quick else ():
            if name not in there:
                lacking.setdefault(name, []).append(plan)
    found = [
        missing_dataset(name, mine, reasons.get(name) or datasets.how_to_get(name))
        for name, mine in lacking.items()
    ]
    return found + left_out_datasets(plans, data_dir)
