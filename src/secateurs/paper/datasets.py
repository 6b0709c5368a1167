"""Data sets of the paper: what they are, where they come from, how they are read.

A data set comes from a folder (``data_dir``, or the environment variable ``SECATEURS_DATA``) that
holds ``NAME.csv.gz``: comma separated, one header line, features first, the label last in a column
named ``target``. Without such a file it is drawn by its definition where it has one, comes with
scikit-learn, or is fetched from OpenML.

Values are read as the authors' program reads them: nothing is scaled and a missing cell is 0. Words
become 1, 2, … in their sorted order, which leaves 0 to the missing.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.paper import _data_sources as sources
from secateurs.paper._data_registry import DATASETS, Dataset
from secateurs.paper._generated_data import GENERATORS
from secateurs.persistence.atomic_files import write_files
from secateurs.text_format import file_sha256, format_list

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
    """A data set, read.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The features, as floats.
    y : ndarray of shape (n_rows,)
        The labels, as text.
    feature_names : list of str
        Names of the features.
    source : str
        "folder", "generated", "scikit-learn" or "OpenML"; for a file in a folder with another
        checksum than expected, also where `fetch` got it, or the beginning of its SHA-256.
    """

    X: NDArray[np.float64]
    y: NDArray[np.str_]
    feature_names: list[str]
    source: str


@dataclass(frozen=True)
class Loader:
    """A function that reads a data set, for `secateurs.benchmark`: split into the paper's folds.

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
        """What seeds derive from, as in the paper's experiments."""
        return (self.name, self.reading)

    def __call__(self) -> Data:
        """Read the data set."""
        return load(self.name, self.data_dir, self.reading)


def load(
    name: str, data_dir: str | os.PathLike[str] | None = None, reading: str = "multiclass"
) -> Data:
    """Read a data set.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    data_dir : str or path-like, optional
        Folder with ``NAME.csv.gz``; by default that of the environment variable
        ``SECATEURS_DATA``, if it is set.
    reading : {"multiclass", "binary"}, default="multiclass"
        "binary" makes two classes of several, see `binarise`. Data of two classes stays as it is.

    Returns
    -------
    Data

    See Also
    --------
    fetch : Save a data set to a folder.
    find : Where a data set would come from.

    Examples
    --------
    >>> from secateurs.paper.datasets import load
    >>> data = load("iris", reading="binary")
    >>> data.X.shape, sorted(set(data.y.tolist())), data.source
    ((150, 4), ['0', '1'], 'scikit-learn')
    """
    if reading not in READINGS:
        options = format_list(READINGS)
        raise InputError(f"{{reading}} is not valid. Give one of: {options}.", reading=reading)
    dataset = _registered_dataset(name)
    source = find(name, data_dir)
    if source is None:
        raise _unavailable_error(f"{name} is not here.", name)
    frame, labels = _read_source(dataset, source, data_dir)
    y = binarise(labels) if reading == "binary" and dataset.task == "multiclass" else labels
    return Data(sources.as_numbers(frame), np.asarray(y, dtype=str), list(frame.columns), source)


def find(name: str, data_dir: str | os.PathLike[str] | None = None) -> str | None:
    """Return where a data set would come from, without reading it; None if not available.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    data_dir : str or path-like, optional
        As for `load`.

    Returns
    -------
    str or None
        As the ``source`` of `Data`.

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
    """Return what to do to get a data set, for readers of the command line and of Python."""
    return unavailable_reason(_unavailable_error("", name)).lstrip()


def unavailable_reason(error: InputError) -> str:
    """Return why a data set is not available, as a page says it to whoever reads it."""
    return error.spelled(lambda name, _: f"--data (in Python, {name})")


def _unavailable_error(what: str, name: str) -> InputError:
    if name == "ames":
        return InputError(f"{what} It is not publicly available.")
    return InputError(
        f"{what} Put {name}.csv.gz into a folder and give that as {{data_dir}} or as "
        f"{_FOLDER_VARIABLE}.",
        data_dir=...,
    )


def status(data_dir: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Return all data sets, and where each would come from.

    Parameters
    ----------
    data_dir : str or path-like, optional
        As for `load`.

    Returns
    -------
    list of dict
        Of each: name, paper_name, role, task, rows, features, classes, openml_id, source ("missing"
        if there is none) and note.

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


def verify(data_dir: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Compare the files of a folder with their checksums.

    Parameters
    ----------
    data_dir : str or path-like, optional
        As for `load`.

    Returns
    -------
    list of dict
        Of each data set that has a checksum: name, path, state ("ok", "fetched" if it is as `fetch`
        left it, "another file" or "absent"), sha256 (found) and expected.

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
            row = {"name": name, "path": None, "state": "absent", "sha256": None}
            if path is not None:
                digest = file_sha256(path)
                other = "fetched" if _fetched_from(path, digest) else "another file"
                state = "ok" if digest == dataset.sha256 else other
                row |= {"path": str(path), "state": state, "sha256": digest}
            rows.append(row | {"expected": dataset.sha256})
    return rows


def fetch(name: str, data_dir: str | os.PathLike[str]) -> dict[str, Any]:
    """Save a data set to a folder, unless it is there.

    Parameters
    ----------
    name : str
        One of `DATASETS` that OpenML has, or that is drawn by its definition.
    data_dir : str or path-like
        The folder, created if needed.

    Returns
    -------
    dict
        name, path, source and sha256. For a new file, ``NAME.json`` keeps source and sha256.

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
    """Make two classes of several, as the authors' program does.

    Classes are taken in the sorted order of their text. The first class at which more than half of
    all rows are reached, but at least the second, becomes class 1 with all that follow; those
    before it become class 0.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        The labels.

    Returns
    -------
    ndarray of shape (n_rows,)
        "0" or "1" for each row.

    Examples
    --------
    >>> from secateurs.paper.datasets import binarise
    >>> binarise(["a", "b", "b", "c", "c"]).tolist()  # one row, then three: more than 2.5
    ['0', '1', '1', '1', '1']
    """
    classes, places, counts = np.unique(
        np.asarray(labels).astype(str), return_inverse=True, return_counts=True
    )
    if len(classes) < 2:
        raise InputError(f"The labels have {len(classes)} class. Give labels of two or more.")
    over_half = 2 * np.cumsum(counts) > len(places)
    first = max(1, int(np.argmax(over_half)))
    return np.where(places >= first, "1", "0")


def _registered_dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise InputError(f"{name!r} is not a known data set. Give one of: {format_list(DATASETS)}.")
    return DATASETS[name]


def data_folder(data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder of the data sets: that given, or that of the environment, if any."""
    folder = data_dir or os.environ.get(_FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        name = "{data_dir}" if data_dir else f"{_FOLDER_VARIABLE}={str(folder)!r}"
        raise InputError(
            f"{name} is not a folder. Give the folder that holds the data sets.",
            data_dir=str(folder),
        )
    return Path(folder).resolve()


def _file_path(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    folder = data_folder(data_dir)
    return path if folder and (path := folder / f"{name}.csv.gz").is_file() else None


def _fetched_from(path: Path, digest: str) -> str | None:
    """Return where a file was fetched from, if its side-car has the same checksum."""
    sidecar = path.with_name(path.name.removesuffix(".csv.gz") + ".json")
    try:
        record = json.loads(sidecar.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(record, dict) and record.get("sha256") == digest
    return str(record["source"]) if known and "source" in record else None


def _read_source(
    dataset: Dataset, source: str, data_dir: str | os.PathLike[str] | None
) -> sources.FeaturesAndLabels:
    """Return features and labels from a source."""
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
