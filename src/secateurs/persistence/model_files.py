"""Save models, load them, and inspect model files of unknown origin."""

import hashlib
import io
import json
import os
import pickle
import platform
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from secateurs import __version__
from secateurs.exceptions import (
    InputError,
    UnsupportedEnsembleError,
    UntrustedFileError,
    describe_error,
    reading_file,
)
from secateurs.persistence import slim_models
from secateurs.persistence._model_faults import find_fault
from secateurs.persistence.atomic_files import check_writable, write_with_sidecar
from secateurs.persistence.blend_files import describe_blend, is_blend, load_blend, save_blend
from secateurs.persistence.skops_files import (
    check_archive_sizes,
    dump_skops,
    load_skops,
    read_claims,
)
from secateurs.typing import JsonObject

_SIGNATURES = {
    "skops": (b"PK\x03\x04",),
    "JSON": (b"{",),
    "pickle": tuple(bytes([0x80, protocol]) for protocol in range(2, 6)),
    "compressed pickle": (
        *(b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"\x1f\x8b"),  # zlib, gzip
        *(b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00", b"\x04\x22\x4d\x18"),  # bz2, xz, lzma, lz4
    ),
}
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".gz", ".z", ".bz2", ".xz", ".lzma", ".lz4")
_MAX_BYTES = 4 << 30  # of a model, unless the user allows more: limits the memory of `load`
_MAX_SIDECAR = 64 << 20  # larger files are not read: they are not side-cars


def save(
    model: object,
    path: str | os.PathLike[str],
    *,
    provenance: JsonObject | None = None,
    force: bool = False,
    beside: Mapping[Path, bytes] | None = None,
    slim: bool = False,
) -> Path:
    """Write a model to a file, with a side-car that describes it.

    The file is read back before it gets its name, so that `load` accepts every file that `save`
    writes. Types that `load` does not trust by default are listed as ``trust_types`` in the
    side-car. The model and its side-car appear complete or not at all.

    Parameters
    ----------
    model : object
        A fitted model, or a `Blend`.
    path : str or path-like
        Path of the file. The suffix determines the format: ``.skops``, which is safe to load, or
        ``.pkl``, ``.pickle`` or ``.joblib``, which run code when they are loaded. A `Blend` is
        saved as ``.json``, without a side-car: the file itself has the provenance.
    provenance : dict, optional
        How the model was created, as plain JSON. It is written to the side-car, a file of the same
        name with ``.json`` added, with the format, SHA-256, size, class, number of members and
        versions.
    force : bool, default=False
        Whether to overwrite existing files.
    beside : mapping of Path to bytes, optional
        Further files to write, such as a report. Either all files appear, or none.
    slim : bool, default=False
        Whether to store only the numbers of trees that prediction reads. Predictions stay equal to
        the last bit, and compressed files become smaller; see `secateurs.persistence.slim`.

    Returns
    -------
    Path
        Path of the model.

    See Also
    --------
    load : Load a saved model.
    export : Write a model for ONNX Runtime or treelite, which need no scikit-learn.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import load, save
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
            f"{target} ends in {suffix!r}, which is not a model format. "
            f"Pass one of: {', '.join(_WRITERS)}."
        )
    if suffix == ".json" or (suffix == ".skops" and is_blend(model)):
        return save_blend(model, target, provenance, force, beside)
    sidecar = sidecar_path(target)
    check_writable((target, sidecar, *(beside or ())), force)
    if slim:
        model = slim_models.slim(model)
    write = _SLIM_WRITERS.get(suffix, _WRITERS[suffix]) if slim else _WRITERS[suffix]
    try:
        content = write(model)
    except Exception as error:
        raise _unwritable_error(model, suffix, error) from error
    types = _check_readable(model, _ModelFile(target, content, pinned=True))

    def check(written: Path) -> None:
        if _read_model_file(written, len(content)).data != content:
            raise InputError(f"{target} was not written correctly. Check the disk.")

    record = describe_model(model, suffix[1:], content) | {"provenance": provenance}
    if slim:
        record["slim"] = True
    if types:
        record["trust_types"] = types
    write_with_sidecar(target, content, sidecar, record, force=force, check=check, beside=beside)
    return target


def load(
    path: str | os.PathLike[str],
    *,
    trust: str | None = None,
    sha256: str | None = None,
    trust_types: Iterable[str] = (),
    max_bytes: int = _MAX_BYTES,
) -> Any:
    """Load a model, after checking that its file cannot do harm.

    Parameters
    ----------
    path : str or path-like
        Path of the file. Its first bytes determine the format; a different suffix is an error.
    trust : {"pickle"}, optional
        Accept pickle and joblib files. Loading them runs code from the file: trust only your own.
    sha256 : str, optional
        Load the file only if its SHA-256 matches. A pickle that matches is accepted.
    trust_types : iterable of str
        Further types to accept in a skops file, such as ``"sklearn.neighbors._kd_tree.KDTree"``.
        Their content is not checked.
    max_bytes : int, default=4 GiB
        Largest size of the file, both packed and unpacked.

    Returns
    -------
    object
        The model. All indices in its trees are within bounds.

    See Also
    --------
    save : Write a model to a file.

    Examples
    --------
    >>> from secateurs import load
    >>> load("forest.txt")
    Traceback (most recent call last):
    secateurs.exceptions.InputError: forest.txt does not exist. Pass the path of a model file.
    """
    if trust not in (None, "pickle"):
        raise InputError(
            "{trust} is unknown. Pass 'pickle', or None to reject pickles.", trust=trust
        )
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InputError(
            "{sha256} is not a valid SHA-256. Pass its 64 hexadecimal digits.", sha256=sha256
        )
    file = _read_model_file(Path(path), max_bytes)
    if sha256 is not None and file.sha256 != sha256.lower():
        raise UntrustedFileError(
            f"{path} has SHA-256 {file.sha256}, not {sha256.lower()}: it is another file. Get the "
            "right file, or pass the SHA-256 of this file if you trust it."
        )
    kind, suffix = _detect_format(file.data), file.path.suffix.lower()
    if kind == "unknown":
        raise InputError(
            f"{path} is not a model file: it begins with {file.data[:8]!r}. Pass a .skops file, a "
            ".json file of a blend, or a pickle or joblib file that you trust."
        )
    expected = "skops" if suffix == ".skops" else "JSON" if suffix == ".json" else None
    is_named = expected is not None or suffix in _PICKLE_SUFFIXES
    if is_named and (kind if kind in ("skops", "JSON") else None) != expected:
        raise UntrustedFileError(
            f"{path} is named {suffix} but is a {kind} file. Find out where it comes from; if it "
            "is yours, rename it."
        )
    if kind == "JSON":
        return load_blend(file.path, file.data)
    if kind != "skops" and trust is None and sha256 is None:
        raise UntrustedFileError(
            f"{path} is a {kind}: loading it runs code from the file. If you wrote it yourself, "
            "pass {trust} or {sha256}. If not, request a .skops file.",
            trust="pickle",
            sha256=file.sha256,
        )
    return _build_model(replace(file, pinned=sha256 is not None), tuple(trust_types), max_bytes)


def inspect_file(path: str | os.PathLike[str]) -> JsonObject:
    """Return a description of a model file, without building anything from it.

    Parameters
    ----------
    path : str or path-like
        Any file.

    Returns
    -------
    dict
        ``format`` ("skops", "JSON", "pickle", "compressed pickle" or "unknown"), ``bytes`` and
        ``sha256``; for a blend, what its members predict and their names (``blend``); for a skops
        file also its own unverified claims: ``model``, ``types``, ``protocol`` and ``versions``;
        the ``sidecar`` if there is one, and whether it describes this file (``sidecar_matches``).

    See Also
    --------
    load : Load a model file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.dummy import DummyClassifier
    >>> from secateurs.persistence import inspect_file, save
    >>> with TemporaryDirectory() as folder:
    ...     path = save(DummyClassifier().fit([[0], [1]], [0, 1]), f"{folder}/model.skops")
    ...     facts = inspect_file(path)
    >>> facts["format"], facts["model"], facts["sidecar_matches"]
    ('skops', 'sklearn.dummy.DummyClassifier', True)
    """
    target = Path(path)
    with _open_model_file(target) as handle:
        kind = _detect_format(handle.read(8))
        handle.seek(0)
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        facts: JsonObject = {"format": kind, "bytes": handle.tell(), "sha256": digest}
        if kind == "skops":
            with reading_file(target), zipfile.ZipFile(handle) as archive:
                check_archive_sizes(archive, facts["bytes"], _MAX_BYTES, pinned=False)
                facts |= read_claims(archive)
        elif kind == "JSON" and facts["bytes"] <= _MAX_SIDECAR:
            facts |= describe_blend(target, _read_model_file(target, _MAX_SIDECAR).data)
    sidecar = find_sidecar(target)
    matches = None if sidecar is None else sidecar.get("sha256") == digest
    return facts | {"sidecar": sidecar, "sidecar_matches": matches}


@dataclass(frozen=True)
class _ModelFile:
    """The content of a file, read once: the bytes that are hashed are the bytes that are loaded."""

    path: Path
    data: bytes
    pinned: bool = False  # whether the user passed its SHA-256

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def _detect_format(start: bytes) -> str:
    kinds = (kind for kind, signatures in _SIGNATURES.items() if start.startswith(signatures))
    return next(kinds, "unknown")


def _open_model_file(path: Path) -> io.BufferedReader:
    """Open a model file, or raise an error that names the path."""
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise InputError(f"{path} {problem}. Pass the path of a model file.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty. Write the model again.")
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from error


def _read_model_file(path: Path, max_bytes: int) -> _ModelFile:
    """Read a model file of a limited size."""
    with _open_model_file(path) as handle:
        data = handle.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UntrustedFileError(
            f"{path} is larger than {{max_bytes}}. Pass a larger limit if you expect this.",
            max_bytes=max_bytes,
        )
    return _ModelFile(path, data)


def _build_model(file: _ModelFile, trust_types: Collection[str], max_bytes: int) -> Any:
    """Build the model in a trusted file, and check it for faults."""
    with reading_file(file.path):
        if _detect_format(file.data) == "skops":
            model = load_skops(file.data, trust_types, max_bytes, file.pinned)
        else:
            model = import_module("joblib").load(io.BytesIO(file.data))
    try:
        fault = find_fault(model)
    except Exception as error:  # attributes that no fitted model has
        fault = f"its state is inconsistent ({describe_error(error)})"
    if fault:
        raise UntrustedFileError(
            f"{file.path} was tampered with or is damaged: {fault}. Get a new copy from its source."
        )
    return model


def _check_readable(model: object, file: _ModelFile) -> list[str]:
    """Return the types that `load` must trust; raise an error if the file cannot be loaded."""
    types: list[str] = []
    while True:
        try:
            _build_model(file, types, sys.maxsize)
        except UntrustedFileError as error:  # the object is in memory already, so it is trusted
            if "trust_types" not in error.parameters or types:
                raise
            types = error.parameters["trust_types"]
        except InputError as error:
            suffix = file.path.suffix.lower()
            raise _unwritable_error(model, suffix, error.__cause__ or error) from error
        else:
            return types


def _unwritable_error(model: object, suffix: str, error: BaseException) -> UnsupportedEnsembleError:
    return UnsupportedEnsembleError(
        f"{type(model).__name__} cannot be written as {suffix}: {describe_error(error)}. Remove "
        f"attributes that cannot be stored, or use another format: {', '.join(_WRITERS)}."
    )


def sidecar_path(path: Path) -> Path:
    """Return the path of the side-car of a model file, such as ``small.skops.json``."""
    return path.with_name(f"{path.name}.json")


def find_sidecar(path: Path) -> JsonObject | None:
    """Return the content of the side-car of a model file, unverified; None if there is none."""
    # Earlier versions replaced the suffix: small.json may belong to small.skops or to small.pkl.
    for sidecar in (sidecar_path(path), path.with_suffix(".json")):
        if sidecar != path and sidecar.is_file() and sidecar.stat().st_size <= _MAX_SIDECAR:
            with suppress(ValueError, RecursionError, OSError):  # an unrelated file of that name
                content = json.loads(sidecar.read_text("utf-8"))
                is_own = sidecar == sidecar_path(path)
                if isinstance(content, dict) and (
                    is_own or content.get("format", path.suffix[1:]) == path.suffix[1:].lower()
                ):
                    return content
    return None


def describe_model(
    model: object, kind: str, content: bytes, packages: Iterable[str] = ()
) -> JsonObject:
    """Return the side-car's description of a model and its file."""
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


def _dump_joblib(model: object, compress: int | tuple[str, int] = 3) -> bytes:
    buffer = io.BytesIO()
    import_module("joblib").dump(model, buffer, compress=compress)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[object], bytes]] = {
    ".skops": dump_skops,
    ".pkl": pickle.dumps,
    ".pickle": pickle.dumps,
    ".joblib": _dump_joblib,
    ".json": lambda model: model.to_json().encode(),  # type: ignore[attr-defined]
}
# Files of slim forests are 1.7 times (.joblib) and 1.4 times (.skops) smaller with LZMA than with
# zlib, and take 4 to 8 times as long to write.
_SLIM_WRITERS: dict[str, Callable[[object], bytes]] = {
    ".skops": partial(dump_skops, compression=zipfile.ZIP_LZMA),
    ".joblib": partial(_dump_joblib, compress=("xz", 3)),
}
