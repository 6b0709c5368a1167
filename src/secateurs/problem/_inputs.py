"""Check and convert the input of a pruning problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.measures.scoring import is_regression_task, main_scorer
from secateurs.outputs.collect import warn_unseen_labels
from secateurs.outputs.input_checks import as_target_values
from secateurs.outputs.prediction_arrays import is_prediction_data
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.votes import Votes
from secateurs.text_format import format_count
from secateurs.typing import Array, FloatArray, Samples


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
    samples: Samples = X_test
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


def recognise_ensemble(
    model: object,
    y: ArrayLike | None,
    classes: ArrayLike | None,
    names: Sequence[str] | None,
    scoring: object,
) -> Ensemble:
    """Return models or predictions as an ensemble."""
    if is_prediction_data(model):
        n_labels = None if y is None or np.ndim(y) == 0 else _num_samples(y)
        return PredictionTable(
            model, classes, names, n_labels, is_regression_task(y, main_scorer(scoring))
        )
    for name, value in (("classes", classes), ("names", names)):
        if value is not None:
            text = f"{{{name}}} is for predictions only; models have their own. Leave it out."
            raise InputError(text, **{name: ...})
    return as_ensemble(model)


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


def check_member_costs(cost: ArrayLike | None, ensemble: Ensemble) -> FloatArray | None:
    """Return the cost of each member, checked."""
    if cost is None:
        return None
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


def check_sensitive_features(
    features: ArrayLike | str | None, X: Samples, n_samples: int, name: str = "sensitive_features"
) -> Array | None:
    """Return the subgroup of each sample as text; a column of X if its name is given."""
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
    return np.array([str(label) for label in labels.tolist()])
