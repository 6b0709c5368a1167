"""Check and convert the input of a pruning problem."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble, as_ensemble, check_same_kind
from secateurs.exceptions import (
    InputError,
    SecateursWarning,
    UnsupportedEnsembleError,
    caller_stacklevel,
)
from secateurs.labels import as_labels
from secateurs.measures.scoring import is_regression_task, main_scorer
from secateurs.outputs.collect import (
    collect_encoded_predictions,
    collect_encoded_votes,
    is_likely_training_set,
    warn_unseen_labels,
)
from secateurs.outputs.input_checks import as_target_values
from secateurs.outputs.missing_answers import check_missing_rule
from secateurs.outputs.prediction_arrays import is_prediction_data
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.sample_rows import SampleRows, as_indexable
from secateurs.outputs.table_members import TableFormat
from secateurs.outputs.training_samples import training_order_warning
from secateurs.outputs.votes import Votes
from secateurs.text_format import format_count, shorten_list
from secateurs.typing import Array, FloatArray, MissingRule, Samples


def check_test_set(
    ensemble: Ensemble, X_test: Samples, y_test: ArrayLike | None
) -> tuple[Samples, Array | None]:
    """Return the test samples and their labels, validated; None and None without a test set."""
    if X_test is None and y_test is None:
        return None, None
    if X_test is None or y_test is None:
        raise InputError(
            "{X_test} and {y_test} go together. Pass both, or none.", X_test=..., y_test=...
        )
    if ensemble.is_regression:
        labels = as_target_values(y_test, _num_samples(y_test))
    else:
        labels = as_labels(y_test, "y_test").ravel()
    samples: Samples = as_indexable(X_test)
    if isinstance(ensemble, PredictionTable):
        samples = ensemble.as_test_table(X_test, len(labels))
    is_table = isinstance(samples, PredictionTable)
    n_samples = samples.predictions.n_samples if is_table else _num_samples(samples)
    if n_samples != len(labels):
        raise InputError(
            f"{{X_test}} has {format_count(n_samples, 'sample')} but {{y_test}} has {len(labels)} "
            f"{'values' if ensemble.is_regression else 'labels'}. Pass one for each sample.",
            X_test=...,
            y_test=...,
        )
    if not ensemble.is_regression and not isinstance(ensemble, PredictionTable):
        warn_unseen_labels(ensemble, labels, "y_test")
    return samples, labels


def check_models(model: object, X: Samples, y: ArrayLike | None) -> None:
    """Raise an error for classes instead of models, and for X empty or swapped with y."""
    if isinstance(model, Ensemble) or is_prediction_data(model):
        return
    for member in _list_models(model):
        if isinstance(member, type):
            raise UnsupportedEnsembleError(
                f"{member.__name__} is a class, not a model. Pass an instance: {member.__name__}()."
            )
    shape: tuple[int, ...] = getattr(X, "shape", ())
    y_shape: tuple[int, ...] = getattr(y, "shape", ())
    if shape[:1] == (0,):
        raise InputError(f"{{X}} is empty: its shape is {shape}. Pass at least one sample.", X=...)
    if len(shape) == 1 and len(y_shape) == 2 and y_shape[1] > 1:
        raise InputError(
            f"{{X}} has shape {shape} and {{y}} has shape {y_shape}: they look swapped. "
            "Pass the samples as {X}, and their labels as {y}.",
            X=...,
            y=...,
        )


def check_unfitted_models(models: object, X: Samples) -> None:
    """Raise an error for unfitted models without X, and for classifiers among regressors."""
    if X is None:
        raise InputError(
            "{X} is missing. The models are not fitted: pass X and y, to select members by "
            "out-of-fold predictions and to fit them.",
            X=...,
        )
    check_same_kind(_list_models(models))


def _list_models(models: object) -> list[object]:
    if isinstance(models, Mapping):
        return list(models.values())
    return list(models) if isinstance(models, (list, tuple)) else [models]


def recognise_ensemble(
    model: object, y: ArrayLike | None, table_format: TableFormat, scoring: object
) -> Ensemble:
    """Return models or predictions as an ensemble."""
    if is_prediction_data(model):
        is_regression = is_regression_task(y, main_scorer(scoring))
        return PredictionTable(model, table_format, y, is_regression)
    reject_table_parameters(table_format)
    return as_ensemble(model)


def reject_table_parameters(table_format: TableFormat) -> None:
    """Raise an error for parameters of predictions that are passed with models."""
    for name in ("classes", "names", "positive", "columns"):
        if getattr(table_format, name) is not None:
            text = f"{{{name}}} is for predictions only; models have their own. Leave it out."
            raise InputError(text, **{name: ...})


def attach_samples(predictions: Votes | Predictions, X: Samples) -> Votes | Predictions:
    """Return a table of predictions with the samples that its scorers read, if X is given."""
    if X is None:
        return predictions
    if _num_samples(X) != predictions.n_samples:
        raise InputError(
            f"{{X}} has {format_count(_num_samples(X), 'sample')}, but the predictions have "
            f"{predictions.n_samples}. For predictions, X is only used by scorers; pass the same "
            "samples, or leave it out.",
            X=...,
        )
    return replace(predictions, samples=SampleRows(X))


def check_member_costs(
    cost: ArrayLike | Mapping[str, float] | None, ensemble: Ensemble
) -> FloatArray | None:
    """Check the parameter ``cost``, and return the costs in the order of the members."""
    if cost is None:
        return None
    if isinstance(cost, Mapping):
        cost = costs_by_name(cost, [str(name) for name in ensemble.member_names])
    try:
        costs = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            "{cost} is not numeric. Pass one number for each member.", cost=...
        ) from None
    invalid = costs[~((costs >= 0) & (costs < np.inf))]
    if costs.shape != (ensemble.n_members,) or len(invalid):
        example = f" and contains {invalid[0]:g}" if len(invalid) else ""
        raise InputError(
            f"{{cost}} has shape {costs.shape}{example}. Pass a number of at least 0 for each of "
            f"the {ensemble.n_members} members.",
            cost=...,
        )
    return costs


def costs_by_name(cost: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """Return the costs of a dict, in the order of the members."""
    by_name = {str(name): value for name, value in cost.items()}
    missing = [name for name in names if name not in by_name]
    unknown = [name for name in by_name if name not in set(names)]
    if missing or unknown:
        fault = "has no entry for" if missing else "has entries for unknown members:"
        raise InputError(
            f"{{cost}} {fault} {shorten_list(missing or unknown, 3)}. Pass a cost for each of: "
            f"{shorten_list(names, 12)}.",
            cost=...,
        )
    return [by_name[name] for name in names]


def check_sensitive_features(
    features: ArrayLike | str | None, X: Samples, n_samples: int, name: str = "sensitive_features"
) -> Array | None:
    """Return the subgroup of each sample as text; a column of X if its name is given.

    Samples whose value is missing are a subgroup of their own.
    """
    if features is None:
        return None
    if isinstance(features, str):
        if not hasattr(X, "columns") or features not in list(X.columns):
            raise InputError(
                f"{{{name}}} is not a column of X. Pass a column name of a data frame, or one "
                "label for each sample.",
                **{name: features},
            )
        features = X[features]
    labels = np.asarray(features)
    if labels.ndim != 1 or len(labels) != n_samples:
        raise InputError(
            f"{{{name}}} has shape {labels.shape}, but there are "
            f"{format_count(n_samples, 'sample')}. Pass one label for each sample.",
            **{name: ...},
        )
    is_missing = pd.isna(labels).tolist()
    pairs = zip(labels.tolist(), is_missing, strict=True)
    return np.array(["missing" if unknown else str(label) for label, unknown in pairs])


def collect_from_models(
    ensemble: Ensemble, X: Samples, y: ArrayLike, oob: bool, n_jobs: int | None
) -> Votes | Predictions:
    """Return the members' predictions on the validation samples; warn about training samples."""
    collect = collect_encoded_predictions if ensemble.is_regression else collect_encoded_votes
    predictions: Votes | Predictions = collect(ensemble, X, y, oob, n_jobs)
    labels = true_values(predictions) if isinstance(predictions, Votes) else None
    if labels is not None:
        warn_unseen_labels(ensemble, labels, "y")
    if not oob and is_likely_training_set(ensemble, predictions):
        warnings.warn(
            SecateursWarning(
                "The validation set looks like the training set of the ensemble, on which "
                "nearly every member looks good. Pass held-out samples, or {oob} to use "
                "only samples that a member was not trained on.",
                oob=True,
            ),
            stacklevel=caller_stacklevel(),
        )
    if oob and (warning := training_order_warning(ensemble, X, labels)):
        warnings.warn(warning, stacklevel=caller_stacklevel())
    return predictions


def reject_out_of_bag(oob: bool) -> None:
    if oob:
        raise InputError("{oob} needs a fitted ensemble. Leave it out.", oob=True)


def warn_single_class(predictions: Votes | Predictions) -> None:
    """Warn if all validation samples have the same label, though members know several."""
    if isinstance(predictions, Predictions) or predictions.n_classes == 1:
        return
    found = np.unique(true_values(predictions)).tolist()
    if len(found) == 1:
        warnings.warn(
            SecateursWarning(
                f"{{y}} has one class only ({found[0]!r}), so that members which always predict it "
                "look perfect. Pass validation samples of all classes.",
                y=...,
            ),
            stacklevel=caller_stacklevel(),
        )


def resolve_missing_rule(missing: MissingRule | None, ensemble: Ensemble) -> MissingRule:
    """Return the option ``missing``; by default "wrong" for tables, else "ignore"."""
    if missing is None:
        return "wrong" if isinstance(ensemble, PredictionTable) else "ignore"
    return check_missing_rule(missing)
