"""Reproduce: the commands, parameters and versions that make the same choice again."""

import shlex

from secateurs.report._command_text import (
    cli_method,
    constructor_call,
    problem_arguments,
    problem_options,
)
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import JsonObject, ReportContext, ReportSection

_SHAPE = {"command": Nullable(str), "shell": Nullable(str), "python": str, "seed": None}
_SHAPE |= {"call": str, "arguments": str}
_BY_COST = ("--cost", "--max-cost")  # instead of a number of members


def collect_data(subject: ReportContext) -> JsonObject:
    """Return the commands that make the same choice: of a shell, if there are any, and of Python.

    ``command`` is the beginning that the page completes for other choices, ``call`` and
    ``arguments`` are beginning and end of that of Python.
    """
    pruner, usual = subject.pruner, ("secateurs", "prune", "MODEL", "DATA", "--target", "COLUMN")
    given = list(subject.command or usual)
    options = problem_options(subject.problem, "--sample-weight" in given)
    by_cost = []
    for name in (name for name in _BY_COST if name in given):
        place = given.index(name)
        by_cost += given[place : place + 2]
        del given[place : place + 2]
    command = None if options is None else [*given, *options]
    shell, method = None, cli_method(pruner)
    if method is not None and command is not None:
        size = by_cost or ["--keep", str(len(subject.kept_members))]
        shell = shlex.join([*command, "--pruner", method.name, *size, *method.options])
    rows = "predictions, None" if subject.problem.has_only_predictions else "ensemble, X"
    call, arguments = f"secateurs.prune({rows}, y, ", problem_arguments(subject.problem)
    return {
        "reproduce": {
            "command": command and shlex.join(command),
            "shell": shell,
            "python": f"{call}{constructor_call(pruner)}{arguments})",
            "call": call,
            "arguments": arguments,
            "seed": pruner._drawn_seed,  # drawn where none was given, and not shown
        }
    }


def template_values(data: JsonObject) -> HtmlTable:
    """Return the parameters and versions."""
    rows = [[name, str(value)] for name, value in data["chosen"]["parameters"].items()]
    versions = data["made"]["versions"].items()
    rows += [[f"version of {name}", number] for name, number in versions]
    return HtmlTable(["", "value"], rows, "Parameters and versions", numeric=())


SECTION = ReportSection(
    "reproduce", "Reproduce", {"reproduce": _SHAPE}, collect_data, template_values, predicts=None
)
