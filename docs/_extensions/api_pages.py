"""Generate the API reference: one page for each public name, and an index.

A name is public if it is in ``secateurs.__all__`` or in ``__all__`` of a public module. New names
are added automatically to the section of their subpackage, or to a new section at the end.
"""

import inspect
import pkgutil
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

import secateurs
from secateurs._methods import METHODS
from secateurs.pruners import BasePruner

SECTIONS = {  # titles of the subpackages, in the order of the page
    "pruning": "Prune",
    "pruned_estimators": "Fit and prune in one estimator",
    "comparison": "Compare",
    "benchmarking": "Benchmark",
    "methods": "Methods",
    "pruners": "Methods by name, and custom methods",
    "distributed": "Pruning in groups of members",
    "outputs": "Predictions of members",
    "persistence": "Model files",
    "measures": "Measures of diversity",
    "displays": "Figures",
    "report": "The report",
    "statistics": "Statistics over data sets",
    "objectives": "Objectives",
    "search": "Searches",
    "datasets": "The paper's data sets",
    "paper": "The paper's experiments",
    "exceptions": "Errors and warnings",
    "engines": "Versions",
}
VARIABLES = {  # descriptions of variables, which have no docstring
    "secateurs.datasets.DATASETS": "Data sets of the paper by name, each a "
    ":py:obj:`~secateurs.datasets.Dataset`.",
    "secateurs.distributed.limits": "The :py:obj:`~secateurs.distributed.Limits` of this process; "
    "set its attributes.",
    "secateurs.paper.PLANS": "Names of the experiments included in the package.",
}
VALUES = (property, cached_property)
CALLED = {"fit", "partial_fit", "predict", "score"}
BASES = {"secateurs.pruners.BasePruner", "secateurs.pruners.SelectorPruner"}


def public_modules():
    """Return a mapping of full names to public modules that have ``__all__``."""
    names = [name for name in secateurs.__all__ if inspect.ismodule(getattr(secateurs, name))]
    found = {f"secateurs.{name}": getattr(secateurs, name) for name in names}
    for info in pkgutil.walk_packages(secateurs.__path__, "secateurs."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            module = import_module(info.name)
            if hasattr(module, "__all__") and module not in found.values():
                found[info.name] = module
    return found


def public_names():
    """Return a mapping of full names to documented objects, with each object once."""
    found = {f"secateurs.{name}": getattr(secateurs, name) for name in secateurs.__all__}
    found = {name: thing for name, thing in found.items() if not inspect.ismodule(thing)}
    for module_name, module in public_modules().items():
        for name in module.__all__:
            thing = getattr(module, name)
            if not any(thing is other for other in found.values()):
                found[f"{module_name}.{name}"] = thing
    return found | {name: resolve(name) for name in BASES}


def resolve(name):
    """Return the object with the given full name."""
    thing = secateurs
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def section_of(name):
    """Return the key of the section that a full name belongs to."""
    path = name.split(".")[1:]
    if len(path) > 1:
        return path[0]
    if path[0] in {method.class_name for method in METHODS.values()}:
        return "methods"
    return secateurs._HOMES[path[0]].split(".")[1]


def source(module, name):
    """Return the file (relative to ``src``) and line where a name is defined, or None."""
    try:
        thing = resolve(f"{module}.{name}")
        thing = inspect.unwrap(getattr(thing, "fget", thing))
        path = Path(inspect.getsourcefile(thing))
        line = inspect.getsourcelines(thing)[1]
        relative_path = path.relative_to(Path(secateurs.__file__).parents[1])
    except (AttributeError, TypeError, OSError, ValueError):
        return None  # an instance attribute, or a method inherited from scikit-learn
    return f"{relative_path.as_posix()}#L{line}"


def _summary(name, thing):
    text = VARIABLES.get(name) or (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return re.sub(r" \[\d+\]_", "", " ".join(text.split()))


def _members(thing):
    """Return the names of a class: its own, those of scikit-learn, and those for method authors.

    Names for method authors are the public names of `BasePruner` that are not in ``CALLED``.
    """
    homes = {}
    for base in reversed(thing.__mro__[:-1]):
        homes |= dict.fromkeys(vars(base), base.__module__.partition(".")[0])
    names = {name: home for name, home in homes.items() if name[0] != "_" or name == "__call__"}
    names = {name: home for name, home in names.items() if not re.match("set_.*_request$", name)}
    ours = {name for name in names if homes[name] == "secateurs" and _is_documented(thing, name)}
    authors = set()
    if issubclass(thing, BasePruner) and thing is not BasePruner:
        authors = {name for name in ours & vars(BasePruner).keys() if name not in CALLED}
    others = {name for name in names if homes[name] == "sklearn"}
    return sorted(ours - authors), sorted(others), sorted(authors)


def _is_documented(thing, name):
    member = inspect.getattr_static(thing, name)
    return isinstance(member, VALUES) or inspect.isroutine(member)


def _page(name, thing):
    module, _, short = name.rpartition(".")
    lines = [name, "=" * len(name), "", f".. currentmodule:: {module}", ""]
    if inspect.isclass(thing):
        ours, others, authors = _members(thing)
        lines += [f".. autoclass:: {short}", ""]
        for member in ours:
            is_value = isinstance(inspect.getattr_static(thing, member), VALUES)
            lines += [f"   .. auto{'property' if is_value else 'method'}:: {member}"]
        if others:
            lines += ["", ".. rubric:: Inherited from scikit-learn", ""]
            lines += [", ".join(f"``{member}``" for member in others)]
        if authors:
            lines += ["", ".. rubric:: For method authors", ""]
            names = ", ".join(f"``{member}``" for member in authors)
            lines += [f"{names}: see :py:obj:`~secateurs.pruners.BasePruner`."]
    elif callable(thing):
        lines += [f".. autofunction:: {short}"]
        if not inspect.isroutine(thing):
            lines += ["", f"Instance of :py:obj:`~{module}.{type(thing).__name__}`."]
    else:
        lines += [f".. py:data:: {short}", "", f"   {_summary(name, thing)}"]
    return "\n".join([*lines, ""])


def _index(names):
    sections = {section: [] for section in SECTIONS}
    for name in names:
        sections.setdefault(section_of(name), []).append(name)
    lines = ["API reference", "=============", ""]
    lines += [".. currentmodule:: secateurs", ""]
    lines += ["This page lists all public names. Names in the first sections are in ``secateurs`` "]
    lines += ["itself, all others in the module named with them.", ""]
    for section, section_names in sections.items():
        if not section_names:
            continue
        title = SECTIONS.get(section, section.capitalize())
        lines += [title, "-" * len(title), ""]
        module = public_modules().get(f"secateurs.{section}")
        if isinstance(module, ModuleType) and any(name.count(".") > 1 for name in section_names):
            lines += [inspect.getdoc(module) or "", ""]
        lines += [".. list-table::", "   :class: api", "   :widths: auto", ""]
        for name in section_names:
            lines += [f"   * - :py:obj:`~{name}`", f"     - {_summary(name, names[name])}"]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {title}", ""]
        lines += [f"   {name.removeprefix('secateurs.')} <{name}>" for name in section_names] + [""]
    return "\n".join(lines)


def write_pages(app):
    """Write all pages that changed, and delete pages of names that no longer exist."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    names = public_names()
    pages = {"index.rst": _index(names)}
    pages |= {f"{name}.rst": _page(name, thing) for name, thing in names.items()}
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app):
    """Connect `write_pages` to the event before Sphinx reads the sources."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
