"""Types of the columns of a table: as the model was trained, or as the user says.

A CSV file has no types. Digits are numbers to most readers, but the postcodes that an encoder
learnt as text are text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from secateurs.commands.command_errors import Refusal

if TYPE_CHECKING:
    import pandas as pd

TYPES = ("str", "category", "int", "float", "bool")
AS_TEXT = ("str", "category")  # read as the text in the file
_TRUTH = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


class ColumnTypeParam(click.ParamType):  # type: ignore[type-arg]
    """A column and its type."""

    name = "COL=TYPE"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Read ``postcode=str``."""
        if isinstance(value, tuple):
            return value
        column, _, kind = value.rpartition("=")
        if not column or kind not in TYPES:
            self.fail(
                f"{value!r} is not a column and its type. Give one such as postcode=str; types "
                f"are {', '.join(TYPES)}."
            )
        return column, kind


@dataclass(frozen=True)
class ColumnTypes:
    """Types of the columns of a table, as far as they are known.

    Attributes
    ----------
    models : sequence
        Fitted models, whose encoders know what is text.
    model_file : Path or None
        File of the models. Its side-car may know the columns that members were chosen on.
    given_types : mapping of str to str
        Types that the user gives; they count first.
    excluded_columns : sequence of str
        Columns that are not features.
    """

    models: Sequence[Any] = ()
    model_file: Path | None = None
    given_types: Mapping[str, str] = field(default_factory=dict)
    excluded_columns: Sequence[str] = ()

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, file: Path | None, given: Iterable[tuple[str, str]]
    ) -> Self:
        """Return the types that an `Ensemble` knows."""
        several = isinstance(ensemble.model, (list, tuple, dict))
        models = ensemble.members if several else [ensemble.model]
        pipelines = [outer for outer in ensemble.wrappers if hasattr(outer, "steps")]
        return cls(pipelines[:1] or models, file, dict(given))

    def __call__(self, names: Sequence[str]) -> dict[str, str]:
        """Return the types of columns of these names, where it is not left to the reader."""
        features = [name for name in names if name not in self.excluded_columns]
        types = {name: kind for name, kind in self._sidecar_types().items() if name in features}
        for model in self.models:
            seen = [str(name) for name in getattr(model, "feature_names_in_", features)]
            types |= dict.fromkeys(text_feature_names(model, seen) & {*features}, "str")
        return types | dict(self.given_types)

    def _sidecar_types(self) -> dict[str, str]:
        from secateurs.persistence.model_files import find_sidecar

        noted: Any = None if self.model_file is None else find_sidecar(self.model_file)
        for key in ("provenance", "columns"):
            noted = noted.get(key) if isinstance(noted, dict) else None
        known = noted.items() if isinstance(noted, dict) else ()
        return {name: kind for name, kind in known if kind in AS_TEXT}


def text_feature_names(model: Any, names: Sequence[str]) -> set[str]:
    """Return the features that the encoders and vectorisers of a model know as text.

    Parameters
    ----------
    model : object
        A fitted model, or a step of one.
    names : sequence of str
        Names of the columns that it sees.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
    from sklearn.pipeline import FeatureUnion, Pipeline

    parts: list[tuple[Any, Sequence[str]]]
    if isinstance(model, ColumnTransformer):
        places = model._transformer_to_input_indices
        parts = [
            (step, [names[place] for place in places[name]])
            for name, step, _ in model.transformers_
            if places[name] and max(places[name]) < len(names)
        ]
    elif isinstance(model, Pipeline):  # imputers pass columns on as they are
        first = [model.steps[0][1]]
        others = [step for _, step in model.steps[1:-1] if _input_width(step) == len(names)]
        last = [model.steps[-1][1]] if _input_width(model.steps[-1][1]) == len(names) else []
        parts = [(step, names) for step in (*first, *others, *last)]
    elif isinstance(model, FeatureUnion):
        parts = [(step, names) for _, step in model.transformer_list]
    elif isinstance(model, (CountVectorizer, HashingVectorizer)):
        return set(names)
    elif isinstance(categories := getattr(model, "categories_", None), list):
        seen = getattr(model, "feature_names_in_", names)
        return {str(name) for name, some in zip(seen, categories, strict=False) if _has_text(some)}
    elif hasattr(model, "best_estimator_"):
        parts = [(model.best_estimator_, names)]
    elif hasattr(model, "estimators_features_"):
        views = zip(model.estimators_, model.estimators_features_, strict=True)
        parts = [(member, [names[place] for place in view]) for member, view in views]
    else:
        parts = [(member, names) for member in getattr(model, "estimators_", ())]
    return set().union(*(text_feature_names(step, seen) for step, seen in parts))


def _input_width(step: Any) -> int | None:
    return getattr(step, "n_features_in_", None)


def _has_text(categories: Any) -> bool:
    return any(isinstance(value, str) for value in categories)


def cast_columns(path: Path, frame: "pd.DataFrame", types: Mapping[str, str]) -> "pd.DataFrame":
    """Return a table with columns of these types; missing values stay."""
    columns = {name: _cast_column(path, frame[name], kind) for name, kind in types.items()}
    return frame.assign(**columns)


def _cast_column(path: Path, column: "pd.Series[Any]", kind: str) -> "pd.Series[Any]":
    import pandas as pd

    there = column.notna()
    if kind in AS_TEXT:
        text = column.astype(object)
        text[there] = text[there].map(str)
        return text.astype("category") if kind == "category" else text
    if kind == "bool":
        values: Any = column.map(str).str.strip().str.lower().map(_TRUTH)
        wrong = values.isna()
    else:
        values = pd.to_numeric(column, errors="coerce")
        wrong = values.isna() & there
        if kind == "int":
            wrong |= values.isna() | (values % 1 != 0)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise Refusal(
            "type",
            f"{path}, column {column.name!r}, row {row + 1}: {str(column.iloc[row])[:40]!r} is not "
            f"a valid {kind}. Give another type with --dtype.",
        )
    return values.astype({"bool": bool, "int": "int64", "float": "float64"}[kind])
