"""Predictions instead of a model: tables or arrays of labels, numbers or probabilities."""

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from secateurs.commands._labelled_samples import parse_classes, reject_empty_cells
from secateurs.commands._table_files import (
    file_format,
    format_names,
    name_file_in_errors,
    read_table,
    require_columns,
)
from secateurs.commands.command_errors import Refusal
from secateurs.exceptions import UntrustedFileError, reading_file
from secateurs.text_format import format_count

_EXACT_FLOATS = 2**53  # beyond, neighbouring integers share a float


@dataclass(frozen=True)
class LabelledPredictions:
    """Predictions of all members on some rows, and the true labels, or numbers of regressors."""

    path: Path
    table: Any
    y: Any = None
    classes: Any = None
    names: list[str] | None = None
    is_regression: bool = False

    def to_ensemble(self) -> Any:
        """Return them as an `Ensemble`, naming the file in any refusal."""
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
    numbers: bool = False,
) -> LabelledPredictions:
    """Read predictions with their true labels, from the same file or another.

    They are numbers if that is said, and if some are not whole.
    """
    arrays = file_format(path) in ("npy", "zip")
    if arrays:
        found = _predictions_from_arrays(path, max_unpacked)
    else:
        found = _predictions_from_table(path, target, labels, ignore)
    if labels is not None:
        found = replace(found, y=_read_true_labels(labels, target, max_unpacked))
    if found.y is None:
        hint = "Add an array y" if arrays else "Name their column with --target"
        raise Refusal("no_labels", f"{path} has no true labels. {hint}, or give --labels.")
    _check_shape(found, labels or path)
    if found.table.ndim == 3:
        return _match_true_labels(found, labels or path)
    if numbers or found.is_regression or _is_probably_regression(found):
        return _with_finite_values(found, labels or path)
    return _unify_label_coding(found, labels or path)


def check_same_members(first: LabelledPredictions, test: LabelledPredictions) -> None:
    """Refuse predictions to test on that come from other members."""
    widths = first.table.shape[1], test.table.shape[1]
    kinds = [_prediction_kind(found) for found in (first, test)]
    if kinds[0] != kinds[1]:
        raise Refusal(
            "other_members",
            f"{test.path} has {kinds[1]}, but {first.path} has {kinds[0]}. Give the same of both.",
        )
    if widths[0] != widths[1] or first.names != test.names:
        how = f"has {format_count(widths[1], 'member')}, but {first.path} has {widths[0]}"
        if widths[0] == widths[1]:
            how = f"has other member names than {first.path}, or another order"
        raise Refusal("other_members", f"{test.path} {how}. Give predictions of the same members.")


def _prediction_kind(found: LabelledPredictions) -> str:
    if found.is_regression:
        return "numbers"
    if found.classes is None:
        return "labels"
    return f"probabilities of {format_names(sorted(found.classes.tolist()), 5)}"


def _predictions_from_arrays(path: Path, max_unpacked: float) -> LabelledPredictions:
    import numpy as np

    arrays = read_arrays(path, max_unpacked)
    given = [name for name in ("votes", "numbers", "probabilities") if name in arrays]
    if len(given) != 1:
        raise Refusal(
            "arrays",
            f"{path} has the arrays {format_names(sorted(arrays)) or 'none'}. Give either votes or "
            "numbers (rows × members), or probabilities (rows × members × classes).",
        )
    table = arrays[given[0]]
    n_axes = 3 if given == ["probabilities"] else 2
    if table.ndim != n_axes and not (path.suffix.lower() == ".npy" and table.ndim == 3):
        raise Refusal(
            "shape", f"{path} has {given[0]} of shape {table.shape}. Give {n_axes} dimensions."
        )
    if 0 in table.shape:
        raise Refusal("empty", f"{path} has {given[0]} of shape {table.shape}, which is empty.")
    names = [str(name) for name in np.ravel(arrays["names"])] if "names" in arrays else None
    y = arrays.get("y")
    if y is not None and y.ndim != 1:
        raise Refusal("shape", f"{path} has y of shape {y.shape}. Give one label per row.")
    return LabelledPredictions(path, table, y, arrays.get("classes"), names, given == ["numbers"])


def read_arrays(path: Path, max_unpacked: float) -> dict[str, Any]:
    """Read the arrays of an .npz file, or the votes of an .npy file; all hold numbers or text."""
    import numpy as np

    with reading_file(path):
        _check_array_sizes(path, max_unpacked)
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            arrays = {"votes": found}
        else:
            with found:
                arrays = dict(found)
    for name, array in arrays.items():
        if array.dtype.kind == "S":
            with reading_file(path):
                arrays[name] = np.char.decode(array, "utf-8")
        elif array.dtype.kind not in "biufU":
            raise Refusal(
                "type",
                f"{path} has values of type {array.dtype} in {name}. Give labels or numbers.",
            )
    return arrays


def _check_array_sizes(path: Path, max_unpacked: float) -> None:
    """Refuse arrays that take more memory than allowed or than they have values for."""
    from secateurs.persistence.atomic_files import check_array_header

    with path.open("rb") as handle:
        if not zipfile.is_zipfile(handle):
            handle.seek(0)
            check_array_header(handle, path.stat().st_size)
            return
        with zipfile.ZipFile(handle) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > max_unpacked:
                raise UntrustedFileError(
                    f"unpacks to {unpacked} bytes, more than {{max_unpacked}}. Give a larger limit "
                    "if you expect that.",
                    max_unpacked=max_unpacked,
                )
            for entry in archive.infolist():
                with archive.open(entry) as array:
                    check_array_header(array, entry.file_size)


def _predictions_from_table(
    path: Path, target: str | None, labels: Path | None, ignore: tuple[str, ...]
) -> LabelledPredictions:
    frame = read_table(path, as_text=None)
    apart = labels is not None
    wanted = [] if target is None or (apart and target not in frame.columns) else [target]
    require_columns(path, frame, [*wanted, *ignore])
    members = frame.drop(columns=[*wanted, *ignore])
    if members.shape[1] == 0:
        raise Refusal("no_members", f"{path} has no column except the target. Give one per member.")
    for name in (*members.columns, *wanted):
        reject_empty_cells(f"{path}, column {name!r}", frame[name].tolist())
    y = frame[wanted[0]].to_numpy() if wanted else None
    return LabelledPredictions(
        path, members.to_numpy(), y, None, [str(name) for name in members.columns]
    )


def _read_true_labels(path: Path, target: str | None, max_unpacked: float) -> Any:
    if file_format(path) in ("npy", "zip"):
        arrays = read_arrays(path, max_unpacked)
        y = arrays.get("y", arrays.get("votes"))
        if y is None or y.ndim != 1:
            raise Refusal("labels", f"{path} has no array y with one label per row. Give one.")
        return y
    frame = read_table(path, as_text=None)
    column = str(frame.columns[0])
    if frame.shape[1] > 1:
        if target is None:
            raise Refusal(
                "labels",
                f"{path} has {format_count(frame.shape[1], 'column')}: {format_names(list(frame.columns))}. "
                "Name the one "
                "with the labels: --target COL",
            )
        require_columns(path, frame, [target])
        column = target
    reject_empty_cells(f"{path}, column {column!r}", frame[column].tolist())
    return frame[column].to_numpy()


def _check_shape(found: LabelledPredictions, labels: Path) -> None:
    shape, n_labels, names = found.table.shape, len(found.y), found.names
    if shape[0] == n_labels:
        if names is not None and not len(set(names)) == len(names) == shape[1]:
            raise Refusal(
                "names",
                f"{found.path} has {format_count(len(set(names)), 'name')} for "
                f"{format_count(shape[1], 'member')}. Give one each.",
            )
        return
    if shape[1] == n_labels:
        turned = "votes.T" if len(shape) == 2 else "probabilities.swapaxes(0, 1)"
        raise Refusal(
            "transposed",
            f"{found.path} has shape {shape} and there are {format_count(n_labels, 'label')}: it looks "
            f"transposed. Give one row per sample and one column per member: {turned}.",
        )
    raise Refusal(
        "row_count",
        f"{found.path} has {format_count(shape[0], 'row')}, {labels} has {format_count(n_labels, 'label')}. "
        "Give one per row.",
    )


def _unify_label_coding(found: LabelledPredictions, labels: Path) -> LabelledPredictions:
    """Return votes and true labels in one coding."""
    import numpy as np
    import pandas as pd

    values = found.table
    votes, y = _labels_as_numbers(values), _labels_as_numbers(np.asarray(found.y))
    if votes is None or y is None:  # text on one side is text on both
        votes, y = _labels_as_text(values), _labels_as_text(np.asarray(found.y))
    else:
        _check_integer_labels(found, votes, y, labels)
    predicted, true = (sorted(pd.unique(values.ravel()).tolist()) for values in (votes, y))
    if not set(predicted) & set(true):
        raise Refusal(
            "coding",
            f"no prediction in {found.path} matches a true label in {labels}: predicted are "
            f"{format_names(predicted, 5)}, true are {format_names(true, 5)}. Give both in the same coding.",
        )
    return replace(found, table=votes, y=y)


def _is_probably_regression(found: LabelledPredictions) -> bool:
    """Tell whether predictions are of regressors: some are not whole, and no labels explain it."""
    import numpy as np

    from secateurs.measures.scoring import is_regression_task
    from secateurs.outputs.input_checks import has_fractions

    votes, y = _labels_as_numbers(found.table), _labels_as_numbers(np.asarray(found.y))
    if votes is None or y is None:
        return False
    told = is_regression_task(y, None)
    return has_fractions(votes) if told is None else told


def _with_finite_values(found: LabelledPredictions, labels: Path) -> LabelledPredictions:
    """Return predictions and true values as finite numbers."""
    import numpy as np
    import pandas as pd

    both = []
    for values, path in ((found.table, found.path), (np.asarray(found.y), labels)):
        flat = pd.to_numeric(pd.Series(values.ravel()), errors="coerce").to_numpy(dtype=float)
        bad = ~np.isfinite(flat)
        if bad.any():
            row, place = divmod(int(bad.argmax()), values.size // len(values))
            told = values.reshape(len(values), -1)[row, place]
            column = f", column {_column_name(found, place)}" if values.ndim == 2 else ""
            raise Refusal(
                "no_number",
                f"{path}{column}, row {row + 1}: {str(told)[:40]!r} is not a finite number. Give "
                "numbers, predicted and true.",
            )
        both.append(flat.reshape(values.shape))
    return replace(found, table=both[0], y=both[1], is_regression=True)


def _column_name(found: LabelledPredictions, place: int) -> Any:
    return found.names[place] if found.names else place + 1


def _match_true_labels(found: LabelledPredictions, labels: Path) -> LabelledPredictions:
    """Return true labels as classes that have probabilities."""
    import numpy as np

    n_classes = found.table.shape[2]
    classes = np.arange(n_classes) if found.classes is None else np.ravel(found.classes)
    if len(set(classes.tolist())) != n_classes:
        raise Refusal(
            "classes",
            f"{found.path} names {format_count(len(set(classes.tolist())), 'class')} but has "
            "probabilities for "
            f"{n_classes}.",
        )
    y = parse_classes([str(label) for label in np.asarray(found.y).tolist()], classes, str(labels))
    return replace(found, y=y, classes=classes)


def _labels_as_numbers(values: Any) -> Any:
    """Return labels as numbers; None if some are not numbers, or are written like no number.

    01 and 1 are two labels, and so are integers beyond 2**53: as floats they would be one.
    """
    import numpy as np
    import pandas as pd

    if values.dtype.kind in "biuf":
        return values
    codes, distinct = pd.factorize(_labels_as_text(values).ravel())
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any():
        return None
    if (numbers == np.round(numbers)).all():  # others are refused, however they are written
        exact = [_parse_exact_number(text) for text in distinct]
        if None in exact:
            return None
        numbers = np.array(exact)
        if numbers.dtype.kind not in "iu" and max(map(abs, exact)) > _EXACT_FLOATS:  # type: ignore[arg-type]
            return None
    return numbers[codes].reshape(values.shape)


def _parse_exact_number(text: str) -> int | float | None:
    """Return the number that Python writes as this text."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text:
            return number
    return None


def _labels_as_text(values: Any) -> Any:
    if values.dtype.kind == "O":  # from a table, where everything is text
        return values
    return values.astype(str).astype(object)


def _check_integer_labels(found: LabelledPredictions, votes: Any, y: Any, labels: Path) -> None:
    import numpy as np

    for values, path in ((votes, found.path), (y[:, None], labels)):
        if values.dtype.kind != "f":
            continue
        bad = ~np.isfinite(values) | (values != np.round(values))
        if bad.any():
            row, place = (int(index) for index in np.argwhere(bad)[0])
            column = f", column {_column_name(found, place)}" if values is votes else ""
            raise Refusal(
                "no_label",
                f"{path}{column}, row {row + 1}: {values[row, place]:g} is not a label. "
                "Give classes; put probabilities (rows × members × classes) into an .npz file. "
                "For numbers of regressors, give --scoring r2.",
            )
