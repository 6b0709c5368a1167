"""Where the data sets of plans come from, and which cannot be had."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from secateurs.exceptions import InputError
from secateurs.paper import datasets
from secateurs.paper._plan import PLANS, Plan, load_plan
from secateurs.paper._protocol import SYNTHETIC


@dataclass(frozen=True)
class Missing:
    """A data set that could not be had, and what lacks it."""

    dataset: str
    paper_names: tuple[str, ...]
    plans: tuple[str, ...]
    reason: str


def find_sources(
    plans: Sequence[Plan], data_dir: Path | None
) -> tuple[dict[str, str], list[Missing]]:
    """Find where the data sets come from, and which cannot be had.

    For the short form of a plan, those of the whole plan that are not at hand count as missing too.
    """
    sources, missing = {}, []
    for name, used in _users(plans).items():
        source, reason = _source(name, data_dir)
        if source is not None:
            sources[name] = source
        else:
            missing.append(_missing(name, used, reason))
    whole = [load_plan(plan.name) for plan in plans if plan.quick and plan.name in PLANS]
    for name, used in _users(whole).items():
        if name in datasets.DATASETS and datasets.find(name, data_dir) in (None, "OpenML"):
            reason = f"Left out of the short form. {datasets.how_to_get(name)}"
            missing.append(_missing(name, used, reason))
    return sources, missing


def _users(plans: Iterable[Plan]) -> dict[str, list[tuple[str, str]]]:
    """List for each data set the rows and plans that need it."""
    users: dict[str, list[tuple[str, str]]] = {}
    for plan in plans:
        for row in plan.rows:
            users.setdefault(row.dataset, []).append((row.paper_name, plan.name))
    return users


def _missing(name: str, used: list[tuple[str, str]], reason: str) -> Missing:
    rows, plans = (tuple(dict.fromkeys(part)) for part in zip(*used, strict=True))
    return Missing(name, rows, plans, reason)


def _source(name: str, data_dir: Path | None) -> tuple[str | None, str]:
    if name.startswith(f"{SYNTHETIC}-"):
        return "generated", ""
    source = datasets.find(name, data_dir)
    if source is None:
        return None, datasets.how_to_get(name)
    if source == "OpenML":
        try:
            datasets.load(name, data_dir)  # and keep it in scikit-learn's cache
        except InputError as error:
            return None, str(error)
    return source, ""
