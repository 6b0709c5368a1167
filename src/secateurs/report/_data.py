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
from secateurs._text import counted, plain
from secateurs.ensembles import Ensemble
from secateurs.evaluation._alternatives import Featured, parameters_of
from secateurs.outputs._predictions import Predictions
from secateurs.outputs._scores import Scores
from secateurs.outputs._votes import Votes
from secateurs.report._schema import Maybe
from secateurs.report.sections import sections_for
from secateurs.report.sections._section import Plain, Subject

SCHEMA = "secateurs-run/2"
_ROWS: Plain = {"choosing": int, "testing": Maybe(int), "n_folds": int}
_ROWS |= {"choosing_sha256": str, "testing_sha256": Maybe(str)}
_ROWS |= {"out_of_bag": bool, "counts_labels": bool}
HEADER: Plain = {
    "schema": str,
    "made": {"when": str, "versions": {...: str}, "machine": str},
    "ensemble": {
        **{"name": str, "source": Maybe(str), "predicts": str, "n_members": int, "names": [str]},
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
SHAPES: Plain = {}  # by what members predict
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
    ) -> Featured:
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
) -> Plain:
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
    subject = Subject(result.featured(X_test, y_test, X=X, sample_weight=sample_weight), command)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _header(subject, source)
        for section in sections_for(data["ensemble"]["predicts"]):
            data |= section.facts(subject)
    warned = {str(warning.message): warning.message for warning in caught}
    for message in warned.values():
        warnings.warn(message, stacklevel=2)
    evaluation = subject.evaluation
    data["notes"] = list(
        dict.fromkeys([*evaluation.notes_on_figures, *subject.curve.selection.notes, *warned])
    )
    data["method_notes"] = evaluation.notes_on_methods(subject.name)
    return plain(data)


def _header(subject: Subject, source: str | None) -> Plain:
    """Return what the top of the page shows, and what several sections need."""
    problem, ensemble = subject.problem, subject.problem.ensemble
    tested = problem.test_votes if problem.has_test else None
    predicts = "numbers" if problem.is_regression else "labels"
    vote = "probabilities" if ensemble.soft and predicts == "labels" else predicts
    return {
        "schema": SCHEMA,
        "made": _made(),
        "ensemble": {
            "name": _name(ensemble),
            "source": source,
            "predicts": predicts,
            "n_members": ensemble.n_members,
            "names": [str(name) for name in ensemble.names],
            "classes": [str(label) for label in subject.classes],
            "vote": vote if ensemble.weights is None else f"weighted {vote}",
        },
        "score": {
            "name": problem.scoring.name,
            "label": problem.scoring.label,
            "larger_is_better": problem.scoring.larger_is_better,
        },
        "rows": {
            "choosing": problem.votes.n_samples,
            "choosing_sha256": _digest(problem.votes),
            "testing": tested and tested.n_samples,
            "testing_sha256": tested and _digest(tested),
            "n_folds": subject.split.n_choices - 1,
            "out_of_bag": problem.oob,
            "counts_labels": subject.split.judged_on.counts_labels,
        },
        "chosen": {
            "course": list(subject.evaluation.curves).index(subject.name),
            "label": subject.name,
            "keep": subject.keep,
            "members": subject.kept,
            "parameters": parameters_of(subject.pruner),
        },
    }


def _name(ensemble: Ensemble) -> str:
    """Return what was pruned, in words: the class of a model, or how many models or tables."""
    if isinstance(ensemble, Predictions):
        return f"Predictions of {counted(ensemble.n_members, 'member')}"
    if isinstance(ensemble.model, (Mapping, list, tuple)):
        return counted(ensemble.n_members, "model")
    return type(ensemble.model).__name__


def title_of(data: Plain) -> str:
    """Return what was pruned, in words: the file, and what kind of model it has."""
    name, source = data["ensemble"]["name"], data["ensemble"]["source"]
    if source is None:
        return str(name)
    is_class = " " not in name
    return f"{name} of {source}" if is_class else f"{source}, {name[:1].lower()}{name[1:]}"


def _made() -> Plain:
    packages = ("numpy", "scipy", "scikit-learn")
    versions = {"secateurs": __version__, "python": platform.python_version()}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in packages},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _digest(votes: Votes | Scores) -> str:
    """Return a hash of votes or numbers and the truth, by which rows are recognised."""
    values = votes.cells if isinstance(votes, Scores) else votes.packed.decode()
    found = hashlib.sha256(np.ascontiguousarray(values).tobytes())
    found.update(np.ascontiguousarray(votes.truth).tobytes())
    return found.hexdigest()
