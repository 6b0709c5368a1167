"""Costs of the members, from a file: by name, or one number a line in the order of the members."""

import re
from collections.abc import Sequence
from pathlib import Path

from secateurs.commands._table_files import format_names, read_table, require_columns
from secateurs.commands.command_errors import Refusal
from secateurs.text_format import format_count

_NUMBER = re.compile(r"\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def read_member_costs(path: Path, names: Sequence[str]) -> list[float]:
    """Read what each member costs, in the order of the members."""
    table = read_table(path, as_text=None)
    if len(table.columns) > 1:
        require_columns(path, table, ["name", "cost"])
        return _costs_by_name(path, table["name"].tolist(), table["cost"].tolist(), names)
    cells = [str(table.columns[0]), *table.iloc[:, 0].tolist()]
    if cells[0].strip() == "cost":
        del cells[0]
    if len(cells) != len(names):
        raise Refusal(
            "costs",
            f"{path} has {format_count(len(cells), 'cost')} for {format_count(len(names), 'member')}. Give a "
            "number for each, in "
            "their order, or the columns name and cost.",
        )
    return [_parse_cost(path, names[place], cell) for place, cell in enumerate(cells)]


def _costs_by_name(
    path: Path, given: Sequence[str], cells: Sequence[str], names: Sequence[str]
) -> list[float]:
    costs: dict[str, float] = {}
    for name, cell in zip(given, cells, strict=True):
        if name in costs:
            raise Refusal("costs", f"{path} names {name!r} twice. Give one cost for each member.")
        costs[name] = _parse_cost(path, name, cell)
    known = [str(name) for name in names]
    lacking = [name for name in known if name not in costs]
    unknown = [name for name in costs if name not in set(known)]
    if lacking or unknown:
        what = (
            f"has no cost of {format_names(lacking, 3)}"
            if lacking
            else f"names {format_names(unknown, 3)}"
        )
        raise Refusal("costs", f"{path} {what}. Give a cost for each of: {format_names(known)}.")
    return [costs[name] for name in known]


def _parse_cost(path: Path, name: object, cell: str) -> float:
    value = float(cell) if _NUMBER.fullmatch(cell) else float("inf")
    if value == float("inf"):
        raise Refusal(
            "costs", f"{path}: {cell!r} is not a valid cost of {name}. Give a number of 0 or more."
        )
    return value
