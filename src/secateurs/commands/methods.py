"""``secateurs methods``: the pruning methods and their parameters."""

from typing import Any

import click

from secateurs._methods import AUTO, METHODS, Method, methods_for_numbers
from secateurs._text import columns
from secateurs.commands._options import METHOD, common
from secateurs.commands._output import Output

RECOMMENDED = "Take auto, or give no method. Measured on many data sets, see docs/kept.md."


@click.command()
@click.argument("name", type=METHOD, required=False)
@common
def methods(out: Output, name: str | None) -> None:
    """List the pruning methods, or describe one."""
    if name is None:
        shown = METHODS if out.as_json else {}  # the table needs none of it
        facts = {key: _facts(method) for key, method in shown.items()}
        numbers = methods_for_numbers()
        rows = [(AUTO, "", "the method that is likely best: the default", "yes")]
        rows += [
            (key, method.pruner, method.criterion, "yes" if key in numbers else "")
            for key, method in METHODS.items()
        ]
        headings = ("name", "class", "criterion", "regression")
        out.result({"methods": facts}, columns(headings, rows, left=4))
        out.note(RECOMMENDED)
        out.note("details of one: secateurs methods comep; to cite it: secateurs cite comep")
        return
    found = _facts(METHODS[name])
    out.result({"name": name, **found}, _text(name, found))


def _facts(method: Method) -> dict[str, Any]:
    import inspect

    pruner = method.load()
    ahead, *_sections = inspect.cleandoc(pruner.__doc__ or "").split("\n\nParameters\n")
    return {
        "class": f"secateurs.{method.pruner}",
        "summary": method.summary,
        "criterion": method.criterion,
        "keeps": method.keeps,
        "outputs": list(method.facts.outputs),
        "takes_missing": method.facts.takes_missing,
        "cost": method.cost,
        "citation": method.citation,
        "parameters": pruner().get_params(deep=False),
        "description": ahead.replace(" [1]_", ""),
    }


def _text(name: str, facts: dict[str, Any]) -> str:
    parameters = ", ".join(f"{key}={value!r}" for key, value in facts["parameters"].items())
    lines = [
        ("class", facts["class"]),
        ("parameters", parameters),
        ("criterion", facts["criterion"]),
        ("members kept", facts["keeps"].replace("`", "")),
        ("works with", ", ".join(facts["outputs"])),
        ("missing votes", "allowed" if facts["takes_missing"] else "not allowed"),
        ("cost", f"{facts['cost']}; n members, k to keep, d rows"),
        ("paper", "none" if facts["citation"] is None else f"secateurs cite {name}"),
    ]
    return f"{facts['description']}\n\n{columns(('', ''), lines, left=2)}"
