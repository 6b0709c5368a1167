"""VoteStore: votes in a folder of packed tiles, which workers memory-map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.labels import as_labels
from secateurs.outputs._label_columns import (
    LabelColumns,
    as_label_columns,
    open_parquet_columns,
    open_zarr,
)
from secateurs.outputs._store_files import StrPath, filling_lock
from secateurs.outputs.base_votes import BaseVotes
from secateurs.outputs.bit_kernels import WORD_BITS
from secateurs.outputs.input_checks import check_known_labels, check_store_sizes, encode_true_labels
from secateurs.outputs.label_coding import (
    check_class_count,
    code_dtype,
    encode_labels,
    find_classes,
    mark_missing,
    plain_text,
)
from secateurs.outputs.store_base import Store
from secateurs.outputs.vote_packing import (
    BitPlanes,
    PackedVotes,
    empty_packed_votes,
    packed_from_cells,
)
from secateurs.outputs.votes import Votes
from secateurs.persistence.atomic_files import write_array
from secateurs.typing import Array, BoolArray, IndexArray, MemberIndices, MissingRule


@dataclass(frozen=True, eq=False, repr=False)
class VoteStore(Store[Votes], BaseVotes):
    """Votes in a folder, for ensembles and samples that do not fit into memory.

    Pruners accept it wherever they accept votes. It holds the packed votes in tiles of members,
    each a ``.npy`` file that is memory-mapped; a worker on another machine needs only the folder's
    path. Members are shuffled once when the store is created, so that any sequence of tiles is a
    random sample of the members; indices always refer to the ensemble.

    Create a store with `from_table`, `from_zarr` or `from_parquet`, with
    ``collect_votes(..., store=path)``, or tile by tile: `create` it, and `write` each tile in
    `missing`.

    Attributes
    ----------
    path : Path
        The folder.
    n_members, n_samples : int
        Number of members and of samples.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    y : ndarray of shape (n_samples,) or None
        The codes of the true labels.
    names : ndarray of shape (n_members,) or None
        Names of the members.
    has_missing : bool
        Whether votes may be missing.

    See Also
    --------
    Votes : Votes in memory.
    collect_votes : Collect the votes of a fitted ensemble, with ``store`` into a folder.

    Notes
    -----
    ``meta.json`` describes the store, ``order.npy`` holds the storage order of the members,
    ``classes.npy``, ``y.npy`` and ``names.npy`` hold the attributes of these names, ``tile-*.npy``
    the votes, and ``tiles.jsonl`` a line per finished tile, with a checksum for each member. Every
    file is written atomically, so that a store can be resumed after a crash.

    Examples
    --------
    >>> import tempfile
    >>> from secateurs import COMEP, VoteStore
    >>> votes, y = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]], [0, 0, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = VoteStore.from_table(f"{folder}/votes", votes, y)
    ...     print(store, COMEP(keep=2, diversity_weight=0.3).fit(store).member_indices_)
    VoteStore(4 samples, 4 members, 2 classes) [0 2]
    """

    format_key = contents = "votes"

    @classmethod
    def create(
        cls,
        path: StrPath,
        n_members: int,
        n_samples: int,
        classes: ArrayLike,
        *,
        y: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        has_missing: bool = False,
        missing: MissingRule = "ignore",
        content: str | None = None,
        tile_members: int | None = None,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> VoteStore:
        """Create an empty store, to be filled in with `write`.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        n_members, n_samples : int
            Number of members and of samples to be written.
        classes : array-like
            All labels that votes and true labels may have.
        y : array-like of shape (n_samples,), optional
            The true labels.
        names : sequence of str, optional
            Names of the members.
        has_missing : bool, default=False
            Whether votes may be missing.
        missing : {"ignore", "wrong"}, default="ignore"
            What a missing vote means, as for `Votes.encode`.
        content : str, optional
            Fingerprint of the ensemble and the samples, which is compared when votes are added.
        tile_members : int, optional
            Number of members per tile; by default, a tile has up to 64 MB.
        shuffle : bool, default=True
            Whether members are stored in random order.
        random_state : int, default=0
            Seed of the random order.

        Returns
        -------
        VoteStore
        """
        cls._check_new_store(path, n_members, n_samples, tile_members, names)
        sorted_classes = np.unique(plain_text(as_labels(classes, "classes")))
        check_class_count(sorted_classes, has_missing)
        return cls._create_store(
            path,
            n_members,
            n_samples,
            sorted_classes,
            template=empty_packed_votes(n_samples, 0, len(sorted_classes) + has_missing).cells,
            y=None if y is None else encode_true_labels(y, sorted_classes, n_samples),
            names=names,
            has_missing=has_missing,
            missing=missing,
            content=content,
            tile_members=tile_members,
            shuffle=shuffle,
            random_state=random_state,
        )

    @classmethod
    def from_table(
        cls, path: StrPath, table: object, y: ArrayLike | None = None, **options: Any
    ) -> VoteStore:
        """Create a store from a table of labels (samples × members), read in blocks of columns.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        table : array-like
            An object with a shape and slices, such as an array, a memory map, a zarr or h5py
            array; or a list or data frame.
        y : array-like of shape (n_samples,), optional
            The true labels.
        **options
            As for `create`.

        Returns
        -------
        VoteStore
        """
        return cls._from_columns(path, as_label_columns(table), y, **options)

    @classmethod
    def from_zarr(
        cls, path: StrPath, array: object, y: ArrayLike | None = None, **options: Any
    ) -> VoteStore:
        """Create a store from a zarr array of labels (samples × members), or from its path."""
        return cls.from_table(path, open_zarr(array), y, **options)

    @classmethod
    def from_parquet(
        cls, path: StrPath, file: StrPath, y: ArrayLike | None = None, **options: Any
    ) -> VoteStore:
        """Create a store from a Parquet file whose columns are the votes of one member each.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        file : path
            The Parquet file.
        y : array-like of shape (n_samples,) or str, optional
            The true labels, or the name of the column that holds them.
        **options
            As for `create`.

        Returns
        -------
        VoteStore
        """
        columns, true_labels = open_parquet_columns(Path(file), y)
        return cls._from_columns(path, columns, true_labels, **options)

    @classmethod
    def _from_columns(
        cls, path: StrPath, columns: LabelColumns, y: ArrayLike | None, **options: Any
    ) -> VoteStore:
        """Create a store from columns of labels."""
        check_store_sizes(columns.n_members, columns.n_samples)
        options = {"has_missing": columns.has_missing, "names": columns.names, **options}
        classes = options.pop("classes", None)
        if classes is None:
            classes = columns.find_all_classes(y)
        store = cls.create(path, columns.n_members, columns.n_samples, classes, y=y, **options)
        with filling_lock(store.path):
            for members in store.missing:
                store.write(members, columns.read_members(members).T)
        return store

    @classmethod
    def from_votes(cls, path: StrPath, votes: Votes, **options: Any) -> VoteStore:
        """Create a store from `Votes`; options are those of `create`."""
        store = cls._create_like(path, votes, **options)
        with filling_lock(store.path):
            for members in store.missing:
                store._write_cells(members, votes.packed.select_members(members).cells)
        return store

    @classmethod
    def scratch(cls, path: StrPath, votes: Votes) -> VoteStore:
        """Create a store for one run, which processes of this machine map without any checks."""
        store = cls._create_like(path, votes, shuffle=False, tile_members=votes.n_members)
        write_array(store._tile_path(0), votes.packed.cells, lasting=False)
        return store.unverified()

    @property
    def n_codes(self) -> int:
        """Number of codes: one per class, and one for missing votes if there may be any."""
        return self.n_classes + self.has_missing

    def write(self, members: MemberIndices, votes: ArrayLike) -> None:
        """Write a complete tile.

        Parameters
        ----------
        members : sequence of int
            One of the lists in `missing`.
        votes : array-like of shape (len(members), n_samples)
            Their labels, in the same order; masked where missing.
        """
        mask = np.ma.getmaskarray(np.ma.asanyarray(votes)) if np.ma.is_masked(votes) else None
        if mask is None:
            labels = as_labels(votes, "votes")
        elif self.has_missing:
            labels = as_labels(np.where(mask, self.classes[0], np.ma.getdata(votes)), "votes")
        else:
            raise InputError("votes are masked. Create the store with has_missing=True.")
        self._check_tile(members, labels.shape)
        check_known_labels(find_classes(labels), self.classes, "votes")
        codes = encode_labels(labels, self.classes)
        if mask is not None:
            codes = mark_missing(codes, mask, self.n_classes)
        self.write_codes(members, codes)

    def places_of(self, labels: Array) -> IndexArray:
        """Return the indices of labels among the classes; raise if a label is not a class."""
        check_known_labels(labels, self.classes, "votes")
        return np.searchsorted(self.classes, plain_text(labels))

    def write_codes(self, members: MemberIndices, codes: Array) -> None:
        """Write a complete tile of codes: class indices, and the number of classes if missing."""
        self._check_tile(members, codes.shape)
        if not 0 <= codes.min() <= codes.max() < self.n_codes:
            raise InputError(
                f"Votes hold codes from {codes.min()} to {codes.max()}, but the store has "
                f"{self.n_codes} codes: {self.n_classes} "
                f"classes{', and one for missing votes' * self.has_missing}. Pass codes from 0 to "
                f"{self.n_codes - 1}."
            )
        packed = empty_packed_votes(self.n_samples, len(codes), self.n_codes)
        packed.write_rows(0, np.ascontiguousarray(codes.T, dtype=code_dtype(self.n_codes)))
        self._write_cells(members, packed.cells)

    def rows(self, samples: slice) -> Votes:
        """Load the votes of all members on consecutive samples that start at a multiple of 64."""
        start, stop, step = samples.indices(self.n_samples)
        if start % WORD_BITS or step != 1 or stop <= start:
            raise InputError(
                f"{samples} does not select consecutive samples that start at a multiple of "
                f"{WORD_BITS}. Pass slice(start, stop)."
            )
        packed = empty_packed_votes(stop - start, self.n_members, self.n_codes)
        first = start // packed.samples_per_cell
        last = -(-stop // packed.samples_per_cell)
        for tile in range(self.n_tiles):
            cells = self._map_checked_cells(tile)  # a checksum covers all samples of a member
            packed.cells[self.members_of(tile), ..., : last - first] = cells[..., first:last]
        if isinstance(packed, BitPlanes) and stop % WORD_BITS:  # clear the samples after the end
            packed.cells[..., last - first - 1] &= np.uint64((1 << stop % WORD_BITS) - 1)
        votes = self._votes_from_packed(packed, np.arange(self.n_members))
        return votes if self.y is None else replace(votes, y=self.y[start:stop])

    def is_right(self, members: MemberIndices) -> BoolArray:
        """Return the mask of the samples on which the vote of some members is correct."""
        return self.take(members).is_right()

    @property
    def _cell_template(self) -> Array:
        return empty_packed_votes(self.n_samples, 0, self.n_codes).cells

    def _encode_truth(self, y: ArrayLike) -> Array:
        return encode_true_labels(y, self.classes, self.n_samples)

    def _outputs_from_cells(self, cells: Array, members: IndexArray) -> Votes:
        return self._votes_from_packed(
            packed_from_cells(cells, self.n_samples, self.n_codes), members
        )

    def _votes_from_packed(self, packed: PackedVotes, members: IndexArray) -> Votes:
        packed.make_read_only()
        names = self.names
        selected = None if names is None else names[members]
        rule = self.missing_rule
        return Votes(packed, self.classes, self.y, selected, self.has_missing, missing_rule=rule)
