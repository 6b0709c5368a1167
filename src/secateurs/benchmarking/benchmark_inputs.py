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
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.pruner_label import pruner_label
from secateurs.pruners.selector import SelectorPruner, pruner_from_method
from secateurs.text_format import format_count, format_list, to_one_line

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
class BenchmarkDataset:
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
    def has_user_loader(self) -> bool:
        """Whether it is loaded by a function of the user's."""
        return not isinstance(self.load, partial) or self.load.func not in (
            _return_given,
            read_table,
        )

    def read_checked(self, of_numbers: bool) -> tuple[Any, Any]:
        """Return features and truth, checked."""
        try:
            found = self.load()
            X, y = _split_features_target(found)
            n_rows = _num_samples(X)
            truth = as_target_values(y, n_rows) if of_numbers else as_labels(y, "y").ravel()
        except SecateursError as error:
            error.prepend(f"Data set {self.name}: ")
            raise
        except (MemoryError, Warning):
            raise
        except Exception as error:
            raise InputError(
                f"Data set {self.name} cannot be read: {describe_error(error)}. Give (X, y)."
            ) from error
        if len(np.shape(X)) != 2:
            raise InputError(
                f"Data set {self.name} has features of shape {np.shape(X)}. Give a table: rows × "
                "features."
            )
        if len(truth) != n_rows:
            raise InputError(
                f"Data set {self.name} has {format_count(n_rows, 'row')} but {len(truth)} true values. "
                "Give one for each row."
            )
        return X, truth


def _split_features_target(found: Any) -> tuple[Any, Any]:
    """Return features and truth of what a loader returns."""
    for names in (("X", "y"), ("data", "target")):
        if all(hasattr(found, name) for name in names):
            return getattr(found, names[0]), getattr(found, names[1])
    X, y = found
    return X, y


@dataclass(frozen=True, eq=False)
class BenchmarkEnsemble:
    """An ensemble to train: an unfitted estimator, or a function that returns one."""

    name: str
    estimator_or_factory: Any

    def make_estimator(self, seed: int | None = None) -> Any:
        """Return a new estimator; random states that are None come from the seed."""
        made = (
            clone(self.estimator_or_factory)
            if _is_estimator(self.estimator_or_factory)
            else self.estimator_or_factory()
        )
        if not _is_estimator(made):
            raise InputError(f"Ensemble {self.name} is {to_one_line(repr(made))}. {_ENSEMBLES}")
        return made if seed is None else _set_random_states(made, seed)

    @property
    def is_regression(self) -> bool:
        """Whether it predicts numbers."""
        return bool(is_regressor(self.make_estimator()))


def _is_estimator(given: Any) -> bool:
    is_object = not isinstance(given, type)
    return is_object and all(callable(getattr(given, name, None)) for name in ("fit", "get_params"))


def _set_random_states(estimator: Any, seed: int) -> Any:
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
    decides_size : bool
        Whether it decides how many members it keeps.
    takes_scoring : bool
        Whether it is to optimise the score of the benchmark, as it was given by its short name.
    seed_name : str
        What seeds derive from: its short name, if it has one, whatever it is called here.
    """

    name: str
    pruner: BasePruner | None
    decides_size: bool = False
    takes_scoring: bool = False
    seed_name: str = ""


def parse_datasets(given: Any, target: str = "target") -> list[BenchmarkDataset]:
    """Return the data sets of a mapping, or of a folder."""
    if isinstance(given, (str, os.PathLike)):
        given = tables_in_folder(Path(given))
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"{{datasets}} is not valid. {_DATASETS}", datasets=_describe_input(given))
    return [
        _parse_dataset(_check_name("datasets", name), value, target)
        for name, value in given.items()
    ]


def _parse_dataset(name: str, value: Any, target: str) -> BenchmarkDataset:
    if isinstance(value, (str, os.PathLike)):
        value = partial(read_table, Path(value), target)
    elif not callable(value):
        value = partial(_return_given, value)
    return BenchmarkDataset(name, value, getattr(value, "seed_names", (name,)))


def _return_given(value: Any) -> Any:
    return value


def tables_in_folder(folder: Path) -> dict[str, Path]:
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
        raise InputError(f"{folder} holds no {format_list(_TABLES, last=' or ')} file. {_DATASETS}")
    return found


def read_table(path: Path, target: str) -> tuple[Any, Any]:
    """Read a table of features and a column of true values; features as an array if numeric."""
    import pandas as pd

    if not path.is_file():
        raise InputError(
            f"{path} is not a file. Give a table as {format_list(_TABLES, last=' or ')}."
        )
    if path.suffix == ".parquet":
        parquet = import_extra("pyarrow.parquet", "parquet", "reading .parquet")
        with reading_file(path):
            frame = parquet.read_table(path).to_pandas()
    else:
        with reading_file(path):
            frame = pd.read_csv(path)
    if target not in frame.columns:
        columns = format_list(map(str, frame.columns[:12]))
        raise InputError(f"{path} has no column {{target}}. Columns: {columns}.", target=target)
    if frame[target].isna().any():
        raise InputError(f"{path} has rows without a value in {{target}}.", target=target)
    features = frame.drop(columns=target)
    numeric = all(kind.kind in "biuf" for kind in map(np.dtype, _plain_types(features)))
    return (features.to_numpy() if numeric else features), frame[target].to_numpy()


def _plain_types(frame: Any) -> Iterable[Any]:
    return (kind if isinstance(kind, np.dtype) else np.dtype(object) for kind in frame.dtypes)


def parse_ensembles(given: Any) -> list[BenchmarkEnsemble]:
    """Return the ensembles of a mapping, of a sequence, or one alone."""
    if _is_estimator(given):
        given = [given]
    if isinstance(given, Sequence) and not isinstance(given, str):
        named = [(type(value).__name__, value) for value in given]
        given = dict(named) if len(dict(named)) == len(named) else None
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            f"{{ensembles}} is not valid. {_ENSEMBLES}", ensembles=_describe_input(given)
        )
    made = [
        BenchmarkEnsemble(_check_name("ensembles", name), value) for name, value in given.items()
    ]
    for model in made:
        if not _is_estimator(model.estimator_or_factory) and (
            not callable(model.estimator_or_factory) or isinstance(model.estimator_or_factory, type)
        ):
            text = to_one_line(repr(model.estimator_or_factory))
            raise InputError(f"Ensemble {model.name} is {text}. {_ENSEMBLES}")
    return made


def parse_methods(given: Methods, of_numbers: bool) -> list[Entrant]:
    """Return the methods that take part in ranks, by name."""
    usable = regression_methods() if of_numbers else list(METHODS)
    everything = [name for name in usable if name not in baseline_methods()]
    found: dict[str, Entrant] = {}
    for name, method in methods_with_names(given, everything):
        by_name = isinstance(method, str)
        pruner = make_pruner(method) if by_name else pruner_from_method(method)
        if of_numbers and "numbers" not in pruner.outputs:
            raise InputError(
                f"Method {name or pruner_label(pruner)} needs classes, and some ensembles are "
                f"regressors. For those use: {format_list(regression_methods())}."
            )
        shown = name or (method.lower() if by_name else pruner_label(pruner))
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


def baseline_entrants(found: Iterable[Entrant]) -> list[Entrant]:
    """Return what every method must beat, without those that take part themselves."""
    taken = {entrant.name for entrant in found}
    made: dict[str, BasePruner | None] = {name: make_pruner(name) for name in baseline_methods()}
    made |= {SINGLE_BEST: make_pruner("best", keep=1), FULL_ENSEMBLE: None}
    return [
        Entrant(name, pruner, seed_name=short_name(pruner) or name)
        for name, pruner in made.items()
        if name not in taken
    ]


def value_fingerprint(value: Any) -> str:
    """Return a text that is the same for the same value in any process.

    Functions that cannot be pickled count by their names.
    """
    try:
        return str(joblib.hash(value))
    except Exception:  # whatever an object's own pickling raises
        parts = vars(value) if hasattr(value, "__dict__") else {}
        inside = sorted((name, value_fingerprint(one)) for name, one in parts.items())
        return str(joblib.hash([getattr(value, "__qualname__", type(value).__qualname__), inside]))


def dataset_digest(X: Any, y: Any) -> str:
    """Return a hash of a data set."""
    if hasattr(X, "columns"):
        features = [list(map(str, X.columns)), *(X[name].to_numpy() for name in X.columns)]
    elif hasattr(X, "tocsr"):
        features = [X.tocsr().data, X.tocsr().indices, X.tocsr().indptr]
    else:
        features = [np.asarray(X)]
    return str(joblib.hash([*features, np.asarray(y)]))


def _check_name(parameter: str, name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(
            f"{{{parameter}}} has the name {name!r}. Give names that can be printed.",
            **{parameter: ...},
        )
    return name


def _describe_input(given: Any) -> Any:
    return given if given is None or isinstance(given, (str, int, float)) else type(given).__name__
