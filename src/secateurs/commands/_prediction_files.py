"""Read the members' predictions from tables or arrays, and check them."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.commands._labelled_samples import parse_classes, reject_empty_cells
from secateurs.commands._table_files import (
    UNPACKED_HINT,
    file_format,
    format_names,
    name_file_in_errors,
    read_table,
    require_columns,
)
from secateurs.commands.command_errors import Refusal
from secateurs.exceptions import UntrustedFileError, reading_file
from secateurs.text_format import format_count

if TYPE_CHECKING:
    from secateurs.outputs.prediction_table import PredictionTable
    from secateurs.typing import Array

_EXACT_FLOATS = 2**53  # above, floats cannot represent every integer


@dataclass(frozen=True)
class LabelledPredictions:
    """Predictions of all members from a file, with the true labels or values."""

    path: Path
    table: Array  # samples × members (× classes for probabilities)
    y: Array | None = None
    classes: Array | None = None  # for probabilities
    names: list[str] | None = None  # of the members
    is_regression: bool = False

    def to_ensemble(self) -> PredictionTable:
        """Return the predictions as an `Ensemble`; errors name the file."""
        from secateurs.outputs.prediction_table import PredictionTable

        with name_file_in_errors(self.path):
            return PredictionTable(self.table, self.classes, self.names, numbers=self.is_regression)


def read_predictions(
    path: Path,
    target: str | None,
    labels: Path | None,
    ignore: tuple[str, ...],
    max_unpacked: float,
    *,
    is_regression: bool = False,
) -> LabelledPredictions:
    """Return predictions with their true labels or values, which may be in another file."""
    is_array_file = file_format(path) in ("npy", "zip")
    if is_array_file:
        predictions = _predictions_from_arrays(path, max_unpacked)
    else:
        predictions = _predictions_from_table(path, target, labels, ignore, max_unpacked)
    if labels is not None:
        predictions = replace(predictions, y=_read_true_labels(labels, target, max_unpacked))
    if predictions.y is None:
        hint = "Add an array y" if is_array_file else "Name their column with --target"
        raise Refusal("no_labels", f"{path} has no true labels. {hint}, or pass --labels.")
    _check_shape(predictions, len(predictions.y), labels or path)
    if predictions.table.ndim == 3:
        return _match_true_labels(predictions, labels or path)
    if is_regression or predictions.is_regression or _is_probably_regression(predictions):
        return _with_finite_values(predictions, labels or path)
    return _unify_label_coding(predictions, labels or path)


def check_same_members(validation: LabelledPredictions, test: LabelledPredictions) -> None:
    """Raise if the test set has predictions of other members, or of another kind."""
    n_members, n_test_members = validation.table.shape[1], test.table.shape[1]
    kind, test_kind = _prediction_kind(validation), _prediction_kind(test)
    if kind != test_kind:
        difference = f"has {test_kind}, but {validation.path} has {kind}"
    elif n_members != n_test_members:
        count = format_count(n_test_members, "member")
        difference = f"has {count}, but {validation.path} has {n_members}"
    elif validation.names != test.names:
        difference = f"has other member names than {validation.path}, or another order"
    else:
        return
    hint = "Pass the same kind of predictions, of the same members, in both files."
    raise Refusal("other_members", f"{test.path} {difference}. {hint}")


def _prediction_kind(predictions: LabelledPredictions) -> str:
    if predictions.is_regression:
        return "values of regressors"
    if predictions.classes is None:
        return "labels"
    return f"probabilities of {format_names(sorted(predictions.classes.tolist()), 5)}"


def _predictions_from_arrays(path: Path, max_unpacked: float) -> LabelledPredictions:
    import numpy as np

    arrays = read_arrays(path, max_unpacked)
    kinds = [name for name in ("votes", "numbers", "probabilities") if name in arrays]
    if len(kinds) != 1:
        raise Refusal(
            "arrays",
            f"{path} has the arrays {format_names(sorted(arrays)) or 'none'}. Pass either votes or "
            "numbers (samples × members), or probabilities (samples × members × classes).",
        )
    (kind,) = kinds
    table = arrays[kind]
    n_axes = 3 if kind == "probabilities" else 2
    if table.ndim != n_axes and not (path.suffix.lower() == ".npy" and table.ndim == 3):
        raise Refusal(
            "shape",
            f"{path} has {kind} of shape {table.shape}. Pass an array with {n_axes} dimensions.",
        )
    if 0 in table.shape:
        raise Refusal("empty", f"{path} has {kind} of shape {table.shape}, which is empty.")
    names = [str(name) for name in np.ravel(arrays["names"])] if "names" in arrays else None
    y = arrays.get("y")
    if y is not None and y.ndim != 1:
        raise Refusal("shape", f"{path} has y of shape {y.shape}. Pass one label per sample.")
    return LabelledPredictions(path, table, y, arrays.get("classes"), names, kind == "numbers")


def read_arrays(path: Path, max_unpacked: float) -> dict[str, Array]:
    """Return the arrays of an .npz file, or the votes of an .npy file, numeric or text."""
    import numpy as np

    with reading_file(path):
        _check_array_sizes(path, max_unpacked)
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays = {"votes": loaded}
        else:
            with loaded:
                arrays = dict(loaded)
    for name, array in arrays.items():
        if array.dtype.kind == "S":
            with reading_file(path):
                arrays[name] = np.char.decode(array, "utf-8")
        elif array.dtype.kind not in "biufU":
            raise Refusal(
                "type",
                f"{path} has values of type {array.dtype} in {name}. Pass labels or numbers.",
            )
    return arrays


def _check_array_sizes(path: Path, max_unpacked: float) -> None:
    """Raise if arrays would need more memory than allowed, or than their values justify."""
    from secateurs.persistence.atomic_files import check_array_header
    from secateurs.persistence.table_limits import check_row_count

    with path.open("rb") as handle:
        if not zipfile.is_zipfile(handle):
            handle.seek(0)
            shape = check_array_header(handle, path.stat().st_size)
            check_row_count(max(shape, default=0), 0, max_unpacked, UNPACKED_HINT)
            return
        with zipfile.ZipFile(handle) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > max_unpacked:
                raise UntrustedFileError(
                    f"unpacks to {unpacked} bytes, more than {{max_unpacked}}. Pass a larger limit "
                    "if you expect this size.",
                    max_unpacked=max_unpacked,
                )
            for entry in archive.infolist():
                with archive.open(entry) as array:
                    shape = check_array_header(array, entry.file_size)
                check_row_count(max(shape, default=0), unpacked, max_unpacked, UNPACKED_HINT)


def _predictions_from_table(
    path: Path,
    target: str | None,
    labels: Path | None,
    ignore: tuple[str, ...],
    max_unpacked: float,
) -> LabelledPredictions:
    frame = read_table(path, as_text=None, max_unpacked=max_unpacked)
    # With --labels, --target may name a column of that file only.
    is_elsewhere = labels is not None and target not in frame.columns
    targets = [] if target is None or is_elsewhere else [target]
    require_columns(path, frame, [*targets, *ignore])
    members = frame.drop(columns=[*targets, *ignore])
    if members.shape[1] == 0:
        raise Refusal("no_members", f"{path} has no column except the target. Add the members.")
    for name in (*members.columns, *targets):
        reject_empty_cells(f"{path}, column {name!r}", frame[name].tolist())
    y = frame[targets[0]].to_numpy() if targets else None
    return LabelledPredictions(
        path, members.to_numpy(), y, None, [str(name) for name in members.columns]
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
                f"{format_names(list(frame.columns))}. Name the column with the labels: "
                "--target COL",
            )
        require_columns(path, frame, [target])
        column = target
    reject_empty_cells(f"{path}, column {column!r}", frame[column].tolist())
    return frame[column].to_numpy()


def _check_shape(predictions: LabelledPredictions, n_labels: int, labels: Path) -> None:
    path, shape, names = predictions.path, predictions.table.shape, predictions.names
    if shape[0] == n_labels:
        if names is not None and not len(set(names)) == len(names) == shape[1]:
            raise Refusal(
                "names",
                f"{path} has {format_count(len(set(names)), 'name')} for "
                f"{format_count(shape[1], 'member')}. Pass one name per member.",
            )
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


def _unify_label_coding(predictions: LabelledPredictions, labels: Path) -> LabelledPredictions:
    """Return predictions whose votes and true labels are both numbers or both text."""
    import numpy as np
    import pandas as pd

    values, true_labels = predictions.table, np.asarray(predictions.y)
    votes, y = _labels_as_numbers(values), _labels_as_numbers(true_labels)
    if votes is None or y is None:  # if one side is text, compare both as text
        votes, y = _labels_as_text(values), _labels_as_text(true_labels)
    else:
        _check_integer_labels(predictions, votes, y, labels)
    predicted, true = (sorted(pd.unique(values.ravel()).tolist()) for values in (votes, y))
    if not set(predicted) & set(true):
        raise Refusal(
            "coding",
            f"no prediction in {predictions.path} matches a true label in {labels}: predicted "
            f"labels are {format_names(predicted, 5)}, true labels are {format_names(true, 5)}. "
            "Use the same coding for both.",
        )
    return replace(predictions, table=votes, y=y)


def _is_probably_regression(predictions: LabelledPredictions) -> bool:
    """Return whether predictions are values of regressors, by the true values or by fractions."""
    import numpy as np

    from secateurs.measures.scoring import is_regression_task
    from secateurs.outputs.input_checks import has_fractions

    values, y = map(_labels_as_numbers, (predictions.table, np.asarray(predictions.y)))
    if values is None or y is None:
        return False
    is_regression = is_regression_task(y, None)
    return has_fractions(values) if is_regression is None else is_regression


def _with_finite_values(predictions: LabelledPredictions, labels: Path) -> LabelledPredictions:
    """Return predictions and true values converted to finite numbers."""
    import numpy as np
    import pandas as pd

    arrays = []
    true_values = np.asarray(predictions.y)
    for values, path in ((predictions.table, predictions.path), (true_values, labels)):
        flat = pd.to_numeric(pd.Series(values.ravel()), errors="coerce").to_numpy(dtype=float)
        bad = ~np.isfinite(flat)
        if bad.any():
            row, column = divmod(int(bad.argmax()), values.size // len(values))
            cell = values.reshape(len(values), -1)[row, column]
            where = f", column {_column_name(predictions, column)}" if values.ndim == 2 else ""
            raise Refusal(
                "no_number",
                f"{path}{where}, row {row + 1}: {str(cell)[:40]!r} is not a finite number. Pass "
                "numeric predictions and true values.",
            )
        arrays.append(flat.reshape(values.shape))
    return replace(predictions, table=arrays[0], y=arrays[1], is_regression=True)


def _column_name(predictions: LabelledPredictions, column: int) -> str | int:
    return predictions.names[column] if predictions.names else column + 1


def _match_true_labels(predictions: LabelledPredictions, labels: Path) -> LabelledPredictions:
    """Return probabilities whose true labels are converted to their classes."""
    import numpy as np

    n_classes, classes = predictions.table.shape[2], predictions.classes
    classes = np.arange(n_classes) if classes is None else np.ravel(classes)
    n_named = len(set(classes.tolist()))
    if n_named != n_classes:
        raise Refusal(
            "classes",
            f"{predictions.path} names {format_count(n_named, 'class')} but has probabilities for "
            f"{n_classes}.",
        )
    texts = [str(label) for label in np.asarray(predictions.y).tolist()]
    return replace(predictions, y=parse_classes(texts, classes, str(labels)), classes=classes)


def _labels_as_numbers(values: Array) -> Array | None:
    """Return labels as a numeric array, or None if they must stay text.

    Otherwise 01 and 1, or integers that no integer type can hold, would become the same label.
    """
    import numpy as np
    import pandas as pd

    if values.dtype.kind in "biuf":
        return values
    codes, distinct = pd.factorize(_labels_as_text(values).ravel())
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any():
        return None
    if (numbers == np.round(numbers)).all():  # fractions are rejected later as labels
        exact = [_parse_exact_number(text) for text in distinct]
        if None in exact:
            return None
        numbers = np.array(exact)
        if numbers.dtype.kind not in "iu" and max(map(abs, exact)) > _EXACT_FLOATS:  # type: ignore[arg-type]
            return None
    return numbers[codes].reshape(values.shape)


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


def _check_integer_labels(
    predictions: LabelledPredictions, votes: Array, y: Array, labels: Path
) -> None:
    import numpy as np

    for values, path in ((votes, predictions.path), (y[:, None], labels)):
        if values.dtype.kind != "f":
            continue
        bad = ~np.isfinite(values) | (values != np.round(values))
        if bad.any():
            row, column = (int(index) for index in np.argwhere(bad)[0])
            where = f", column {_column_name(predictions, column)}" if values is votes else ""
            raise Refusal(
                "no_label",
                f"{path}{where}, row {row + 1}: {values[row, column]:g} is not a label. "
                "Pass labels, or probabilities (samples × members × classes) in an .npz file. "
                "For predictions of regressors, pass --scoring r2.",
            )
