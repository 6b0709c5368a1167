"""Plans of earlier runs: the page of a folder shows all that was measured there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from secateurs.benchmarking._results import write_json
from secateurs.benchmarking._runner import Place
from secateurs.exceptions import InputError, cause_of
from secateurs.paper import datasets
from secateurs.paper._plan import PLANS, Plan
from secateurs.paper._plan_files import measured_plan
from secateurs.paper._results import results_of
from secateurs.paper._runner import Missing, left_out, missing_of

_RECORD = "plans.json"  # beside the results: the plans asked for so far, as they were then


def record_plans(out_dir: str | os.PathLike[str], plans: Iterable[Plan]) -> list[Plan]:
    """Note in the results folder which plans are asked for; return the others noted before."""
    path = Path(Place.of(out_dir).folder).with_name(_RECORD)
    known = _noted(path)
    now = {p.name: {"quick": p.quick, "datasets": [r.dataset for r in p.rows]} for p in plans}
    write_json(path, known | now)
    return [
        measured_plan(name, known[name]["quick"], known[name]["datasets"])
        for name in PLANS
        if name in known and name not in now
    ]


def _noted(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        known = json.loads(path.read_text("utf-8"))
        for form in known.values():
            if not (isinstance(form["quick"], bool) and isinstance(form["datasets"], list)):
                raise ValueError("it names no plans")
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{path} is damaged: {cause_of(error)}. It says which tables and figures belong on the "
            "page. Delete it, and ask for all of them again: what was measured is kept."
        ) from error
    return dict(known)


def with_earlier(asked: Sequence[Plan], earlier: Sequence[Plan], frame: pd.DataFrame) -> list[Plan]:
    """Return plans with those of before that have results, in the order of `PLANS`."""
    measured = [plan for plan in earlier if len(results_of(plan, frame))]
    return sorted((*asked, *measured), key=lambda plan: PLANS.index(plan.name))


def all_missing(
    plans: Sequence[Plan], frame: pd.DataFrame, data_dir: Path | None, known: Iterable[Missing]
) -> list[Missing]:
    """Return the data sets that plans have no results of, with the reasons known of.

    For a short form, these are the ones that the whole plan needs and that are not at hand.
    """
    reasons = {item.dataset: item.reason for item in known}
    lacking: dict[str, list[Plan]] = {}
    for plan in plans:
        there = set(results_of(plan, frame)["dataset"])
        names = dict.fromkeys(row.dataset for row in plan.rows if row.role != "synthetic")
        for name in names if not plan.quick else ():
            if name not in there:
                lacking.setdefault(name, []).append(plan)
    found = [
        missing_of(name, mine, reasons.get(name) or datasets.how_to_get(name))
        for name, mine in lacking.items()
    ]
    return found + left_out(plans, data_dir)
