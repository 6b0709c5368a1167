"""Reproduce: the commands, parameters and versions that make the same choice again."""

from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section


def view(data: Plain) -> Plain:
    """Return the table of parameters and versions."""
    rows = [[name, str(value)] for name, value in data["chosen"]["parameters"].items()]
    versions = data["made"]["versions"].items()
    rows += [[f"version of {name}", number] for name, number in versions]
    return {"table": Table(["", "value"], rows, "Parameters and versions", numeric=())}


SECTION = Section(
    "reproduce",
    "Reproduce",
    {"reproduce": {"command": str, "shell": Maybe(str), "python": str, "seed": None}},
    view,
)
