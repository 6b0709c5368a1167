"""Predictions instead of a model: tables or arrays of labels, numbers or probabilities."""

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from secateurs._text import counted
from secateurs.commands._errors import Refusal
from secateurs.commands._rows import as_classes, refuse_gaps
from secateurs.commands._tables import about, kind_of, read_table, require_columns, shown
from secateurs.exceptions import UntrustedFileError, reading

_EXACT_FLOATS = 2**53  # beyond, neighbouring integers share a float


@dataclass(frozen=True)
class Predicted:
    """Predictions of all members on some rows, and the true labels, or numbers of regressors."""

    path: Path
    table: Any
    y: Any = None
    classes: Any = None
    names: list[str] | None = None
    numbers: bool = False

    def ensemble(self) -> Any:
        """Return them as an `Ensemble`, naming the file in any refusal."""
        from secateurs.outputs._predictions import Predictions

        with about(self.path):
            return Predictions(self.table, self.classes, self.names, numbers=self.numbers)


def read_predictions(
    path: Path,
    target: str | None,
    labels: Path | None,
    ignore: tuple[str, ...],
    max_unpacked: float,
    *,
    numbers: bool = False,
) -> Predicted:
    """Read predictions with their true labels, from the same file or another.

    They are numbers if that is said, and if some are not whole.
    """
    arrays = kind_of(path) in ("npy", "zip")
    if arrays:
        found = _from_arrays(path, max_unpacked)
    else:
        found = _from_table(path, target, labels, ignore)
    if labels is not None:
        found = replace(found, y=_read_labels(labels, target, max_unpacked))
    if found.y is None:
        hint = "Add an array y" if arrays else "Name their column with --target"
        raise Refusal("no_labels", f"{path} has no true labels. {hint}, or give --labels.")
    _check_shape(found, labels or path)
    if found.table.ndim == 3:
        return _among_classes(found, labels or path)
    if numbers or found.numbers or _look_like_numbers(found):
        return _all_numbers(found, labels or path)
    return _same_coding(found, labels or path)


def check_same_members(first: Predicted, test: Predicted) -> None:
    """Refuse predictions to test on that come from other members."""
    widths = first.table.shape[1], test.table.shape[1]
    kinds = [_kind(found) for found in (first, test)]
    if kinds[0] != kinds[1]:
        raise Refusal(
            "other_members",
            f"{test.path} has {kinds[1]}, but {first.path} has {kinds[0]}. Give the same of both.",
        )
    if widths[0] != widths[1] or first.names != test.names:
        how = f"has {counted(widths[1], 'member')}, but {first.path} has {widths[0]}"
        if widths[0] == widths[1]:
            how = f"has other member names than {first.path}, or another order"
        raise Refusal("other_members", f"{test.path} {how}. Give predictions of the same members.")


def _kind(found: Predicted) -> str:
    if found.numbers:
        return "numbers"
    if found.classes is None:
        return "labels"
    return f"probabilities of {shown(sorted(found.classes.tolist()), 5)}"


def _from_arrays(path: Path, max_unpacked: float) -> Predicted:
    import numpy as np

    arrays = label_arrays(path, max_unpacked)
    given = [name for name in ("votes", "numbers", "probabilities") if name in arrays]
    if len(given) != 1:
        raise Refusal(
            "arrays",
            f"{path} has the arrays {shown(sorted(arrays)) or 'none'}. Give either votes or "
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
    return Predicted(path, table, y, arrays.get("classes"), names, given == ["numbers"])


def label_arrays(path: Path, max_unpacked: float) -> dict[str, Any]:
    """Read the arrays of an .npz file, or the votes of an .npy file; all hold numbers or text."""
    import numpy as np

    with reading(path):
        _check_sizes(path, max_unpacked)
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            arrays = {"votes": found}
        else:
            with found:
                arrays = dict(found)
    for name, array in arrays.items():
        if array.dtype.kind == "S":
            with reading(path):
                arrays[name] = np.char.decode(array, "utf-8")
        elif array.dtype.kind not in "biufU":
            raise Refusal(
                "type",
                f"{path} has values of type {array.dtype} in {name}. Give labels or numbers.",
            )
    return arrays


def _check_sizes(path: Path, max_unpacked: float) -> None:
    """Refuse arrays that take more memory than allowed or than they have values for."""
    from secateurs.persistence._files import check_array

    with path.open("rb") as handle:
        if not zipfile.is_zipfile(handle):
            handle.seek(0)
            check_array(handle, path.stat().st_size)
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
                    check_array(array, entry.file_size)


def _from_table(
    path: Path, target: str | None, labels: Path | None, ignore: tuple[str, ...]
) -> Predicted:
    frame = read_table(path, as_text=None)
    apart = labels is not None
    wanted = [] if target is None or (apart and target not in frame.columns) else [target]
    require_columns(path, frame, [*wanted, *ignore])
    members = frame.drop(columns=[*wanted, *ignore])
    if members.shape[1] == 0:
        raise Refusal("no_members", f"{path} has no column except the target. Give one per member.")
    for name in (*members.columns, *wanted):
        refuse_gaps(f"{path}, column {name!r}", frame[name].tolist())
    y = frame[wanted[0]].to_numpy() if wanted else None
    return Predicted(path, members.to_numpy(), y, None, [str(name) for name in members.columns])


def _read_labels(path: Path, target: str | None, max_unpacked: float) -> Any:
    if kind_of(path) in ("npy", "zip"):
        arrays = label_arrays(path, max_unpacked)
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
                f"{path} has {counted(frame.shape[1], 'column')}: {shown(list(frame.columns))}. "
                "Name the one "
                "with the labels: --target COL",
            )
        require_columns(path, frame, [target])
        column = target
    refuse_gaps(f"{path}, column {column!r}", frame[column].tolist())
    return frame[column].to_numpy()


def _check_shape(found: Predicted, labels: Path) -> None:
    shape, n_labels, names = found.table.shape, len(found.y), found.names
    if shape[0] == n_labels:
        if names is not None and not len(set(names)) == len(names) == shape[1]:
            raise Refusal(
                "names",
                f"{found.path} has {counted(len(set(names)), 'name')} for "
                f"{counted(shape[1], 'member')}. Give one each.",
            )
        return
    if shape[1] == n_labels:
        turned = "votes.T" if len(shape) == 2 else "probabilities.swapaxes(0, 1)"
        raise Refusal(
            "transposed",
            f"{found.path} has shape {shape} and there are {counted(n_labels, 'label')}: it looks "
            f"transposed. Give one row per sample and one column per member: {turned}.",
        )
    raise Refusal(
        "row_count",
        f"{found.path} has {counted(shape[0], 'row')}, {labels} has {counted(n_labels, 'label')}. "
        "Give one per row.",
    )


def _same_coding(found: Predicted, labels: Path) -> Predicted:
    """Return votes and true labels in one coding."""
    import numpy as np
    import pandas as pd

    values = found.table
    votes, y = _as_numbers(values), _as_numbers(np.asarray(found.y))
    if votes is None or y is None:  # text on one side is text on both
        votes, y = _as_text(values), _as_text(np.asarray(found.y))
    else:
        _check_whole(found, votes, y, labels)
    predicted, true = (sorted(pd.unique(values.ravel()).tolist()) for values in (votes, y))
    if not set(predicted) & set(true):
        raise Refusal(
            "coding",
            f"no prediction in {found.path} matches a true label in {labels}: predicted are "
            f"{shown(predicted, 5)}, true are {shown(true, 5)}. Give both in the same coding.",
        )
    return replace(found, table=votes, y=y)


def _look_like_numbers(found: Predicted) -> bool:
    """Tell whether predictions are of regressors: some are not whole, and no labels explain it."""
    import numpy as np

    from secateurs.measures._scoring import are_numbers
    from secateurs.outputs._checks import has_fractions

    votes, y = _as_numbers(found.table), _as_numbers(np.asarray(found.y))
    if votes is None or y is None:
        return False
    told = are_numbers(y, None)
    return has_fractions(votes) if told is None else told


def _all_numbers(found: Predicted, labels: Path) -> Predicted:
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
            column = f", column {_column(found, place)}" if values.ndim == 2 else ""
            raise Refusal(
                "no_number",
                f"{path}{column}, row {row + 1}: {str(told)[:40]!r} is not a finite number. Give "
                "numbers, predicted and true.",
            )
        both.append(flat.reshape(values.shape))
    return replace(found, table=both[0], y=both[1], numbers=True)


def _column(found: Predicted, place: int) -> Any:
    return found.names[place] if found.names else place + 1


def _among_classes(found: Predicted, labels: Path) -> Predicted:
    """Return true labels as classes that have probabilities."""
    import numpy as np

    n_classes = found.table.shape[2]
    classes = np.arange(n_classes) if found.classes is None else np.ravel(found.classes)
    if len(set(classes.tolist())) != n_classes:
        raise Refusal(
            "classes",
            f"{found.path} names {counted(len(set(classes.tolist())), 'class')} but has "
            "probabilities for "
            f"{n_classes}.",
        )
    y = as_classes([str(label) for label in np.asarray(found.y).tolist()], classes, str(labels))
    return replace(found, y=y, classes=classes)


def _as_numbers(values: Any) -> Any:
    """Return labels as numbers; None if some are not numbers, or are written like no number.

    01 and 1 are two labels, and so are integers beyond 2**53: as floats they would be one.
    """
    import numpy as np
    import pandas as pd

    if values.dtype.kind in "biuf":
        return values
    codes, distinct = pd.factorize(_as_text(values).ravel())
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any():
        return None
    if (numbers == np.round(numbers)).all():  # others are refused, however they are written
        exact = [_exact_number(text) for text in distinct]
        if None in exact:
            return None
        numbers = np.array(exact)
        if numbers.dtype.kind not in "iu" and max(map(abs, exact)) > _EXACT_FLOATS:  # type: ignore[arg-type]
            return None
    return numbers[codes].reshape(values.shape)


def _exact_number(text: str) -> int | float | None:
    """Return the number that Python writes as this text."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text:
            return number
    return None


def _as_text(values: Any) -> Any:
    if values.dtype.kind == "O":  # from a table, where everything is text
        return values
    return values.astype(str).astype(object)


def _check_whole(found: Predicted, votes: Any, y: Any, labels: Path) -> None:
    import numpy as np

    for values, path in ((votes, found.path), (y[:, None], labels)):
        if values.dtype.kind != "f":
            continue
        bad = ~np.isfinite(values) | (values != np.round(values))
        if bad.any():
            row, place = (int(index) for index in np.argwhere(bad)[0])
            column = f", column {_column(found, place)}" if values is votes else ""
            raise Refusal(
                "no_label",
                f"{path}{column}, row {row + 1}: {values[row, place]:g} is not a label. "
                "Give classes; put probabilities (rows × members × classes) into an .npz file. "
                "For numbers of regressors, give --scoring r2.",
            )
