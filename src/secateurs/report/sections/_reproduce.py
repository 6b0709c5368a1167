"""Reproduce: the commands, parameters and versions that make the same choice again."""

import inspect
import shlex

from secateurs._methods import short_name
from secateurs.pruners import BasePruner
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._accuracy_size import diversity_weight
from secateurs.report.sections._section import Plain, Section, Subject

_SHAPE = {"command": str, "shell": Maybe(str), "python": str, "seed": None}


def facts(subject: Subject) -> Plain:
    """Return the commands that make the same choice: of a shell, if there are any, and of Python.

    ``command`` is the beginning that the page completes for other choices.
    """
    pruner, usual = subject.pruner, ("secateurs", "prune", "MODEL", "DATA", "--target", "COLUMN")
    command, shell = shlex.join(subject.command or usual), None
    method, weight = short_name(pruner), diversity_weight(pruner)
    if method is not None:
        shell = f"{command} --pruner {method} --keep {len(subject.kept)}"
        shell += "" if weight is None else f" --diversity-weight {weight:g}"
    return {
        "reproduce": {
            "command": command,
            "shell": shell,
            "python": f"secateurs.prune(ensemble, X, y, {call_of(pruner)})",
            "seed": pruner._seed,  # drawn where none was given, and not shown
        }
    }


def call_of(pruner: BasePruner) -> str:
    """Return the code that makes a pruner."""
    usual = inspect.signature(type(pruner)).parameters
    named = [
        f"{name}={call_of(value) if isinstance(value, BasePruner) else repr(value)}"
        for name, value in pruner.get_params(deep=False).items()
        if repr(value) != repr(usual[name].default)
    ]
    return f"{type(pruner).__name__}({', '.join(named)})"


def view(data: Plain) -> Table:
    """Return the parameters and versions."""
    rows = [[name, str(value)] for name, value in data["chosen"]["parameters"].items()]
    versions = data["made"]["versions"].items()
    rows += [[f"version of {name}", number] for name, number in versions]
    return Table(["", "value"], rows, "Parameters and versions", numeric=())


SECTION = Section("reproduce", "Reproduce", {"reproduce": _SHAPE}, facts, view, predicts=None)
