"""Plans as TOML files, one for each table or figure of the paper."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from secateurs.benchmarking.splits_and_seeds import N_FOLDS
from secateurs.exceptions import InputError, reading_file
from secateurs.paper import datasets
from secateurs.paper._bagging_protocol import STRATIFIED, SYNTHETIC
from secateurs.paper._plan import KINDS, PLANS, VARIANTS, WORKERS, PaperRow, Plan
from secateurs.paper._printed_tables import LEARNER_NAMES, READING_NAMES
from secateurs.pruners import all_pruners
from secateurs.text_format import format_list


def load_plan(
    name: str, quick: bool = False, data_dir: str | os.PathLike[str] | None = None
) -> Plan:
    """Read one of the plans that come with the package.

    Parameters
    ----------
    name : str
        One of `PLANS`.
    quick : bool, default=False
        Return the short form: minutes instead of hours, and only data that needs no download.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`. The short form has small data
        sets of the paper that are there; where none is, others stand in.

    Returns
    -------
    Plan

    See Also
    --------
    read_plan : Read a plan of your own.

    Examples
    --------
    >>> from secateurs.paper import load_plan
    >>> load_plan("figure-lambda").methods
    ('comep',)
    """
    return read_plan(_plan_path(name), quick, data_dir)


def read_plan(
    path: Path | Traversable, quick: bool = False, data_dir: str | os.PathLike[str] | None = None
) -> Plan:
    """Read a plan from a TOML file.

    Parameters
    ----------
    path : Path
        The file; its name becomes that of the plan. Besides what a `Plan` has, ``rows_of`` names
        plans whose rows it has too, and ``stratified_too`` repeats all rows with stratified bags.
    quick : bool, default=False
        Let what stands under ``[quick]`` replace what stands above. There, ``datasets`` names those
        of the rows above to take if their data is at hand without a download; ``rows`` are added
        where none of it comes from a folder.
    data_dir : str or path-like, optional
        Folder of the data sets.

    Returns
    -------
    Plan

    See Also
    --------
    load_plan : Read a plan that comes with the package.
    """
    return _parse_plan(path, quick, partial(datasets.find, data_dir=data_dir))


def measured_plan(name: str, quick: bool, names: Sequence[str]) -> Plan:
    """Return one of the plans as it was measured, with these data sets."""
    plan = _parse_plan(_plan_path(name), quick, lambda _: "generated")
    return replace(plan, rows=tuple(row for row in plan.rows if row.dataset in names))


def _plan_path(name: str) -> Traversable:
    if name not in PLANS:
        raise InputError(f"{name!r} is not a table or figure. Give one of: {format_list(PLANS)}.")
    return files("secateurs.paper") / "plans" / f"{name}.toml"


def _parse_plan(path: Path | Traversable, quick: bool, find: Callable[[str], str | None]) -> Plan:
    with reading_file(Path(str(path))):
        content = tomllib.loads(path.read_text("utf-8"))
        short = content.pop("quick", {})
        others = (load_plan(other).rows for other in content.pop("rows_of", ()))
        rows = (*itertools.chain.from_iterable(others), *_pop_rows(content))
        if content.pop("stratified_too", False):
            rows += tuple(replace(row, learner=row.learner + STRATIFIED) for row in rows)
        content.setdefault("paper_item", _join_item_numbers([row.paper_item for row in rows]))
        if quick:
            rows = _short_rows(rows, short.pop("datasets", None), _pop_rows(short), find)
            content |= short
        known = {item.name for item in fields(Plan)} - {"name", "quick"}
        known |= {"rows_of", "stratified_too"}
        if unknown := set(content) - known:
            raise InputError(
                f"has unknown settings {_format_sorted(unknown)}. Known: {_format_sorted(known)}."
            )
        name = path.name.removesuffix(".toml")
        plan = Plan(name=name, rows=rows, quick=quick, **_lists_to_tuples(content))
        _check_plan(plan)
    return plan


def _pop_rows(content: dict[str, Any]) -> tuple[PaperRow, ...]:
    return tuple(PaperRow(**_lists_to_tuples(row)) for row in content.pop("rows", ()))


def _short_rows(
    rows: tuple[PaperRow, ...],
    names: Sequence[str] | None,
    stand_ins: tuple[PaperRow, ...],
    find: Callable[[str], str | None],
) -> tuple[PaperRow, ...]:
    """Return the rows of the short form."""
    if names is None:
        return stand_ins or rows
    named = [row for row in rows if row.dataset in names]
    sources = [find(row.dataset) if row.learner != SYNTHETIC else "generated" for row in named]
    chosen = tuple(r for r, s in zip(named, sources, strict=True) if s not in (None, "OpenML"))
    from_folder = any(source and source.startswith("folder") for source in sources)
    return chosen if from_folder else chosen + stand_ins


def _join_item_numbers(items: Iterable[str]) -> str:
    """Return "Figures 4–7" for figures 4 to 7."""
    found = [item for item in dict.fromkeys(items) if item]
    if len(found) < 2:
        return "".join(found)
    (kind, first), (_, last) = (item.split() for item in (found[0], found[-1]))
    return f"{kind}s {first}–{last}"


def _lists_to_tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _check_plan(plan: Plan) -> None:
    allowed: dict[str, tuple[Iterable[Any], Any]] = {
        "kind": ([plan.kind], KINDS),
        "reading": ([row.reading for row in plan.rows], READING_NAMES),
        "learner": ([row.learner for row in plan.rows], LEARNER_NAMES),
        "method": (
            (*plan.methods, *(name for row in plan.rows for name in row.methods)),
            (*all_pruners(), "full", "all"),
        ),
        "fold": (plan.folds, range(N_FOLDS)),
        "variant": (plan.variants, WORKERS if plan.kind == "speedup" else VARIANTS),
    }
    for what, (given, known) in allowed.items():
        for value in (value for value in given if value not in known):
            raise InputError(f"has {what} {value!r}. Known: {_format_sorted(known)}.")


def _format_sorted(values: Iterable[Any]) -> str:
    return format_list(sorted(values))
