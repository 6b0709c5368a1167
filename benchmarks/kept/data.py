"""The data sets: every table of a folder, and data sets that scikit-learn contains or generates."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as own
from sklearn.preprocessing import LabelEncoder

from secateurs.paper._data_sources import WITH_SKLEARN, encode_features, from_sklearn, read_file

_MOST_TRAINED, _MOST_CHOSEN, _MOST_TESTED = 4000, 1500, 12_000  # limit the time per data set
_MOST_CELLS = 400_000  # training samples × features, for the same reason
_LEAST_ROWS = 100  # with fewer, the validation set would have fewer than 15 samples
_N_MADE = 5000  # generated samples


@dataclass(frozen=True, eq=False)
class Table:
    """A data set with numeric features, and labels or a continuous target."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64] | NDArray[np.float64]
    is_regression: bool = False

    @property
    def family(self) -> str:
        """The first word of its name, which tables of the same origin share."""
        return self.name.split("_")[0]


@dataclass(frozen=True, eq=False)
class Parts:
    """Indices of the training, validation and test samples."""

    train: NDArray[np.intp]
    choose: NDArray[np.intp]
    test: NDArray[np.intp]


def names(folder: Path | None) -> list[str]:
    """Return the names of all data sets, without reading them."""
    given = [] if folder is None else sorted(_files(folder))
    regression = [f"{name}: {column}" for name in given for column in ("number",)]
    made = ["diabetes: number", "friedman1: number", "friedman2: number", "friedman3: number"]
    return [*dict.fromkeys([*given, *WITH_SKLEARN]), *made, *regression]


def _files(folder: Path) -> dict[str, Path]:
    return {p.name.split(".csv")[0]: p for p in folder.glob("*.csv*") if p.name != "MANIFEST.csv"}


def read(name: str, folder: Path | None) -> Table | None:
    """Return a data set; None if it has too few samples, or no continuous column to predict."""
    known = {} if folder is None else _files(folder)
    name, numbers = name.removesuffix(": number"), name.endswith(": number")
    if numbers and name not in known:
        X, y = _drawn(name)
        return Table(f"{name}: number", X, y, is_regression=True)
    frame, labels = read_file(known[name]) if name in known else from_sklearn(name)
    X = encode_features(frame)
    if len(X) < _LEAST_ROWS:
        return None
    if not numbers:
        return Table(name, X, LabelEncoder().fit_transform(labels))
    n_values = [len(np.unique(column)) for column in X.T]
    target = int(np.argmax(n_values))  # the column with the most distinct values
    if X.shape[1] < 5 or X.shape[1] > 100 or n_values[target] < 0.2 * len(X) or len(X) < 400:
        return None
    y = X[:, target]
    low, high = np.quantile(y, [0.01, 0.99])  # clips a few recording errors
    return Table(f"{name}: number", np.delete(X, target, axis=1), np.clip(y, low, high), True)


def _drawn(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if name == "diabetes":
        return own.load_diabetes(return_X_y=True)
    noise = {"friedman1": 1.0, "friedman2": 125.0, "friedman3": 0.1}[name]
    return getattr(own, f"make_{name}")(_N_MADE, noise=noise, random_state=0)


def parts(table: Table, split: int) -> Parts:
    """Split samples: 45 % for training, 15 % for validation, the others for testing.

    Labels are stratified: each class is split on its own.
    """
    rng = np.random.RandomState(split)
    order = rng.permutation(len(table.X))
    groups = [order]
    if not table.is_regression:
        groups = [order[table.y[order] == label] for label in np.unique(table.y)]
    split_groups = [
        np.split(rows, [round(0.45 * len(rows)), round(0.6 * len(rows))]) for rows in groups
    ]
    train, choose, test = (
        rng.permutation(np.concatenate(part)) for part in zip(*split_groups, strict=True)
    )
    most = max(300, min(_MOST_TRAINED, _MOST_CELLS // table.X.shape[1]))
    return Parts(train[:most], choose[:_MOST_CHOSEN], test[:_MOST_TESTED])
