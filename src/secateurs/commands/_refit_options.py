"""Options about refitting, pruned branches and slim files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from secateurs.commands._column_types import ColumnTypes
from secateurs.commands._labelled_samples import known_features, read_features
from secateurs.commands._table_files import require_file
from secateurs.commands.shared_options import SLIM, InputFiles, bundle_options, file_option, option

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.ensembles import Ensemble
    from secateurs.typing import Array


@dataclass(frozen=True)
class RefitCommandOptions:
    """Options of `secateurs prune` about refitting, branches and slim files."""

    refit: bool | None = None
    unlabelled: Path | None = None
    branches: bool | None = None
    max_nodes: int | None = None
    slim: bool = False

    def check_options(self, files: InputFiles, has_keep: bool, has_budget: bool) -> None:
        """Raise if options exclude each other, before any file is read."""
        if files.predictions is not None and self != RefitCommandOptions():
            raise click.UsageError(
                "--refit, --unlabelled, --branches, --max-nodes and --slim need MODEL, not "
                "--predictions."
            )
        if self.refit is False and self.unlabelled is not None:
            raise click.UsageError("--unlabelled is for refitting. Leave out --no-refit.")
        if self.max_nodes is not None and has_keep:
            raise click.UsageError("--keep and --max-nodes exclude each other. Pass only one.")
        if self.branches and not (has_budget or self.max_nodes is not None):
            raise click.UsageError("--branches needs a budget, such as --max-bytes or --max-nodes.")
        if self.unlabelled is not None:
            require_file(self.unlabelled)

    def prune_parameters(self, ensemble: Ensemble, files: InputFiles) -> dict[str, Any]:
        """Return the parameters of `secateurs.prune`, with the unlabelled samples read."""
        return {
            "refit": self.refit,
            "X_unlabelled": self._read_unlabelled(ensemble, files),
            "branches": "auto" if self.branches is None else self.branches,
            "max_nodes": self.max_nodes,
        }

    def _read_unlabelled(
        self, ensemble: Ensemble, files: InputFiles
    ) -> pd.DataFrame | Array | None:
        """Return the samples of ``--unlabelled``; its target and ignored columns are optional."""
        if self.unlabelled is None:
            return None
        types = ColumnTypes.from_ensemble(ensemble, files.model, files.dtype)
        excluded = files.excluded_columns(known_features(ensemble)[0])
        optional = [name for name in (files.target, *excluded) if name is not None]
        return read_features(
            self.unlabelled, ensemble, replace(types, excluded_columns=optional), optional
        )


REFIT_OPTIONS = bundle_options(
    "refitting",
    RefitCommandOptions,
    option(
        "--refit/--no-refit",
        default=None,
        help="Refit the leaves of the kept trees so that they imitate the full ensemble, corrected "
        "by the labels. Default: with --pruner auto, if that helps by an honest estimate.",
    ),
    file_option(
        "--unlabelled",
        help="Further samples for refitting, such as the training set if DATA was held out. A "
        "target column is ignored.",
    ),
    option(
        "--branches/--no-branches",
        default=None,
        help="Prune branches of trees to meet --max-bytes, --max-nodes or --max-latency. Default: "
        "if the trees are refitted and it imitates the full ensemble better than whole trees.",
    ),
    option(
        "--max-nodes",
        type=click.IntRange(min=1),
        metavar="N",
        help="Keep at most N nodes of trees.",
    ),
    SLIM,
)
