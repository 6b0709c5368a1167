"""Data sets of the paper: list, load, fetch and verify them.

A data set is read from ``NAME.csv.gz`` in a folder (``data_dir``, or the environment variable
``SECATEURS_DATA``): comma separated, with a header line, and the labels in the last column, named
``target``. Without such a file it is loaded from scikit-learn, generated or fetched from OpenML.

Values are read as the authors' program reads them: nothing is scaled and a missing cell is 0. Text
values become 1, 2, … in sorted order, so that 0 only stands for missing cells.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.paper import _data_sources as sources
from secateurs.paper._data_registry import DATASETS, Dataset
from secateurs.paper._generated_data import GENERATORS
from secateurs.persistence.atomic_files import write_files
from secateurs.text_format import file_sha256, format_list
from secateurs.typing import JsonObject

__all__ = [
    "DATASETS",
    "Data",
    "Dataset",
    "Loader",
    "binarise",
    "data_folder",
    "fetch",
    "find",
    "how_to_get",
    "load",
    "status",
    "verify",
]

READINGS = ("multiclass", "binary")
_FOLDER_VARIABLE = "SECATEURS_DATA"


class Data(NamedTuple):
    """A loaded data set.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The features, as floats.
    y : ndarray of shape (n_rows,)
        The labels, as text.
    feature_names : list of str
        Names of the features.
    source : str
        "folder", "generated", "scikit-learn" or "OpenML". If a file in a folder does not have
        the expected checksum, also its origin if `fetch` saved it, or the start of its SHA-256.
    """

    X: NDArray[np.float64]
    y: NDArray[np.str_]
    feature_names: list[str]
    source: str


@dataclass(frozen=True)
class Loader:
    """A function that loads a data set, for `secateurs.benchmark` with the paper's folds.

    Parameters
    ----------
    name, reading : str
        As for `load`.
    data_dir : str or path-like, optional
        As for `load`.

    Examples
    --------
    >>> from secateurs.paper.datasets import Loader
    >>> Loader("iris")().X.shape
    (150, 4)
    """

    name: str
    reading: str = "multiclass"
    data_dir: str | os.PathLike[str] | None = None

    @property
    def seed_names(self) -> tuple[str, str]:
        """Names that seeds are derived from, as in the paper's experiments."""
        return (self.name, self.reading)

    def __call__(self) -> Data:
        """Load the data set."""
        return load(self.name, self.data_dir, self.reading)


def load(
    name: str, data_dir: str | os.PathLike[str] | None = None, reading: str = "multiclass"
) -> Data:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    data_dir : str or path-like, optional
        Folder with ``NAME.csv.gz``. The default is the environment variable ``SECATEURS_DATA``,
        if it is set.
    reading : {"multiclass", "binary"}, default="multiclass"
        "binary" merges several classes into two, see `binarise`. Two classes stay as they are.

    Returns
    -------
    Data

    See Also
    --------
    fetch : Save a data set to a folder.
    find : Return the source of a data set.

    Examples
    --------
    >>> from secateurs.paper.datasets import load
    >>> data = load("iris", reading="binary")
    >>> data.X.shape, sorted(set(data.y.tolist())), data.source
    ((150, 4), ['0', '1'], 'scikit-learn')
    """
    if reading not in READINGS:
        options = format_list(READINGS)
        raise InputError(f"{{reading}} is not valid. Pass one of: {options}.", reading=reading)
    dataset = _registered_dataset(name)
    source = find(name, data_dir)
    if source is None:
        raise _unavailable_error(f"{name} is not available.", name)
    frame, labels = _read_source(dataset, source, data_dir)
    y = binarise(labels) if reading == "binary" and dataset.task == "multiclass" else labels
    X, names = sources.encode_features(frame), list(frame.columns)
    return Data(X, np.asarray(y, dtype=str), names, source)


def find(name: str, data_dir: str | os.PathLike[str] | None = None) -> str | None:
    """Return the source of a data set without loading it, or None if it is not available.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    data_dir : str or path-like, optional
        As for `load`.

    Returns
    -------
    str or None
        See ``source`` of `Data`.

    Examples
    --------
    >>> from secateurs.paper.datasets import find
    >>> find("digits"), find("ames")
    ('scikit-learn', None)
    """
    dataset = _registered_dataset(name)
    path = _file_path(name, data_dir)
    if path is not None:
        digest = file_sha256(path)
        if dataset.sha256 in (digest, None):
            return "folder"
        return f"folder, {_fetched_from(path, digest) or f'another file (SHA-256 {digest[:12]}…)'}"
    if name in sources.WITH_SKLEARN:
        return "scikit-learn"
    if name in GENERATORS:
        return "generated"
    return None if dataset.openml_id is None else "OpenML"


def how_to_get(name: str) -> str:
    """Return how to get a data set, for users of the command line and of Python."""
    return unavailable_reason(_unavailable_error("", name)).lstrip()


def unavailable_reason(error: InputError) -> str:
    """Return why a data set is not available, for users of the command line and of Python."""
    return error.spelled(lambda name, _: f"--data (in Python, {name})")


def _unavailable_error(problem: str, name: str) -> InputError:
    if name == "ames":
        return InputError(f"{problem} It is not publicly available.")
    return InputError(
        f"{problem} Put {name}.csv.gz into a folder and pass this folder as {{data_dir}} or set "
        f"{_FOLDER_VARIABLE} to it.",
        data_dir=...,
    )


def status(data_dir: str | os.PathLike[str] | None = None) -> list[JsonObject]:
    """List all data sets with their sources.

    Parameters
    ----------
    data_dir : str or path-like, optional
        As for `load`.

    Returns
    -------
    list of dict
        For each data set: name, paper_name, role, task, rows, features, classes, openml_id, source
        ("missing" if it is not available) and note.

    Examples
    --------
    >>> from secateurs.paper.datasets import status
    >>> sum(row["role"] in ("paper", "authors' code") for row in status())
    29
    """
    return [
        {
            "name": dataset.name,
            "paper_name": dataset.paper_name,
            "role": dataset.role,
            "task": dataset.task,
            "rows": dataset.n_rows,
            "features": dataset.n_features,
            "classes": len(dataset.class_counts) or None,
            "openml_id": dataset.openml_id,
            "source": find(dataset.name, data_dir) or "missing",
            "note": dataset.note,
        }
        for dataset in DATASETS.values()
    ]


def verify(data_dir: str | os.PathLike[str] | None = None) -> list[JsonObject]:
    """Compare the files of a folder with their checksums.

    Parameters
    ----------
    data_dir : str or path-like, optional
        As for `load`.

    Returns
    -------
    list of dict
        For each data set with a checksum: name, path, state ("ok", "fetched" for an unchanged file
        from `fetch`, "another file" or "absent"), sha256 (of the file) and expected.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from secateurs.paper.datasets import verify
    >>> with TemporaryDirectory() as folder:
    ...     {row["state"] for row in verify(folder)}
    {'absent'}
    """
    rows = []
    for name, dataset in DATASETS.items():
        if dataset.sha256 is not None:
            path = _file_path(name, data_dir)
            row: JsonObject = {"name": name, "path": None, "state": "absent", "sha256": None}
            if path is not None:
                digest = file_sha256(path)
                changed = "fetched" if _fetched_from(path, digest) else "another file"
                state = "ok" if digest == dataset.sha256 else changed
                row |= {"path": str(path), "state": state, "sha256": digest}
            rows.append(row | {"expected": dataset.sha256})
    return rows


def fetch(name: str, data_dir: str | os.PathLike[str]) -> JsonObject:
    """Save a data set to a folder, unless it is already there.

    Parameters
    ----------
    name : str
        One of `DATASETS` that is on OpenML, in scikit-learn, or generated.
    data_dir : str or path-like
        The folder, created if needed.

    Returns
    -------
    dict
        name, path, source and sha256. For a new file, ``NAME.json`` stores source and sha256.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from secateurs.paper.datasets import fetch, load
    >>> with TemporaryDirectory() as folder:
    ...     fetch("waveform", folder)["source"], load("waveform", folder).X.shape
    ('generated', (5000, 21))
    """
    dataset = _registered_dataset(name)
    folder = Path(data_dir)
    folder.mkdir(parents=True, exist_ok=True)
    source = find(name, folder)
    path = folder / f"{name}.csv.gz"
    if source is None:
        raise _unavailable_error(f"{name} cannot be fetched.", name)
    if not path.exists():
        frame, labels = _read_source(dataset, source, folder)
        text = frame.assign(**{sources.TARGET: labels}).to_csv(index=False, lineterminator="\n")
        content = gzip.compress(text.encode(), mtime=0)
        record = {"source": source, "sha256": hashlib.sha256(content).hexdigest()}
        sidecar = path.with_name(f"{name}.json")
        write_files({sidecar: json.dumps(record, indent=2).encode(), path: content})
    return {"name": name, "path": str(path), "source": source, "sha256": file_sha256(path)}


def binarise(labels: ArrayLike) -> NDArray[np.str_]:
    """Merge several classes into two, as the authors' program does.

    Classes are sorted by name, as text, and their sizes are summed. The first class (but at least
    the second) at which the sum exceeds half of all samples becomes class 1, together with all
    classes after it. The classes before it become class 0.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The labels.

    Returns
    -------
    ndarray of shape (n_samples,)
        "0" or "1" for each sample.

    Examples
    --------
    >>> from secateurs.paper.datasets import binarise
    >>> binarise(["a", "b", "b", "c", "c"]).tolist()  # 1 sample, then 3: more than 2.5
    ['0', '1', '1', '1', '1']
    """
    classes, codes, counts = np.unique(
        np.asarray(labels).astype(str), return_inverse=True, return_counts=True
    )
    if len(classes) < 2:
        raise InputError(f"The labels have {len(classes)} class. Pass labels of two or more.")
    over_half = 2 * np.cumsum(counts) > len(codes)
    first = max(1, int(np.argmax(over_half)))
    return np.where(codes >= first, "1", "0")


def _registered_dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise InputError(f"{name!r} is not a known data set. Pass one of: {format_list(DATASETS)}.")
    return DATASETS[name]


def data_folder(data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Return ``data_dir`` or else the folder that the environment variable names, if any."""
    folder = data_dir or os.environ.get(_FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        name = "{data_dir}" if data_dir else f"{_FOLDER_VARIABLE}={str(folder)!r}"
        raise InputError(
            f"{name} is not a folder. Pass the folder that holds the data sets.",
            data_dir=str(folder),
        )
    return Path(folder).resolve()


def _file_path(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    folder = data_folder(data_dir)
    return path if folder and (path := folder / f"{name}.csv.gz").is_file() else None


def _fetched_from(path: Path, digest: str) -> str | None:
    """Return the source of a fetched file if the JSON file beside it has the same checksum."""
    sidecar = path.with_name(path.name.removesuffix(".csv.gz") + ".json")
    try:
        record = json.loads(sidecar.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    is_unchanged = isinstance(record, dict) and record.get("sha256") == digest
    return str(record["source"]) if is_unchanged and "source" in record else None


def _read_source(
    dataset: Dataset, source: str, data_dir: str | os.PathLike[str] | None
) -> sources.FeaturesAndLabels:
    """Read a data set of the paper from its file, from scikit-learn, a generator or OpenML."""
    path = _file_path(dataset.name, data_dir)
    if path is not None:
        return sources.read_file(path)
    if source == "scikit-learn":
        return sources.from_sklearn(dataset.name)
    if source == "generated":
        assert dataset.n_rows is not None
        return sources.generate_dataset(dataset.name, dataset.n_rows)
    try:
        return sources.conform_to_registry(*sources.from_openml(dataset), dataset)
    except InputError as error:
        raise _unavailable_error(f"{dataset.name}: {error}", dataset.name) from error
