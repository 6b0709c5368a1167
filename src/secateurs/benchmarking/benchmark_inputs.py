"""The inputs of a benchmark: data sets, ensembles and methods, checked and named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

import joblib
import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import _num_samples

from secateurs._methods import METHODS, baseline_methods, regression_methods, short_name
from secateurs.evaluation.alternatives import (
    FULL_ENSEMBLE,
    SINGLE_BEST,
    Methods,
    methods_with_names,
)
from secateurs.exceptions import (
    InputError,
    SecateursError,
    describe_error,
    import_extra,
    reading_file,
)
from secateurs.labels import as_labels
from secateurs.outputs.input_checks import as_target_values
from secateurs.persistence.table_limits import MAX_TABLE_BYTES, NUMBER_BYTES, check_table_size
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.selector import SelectorPruner, pruner_from_method, pruner_label
from secateurs.text_format import format_count, format_list, to_one_line
from secateurs.typing import Array, Samples

if TYPE_CHECKING:
    import pandas as pd

_LARGE_TABLE = "Pass a sample of its rows, or (X, y) instead of a path."
_TABLES = (".csv", ".csv.gz", ".parquet")
_DATASETS = (
    "Pass a dict of names to (X, y), to functions that return it or to paths of tables, or a "
    "folder of .csv, .csv.gz or .parquet files."
)
_ENSEMBLES = (
    "Pass a dict of names to unfitted estimators, such as RandomForestClassifier(), or to "
    "functions that return one."
)


class UnfittedEstimator(Protocol):
    """An estimator of scikit-learn that can be cloned and trained."""

    def fit(self, X: Samples, y: Array) -> Self:
        """Train the estimator."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return its parameters."""

    def set_params(self, **parameters: object) -> Self:
        """Set parameters of the estimator."""


@dataclass(frozen=True, eq=False)
class BenchmarkDataset:
    """A data set with its name."""

    name: str
    load: Callable[[], object]  # returns features and true values
    seed_names: tuple[str, ...]  # seeds are derived from these: ``load.seed_names``, or the name

    @property
    def has_user_loader(self) -> bool:
        """Whether a user's function loads the data set, which may return other data each time."""
        return not isinstance(self.load, partial) or self.load.func not in (
            _return_given,
            read_table,
        )

    def read_checked(self, is_regression: bool) -> tuple[Samples, Array]:
        """Return features and true values, checked."""
        try:
            X, y = _split_features_target(self.load())
            n_samples = _num_samples(X)
            truth = as_target_values(y, n_samples) if is_regression else as_labels(y, "y").ravel()
        except SecateursError as error:
            error.prepend(f"Data set {self.name}: ")
            raise
        except (MemoryError, Warning):
            raise
        except Exception as error:
            raise InputError(
                f"Data set {self.name} cannot be read: {describe_error(error)}. Pass (X, y)."
            ) from error
        if len(np.shape(X)) != 2:
            raise InputError(
                f"Data set {self.name} has features of shape {np.shape(X)}. Pass a table: samples "
                "× features."
            )
        if len(truth) != n_samples:
            raise InputError(
                f"Data set {self.name} has {format_count(n_samples, 'sample')} but {len(truth)} "
                "true values. Pass one true value for each sample."
            )
        return X, truth


def _split_features_target(loaded: Samples) -> tuple[Samples, Samples]:
    """Return features and true values of a pair, or of an object as scikit-learn loads it."""
    for names in (("X", "y"), ("data", "target")):
        if all(hasattr(loaded, name) for name in names):
            return getattr(loaded, names[0]), getattr(loaded, names[1])
    X, y = loaded
    return X, y


@dataclass(frozen=True, eq=False)
class BenchmarkEnsemble:
    """An ensemble to train: an unfitted estimator, or a function that returns one."""

    name: str
    estimator_or_factory: Any

    def make_estimator(self, seed: int | None = None) -> UnfittedEstimator:
        """Return a new estimator; random states that are None are derived from the seed."""
        source = self.estimator_or_factory
        estimator = clone(source) if _is_estimator(source) else source()
        if not _is_estimator(estimator):
            text = to_one_line(repr(estimator))
            raise InputError(f"Ensemble {self.name} is {text}. {_ENSEMBLES}")
        return estimator if seed is None else _set_random_states(estimator, seed)

    @property
    def is_regression(self) -> bool:
        """Whether the ensemble is a regressor."""
        return bool(is_regressor(self.make_estimator()))


def _is_estimator(value: object) -> TypeGuard[UnfittedEstimator]:
    is_object = not isinstance(value, type)
    return is_object and all(callable(getattr(value, name, None)) for name in ("fit", "get_params"))


def _set_random_states(estimator: UnfittedEstimator, seed: int) -> UnfittedEstimator:
    """Set random states that are None: the estimator's to the seed, nested ones to other seeds."""
    rng = np.random.RandomState(seed)
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            drawn = seed if name == "random_state" else int(rng.randint(2**31 - 1))
            estimator.set_params(**{name: drawn})
    return estimator


@dataclass(frozen=True, eq=False)
class Entrant:
    """A method or baseline of a benchmark."""

    name: str
    pruner: BasePruner | None  # None for the full ensemble
    decides_size: bool = False  # whether it decides how many members it keeps
    takes_scoring: bool = False  # whether it optimises the score of the benchmark, if it can
    seed_name: str = ""  # seeds are derived from it: the method's short name, or its name here


def parse_datasets(datasets: object, target: str = "target") -> list[BenchmarkDataset]:
    """Return the data sets of a mapping, or of a folder."""
    if isinstance(datasets, (str, os.PathLike)):
        datasets = tables_in_folder(Path(datasets))
    if not isinstance(datasets, Mapping) or not datasets:
        value = _describe_input(datasets)
        raise InputError(f"{{datasets}} is not valid. {_DATASETS}", datasets=value)
    return [
        _parse_dataset(_check_name("datasets", name), value, target)
        for name, value in datasets.items()
    ]


def _parse_dataset(name: str, value: object, target: str) -> BenchmarkDataset:
    if isinstance(value, (str, os.PathLike)):
        value = partial(read_table, Path(value), target)
    elif not callable(value):
        value = partial(_return_given, value)
    assert callable(value)
    return BenchmarkDataset(name, value, getattr(value, "seed_names", (name,)))


def _return_given(value: object) -> object:
    return value


def tables_in_folder(folder: Path) -> dict[str, Path]:
    """Return the paths of the tables in a folder by name."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. {_DATASETS}")
    tables = {
        path.name[: -len(kind)]: path
        for path in sorted(folder.iterdir())
        for kind in _TABLES
        if path.name.lower().endswith(kind)
    }
    if not tables:
        suffixes = format_list(_TABLES, last=" or ")
        raise InputError(f"{folder} contains no {suffixes} file. {_DATASETS}")
    return tables


def read_table(path: Path, target: str) -> tuple[Samples, Array]:
    """Return the features and the target column of a table; numeric features as an array."""
    import pandas as pd

    if not path.is_file():
        raise InputError(
            f"{path} is not a file. Pass a table as {format_list(_TABLES, last=' or ')}."
        )
    if path.suffix == ".parquet":
        parquet = import_extra("pyarrow.parquet", "parquet", "reading .parquet")
        with reading_file(path):
            check_table_size(path, MAX_TABLE_BYTES, NUMBER_BYTES, _LARGE_TABLE)
            frame = parquet.read_table(path).to_pandas()
    else:
        with reading_file(path):
            check_table_size(path, MAX_TABLE_BYTES, NUMBER_BYTES, _LARGE_TABLE)
            frame = pd.read_csv(path)
    if target not in frame.columns:
        columns = format_list(map(str, frame.columns[:12]))
        raise InputError(f"{path} has no column {{target}}. Columns: {columns}.", target=target)
    if frame[target].isna().any():
        raise InputError(f"{path} has rows without a value in {{target}}.", target=target)
    features = frame.drop(columns=target)
    numeric = all(kind.kind in "biuf" for kind in map(np.dtype, _plain_types(features)))
    return (features.to_numpy() if numeric else features), frame[target].to_numpy()


def _plain_types(frame: pd.DataFrame) -> Iterable[np.dtype[np.generic]]:
    """Yield the dtypes of the columns; extension types such as categories count as objects."""
    return (kind if isinstance(kind, np.dtype) else np.dtype(object) for kind in frame.dtypes)


def parse_ensembles(ensembles: object) -> list[BenchmarkEnsemble]:
    """Return the ensembles of a mapping, a sequence or a single estimator."""
    if _is_estimator(ensembles):
        ensembles = [ensembles]
    if isinstance(ensembles, Sequence) and not isinstance(ensembles, str):
        named = [(type(value).__name__, value) for value in ensembles]
        ensembles = dict(named) if len(dict(named)) == len(named) else None
    if not isinstance(ensembles, Mapping) or not ensembles:
        value = _describe_input(ensembles)
        raise InputError(f"{{ensembles}} is not valid. {_ENSEMBLES}", ensembles=value)
    models = [
        BenchmarkEnsemble(_check_name("ensembles", name), value)
        for name, value in ensembles.items()
    ]
    for model in models:
        source = model.estimator_or_factory
        if not _is_estimator(source) and (not callable(source) or isinstance(source, type)):
            raise InputError(f"Ensemble {model.name} is {to_one_line(repr(source))}. {_ENSEMBLES}")
    return models


def parse_methods(methods: Methods, is_regression: bool) -> list[Entrant]:
    """Return the methods to rank, with their names."""
    usable = regression_methods() if is_regression else list(METHODS)
    all_names = [name for name in usable if name not in baseline_methods()]
    entrants: dict[str, Entrant] = {}
    for name, method in methods_with_names(methods, all_names):
        by_name = isinstance(method, str)
        pruner = make_pruner(method) if isinstance(method, str) else pruner_from_method(method)
        if is_regression and "numbers" not in pruner.outputs:
            raise InputError(
                f"Method {name or pruner_label(pruner)} needs classes, but some ensembles are "
                f"regressors. For regressors use: {format_list(regression_methods())}."
            )
        label = name or (method.lower() if isinstance(method, str) else pruner_label(pruner))
        if label in entrants:
            raise InputError(
                f"{{methods}} has two methods called {label}. Pass a dict with a name for each.",
                methods=...,
            )
        if isinstance(pruner, SelectorPruner):
            decides = not hasattr(pruner.selector, "keep")
        else:
            decides = not by_name and pruner.may_decide_size and pruner.keep is None
        entrants[label] = Entrant(label, pruner, decides, by_name, short_name(pruner) or label)
    if not entrants:
        raise InputError("{methods} has no method. Pass one or more.", methods=...)
    return list(entrants.values())


def baseline_entrants(methods: Iterable[Entrant]) -> list[Entrant]:
    """Return the baselines that every method should beat, except those that are ranked."""
    ranked = {entrant.name for entrant in methods}
    pruners: dict[str, BasePruner | None] = {name: make_pruner(name) for name in baseline_methods()}
    pruners |= {SINGLE_BEST: make_pruner("best", keep=1), FULL_ENSEMBLE: None}
    return [
        Entrant(name, pruner, seed_name=short_name(pruner) or name)
        for name, pruner in pruners.items()
        if name not in ranked
    ]


def value_fingerprint(value: object) -> str:
    """Return a text that is equal for equal values in any process.

    Functions that cannot be pickled, such as lambdas, are identified by their names.
    """
    try:
        return str(joblib.hash(value))
    except Exception:  # pickling of a user's object can raise anything
        attributes = vars(value) if hasattr(value, "__dict__") else {}
        inside = sorted((name, value_fingerprint(item)) for name, item in attributes.items())
        return str(joblib.hash([getattr(value, "__qualname__", type(value).__qualname__), inside]))


def dataset_digest(X: Samples, y: Array) -> str:
    """Return a hash of a data set: an array, a data frame or a sparse matrix, and its target."""
    if hasattr(X, "columns"):
        features = [list(map(str, X.columns)), *(X[name].to_numpy() for name in X.columns)]
    elif hasattr(X, "tocsr"):
        features = [X.tocsr().data, X.tocsr().indices, X.tocsr().indptr]
    else:
        features = [np.asarray(X)]
    return str(joblib.hash([*features, np.asarray(y)]))


def _check_name(parameter: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(
            f"{{{parameter}}} has the name {name!r}. Pass names that can be printed.",
            **{parameter: ...},
        )
    return name


def _describe_input(value: object) -> object:
    """Return a value that is short enough for an error message, or the name of its type."""
    is_short = value is None or isinstance(value, (str, int, float))
    is_empty = isinstance(value, (dict, list)) and not value
    return value if is_short or is_empty else type(value).__name__
