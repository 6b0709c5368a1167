"""Model files: save, load and inspect them safely, and export models to other runtimes."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secateurs.persistence.model_export import export as export
    from secateurs.persistence.model_files import inspect_file as inspect_file
    from secateurs.persistence.model_files import load as load
    from secateurs.persistence.model_files import save as save
    from secateurs.persistence.slim_models import slim as slim

# Loaded on first use: packages that only write files do not need scikit-learn.
_HOMES = {
    "save": "model_files",
    "load": "model_files",
    "inspect_file": "model_files",
    "export": "model_export",
    "slim": "slim_models",
}

__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
