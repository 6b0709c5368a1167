"""Export models to ONNX and treelite after comparing their predictions with the original."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
from sklearn import ensemble as kinds
from sklearn.base import BaseEstimator, is_regressor
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree._tree import Tree

from secateurs.exceptions import (
    STATE_ERRORS,
    InputError,
    ParityError,
    SecateursError,
    UnsupportedEnsembleError,
    describe_error,
    import_extra,
)
from secateurs.persistence._export_samples import CheckSamples, as_check_samples
from secateurs.persistence._model_faults import reachable_objects
from secateurs.persistence._weighted_trees import (
    FORESTS,
    restore_onnx_totals,
    restore_treelite_totals,
)
from secateurs.persistence.atomic_files import check_writable, write_with_sidecar
from secateurs.persistence.model_files import describe_model
from secateurs.persistence.slim_models import has_missing_splits
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, FloatArray, JsonObject, Samples

_TIE = 1e-6  # both labels are accepted if the shares of the top two classes differ by less
# Largest difference of probabilities, and of predicted values relative to the largest value: the
# runtimes add in single precision.
_TOLERANCE = 1e-5
# The same relative to the standard deviation of predicted values, which may be far from 0.
_MOST_OF_SPREAD = 0.01

_VOTINGS = (kinds.VotingClassifier, kinds.VotingRegressor)
_NEIGHBOURS = (KNeighborsClassifier, RadiusNeighborsClassifier)
_KEEP = "Keep the model as .skops"


def export(
    model: BaseEstimator, path: str | os.PathLike[str], X_check: Samples, *, force: bool = False
) -> Path:
    """Write a model for ONNX Runtime or treelite if its predictions there are the same.

    The predictions of the converted model for ``X_check`` are compared with those of the original.
    The file is written only if all labels agree, except for ties, and all probabilities agree to
    within 1e-5. The predictions of regressors must agree to within 1e-5 of the largest prediction
    and 1 % of their standard deviation.

    Parameters
    ----------
    model : classifier or regressor
        A fitted model: a forest, Bagging, Voting, AdaBoost classifier, or a Pipeline that ends in
        one. It is not changed.
    path : str or path-like
        Path of the file. The suffix determines the format: ``.onnx``, or ``.treelite`` for forests.
        The side-car, with ``.json`` added to this name, contains the result of the comparison.
    X_check : array-like of shape (n_samples, n_features)
        At least 100 samples like those that the model will predict; for a pipeline that encodes
        text, a data frame. Numbers are rounded to float32 for both models, since the exported model
        uses float32. With columns of text, it has one input for each column, named like the column
        with ``_`` for blanks.
    force : bool, default=False
        Whether to overwrite existing files.

    Returns
    -------
    Path
        Path of the exported model.

    See Also
    --------
    save : Write a model that is loaded with scikit-learn.

    Examples
    --------
    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import export
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = export(forest, f"{folder}/forest.treelite", X)
    ...     check = json.loads(path.with_name("forest.treelite.json").read_text())["check"]
    >>> check["rows"], check["labels_differing"]
    (150, 0)
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise InputError(
            f"{target} ends in {target.suffix!r}, which is not an export format. "
            f"Pass one of: {', '.join(FORMATS)}."
        )
    runtime = FORMATS[target.suffix.lower()]
    sidecar = target.with_name(f"{target.name}.json")
    check_writable((target, sidecar), force)
    runtime.check_installed()
    samples = _check_samples(model, X_check)
    runtime.check_supported(model, samples)
    expected = _original_predictions(model, samples)
    with record_warnings():  # from the converter's calls of scikit-learn
        try:
            content = runtime.convert(model, samples)
            predictions = runtime.predict(content, model, samples)
        except Exception as error:
            raise UnsupportedEnsembleError(
                f"{type(model).__name__} cannot be written as {target.suffix}: "
                f"{describe_error(error)}. {_last_step_hint(model)}{_KEEP}."
            ) from error
    compare = _compare_values if _is_regression(model) else _compare_labels
    check = compare(expected, predictions, target)
    record = describe_model(model, target.suffix[1:].lower(), content, runtime.packages) | {
        "input": samples.input_description,
        "classes": np.asarray(getattr(model, "classes_", ())).tolist(),
        "check": check,
    }
    write_with_sidecar(target, content, sidecar, record, force=force)
    return target


def _last_step_hint(model: BaseEstimator) -> str:
    """Return how to export a pipeline without the steps that cannot be converted."""
    if not isinstance(model, Pipeline) or len(model) < 2:
        return ""
    steps = ", ".join(name for name, _ in model.steps[:-1])
    return (
        f"If one of the steps before the last ({steps}) is not supported, export the last step "
        "alone: export(model[-1], path, model[:-1].transform(X)). Otherwise: "
    )


@dataclass(frozen=True)
class _CheckedPredictions:
    """Predictions of the original or exported model."""

    labels: Array  # or the values of a regressor
    class_shares: FloatArray | None = None  # probabilities; None for regressors and hard votes


@dataclass(frozen=True)
class _ExportFormat:
    """The functions that write a format and predict with the written file."""

    extra: str  # of secateurs, which installs the packages
    packages: tuple[str, ...]
    check_supported: Callable[[BaseEstimator, CheckSamples], None]
    convert: Callable[[BaseEstimator, CheckSamples], bytes]
    predict: Callable[[bytes, BaseEstimator, CheckSamples], _CheckedPredictions]

    def check_installed(self) -> None:
        for package in self.packages:
            import_extra(package, self.extra, f"writing .{self.extra}")


def _check_samples(model: BaseEstimator, X_check: Samples) -> CheckSamples:
    """Return the samples for model and runtime; raise an error for an unfitted model."""
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) and not _is_regression(model):
        _raise_not_fitted(model)
    return as_check_samples(model, X_check)


def _is_regression(model: BaseEstimator) -> bool:
    """Return whether a model is a fitted regressor."""
    is_fitted = hasattr(model, "__sklearn_tags__") and hasattr(model, "n_features_in_")
    return is_fitted and not hasattr(model, "classes_") and is_regressor(model)


def _raise_not_fitted(model: BaseEstimator) -> NoReturn:
    raise UnsupportedEnsembleError(
        f"{type(model).__name__} is not a fitted classifier or regressor with one output. Fit it "
        "first, or pass the model inside it."
    )


def _original_predictions(model: BaseEstimator, samples: CheckSamples) -> _CheckedPredictions:
    """Return the predictions of the original model."""
    X = samples.model_input
    try:
        if _is_regression(model):
            values = model.predict(X)
            return _CheckedPredictions(values) if values.ndim == 1 else _raise_not_fitted(model)
        if hasattr(model, "predict_proba"):
            return _CheckedPredictions(model.predict(X), model.predict_proba(X))
        return _CheckedPredictions(model.predict(X), _vote_shares(model, X))
    except SecateursError:
        raise
    except (ValueError, *STATE_ERRORS) as error:
        raise InputError(
            f"The model itself cannot predict {{X_check}}: {describe_error(error)}.", X_check=...
        ) from error


def _vote_shares(model: BaseEstimator, X: Samples) -> FloatArray:
    """Return the vote shares of a hard Voting, which has no probabilities that show ties."""
    codes = model.transform(X)
    voting = _last_step(model)
    weights = np.ones(codes.shape[1])
    if voting.weights is not None:
        kept = [member != "drop" for _, member in voting.estimators]
        weights = np.asarray(voting.weights, dtype=float)[kept]
    votes = [(codes == code) @ weights for code in range(len(model.classes_))]
    return np.stack(votes, axis=1) / weights.sum()


def _last_step(model: BaseEstimator) -> BaseEstimator:
    return model[-1] if isinstance(model, Pipeline) else model


def _compare_labels(
    expected: _CheckedPredictions, exported: _CheckedPredictions, target: Path
) -> JsonObject:
    """Return the result of the comparison of labels and probabilities, or raise a ParityError."""
    n_samples = len(expected.labels)
    shares, expected_shares = exported.class_shares, expected.class_shares
    assert expected_shares is not None
    has_same_shape = shares is None or shares.shape == expected_shares.shape
    if exported.labels.shape != (n_samples,) or not has_same_shape:
        raise ParityError(
            f"{target.name} would predict labels of shape {exported.labels.shape} for {n_samples} "
            f"samples. Nothing was written. {_KEEP}."
        )
    differs = exported.labels != expected.labels
    top = np.sort(expected_shares, axis=1)
    tied = (top[:, -1:] - top[:, -2:-1] < _TIE).any(axis=1)  # never with a single class
    difference = None if shares is None else float(np.abs(shares - expected_shares).max())
    n_wrong = int((differs & ~tied).sum())
    if n_wrong or not (difference is None or difference <= _TOLERANCE):  # true for NaN as well
        and_shares = (
            "" if difference is None else f" and in probabilities by up to {difference:.2g}"
        )
        raise ParityError(
            f"{target.name} would differ in {n_wrong} of {n_samples} labels (except "
            f"ties){and_shares}; 0 labels and {_TOLERANCE} are allowed. Nothing was written. "
            f"{_KEEP}."
        )
    return {
        "rows": n_samples,
        "labels_differing": n_wrong,
        "ties_differing": int((differs & tied).sum()),
        "largest_probability_difference": difference,
    }


def _compare_values(
    expected: _CheckedPredictions, exported: _CheckedPredictions, target: Path
) -> JsonObject:
    """Return the result of the comparison of a regressor's values, or raise a ParityError."""
    values, others = expected.labels, exported.labels
    difference = float(np.abs(others - values).max()) if values.shape == others.shape else np.inf
    allowed = _TOLERANCE * float(np.abs(values).max())
    if np.ptp(values):
        allowed = min(allowed, _MOST_OF_SPREAD * float(np.std(values)))
    if not difference <= allowed:  # true for NaN as well
        raise ParityError(
            f"{target.name} would differ by up to {difference:.2g} in {len(values)} predicted "
            f"values with a standard deviation of {np.std(values):.2g}; {allowed:.2g} is allowed. "
            f"Nothing was written. {_KEEP}."
        )
    return {"rows": len(values), "largest_difference": difference, "allowed_difference": allowed}


def _check_onnx_support(model: BaseEstimator, samples: CheckSamples) -> None:
    """Raise an error for models that skl2onnx converts wrongly without an error."""
    has_labels_only = not hasattr(model, "predict_proba") and not _is_regression(model)
    if has_labels_only and not isinstance(_last_step(model), kinds.VotingClassifier):
        _raise_unsupported(model, ".onnx", "it has no predict_proba to compare")
    parts = reachable_objects(model)
    instead = "Export it as .treelite" if isinstance(model, FORESTS) else _KEEP
    if any(has_missing_splits(part) for part in parts if isinstance(part, Tree)):
        _raise_unsupported(
            model, ".onnx", "its trees were trained with missing values, which ONNX loses", instead
        )
    has_missing = samples.frame.isna().to_numpy().any()
    if has_missing and not isinstance(model, Pipeline):  # a pipeline may impute
        reason = "{X_check} has missing values, which ONNX loses"
        _raise_unsupported(model, ".onnx", reason, instead, X_check=...)
    for bagging in parts:
        if not isinstance(bagging, kinds.BaggingClassifier) or not hasattr(bagging, "estimators_"):
            continue
        for member in bagging.estimators_:
            if not hasattr(member, "predict_proba"):
                reason = f"its member {type(member).__name__} has no predict_proba"
                _raise_unsupported(model, ".onnx", reason)
            if len(member.classes_) != len(bagging.classes_):
                reason = f"a member has only {len(member.classes_)} classes"
                _raise_unsupported(model, ".onnx", reason)
        if any(isinstance(part, _NEIGHBOURS) for part in reachable_objects(bagging.estimators_)):
            reason = "nearest neighbours in Bagging are converted wrongly"
            _raise_unsupported(model, ".onnx", reason)


def _check_treelite_support(model: BaseEstimator, samples: CheckSamples) -> None:
    if not isinstance(model, FORESTS):
        _raise_unsupported(model, ".treelite", "it is not a forest", "Export it as .onnx")


def _raise_unsupported(
    model: BaseEstimator, suffix: str, reason: str, instead: str = _KEEP, **parameters: object
) -> None:
    raise UnsupportedEnsembleError(
        f"{type(model).__name__} cannot be written as {suffix}: {reason}. {instead}.", **parameters
    )


def onnx_bytes(model: BaseEstimator) -> bytes:
    """Return a model as the content of an ONNX file, without comparing predictions."""
    runtime = FORMATS[".onnx"]
    runtime.check_installed()
    no_samples = CheckSamples(pd.DataFrame())  # only the model itself is checked
    runtime.check_supported(model, no_samples)
    return runtime.convert(model, no_samples)


def _to_onnx(model: BaseEstimator, samples: CheckSamples) -> bytes:
    types = import_module("skl2onnx.common.data_types")
    inputs: list[tuple[object, object]] = [
        ("X", types.FloatTensorType([None, model.n_features_in_]))
    ]
    if text := samples.text_columns:
        kinds = (types.FloatTensorType, types.StringTensorType)
        inputs = [(name, kinds[name in text]([None, 1])) for name in samples.frame]
    twin = _onnx_compatible(model)
    graph = import_module("skl2onnx").convert_sklearn(
        twin,
        name=type(model).__name__,
        initial_types=inputs,
        options=None if _is_regression(model) else {id(twin): {"zipmap": False}},
    )
    restore_onnx_totals(graph, _last_step(model))
    return graph.SerializeToString()


def _onnx_compatible(model: BaseEstimator) -> BaseEstimator:
    """Return the model, or a copy whose Voting ensembles have the form that skl2onnx supports."""
    if not any(isinstance(part, _VOTINGS) for part in reachable_objects(model)):
        return model
    twin = copy.deepcopy(model)
    for voting in reachable_objects(twin):
        if isinstance(voting, _VOTINGS):
            voting.flatten_transform = False
            voting.weights = None if voting.weights is None else np.asarray(voting.weights)
    return twin


def _run_onnx(content: bytes, model: BaseEstimator, samples: CheckSamples) -> _CheckedPredictions:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # errors are raised as well
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    inputs = samples.runtime_inputs(runtime_input.name for runtime_input in session.get_inputs())
    outputs = session.run(None, inputs)
    if _is_regression(model):
        return _CheckedPredictions(outputs[0].reshape(len(samples.frame)))
    labels, shares = outputs[:2]
    return _CheckedPredictions(labels, shares if hasattr(model, "predict_proba") else None)


def _to_treelite(model: BaseEstimator, samples: CheckSamples) -> bytes:
    converted = import_module("treelite").sklearn.import_model(model)
    restore_treelite_totals(converted, model)
    return converted.serialize_bytes()


def _run_treelite(
    content: bytes, model: BaseEstimator, samples: CheckSamples
) -> _CheckedPredictions:
    treelite, values = import_module("treelite"), samples.as_float32
    shares = treelite.gtil.predict(treelite.Model.deserialize_bytes(content), values)
    if _is_regression(model):
        return _CheckedPredictions(shares.reshape(len(values)))
    shares = shares.reshape(len(values), -1)
    return _CheckedPredictions(model.classes_[shares.argmax(axis=1)], shares)


FORMATS = {
    ".onnx": _ExportFormat(
        "onnx", ("skl2onnx", "onnx", "onnxruntime"), _check_onnx_support, _to_onnx, _run_onnx
    ),
    ".treelite": _ExportFormat(
        "treelite", ("treelite",), _check_treelite_support, _to_treelite, _run_treelite
    ),
}
