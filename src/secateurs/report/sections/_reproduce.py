"""Section "Reproduce": commands, parameters and versions that repeat the pruning."""

import shlex

from secateurs.refitting.branches import pruned_node_count
from secateurs.report._command_text import (
    cli_method,
    constructor_call,
    problem_arguments,
    problem_options,
)
from secateurs.report._schema import Nullable
from secateurs.report.html_templates import HtmlTable
from secateurs.report.sections._section import ReportContext, ReportSection
from secateurs.typing import JsonObject

_SHAPE = {"command": Nullable(str), "shell": Nullable(str), "python": str, "seed": None}
_SHAPE |= {"call": str, "arguments": str}
_BY_COST = ("--cost", "--max-cost")  # replace the number of members


def collect_data(context: ReportContext) -> JsonObject:
    """Return the shell command, if the command line can express the pruning, and Python code.

    For other selections the page completes ``command``, and inserts the pruner between ``call``
    and ``arguments``.
    """
    pruner = context.pruner
    words = list(context.command or ("secateurs", "prune", "MODEL", "DATA", "--target", "COLUMN"))
    options = problem_options(context.problem, "--sample-weight" in words)
    by_cost = []
    for name in (name for name in _BY_COST if name in words):
        index = words.index(name)
        by_cost += words[index : index + 2]
        del words[index : index + 2]
    limit = None if context.max_cost is None else f"{context.max_cost:.15g}"
    if limit is not None and not by_cost:
        by_cost = ["--cost", "COSTS", "--max-cost", limit]
    command = None if options is None else [*words, *options]
    problem = context.problem
    n_nodes = pruned_node_count(problem.ensemble, problem.refitted, context.kept_members)
    shell, method = None, cli_method(pruner)
    if method is not None and command is not None:
        size = by_cost or ["--keep", str(len(context.kept_members))]
        size = size if n_nodes is None else ["--max-nodes", str(n_nodes), "--branches"]
        shell = shlex.join([*command, "--pruner", method.name, *size, *method.options])
    inputs = "predictions, None" if context.problem.has_only_predictions else "ensemble, X"
    call, arguments = f"secateurs.prune({inputs}, y, ", problem_arguments(context.problem)
    selected = constructor_call(pruner)
    if limit is not None:
        selected = f"cost=cost, max_cost={limit}"
    branches = "" if n_nodes is None else f", max_nodes={n_nodes}, branches=True"
    return {
        "reproduce": {
            "command": command and shlex.join(command),
            "shell": shell,
            "python": f"{call}{selected}{arguments}{branches})",
            "call": call,
            "arguments": arguments,
            "seed": pruner._drawn_seed,  # drawn if the user passed none; not shown in the page
        }
    }


def template_values(data: JsonObject) -> JsonObject:
    """Return a table of the parameters and versions, and whether leaves were refitted."""
    rows = [[name, str(value)] for name, value in data["chosen"]["parameters"].items()]
    versions = data["made"]["versions"].items()
    rows += [[f"version of {name}", number] for name, number in versions]
    table = HtmlTable(["", "value"], rows, "Parameters and versions", numeric=())
    return {"table": table, "is_refitted": "refit=True" in data["reproduce"]["arguments"]}


SECTION = ReportSection(
    "reproduce", "Reproduce", {"reproduce": _SHAPE}, collect_data, template_values, predicts=None
)
