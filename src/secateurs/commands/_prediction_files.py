"""Read the members' predictions from tables or arrays; `PredictionTable` checks them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._labelled_samples import (
    parse_classes,
    parse_true_values,
    reject_empty_cells,
)
from secateurs.commands._table_files import (
    file_format,
    name_file_in_errors,
    read_arrays,
    read_table,
    require_columns,
)
from secateurs.commands.command_errors import Refusal, reject_cells
from secateurs.text_format import format_count, shorten_list

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.commands.shared_options import InputFiles
    from secateurs.outputs.prediction_table import PredictionTable
    from secateurs.outputs.table_members import TableFormat
    from secateurs.typing import Array, PredictionKind


@dataclass(frozen=True)
class PredictionFile:
    """The content of a file with predictions, before its cells are interpreted."""

    path: Path
    # A column for each member, or for each member and class; an array of probabilities
    # (samples × members × classes). Missing predictions are None or NaN.
    table: pd.DataFrame | Array
    y: Array | None = None  # true labels or values
    classes: Array | None = None  # of probabilities in an array
    names: list[str] | None = None  # of the members, in an .npz file
    is_regression: bool = False  # by the score
    holds_values: bool = False  # predictions of regressors, by the name of the array


def read_labelled_predictions(
    path: Path,
    labels: Path | None,
    files: InputFiles,
    max_unpacked: float,
    *,
    is_regression: bool = False,
    validation: PredictionTable | None = None,
) -> tuple[PredictionTable, Array]:
    """Return predictions and their true labels or values, which may be in another file.

    ``validation`` are the predictions on the validation set if this is the test set.
    """
    target = files.target
    content = read_prediction_file(path, target, labels, files.excluded_columns(), max_unpacked)
    if labels is not None:
        content = replace(content, y=_read_true_labels(labels, target, max_unpacked))
    if content.y is None:
        hint = "Name their column with --target"
        hint = "Add an array y" if file_format(path) in ("npy", "zip") else hint
        raise Refusal("no_labels", f"{path} has no true labels. {hint}, or pass --labels.")
    _check_shape(content, len(content.y), labels or path)
    content = replace(content, is_regression=is_regression)
    if validation is not None:
        return _as_test_predictions(content, validation, labels or path)
    return _as_validation_predictions(content, files, labels or path)


def read_prediction_file(
    path: Path,
    target: str | None,
    labels: Path | None,
    ignore: tuple[str, ...],
    max_unpacked: float,
) -> PredictionFile:
    """Read a file with predictions, and true labels if it has any."""
    if file_format(path) in ("npy", "zip"):
        return _read_array_file(path, max_unpacked)
    frame = read_table(path, as_text=None, max_unpacked=max_unpacked)
    # With --labels, --target may name a column of that file only.
    is_elsewhere = labels is not None and target not in frame.columns
    targets = [] if target is None or is_elsewhere else [target]
    require_columns(path, frame, [*targets, *ignore])
    members = frame.drop(columns=[*targets, *ignore])
    if members.shape[1] == 0:
        raise Refusal("no_members", f"{path} has no column except the target. Add the members.")
    for name in targets:
        reject_empty_cells(f"{path}, column {name!r}", frame[name].tolist())
    y = frame[targets[0]].to_numpy(dtype=object) if targets else None
    return PredictionFile(path, _mask_empty_cells(members), y)


def _mask_empty_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts with None in place of empty cells."""
    return frame.astype(object).where(frame != "", None)


def _read_array_file(path: Path, max_unpacked: float) -> PredictionFile:
    import numpy as np
    import pandas as pd

    arrays = read_arrays(path, max_unpacked)
    kinds = [name for name in ("votes", "numbers", "probabilities") if name in arrays]
    if len(kinds) != 1:
        raise Refusal(
            "arrays",
            f"{path} has the arrays {shorten_list(sorted(arrays)) or 'none'}. Pass either votes or "
            "numbers (samples × members), or probabilities (samples × members × classes).",
        )
    (kind,) = kinds
    table = arrays[kind]
    n_axes = (2, 3) if kind == "probabilities" or path.suffix.lower() == ".npy" else (2,)
    if table.ndim not in n_axes:
        raise Refusal(
            "shape",
            f"{path} has {kind} of shape {table.shape}. Pass an array with "
            f"{' or '.join(map(str, n_axes))} dimensions.",
        )
    if 0 in table.shape:
        raise Refusal("empty", f"{path} has {kind} of shape {table.shape}, which is empty.")
    names = [str(name) for name in np.ravel(arrays["names"])] if "names" in arrays else None
    if names is not None and len(names) == table.shape[0] != table.shape[1]:
        names = None  # a transposed table, which is reported later
    if names is not None and not len(set(names)) == len(names) == table.shape[1]:
        raise Refusal(
            "names",
            f"{path} has {format_count(len(set(names)), 'name')} for "
            f"{format_count(table.shape[1], 'member')}. Pass one name per member.",
        )
    y = arrays.get("y")
    if y is not None and y.ndim != 1:
        raise Refusal("shape", f"{path} has y of shape {y.shape}. Pass one label per sample.")
    if table.ndim == 3:
        return PredictionFile(path, table, y, arrays.get("classes"), names)
    frame = pd.DataFrame(table, columns=names)
    if table.dtype.kind == "U":
        frame = _mask_empty_cells(frame)
    return PredictionFile(
        path, frame, y, arrays.get("classes"), names, holds_values=kind == "numbers"
    )


def _read_true_labels(path: Path, target: str | None, max_unpacked: float) -> Array:
    if file_format(path) in ("npy", "zip"):
        arrays = read_arrays(path, max_unpacked)
        y = arrays.get("y", arrays.get("votes"))
        if y is None or y.ndim != 1:
            raise Refusal("labels", f"{path} has no array y with one label per sample. Add it.")
        return y
    frame = read_table(path, as_text=None, max_unpacked=max_unpacked)
    column = str(frame.columns[0])
    if frame.shape[1] > 1:
        if target is None:
            raise Refusal(
                "labels",
                f"{path} has {format_count(frame.shape[1], 'column')}: "
                f"{shorten_list(list(frame.columns))}. Name the column with the labels: "
                "--target COL",
            )
        require_columns(path, frame, [target])
        column = target
    reject_empty_cells(f"{path}, column {column!r}", frame[column].tolist())
    return frame[column].to_numpy()


def _check_shape(content: PredictionFile, n_labels: int, labels: Path) -> None:
    path, shape = content.path, content.table.shape
    if shape[0] == n_labels:
        return
    if shape[1] == n_labels:
        transposed = "votes.T" if len(shape) == 2 else "probabilities.swapaxes(0, 1)"
        raise Refusal(
            "transposed",
            f"{path} has shape {shape} and there are {format_count(n_labels, 'label')}: it looks "
            f"transposed. Pass one row per sample and one column per member: {transposed}.",
        )
    raise Refusal(
        "row_count",
        f"{path} has {format_count(shape[0], 'row')}, {labels} has "
        f"{format_count(n_labels, 'label')}. Pass one label per row.",
    )


def _as_validation_predictions(
    content: PredictionFile, files: InputFiles, labels: Path
) -> tuple[PredictionTable, Array]:
    """Return the predictions on the validation set, and their true labels or values."""
    from secateurs.measures.scoring import is_regression_task
    from secateurs.outputs.table_members import TableFormat

    kind: PredictionKind | None = "values" if content.holds_values else None
    table_format = TableFormat(content.classes, None, files.positive, files.columns, kind)
    if content.table.ndim == 3:
        table_format = replace(table_format, names=content.names)
        return _as_probabilities(content, table_format, labels)
    numbers = _labels_as_numbers(_truth(content))
    is_regression: bool | None = content.is_regression
    if not is_regression:
        is_regression = False if numbers is None else is_regression_task(numbers, None)
    is_numeric = files.positive is not None or "{class}" in (files.columns or "")
    has_values = bool(is_regression) or content.holds_values
    content = _decode_cells(content, table_format, labels, has_values, is_numeric)
    ensemble = _to_ensemble(content, table_format, is_regression)
    if ensemble.table_format.kind == "labels":
        _check_coding(content.path, ensemble, _truth(content), labels)
    return ensemble, _truth(content)


def _as_test_predictions(
    content: PredictionFile, validation: PredictionTable, labels: Path
) -> tuple[PredictionTable, Array]:
    """Return the predictions of the same members on the test set, and the true values."""
    from secateurs.outputs.table_members import TableFormat

    table_format = validation.table_format
    table: object
    if content.table.ndim == 3:
        own_format = TableFormat(content.classes, content.names)
        table, y = _as_probabilities(content, own_format, labels)
    elif table_format.kind == "probabilities":
        table = as_number_columns(content, table_format)
        texts = [str(label) for label in _truth(content).tolist()]
        y = parse_classes(texts, validation.classes, str(labels))
    else:
        is_regression = table_format.kind == "values"
        content = _decode_cells(content, table_format, labels, is_regression)
        table, y = content.table, _truth(content)
    with name_file_in_errors(content.path):
        return validation.as_test_table(table, len(y)), y


def _as_probabilities(
    content: PredictionFile, table_format: TableFormat, labels: Path
) -> tuple[PredictionTable, Array]:
    """Return probabilities in an array, and the true labels converted to their classes."""
    import numpy as np

    n_classes, classes = content.table.shape[2], content.classes
    classes = np.arange(n_classes) if classes is None else np.ravel(classes)
    n_named = len(set(classes.tolist()))
    if n_named != n_classes:
        raise Refusal(
            "classes",
            f"{content.path} names {format_count(n_named, 'class')} but has probabilities for "
            f"{n_classes}.",
        )
    texts = [str(label) for label in _truth(content).tolist()]
    content = replace(content, y=parse_classes(texts, classes, str(labels)))
    return _to_ensemble(content, table_format, False), _truth(content)


def _to_ensemble(
    content: PredictionFile, table_format: TableFormat, is_regression: bool | None
) -> PredictionTable:
    from secateurs.outputs.prediction_table import PredictionTable

    with name_file_in_errors(content.path):
        return PredictionTable(content.table, table_format, content.y, is_regression)


def _truth(content: PredictionFile) -> Array:
    assert content.y is not None
    return content.y


def _decode_cells(
    content: PredictionFile,
    table_format: TableFormat,
    labels: Path,
    is_regression: bool,
    is_numeric: bool = False,
) -> PredictionFile:
    """Return predictions and true labels as numbers, or both as text if some labels are text."""
    import pandas as pd

    from secateurs.outputs.input_checks import has_fractions

    if is_regression:
        y = parse_true_values([str(cell) for cell in _truth(content)], str(labels))
        return replace(content, table=as_number_columns(content, table_format), y=y)
    y_numbers = _labels_as_numbers(_truth(content))
    y = _labels_as_text(_truth(content)) if y_numbers is None else y_numbers
    frame = _member_frame(content, table_format)
    numbers = _labels_as_numbers(frame.to_numpy())
    # Fractions are not labels: they are probabilities of text labels, too.
    if is_numeric or (numbers is not None and has_fractions(numbers)):
        return replace(content, table=as_number_columns(content, table_format), y=y)
    if numbers is None or y_numbers is None:  # if one side is text, compare both as text
        y = _labels_as_text(_truth(content))
        frame = mask_gaps(frame, y).map(str, na_action="ignore")
        return replace(content, table=frame, y=y)
    return replace(content, table=pd.DataFrame(numbers, columns=frame.columns), y=y)


def _member_frame(content: PredictionFile, table_format: TableFormat) -> pd.DataFrame:
    """Return the columns that have predictions."""
    from secateurs.outputs.table_members import prediction_columns

    frame: pd.DataFrame = content.table  # type: ignore[assignment]
    if not all(isinstance(name, str) for name in frame.columns):
        return frame
    with name_file_in_errors(content.path):
        return frame[prediction_columns(list(frame.columns), table_format)]


def as_number_columns(content: PredictionFile, table_format: TableFormat) -> pd.DataFrame:
    """Return the columns with predictions as numbers, NaN where a prediction is missing."""
    import numpy as np
    import pandas as pd

    columns = {}
    for name, column in _member_frame(content, table_format).items():
        cells = column.map(lambda cell: np.nan if _is_gap(cell) else cell)
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float)
        is_invalid = (np.isnan(numbers) & cells.notna().to_numpy()) | np.isinf(numbers)
        where = f"{content.path}, column {name + 1 if isinstance(name, int) else name}"
        fault = "is not a finite number. Pass numeric predictions."
        reject_cells(is_invalid, column.array, where, "no_number", fault)
        columns[name] = numbers
    return pd.DataFrame(columns)


def mask_gaps(frame: pd.DataFrame, labels: Array) -> pd.DataFrame:
    """Return predicted labels with None for NaN, unless NaN is one of the true labels."""
    known = {str(label) for label in labels}
    return frame.map(lambda cell: None if _is_gap(cell) and cell not in known else cell)


def _is_gap(cell: object) -> bool:
    """Return whether a cell is empty, or NaN in any case of letters."""
    return cell is None or str(cell).strip().lower() == "nan"


def _check_coding(path: Path, ensemble: PredictionTable, y: Array, labels: Path) -> None:
    predicted, true = ensemble.classes.tolist(), sorted(set(y.tolist()))
    if not set(predicted) & set(true):
        raise Refusal(
            "coding",
            f"no prediction in {path} matches a true label in {labels}: predicted labels are "
            f"{shorten_list(predicted, 5)}, true labels are {shorten_list(true, 5)}. Use the same "
            "coding for both.",
        )


def _labels_as_numbers(values: Array) -> Array | None:
    """Return labels as a numeric array with NaN for gaps, or None if they must stay text.

    Otherwise 01 and 1, or integers that no integer type can hold, would become the same label.
    """
    import numpy as np
    import pandas as pd

    from secateurs.labels import EXACT_FLOATS

    if values.dtype.kind in "biuf":
        return values
    texts = pd.Series(values.ravel(), dtype=object).map(str, na_action="ignore")
    codes, distinct = pd.factorize(texts.mask(texts.str.lower() == "nan").to_numpy(dtype=object))
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any() or not len(numbers):
        return None
    if (numbers == np.round(numbers)).all():
        exact = [_parse_exact_number(text) for text in distinct]
        if None in exact:
            return None
        numbers = np.array(exact)
        if numbers.dtype.kind not in "iu" and max(map(abs, exact), default=0) > EXACT_FLOATS:  # type: ignore[arg-type]
            return None
    decoded: Array = numbers[codes].reshape(values.shape)
    is_gap = (codes < 0).reshape(values.shape)
    if is_gap.any():
        decoded = decoded.astype(object)
        decoded[is_gap] = None
    return decoded


def _parse_exact_number(text: str) -> int | float | None:
    """Return the number whose text in Python is exactly this text, None if there is none."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text:
            return number
    return None


def _labels_as_text(values: Array) -> Array:
    if values.dtype.kind == "O":  # from a table, where everything is text
        return values
    return values.astype(str).astype(object)
