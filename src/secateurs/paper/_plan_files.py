"""Read plans from TOML files, one per table or figure of the paper."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Callable, Collection, Iterable, Sequence
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
from secateurs.typing import JsonObject


def load_plan(
    name: str, quick: bool = False, data_dir: str | os.PathLike[str] | None = None
) -> Plan:
    """Load one of the plans of the package.

    Parameters
    ----------
    name : str
        One of `PLANS`.
    quick : bool, default=False
        Return the short form, which takes minutes instead of hours and downloads no data.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`. The short form uses small data
        sets of the paper from this folder; if there are none, stand-ins replace them.

    Returns
    -------
    Plan

    See Also
    --------
    read_plan : Read a plan from any TOML file.

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
        The file; its name becomes the name of the plan. It sets the attributes of `Plan`. In
        addition, ``rows_of`` names plans whose rows are included, and ``stratified_too`` repeats
        all rows with stratified bags.
    quick : bool, default=False
        Replace settings by those under ``[quick]``. There, ``datasets`` selects the rows above
        whose data are available without a download, and ``rows`` are stand-ins that are added if
        none of these data come from a folder.
    data_dir : str or path-like, optional
        Folder of the data sets.

    Returns
    -------
    Plan

    See Also
    --------
    load_plan : Load a plan of the package.
    """
    return _parse_plan(path, quick, partial(datasets.find, data_dir=data_dir))


def measured_plan(name: str, quick: bool, names: Sequence[str]) -> Plan:
    """Return a plan of the package as it was measured: restricted to these data sets."""
    plan = _parse_plan(_plan_path(name), quick, lambda _: "generated")
    return replace(plan, rows=tuple(row for row in plan.rows if row.dataset in names))


def _plan_path(name: str) -> Traversable:
    if name not in PLANS:
        raise InputError(f"{name!r} is not a table or figure. Pass one of: {format_list(PLANS)}.")
    return files("secateurs.paper") / "plans" / f"{name}.toml"


def _parse_plan(path: Path | Traversable, quick: bool, find: Callable[[str], str | None]) -> Plan:
    with reading_file(Path(str(path))):
        content = tomllib.loads(path.read_text("utf-8"))
        short = content.pop("quick", {})
        included = (load_plan(name).rows for name in content.pop("rows_of", ()))
        own = _pop_rows(content)
        known = {(row.dataset, row.reading, row.learner) for row in own}
        rows = tuple(
            row
            for row in itertools.chain.from_iterable(included)
            if (row.dataset, row.reading, row.learner) not in known
        )
        rows += own
        if content.pop("stratified_too", False):
            rows += tuple(replace(row, learner=row.learner + STRATIFIED) for row in rows)
        content.setdefault("paper_item", _join_item_numbers([row.paper_item for row in rows]))
        if quick:
            rows = _short_rows(rows, short.pop("datasets", None), _pop_rows(short), find)
            content |= short
        allowed = {item.name for item in fields(Plan)} - {"name", "quick"}
        allowed |= {"rows_of", "stratified_too"}
        if unknown := set(content) - allowed:
            names = _format_sorted(allowed)
            raise InputError(f"has unknown settings {_format_sorted(unknown)}. Known: {names}.")
        name = path.name.removesuffix(".toml")
        plan = Plan(name=name, rows=rows, quick=quick, **_lists_to_tuples(content))
        _check_plan(plan)
    return plan


def _pop_rows(content: JsonObject) -> tuple[PaperRow, ...]:
    return tuple(PaperRow(**_lists_to_tuples(row)) for row in content.pop("rows", ()))


def _short_rows(
    rows: tuple[PaperRow, ...],
    names: Sequence[str] | None,
    stand_ins: tuple[PaperRow, ...],
    find: Callable[[str], str | None],
) -> tuple[PaperRow, ...]:
    """Return the rows of the short form: those with local data, and stand-ins if needed."""
    if names is None:
        return stand_ins or rows
    named = [row for row in rows if row.dataset in names]
    sources = [find(row.dataset) if row.learner != SYNTHETIC else "generated" for row in named]
    local = tuple(r for r, s in zip(named, sources, strict=True) if s not in (None, "OpenML"))
    from_folder = any(source and source.startswith("folder") for source in sources)
    return local if from_folder else local + stand_ins


def _join_item_numbers(items: Iterable[str]) -> str:
    """Return "Figures 4–7" for figures 4 to 7."""
    named = [item for item in dict.fromkeys(items) if item]
    if len(named) < 2:
        return "".join(named)
    (kind, first), (_, last) = (item.split() for item in (named[0], named[-1]))
    return f"{kind}s {first}–{last}"


def _lists_to_tuples(table: JsonObject) -> JsonObject:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _check_plan(plan: Plan) -> None:
    """Raise an error if a plan of the reproduction has unknown values."""
    allowed: dict[str, tuple[Iterable[object], Collection[Any]]] = {
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
    for field, (values, options) in allowed.items():
        for value in (value for value in values if value not in options):
            raise InputError(f"has {field} {value!r}. Known: {_format_sorted(options)}.")


def _format_sorted(values: Iterable[Any]) -> str:
    return format_list(sorted(values))
