"""What a benchmark is made of: data sets, ensembles and methods, each by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import _num_samples

from secateurs._labels import as_labels
from secateurs._methods import METHODS, floors, methods_for_numbers, short_name
from secateurs._text import counted, listed, one_line
from secateurs.evaluation._alternatives import SINGLE, WHOLE, Methods, listed_methods
from secateurs.exceptions import InputError, SecateursError, cause_of, import_extra, reading
from secateurs.outputs._checks import as_numbers
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners._label import label_of
from secateurs.pruners._selector import SelectorPruner, as_method

_TABLES = (".csv", ".csv.gz", ".parquet")
_DATASETS = (
    "Give a dict of names to (X, y), to functions that return it or to paths of tables, or a "
    "folder of .csv, .csv.gz or .parquet files."
)
_ENSEMBLES = (
    "Give a dict of names to unfitted estimators, such as RandomForestClassifier(), or to "
    "functions that return one."
)


@dataclass(frozen=True, eq=False)
class Data:
    """A data set.

    Attributes
    ----------
    name : str
        As it is shown.
    load : callable
        Returns the features and the truth.
    seed_names : tuple of str
        What seeds derive from: the name, unless the loader has ``seed_names`` of its own.
    """

    name: str
    load: Callable[[], Any]
    seed_names: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """Whether it is loaded by a function of the user's."""
        return not isinstance(self.load, partial) or self.load.func not in (_given, read_table)

    def read(self, of_numbers: bool) -> tuple[Any, Any]:
        """Return features and truth, checked."""
        try:
            found = self.load()
            X, y = _pair(found)
            n_rows = _num_samples(X)
            truth = as_numbers(y, n_rows) if of_numbers else as_labels(y, "y").ravel()
        except SecateursError as error:
            error.prepend(f"Data set {self.name}: ")
            raise
        except (MemoryError, Warning):
            raise
        except Exception as error:
            raise InputError(
                f"Data set {self.name} cannot be read: {cause_of(error)}. Give (X, y)."
            ) from error
        if len(np.shape(X)) != 2:
            raise InputError(
                f"Data set {self.name} has features of shape {np.shape(X)}. Give a table: rows × "
                "features."
            )
        if len(truth) != n_rows:
            raise InputError(
                f"Data set {self.name} has {counted(n_rows, 'row')} but {len(truth)} true values. "
                "Give one for each row."
            )
        return X, truth


def _pair(found: Any) -> tuple[Any, Any]:
    """Return features and truth of what a loader returns."""
    for names in (("X", "y"), ("data", "target")):
        if all(hasattr(found, name) for name in names):
            return getattr(found, names[0]), getattr(found, names[1])
    X, y = found
    return X, y


@dataclass(frozen=True, eq=False)
class Model:
    """An ensemble to train: an unfitted estimator, or a function that returns one."""

    name: str
    given: Any

    def make(self, seed: int | None = None) -> Any:
        """Return a new estimator; random states that are None come from the seed."""
        made = clone(self.given) if _is_estimator(self.given) else self.given()
        if not _is_estimator(made):
            raise InputError(f"Ensemble {self.name} is {one_line(repr(made))}. {_ENSEMBLES}")
        return made if seed is None else _seeded(made, seed)

    @property
    def is_regression(self) -> bool:
        """Whether it predicts numbers."""
        return bool(is_regressor(self.make()))


def _is_estimator(given: Any) -> bool:
    is_object = not isinstance(given, type)
    return is_object and all(callable(getattr(given, name, None)) for name in ("fit", "get_params"))


def _seeded(estimator: Any, seed: int) -> Any:
    """Set the random states that are None: its own to the seed, those inside to others."""
    rng = np.random.RandomState(seed)
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            drawn = seed if name == "random_state" else int(rng.randint(2**31 - 1))
            estimator.set_params(**{name: drawn})
    return estimator


@dataclass(frozen=True, eq=False)
class Entrant:
    """A method that takes part.

    Attributes
    ----------
    name : str
        As it is shown.
    pruner : BasePruner or None
        The method; None for all members.
    decides : bool
        Whether it decides how many members it keeps.
    takes_scoring : bool
        Whether it is to optimise the score of the benchmark, as it was given by its short name.
    seed_name : str
        What seeds derive from: its short name, if it has one, whatever it is called here.
    """

    name: str
    pruner: BasePruner | None
    decides: bool = False
    takes_scoring: bool = False
    seed_name: str = ""


def data_sets(given: Any, target: str = "target") -> list[Data]:
    """Return the data sets of a mapping, or of a folder."""
    if isinstance(given, (str, os.PathLike)):
        given = tables_of(Path(given))
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"{{datasets}} is not valid. {_DATASETS}", datasets=_shown(given))
    return [_data_set(_name("datasets", name), value, target) for name, value in given.items()]


def _data_set(name: str, value: Any, target: str) -> Data:
    if isinstance(value, (str, os.PathLike)):
        value = partial(read_table, Path(value), target)
    elif not callable(value):
        value = partial(_given, value)
    return Data(name, value, getattr(value, "seed_names", (name,)))


def _given(value: Any) -> Any:
    return value


def tables_of(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder by name."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. {_DATASETS}")
    found = {
        path.name[: -len(kind)]: path
        for path in sorted(folder.iterdir())
        for kind in _TABLES
        if path.name.lower().endswith(kind)
    }
    if not found:
        raise InputError(f"{folder} holds no {listed(_TABLES, last=' or ')} file. {_DATASETS}")
    return found


def read_table(path: Path, target: str) -> tuple[Any, Any]:
    """Read a table of features and a column of true values; features as an array if numeric."""
    import pandas as pd

    if not path.is_file():
        raise InputError(f"{path} is not a file. Give a table as {listed(_TABLES, last=' or ')}.")
    if path.suffix == ".parquet":
        parquet = import_extra("pyarrow.parquet", "parquet", "reading .parquet")
        with reading(path):
            frame = parquet.read_table(path).to_pandas()
    else:
        with reading(path):
            frame = pd.read_csv(path)
    if target not in frame.columns:
        columns = listed(map(str, frame.columns[:12]))
        raise InputError(f"{path} has no column {{target}}. Columns: {columns}.", target=target)
    if frame[target].isna().any():
        raise InputError(f"{path} has rows without a value in {{target}}.", target=target)
    features = frame.drop(columns=target)
    numeric = all(kind.kind in "biuf" for kind in map(np.dtype, _plain_types(features)))
    return (features.to_numpy() if numeric else features), frame[target].to_numpy()


def _plain_types(frame: Any) -> Iterable[Any]:
    return (kind if isinstance(kind, np.dtype) else np.dtype(object) for kind in frame.dtypes)


def models(given: Any) -> list[Model]:
    """Return the ensembles of a mapping, of a sequence, or one alone."""
    if _is_estimator(given):
        given = [given]
    if isinstance(given, Sequence) and not isinstance(given, str):
        named = [(type(value).__name__, value) for value in given]
        given = dict(named) if len(dict(named)) == len(named) else None
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"{{ensembles}} is not valid. {_ENSEMBLES}", ensembles=_shown(given))
    made = [Model(_name("ensembles", name), value) for name, value in given.items()]
    for model in made:
        if not _is_estimator(model.given) and (
            not callable(model.given) or isinstance(model.given, type)
        ):
            text = one_line(repr(model.given))
            raise InputError(f"Ensemble {model.name} is {text}. {_ENSEMBLES}")
    return made


def entrants(given: Methods, of_numbers: bool) -> list[Entrant]:
    """Return the methods that take part in ranks, by name."""
    usable = methods_for_numbers() if of_numbers else list(METHODS)
    everything = [name for name in usable if name not in floors()]
    found: dict[str, Entrant] = {}
    for name, method in listed_methods(given, everything):
        by_name = isinstance(method, str)
        pruner = make_pruner(method) if by_name else as_method(method)
        if of_numbers and "numbers" not in pruner.outputs:
            raise InputError(
                f"Method {name or label_of(pruner)} needs classes, and some ensembles are "
                f"regressors. For those use: {listed(methods_for_numbers())}."
            )
        shown = name or (method.lower() if by_name else label_of(pruner))
        if shown in found:
            raise InputError(
                f"{{methods}} has two methods called {shown}. Give a dict, with a name for each.",
                methods=...,
            )
        if isinstance(pruner, SelectorPruner):
            decides = not hasattr(pruner.selector, "keep")
        else:
            decides = not by_name and pruner.may_decide_size and pruner.keep is None
        found[shown] = Entrant(shown, pruner, decides, by_name, short_name(pruner) or shown)
    if not found:
        raise InputError("{methods} has no method. Give one or more.", methods=...)
    return list(found.values())


def baselines(found: Iterable[Entrant]) -> list[Entrant]:
    """Return what every method must beat, without those that take part themselves."""
    taken = {entrant.name for entrant in found}
    made: dict[str, BasePruner | None] = {name: make_pruner(name) for name in floors()}
    made |= {SINGLE: make_pruner("best", keep=1), WHOLE: None}
    return [
        Entrant(name, pruner, seed_name=short_name(pruner) or name)
        for name, pruner in made.items()
        if name not in taken
    ]


def fingerprint(value: Any) -> str:
    """Return a text that is the same for the same value in any process.

    Functions that cannot be pickled count by their names.
    """
    try:
        return str(joblib.hash(value))
    except Exception:  # whatever an object's own pickling raises
        parts = vars(value) if hasattr(value, "__dict__") else {}
        inside = sorted((name, fingerprint(one)) for name, one in parts.items())
        return str(joblib.hash([getattr(value, "__qualname__", type(value).__qualname__), inside]))


def digest_of(X: Any, y: Any) -> str:
    """Return a hash of a data set."""
    if hasattr(X, "columns"):
        features = [list(map(str, X.columns)), *(X[name].to_numpy() for name in X.columns)]
    elif hasattr(X, "tocsr"):
        features = [X.tocsr().data, X.tocsr().indices, X.tocsr().indptr]
    else:
        features = [np.asarray(X)]
    return str(joblib.hash([*features, np.asarray(y)]))


def _name(parameter: str, name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(
            f"{{{parameter}}} has the name {name!r}. Give names that can be printed.",
            **{parameter: ...},
        )
    return name


def _shown(given: Any) -> Any:
    return given if given is None or isinstance(given, (str, int, float)) else type(given).__name__
