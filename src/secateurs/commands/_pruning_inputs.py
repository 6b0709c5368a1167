"""Read the input of a pruning from files: a model and samples, or predictions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from secateurs.commands._column_types import ColumnTypes
from secateurs.commands._labelled_samples import check_sample_counts, known_features, read_samples
from secateurs.commands._prediction_files import read_labelled_predictions
from secateurs.commands._pruning_options import MethodOptions
from secateurs.commands._sample_columns import (
    read_sample_labels,
    read_sample_weights,
    read_subgroups,
    read_time_order,
    time_order_folds,
)
from secateurs.commands._table_files import require_file
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.shared_options import InputFiles, TrustOptions
from secateurs.exceptions import SecateursError
from secateurs.text_format import format_count, to_one_line

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.ensembles import Ensemble
    from secateurs.outputs.prediction_table import PredictionTable
    from secateurs.problem import Problem
    from secateurs.typing import Array, FloatArray, IndexArray


class PruningInputs(NamedTuple):
    """An ensemble, a validation set and a test set, as arguments of `Problem.from_input`."""

    ensemble: Ensemble
    X: pd.DataFrame | Array | None  # None for predictions
    y: Array
    X_test: pd.DataFrame | Array | PredictionTable | None = None
    y_test: Array | None = None
    sample_weight: FloatArray | None = None
    sample_weight_test: FloatArray | None = None
    groups: list[str] | None = None
    time_order: IndexArray | None = None
    sensitive_features: Array | None = None
    sensitive_features_test: Array | None = None

    @property
    def summary_line(self) -> str:
        """One line about the ensemble and the sizes of the validation and test sets."""
        title = "predictions" if self.X is None else type(self.ensemble.model).__name__
        members = format_count(self.ensemble.n_members, "member")
        validation = format_count(len(self.y), "validation sample")
        y_test = self.y_test
        test = "no test set" if y_test is None else format_count(len(y_test), "test sample")
        return f"{title} · {members} · {validation} · {test}"

    def to_problem(self, method: MethodOptions, cost: Any = None) -> Problem:
        """Return the `Problem` with the collected predictions of the members."""
        from secateurs.problem import Problem

        return Problem.from_input(
            self.ensemble,
            self.X,
            self.y,
            X_test=self.X_test,
            y_test=self.y_test,
            oob=method.oob,
            missing=method.missing,
            n_jobs=method.n_jobs,
            scoring=method.scoring_parameter,
            sample_weight=self.sample_weight,
            sample_weight_test=self.sample_weight_test,
            cv=self._folds(method.cv),
            groups=self.groups,
            sensitive_features=self.sensitive_features,
            sensitive_features_test=self.sensitive_features_test,
            cost=cost,
        )

    def _folds(self, n_folds: int | None) -> Any:
        """Return ``--cv``, or folds in the order of ``--time``."""
        if self.time_order is None:
            return n_folds
        return time_order_folds(self.time_order, 5 if n_folds is None else n_folds)


def read_inputs(
    files: InputFiles, trust: TrustOptions, out: Output, scoring: str | None = None
) -> PruningInputs:
    """Read and check all input files of a pruning, before any work starts."""
    with out.show_progress("reading"):
        if files.predictions is not None:
            inputs = _read_prediction_inputs(files, trust, out, scoring)
        else:
            inputs = _read_model_inputs(files, trust, out)
        validation, limit = files.predictions or files.data, trust.max_unpacked
        return inputs._replace(
            sample_weight=read_sample_weights(validation, files.sample_weight, limit),
            sample_weight_test=read_sample_weights(files.test, files.sample_weight, limit),
            groups=read_sample_labels(validation, files.groups, limit),
            time_order=read_time_order(validation, files.time, limit),
            sensitive_features=read_subgroups(validation, files.sensitive_features, limit),
            sensitive_features_test=read_subgroups(files.test, files.sensitive_features, limit),
        )


def check_input_files(files: InputFiles) -> None:
    """Raise if input options exclude each other or files do not exist, before loading any."""
    if files.sample_weight is not None and files.sample_weight in (files.target, *files.ignore):
        raise click.UsageError(
            f"Column {files.sample_weight!r} holds weights: it cannot be the target or ignored."
        )
    if files.groups is not None and files.time is not None:
        raise click.UsageError("--groups and --time exclude each other. Pass one of them.")
    for name in ("groups", "time", "sensitive_features"):
        if (column := getattr(files, name)) is not None and column == files.target:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"Column {column!r} is the target: {option} needs another.")
    if files.predictions is None:
        _check_model_usage(files)
    elif files.model is not None:
        raise click.UsageError("--predictions replaces MODEL and DATA. Pass one or the other.")
    elif files.dtype:
        raise click.UsageError("--dtype applies to columns of DATA, not to --predictions.")
    elif files.test_labels is not None and files.test is None:
        raise click.UsageError("--test-labels needs --test.")
    for path in files.given_paths.values():
        require_file(path)


def load_model(path: Path, trust: TrustOptions) -> Any:
    """Load a model file, with no more trust than the options grant."""
    require_file(path)
    from sklearn.exceptions import InconsistentVersionWarning

    from secateurs.persistence import load

    with warnings.catch_warnings():
        action = "ignore" if trust.allow_version_mismatch else "error"
        warnings.simplefilter(action, InconsistentVersionWarning)  # type: ignore[arg-type]
        try:
            return load(
                path,
                trust=trust.trust,
                sha256=trust.sha256,
                trust_types=trust.trust_types,
                max_bytes=int(trust.max_unpacked),
            )
        except SecateursError as error:
            if "max_bytes" in error.parameters:  # on the command line, this is the name of a budget
                error.message = error.message.replace("{max_bytes}", "{max_unpacked}")
                error.parameters["max_unpacked"] = error.parameters.pop("max_bytes")
            raise
        except InconsistentVersionWarning as error:
            raise Refusal(
                "version",
                f"{path} was written with scikit-learn {error.original_sklearn_version}, but "
                f"{error.current_sklearn_version} is installed: it may predict differently. "
                "Install that version, or pass --allow-version-mismatch.",
            ) from None


def _check_model_usage(files: InputFiles) -> None:
    for name in ("model", "data"):
        if getattr(files, name) is None:
            raise click.UsageError(f"Missing argument {name.upper()!r}, or --predictions FILE.")
    if files.target is None:
        raise click.UsageError("Which column holds the true labels or values? Pass --target COL.")
    if files.target in files.ignore:
        raise click.UsageError(f"Column {files.target!r} is the target and cannot be ignored.")
    if files.labels is not None or files.test_labels is not None:
        raise click.UsageError("--labels and --test-labels need --predictions.")
    if files.positive is not None or files.columns is not None:
        raise click.UsageError("--positive and --columns need --predictions.")
    if files.target in dict(files.dtype):
        raise click.UsageError(f"Column {files.target!r} is the target and has no --dtype.")


def _read_model_inputs(files: InputFiles, trust: TrustOptions, out: Output) -> PruningInputs:
    assert files.model is not None
    assert files.data is not None
    ensemble = _recognise_ensemble(files.model, load_model(files.model, trust))
    X, y = read_labelled_file(files.data, ensemble, files, trust)
    check_sample_counts(files.data, y, ensemble.classes, out)
    if files.test is None:
        return PruningInputs(ensemble, X, y)
    return PruningInputs(ensemble, X, y, *read_labelled_file(files.test, ensemble, files, trust))


def read_labelled_file(
    path: Path, ensemble: Ensemble, files: InputFiles, trust: TrustOptions
) -> tuple[pd.DataFrame | Array, Array]:
    """Read samples and their labels or values from a file with the columns of DATA."""
    assert files.target is not None
    return read_samples(
        path,
        ensemble,
        files.target,
        files.excluded_columns(known_features(ensemble)[0]),
        ColumnTypes.from_ensemble(ensemble, files.model, files.dtype),
        trust.max_unpacked,
    )


def _recognise_ensemble(path: Path, model: Any) -> Ensemble:
    """Return the `Ensemble` of a model; errors name its file."""
    from secateurs.ensembles import as_ensemble

    try:
        ensemble = as_ensemble(model)
        ensemble.member_names  # noqa: B018  # damaged models may fail only here
    except SecateursError as error:
        error.prepend(f"{path}: ")
        raise
    except Exception as error:
        raise Refusal(
            "model", f"{path} does not contain a fitted ensemble: {to_one_line(str(error))}"
        ) from error
    _check_member_count(path, ensemble.n_members)
    return ensemble


def _read_prediction_inputs(
    files: InputFiles, trust: TrustOptions, out: Output, scoring: str | None
) -> PruningInputs:
    import numpy as np

    from secateurs.measures.scoring import is_regression_scoring

    assert files.predictions is not None
    is_regression = is_regression_scoring(scoring)
    ensemble, y = read_labelled_predictions(
        files.predictions, files.labels, files, trust.max_unpacked, is_regression=is_regression
    )
    _check_member_count(files.predictions, ensemble.n_members)
    classes = None if ensemble.is_regression else np.unique(y)
    check_sample_counts(files.predictions, y, classes, out)
    if files.test is None:
        return PruningInputs(ensemble, None, y)
    test = read_labelled_predictions(
        files.test, files.test_labels, files, trust.max_unpacked, validation=ensemble
    )
    return PruningInputs(ensemble, None, y, *test)


def _check_member_count(path: Path, n_members: int) -> None:
    if n_members < 2:
        raise Refusal(
            "nothing_to_prune",
            f"{path} has {n_members} member: there is nothing to prune. Pass a larger ensemble.",
        )
