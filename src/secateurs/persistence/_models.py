"""Keep models in files, and read files that others may have written."""

import hashlib
import io
import json
import os
import pickle
import platform
import re
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from secateurs import __version__
from secateurs.exceptions import (
    InputError,
    UnsupportedEnsembleError,
    UntrustedFileError,
    cause_of,
    reading,
)
from secateurs.persistence._skops import SchemaCheck, check_sizes, read_claims, read_schema
from secateurs.persistence._soundness import find_fault

_SIGNATURES = {
    "skops": (b"PK\x03\x04",),
    "pickle": tuple(bytes([0x80, protocol]) for protocol in range(2, 6)),
    "compressed pickle": (
        *(b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"\x1f\x8b"),  # zlib, gzip
        *(b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00", b"\x04\x22\x4d\x18"),  # bz2, xz, lzma, lz4
    ),
}
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".gz", ".z", ".bz2", ".xz", ".lzma", ".lz4")
_CHECKED_TYPES = ("sklearn.tree._tree.Tree", "sklearn.utils._bunch.Bunch")
_MAX_BYTES = 4 << 30
_MAX_SIDECAR = 64 << 20


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    provenance: dict[str, Any] | None = None,
    force: bool = False,
    trust_types: Iterable[str] = (),
) -> Path:
    """Write a model, and beside it what is known about it.

    The file is read back before it gets its name: what `save` writes, `load` takes. The model and
    its side-car appear whole or not at all.

    Parameters
    ----------
    model : object
        A fitted model.
    path : str or path-like
        Where to. The suffix tells the format: ``.skops``, which is safe to read, or ``.pkl``,
        ``.pickle`` or ``.joblib``, which run code when they are read.
    provenance : dict, optional
        How the model came about, as plain JSON. It goes into the side-car, a file of the same name
        that ends in ``.json``, next to format, SHA-256, size, class, members and versions.
    force : bool, default=False
        Whether to write over files that exist.
    trust_types : iterable of str
        Types that a reader will have to trust by name, see `load`.

    Returns
    -------
    Path
        Where the model is.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs.persistence._models import load, save
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["ant", "ant", "bee", "bee"]
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = save(forest, f"{folder}/forest.skops", provenance={"method": "comep"})
    ...     same = load(path)
    >>> same.predict(X).tolist() == forest.predict(X).tolist()
    True
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(
            f"{target} ends in {suffix!r}, which is no format of a model. "
            f"Give one of: {', '.join(_WRITERS)}."
        )
    sidecar = target.with_suffix(".json")
    refuse_existing((target, sidecar), force)
    try:
        content = _WRITERS[suffix](model)
    except Exception as error:
        raise UnsupportedEnsembleError(
            f"{type(model).__name__} cannot be written as {suffix}: {cause_of(error)}. "
            f"Leave out what cannot be stored, or choose among: {', '.join(_WRITERS)}."
        ) from error

    def check(written: Path) -> None:
        file = replace(_read(written, len(content)), path=target)
        _build(file, tuple(trust_types), max(_MAX_BYTES, len(content)))

    record = describe(model, suffix[1:], content) | {"provenance": provenance}
    write_with_sidecar(target, content, sidecar, record, check)
    return target


def load(
    path: str | os.PathLike[str],
    *,
    trust: str | None = None,
    sha256: str | None = None,
    trust_types: Iterable[str] = (),
    max_bytes: int = _MAX_BYTES,
) -> Any:
    """Read a model, unless its file could do harm.

    Parameters
    ----------
    path : str or path-like
        The file. Its first bytes tell the format; a suffix that says otherwise is refused.
    trust : {"pickle"}, optional
        Take pickle and joblib files. Reading one runs code from the file: trust none but your own.
    sha256 : str, optional
        The SHA-256 of the very file you mean. Any other is refused, and a pickle with this one is
        taken.
    trust_types : iterable of str
        Further types to take from a skops file, such as ``"sklearn.neighbors._kd_tree.KDTree"``.
        What they hold is not checked.
    max_bytes : int, default=4 GiB
        The most that the file may take, as it is and unpacked.

    Returns
    -------
    object
        The model. No index in its trees leads out of them.

    Examples
    --------
    >>> from secateurs.persistence._models import load
    >>> load("forest.txt")
    Traceback (most recent call last):
    secateurs.exceptions.InputError: forest.txt does not exist. Give the path of a model file.
    """
    if trust not in (None, "pickle"):
        raise InputError(f"trust={trust!r} is unknown. Give 'pickle', or None to trust no pickle.")
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InputError(f"sha256={sha256!r} is no SHA-256. Give its 64 hexadecimal digits.")
    file = _read(Path(path), max_bytes)
    if sha256 is not None and file.sha256 != sha256.lower():
        raise UntrustedFileError(
            f"{path} has SHA-256 {file.sha256}, not {sha256.lower()}: it is another file. Get the "
            "right one, or give the SHA-256 of this one if you trust it."
        )
    kind, suffix = _sniff(file.data), file.path.suffix.lower()
    if kind == "unknown":
        raise InputError(
            f"{path} is no model file: it begins with {file.data[:8]!r}. Give a .skops file, or a "
            "pickle or joblib file that you trust."
        )
    if suffix in (".skops", *_PICKLE_SUFFIXES) and (kind == "skops") != (suffix == ".skops"):
        raise UntrustedFileError(
            f"{path} is called {suffix} but is a {kind} file inside. Ask where it comes from; if "
            "it is yours, give it the right name."
        )
    if kind != "skops" and trust is None and sha256 is None:
        raise UntrustedFileError(
            f"{path} is a {kind}: loading it runs code from the file. If you wrote it yourself, "
            f"give trust='pickle' or sha256='{file.sha256}'. If not, ask for a .skops file."
        )
    return _build(replace(file, pinned=sha256 is not None), tuple(trust_types), max_bytes)


def inspect_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Tell what a file is without building anything from it.

    Parameters
    ----------
    path : str or path-like
        Any file.

    Returns
    -------
    dict
        ``format`` ("skops", "pickle", "compressed pickle" or "unknown"), ``bytes``, ``sha256``;
        what a skops file says of itself: ``model``, ``types``, ``protocol``, ``versions``; the
        ``sidecar`` if there is one, and whether it speaks of this very file (``sidecar_matches``).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.dummy import DummyClassifier
    >>> from secateurs.persistence._models import inspect_file, save
    >>> with TemporaryDirectory() as folder:
    ...     path = save(DummyClassifier().fit([[0], [1]], [0, 1]), f"{folder}/model.skops")
    ...     facts = inspect_file(path)
    >>> facts["format"], facts["model"], facts["sidecar_matches"]
    ('skops', 'sklearn.dummy.DummyClassifier', True)
    """
    target = Path(path)
    with _open(target) as handle:
        kind = _sniff(handle.read(8))
        handle.seek(0)
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        facts: dict[str, Any] = {"format": kind, "bytes": handle.tell(), "sha256": digest}
        if kind == "skops":
            with reading(target), zipfile.ZipFile(handle) as archive:
                facts |= read_claims(archive)
    sidecar = _find_sidecar(target)
    matches = None if sidecar is None else sidecar.get("sha256") == digest
    return facts | {"sidecar": sidecar, "sidecar_matches": matches}


@dataclass(frozen=True)
class _File:
    """A file, read once: what is hashed is what is built."""

    path: Path
    data: bytes
    pinned: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def _sniff(start: bytes) -> str:
    kinds = (kind for kind, signatures in _SIGNATURES.items() if start.startswith(signatures))
    return next(kinds, "unknown")


def _open(path: Path) -> io.BufferedReader:
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}. Give the path of a model file.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty. Write the model again.")
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from error


def _read(path: Path, max_bytes: int) -> _File:
    with _open(path) as handle:
        data = handle.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UntrustedFileError(
            f"{path} is larger than max_bytes={max_bytes}. Give a larger one if you expect that."
        )
    return _File(path, data)


def _build(file: _File, trust_types: tuple[str, ...], max_bytes: int) -> Any:
    """Build the model in a file that may be opened, and look it through."""
    with reading(file.path):
        if _sniff(file.data) == "skops":
            model = _build_skops(file, trust_types, max_bytes)
        else:
            model = import_module("joblib").load(io.BytesIO(file.data))
    try:
        fault = find_fault(model)
    except Exception as error:  # attributes of a kind that no fitted model has
        fault = f"its state makes no sense ({cause_of(error)})"
    if fault:
        raise UntrustedFileError(
            f"{file.path} was tampered with or is damaged: {fault}. Get it again from where it was "
            "made."
        )
    return model


def _build_skops(file: _File, trust_types: tuple[str, ...], max_bytes: int) -> Any:
    skops = import_module("skops.io")
    trusted = (*_CHECKED_TYPES, *trust_types)
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        check_sizes(archive, len(file.data), max_bytes, file.pinned)
        SchemaCheck(archive, frozenset(trust_types)).weigh(read_schema(archive))
    try:
        return skops.loads(file.data, trusted=trusted)
    except import_module("skops.io.exceptions").UntrustedTypesFoundException:
        names = sorted(set(skops.get_untrusted_types(data=file.data)) - set(trusted))
        raise UntrustedFileError(
            f"holds types that are not trusted: {', '.join(names)}. If you know them and where the "
            f"file comes from, give trust_types={names}."
        ) from None


def _find_sidecar(path: Path) -> dict[str, Any] | None:
    for place in (path.with_name(f"{path.name}.json"), path.with_suffix(".json")):
        if place != path and place.is_file() and place.stat().st_size <= _MAX_SIDECAR:
            with suppress(ValueError, RecursionError, OSError):  # somebody else's file of that name
                found = json.loads(place.read_text("utf-8"))
                return found if isinstance(found, dict) else None
    return None


def describe(model: Any, kind: str, content: bytes, packages: Iterable[str] = ()) -> dict[str, Any]:
    """Collect what a side-car says of a model and its file."""
    versions = {"python": platform.python_version(), "secateurs": __version__}
    for package in ("numpy", "scikit-learn", "skops", *packages):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    record = {
        "format": kind,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "versions": versions,
    }
    members = getattr(model, "estimators_", None)
    return record if members is None else record | {"members": len(members)}


def refuse_existing(paths: Iterable[Path], force: bool) -> None:
    """Refuse to write where it is not possible, or not asked for."""
    for path in paths:
        if not path.parent.is_dir():
            raise InputError(f"{path.parent} is no folder. Make it first.")
        if path.is_dir():
            raise InputError(f"{path} is a folder. Give the path of a file.")
        if path.exists() and not force:
            raise InputError(f"{path} exists. Give another path, or force=True to write over it.")


def write_with_sidecar(
    path: Path,
    content: bytes,
    sidecar: Path,
    record: dict[str, Any],
    check: Callable[[Path], object] | None = None,
) -> None:
    """Write a file and its side-car, check the file, and name both; or leave all as it was."""
    try:
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(
            f"provenance is no plain JSON: {error}. Give numbers, texts, lists and dicts."
        ) from error
    token = secrets.token_hex(8)
    places = (path, sidecar)
    new, old = ([p.with_name(f".{token}-{age}-{p.name}") for p in places] for age in ("new", "old"))
    placed = []
    try:
        _write(new[0], content)
        _write(new[1], text.encode())
        if check is not None:
            check(new[0])
        for place, fresh, spare in zip(places, new, old, strict=True):
            if place.exists():
                shutil.copy2(place, spare)
            os.replace(fresh, place)
            placed.append((place, spare))
    except BaseException as error:
        for place, spare in placed:
            os.replace(spare, place) if spare.exists() else place.unlink()
        if isinstance(error, OSError):
            raise InputError(f"{path} cannot be written: {cause_of(error)}.") from error
        raise
    finally:
        for leftover in (*new, *old):
            leftover.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def _dump_skops(model: Any) -> bytes:
    dumps = import_module("skops.io").dumps
    return dumps(model, compression=zipfile.ZIP_DEFLATED, compresslevel=6)


def _dump_joblib(model: Any) -> bytes:
    buffer = io.BytesIO()
    import_module("joblib").dump(model, buffer, compress=3)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[Any], bytes]] = {
    ".skops": _dump_skops,
    ".pkl": pickle.dumps,
    ".pickle": pickle.dumps,
    ".joblib": _dump_joblib,
}
