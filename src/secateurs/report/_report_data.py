"""Collect the data of a report as plain JSON values; the page is rendered from them alone."""

from __future__ import annotations

import hashlib
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from secateurs import __version__
from secateurs.ensembles import Ensemble
from secateurs.evaluation.alternatives import ReportSubject, plain_parameters
from secateurs.evaluation.guards import describe_precision, find_alarms
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.report._schema import Nullable
from secateurs.report.sections import sections_for
from secateurs.report.sections._section import ReportContext
from secateurs.text_format import format_count, to_json_value
from secateurs.thread_safety import record_warnings
from secateurs.typing import JsonObject, Samples

SCHEMA = "secateurs-run/3"  # raised whenever older files can no longer be rendered
_ROWS: JsonObject = {"choosing": int, "testing": Nullable(int), "n_folds": int}
_ROWS |= {"choosing_sha256": str, "testing_sha256": Nullable(str)}
_ROWS |= {"out_of_bag": bool, "counts_labels": bool}
HEADER: JsonObject = {
    "schema": str,
    "made": {"when": str, "versions": {...: str}, "machine": str},
    "ensemble": {
        **{"name": str, "source": Nullable(str), "predicts": str, "n_members": int, "names": [str]},
        **{"classes": [str], "vote": str},
    },
    "rows": _ROWS,
    "score": {"name": str, "label": str, "larger_is_better": bool},
    "chosen": {
        **{"course": int, "label": str, "keep": int, "members": [int]},
        "parameters": {...: None},
    },
    "notes": [str],
    "method_notes": [str],
}
SHAPES: JsonObject = {}  # by the kind of predictions: "labels" or "numbers"
for _kind in ("labels", "numbers"):
    SHAPES[_kind] = HEADER | {
        name: shape for section in sections_for(_kind) for name, shape in section.shape.items()
    }


class Reportable(Protocol):
    """A result to report: `secateurs.Pruning`, `secateurs.Comparison` or `secateurs.Frontier`."""

    def featured(
        self,
        X_test: Samples = None,
        y_test: ArrayLike | None = None,
        *,
        X: Samples = None,
        sample_weight: ArrayLike | None = None,
        sensitive_features: ArrayLike | str | None = None,
    ) -> ReportSubject:
        """Return the pruning to report, evaluated next to other methods."""


def report_data(
    result: Reportable,
    X_test: Samples = None,
    y_test: ArrayLike | None = None,
    *,
    X: Samples = None,
    sample_weight: ArrayLike | None = None,
    sensitive_features: ArrayLike | str | None = None,
    command: Sequence[str] | None = None,
    source: str | None = None,
) -> JsonObject:
    """Collect everything that a report shows, as plain JSON values.

    Parameters
    ----------
    result : Pruning, Comparison or Frontier
        The result of `secateurs.prune`, `secateurs.compare` or `secateurs.frontier`.
    X_test, y_test : array-like, optional
        Test set: samples used neither for training nor for selection, and their true labels. If
        predictions were pruned, pass predictions of the same members on other samples. By default,
        scores are cross-validated on the validation set. A comparison has its own test set.
    X : array-like, optional
        The validation samples of a pruning. With them, cross-validated scores use the ensemble's
        own vote. By default they count labels, because a pruning stores nothing else.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the test samples.
    sensitive_features : array-like of shape (n_samples,) or str, optional
        The subgroup of each test sample, or the name of a column of X_test. By default, the column
        that `prune` used for the validation samples.
    command : sequence of str, optional
        The beginning of the equivalent command line, such as
        ``["secateurs", "prune", "forest.skops", "rows.csv", "--target", "churn"]``.
    source : str, optional
        Name of the file that holds the ensemble, for the title.

    Returns
    -------
    dict
        Input of `secateurs.report.render`. `secateurs.report.write_run` writes it as JSON, and
        `secateurs.report.load_run` reads it.

    See Also
    --------
    render : Render the page from the data.

    Examples
    --------
    >>> from secateurs import prune
    >>> from secateurs.report import report_data
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> data = report_data(prune(votes, None, [0, 0, 1, 1] * 5, "comep", 2))
    >>> data["chosen"]["members"]
    [0, 1]
    """
    context = ReportContext(
        result.featured(
            X_test, y_test, X=X, sample_weight=sample_weight, sensitive_features=sensitive_features
        ),
        command,
    )
    # Warnings become notes on the page, and are raised again for the caller, each once.
    with record_warnings() as recorded:
        data = _header_data(context, source)
        for section in sections_for(data["ensemble"]["predicts"]):
            data |= section.collect_data(context)
    warned = {str(warning): warning for warning in recorded}
    for message in warned.values():
        warnings.warn(message, stacklevel=2)
    evaluation = context.evaluation
    problem, measured = context.problem, context.measured
    tolerance = getattr(result, "tolerance", None)  # a comparison has none
    alarms = find_alarms(problem, measured, tolerance)
    alarms += describe_precision(problem, measured, tolerance)
    data["notes"] = list(
        dict.fromkeys(
            [*evaluation.notes_on_figures, *context.curve.selection.notes, *warned, *alarms]
        )
    )
    data["method_notes"] = evaluation.notes_on_methods(context.method_name)
    return to_json_value(data)


def _header_data(context: ReportContext, source: str | None) -> JsonObject:
    """Return the data for the top of the page, and the data that several sections use."""
    problem, ensemble = context.problem, context.problem.ensemble
    test = problem.test_predictions if problem.has_test_set else None
    predicts = "numbers" if problem.is_regression else "labels"
    vote = "probabilities" if ensemble.is_soft and predicts == "labels" else predicts
    return {
        "schema": SCHEMA,
        "made": _run_environment(),
        "ensemble": {
            "name": _ensemble_title(ensemble),
            "source": source,
            "predicts": predicts,
            "n_members": ensemble.n_members,
            "names": [str(name) for name in ensemble.member_names],
            "classes": [str(label) for label in context.classes],
            "vote": vote if ensemble.weights is None else f"weighted {vote}",
        },
        "score": {
            "name": problem.scoring.name,
            "label": problem.scoring.label,
            "larger_is_better": problem.scoring.larger_is_better,
        },
        "rows": {
            "choosing": problem.predictions.n_samples,
            "choosing_sha256": _prediction_digest(problem.predictions),
            "testing": test and test.n_samples,
            "testing_sha256": test and _prediction_digest(test),
            "n_folds": context.evaluation_plan.n_selections - 1,
            "out_of_bag": problem.oob,
            "counts_labels": context.evaluation_plan.scored_samples.counts_labels,
        },
        "chosen": {
            "course": list(context.evaluation.curves).index(context.method_name),
            "label": context.method_name,
            "keep": context.keep,
            "members": context.kept_members,
            "parameters": plain_parameters(context.pruner),
        },
    }


def _ensemble_title(ensemble: Ensemble) -> str:
    """Return a title for an ensemble: its class, or the number of its models or predictions."""
    if isinstance(ensemble, PredictionTable):
        return f"Predictions of {format_count(ensemble.n_members, 'member')}"
    if isinstance(ensemble.model, (Mapping, list, tuple)):
        return format_count(ensemble.n_members, "model")
    return type(ensemble.model).__name__


def report_title(data: JsonObject) -> str:
    """Return the title of a report: the ensemble, and the file it comes from if known."""
    name, source = data["ensemble"]["name"], data["ensemble"]["source"]
    if source is None:
        return str(name)
    is_class = " " not in name
    return f"{name} of {source}" if is_class else f"{source}, {name[:1].lower()}{name[1:]}"


def _run_environment() -> JsonObject:
    """Return the time, the versions of the main packages and the machine."""
    packages = ("numpy", "scipy", "scikit-learn")
    versions = {"secateurs": __version__, "python": platform.python_version()}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in packages},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _prediction_digest(predictions: Votes | Predictions) -> str:
    """Return a hash of predictions and true values, to recognise the same samples in two runs."""
    if isinstance(predictions, Predictions):
        values = predictions.cells
    else:
        values = predictions.packed.decode()
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes())
    digest.update(np.ascontiguousarray(predictions.truth).tobytes())
    return digest.hexdigest()
