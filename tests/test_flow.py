"""Imports go one way: each room of the package imports only from rooms to its left."""

import ast
from importlib.util import resolve_name
from pathlib import Path

import pytest

import secateurs

PACKAGE = Path(secateurs.__file__).parent
FLOW = (
    *("typing", "text_format", "progress", "exceptions", "units", "_methods", "labels"),
    *("persistence", "statistics"),
    *("ensembles", "outputs", "measures", "objectives", "search", "engines", "pruners"),
    *(
        "distributed",
        "refitting",
        "problem",
        "evaluation",
        "report",
        "pruning",
        "pruned_estimators",
    ),
    *("comparison", "displays", "benchmarking", "paper", "demo", "commands", "cli", "__main__"),
)
MODULES = {
    ".".join(("secateurs", *path.relative_to(PACKAGE).with_suffix("").parts)): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def room(module):
    """Return the first part of a module's name below the package; None for the package itself."""
    return [*module.split("."), None][1]


def imported(module, path):
    """Yield all modules of ours that a file imports, at its top or inside of functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("secateurs"))
        elif isinstance(node, ast.ImportFrom):
            package = module if path.stem == "__init__" else module.rpartition(".")[0]
            home = resolve_name("." * node.level + (node.module or ""), package)
            if home == "secateurs":  # public names stand for the modules they come from
                public = {**secateurs._HOMES, **{m: f"secateurs.{m}" for m in FLOW}}
                yield from (public[n.name] for n in node.names if n.name in public)
            elif home.startswith("secateurs."):
                yield home


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    here = room(module)
    if here in (None, "__init__"):
        return  # lists the public names, and imports them when they are asked for
    assert here in FLOW, f"{here} has no place in the flow"
    backwards = {
        other
        for other in imported(module, MODULES[module])
        if FLOW.index(room(other)) > FLOW.index(here)
    }
    assert not backwards, f"{module} imports from its right: {', '.join(sorted(backwards))}"


def test_every_room_of_the_flow_is_there():
    rooms = {room(module) for module in MODULES} - {None, "__init__"}
    assert rooms == set(FLOW)
