"""Imports go one way, and the maps in the documentation list the packages as they are."""

import ast
import re
from importlib.util import resolve_name
from pathlib import Path

import pytest

import secateurs

PACKAGE = Path(secateurs.__file__).parent
ROOT = Path(__file__).parents[1]
FLOW = (
    *("_renamed_modules", "typing", "text_format", "exceptions", "thread_safety", "progress"),
    *("units", "_methods", "labels"),
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
    *(
        "comparison",
        "displays",
        "benchmarking",
        "paper",
        "demo",
        "warm",
        "commands",
        "cli",
        "__main__",
    ),
)
MODULES = {
    ".".join(("secateurs", *path.relative_to(PACKAGE).with_suffix("").parts)): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def package_of(module):
    """Return the package or top-level module that a module belongs to; None for `secateurs`."""
    return [*module.split("."), None][1]


def imported(module, path):
    """Yield all modules of secateurs that a file imports, including imports in functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("secateurs"))
        elif isinstance(node, ast.ImportFrom):
            package = module if path.stem == "__init__" else module.rpartition(".")[0]
            home = resolve_name("." * node.level + (node.module or ""), package)
            if home == "secateurs":  # a public name: the module that defines it
                public = {**secateurs._HOMES, **{m: f"secateurs.{m}" for m in FLOW}}
                yield from (public[n.name] for n in node.names if n.name in public)
            elif home.startswith("secateurs."):
                yield home


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    here = package_of(module)
    if here in (None, "__init__"):
        return  # imports the public names when they are first used
    assert here in FLOW, f"{here} is not in FLOW"
    backwards = {
        other
        for other in imported(module, MODULES[module])
        if FLOW.index(package_of(other)) > FLOW.index(here)
    }
    assert not backwards, f"{module} imports from its right: {', '.join(sorted(backwards))}"


def test_the_flow_lists_every_package():
    packages = {package_of(module) for module in MODULES} - {None, "__init__"}
    assert packages == set(FLOW)


def listed(page, pattern):
    """Return the names of packages and modules that a pattern finds in a page."""
    text = (ROOT / page).read_text("utf-8")
    found = re.search(pattern, text, re.M | re.S)[0]
    names = [name for name in re.findall(r"\w+(?=\.py|/|\b)", found) if name in FLOW]
    return list(dict.fromkeys(names))


def test_the_table_in_contributing_lists_every_package_and_module():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    cells = re.findall(r"^\| (`[^|]*`) \|", text, re.M)
    paths = [path for cell in cells for path in re.findall(r"`([\w/.]+)`", cell)]
    assert all((PACKAGE / path).exists() for path in paths)
    assert all(path.endswith((".py", "/")) for path in paths)
    assert {path.removesuffix(".py").removesuffix("/") for path in paths} == set(FLOW)
    twins = {path.name for path in (ROOT / "tests").glob("naive*.py")}
    assert all(f"`{name}`" in text or f"`tests/{name}`" in text for name in twins)


@pytest.mark.parametrize(
    "page", ["CONTRIBUTING.md", "docs/design.md", "docs/decisions/0015-rooms.md"]
)
def test_outlines_of_the_flow_have_all_packages_in_their_order(page):
    names = listed(page, r"^[^\n]*ensembles → outputs.*?→ commands")
    assert names == sorted(names, key=FLOW.index)
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders - {"persistence", "statistics"} <= set(names)


def test_the_table_in_the_design_lists_every_package():
    names = listed("docs/design.md", r"^\| step \|.*?\n\n")
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(names)
