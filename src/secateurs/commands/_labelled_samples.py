"""Read samples and their true labels or values from a table, in the form that a model expects."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._column_types import AS_TEXT, ColumnTypes
from secateurs.commands._table_files import read_table, require_columns
from secateurs.commands.command_errors import Refusal, reject_cells
from secateurs.commands.console_output import Output
from secateurs.persistence.table_limits import MAX_TABLE_BYTES
from secateurs.text_format import format_count, shorten_list, to_one_line

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.ensembles import Ensemble
    from secateurs.typing import Array, FloatArray

_FEW_PER_CLASS = 5  # below, some of the five folds have no sample of the class
_MIN_REGRESSION_SAMPLES = 10  # two samples in each of the five folds


def read_samples(  # noqa: PLR0917
    path: Path,
    ensemble: Ensemble,
    target: str,
    ignore: Sequence[str] = (),
    types: ColumnTypes | None = None,
    max_unpacked: float = MAX_TABLE_BYTES,
) -> tuple[pd.DataFrame | Array, Array]:
    """Read samples with the features of a model, and their true classes or values."""
    types = replace(
        types or ColumnTypes.from_ensemble(ensemble, None, ()), excluded_columns=[target, *ignore]
    )
    frame = read_table(path, as_text=[target], types_of=types, max_unpacked=max_unpacked)
    require_columns(path, frame, [target, *ignore])
    texts, where = frame[target].tolist(), f"{path}, column {target!r}"
    y = (
        parse_true_values(texts, where)
        if ensemble.is_regression
        else parse_classes(texts, ensemble.classes, where)
    )
    X = _match_features(path, frame.drop(columns=[target, *ignore]), ensemble, types.given_types)
    _try_predicting(path, X, ensemble)
    return X, y


def read_features(
    path: Path, ensemble: Ensemble, types: ColumnTypes, optional: Sequence[str]
) -> pd.DataFrame | Array:
    """Read samples with the features of a model; optional columns are dropped if present."""
    frame = read_table(path, types_of=types)
    frame = frame.drop(columns=[name for name in optional if name in frame.columns])
    X = _match_features(path, frame, ensemble, types.given_types)
    _try_predicting(path, X, ensemble)
    return X


def read_model_features(
    path: Path, model: object, types: ColumnTypes, max_unpacked: float
) -> pd.DataFrame:
    """Return the samples of a table, with the features in the model's order."""
    frame = read_table(path, types_of=types, max_unpacked=max_unpacked)
    require_columns(path, frame, types.excluded_columns)
    frame = frame.drop(columns=list(types.excluded_columns))
    names = getattr(model, "feature_names_in_", None)
    return frame if names is None else order_features(path, frame, list(names))


def check_sample_counts(path: Path, y: Array, classes: Array | None, out: Output) -> None:
    """Raise if there are too few validation samples, and warn about classes with few samples."""
    import numpy as np

    n_rows = format_count(len(y), "row")
    if classes is None or not len(classes):
        if len(y) < _MIN_REGRESSION_SAMPLES:
            raise Refusal(
                "few_rows",
                f"{path} has {n_rows}. Pass at least {_MIN_REGRESSION_SAMPLES}, better hundreds.",
            )
        return
    if len(y) < 2 * len(classes):
        raise Refusal(
            "few_rows",
            f"{path} has {n_rows} for {format_count(len(classes), 'class')}. Pass at least "
            f"{2 * len(classes)}, better hundreds.",
        )
    counts = np.array([np.count_nonzero(y == label) for label in classes])
    few = [str(label) for label in classes[counts < _FEW_PER_CLASS]]
    if few:
        out.warn(
            f"{path} has fewer than {_FEW_PER_CLASS} rows of class {shorten_list(few, 5)}: the "
            "selected members may predict it poorly."
        )


def parse_classes(texts: Sequence[str], classes: Array, where: str) -> Array:
    """Return the classes of a model that labels from a text file stand for."""
    import numpy as np

    is_numeric = classes.dtype.kind in "biuf"
    normalise: Callable[[str], object] = _parse_decimal if is_numeric else str
    class_codes = {normalise(str(label)): code for code, label in enumerate(classes.tolist())}
    codes = {text: class_codes.get(normalise(text)) for text in set(texts)}
    if codes.get("", 0) is None:
        reject_empty_cells(where, texts)
    unknown = [text for text, code in codes.items() if code is None]
    if unknown:
        first = min(texts.index(text) for text in unknown)
        raise Refusal(
            "unknown_label",
            f"{where} has labels unknown to the model: {shorten_list(sorted(unknown), 5)} (first "
            f"in row {first + 1}). Known labels: {shorten_list(classes.tolist(), 5)}.",
        )
    return classes[np.array([codes[text] for text in texts])]


def parse_true_values(texts: Sequence[str], where: str) -> FloatArray:
    """Return a continuous target as finite numbers."""
    import numpy as np
    import pandas as pd

    reject_empty_cells(where, texts)
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=float)
    fault = (
        "is not a finite number, but this is a regression. Pass a column with numeric values only."
    )
    reject_cells(~np.isfinite(numbers), texts, where, "no_number", fault)
    return numbers


def reject_empty_cells(where: str, texts: Sequence[str]) -> None:
    """Raise if a cell of a column is empty."""
    if "" in texts:
        row = texts.index("") + 1
        message = f"{where}, row {row} is empty. Add a value, or drop the row."
        raise Refusal("missing_label", message)


def _parse_decimal(text: str) -> Decimal | None:
    """Return text as an exact number, as floats cannot represent all integers above 2**53."""
    try:
        number = Decimal({"true": "1", "false": "0"}.get(text.strip().lower(), text))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _match_features(
    path: Path, frame: pd.DataFrame, ensemble: Ensemble, given_types: Mapping[str, str]
) -> pd.DataFrame | Array:
    """Return the features in the model's order, converted to numeric if it cannot use text."""
    names, n_features = known_features(ensemble)
    if names is not None:
        frame = order_features(path, frame, names)
    elif n_features is not None and n_features != frame.shape[1]:
        raise Refusal(
            "feature_count",
            f"{path} has {frame.shape[1]} feature columns, but the model has {n_features}. Leave "
            f"columns out with --ignore. Columns: {shorten_list(list(frame.columns))}",
        )
    if not _can_use_text(ensemble):
        numeric = [name for name in frame.columns if given_types.get(name) not in AS_TEXT]
        frame = frame.assign(**_numeric_columns(path, frame[numeric]))
    return frame if names is not None or _can_use_text(ensemble) else frame.to_numpy()


def known_features(ensemble: Ensemble) -> tuple[list[str] | None, int | None]:
    """Return the names and the number of a model's features, each None if unknown."""
    outer = ensemble.wrappers[0] if ensemble.wrappers else ensemble.model
    for model in (outer, *ensemble.members[:1]):
        names = getattr(model, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names], len(names)
        if getattr(model, "n_features_in_", None):  # CatBoost has 0 after it was saved and loaded
            return None, int(model.n_features_in_)
    return None, None


def _can_use_text(ensemble: Ensemble) -> bool:
    """Return whether a pipeline in or around the model can encode text, or CatBoost does."""
    models = (*ensemble.wrappers, *ensemble.members)
    catboost_indices = getattr(ensemble.model, "get_cat_feature_indices", list)
    return any(hasattr(model, "steps") for model in models) or bool(catboost_indices())


def order_features(path: Path, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the model's features in its order; raise if features are missing or unknown."""
    columns, features = set(frame.columns), set(names)
    missing = [name for name in names if name not in columns]
    unknown = [name for name in frame.columns if name not in features]
    if missing:
        also = f" Columns unknown to the model: {shorten_list(unknown, 5)}." if unknown else ""
        raise Refusal(
            "feature_names",
            f"{path} lacks features of the model: {shorten_list(missing, 5)}.{also}",
        )
    if unknown:
        options = " ".join(f"--ignore {name}" for name in unknown[:5])
        raise Refusal(
            "feature_names",
            f"{path} has columns unknown to the model: {shorten_list(unknown, 5)}. Leave them out "
            f"with: {options}",
        )
    return frame[names]


def _numeric_columns(path: Path, frame: pd.DataFrame) -> dict[str, pd.Series[float]]:
    import numpy as np
    import pandas as pd

    columns = {}
    for name in frame.columns:
        column = frame[name]
        values = pd.to_numeric(column, errors="coerce")
        if values.dtype.kind not in "biuf":
            values = values.astype(float)
        bad = (values.isna() & column.notna()).to_numpy()
        if values.dtype.kind == "f":
            bad = bad | np.isinf(values.to_numpy(dtype=float, na_value=np.nan))
        fault = "is not a finite number, but the model accepts numeric features only."
        reject_cells(bad, column.array, f"{path}, column {name!r}", "no_number", fault)
        columns[name] = values
    return columns


def _try_predicting(path: Path, X: pd.DataFrame | Array, ensemble: Ensemble) -> None:
    """Raise early if members cannot predict the samples with missing or extreme values."""
    import numpy as np
    import pandas as pd

    from secateurs.outputs.collect import collect_encoded_predictions, collect_encoded_votes

    collect = collect_encoded_predictions if ensemble.is_regression else collect_encoded_votes
    frame = pd.DataFrame(X)
    is_missing = frame.isna().to_numpy()
    row = int(is_missing.any(axis=1).argmax())
    values = frame.select_dtypes("number").to_numpy(dtype=float, na_value=0.0)
    largest = int(np.abs(values).max(axis=1).argmax()) if values.size else 0
    samples = sorted({0, row, largest})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again when all samples are predicted
            collect(ensemble, X.iloc[samples] if isinstance(X, pd.DataFrame) else X[samples])
    except Exception as error:
        if is_missing[row].any() and "NaN" in str(error):
            names = list(getattr(X, "columns", range(1, X.shape[1] + 1)))
            raise Refusal(
                "missing_value",
                f"{path}, row {row + 1}, column {names[int(is_missing[row].argmax())]!r} is empty, "
                "and the model does not accept missing values. Fill it, or drop the row.",
            ) from error
        raise Refusal(
            "prediction",
            f"the model cannot predict the rows of {path}: {to_one_line(str(error)).rstrip('.')}. "
            "If a column has another type than in training, pass --dtype COL=TYPE.",
        ) from error
