"""Plans of benchmarks: a TOML file as the parameters of `secateurs.benchmark`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from secateurs.exceptions import (
    InputError,
    SecateursError,
    UnsupportedEnsembleError,
    describe_error,
    reading_file,
    suggest_similar,
)
from secateurs.text_format import format_list

_SETTINGS = {
    **{"title": str, "scoring": str, "control": str, "voting": str, "folds": int},
    **{"random_state": int, "repeats": int, "keep": (int, float, str, list)},
    **{"methods": (list, dict), "datasets": dict, "ensembles": dict},
}
_SOURCES = {
    **{"folder": str, "target": str, "files": dict, "sklearn": list, "paper": list},
    **{"reading": str},
}
_SKLEARN = ("iris", "wine", "digits", "breast_cancer", "diabetes")


def read_plan(path: Path, data_dir: Path | None = None) -> dict[str, Any]:
    """Return a plan as parameters of `secateurs.benchmark`.

    Paths in it start at its own folder, from which classes can be imported too.
    """
    with reading_file(path):
        plan = tomllib.loads(path.read_text("utf-8"))
    _check_settings("", plan, _SETTINGS)
    for name in ("datasets", "ensembles"):
        if not plan.get(name):
            raise InputError(f"has no {name}. Name some under [{name}].")
    sources = plan.pop("datasets")
    _check_settings("datasets.", sources, _SOURCES)
    sys.path.insert(0, str(path.parent.resolve()))  # for classes of one's own
    parameters = dict(plan)
    parameters["datasets"] = _dataset_loaders(sources, path.parent, data_dir)
    parameters["target"] = sources.get("target", "target")
    parameters["ensembles"] = {
        name: _make_object(f"ensembles.{name}", given) for name, given in plan["ensembles"].items()
    }
    if isinstance(plan.get("methods"), dict):
        parameters["methods"] = {
            name: _make_method(f"methods.{name}", given) for name, given in plan["methods"].items()
        }
    return parameters


@contextmanager
def name_plan_in_errors(path: Path) -> Iterator[None]:
    """Name the plan in errors about it, and parameters as the plan has them."""
    try:
        yield
    except (InputError, UnsupportedEnsembleError) as error:
        error.message, error.parameters = error.spelled(_format_setting), {}
        if not error.message.startswith(str(path)):
            error.prepend(f"{path}{' ' if error.message.startswith('has ') else ': '}")
        raise


def _format_setting(name: str, value: Any) -> str:
    if name == "n_jobs":
        return "--n-jobs"
    return name if value is ... else f"{name} = {value!r}"


def _check_settings(where: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name, value in table.items():
        if name not in known:
            hint = suggest_similar(name, known) or f" Known: {format_list(known)}."
            raise InputError(f"has unknown setting {where}{name}.{hint}")
        if not isinstance(value, known[name]) or isinstance(value, bool):
            kinds = known[name] if isinstance(known[name], tuple) else (known[name],)
            names = format_list((_KINDS[kind] for kind in kinds), last=" or ")
            raise InputError(f"has {where}{name} = {value!r}. Give {names}.")


_KINDS = {
    **{str: "a text", int: "an integer", float: "a number", list: "a list", dict: "a table"},
}


def _dataset_loaders(given: Mapping[str, Any], home: Path, data_dir: Path | None) -> dict[str, Any]:
    """Return loaders of all data sets that a plan names, by name."""
    found: list[tuple[str, Any]] = []
    if "folder" in given:
        from secateurs.benchmarking.benchmark_inputs import tables_in_folder

        found += tables_in_folder(home / given["folder"]).items()
    found += [(name, home / str(path)) for name, path in given.get("files", {}).items()]
    for name in given.get("sklearn", ()):
        if name not in _SKLEARN:
            raise InputError(
                f"has datasets.sklearn {name!r}.{suggest_similar(str(name), _SKLEARN)} Known: "
                f"{format_list(_SKLEARN)}."
            )
        found.append((name, getattr(import_module("sklearn.datasets"), f"load_{name}")))
    if given.get("paper"):
        from secateurs.paper.datasets import Loader

        choice = given.get("reading", "multiclass")
        found += [(name, Loader(str(name), choice, data_dir)) for name in given["paper"]]
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"has two data sets called {name!r}. Rename one under [datasets.files]."
            )
    return dict(found)


def _make_method(where: str, given: Any) -> Any:
    """Return a method: by its short name, with parameters, or of a class of one's own."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict) and "pruner" in given:
        from secateurs.pruners import make_pruner

        parameters = {name: value for name, value in given.items() if name != "pruner"}
        return _call_factory(where, lambda **more: make_pruner(given["pruner"], **more), parameters)
    return _make_object(where, given, 'pruner = "comep", or class = "my_module.Mine"')


def _make_object(where: str, given: Any, example: str = 'class = "sklearn.ensemble.…"') -> Any:
    """Return an object of a class that a table names, with its other entries as parameters."""
    if not isinstance(given, dict) or not isinstance(given.get("class"), str):
        raise InputError(f"has {where} = {given!r}. Give a table with {example}, and parameters.")
    module, _, name = given["class"].rpartition(".")
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"has {where}.class = {given['class']!r}, which cannot be imported: {describe_error(error)}. "
            "Install its package, or put its module beside the plan."
        ) from error
    parameters = {
        key: _make_object(f"{where}.{key}", value)
        if isinstance(value, dict) and "class" in value
        else value
        for key, value in given.items()
        if key != "class"
    }
    return _call_factory(where, kind, parameters)


def _call_factory(where: str, make: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    try:
        return make(**parameters)
    except SecateursError as error:
        error.prepend(f"has {where} wrong: ")
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"has {where} with wrong parameters: {describe_error(error)}.") from error
