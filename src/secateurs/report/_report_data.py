"""What a report shows, as plain values: the page is made of these and nothing else."""

from __future__ import annotations

import hashlib
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from secateurs import __version__
from secateurs.ensembles import Ensemble
from secateurs.evaluation.alternatives import ReportSubject, plain_parameters
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.report._schema import Nullable
from secateurs.report.sections import sections_for
from secateurs.report.sections._section import JsonObject, ReportContext
from secateurs.text_format import format_count, to_json_value

SCHEMA = "secateurs-run/2"
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
SHAPES: JsonObject = {}  # by what members predict
for _kind in ("labels", "numbers"):
    SHAPES[_kind] = HEADER | {
        name: shape for section in sections_for(_kind) for name, shape in section.shape.items()
    }


class Reportable(Protocol):
    """A result that can be reported: `secateurs.Pruning` or `secateurs.Comparison`."""

    def featured(
        self,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> ReportSubject:
        """Return the choice to show, among others."""


def report_data(
    result: Reportable,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    command: Sequence[str] | None = None,
    source: str | None = None,
) -> JsonObject:
    """Collect everything that a report shows, in plain JSON values.

    Parameters
    ----------
    result : Pruning or Comparison
        The result of `secateurs.prune` or `secateurs.compare`.
    X_test, y_test : array-like, optional
        Rows used neither for training nor for choosing, and their true labels; for predictions,
        predictions of the same members on other rows. By default, figures are cross-fitted on the
        rows chosen on. A comparison has its own rows.
    X : array-like, optional
        The rows a pruning was chosen on. With them, cross-fitted figures follow the ensemble's own
        vote; by default they count labels, which is all that a pruning remembers.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the test rows.
    command : sequence of str, optional
        The beginning of the command line that does the same, such as
        ``["secateurs", "prune", "forest.skops", "rows.csv", "--target", "churn"]``.
    source : str, optional
        Where the ensemble comes from, for the title: the name of a file.

    Returns
    -------
    dict
        Input of `secateurs.report.render`; `secateurs.report.write_run` writes it as JSON and
        `secateurs.report.load_run` reads it.

    See Also
    --------
    render : Make the page from the data.

    Examples
    --------
    >>> from secateurs import prune
    >>> from secateurs.report import report_data
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 5
    >>> data = report_data(prune(votes, None, [0, 0, 1, 1] * 5, "comep", 2))
    >>> data["chosen"]["members"]
    [0, 1]
    """
    subject = ReportContext(
        result.featured(X_test, y_test, X=X, sample_weight=sample_weight), command
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _header_data(subject, source)
        for section in sections_for(data["ensemble"]["predicts"]):
            data |= section.collect_data(subject)
    warned = {str(warning.message): warning.message for warning in caught}
    for message in warned.values():
        warnings.warn(message, stacklevel=2)
    evaluation = subject.evaluation
    data["notes"] = list(
        dict.fromkeys([*evaluation.notes_on_figures, *subject.curve.selection.notes, *warned])
    )
    data["method_notes"] = evaluation.notes_on_methods(subject.method_name)
    return to_json_value(data)


def _header_data(subject: ReportContext, source: str | None) -> JsonObject:
    """Return what the top of the page shows, and what several sections need."""
    problem, ensemble = subject.problem, subject.problem.ensemble
    tested = problem.test_predictions if problem.has_test_set else None
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
            "classes": [str(label) for label in subject.classes],
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
            "testing": tested and tested.n_samples,
            "testing_sha256": tested and _prediction_digest(tested),
            "n_folds": subject.evaluation_plan.n_selections - 1,
            "out_of_bag": problem.oob,
            "counts_labels": subject.evaluation_plan.scored_samples.counts_labels,
        },
        "chosen": {
            "course": list(subject.evaluation.curves).index(subject.method_name),
            "label": subject.method_name,
            "keep": subject.keep,
            "members": subject.kept_members,
            "parameters": plain_parameters(subject.pruner),
        },
    }


def _ensemble_title(ensemble: Ensemble) -> str:
    """Return what was pruned, in words: the class of a model, or how many models or tables."""
    if isinstance(ensemble, PredictionTable):
        return f"Predictions of {format_count(ensemble.n_members, 'member')}"
    if isinstance(ensemble.model, (Mapping, list, tuple)):
        return format_count(ensemble.n_members, "model")
    return type(ensemble.model).__name__


def report_title(data: JsonObject) -> str:
    """Return what was pruned, in words: the file, and what kind of model it has."""
    name, source = data["ensemble"]["name"], data["ensemble"]["source"]
    if source is None:
        return str(name)
    is_class = " " not in name
    return f"{name} of {source}" if is_class else f"{source}, {name[:1].lower()}{name[1:]}"


def _run_environment() -> JsonObject:
    packages = ("numpy", "scipy", "scikit-learn")
    versions = {"secateurs": __version__, "python": platform.python_version()}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in packages},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _prediction_digest(votes: Votes | Predictions) -> str:
    """Return a hash of votes or numbers and the truth, by which rows are recognised."""
    values = votes.cells if isinstance(votes, Predictions) else votes.packed.decode()
    found = hashlib.sha256(np.ascontiguousarray(values).tobytes())
    found.update(np.ascontiguousarray(votes.truth).tobytes())
    return found.hexdigest()
