"""Blends as JSON files: a `Blend` has names and weights, so that no other format is needed."""

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from secateurs.exceptions import InputError
from secateurs.persistence.atomic_files import write_files
from secateurs.typing import JsonObject

# By its path, because packages import only from packages to their left.
_BLEND = ("secateurs.pruning.blend", "Blend")


def is_blend(model: object) -> bool:
    """Return whether a model is a `Blend`, without importing its module."""
    return any((kind.__module__, kind.__name__) == _BLEND for kind in type(model).__mro__)


def save_blend(
    model: Any,
    target: Path,
    provenance: JsonObject | None,
    force: bool,
    beside: Mapping[Path, bytes] | None,
) -> Path:
    """Write a blend as JSON; raise an error for other models, and for other formats."""
    if not is_blend(model):
        raise InputError(f"{target}: only a Blend can be saved as .json. Use .skops for models.")
    if target.suffix.lower() != ".json":
        raise InputError(
            f"{target}: a Blend is saved as .json, which is as safe to load as .skops. Use that "
            "suffix."
        )
    content = model.to_json(provenance).encode()
    _from_json(content)  # raises if `load` would reject the file
    write_files({target: content, **(beside or {})}, force=force)
    return target


def load_blend(path: Path, content: bytes) -> Any:
    """Return the blend of a JSON file; errors name the file."""
    try:
        return _from_json(content)
    except InputError as error:
        error.prepend(f"{path}: ")
        raise


def describe_blend(path: Path, content: bytes) -> JsonObject:
    """Return what the members of a blend predict, and their names; nothing for other files."""
    with suppress(InputError):
        blend = load_blend(path, content)
        return {"blend": {"kind": blend.kind, "names": blend.names}}
    return {}


def _from_json(content: bytes) -> Any:
    module, name = _BLEND
    return getattr(import_module(module), name).from_json(content)
