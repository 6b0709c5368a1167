"""Samples on which an exported model is compared: one numeric table, or typed columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from secateurs.exceptions import InputError, describe_error
from secateurs.persistence._model_faults import reachable_objects
from secateurs.typing import Array, JsonObject, Samples

# A fault that affects 3 % of the samples is missed with a probability below 5 %.
LEAST_ROWS = 100


@dataclass(frozen=True)
class CheckSamples:
    """Samples as input of both the model and the runtime: numbers as float32, and text."""

    frame: pd.DataFrame  # numbers are rounded to float32
    # With columns of text, the runtime has one input for each column; otherwise one table.
    text_columns: frozenset[str] = frozenset()
    is_frame_input: bool = True  # whether the model was fitted to a data frame

    @property
    def model_input(self) -> Samples:
        """The samples as input of the model."""
        return self.frame if self.is_frame_input else self.frame.to_numpy()

    @property
    def as_float32(self) -> NDArray[np.float32]:
        """The samples as one numeric table."""
        return self.frame.to_numpy(dtype=np.float32)

    def runtime_inputs(self, names: Iterable[str]) -> dict[str, Array]:
        """Return the runtime's inputs by name, one for each column or one for all columns."""
        if not self.text_columns:
            return dict.fromkeys(names, self.as_float32)
        return {
            name: self.frame[[column]].to_numpy(dtype=self._column_dtype(column))
            for name, column in zip(names, self.frame.columns, strict=True)
        }

    def _column_dtype(self, name: str) -> type:
        return object if name in self.text_columns else np.float32

    @property
    def input_description(self) -> JsonObject:
        """The types of the inputs, for the side-car."""
        if not self.text_columns:
            return {"dtype": "float32", "features": self.frame.shape[1]}
        dtypes = {name: "string" if name in self.text_columns else "float32" for name in self.frame}
        return {"columns": dtypes}


def as_check_samples(model: BaseEstimator, X_check: Samples) -> CheckSamples:
    """Return X_check, validated, as input of both the model and the runtime."""
    if issparse(X_check):  # such as encoded columns of text
        X_check = X_check.toarray()
    n_features = model.n_features_in_
    has_names = hasattr(model, "feature_names_in_")
    try:
        shape = np.shape(X_check)
    except ValueError:
        shape = (len(X_check),)  # lists of different lengths
    if len(shape) != 2 or shape[0] < LEAST_ROWS or shape[1] != n_features:
        raise InputError(
            f"{{X_check}} has shape {shape}; it must have at least {LEAST_ROWS} samples, and the "
            f"{n_features} features of the model. Pass samples like those it will predict.",
            X_check=...,
        )
    names = getattr(X_check, "columns", getattr(model, "feature_names_in_", None))
    names = [f"x{index}" for index in range(n_features)] if names is None else names
    frame = pd.DataFrame(
        X_check if hasattr(X_check, "columns") else np.asarray(X_check), columns=names
    )
    text_columns = _text_columns(frame) if _takes_text(model) else frozenset()
    columns = {}
    for name in frame.columns:
        try:
            is_text = name in text_columns
            columns[name] = frame[name] if is_text else frame[name].astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{{X_check}} is not numeric: column {name!r}: {describe_error(error)}.",
                X_check=...,
            ) from error
    return CheckSamples(pd.DataFrame(columns), text_columns, has_names)


def _takes_text(model: BaseEstimator) -> bool:
    """Return whether a pipeline in or around the model may encode text."""
    return any(isinstance(part, Pipeline) for part in reachable_objects(model))


def _text_columns(frame: pd.DataFrame) -> frozenset[str]:
    """Return the columns of text; raise an error for missing text, which ONNX does not support."""
    non_numeric = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    text_columns = set()
    for name in non_numeric:
        is_text = frame[name].map(lambda value: isinstance(value, str)).astype(bool)
        if not is_text.any():
            continue
        if not is_text.all():
            row = int((~is_text).to_numpy().argmax())
            raise InputError(
                f"{{X_check}} has {frame[name].iloc[row]!r} among the text of column {name!r}, row "
                f"{row + 1}; ONNX does not support missing text. Export the step after the one "
                "that fills it, export(model[-1], path, model[:-1].transform(X)), and run the "
                "steps before it in Python. Or leave such rows out, and fill missing text before "
                "calling the exported model.",
                X_check=...,
            )
        text_columns.add(str(name))
    return frozenset(text_columns)
