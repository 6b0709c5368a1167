"""What a pruning starts from, read from files: a model and rows, or predictions."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import click

from secateurs.commands._column_types import ColumnTypes
from secateurs.commands._labelled_samples import check_sample_counts, read_samples
from secateurs.commands._prediction_files import check_same_members, read_predictions
from secateurs.commands._pruning_options import MethodOptions
from secateurs.commands._sample_weights import read_sample_weights
from secateurs.commands._table_files import require_file
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.shared_options import InputFiles, TrustOptions
from secateurs.exceptions import SecateursError
from secateurs.text_format import format_count, to_one_line


class PruningInputs(NamedTuple):
    """An ensemble, rows to choose on, and rows to test on, as `secateurs.problem` takes them."""

    ensemble: Any
    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None
    sample_weight: Any = None
    sample_weight_test: Any = None

    @property
    def summary_line(self) -> str:
        """What was read, on one line."""
        title = "predictions" if self.X is None else type(self.ensemble.model).__name__
        test = "none" if self.y_test is None else f"{len(self.y_test):,}"
        rows = format_count(len(self.y), "row")
        size = f"{format_count(self.ensemble.n_members, 'member')} · {rows} to choose on"
        return f"{title} · {size} · {test} to test on"

    def to_problem(self, method: MethodOptions) -> Any:
        """Collect the votes of the members, as a `Problem`."""
        from secateurs.problem import Problem

        return Problem.from_input(
            self.ensemble,
            self.X,
            self.y,
            X_test=self.X_test,
            y_test=self.y_test,
            oob=method.oob,
            n_jobs=method.n_jobs,
            scoring=method.scoring,
            sample_weight=self.sample_weight,
            sample_weight_test=self.sample_weight_test,
        )


def read_inputs(
    files: InputFiles, trust: TrustOptions, out: Output, scoring: str | None = None
) -> PruningInputs:
    """Read and check everything that a pruning needs, before any work."""
    with out.show_progress("reading"):
        if files.predictions is not None:
            inputs = _read_prediction_inputs(files, trust, out, scoring)
        else:
            inputs = _read_model_inputs(files, trust, out)
        chosen_on = files.predictions or files.data
        on, test = (
            read_sample_weights(path, files.sample_weight, trust.max_unpacked)
            for path in (chosen_on, files.test)
        )
        return inputs._replace(sample_weight=on, sample_weight_test=test)


def check_input_files(files: InputFiles) -> None:
    """Refuse files that do not go together or do not exist, before anything is loaded."""
    if files.sample_weight is not None and files.sample_weight in (files.target, *files.ignore):
        raise click.UsageError(
            f"Column {files.sample_weight!r} holds weights: it cannot be the target or ignored."
        )
    if files.predictions is None:
        _check_model_usage(files)
    elif files.model is not None:
        raise click.UsageError("--predictions replaces MODEL and DATA. Give one or the other.")
    elif files.dtype:
        raise click.UsageError("--dtype is for the columns of DATA, not for --predictions.")
    elif files.test_labels is not None and files.test is None:
        raise click.UsageError("--test-labels needs --test.")
    for path in files.given_paths.values():
        require_file(path)


def load_model(path: Path, trust: TrustOptions) -> Any:
    """Load a model file, trusting what the user trusts and no more."""
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
            if "max_bytes" in error.parameters:  # on the command line, a budget has this name
                error.message = error.message.replace("{max_bytes}", "{max_unpacked}")
                error.parameters["max_unpacked"] = error.parameters.pop("max_bytes")
            raise
        except InconsistentVersionWarning as error:
            raise Refusal(
                "version",
                f"{path} was written with scikit-learn {error.original_sklearn_version}, but "
                f"{error.current_sklearn_version} is installed: it may predict differently. "
                "Install that version, or give --allow-version-mismatch.",
            ) from None


def _check_model_usage(files: InputFiles) -> None:
    for name in ("model", "data"):
        if getattr(files, name) is None:
            raise click.UsageError(f"Missing argument {name.upper()!r}, or --predictions FILE.")
    if files.target is None:
        raise click.UsageError("Which column holds the true labels? Give --target COL.")
    if files.target in files.ignore:
        raise click.UsageError(f"Column {files.target!r} is the target and cannot be ignored.")
    if files.labels is not None or files.test_labels is not None:
        raise click.UsageError("--labels and --test-labels need --predictions.")
    if files.target in dict(files.dtype):
        raise click.UsageError(f"Column {files.target!r} is the target and has no --dtype.")


def _read_model_inputs(files: InputFiles, trust: TrustOptions, out: Output) -> PruningInputs:
    assert files.model is not None
    assert files.data is not None
    assert files.target is not None
    ensemble = _recognise_ensemble(files.model, load_model(files.model, trust))
    settings = (
        files.target,
        files.excluded_columns,
        ColumnTypes.from_ensemble(ensemble, files.model, files.dtype),
    )
    X, y = read_samples(files.data, ensemble, *settings)
    check_sample_counts(files.data, y, ensemble.classes, out)
    if files.test is None:
        return PruningInputs(ensemble, X, y)
    return PruningInputs(ensemble, X, y, *read_samples(files.test, ensemble, *settings))


def _recognise_ensemble(path: Path, model: Any) -> Any:
    """Return the `Ensemble` of a model, naming its file in any refusal."""
    from secateurs.ensembles import as_ensemble

    try:
        ensemble = as_ensemble(model)
        ensemble.member_names  # noqa: B018  # some models turn out to be unusable only here
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
    limits = (files.excluded_columns, trust.max_unpacked)
    numbers = is_regression_scoring(scoring)
    found = read_predictions(
        files.predictions, files.target, files.labels, *limits, numbers=numbers
    )
    ensemble = found.to_ensemble()
    _check_member_count(files.predictions, ensemble.n_members)
    check_sample_counts(
        files.predictions, found.y, () if found.is_regression else np.unique(found.y), out
    )
    if files.test is None:
        return PruningInputs(ensemble, None, found.y)
    test = read_predictions(
        files.test, files.target, files.test_labels, *limits, numbers=found.is_regression
    )
    check_same_members(found, test)
    return PruningInputs(ensemble, None, found.y, test.to_ensemble(), test.y)


def _check_member_count(path: Path, n_members: int) -> None:
    if n_members < 2:
        raise Refusal(
            "nothing_to_prune",
            f"{path} has {n_members} member: there is nothing to prune. Give an ensemble of more.",
        )
