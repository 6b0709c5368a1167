"""Read the costs of the members from a file: by name, or in the order of the members."""

import re
from collections.abc import Sequence
from pathlib import Path

from secateurs.commands._table_files import read_table, require_columns
from secateurs.commands.command_errors import Refusal
from secateurs.text_format import format_count, shorten_list

# Stricter than `float`, which also accepts "nan", "-1", "1_000" and digits of other scripts.
_NUMBER = re.compile(r"\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def read_member_costs(path: Path, names: Sequence[str]) -> list[float]:
    """Return the cost of each member, in the order of the members."""
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
            f"{path} has {format_count(len(cells), 'cost')} for "
            f"{format_count(len(names), 'member')}. Pass one number per member, in their order, or "
            "a table with the columns name and cost.",
        )
    return [_parse_cost(path, name, cell) for name, cell in zip(names, cells, strict=True)]


def _costs_by_name(
    path: Path, table_names: Sequence[str], cells: Sequence[str], names: Sequence[str]
) -> list[float]:
    costs: dict[str, float] = {}
    for name, cell in zip(table_names, cells, strict=True):
        if name in costs:
            raise Refusal("costs", f"{path} names {name!r} twice. Pass one cost for each member.")
        costs[name] = _parse_cost(path, name, cell)
    members = [str(name) for name in names]
    missing = [name for name in members if name not in costs]
    unknown = [name for name in costs if name not in set(members)]
    if missing or unknown:
        problem = (
            f"has no cost for {shorten_list(missing, 3)}"
            if missing
            else f"names unknown members: {shorten_list(unknown, 3)}"
        )
        raise Refusal(
            "costs", f"{path} {problem}. Pass a cost for each of: {shorten_list(members)}."
        )
    return [costs[name] for name in members]


def _parse_cost(path: Path, name: object, cell: str) -> float:
    value = float(cell) if _NUMBER.fullmatch(cell) else float("inf")
    if value == float("inf"):
        raise Refusal(
            "costs", f"{path}: {cell!r} is not a valid cost of {name}. Pass a number of 0 or more."
        )
    return value
