"""skops files: written, and checked for sizes and types before anything is built from them.

skops checks the types in a file, not what they hold: an archive may unpack without end, and a
number in it may ask for any amount of memory.
"""

import json
import zipfile
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from secateurs.exceptions import InputError, UntrustedFileError
from secateurs.persistence._files import check_array

_MAX_ENTRIES = 500_000
_MAX_SCHEMA = 256 << 20
_MAX_NODES = 4_000_000  # objects and lists in a schema: some 70 for each tree of a forest
_MAX_RATIO = 400  # unpacked to packed bytes: 10 in files of forests, 1000 in bombs
_BOMB_FLOOR = 64 << 20  # an archive that unpacks to less is harmless

# These build nothing larger than what the file holds. Any other loader of skops has to be trusted
# by the type it builds: some allocate as much as a number in the file says.
_PLAIN_LOADERS = frozenset(
    f"{kind}Node"
    for kind in (
        *("Json", "Dict", "List", "Tuple", "Set", "Slice", "Bytes", "Type", "Function"),
        *("Object", "NdArray", "MaskedArray", "RandomState", "Tree", "Loss"),
    )
)
# Without numpy.void and numpy.bytes_: called with a number, they allocate that many bytes.
_ARRAYS = frozenset(
    f"numpy.{np.dtype(code).type.__name__}" for code in np.typecodes["All"] if code not in "SOV"
) | {"numpy.ndarray", "numpy.bool", "numpy.bool_"}


def dump_skops(model: Any) -> bytes:
    """Return a model as the content of a skops file."""
    dumps = import_module("skops.io").dumps
    return dumps(model, compression=zipfile.ZIP_DEFLATED, compresslevel=6)


def check_sizes(archive: zipfile.ZipFile, n_bytes: int, max_bytes: int, pinned: bool) -> None:
    """Refuse an archive of ``n_bytes`` that unpacks to too much, before unpacking it."""
    entries = archive.infolist()
    names = {entry.filename for entry in entries}
    unpacked = sum(entry.file_size for entry in entries)
    plain = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if len(entries) > _MAX_ENTRIES or len(names) < len(entries):
        raise UntrustedFileError(
            f"has {len(entries)} entries with {len(names)} different names. At most {_MAX_ENTRIES} "
            "entries, all of different names, are allowed; get a file that skops wrote."
        )
    if any(entry.compress_type not in plain or entry.flag_bits & 1 for entry in entries):
        raise UntrustedFileError(
            "is compressed in a way that skops does not use. Get a file that skops wrote."
        )
    if unpacked > max_bytes:
        raise UntrustedFileError(
            f"unpacks to {unpacked} bytes, more than {{max_bytes}}. Give a larger limit if you "
            "expect that.",
            max_bytes=max_bytes,
        )
    if unpacked > max(_BOMB_FLOOR, _MAX_RATIO * n_bytes) and not pinned:
        raise UntrustedFileError(
            f"unpacks to {unpacked // n_bytes} times its size, as zip bombs do; at most "
            f"{_MAX_RATIO} times is allowed. Give its {{sha256}} if you know the file.",
            sha256=...,
        )


def read_schema(archive: zipfile.ZipFile) -> Any:
    """Read the description of the objects in a skops file."""
    if "schema.json" not in archive.namelist():
        raise InputError("is a zip file without a model. Give a .skops file.")
    size = archive.getinfo("schema.json").file_size
    if size > _MAX_SCHEMA:
        raise UntrustedFileError(
            f"describes its objects in {size} bytes, of {_MAX_SCHEMA} allowed. Split the model."
        )
    schema = archive.read("schema.json")
    n_nodes = schema.count(b"{") + schema.count(b"[")
    if n_nodes > _MAX_NODES:
        raise UntrustedFileError(
            f"describes {n_nodes} objects, of {_MAX_NODES} allowed. Split the model."
        )
    return json.loads(schema)


def read_claims(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return what a skops file says about itself, unverified; nothing is built."""
    schema = read_schema(archive)
    nodes, stack = [], [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, (dict, list)):
            stack.extend(part.values() if isinstance(part, dict) else part)
        if isinstance(part, dict) and part.get("__loader__", "JsonNode") != "JsonNode":
            nodes.append(part)
    marks = [node["content"].get("_sklearn_version") for node in nodes if "key_types" in node]
    return {
        "model": _type_name(schema),
        "types": sorted({_type_name(node) for node in nodes}),
        "protocol": schema["protocol"],
        "versions": {
            "skops": schema.get("_skops_version"),
            "scikit-learn": sorted({json.loads(mark["content"]) for mark in marks if mark}),
        },
    }


def _type_name(node: dict[str, Any]) -> str:
    return f"{node['__module__']}.{node['__class__']}"


@dataclass(frozen=True)
class SchemaCheck:
    """Check a skops file for what skops itself lets pass; types are left to skops."""

    archive: zipfile.ZipFile
    trusted: frozenset[str]
    _weights: dict[int, int] = field(default_factory=dict)
    _owners: dict[str, int] = field(default_factory=dict)

    def weigh(self, part: Any) -> int:
        """Return the number of values in a part of the schema; check every node in it."""
        if not isinstance(part, (dict, list)):
            return 1
        weight = 1
        for child in part.values() if isinstance(part, dict) else part:
            weight += self.weigh(child)
        if isinstance(part, dict) and ("__loader__" in part or "__id__" in part):
            self._check(part, weight)
        return weight

    def _check(self, node: dict[str, Any], weight: int) -> None:
        name, loader, key = _type_name(node), node["__loader__"], node["__id__"]
        # skops builds what it first meets under an id. In a file that skops wrote, one id means one
        # content; a short stand-in for a long one would be expanded again and again, without end.
        if type(key) is not int or key < 1 or self._weights.setdefault(key, weight) != weight:
            raise InputError("describes one object in two different ways. Write it again.")
        if "file" in node and self._owners.setdefault(node["file"], key) != key:
            raise InputError("uses one array for two objects. Write it again.")
        is_array = loader == "NdArrayNode" and node["type"] == "numpy"
        plain = loader in _PLAIN_LOADERS and (not is_array or name in _ARRAYS)
        if not plain and name not in self.trusted:
            raise UntrustedFileError(
                f"builds {name} by {loader}, which may take any amount of memory. If you know "
                "where the file comes from, give {trust_types}.",
                trust_types=[name],
            )
        if is_array:
            self._check_array(node["file"], scalar=name != "numpy.ndarray")

    def _check_array(self, file: str, scalar: bool) -> None:
        """Compare the claimed size of an array with its bytes."""
        with self.archive.open(file) as handle:
            shape = check_array(handle, self.archive.getinfo(file).file_size)
        if scalar and shape:
            raise InputError(f"has an array of shape {shape} for a number. Write it again.")
