"""Import the classes that a plan names: from installed packages, or from files next to the plan."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateurs.exceptions import InputError, SecateursError, describe_error

if TYPE_CHECKING:
    from distributed import Client


class _PlanModuleLoader(SourceFileLoader):
    """Loads a module next to a plan, and marks it as such."""


def import_class(dotted: str, folder: Path) -> Any:
    """Return the class ``module.Class``.

    Only the named module is read from the plan's folder, and only if no installed package has its
    name: the folder is not on Python's path, so that none of its files can replace a library.
    """
    module_name, _, name = dotted.rpartition(".")
    if not module_name or not all(part.isidentifier() for part in dotted.split(".")):
        raise InputError('is not a class. Pass its module and its name: "my_module.Mine".')
    package = module_name.partition(".")[0]
    path = _module_file(folder, package)
    is_own = path is not None and _is_free_name(package)
    try:
        if path is not None and is_own:
            _load_module(package, path)
        return getattr(import_module(module_name), name)
    except SecateursError:
        raise
    except Exception as error:  # a user's module can raise anything
        hint = "Install its package, or put its module next to the plan."
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if path is not None and not is_own:
            hint = f"{path} is not used, as an installed package has its name: rename it."
        elif missing and _module_file(folder, missing) is not None:
            hint = (
                f"Modules next to a plan cannot import each other: put {missing} and {package} "
                "into one package, which is a folder with an __init__.py."
            )
        raise InputError(f"cannot be imported: {describe_error(error)}. {hint}") from error


def _module_file(folder: Path, name: str) -> Path | None:
    """Return the file of a module or package in a folder, None if there is none."""
    candidates = (folder / name / "__init__.py", folder / f"{name}.py")
    return next((path for path in candidates if path.is_file()), None)


def _is_free_name(name: str) -> bool:
    """Return whether no library has a name; a module of an earlier plan does not count."""
    if isinstance(getattr(_loaded_spec(name), "loader", None), _PlanModuleLoader):
        return True
    try:
        return find_spec(name) is None
    except ValueError:  # a module without a specification, such as __main__
        return False


def _loaded_spec(name: str) -> Any:
    return getattr(sys.modules.get(name), "__spec__", None)


def _load_module(name: str, path: Path) -> None:
    """Load a module from its file, unless it is loaded."""
    if getattr(_loaded_spec(name), "origin", None) == str(path):
        return
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]  # of another plan
    is_package = path.name == "__init__.py"
    spec = spec_from_file_location(
        name,
        path,
        loader=_PlanModuleLoader(name, str(path)),
        submodule_search_locations=[str(path.parent)] if is_package else None,
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    # Workers do not have the plan's folder on their path, so that joblib sends classes by value.
    _cloudpickle().register_pickle_by_value(module)


def _cloudpickle() -> Any:
    """Return the package with which joblib sends objects; before joblib 1.6, its own copy."""
    try:
        return import_module("joblib.externals.cloudpickle")
    except ImportError:
        return import_module("cloudpickle")


def upload_plan_modules(client: Client) -> None:
    """Send the modules next to the plan to all workers of a Dask cluster, also to later ones."""
    from distributed.diagnostics.plugin import WorkerPlugin

    files: dict[str, dict[str, bytes]] = {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if "." not in name and isinstance(getattr(spec, "loader", None), _PlanModuleLoader):
            path = Path(str(spec and spec.origin))
            paths = path.parent.rglob("*.py") if path.name == "__init__.py" else [path]
            top = path.parents[1] if path.name == "__init__.py" else path.parent
            files[name] = {str(p.relative_to(top)): p.read_bytes() for p in paths}

    # Dask's own upload would load a module again in workers that are threads of this process.
    class PlanModules(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            _install_modules(files, Path(worker.local_directory))

    if files:
        client.register_plugin(PlanModules(), name="secateurs-plan-modules")


def _install_modules(files: dict[str, dict[str, bytes]], folder: Path) -> None:
    """Write the files of modules to a worker's folder, and load the modules from there."""
    for name, contents in files.items():
        if name in sys.modules:
            continue
        for relative, content in contents.items():
            path = folder / "plan" / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        module_file = _module_file(folder / "plan", name)
        assert module_file is not None
        _load_module(name, module_file)
