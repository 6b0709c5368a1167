"""Plans of previous runs: the page of a folder shows all results that were measured in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from secateurs.benchmarking.result_store import write_json
from secateurs.benchmarking.task_runner import ResultsFolder
from secateurs.exceptions import InputError, describe_error
from secateurs.paper import datasets
from secateurs.paper._plan import PLANS, Plan
from secateurs.paper._plan_files import measured_plan
from secateurs.paper._plan_results import plan_results
from secateurs.paper._plan_runner import MissingDataset, left_out_datasets, missing_dataset
from secateurs.typing import JsonObject

_RECORD = "plans.json"  # beside the results: the form and data sets of all plans run so far


def record_plans(out_dir: str | os.PathLike[str], plans: Iterable[Plan]) -> list[Plan]:
    """Record plans in the results folder; return the other plans recorded by previous runs."""
    path = Path(ResultsFolder.create(out_dir).path).with_name(_RECORD)
    recorded = _read_recorded_plans(path)
    current = {p.name: {"quick": p.quick, "datasets": [r.dataset for r in p.rows]} for p in plans}
    write_json(path, recorded | current)
    return [
        measured_plan(name, recorded[name]["quick"], recorded[name]["datasets"])
        for name in PLANS
        if name in recorded and name not in current
    ]


def _read_recorded_plans(path: Path) -> dict[str, JsonObject]:
    """Read the plans that earlier runs into the folder recorded."""
    if not path.is_file():
        return {}
    try:
        recorded = json.loads(path.read_text("utf-8"))
        for form in recorded.values():
            if not (isinstance(form["quick"], bool) and isinstance(form["datasets"], list)):
                raise ValueError("it does not describe plans")
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{path} is damaged: {describe_error(error)}. It lists the tables and figures of the "
            "page. Delete it and run all of them again: the measured results are kept."
        ) from error
    return dict(recorded)


def with_previous_plans(
    plans: Sequence[Plan], previous: Sequence[Plan], frame: pd.DataFrame
) -> list[Plan]:
    """Return plans and the previous plans with results, in the order of `PLANS`."""
    measured = [plan for plan in previous if len(plan_results(plan, frame))]
    return sorted((*plans, *measured), key=lambda plan: PLANS.index(plan.name))


def all_missing_datasets(
    plans: Sequence[Plan],
    frame: pd.DataFrame,
    data_dir: Path | None,
    missing: Iterable[MissingDataset],
) -> list[MissingDataset]:
    """Return the data sets without results, with the reasons of the current run where it has them.

    For a short form, these are the data sets of the full form that are not available locally.
    """
    reasons = {item.dataset: item.reason for item in missing}
    plans_without: dict[str, list[Plan]] = {}
    for plan in plans:
        measured = set(plan_results(plan, frame)["dataset"])
        names = dict.fromkeys(row.dataset for row in plan.rows if row.role != "synthetic")
        for name in names if not plan.quick else ():
            if name not in measured:
                plans_without.setdefault(name, []).append(plan)
    of_full_forms = [
        missing_dataset(name, users, reasons.get(name) or datasets.how_to_get(name))
        for name, users in plans_without.items()
    ]
    return of_full_forms + left_out_datasets(plans, data_dir)
