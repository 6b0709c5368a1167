"""Reproduce: the commands, parameters and versions that make the same choice again."""

import shlex

from secateurs.report._commands import arguments_of, call_of, options_of, said
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_SHAPE = {"command": Maybe(str), "shell": Maybe(str), "python": str, "seed": None}
_SHAPE |= {"call": str, "arguments": str}
_BY_COST = ("--cost", "--max-cost")  # instead of a number of members


def facts(subject: Subject) -> Plain:
    """Return the commands that make the same choice: of a shell, if there are any, and of Python.

    ``command`` is the beginning that the page completes for other choices, ``call`` and
    ``arguments`` are beginning and end of that of Python.
    """
    pruner, usual = subject.pruner, ("secateurs", "prune", "MODEL", "DATA", "--target", "COLUMN")
    given = list(subject.command or usual)
    options = options_of(subject.problem, "--sample-weight" in given)
    by_cost = []
    for name in (name for name in _BY_COST if name in given):
        place = given.index(name)
        by_cost += given[place : place + 2]
        del given[place : place + 2]
    command = None if options is None else [*given, *options]
    shell, method = None, said(pruner)
    if method is not None and command is not None:
        size = by_cost or ["--keep", str(len(subject.kept))]
        shell = shlex.join([*command, "--pruner", method.name, *size, *method.options])
    rows = "predictions, None" if subject.problem.is_predictions else "ensemble, X"
    call, arguments = f"secateurs.prune({rows}, y, ", arguments_of(subject.problem)
    return {
        "reproduce": {
            "command": command and shlex.join(command),
            "shell": shell,
            "python": f"{call}{call_of(pruner)}{arguments})",
            "call": call,
            "arguments": arguments,
            "seed": pruner._seed,  # drawn where none was given, and not shown
        }
    }


def view(data: Plain) -> Table:
    """Return the parameters and versions."""
    rows = [[name, str(value)] for name, value in data["chosen"]["parameters"].items()]
    versions = data["made"]["versions"].items()
    rows += [[f"version of {name}", number] for name, number in versions]
    return Table(["", "value"], rows, "Parameters and versions", numeric=())


SECTION = Section("reproduce", "Reproduce", {"reproduce": _SHAPE}, facts, view, predicts=None)
