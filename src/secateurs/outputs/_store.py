"""VoteStore: votes in a folder of packed tiles, which workers map into their memory."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs import __version__
from secateurs._labels import Array, MemberIndices, as_labels
from secateurs.exceptions import InputError
from secateurs.outputs._checks import check_sizes, encode_truth
from secateurs.outputs._coding import check_number, plain_text
from secateurs.outputs._columns import Columns, columns_of, columns_of_parquet, open_zarr
from secateurs.outputs._packing import Packing, Planes, empty_packing, packing_of
from secateurs.outputs._pair_kernels import WORD_BITS
from secateurs.outputs._store_files import (
    StrPath,
    array_in,
    filling,
    lay_out,
    read_array,
    read_meta,
    writing,
)
from secateurs.outputs._store_tiles import Tiles
from secateurs.outputs._votes import Votes
from secateurs.persistence._files import check_name, write_array

_TILE_BYTES = 64 << 20
_STORED = ("id", "n_members", "n_samples", "tile_members", "has_missing")  # of meta.json


@dataclass(frozen=True, eq=False, repr=False)
class VoteStore(Tiles):
    """Votes in a folder, for ensembles and rows that do not fit into memory.

    Pruners accept it wherever they accept votes. It holds the packed votes in tiles of members,
    each a ``.npy`` file that is mapped, not read; a worker on another machine needs only the
    folder's path. Members are shuffled once when the store is created, so that any run of tiles is
    a random sample of them; indices are always those of the ensemble.

    Make one by `from_table`, `from_zarr`, `from_parquet`, by ``collect_votes(..., store=path)``,
    or tile by tile: `create` it, and `write` what is `missing`.

    Attributes
    ----------
    path : Path
        The folder.
    n_members, n_samples : int
        Number of members and of samples.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    y : ndarray of shape (n_samples,) or None
        The true labels, coded.
    names : ndarray of shape (n_members,) or None
        Names of the members.
    has_missing : bool
        Whether votes may be missing.

    See Also
    --------
    Votes : The same in memory.
    collect_votes : Collect the votes of a fitted ensemble, into a store if asked to.

    Notes
    -----
    ``meta.json`` describes the folder; ``order.npy`` has the order in which the members lie;
    ``classes.npy``, ``y.npy`` and ``names.npy`` the rest; ``tile-*.npy`` the votes; and
    ``tiles.jsonl`` a line per finished tile, with a checksum for each of its members. Every file
    appears whole or not at all, so a crash leaves a store that knows what is missing.

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

    content: str | None = None  # fingerprint of what the votes are of
    given_y: Array | None = None  # replaces the labels in the folder

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
        content: str | None = None,
        tile_members: int | None = None,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> VoteStore:
        """Create an empty store, to be filled by `write`.

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
        content : str, optional
            Fingerprint of the ensemble and the rows, to recognise them when the store is resumed.
        tile_members : int, optional
            Number of members per tile; by default as many as make 64 MB.
        shuffle : bool, default=True
            Whether members lie in random order.
        random_state : int, default=0
            Seed of that order.

        Returns
        -------
        VoteStore
        """
        target = Path(path)
        check_name(target)
        if target.exists():
            raise InputError(f"{target} exists. Give a folder that does not, or VoteStore.resume.")
        check_sizes(n_members, n_samples, tile_members, names)
        known = np.unique(plain_text(as_labels(classes, "classes")))
        check_number(known, has_missing)
        member_bytes = empty_packing(n_samples, 1, len(known) + has_missing).nbytes
        meta = {
            "secateurs": __version__,
            "id": secrets.token_hex(8),
            "n_members": n_members,
            "n_samples": n_samples,
            "has_missing": bool(has_missing),
            "content": content,
            "tile_members": tile_members or max(1, _TILE_BYTES // max(1, member_bytes)),
        }
        rng = np.random.RandomState(random_state)
        arrays = {
            "order": rng.permutation(n_members) if shuffle else np.arange(n_members),
            "classes": known,
            "y": None if y is None else encode_truth(y, known, n_samples),
            "names": None if names is None else np.array([str(name) for name in names]),
        }
        with writing(target):
            lay_out(target, meta, {name: a for name, a in arrays.items() if a is not None})
        return cls.resume(target)

    @classmethod
    def open(cls, path: StrPath) -> VoteStore:
        """Open a complete store."""
        store = cls.resume(path)
        n_missing = len(store.missing)
        if n_missing:
            raise InputError(
                f"{store.path} is half-written: {n_missing} of its {store.n_tiles} tiles are "
                "missing. Write them: VoteStore.resume, or the same collect_votes again."
            )
        return store

    @classmethod
    def resume(cls, path: StrPath) -> VoteStore:
        """Open a store that may be half-written, to write what is missing."""
        folder = Path(path).absolute()
        meta = read_meta(folder)
        for name in ("order", "y", "names"):  # read again when needed; damage is reported now
            read_array(folder, meta, name)
        return cls(
            path=folder,
            classes=np.asarray(read_array(folder, meta, "classes")),
            content=meta.get("content"),
            **{name: meta[name] for name in _STORED},
        )

    @classmethod
    def from_table(
        cls, path: StrPath, table: Any, y: ArrayLike | None = None, **options: Any
    ) -> VoteStore:
        """Write a table of labels (samples × members), some columns at a time.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        table : array-like
            Anything with a shape and slices: an array, a memory map, a zarr or h5py array; or a
            list or data frame.
        y : array-like of shape (n_samples,), optional
            The true labels.
        **options
            As for `create`.

        Returns
        -------
        VoteStore
        """
        return cls._from_columns(path, columns_of(table), y, **options)

    @classmethod
    def from_zarr(
        cls, path: StrPath, array: Any, y: ArrayLike | None = None, **options: Any
    ) -> VoteStore:
        """Write a zarr array of labels (samples × members), given itself or by its path."""
        return cls.from_table(path, open_zarr(array), y, **options)

    @classmethod
    def from_parquet(
        cls, path: StrPath, file: StrPath, y: ArrayLike | None = None, **options: Any
    ) -> VoteStore:
        """Write the columns of a Parquet file, each with the votes of one member.

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
        columns, truth = columns_of_parquet(Path(file), y)
        return cls._from_columns(path, columns, truth, **options)

    @classmethod
    def _from_columns(
        cls, path: StrPath, columns: Columns, y: ArrayLike | None, **options: Any
    ) -> VoteStore:
        check_sizes(columns.n_members, columns.n_samples)
        found = {"has_missing": columns.has_missing, "names": columns.names, **options}
        classes = found.pop("classes", None)
        if classes is None:
            classes = columns.classes(y)
        store = cls.create(path, columns.n_members, columns.n_samples, classes, y=y, **found)
        with filling(store.path):
            for members in store.missing:
                store.write(members, columns.read(members).T)
        return store

    @classmethod
    def from_votes(cls, path: StrPath, votes: Votes, **options: Any) -> VoteStore:
        """Write `Votes` as they are; options as for `create`."""
        store = cls._for_votes(path, votes, **options)
        with filling(store.path):
            for members in store.missing:
                store._write_packed(members, votes.packed.take(members))
        return store

    @classmethod
    def scratch(cls, path: StrPath, votes: Votes) -> VoteStore:
        """Write votes for processes of this machine to map: for one run, and without checks."""
        store = cls._for_votes(path, votes, shuffle=False, tile_members=votes.n_members)
        write_array(store._tile_path(0), votes.packed.cells, lasting=False)
        return store.unverified()

    @classmethod
    def _for_votes(cls, path: StrPath, votes: Votes, **options: Any) -> VoteStore:
        """Create an empty store of the shape of votes."""
        return cls.create(
            path,
            votes.n_members,
            votes.n_samples,
            votes.classes,
            y=None if votes.y is None else votes.classes[votes.y],
            names=None if votes.names is None else votes.names.tolist(),
            has_missing=votes.has_missing,
            **options,
        )

    @property
    def y(self) -> Array | None:
        """The true labels, coded; None if there are none."""
        return array_in(self.path, self.id, "y") if self.given_y is None else self.given_y

    @property
    def names(self) -> NDArray[np.object_] | None:
        """Names of the members; None if they have none."""
        return array_in(self.path, self.id, "names")

    @property
    def truth(self) -> Array:
        """The coded true labels; an error if there are none."""
        if self.y is None:
            raise InputError(f"{self} has no true labels. Give y, or write the store with y.")
        return self.y

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples that each member has a vote on."""
        voted = np.empty(self.n_members, dtype=np.int64)
        for tile in range(self.n_tiles):
            voted[self.members_of(tile)] = self.mapped(tile).n_voted
        return voted

    def take(self, members: MemberIndices) -> Votes:
        """Load the votes of some members, in the order given, and check them."""
        chosen = np.asarray(members, dtype=np.intp)
        places = self._places[chosen]
        packed = empty_packing(self.n_samples, len(chosen), self.n_codes)
        tiles, within = np.divmod(places, self.tile_members)
        for tile in np.unique(tiles):
            here = np.flatnonzero(tiles == tile)
            self._copy(int(tile), within[here], packed.cells, here)
        return self._votes(packed, chosen)

    def load(self) -> Votes:
        """Load all votes."""
        return self.take(np.arange(self.n_members))

    def mapped(self, tile: int, rows: slice = slice(None)) -> Votes:
        """Map votes of a tile's members, in the order they lie, without a copy, and check them."""
        packed = packing_of(self._cells(tile, rows), self.n_samples, self.n_codes)
        return self._votes(packed, self.members_of(tile)[rows])

    def rows(self, samples: slice) -> Votes:
        """Load the votes of all members on a run of samples that starts at a multiple of 64."""
        start, stop, step = samples.indices(self.n_samples)
        if start % WORD_BITS or step != 1 or stop <= start:
            raise InputError(
                f"{samples} is not a run of samples that starts at a multiple of {WORD_BITS}."
            )
        packed = empty_packing(stop - start, self.n_members, self.n_codes)
        first = start // packed.samples_per_cell
        last = -(-stop // packed.samples_per_cell)
        for tile in range(self.n_tiles):
            whole = self._cells(tile)  # checksums are of whole members
            packed.cells[self.members_of(tile), ..., : last - first] = whole[..., first:last]
        if isinstance(packed, Planes) and stop % WORD_BITS:  # samples beyond the end of the run
            packed.cells[..., last - first - 1] &= np.uint64((1 << stop % WORD_BITS) - 1)
        votes = self._votes(packed, np.arange(self.n_members))
        return votes if self.y is None else replace(votes, y=self.y[start:stop])

    def with_labels(self, y: ArrayLike) -> Self:
        """Return the same store with these true labels, in place of any it has."""
        return replace(self, given_y=encode_truth(y, self.classes, self.n_samples))

    def vote(
        self, members: MemberIndices, silent: Any = None, weights: ArrayLike | None = None
    ) -> Array:
        """Return the label with the most votes of some members, per sample, as `Votes.vote`."""
        return self.take(members).vote(silent=silent, weights=weights)

    def is_right(self, members: MemberIndices) -> NDArray[np.bool_]:
        """Mark the samples on which the vote of some members is right."""
        return self.take(members).is_right()

    def _votes(self, packed: Packing, members: NDArray[np.intp]) -> Votes:
        packed.freeze()
        names = self.names
        taken = None if names is None else names[members]
        return Votes(packed, self.classes, self.y, taken, self.has_missing)
