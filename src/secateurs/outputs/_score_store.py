"""ScoreStore: scores in a folder of tiles, which workers map into their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs._labels import Array, MemberIndices, as_labels
from secateurs._text import counted
from secateurs.exceptions import InputError
from secateurs.outputs._checks import as_numbers, check_known, encode_truth
from secateurs.outputs._coding import check_number, plain_text
from secateurs.outputs._fixed_point import FINEST, PROBABILITY_BITS, coarsen
from secateurs.outputs._score_cells import empty_cells
from secateurs.outputs._scores import Scores
from secateurs.outputs._store_base import Store
from secateurs.outputs._store_files import StrPath, filling, read_log
from secateurs.persistence._files import write_array


@dataclass(frozen=True, eq=False, repr=False)
class ScoreStore(Store[Scores]):
    """Scores in a folder, for ensembles and rows that do not fit into memory.

    As `VoteStore`, with probabilities or numbers in place of labels. Methods that work with
    scores, such as `JointErrorPruner`, read it some members at a time. Numbers take the step of the
    tile they lie in; they are read in the largest of these steps, which gives just what one step
    for all would have given.

    Make one by `from_scores`, by ``collect_scores(..., store=path)``, or tile by tile: `create` it,
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
    Scores : The same in memory.
    VoteStore : Labels instead.

    Examples
    --------
    >>> import tempfile
    >>> from secateurs import JointErrorPruner, Scores, ScoreStore
    >>> scores = Scores.encode([[2.5, 1.0, 3.5], [0.5, 2.0, 0.0]], y=[2.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ScoreStore.from_scores(f"{folder}/scores", scores)
    ...     print(store, JointErrorPruner(keep=2).fit(store).member_indices_)
    ScoreStore(2 samples, 3 members) [0 1]
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
    ) -> ScoreStore:
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
        ScoreStore
        """
        cls._check_new(path, n_members, n_samples, names=names, **options)
        known = np.empty(0)
        if classes is not None:
            known = np.unique(plain_text(as_labels(classes, "classes")))
            check_number(known)
        return cls._create(
            path,
            n_members,
            n_samples,
            known,
            like=empty_cells(0, n_samples, len(known)),
            y=None if y is None else _coded(y, known, n_samples),
            names=names,
            has_missing=has_missing,
            **options,
        )

    @classmethod
    def from_scores(cls, path: StrPath, scores: Scores, **options: Any) -> ScoreStore:
        """Write `Scores` as they are; options as for `create`."""
        store = cls._for_scores(path, scores, **options)
        with filling(store.path):
            for members in store.missing:
                store.write(members, scores.take(members))
        return store

    @classmethod
    def scratch(cls, path: StrPath, scores: Scores) -> ScoreStore:
        """Write scores for processes of this machine to map: for one run, and without checks."""
        store = cls._for_scores(path, scores, shuffle=False, tile_members=scores.n_members)
        write_array(store._tile_path(0), scores.cells, lasting=False)
        return replace(store, verified=False, known_exponent=scores.exponent)

    @classmethod
    def _for_scores(cls, path: StrPath, scores: Scores, **options: Any) -> ScoreStore:
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
        """A cell of 1 stands for ``2.0**-exponent``, as in `Scores`."""
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
        scores : Scores or array-like
            Their scores, in that order; an array as `Scores.encode` takes it, with a probability
            for each of the store's classes.
        """
        part = scores
        if not isinstance(scores, Scores):
            part = Scores.encode(scores, classes=None if self.is_numbers else self.classes)
        if part.is_numbers != self.is_numbers:
            held = "numbers" if self.is_numbers else "probabilities"
            raise InputError(f"The store is of {held}, these scores are not. Give {held}.")
        if part.has_missing and not self.has_missing:
            raise InputError("scores are masked. Create the store with has_missing=True.")
        self._check_tile(members, (part.n_members, part.n_samples))
        self._write_cells(members, self.as_held(part).cells, exponent=part.exponent)

    def as_held(self, scores: Scores) -> Scores:
        """Return scores among the store's classes; an error if they are of others."""
        if self.is_numbers:
            return scores
        check_known(scores.classes, self.classes, "scores")
        return scores.among(self.classes)

    def rows(self, samples: slice) -> Scores:
        """Load the scores of all members on a run of samples."""
        start, stop, step = samples.indices(self.n_samples)
        if step != 1 or stop <= start:
            raise InputError(f"{samples} is not a run of samples.")
        cells = empty_cells(self.n_members, stop - start, self.n_classes)
        for tile in range(self.n_tiles):
            whole = self._cells(tile)  # checksums are of whole members
            cells[self.members_of(tile)] = self._settled(tile, whole[..., start:stop])
        scores = self._outputs(cells, np.arange(self.n_members))
        return scores if self.y is None else replace(scores, y=self.y[start:stop])

    @property
    def _like(self) -> Array:
        return empty_cells(0, self.n_samples, self.n_classes)

    def _finer_by(self, tile: int) -> int:
        """Return by how many places a tile's numbers are finer than those of the store."""
        if not self.is_numbers or self.known_exponent is not None:
            return 0
        return read_log(self.path)[tile].exponent - self.exponent

    def _settle(self, tile: int, cells: Array, places: NDArray[np.intp]) -> None:
        by = self._finer_by(tile)
        if by:
            cells[places] = coarsen(cells[places], by)

    def _settled(self, tile: int, cells: Array) -> Array:
        return coarsen(cells, self._finer_by(tile))

    def _coded(self, y: ArrayLike) -> Array:
        return _coded(y, self.classes, self.n_samples)

    def _outputs(self, cells: Array, members: NDArray[np.intp]) -> Scores:
        cells.flags.writeable = False
        names = self.names
        taken = None if names is None else names[members]
        return Scores(cells, self.classes, self.y, taken, self.has_missing, self.exponent)

    def __repr__(self) -> str:
        shape = f"{counted(self.n_samples, 'sample')}, {counted(self.n_members, 'member')}"
        shape += "" if self.is_numbers else f", {counted(self.n_classes, 'class')}"
        return f"ScoreStore({shape})"


def _coded(y: ArrayLike, classes: Array, n_samples: int) -> Array:
    """Return the truth as a store holds it."""
    return encode_truth(y, classes, n_samples) if len(classes) else as_numbers(y, n_samples)
