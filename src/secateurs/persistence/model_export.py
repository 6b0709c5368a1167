"""Export models to other runtimes, after checking that they predict the same there."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import ensemble as kinds
from sklearn.base import is_regressor
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

_TIE = 1e-6  # top two classes closer than this: either label is right
# Of probabilities, and of numbers compared with the largest: runtimes add in single precision.
_TOLERANCE = 1e-5
_MOST_OF_SPREAD = 0.01  # of the standard deviation of numbers, which may be far from 0

_VOTINGS = (kinds.VotingClassifier, kinds.VotingRegressor)
_NEIGHBOURS = (KNeighborsClassifier, RadiusNeighborsClassifier)
_KEEP = "Keep the model as .skops"


def export(
    model: Any, path: str | os.PathLike[str], X_check: ArrayLike, *, force: bool = False
) -> Path:
    """Write a model for ONNX Runtime or treelite, if it predicts the same there.

    The converted model predicts ``X_check`` and is compared with the original. The file is written
    only if all labels agree, except for ties, and all probabilities to within 1e-5; of regressors,
    all numbers to within 1e-5 of the largest one and 1 % of their standard deviation.

    Parameters
    ----------
    model : classifier or regressor
        A fitted model: a forest, Bagging, Voting, AdaBoost classifier, or a Pipeline that ends in
        one. It is not changed.
    path : str or path-like
        Path of the file. The suffix decides the format: ``.onnx``, or ``.treelite`` for forests.
        The side-car has the same name followed by ``.json`` and holds the result of the comparison.
    X_check : array-like of shape (n_samples, n_features)
        At least 100 rows of the kind that the model will predict; for a pipeline that takes text,
        a data frame. Numbers are rounded to float32 for both models, as is every number given to
        the exported one. With columns of text, that has an input for each column, of its name with
        ``_`` for blanks.
    force : bool, default=False
        Whether to overwrite existing files.

    Returns
    -------
    Path
        Path of the exported model.

    See Also
    --------
    save : Write a model as it is, to be loaded with scikit-learn.

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
            f"Give one of: {', '.join(FORMATS)}."
        )
    runtime = FORMATS[target.suffix.lower()]
    sidecar = target.with_name(f"{target.name}.json")
    check_writable((target, sidecar), force)
    runtime.check_installed()
    rows = _check_samples(model, X_check)
    runtime.check_supported(model, rows)
    expected = _original_predictions(model, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from the converter's calls of scikit-learn
        try:
            content = runtime.convert(model, rows)
            found = runtime.predict(content, model, rows)
        except Exception as error:
            raise UnsupportedEnsembleError(
                f"{type(model).__name__} cannot be written as {target.suffix}: {describe_error(error)}. "
                f"{_KEEP}."
            ) from error
    check = (_compare_values if _is_regression(model) else _compare_labels)(expected, found, target)
    record = describe_model(model, target.suffix[1:].lower(), content, runtime.packages) | {
        "input": rows.input_description,
        "classes": np.asarray(getattr(model, "classes_", ())).tolist(),
        "check": check,
    }
    write_with_sidecar(target, content, sidecar, record, force=force)
    return target


@dataclass(frozen=True)
class _CheckedPredictions:
    """Predictions: labels, and shares of the classes (None if the runtime has none); or numbers."""

    labels: NDArray[Any]
    class_shares: Any = None


@dataclass(frozen=True)
class _ExportFormat:
    """How to write a format, and how to predict with the file."""

    extra: str
    packages: tuple[str, ...]
    check_supported: Callable[[Any, CheckSamples], None]
    convert: Callable[[Any, CheckSamples], bytes]
    predict: Callable[[bytes, Any, CheckSamples], _CheckedPredictions]

    def check_installed(self) -> None:
        for package in self.packages:
            import_extra(package, self.extra, f"writing .{self.extra}")


def _check_samples(model: Any, X_check: ArrayLike) -> CheckSamples:
    """Return the rows that both the model and the runtime predict."""
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) and not _is_regression(model):
        _raise_not_fitted(model)
    return as_check_samples(model, X_check)


def _is_regression(model: Any) -> bool:
    """Whether a model is a fitted regressor."""
    known = hasattr(model, "__sklearn_tags__") and hasattr(model, "n_features_in_")
    return known and not hasattr(model, "classes_") and is_regressor(model)


def _raise_not_fitted(model: Any) -> NoReturn:
    raise UnsupportedEnsembleError(
        f"{type(model).__name__} is not a fitted classifier or regressor with one output. Fit it "
        "first, or give the model inside it."
    )


def _original_predictions(model: Any, rows: CheckSamples) -> _CheckedPredictions:
    """Return the predictions of the original."""
    given = rows.model_input
    try:
        if _is_regression(model):
            numbers = model.predict(given)
            return _CheckedPredictions(numbers) if numbers.ndim == 1 else _raise_not_fitted(model)
        if hasattr(model, "predict_proba"):
            return _CheckedPredictions(model.predict(given), model.predict_proba(given))
        return _CheckedPredictions(model.predict(given), _vote_shares(model, given))
    except SecateursError:
        raise
    except (ValueError, *STATE_ERRORS) as error:
        raise InputError(
            f"The model itself cannot predict {{X_check}}: {describe_error(error)}.", X_check=...
        ) from error


def _vote_shares(model: Any, given: Any) -> NDArray[np.float64]:
    """Return the vote shares of a hard Voting, whose ties no probabilities show."""
    codes = model.transform(given)
    voting = _last_step(model)
    weights = np.ones(codes.shape[1])
    if voting.weights is not None:
        kept = [part != "drop" for _, part in voting.estimators]
        weights = np.asarray(voting.weights, dtype=float)[kept]
    votes = [(codes == code) @ weights for code in range(len(model.classes_))]
    return np.stack(votes, axis=1) / weights.sum()


def _last_step(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def _compare_labels(
    expected: _CheckedPredictions, found: _CheckedPredictions, target: Path
) -> dict[str, Any]:
    """Return the results of the comparison, or raise a ParityError."""
    n_rows = len(expected.labels)
    has_shares = found.class_shares is not None
    shares_fit = not has_shares or found.class_shares.shape == expected.class_shares.shape
    if found.labels.shape != (n_rows,) or not shares_fit:
        raise ParityError(
            f"{target.name} would give labels of shape {found.labels.shape} for {n_rows} rows. "
            f"Nothing was written. {_KEEP}."
        )
    differs = found.labels != expected.labels
    top = np.sort(expected.class_shares, axis=1)
    tied = (top[:, -1:] - top[:, -2:-1] < _TIE).any(axis=1)  # never, if there is one class only
    off = float(np.abs(found.class_shares - expected.class_shares).max()) if has_shares else None
    n_wrong = int((differs & ~tied).sum())
    if n_wrong or not (off is None or off <= _TOLERANCE):  # NaN as well
        shares = "" if off is None else f" and in probabilities by up to {off:.2g}"
        raise ParityError(
            f"{target.name} would differ in {n_wrong} of {n_rows} labels (except ties){shares}; "
            f"0 labels and {_TOLERANCE} are allowed. Nothing was written. {_KEEP}."
        )
    return {
        "rows": n_rows,
        "labels_differing": n_wrong,
        "ties_differing": int((differs & tied).sum()),
        "largest_probability_difference": off,
    }


def _compare_values(
    expected: _CheckedPredictions, found: _CheckedPredictions, target: Path
) -> dict[str, Any]:
    """Return the results of the comparison of numbers, or raise a ParityError."""
    numbers, others = expected.labels, found.labels
    off = float(np.abs(others - numbers).max()) if numbers.shape == others.shape else np.inf
    allowed = _TOLERANCE * float(np.abs(numbers).max())
    if np.ptp(numbers):
        allowed = min(allowed, _MOST_OF_SPREAD * float(np.std(numbers)))
    if not off <= allowed:  # NaN as well
        raise ParityError(
            f"{target.name} would differ by up to {off:.2g} in {len(numbers)} numbers, of standard "
            f"deviation {np.std(numbers):.2g}; {allowed:.2g} is allowed. Nothing was written. "
            f"{_KEEP}."
        )
    return {"rows": len(numbers), "largest_difference": off, "allowed_difference": allowed}


def _check_onnx_support(model: Any, rows: CheckSamples) -> None:
    """Refuse what the converter is known to convert wrongly without an error."""
    has_labels_only = not hasattr(model, "predict_proba") and not _is_regression(model)
    if has_labels_only and not isinstance(_last_step(model), kinds.VotingClassifier):
        _raise_unsupported(model, ".onnx", "it has no predict_proba to compare")
    things = reachable_objects(model)
    instead = "Export it as .treelite" if isinstance(model, FORESTS) else _KEEP
    if any(_has_missing_splits(thing) for thing in things if isinstance(thing, Tree)):
        _raise_unsupported(
            model, ".onnx", "its trees were trained with missing values, which ONNX loses", instead
        )
    if rows.frame.isna().to_numpy().any() and not isinstance(model, Pipeline):  # which may impute
        reason = "{X_check} has missing values, which ONNX loses"
        _raise_unsupported(model, ".onnx", reason, instead, X_check=...)
    for bagging in things:
        if not isinstance(bagging, kinds.BaggingClassifier) or not hasattr(bagging, "estimators_"):
            continue
        for member in bagging.estimators_:
            if not hasattr(member, "predict_proba"):
                _raise_unsupported(
                    model, ".onnx", f"its member {type(member).__name__} has no predict_proba"
                )
            if len(member.classes_) != len(bagging.classes_):
                _raise_unsupported(
                    model, ".onnx", f"a member knows only {len(member.classes_)} classes"
                )
        if any(isinstance(thing, _NEIGHBOURS) for thing in reachable_objects(bagging.estimators_)):
            _raise_unsupported(
                model, ".onnx", "nearest neighbours in Bagging are converted wrongly"
            )


def _check_treelite_support(model: Any, rows: CheckSamples) -> None:
    if not isinstance(model, FORESTS):
        _raise_unsupported(model, ".treelite", "treelite takes only forests", "Export it as .onnx")


def _raise_unsupported(
    model: Any, suffix: str, reason: str, instead: str = _KEEP, **parameters: Any
) -> None:
    raise UnsupportedEnsembleError(
        f"{type(model).__name__} cannot be written as {suffix}: {reason}. {instead}.", **parameters
    )


def _has_missing_splits(tree: Any) -> bool:
    """Whether a tree has learnt where missing values go, as far as its nodes show.

    Without missing values in training, scikit-learn sends them to the child with more samples; and
    only a split between missing and other values has an infinite threshold.
    """
    parents = np.flatnonzero(tree.children_left != -1)
    sizes = tree.n_node_samples
    larger = sizes[tree.children_left[parents]] > sizes[tree.children_right[parents]]
    learnt = tree.missing_go_to_left[parents].astype(bool) != larger
    return bool(learnt.any() or np.isinf(tree.threshold[parents]).any())


def onnx_bytes(model: Any) -> bytes:
    """Return a model as the content of an ONNX file, without comparing predictions."""
    runtime = FORMATS[".onnx"]
    runtime.check_installed()
    none = CheckSamples(pd.DataFrame())  # only what the model itself is refused for
    runtime.check_supported(model, none)
    return runtime.convert(model, none)


def _to_onnx(model: Any, rows: CheckSamples) -> bytes:
    types = import_module("skl2onnx.common.data_types")
    inputs: list[Any] = [("X", types.FloatTensorType([None, model.n_features_in_]))]
    if rows.text_columns:
        kinds = (types.FloatTensorType, types.StringTensorType)
        inputs = [(name, kinds[name in rows.text_columns]([None, 1])) for name in rows.frame]
    twin = _onnx_compatible(model)
    graph = import_module("skl2onnx").convert_sklearn(
        twin,
        name=type(model).__name__,
        initial_types=inputs,
        options=None if _is_regression(model) else {id(twin): {"zipmap": False}},
    )
    restore_onnx_totals(graph, _last_step(model))
    return graph.SerializeToString()


def _onnx_compatible(model: Any) -> Any:
    """Return a model, with any Voting in it copied into the form that the converter takes."""
    if not any(isinstance(thing, _VOTINGS) for thing in reachable_objects(model)):
        return model
    twin = copy.deepcopy(model)
    for voting in reachable_objects(twin):
        if isinstance(voting, _VOTINGS):
            voting.flatten_transform = False
            voting.weights = None if voting.weights is None else np.asarray(voting.weights)
    return twin


def _run_onnx(content: bytes, model: Any, rows: CheckSamples) -> _CheckedPredictions:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # errors are raised as well
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    answers = session.run(None, rows.runtime_inputs(given.name for given in session.get_inputs()))
    if _is_regression(model):
        return _CheckedPredictions(answers[0].reshape(len(rows.frame)))
    labels, shares = answers[:2]
    return _CheckedPredictions(labels, shares if hasattr(model, "predict_proba") else None)


def _to_treelite(model: Any, rows: CheckSamples) -> bytes:
    converted = import_module("treelite").sklearn.import_model(model)
    restore_treelite_totals(converted, model)
    return converted.serialize_bytes()


def _run_treelite(content: bytes, model: Any, rows: CheckSamples) -> _CheckedPredictions:
    treelite, values = import_module("treelite"), rows.as_float32
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
