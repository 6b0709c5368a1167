"""The repository around the package: versions, pins, links and workflows agree."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import secateurs

ROOT = Path(__file__).parents[1]
HOME = "https://github.com/secateurs/secateurs"
SITE = "https://secateurs.github.io/secateurs/"
RAW = "https://raw.githubusercontent.com/secateurs/secateurs/main/"
WORKFLOWS = ROOT / ".github" / "workflows"

pytestmark = pytest.mark.skipif(not WORKFLOWS.exists(), reason="needs the repository")


def text(name):
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(text("pyproject.toml"))["project"]


def test_the_version_is_the_same_everywhere():
    headings = re.findall(r"^## (\S+) \((.+)\)$", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert headings[0][0] == secateurs.__version__
    assert yaml.safe_load(text("CITATION.cff"))["version"] == secateurs.__version__
    assert all(re.fullmatch(r"not released yet|\d{4}-\d\d-\d\d", date) for _, date in headings)


def test_the_address_is_the_same_everywhere(project):
    assert yaml.safe_load(text("CITATION.cff"))["repository-code"] == HOME
    assert all(address.startswith((HOME, SITE)) for address in project["urls"].values())


def documents():
    names = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in names if "_build" not in path.parts)


@pytest.mark.parametrize("name", documents())
def test_links_between_documents_lead_somewhere(name):
    prose = re.sub(r"^```.*?^```", "", text(name), flags=re.DOTALL | re.MULTILINE)
    for address in re.findall(r"\]\(([^)\s]+)\)", prose):
        target = re.sub(rf"^({re.escape(RAW)}|{re.escape(HOME)}/(blob|tree)/main/)", "/", address)
        target = re.sub(rf"^{re.escape(SITE)}(.+)\.html", r"/docs/\1.md", target)
        if re.match(r"[a-z]+:|#", target):
            continue  # another site, or a heading of this page
        if re.match(r"(/docs/|(\.\./)*)(api|gallery)/", target):
            continue  # made by `make docs`, which checks links itself
        path = target.partition("#")[0]
        found = ROOT / path[1:] if path.startswith("/") else (ROOT / name).parent / path
        assert found.exists(), f"{name} links to {address}"


def test_the_files_named_beside_the_paper_exist():
    places = re.findall(r"`([a-z]+/[\w./-]*|search\.py)`", text("docs/reproduction/items.md"))
    assert len(places) > 50
    for place in places:
        inside = place.startswith(("tests/", "benchmarks/", "examples/"))
        assert (ROOT / ("" if inside else "src/secateurs") / place).exists(), place


def test_a_package_index_can_show_the_images_of_the_readme():
    images = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text("README.md"))
    assert images
    assert all(image.startswith("https://") for image in images)


def test_pre_commit_and_make_use_the_same_linters(project):
    pins = [pin for pin in project["optional-dependencies"]["test"] if "==" in pin]
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"][-1]["hooks"]
    ruff = {pin for hook in hooks for pin in hook.get("additional_dependencies", ())}
    assert ruff == {pin for pin in pins if pin.startswith("ruff")}
    assert [hook["entry"] for hook in hooks][-1] == "make types"
    assert re.search(r"^types:.*\n\t.*mypy$", text("Makefile"), flags=re.MULTILINE)


def pins_of(name):
    lines = [line for line in text(name).splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def test_constraints_name_a_version_of_every_dependency(project):
    extras = {**project["optional-dependencies"], "": project["dependencies"]}
    for name in extras.keys() - {"test"}:
        pins = pins_of("docs/constraints.txt" if name == "docs" else "constraints.txt")
        for wanted in map(Requirement, extras[name]):
            if wanted.name != "secateurs":
                assert pins[wanted.name] in wanted.specifier, wanted


def test_every_supported_python_is_tested(project):
    supported = {
        line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)
    }
    matrix = yaml.safe_load(text(".github/workflows/tests.yml"))["jobs"]["tests"]["strategy"][
        "matrix"
    ]
    assert set(matrix["python"]) == supported
    assert f">={min(supported, key=lambda v: int(v[2:]))}" == project["requires-python"]


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_workflows_name_what_exists(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    for job in workflow["jobs"].values():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(workflow["jobs"])
        if "uses" in job:
            assert (ROOT / job["uses"]).exists()
            continue
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            for target in re.findall(r"^make (.+)$", step.get("run", ""), flags=re.MULTILINE):
                for name in target.split():
                    assert "=" in name or f"\n{name}:" in text("Makefile")


@pytest.mark.parametrize("name", ["bug", "feature", "method"])
def test_issue_forms_ask_for_something(name):
    form = yaml.safe_load(text(f".github/ISSUE_TEMPLATE/{name}.yml"))
    assert {"name", "description", "body"} <= set(form)
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
