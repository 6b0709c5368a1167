"""The reference has a page for every public name, and for nothing else."""

import inspect
import pkgutil
from importlib import import_module

import secateurs
from secateurs import PrunedClassifier, PrunedRegressor, all_pruners
from secateurs.pruners import SelectorPruner

BASES = {"secateurs.pruners.BasePruner", "secateurs.pruners.SelectorPruner"}


def public_objects():
    """All public objects: of ``secateurs.__all__``, and of modules that have one."""
    modules = [secateurs]
    for info in pkgutil.walk_packages(secateurs.__path__, "secateurs."):
        if "._" not in info.name:
            module = import_module(info.name)
            modules += [module] if hasattr(module, "__all__") else []
    return {
        id(getattr(module, name)): f"{module.__name__}.{name}"
        for module in modules
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name))
    }


def object_of(name):
    thing = secateurs
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def test_every_public_name_has_one_page_and_nothing_else_has(built):
    pages = [path.stem for path in (built / "api").glob("secateurs.*.html")]
    documented = [id(object_of(name)) for name in pages if name not in BASES]
    assert len(documented) == len(set(documented))
    public = public_objects()
    assert {public.get(one) for one in documented} == set(public.values())
    assert set(pages) >= BASES


def test_every_page_says_something(built):
    for path in (built / "api").glob("secateurs.*.html"):
        text = path.read_text("utf-8")
        assert text.count("<dd><p>") + text.count("<dd>\n<p>"), path.name


def test_the_index_links_to_every_page(built):
    index = (built / "api" / "index.html").read_text("utf-8")
    for path in (built / "api").glob("secateurs.*.html"):
        assert f'href="{path.name}#{path.stem}"' in index, path.name


def test_the_links_of_notebooks_lead_to_the_reference(built):
    estimators = [*(one() for one in all_pruners().values()), SelectorPruner(None)]
    estimators += [PrunedClassifier(None), PrunedRegressor(None)]
    for estimator in estimators:
        link = estimator._get_doc_link()
        assert link.startswith("https://secateurs.github.io/secateurs/api/")
        assert (built / "api" / link.rpartition("/")[2]).exists(), link
