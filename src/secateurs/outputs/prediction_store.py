"""PredictionStore: probabilities or values in a folder of tiles, which workers memory-map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs._prediction_cells import empty_cells
from secateurs.outputs._store_files import StrPath, filling_lock, read_log
from secateurs.outputs.base_votes import BaseOutputs
from secateurs.outputs.fixed_point import FINEST, PROBABILITY_BITS, coarsen_steps
from secateurs.outputs.input_checks import as_target_values, check_known_labels, encode_true_labels
from secateurs.outputs.label_coding import check_class_count, plain_text
from secateurs.outputs.missing_answers import counts_as_wrong, fallback_prediction
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import Store
from secateurs.persistence.atomic_files import write_array
from secateurs.typing import Array, IndexArray, MemberIndices


@dataclass(frozen=True, eq=False, repr=False)
class PredictionStore(Store[Predictions], BaseOutputs):
    """Predictions in a folder, for ensembles and samples that do not fit into memory.

    It is like `VoteStore`, with probabilities or regression values instead of labels. Methods that
    use predictions, such as `JointErrorPruner`, read it a few members at a time. Regression values
    are rounded to the step of their tile and read in the largest step of all tiles, which gives
    the same result as a single step for all.

    Create a store with `from_scores`, with ``collect_predictions(..., store=path)``, or tile by
    tile: `create` it, and `write` each tile in `missing`.

    Attributes
    ----------
    path : Path
        The folder.
    n_members, n_samples : int
        Number of members and of samples.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty for regression.
    y : ndarray of shape (n_samples,) or None
        The codes of the true labels, or the true values of a regression.
    names : ndarray of shape (n_members,) or None
        Names of the members.
    has_missing : bool
        Whether predictions may be missing.

    See Also
    --------
    Predictions : Predictions in memory.
    VoteStore : Votes in a folder.

    Examples
    --------
    >>> import tempfile
    >>> from secateurs import JointErrorPruner, Predictions, PredictionStore
    >>> predictions = Predictions.encode([[2.5, 1.0, 3.5], [0.5, 2.0, 0.0]], y=[2.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = PredictionStore.from_scores(f"{folder}/store", predictions)
    ...     print(store, JointErrorPruner(keep=2).fit(store).member_indices_)
    PredictionStore(2 samples, 3 members) [0 1]
    """

    known_exponent: int | None = None  # of a scratch store, which has no log to read it from

    format_key = "scores"
    contents = "predictions"

    @classmethod
    def create(
        cls,
        path: StrPath,
        n_members: int,
        n_samples: int,
        classes: ArrayLike | None = None,
        *,
        y: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        has_missing: bool = False,
        **options: Any,
    ) -> PredictionStore:
        """Create an empty store, to be filled in with `write`.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        n_members, n_samples : int
            Number of members and of samples to be written.
        classes : array-like, optional
            All classes of the probabilities and true labels; None for regression.
        y : array-like of shape (n_samples,), optional
            The true labels, or the true values of a regression.
        names : sequence of str, optional
            Names of the members.
        has_missing : bool, default=False
            Whether predictions may be missing.
        **options
            ``missing``, ``content``, ``tile_members``, ``shuffle`` and ``random_state`` as for
            `VoteStore.create`.

        Returns
        -------
        PredictionStore
        """
        cls._check_new_store(path, n_members, n_samples, names=names, **options)
        sorted_classes: Array = np.empty(0)
        if classes is not None:
            sorted_classes = np.unique(plain_text(as_labels(classes, "classes")))
            check_class_count(sorted_classes)
        return cls._create_store(
            path,
            n_members,
            n_samples,
            sorted_classes,
            template=empty_cells(0, n_samples, len(sorted_classes)),
            y=None if y is None else _encode_true_values(y, sorted_classes, n_samples),
            names=names,
            has_missing=has_missing,
            **options,
        )

    @classmethod
    def from_scores(cls, path: StrPath, scores: Predictions, **options: Any) -> PredictionStore:
        """Create a store from `Predictions`; options are those of `create`."""
        store = cls._create_like(path, scores, **options)
        with filling_lock(store.path):
            for members in store.missing:
                store.write(members, scores.take(members))
        return store

    @classmethod
    def scratch(cls, path: StrPath, scores: Predictions) -> PredictionStore:
        """Create a store for one run, which processes of this machine map without any checks."""
        store = cls._create_like(path, scores, shuffle=False, tile_members=scores.n_members)
        write_array(store._tile_path(0), scores.cells, lasting=False)
        return replace(store, verified=False, known_exponent=scores.exponent)

    @property
    def exponent(self) -> int:
        """A cell of 1 stands for ``2.0**-exponent``, as in `Predictions`."""
        if not self.is_numbers:
            return PROBABILITY_BITS
        if self.known_exponent is not None:
            return self.known_exponent
        return min((tile.exponent for tile in read_log(self.path).values()), default=FINEST)

    def write(self, members: MemberIndices, scores: Predictions | ArrayLike) -> None:
        """Write a complete tile.

        Parameters
        ----------
        members : sequence of int
            One of the lists in `missing`.
        scores : Predictions or array-like
            Their predictions, in the same order; an array as for `Predictions.encode`, with a
            probability for each of the store's classes.
        """
        if isinstance(scores, Predictions):
            tile = scores
        else:
            tile = Predictions.encode(scores, classes=None if self.is_numbers else self.classes)
        if tile.is_numbers != self.is_numbers:
            kind = "regression values" if self.is_numbers else "probabilities"
            raise InputError(f"The store holds {kind}, but these are not {kind}. Pass {kind}.")
        if tile.has_missing and not self.has_missing:
            raise InputError("predictions are masked. Create the store with has_missing=True.")
        self._check_tile(members, (tile.n_members, tile.n_samples))
        self._write_cells(members, self.as_held(tile).cells, exponent=tile.exponent)

    def as_held(self, scores: Predictions) -> Predictions:
        """Return predictions with the store's classes; raise if they have other classes."""
        if self.is_numbers:
            return scores
        check_known_labels(scores.classes, self.classes, "predictions")
        return scores.among(self.classes)

    def rows(self, samples: slice) -> Predictions:
        """Load the predictions of all members on consecutive samples."""
        start, stop, step = samples.indices(self.n_samples)
        if step != 1 or stop <= start:
            raise InputError(
                f"{samples} does not select consecutive samples. Pass slice(start, stop)."
            )
        cells = empty_cells(self.n_members, stop - start, self.n_classes)
        for tile in range(self.n_tiles):
            tile_cells = self._map_checked_cells(tile)  # a checksum covers all samples of a member
            cells[self.members_of(tile)] = self._rescaled_cells(tile, tile_cells[..., start:stop])
        predictions = self._outputs_from_cells(cells, np.arange(self.n_members))
        return predictions if self.y is None else replace(predictions, y=self.y[start:stop])

    @property
    def _cell_template(self) -> Array:
        return empty_cells(0, self.n_samples, self.n_classes)

    def _extra_bits(self, tile: int) -> int:
        """Return the number of binary places by which a tile is finer than the store."""
        if not self.is_numbers or self.known_exponent is not None:
            return 0
        return read_log(self.path)[tile].exponent - self.exponent

    def _rescale_in_place(self, tile: int, cells: Array, rows: IndexArray) -> None:
        n_bits = self._extra_bits(tile)
        if n_bits:
            cells[rows] = coarsen_steps(cells[rows], n_bits)

    def _rescaled_cells(self, tile: int, cells: Array) -> Array:
        return coarsen_steps(cells, self._extra_bits(tile))

    def _encode_truth(self, y: ArrayLike) -> Array:
        return _encode_true_values(y, self.classes, self.n_samples)

    def _outputs_from_cells(self, cells: Array, members: IndexArray) -> Predictions:
        cells.flags.writeable = False
        names = self.names
        selected = None if names is None else names[members]
        fallback = None
        if counts_as_wrong(self) and self.y is not None:
            fallback = fallback_prediction(self.y, self.n_classes)
        return Predictions(
            *(cells, self.classes, self.y, selected, self.has_missing, self.exponent),
            missing_rule=self.missing_rule,
            fallback=fallback,
        )


def _encode_true_values(y: ArrayLike, classes: Array, n_samples: int) -> Array:
    """Return the codes of true labels, or the true values of a regression."""
    return (
        encode_true_labels(y, classes, n_samples)
        if len(classes)
        else as_target_values(y, n_samples)
    )
