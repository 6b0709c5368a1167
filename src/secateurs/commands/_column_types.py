"""Types of the columns of a table, from the fitted model or from ``--dtype``.

A CSV file has no types: digits would be parsed as integers. Postcodes that an encoder was fitted
to as text must stay text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from secateurs.commands.command_errors import reject_cells

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.ensembles import Ensemble

TYPES = ("str", "category", "int", "float", "bool")
AS_TEXT = ("str", "category")  # read as the text in the file
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


class ColumnTypeParam(click.ParamType):  # type: ignore[type-arg]
    """A column and its type, such as ``postcode=str``."""

    name = "COL=TYPE"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split ``postcode=str`` into the column and its type."""
        if isinstance(value, tuple):
            return value
        column, _, kind = value.rpartition("=")
        if not column or kind not in TYPES:
            self.fail(
                f"{value!r} is not a column and its type. Pass COL=TYPE, such as postcode=str; "
                f"types are {', '.join(TYPES)}."
            )
        return column, kind


@dataclass(frozen=True)
class ColumnTypes:
    """Types of the columns of a table, as far as the model, its file or the user determine them."""

    models: Sequence[object] = ()  # fitted; encoders in them show which features are text
    model_file: Path | None = None  # a side-car next to it may record the types of the columns
    given_types: Mapping[str, str] = field(default_factory=dict)  # by the user; these take priority
    excluded_columns: Sequence[str] = ()  # not features

    @classmethod
    def from_ensemble(
        cls, ensemble: Ensemble, file: Path | None, given_types: Iterable[tuple[str, str]]
    ) -> Self:
        """Return the column types that follow from an ensemble, its file and ``--dtype``."""
        is_collection = isinstance(ensemble.model, (list, tuple, dict))
        models = ensemble.members if is_collection else [ensemble.model]
        pipelines = [outer for outer in ensemble.wrappers if hasattr(outer, "steps")]
        return cls(pipelines[:1] or models, file, dict(given_types))

    def __call__(self, names: Sequence[str]) -> dict[str, str]:
        """Return the types of the named columns; columns left to the file reader are omitted."""
        features = [name for name in names if name not in self.excluded_columns]
        types = {name: kind for name, kind in self._sidecar_types().items() if name in features}
        for model in self.models:
            seen = [str(name) for name in getattr(model, "feature_names_in_", features)]
            types |= dict.fromkeys(text_feature_names(model, seen) & {*features}, "str")
        return types | dict(self.given_types)

    def _sidecar_types(self) -> dict[str, str]:
        from secateurs.persistence.model_files import find_sidecar

        recorded: object = None if self.model_file is None else find_sidecar(self.model_file)
        for key in ("provenance", "columns"):  # a side-car is a file that anyone may have edited
            recorded = recorded.get(key) if isinstance(recorded, dict) else None
        types = recorded.items() if isinstance(recorded, dict) else ()
        return {name: kind for name, kind in types if kind in AS_TEXT}


def text_feature_names(model: Any, names: Sequence[str]) -> set[str]:
    """Return the input columns that encoders of a fitted model (or step) know as text."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
    from sklearn.pipeline import FeatureUnion, Pipeline

    parts: list[tuple[object, Sequence[str]]]  # each with the names of its input columns
    if isinstance(model, ColumnTransformer):
        indices = model._transformer_to_input_indices
        parts = [
            (step, [names[index] for index in indices[name]])
            for name, step, _ in model.transformers_
            if indices[name] and max(indices[name]) < len(names)
        ]
    elif isinstance(model, Pipeline):
        # A step of the same width follows imputers, which keep the columns in their order.
        first = [model.steps[0][1]]
        middle = [step for _, step in model.steps[1:-1] if _input_width(step) == len(names)]
        last = [model.steps[-1][1]] if _input_width(model.steps[-1][1]) == len(names) else []
        parts = [(step, names) for step in (*first, *middle, *last)]
    elif isinstance(model, FeatureUnion):
        parts = [(step, names) for _, step in model.transformer_list]
    elif isinstance(model, (CountVectorizer, HashingVectorizer)):
        return set(names)
    elif isinstance(categories := getattr(model, "categories_", None), list):
        inputs = getattr(model, "feature_names_in_", names)
        return {
            str(name)
            for name, values in zip(inputs, categories, strict=False)
            if any(isinstance(value, str) for value in values)
        }
    elif hasattr(model, "best_estimator_"):
        parts = [(model.best_estimator_, names)]
    elif hasattr(model, "estimators_features_"):
        inputs = zip(model.estimators_, model.estimators_features_, strict=True)
        parts = [(member, [names[index] for index in columns]) for member, columns in inputs]
    else:
        parts = [(member, names) for member in getattr(model, "estimators_", ())]
    return set().union(*(text_feature_names(step, inputs) for step, inputs in parts))


def _input_width(step: object) -> int | None:
    return getattr(step, "n_features_in_", None)


def cast_columns(path: Path, frame: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """Return a table with columns cast to these types; missing values stay missing."""
    columns = {name: _cast_column(path, frame[name], kind) for name, kind in types.items()}
    return frame.assign(**columns)


def _cast_column(path: Path, column: pd.Series[Any], kind: str) -> pd.Series[Any]:
    import pandas as pd

    has_value = column.notna()
    if kind in AS_TEXT:
        text = column.astype(object)
        text[has_value] = text[has_value].map(str)
        return text.astype("category") if kind == "category" else text
    if kind == "bool":
        values: Any = column.map(str).str.strip().str.lower().map(_BOOLEANS)
        wrong = values.isna()
    else:
        values = pd.to_numeric(column, errors="coerce")
        wrong = values.isna() & has_value
        if kind == "int":
            wrong |= values.isna() | (values % 1 != 0)
    fault = f"is not a valid {kind}. Pass another type with --dtype."
    reject_cells(wrong.to_numpy(), column.array, f"{path}, column {column.name!r}", "type", fault)
    return values.astype({"bool": bool, "int": "int64", "float": "float64"}[kind])
