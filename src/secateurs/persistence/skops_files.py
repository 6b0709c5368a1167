"""Write skops files, and check their sizes and types before anything is built from them.

skops checks the types in a file, not their content: an archive may unpack to any size, and a number
in it may allocate any amount of memory.
"""

import io
import json
import struct
import zipfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from secateurs.exceptions import InputError, UntrustedFileError
from secateurs.persistence._trusted_types import trusted_loaders
from secateurs.persistence.atomic_files import check_array_header
from secateurs.thread_safety import array_header_lock
from secateurs.typing import JsonObject

_Json: TypeAlias = JsonObject | list[Any] | str | int | float | bool | None

# Limits far above the files of real models, which bound the time and memory of the checks.
_MAX_ENTRIES = 500_000
_MAX_SCHEMA = 256 << 20
_MAX_NODES = 4_000_000  # objects and lists in a schema: about 70 for each tree of a forest
_MAX_RATIO = 400  # unpacked to packed bytes: 10 in files of forests, 1000 in bombs
_BOMB_FLOOR = 64 << 20  # an archive that unpacks to less is harmless
_MAX_DICTIONARY = 64 << 20  # memory that an LZMA entry may ask for: the most that presets use

# These loaders build nothing larger than the content of the file. For any other loader of skops,
# the user has to trust the type: some allocate as much memory as a number in the file.
_PLAIN_LOADERS = frozenset(
    f"{kind}Node"
    for kind in (
        *("Json", "Dict", "DefaultDict", "List", "Tuple", "Set", "Slice", "Bytes", "Bytearray"),
        *("Type", "Function", "Object", "DType", "NdArray", "MaskedArray", "RandomState", "Tree"),
        "Loss",
    )
)
# Without numpy.void and numpy.bytes_: called with a number, they allocate that many bytes.
_ARRAYS = frozenset(
    f"numpy.{np.dtype(code).type.__name__}" for code in np.typecodes["All"] if code not in "SOV"
) | {"numpy.ndarray", "numpy.bool", "numpy.bool_"}


def dump_skops(model: object, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a model as the content of a skops file, compressed by a method of zip files."""
    level = 6 if compression == zipfile.ZIP_DEFLATED else None  # LZMA has no levels in zip files
    return import_module("skops.io").dumps(model, compression=compression, compresslevel=level)


def load_skops(data: bytes, trust_types: Collection[str], max_bytes: int, pinned: bool) -> Any:
    """Return the model in a skops file, if its sizes are allowed and its types are trusted."""
    skops, trusted = import_module("skops.io"), {*trusted_loaders(), *trust_types}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_archive_sizes(archive, len(data), max_bytes, pinned)
        check = SchemaCheck(archive, frozenset(trust_types))
        check.node_digest(read_schema(archive))
    if not check.untrusted_types:
        untrusted = import_module("skops.io.exceptions").UntrustedTypesFoundException
        with suppress(untrusted), array_header_lock:
            return skops.loads(data, trusted=list(trusted))
    names = sorted(check.untrusted_types | {*skops.get_untrusted_types(data=data)} - trusted)
    raise UntrustedFileError(
        f"holds types that are not trusted: {', '.join(names)}. If you know them and where the "
        "file comes from, pass {trust_types}.",
        trust_types=[*trust_types, *names],
    )


def check_archive_sizes(
    archive: zipfile.ZipFile, n_bytes: int, max_bytes: int, pinned: bool
) -> None:
    """Raise an error if an archive of ``n_bytes`` would unpack to too much, before unpacking it."""
    entries = archive.infolist()
    names = {entry.filename for entry in entries}
    unpacked = sum(entry.file_size for entry in entries)
    allowed_types = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
    if len(entries) > _MAX_ENTRIES or len(names) < len(entries):
        raise UntrustedFileError(
            f"has {len(entries)} entries with {len(names)} different names. At most {_MAX_ENTRIES} "
            "entries, all with different names, are allowed; get a file that skops wrote."
        )
    if any(entry.compress_type not in allowed_types or entry.flag_bits & 1 for entry in entries):
        raise UntrustedFileError(
            "is compressed in a way that skops does not use. Get a file that skops wrote."
        )
    if any(_dictionary_size(archive, entry) > _MAX_DICTIONARY for entry in entries):
        raise UntrustedFileError(
            f"needs more than {_MAX_DICTIONARY} bytes of memory to unpack one of its entries, "
            "which no file that skops wrote does. Get a new copy from its source."
        )
    if unpacked > max_bytes:
        raise UntrustedFileError(
            f"unpacks to {unpacked} bytes, more than {{max_bytes}}. Pass a larger limit if you "
            "expect this.",
            max_bytes=max_bytes,
        )
    if unpacked > max(_BOMB_FLOOR, _MAX_RATIO * n_bytes) and not pinned:
        raise UntrustedFileError(
            f"unpacks to {unpacked // n_bytes} times its size, as zip bombs do; at most "
            f"{_MAX_RATIO} times is allowed. Pass its {{sha256}} if you know the file.",
            sha256=...,
        )


def _dictionary_size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Return the bytes that an LZMA entry allocates before it unpacks anything; 0 for others."""
    if entry.compress_type != zipfile.ZIP_LZMA or archive.fp is None:
        return 0
    archive.fp.seek(entry.header_offset)
    header = archive.fp.read(30)  # of the entry, with the lengths of its name and extra field
    archive.fp.seek(sum(struct.unpack("<HH", header[26:30])), io.SEEK_CUR)
    # Version, length of the properties, and the properties: one byte, then the dictionary size.
    return int(struct.unpack("<4xxI", archive.fp.read(9))[0])


def read_schema(archive: zipfile.ZipFile) -> JsonObject:
    """Return the schema of a skops file, which describes its objects."""
    if "schema.json" not in archive.namelist():
        raise InputError("is a zip file without a model. Pass a .skops file.")
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


def read_claims(archive: zipfile.ZipFile) -> JsonObject:
    """Return the model, types and versions that a skops file claims, without building anything."""
    schema = read_schema(archive)
    nodes: list[JsonObject] = []
    stack: list[_Json] = [schema]
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


def _type_name(node: JsonObject) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def _is_expected_loader(name: str, loader: str) -> bool:
    """Return whether skops writes a type with this loader; True for types not in our list."""
    loaders = trusted_loaders().get(name)
    return loaders is None or loader in loaders


def _is_array(node: JsonObject) -> bool:
    return node["__loader__"] == "NdArrayNode" and node["type"] == "numpy"


def _combine_digests(digests: list[bytes] | dict[str, bytes]) -> bytes:
    return blake2b(repr(digests).encode(), digest_size=16).digest()


@dataclass(frozen=True)
class SchemaCheck:
    """Checks of a skops file in addition to those of skops itself."""

    archive: zipfile.ZipFile
    trusted_types: frozenset[str] = frozenset()  # named by the user
    # Types in the file that are not trusted with the loader that would build them.
    untrusted_types: set[str] = field(default_factory=set)
    _digests: dict[int, bytes] = field(default_factory=dict)  # by object id
    _file_owners: dict[str, int] = field(default_factory=dict)  # object ids by entry of the archive
    _array_shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # by entry

    def node_digest(self, part: _Json) -> bytes:
        """Return a digest of a part of the schema after checking every node in it."""
        # Ids and file names are ignored: skops may write one object twice with different names.
        if isinstance(part, list):
            return _combine_digests([self.node_digest(child) for child in part])
        if not isinstance(part, dict):
            return repr(part).encode()
        is_file = "file" in part and "__loader__" in part
        ignored = ("__id__", "file") if is_file else ("__id__",)
        inner = {key: self.node_digest(part[key]) for key in part if key not in ignored}
        if is_file:
            inner["file"] = self._file_digest(part)
        digest = _combine_digests(inner)
        if "__loader__" in part or "__id__" in part:
            self._check_node(part, digest)
        return digest

    def _check_node(self, node: JsonObject, digest: bytes) -> None:
        """Raise an error for an inconsistent node; record its type if it is not trusted."""
        name, loader, key = _type_name(node), node["__loader__"], node["__id__"]
        # skops builds the first object that it reads under an id. In a file that skops wrote, an id
        # has one content. Otherwise a short node could stand for a long object that is expanded
        # again and again, or a checked node for an unchecked object.
        if type(key) is not int or key < 1 or self._digests.setdefault(key, digest) != digest:
            raise InputError("describes one object in two different ways. Write it again.")
        if "file" in node and self._file_owners.setdefault(node["file"], key) != key:
            raise InputError("uses one array for two objects. Write it again.")
        is_array = _is_array(node)
        is_plain = loader in _PLAIN_LOADERS and (not is_array or name in _ARRAYS)
        if name not in self.trusted_types and not (is_plain and _is_expected_loader(name, loader)):
            self.untrusted_types.add(name)
        if is_array and name != "numpy.ndarray" and (shape := self._array_shape(node["file"])):
            raise InputError(f"has an array of shape {shape} for a number. Write it again.")
        if loader == "TreeNode":
            self._check_tree(node["content"]["content"])

    def _check_tree(self, state: JsonObject) -> None:
        """Raise an error unless nodes have one dimension: scikit-learn crashes on other trees."""
        nodes = state["nodes"]
        if not _is_array(nodes) or len(self._array_shape(nodes["file"])) != 1:
            raise InputError("has a tree whose nodes are not a list. Write it again.")

    def _file_digest(self, node: JsonObject) -> bytes:
        info = self.archive.getinfo(node["file"])
        shape = self._array_shape(node["file"]) if _is_array(node) else None
        return repr((shape, info.file_size, info.CRC)).encode()

    def _array_shape(self, file: str) -> tuple[int, ...]:
        """Return the shape of an array after comparing it with the size of its entry."""
        if file not in self._array_shapes:
            with self.archive.open(file) as handle:
                self._array_shapes[file] = check_array_header(
                    handle, self.archive.getinfo(file).file_size
                )
        return self._array_shapes[file]
