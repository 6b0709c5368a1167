"""Sources of data sets: a file, scikit-learn, a generator, OpenML."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from secateurs.exceptions import InputError, describe_error, reading_file
from secateurs.paper._data_registry import Dataset
from secateurs.paper._generated_data import GENERATORS
from secateurs.text_format import format_list

TARGET = "target"
WITH_SKLEARN = ("breast_cancer", "digits", "iris", "wine")

FeaturesAndLabels = tuple["pd.DataFrame", NDArray[np.str_]]


def read_file(path: Path) -> FeaturesAndLabels:
    """Read a CSV file whose last column holds the labels."""
    with reading_file(path):
        # Only empty cells are missing: "NA" and "None" are values of some data sets.
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
        if frame.columns[-1] != TARGET:
            raise InputError(f"has no last column {TARGET!r}. Put the labels there.")
        if frame[TARGET].isna().any():
            raise InputError(f"has rows without a label in {TARGET!r}. Remove these rows.")
    labels = frame.pop(TARGET).to_numpy(dtype=str)
    return frame.apply(_floats_or_text), labels


def _floats_or_text(column: pd.Series[str]) -> pd.Series[Any]:
    """Return a column as floats if it holds only numbers, else unchanged."""
    try:
        # Python's float is exact to the last digit; the default parser of pandas is not.
        return column.astype(object).where(column.notna(), np.nan).astype(float)
    except ValueError:
        return column


def from_sklearn(name: str) -> FeaturesAndLabels:
    """Return a data set that is part of scikit-learn."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return bunch.data, bunch.target.to_numpy().astype(str)


def generate_dataset(name: str, n_rows: int) -> FeaturesAndLabels:
    """Generate a data set by its definition, with a fixed seed derived from its name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    X, y = GENERATORS[name](n_rows, np.random.default_rng(seed))
    return pd.DataFrame(X, columns=[f"x{i + 1}" for i in range(X.shape[1])]), y


def from_openml(dataset: Dataset) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Fetch a table from openml.org, or from scikit-learn's cache."""
    from sklearn.datasets import fetch_openml

    try:
        target = dataset.openml_target or "default-target"
        bunch = fetch_openml(
            data_id=dataset.openml_id, target_column=target, as_frame=True, n_retries=1
        )
    except Exception as error:
        table = f"OpenML's table {dataset.openml_id}"
        raise InputError(f"{table} cannot be fetched: {describe_error(error)}.") from error
    return bunch.data, bunch.target


def conform_to_registry(
    frame: pd.DataFrame, target: pd.Series[Any], dataset: Dataset
) -> FeaturesAndLabels:
    """Return a fetched copy with the class names of the registry, or raise if the tables differ.

    Tables are the same if the number of features and the class sizes are equal, if necessary after
    incomplete rows are dropped. Classes with different names are matched by their sizes, which is
    only possible if no two classes are equally large.
    """
    class_counts, n_features = dataset.class_counts, dataset.n_features
    if len(frame) != sum(class_counts.values()):
        is_complete = frame.notna().all(axis=1)
        frame, target = frame[is_complete], target[is_complete]
    labels = target.astype(str).to_numpy(dtype=str)
    names, counts = np.unique(labels, return_counts=True)
    sizes = sorted(class_counts.values())
    if sorted(counts) != sizes or frame.shape[1] != n_features:
        raise InputError(
            f"The copy has {frame.shape[1]} features and classes of {format_list(sorted(counts))} "
            f"rows, not {n_features} and {format_list(sizes)}: it is a different table."
        )
    if set(names) == set(class_counts):
        return frame, labels
    if len(set(sizes)) < len(sizes):
        raise InputError(
            f"The copy names its classes {format_list(names)}, not {format_list(class_counts)}. "
            "They cannot be matched by their sizes, because two classes are equally large."
        )
    by_size = {size: label for label, size in class_counts.items()}
    renamed = {name: by_size[int(count)] for name, count in zip(names, counts, strict=True)}
    return frame, np.array([renamed[label] for label in labels])


def encode_features(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return features as floats: text as 1, 2, … in sorted order, missing cells as 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from secateurs.paper._data_sources import encode_features
    >>> encode_features(pd.DataFrame({"size": [1.5, None, 2], "colour": ["red", None, "blue"]}))
    array([[1.5, 2. ],
           [0. , 0. ],
           [2. , 1. ]])
    """
    from pandas.api.types import is_numeric_dtype

    X = np.zeros(frame.shape)
    for index, name in enumerate(frame.columns):
        column = frame[name]
        present = column.notna().to_numpy()
        values = column[present]
        if is_numeric_dtype(column.dtype):
            X[present, index] = values.to_numpy(dtype=float)
        else:
            X[present, index] = 1 + np.unique(values.astype(str), return_inverse=True)[1]
    return X
