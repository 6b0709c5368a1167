"""``secateurs methods``: list the pruning methods, or describe one."""

from typing import Any

import click

from secateurs._methods import AUTO, METHODS, Method, regression_methods
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import METHOD
from secateurs.commands.shared_options import common_options
from secateurs.text_format import format_columns

RECOMMENDED = (
    "Recommended: auto, the default. For benchmark results, see "
    "https://secateurs.github.io/secateurs/kept.html"
)


@click.command()
@click.argument("name", type=METHOD, required=False)
@common_options
def methods(out: Output, name: str | None) -> None:
    """List the pruning methods, or describe one."""
    if name is None:
        # The table needs no descriptions, for which all methods would have to be imported.
        described = METHODS if out.as_json else {}
        facts = {key: _describe_method(method) for key, method in described.items()}
        for_regression = regression_methods()
        rows = [(AUTO, "", "the method that is likely best: the default", "yes")]
        rows += [
            (key, method.class_name, method.criterion, "yes" if key in for_regression else "")
            for key, method in METHODS.items()
        ]
        headings = ("name", "class", "criterion", "regression")
        out.print_result({"methods": facts}, format_columns(headings, rows, left=4))
        out.print_note(RECOMMENDED)
        out.print_note("details: secateurs methods comep; reference: secateurs cite comep")
        return
    description = _describe_method(METHODS[name])
    out.print_result({"name": name, **description}, _format_description(name, description))


def _describe_method(method: Method) -> dict[str, Any]:
    import inspect

    pruner = method.load()
    text, *_sections = inspect.cleandoc(pruner.__doc__ or "").split("\n\nParameters\n")
    return {
        "class": f"secateurs.{method.class_name}",
        "summary": method.summary,
        "criterion": method.criterion,
        "keeps": method.size_description,
        "outputs": list(method.traits.outputs),
        "takes_missing": method.traits.takes_missing,
        "cost": method.cost,
        "citation": method.citation,
        "parameters": pruner().get_params(deep=False),
        "description": text.replace(" [1]_", ""),
    }


def _format_description(name: str, facts: dict[str, Any]) -> str:
    parameters = ", ".join(f"{key}={value!r}" for key, value in facts["parameters"].items())
    lines = [
        ("class", facts["class"]),
        ("parameters", parameters),
        ("criterion", facts["criterion"]),
        ("members kept", facts["keeps"].replace("`", "")),
        ("works with", ", ".join(facts["outputs"])),
        ("missing predictions", "allowed" if facts["takes_missing"] else "not allowed"),
        ("cost", f"{facts['cost']}; n members, k to keep, d samples"),
        ("paper", "none" if facts["citation"] is None else f"secateurs cite {name}"),
    ]
    return f"{facts['description']}\n\n{format_columns(('', ''), lines, left=2)}"
