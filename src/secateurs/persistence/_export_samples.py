"""Rows that an exported model is compared on: one table of numbers, or typed columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from secateurs.exceptions import InputError, describe_error
from secateurs.persistence._model_faults import reachable_objects

LEAST_ROWS = 100


@dataclass(frozen=True)
class CheckSamples:
    """Rows as both the model and the runtime take them: numbers as float32, and text.

    Attributes
    ----------
    frame : DataFrame
        The rows; numbers are rounded to float32.
    text_columns : frozenset of str
        Columns of text. With any, the runtime takes one input for each column, otherwise one table.
    is_frame_input : bool
        Whether the model takes a data frame.
    """

    frame: pd.DataFrame
    text_columns: frozenset[str] = frozenset()
    is_frame_input: bool = True

    @property
    def model_input(self) -> Any:
        """The rows as the model takes them."""
        return self.frame if self.is_frame_input else self.frame.to_numpy()

    @property
    def as_float32(self) -> NDArray[np.float32]:
        """The rows as one table of numbers."""
        return self.frame.to_numpy(dtype=np.float32)

    def runtime_inputs(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return the inputs under these names, one for each column; or all in one."""
        if not self.text_columns:
            return dict.fromkeys(names, self.as_float32)
        return {
            name: self.frame[[column]].to_numpy(dtype=self._column_dtype(column))
            for name, column in zip(names, self.frame.columns, strict=True)
        }

    def _column_dtype(self, name: str) -> Any:
        return object if name in self.text_columns else np.float32

    @property
    def input_description(self) -> dict[str, Any]:
        """What the inputs are, for the side-car."""
        if not self.text_columns:
            return {"dtype": "float32", "features": self.frame.shape[1]}
        dtypes = {name: "string" if name in self.text_columns else "float32" for name in self.frame}
        return {"columns": dtypes}


def as_check_samples(model: Any, X_check: Any) -> CheckSamples:
    """Return the rows that both the model and the runtime predict, checked."""
    n_features = model.n_features_in_
    named = hasattr(model, "feature_names_in_")
    try:
        shape = np.shape(X_check)
    except ValueError:
        shape = (len(X_check),)  # rows of different lengths
    if len(shape) != 2 or shape[0] < LEAST_ROWS or shape[1] != n_features:
        raise InputError(
            f"{{X_check}} has shape {shape}; it must have at least {LEAST_ROWS} rows, and the "
            f"{n_features} features of the model. Give rows of the kind it will predict.",
            X_check=...,
        )
    names = getattr(X_check, "columns", getattr(model, "feature_names_in_", None))
    names = [f"x{place}" for place in range(n_features)] if names is None else names
    frame = pd.DataFrame(
        X_check if hasattr(X_check, "columns") else np.asarray(X_check), columns=names
    )
    text = _text_columns(frame) if _takes_text(model) else frozenset()
    columns = {}
    for name in frame.columns:
        try:
            columns[name] = frame[name] if name in text else frame[name].astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{{X_check}} is not a table of numbers: column {name!r}: {describe_error(error)}.",
                X_check=...,
            ) from error
    return CheckSamples(pd.DataFrame(columns), text, named)


def _takes_text(model: Any) -> bool:
    """Whether a pipeline in or around the model may turn text into numbers."""
    return any(isinstance(thing, Pipeline) for thing in reachable_objects(model))


def _text_columns(frame: pd.DataFrame) -> frozenset[str]:
    """Return the columns of text; refuse missing text, which ONNX does not have."""
    others = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    found = set()
    for name in others:
        is_text = frame[name].map(lambda value: isinstance(value, str)).astype(bool)
        if not is_text.any():
            continue
        if not is_text.all():
            row = int((~is_text).to_numpy().argmax())
            raise InputError(
                f"{{X_check}} has {frame[name].iloc[row]!r} among the text of column {name!r}, row "
                f"{row + 1}; ONNX has text without gaps only. Leave such rows out, and fill gaps "
                "before the exported model.",
                X_check=...,
            )
        found.add(str(name))
    return frozenset(found)
