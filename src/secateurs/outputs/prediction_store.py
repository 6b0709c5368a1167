"""PredictionStore: scores in a folder of tiles, which workers map into their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs._prediction_cells import empty_cells
from secateurs.outputs._store_files import StrPath, filling_lock, read_log
from secateurs.outputs.fixed_point import FINEST, PROBABILITY_BITS, coarsen_steps
from secateurs.outputs.input_checks import as_target_values, check_known_labels, encode_true_labels
from secateurs.outputs.label_coding import check_class_count, plain_text
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import Store
from secateurs.persistence.atomic_files import write_array
from secateurs.text_format import format_count
from secateurs.typing import Array, MemberIndices


@dataclass(frozen=True, eq=False, repr=False)
class PredictionStore(Store[Predictions]):
    """Scores in a folder, for ensembles and rows that do not fit into memory.

    As `VoteStore`, with probabilities or numbers in place of labels. Methods that work with
    scores, such as `JointErrorPruner`, read it some members at a time. Numbers take the step of the
    tile they lie in; they are read in the largest of these steps, which gives just what one step
    for all would have given.

    Make one by `from_scores`, by ``collect_predictions(..., store=path)``, or tile by tile: `create` it,
    and `write` what is `missing`.

    Attributes
    ----------
    path : Path
        The folder.
    n_members, n_samples : int
        Number of members and of samples.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty for numbers.
    y : ndarray of shape (n_samples,) or None
        The true labels, coded, or the true numbers.
    names : ndarray of shape (n_members,) or None
        Names of the members.
    has_missing : bool
        Whether values may be missing.

    See Also
    --------
    Predictions : The same in memory.
    VoteStore : Labels instead.

    Examples
    --------
    >>> import tempfile
    >>> from secateurs import JointErrorPruner, Predictions, PredictionStore
    >>> scores = Predictions.encode([[2.5, 1.0, 3.5], [0.5, 2.0, 0.0]], y=[2.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = PredictionStore.from_scores(f"{folder}/scores", scores)
    ...     print(store, JointErrorPruner(keep=2).fit(store).member_indices_)
    PredictionStore(2 samples, 3 members) [0 1]
    """

    known_exponent: int | None = None  # of a store without a log

    of = "scores"

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
        """Create an empty store, to be filled by `write`.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        n_members, n_samples : int
            Number of members and of samples to be written.
        classes : array-like, optional
            All labels that probabilities and true labels are of; none for numbers.
        y : array-like of shape (n_samples,), optional
            The true labels, or the true numbers.
        names : sequence of str, optional
            Names of the members.
        has_missing : bool, default=False
            Whether values may be missing.
        **options
            ``content``, ``tile_members``, ``shuffle`` and ``random_state`` as for
            `VoteStore.create`.

        Returns
        -------
        PredictionStore
        """
        cls._check_new_store(path, n_members, n_samples, names=names, **options)
        known = np.empty(0)
        if classes is not None:
            known = np.unique(plain_text(as_labels(classes, "classes")))
            check_class_count(known)
        return cls._create_store(
            path,
            n_members,
            n_samples,
            known,
            like=empty_cells(0, n_samples, len(known)),
            y=None if y is None else _encode_true_values(y, known, n_samples),
            names=names,
            has_missing=has_missing,
            **options,
        )

    @classmethod
    def from_scores(cls, path: StrPath, scores: Predictions, **options: Any) -> PredictionStore:
        """Write `Predictions` as they are; options as for `create`."""
        store = cls._create_like(path, scores, **options)
        with filling_lock(store.path):
            for members in store.missing:
                store.write(members, scores.take(members))
        return store

    @classmethod
    def scratch(cls, path: StrPath, scores: Predictions) -> PredictionStore:
        """Write scores for processes of this machine to map: for one run, and without checks."""
        store = cls._create_like(path, scores, shuffle=False, tile_members=scores.n_members)
        write_array(store._tile_path(0), scores.cells, lasting=False)
        return replace(store, verified=False, known_exponent=scores.exponent)

    @classmethod
    def _create_like(cls, path: StrPath, scores: Predictions, **options: Any) -> PredictionStore:
        """Create an empty store of the shape of scores."""
        y = scores.y
        return cls.create(
            path,
            scores.n_members,
            scores.n_samples,
            None if scores.is_numbers else scores.classes,
            y=y if y is None or scores.is_numbers else scores.classes[y],
            names=None if scores.names is None else scores.names.tolist(),
            has_missing=scores.has_missing,
            **options,
        )

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for numbers."""
        return len(self.classes)

    @property
    def is_numbers(self) -> bool:
        """Whether these are numbers, of regressors, rather than probabilities."""
        return self.n_classes == 0

    @property
    def exponent(self) -> int:
        """A cell of 1 stands for ``2.0**-exponent``, as in `Predictions`."""
        if not self.is_numbers:
            return PROBABILITY_BITS
        if self.known_exponent is not None:
            return self.known_exponent
        return min((tile.exponent for tile in read_log(self.path).values()), default=FINEST)

    def write(self, members: MemberIndices, scores: Any) -> None:
        """Write a whole tile.

        Parameters
        ----------
        members : sequence of int
            One of the lists in `missing`.
        scores : Predictions or array-like
            Their scores, in that order; an array as `Predictions.encode` takes it, with a probability
            for each of the store's classes.
        """
        part = scores
        if not isinstance(scores, Predictions):
            part = Predictions.encode(scores, classes=None if self.is_numbers else self.classes)
        if part.is_numbers != self.is_numbers:
            held = "numbers" if self.is_numbers else "probabilities"
            raise InputError(f"The store is of {held}, these scores are not. Give {held}.")
        if part.has_missing and not self.has_missing:
            raise InputError("scores are masked. Create the store with has_missing=True.")
        self._check_tile(members, (part.n_members, part.n_samples))
        self._write_cells(members, self.as_held(part).cells, exponent=part.exponent)

    def as_held(self, scores: Predictions) -> Predictions:
        """Return scores among the store's classes; an error if they are of others."""
        if self.is_numbers:
            return scores
        check_known_labels(scores.classes, self.classes, "scores")
        return scores.among(self.classes)

    def rows(self, samples: slice) -> Predictions:
        """Load the scores of all members on a run of samples."""
        start, stop, step = samples.indices(self.n_samples)
        if step != 1 or stop <= start:
            raise InputError(f"{samples} is not a run of samples.")
        cells = empty_cells(self.n_members, stop - start, self.n_classes)
        for tile in range(self.n_tiles):
            whole = self._map_checked_cells(tile)  # checksums are of whole members
            cells[self.members_of(tile)] = self._rescaled_cells(tile, whole[..., start:stop])
        scores = self._outputs_from_cells(cells, np.arange(self.n_members))
        return scores if self.y is None else replace(scores, y=self.y[start:stop])

    @property
    def _cell_template(self) -> Array:
        return empty_cells(0, self.n_samples, self.n_classes)

    def _extra_bits(self, tile: int) -> int:
        """Return by how many places a tile's numbers are finer than those of the store."""
        if not self.is_numbers or self.known_exponent is not None:
            return 0
        return read_log(self.path)[tile].exponent - self.exponent

    def _rescale_in_place(self, tile: int, cells: Array, places: NDArray[np.intp]) -> None:
        by = self._extra_bits(tile)
        if by:
            cells[places] = coarsen_steps(cells[places], by)

    def _rescaled_cells(self, tile: int, cells: Array) -> Array:
        return coarsen_steps(cells, self._extra_bits(tile))

    def _encode_truth(self, y: ArrayLike) -> Array:
        return _encode_true_values(y, self.classes, self.n_samples)

    def _outputs_from_cells(self, cells: Array, members: NDArray[np.intp]) -> Predictions:
        cells.flags.writeable = False
        names = self.names
        taken = None if names is None else names[members]
        return Predictions(cells, self.classes, self.y, taken, self.has_missing, self.exponent)

    def __repr__(self) -> str:
        shape = (
            f"{format_count(self.n_samples, 'sample')}, {format_count(self.n_members, 'member')}"
        )
        shape += "" if self.is_numbers else f", {format_count(self.n_classes, 'class')}"
        return f"PredictionStore({shape})"


def _encode_true_values(y: ArrayLike, classes: Array, n_samples: int) -> Array:
    """Return the truth as a store holds it."""
    return (
        encode_true_labels(y, classes, n_samples)
        if len(classes)
        else as_target_values(y, n_samples)
    )
