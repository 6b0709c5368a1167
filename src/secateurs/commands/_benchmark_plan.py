"""Read the plan of a benchmark, a TOML file, as parameters of `secateurs.benchmark`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._plan_modules import import_class
from secateurs.exceptions import (
    InputError,
    SecateursError,
    UnsupportedEnsembleError,
    describe_error,
    reading_file,
    suggest_similar,
)
from secateurs.text_format import format_list

if TYPE_CHECKING:
    from secateurs.typing import JsonObject

_Types = Mapping[str, type | tuple[type, ...]]  # of the values, by setting
_SETTINGS: _Types = {
    **{"title": str, "scoring": str, "control": str, "voting": str, "folds": int},
    **{"random_state": int, "repeats": int, "keep": (int, float, str, list)},
    **{"methods": (list, dict), "datasets": dict, "ensembles": dict},
}
_SOURCES: _Types = {
    **{"folder": str, "target": str, "files": dict, "sklearn": list, "paper": list},
    **{"reading": str},
}
_SKLEARN = ("iris", "wine", "digits", "breast_cancer", "diabetes")


def read_plan(path: Path, data_dir: Path | None = None) -> JsonObject:
    """Return the parameters of `secateurs.benchmark` that a plan defines.

    Paths in a plan are relative to its folder. Classes are imported from installed packages, and
    from the modules in that folder that the plan names.
    """
    with reading_file(path):
        plan = tomllib.loads(path.read_text("utf-8"))
    _check_settings("", plan, _SETTINGS)
    for name in ("datasets", "ensembles"):
        if not plan.get(name):
            raise InputError(f"has no {name}. Add them under [{name}].")
    sources = plan.pop("datasets")
    _check_settings("datasets.", sources, _SOURCES)
    make_object = partial(_make_object, path.parent.resolve())
    parameters = dict(plan)
    parameters["datasets"] = _dataset_loaders(sources, path.parent, data_dir)
    parameters["target"] = sources.get("target", "target")
    parameters["ensembles"] = {
        name: make_object(f"ensembles.{name}", entry) for name, entry in plan["ensembles"].items()
    }
    if isinstance(plan.get("methods"), dict):
        parameters["methods"] = {
            name: _make_method(make_object, f"methods.{name}", entry)
            for name, entry in plan["methods"].items()
        }
    return parameters


@contextmanager
def name_plan_in_errors(path: Path) -> Iterator[None]:
    """Put the path of the plan in front of errors, and format parameters as TOML settings."""
    try:
        yield
    except (InputError, UnsupportedEnsembleError) as error:
        error.message, error.parameters = error.spelled(_format_setting), {}
        if not error.message.startswith(str(path)):
            error.prepend(f"{path}{' ' if error.message.startswith('has ') else ': '}")
        raise


def _format_setting(name: str, value: object) -> str:
    if name == "n_jobs":
        return "--n-jobs"
    return name if value is ... else f"{name} = {value!r}"


def _check_settings(where: str, table: Mapping[str, object], types: _Types) -> None:
    for name, value in table.items():
        if name not in types:
            hint = suggest_similar(name, types) or f" Known settings: {format_list(types)}."
            raise InputError(f"has unknown setting {where}{name}.{hint}")
        kinds = types[name]
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, allowed) or isinstance(value, bool):
            names = format_list((_TYPE_NAMES[kind] for kind in allowed), last=" or ")
            raise InputError(f"has {where}{name} = {value!r}. Pass {names}.")


_TYPE_NAMES = {
    **{str: "a string", int: "an integer", float: "a number", list: "a list", dict: "a table"}
}


def _dataset_loaders(
    sources: JsonObject, folder: Path, data_dir: Path | None
) -> dict[str, Callable[[], object] | Path]:
    """Return the loaders or paths of all data sets that a plan names, by name."""
    loaders: list[tuple[str, Callable[[], object] | Path]] = []
    if "folder" in sources:
        from secateurs.benchmarking.benchmark_inputs import tables_in_folder

        loaders += tables_in_folder(folder / sources["folder"]).items()
    loaders += [(name, folder / str(path)) for name, path in sources.get("files", {}).items()]
    for name in sources.get("sklearn", ()):
        if name not in _SKLEARN:
            raise InputError(
                f"has datasets.sklearn {name!r}.{suggest_similar(str(name), _SKLEARN)} Known data "
                f"sets: {format_list(_SKLEARN)}."
            )
        loaders.append((name, getattr(import_module("sklearn.datasets"), f"load_{name}")))
    if sources.get("paper"):
        from secateurs.paper.datasets import Loader

        reading = sources.get("reading", "multiclass")
        loaders += [(name, Loader(str(name), reading, data_dir)) for name in sources["paper"]]
    names = [name for name, _ in loaders]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"has two data sets named {name!r}. Rename one under [datasets.files]."
            )
    return dict(loaders)


def _make_method(make_object: Callable[..., object], where: str, entry: object) -> object:
    """Return a method from its short name, a short name with parameters, or a class."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, dict) and "pruner" in entry:
        from secateurs.pruners import make_pruner

        parameters = {name: value for name, value in entry.items() if name != "pruner"}
        return _call_factory(where, lambda **more: make_pruner(entry["pruner"], **more), parameters)
    return make_object(where, entry, 'pruner = "comep", or class = "my_module.Mine"')


def _make_object(
    folder: Path, where: str, entry: object, example: str = 'class = "sklearn.ensemble.…"'
) -> object:
    """Return an instance of the class that a table names, with its other entries as parameters."""
    if not isinstance(entry, dict) or not isinstance(entry.get("class"), str):
        raise InputError(f"has {where} = {entry!r}. Pass a table with {example}, and parameters.")
    try:
        factory = import_class(entry["class"], folder)
    except InputError as error:
        error.prepend(f"has {where}.class = {entry['class']!r}, which ")
        raise
    parameters = {
        key: _make_object(folder, f"{where}.{key}", value)
        if isinstance(value, dict) and "class" in value
        else value
        for key, value in entry.items()
        if key != "class"
    }
    return _call_factory(where, factory, parameters)


def _call_factory(
    where: str, factory: Callable[..., object], parameters: Mapping[str, object]
) -> object:
    try:
        return factory(**parameters)
    except SecateursError as error:
        error.prepend(f"has {where} wrong: ")
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"has {where} with wrong parameters: {describe_error(error)}.") from error
