"""The pages of methods say what the registry knows, and leave none out."""

import ast
import html
import re
from pathlib import Path

import pytest

from secateurs._methods import METHODS

FOLDER = Path(__file__).parents[2] / "docs" / "methods"
OTHERS = {"index", "auto", "epfd"}  # pages that are of no method of the registry
PARTS = ("## Illustration", "## Parameters", "## When to use it", "/gallery/")


def test_the_page_of_methods_lists_them_all():
    text = (FOLDER / "index.md").read_text("utf-8")
    table = text.split("| name | class | keeps | looks at |\n|---|---|---|---|\n")[1]
    assert table.split("\n\n")[0].splitlines() == [
        f"| [`{name}`]({name}.md) | `{method.class_name}` "
        f"| {method.size_description} | {method.criterion} |"
        for name, method in METHODS.items()
    ]


def test_the_page_is_built_with_all_of_them(built):
    page = (built / "methods" / "index.html").read_text("utf-8")
    rows = re.findall(r"<tr\b.*?</tr>", page, flags=re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in rows]
    for name, method in METHODS.items():
        assert any({name, method.class_name} <= set(text.split()) for text in texts), name


def test_every_method_has_a_page_and_every_page_a_method():
    assert {path.stem for path in FOLDER.glob("*.md")} == OTHERS | set(METHODS)


@pytest.mark.parametrize("name", [*METHODS, *sorted(OTHERS - {"index"})])
def test_a_page_has_all_its_parts(name):
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    directives = [f"```{{picture}} {name}\n"]
    directives += [f"```{{kept}} {name}\n"] if name != "epfd" else []
    directives += [f"```{{method-facts}} {name}\n"] if name in METHODS else []
    missing = [part for part in (*PARTS, *directives, "\n$$\n") if part not in text]
    assert not missing


@pytest.mark.parametrize("name", METHODS)
def test_a_page_explains_all_parameters(name):
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    known = {*METHODS[name].load()._get_param_names()}
    shared = {"keep", "random_state", "n_jobs"} if name != "random" else {"keep"}
    assert not [parameter for parameter in known - shared if f"`{parameter}`" not in text]


def test_every_method_has_a_picture_of_its_own():
    drawn = ast.parse((FOLDER / "pictures.py").read_text("utf-8")).body
    names = {one.name for one in drawn if isinstance(one, ast.FunctionDef)}
    assert set(METHODS) | OTHERS - {"index"} <= names
