"""Rows for a model: table columns matched with its features, labels with its classes."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from secateurs.commands._column_types import AS_TEXT, ColumnTypes
from secateurs.commands._table_files import format_names, read_table, require_columns
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.text_format import format_count, to_one_line

_FEW_ROWS = 5  # of a class
_LEAST_ROWS = 10  # for numbers: two in each fifth


def read_samples(
    path: Path,
    ensemble: Any,
    target: str,
    ignore: Sequence[str] = (),
    types: ColumnTypes | None = None,
) -> tuple[Any, Any]:
    """Read rows in the form a model takes, and their true labels as its classes, or numbers."""
    types = replace(
        types or ColumnTypes.from_ensemble(ensemble, None, ()), excluded_columns=[target, *ignore]
    )
    frame = read_table(path, as_text=[target], types_of=types)
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


def check_sample_counts(path: Path, y: Any, classes: Any, out: Output) -> None:
    """Refuse too few rows to choose on, and warn about classes with few rows."""
    import numpy as np

    if not len(classes):
        if len(y) < _LEAST_ROWS:
            raise Refusal(
                "few_rows",
                f"{path} has {format_count(len(y), 'row')}. Give at least {_LEAST_ROWS}, preferably "
                "hundreds.",
            )
        return
    if len(y) < 2 * len(classes):
        raise Refusal(
            "few_rows",
            f"{path} has {format_count(len(y), 'row')} for {format_count(len(classes), 'class')}. Give at "
            "least "
            f"{2 * len(classes)}, preferably hundreds.",
        )
    found = np.array([np.count_nonzero(y == label) for label in classes])
    few = [str(label) for label in classes[found < _FEW_ROWS]]
    if few:
        out.warn(
            f"{path} has fewer than {_FEW_ROWS} rows of class {format_names(few, 5)}: the choice of "
            "members will reflect it poorly."
        )


def parse_classes(texts: Sequence[str], classes: Any, where: str) -> Any:
    """Return the classes of a model that the text of labels stands for."""
    import numpy as np

    spell: Any = _parse_decimal if classes.dtype.kind in "biuf" else str
    known = {spell(str(label)): code for code, label in enumerate(classes.tolist())}
    codes = {text: known.get(spell(text)) for text in set(texts)}
    if codes.get("", 0) is None:
        reject_empty_cells(where, texts)
    foreign = [text for text, code in codes.items() if code is None]
    if foreign:
        first = min(texts.index(text) for text in foreign)
        raise Refusal(
            "unknown_label",
            f"{where} has labels unknown to the model: {format_names(sorted(foreign), 5)} (first in row "
            f"{first + 1}). Known labels: {format_names(classes.tolist(), 5)}.",
        )
    return classes[np.array([codes[text] for text in texts])]


def parse_true_values(texts: Sequence[str], where: str) -> Any:
    """Return the finite numbers that the text of a target stands for."""
    import numpy as np
    import pandas as pd

    reject_empty_cells(where, texts)
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=float)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        raise Refusal(
            "no_number",
            f"{where}, row {row + 1}: {str(texts[row])[:40]!r} is not a finite number, and the "
            "model predicts numbers. Give a column of numbers.",
        )
    return numbers


def reject_empty_cells(where: str, texts: Sequence[str]) -> None:
    """Refuse an empty label."""
    if "" in texts:
        row = texts.index("") + 1
        text = f"{where}, row {row} is empty. Give a value, or drop the row."
        raise Refusal("missing_label", text)


def _parse_decimal(text: str) -> Decimal | None:
    """Return text as an exact number: integers beyond 2**53 share floats."""
    try:
        number = Decimal({"true": "1", "false": "0"}.get(text.strip().lower(), text))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _match_features(path: Path, frame: Any, ensemble: Any, given: Mapping[str, str]) -> Any:
    """Return the features in the model's order, as numbers where it takes nothing else."""
    names, n_features = _known_features(ensemble)
    if names is not None:
        frame = order_features(path, frame, names)
    elif n_features is not None and n_features != frame.shape[1]:
        raise Refusal(
            "feature_count",
            f"{path} has {frame.shape[1]} feature columns, but the model has {n_features}. Leave "
            f"columns out with --ignore. Columns: {format_names(list(frame.columns))}",
        )
    if not _can_use_text(ensemble):
        numbers = [name for name in frame.columns if given.get(name) not in AS_TEXT]
        frame = frame.assign(**_numeric_columns(path, frame[numbers]))
    return frame if names is not None or _can_use_text(ensemble) else frame.to_numpy()


def _known_features(ensemble: Any) -> tuple[list[str] | None, int | None]:
    """Return names and number of the features of a model, as far as it knows them."""
    outer = ensemble.wrappers[0] if ensemble.wrappers else ensemble.model
    for model in (outer, *ensemble.members[:1]):
        names = getattr(model, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names], len(names)
        if getattr(model, "n_features_in_", None):  # CatBoost says 0 once it was written to a file
            return None, int(model.n_features_in_)
    return None, None


def _can_use_text(ensemble: Any) -> bool:
    """Return whether the model takes text, or a pipeline in or around it turns it into numbers."""
    models = (*ensemble.wrappers, *ensemble.members)
    in_catboost: Any = getattr(ensemble.model, "get_cat_feature_indices", list)
    return any(hasattr(model, "steps") for model in models) or bool(in_catboost())


def order_features(path: Path, frame: Any, names: list[str]) -> Any:
    """Return the model's features in its order; refuse a table without some, or with others."""
    there, known = set(frame.columns), set(names)
    missing = [name for name in names if name not in there]
    foreign = [name for name in frame.columns if name not in known]
    if missing:
        also = f" Columns unknown to the model: {format_names(foreign, 5)}." if foreign else ""
        raise Refusal(
            "feature_names",
            f"{path} lacks features of the model: {format_names(missing, 5)}.{also}",
        )
    if foreign:
        options = " ".join(f"--ignore {name}" for name in foreign[:5])
        raise Refusal(
            "feature_names",
            f"{path} has columns unknown to the model: {format_names(foreign, 5)}. Leave them out with: "
            f"{options}",
        )
    return frame[names]


def _numeric_columns(path: Path, frame: Any) -> dict[str, Any]:
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
        if bad.any():
            row = int(bad.argmax())
            raise Refusal(
                "no_number",
                f"{path}, column {name!r}, row {row + 1}: {str(column.iloc[row])[:40]!r} is not a "
                "finite number. The model takes numbers only.",
            )
        columns[name] = values
    return columns


def _try_predicting(path: Path, X: Any, ensemble: Any) -> None:
    """Let every member predict the rows most likely to fail, before any work."""
    import numpy as np
    import pandas as pd

    from secateurs.outputs.collect import collect_encoded_predictions, collect_encoded_votes

    collect: Any = collect_encoded_predictions if ensemble.is_regression else collect_encoded_votes
    frame = pd.DataFrame(X)
    gaps = frame.isna().to_numpy()
    row = int(gaps.any(axis=1).argmax())
    numbers = frame.select_dtypes("number").to_numpy(dtype=float, na_value=0.0)
    farthest = int(np.abs(numbers).max(axis=1).argmax()) if numbers.size else 0  # from 0
    some = sorted({0, row, farthest})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the real call will repeat them
            collect(ensemble, X.iloc[some] if hasattr(X, "iloc") else X[some])
    except Exception as error:
        if gaps[row].any() and "NaN" in str(error):
            names = list(getattr(X, "columns", range(1, X.shape[1] + 1)))
            raise Refusal(
                "missing_value",
                f"{path}, row {row + 1}, column {names[int(gaps[row].argmax())]!r} is empty, and "
                "the model does not accept missing values. Fill it, or drop the row.",
            ) from error
        raise Refusal(
            "prediction",
            f"the model cannot predict the rows of {path}: {to_one_line(str(error)).rstrip('.')}. If "
            "a column was read as another type than it was trained on, give --dtype COL=TYPE.",
        ) from error
