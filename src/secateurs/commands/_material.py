"""What a pruning starts from: a model and rows, or predictions; read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from secateurs.commands._errors import Refusal
from secateurs.commands._input import about, require_file, sha256
from secateurs.commands._models import check_usable, load_model
from secateurs.commands._options import Files, Trust
from secateurs.commands._output import Output
from secateurs.commands._rows import check_counts, read_rows
from secateurs.commands._votes import check_same_members, read_predictions


@dataclass(frozen=True)
class Material:
    """An ensemble, rows to choose on, and rows to test on if there are any.

    Attributes
    ----------
    ensemble, X, y : object
        What `secateurs.prune` takes; X is None with predictions.
    X_test, y_test : object or None
        Rows to test on.
    title : str
        What the ensemble is.
    n_members, n_rows, n_test : int
        Sizes.
    inputs : mapping
        The files read, each with its SHA-256.
    """

    ensemble: Any
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    title: str
    n_members: int
    inputs: Mapping[str, Mapping[str, str]]

    @property
    def n_rows(self) -> int:
        """Number of rows to choose on."""
        return len(self.y)

    @property
    def headline(self) -> str:
        """Say on one line what there is."""
        test = f"{len(self.y_test):,} to test on" if self.y_test is not None else "none to test on"
        size = f"{self.n_members:,} members · {self.n_rows:,} rows to choose on"
        return f"{self.title} · {size} · {test}"


def gather(files: Files, trust: Trust, out: Output) -> Material:
    """Read and check everything that a pruning needs, before any work."""
    with out.progress("reading"):
        return _predictions(files, out) if files.predictions else _model(files, trust, out)


def check_files(files: Files) -> None:
    """Refuse what does not go together, and files that are none, before anything is loaded."""
    _check_usage(files)
    named = (files.model, files.data, files.predictions, files.labels, files.test)
    for path in (*named, files.test_labels):
        if path is not None:
            require_file(path)


def _check_usage(files: Files) -> None:
    if files.predictions is not None:
        if files.model is not None:
            raise click.UsageError("--predictions goes without MODEL and DATA.")
        if files.test_labels is not None and files.test is None:
            raise click.UsageError("--test-labels goes with --test.")
        return
    for name in ("model", "data"):
        if getattr(files, name) is None:
            raise click.UsageError(f"Missing argument {name.upper()!r}, or --predictions FILE.")
    if files.target is None:
        raise click.UsageError("Which column holds the true labels? Give --target COL.")
    if files.target in files.ignore:
        raise click.UsageError(f"Column {files.target!r} is the target and cannot be ignored.")
    if files.labels is not None or files.test_labels is not None:
        raise click.UsageError("--labels and --test-labels go with --predictions.")


def _model(files: Files, trust: Trust, out: Output) -> Material:
    assert files.model is not None
    assert files.data is not None
    assert files.target is not None
    model = load_model(files.model, trust)
    known = check_usable(files.model, model)
    rows = read_rows(files.data, known, files.target, files.ignore)
    check_counts(files.data, rows.y, known.classes, out)
    test = None
    if files.test is not None:
        test = read_rows(files.test, known, files.target, files.ignore)
    return Material(
        ensemble=model,
        X=rows.X,
        y=rows.y,
        X_test=None if test is None else test.X,
        y_test=None if test is None else test.y,
        title=type(known.model).__name__,
        n_members=known.n_members,
        inputs=_hashes(model=files.model, data=files.data, test=files.test),
    )


def _predictions(files: Files, out: Output) -> Material:
    import numpy as np

    from secateurs.outputs._predictions import Predictions

    assert files.predictions is not None
    found = read_predictions(files.predictions, files.target, files.labels, files.ignore)
    with about(files.predictions):
        n_members = Predictions(found.table).n_members
    if n_members < 2:
        raise Refusal(
            "nothing_to_prune", f"{files.predictions} has 1 member: there is nothing to prune."
        )
    check_counts(files.predictions, found.y, np.unique(found.y), out)
    test = None
    if files.test is not None:
        test = read_predictions(files.test, files.target, files.test_labels, files.ignore)
        check_same_members(found, test)
        with about(files.test):
            Predictions(test.table)
    return Material(
        ensemble=found.table,
        X=None,
        y=found.y,
        X_test=None if test is None else test.table,
        y_test=None if test is None else test.y,
        title="predictions",
        n_members=n_members,
        inputs=_hashes(
            predictions=files.predictions,
            labels=files.labels,
            test=files.test,
            test_labels=files.test_labels,
        ),
    )


def _hashes(**paths: Path | None) -> dict[str, dict[str, str]]:
    return {
        name: {"file": path.name, "sha256": sha256(path)}
        for name, path in paths.items()
        if path is not None
    }
