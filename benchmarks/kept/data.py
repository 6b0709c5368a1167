"""The data sets: every table of a folder, and those that scikit-learn carries or can make."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as own
from sklearn.preprocessing import LabelEncoder

from secateurs.paper._data_sources import WITH_SKLEARN, as_numbers, from_sklearn, read_file

_MOST_TRAINED, _MOST_CHOSEN, _MOST_TESTED = 4000, 1500, 12_000
_MOST_CELLS = 400_000  # rows × features trained on
_LEAST_ROWS = 100
_N_MADE = 5000


@dataclass(frozen=True, eq=False)
class Table:
    """A data set: features as numbers, and labels or numbers to predict."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64] | NDArray[np.float64]
    is_regression: bool = False

    @property
    def family(self) -> str:
        """What it shares with other tables of the same origin: the first word of its name."""
        return self.name.split("_")[0]


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to train on, to choose on, and to test on."""

    train: NDArray[np.intp]
    choose: NDArray[np.intp]
    test: NDArray[np.intp]


def names(folder: Path | None) -> list[str]:
    """Return the names of all tables, without reading any."""
    given = [] if folder is None else sorted(_files(folder))
    regression = [f"{name}: {column}" for name in given for column in ("number",)]
    made = ["diabetes: number", "friedman1: number", "friedman2: number", "friedman3: number"]
    return [*dict.fromkeys([*given, *WITH_SKLEARN]), *made, *regression]


def _files(folder: Path) -> dict[str, Path]:
    return {p.name.split(".csv")[0]: p for p in folder.glob("*.csv*") if p.name != "MANIFEST.csv"}


def read(name: str, folder: Path | None) -> Table | None:
    """Read a table; None where it has too few rows, or no column of numbers to predict."""
    known = {} if folder is None else _files(folder)
    name, numbers = name.removesuffix(": number"), name.endswith(": number")
    if numbers and name not in known:
        X, y = _drawn(name)
        return Table(f"{name}: number", X, y, is_regression=True)
    frame, labels = read_file(known[name]) if name in known else from_sklearn(name)
    X = as_numbers(frame)
    if len(X) < _LEAST_ROWS:
        return None
    if not numbers:
        return Table(name, X, LabelEncoder().fit_transform(labels))
    n_values = [len(np.unique(column)) for column in X.T]
    target = int(np.argmax(n_values))  # the column with the most different values
    if X.shape[1] < 5 or X.shape[1] > 100 or n_values[target] < 0.2 * len(X) or len(X) < 400:
        return None
    y = X[:, target]
    low, high = np.quantile(y, [0.01, 0.99])  # a few cells are errors of recording
    return Table(f"{name}: number", np.delete(X, target, axis=1), np.clip(y, low, high), True)


def _drawn(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if name == "diabetes":
        return own.load_diabetes(return_X_y=True)
    noise = {"friedman1": 1.0, "friedman2": 125.0, "friedman3": 0.1}[name]
    return getattr(own, f"make_{name}")(_N_MADE, noise=noise, random_state=0)


def parts(table: Table, split: int) -> Parts:
    """Deal out the rows: 45 % to train on, 15 % to choose on, the others to test on."""
    rng = np.random.RandomState(split)
    order = rng.permutation(len(table.X))
    if not table.is_regression:  # classes in turn, so that each part has its share
        ranks = np.empty(len(order))
        for label in np.unique(table.y):
            rows = order[table.y[order] == label]
            ranks[rows] = (np.arange(len(rows)) + rng.random()) / len(rows)
        order = np.argsort(ranks, kind="stable")
        order = np.concatenate([rng.permutation(part) for part in _dealt(order)])
    n_train, n_choose = round(0.45 * len(order)), round(0.15 * len(order))
    train, choose, test = np.split(order, [n_train, n_train + n_choose])
    most = max(300, min(_MOST_TRAINED, _MOST_CELLS // table.X.shape[1]))
    return Parts(train[:most], choose[:_MOST_CHOSEN], test[:_MOST_TESTED])


def _dealt(order: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield three parts of rows, 9 : 3 : 8, each taken evenly along an order."""
    place = np.arange(len(order)) * 7 % 20
    for low, high in ((0, 9), (9, 12), (12, 20)):
        yield order[(place >= low) & (place < high)]
