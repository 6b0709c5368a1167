"""Votes too many for memory: a folder of packed tiles that workers map into theirs."""

import json
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike, NDArray

from secateurs import __version__
from secateurs._labels import Array, as_labels, merge_classes
from secateurs.exceptions import InputError, reading
from secateurs.outputs._coding import (
    check_number,
    code_column,
    code_dtype,
    encode,
    find_classes,
    mark_missing,
)
from secateurs.outputs._columns import (
    Columns,
    columns_of,
    columns_of_parquet,
    open_zarr,
    plain_text,
)
from secateurs.outputs._kernels import WORD_BITS, copy_rows
from secateurs.outputs._packing import Packing, Planes, flat, pack, packing_of
from secateurs.outputs._store_files import (
    LOG,
    append_line,
    array_in,
    checked_rows,
    forget_checks,
    lay_out,
    places_in,
    read_array,
    read_log,
    read_meta,
    writing,
)
from secateurs.outputs._votes import Votes, as_column, table_blocks
from secateurs.persistence._files import write_array

_TILE_BYTES = 64 << 20
_READ_LATER = ("order", "y", "names")  # again, by whoever needs them; damage is told at once

Members = Sequence[int] | NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class VoteStore:
    """Votes in a folder, for ensembles and rows that no memory holds.

    Pruners take it wherever they take votes. It holds the packed votes in tiles of members, each a
    ``.npy`` file that is mapped, not read; a worker on another machine needs the folder's path
    and nothing else. Members are shuffled once when it is written, so that any run of tiles is a
    random sample of them; indices are always those of the ensemble.

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

    Notes
    -----
    ``meta.json`` says what the folder holds; ``order.npy`` in what order the members lie;
    ``classes.npy``, ``y.npy`` and ``names.npy`` the rest; ``tile-*.npy`` the votes; and
    ``tiles.jsonl``, a line for each finished tile, with a checksum for each of its members. Every
    file appears whole or not at all, so a crash leaves a store that says what is missing.

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

    path: Path
    id: str
    n_members: int
    n_samples: int
    tile_members: int
    has_missing: bool
    classes: Array
    content: str | None = None  # fingerprint of what the votes are of
    given_y: Array | None = None  # in the place of the folder's own
    verified: bool = True

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
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
    ) -> "VoteStore":
        """Make an empty store, to be filled by `write`.

        Parameters
        ----------
        path : path
            The folder, which must not exist.
        n_members, n_samples : int
            What will be written.
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
            Members of a tile; without it as many as make 64 MB.
        shuffle : bool, default=True
            Whether members lie in random order.
        random_state : int, default=0
            Draws that order.

        Returns
        -------
        VoteStore
        """
        target = Path(path)
        if target.exists():
            raise InputError(f"{target} exists. Give a folder that does not, or VoteStore.resume.")
        _check_sizes(n_members, n_samples, tile_members, names)
        known = np.unique(plain_text(as_labels(classes, "classes")))
        check_number(known, has_missing)
        bytes_a_member = pack(n_samples, 1, len(known) + has_missing).nbytes
        meta = {
            "secateurs": __version__,
            "id": secrets.token_hex(8),
            "n_members": n_members,
            "n_samples": n_samples,
            "has_missing": bool(has_missing),
            "content": content,
            "tile_members": tile_members or max(1, _TILE_BYTES // max(1, bytes_a_member)),
        }
        rng = np.random.RandomState(random_state)
        arrays = {
            "order": rng.permutation(n_members) if shuffle else np.arange(n_members),
            "classes": known,
            "y": None if y is None else _coded(y, known, n_samples),
            "names": None if names is None else np.array([str(name) for name in names]),
        }
        with writing(target):
            lay_out(target, meta, {name: a for name, a in arrays.items() if a is not None})
        return cls.resume(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "VoteStore":
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
    def resume(cls, path: str | os.PathLike[str]) -> "VoteStore":
        """Open a store that may be half-written, to write what is missing."""
        folder = Path(path).absolute()
        meta = read_meta(folder)
        arrays = {name: read_array(folder, meta, name) for name in ("classes", *_READ_LATER)}
        return cls(
            path=folder,
            id=meta["id"],
            n_members=meta["n_members"],
            n_samples=meta["n_samples"],
            tile_members=meta["tile_members"],
            has_missing=meta["has_missing"],
            classes=np.asarray(arrays["classes"]),
            content=meta.get("content"),
        )

    @classmethod
    def from_table(
        cls, path: str | os.PathLike[str], table: Any, y: ArrayLike | None = None, **options: Any
    ) -> "VoteStore":
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
        return cls._from_columns(path, columns_of(table), y, options)

    @classmethod
    def scratch(cls, path: str | os.PathLike[str], votes: Votes) -> "VoteStore":
        """Write votes for processes of this machine to map: for one run, and without checks."""
        store = cls._for_votes(path, votes, shuffle=False, tile_members=votes.n_members)
        write_array(store._tile_path(0), votes.packed.cells, lasting=False)
        return store.unverified()

    @classmethod
    def from_votes(cls, path: str | os.PathLike[str], votes: Votes, **options: Any) -> "VoteStore":
        """Write `Votes` as they are; options as for `create`."""
        store = cls._for_votes(path, votes, **options)
        for members in store.missing:
            store._write_packed(members, votes.packed.take(members))
        return store

    @classmethod
    def _for_votes(cls, path: str | os.PathLike[str], votes: Votes, **options: Any) -> "VoteStore":
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

    @classmethod
    def from_zarr(
        cls, path: str | os.PathLike[str], array: Any, y: ArrayLike | None = None, **options: Any
    ) -> "VoteStore":
        """Write a zarr array of labels (samples × members), given itself or by its path."""
        return cls.from_table(path, open_zarr(array), y, **options)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        file: str | os.PathLike[str],
        y: ArrayLike | None = None,
        **options: Any,
    ) -> "VoteStore":
        """Write the columns of a Parquet file, each a member's votes.

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
        return cls._from_columns(path, columns, truth, options)

    @classmethod
    def _from_columns(
        cls,
        path: str | os.PathLike[str],
        columns: Columns,
        y: ArrayLike | None,
        options: Mapping[str, Any],
    ) -> "VoteStore":
        _check_sizes(columns.n_members, columns.n_samples)
        found = {"has_missing": columns.has_missing, "names": columns.names, **options}
        classes = found.pop("classes", None)
        if classes is None:
            classes = columns.classes(y)
        store = cls.create(path, columns.n_members, columns.n_samples, classes, y=y, **found)
        for members in store.missing:
            store.write(members, columns.read(members).T)
        return store

    @property
    def n_classes(self) -> int:
        """Number of distinct labels."""
        return len(self.classes)

    @property
    def n_tiles(self) -> int:
        """Number of tiles."""
        return -(-self.n_members // self.tile_members)

    @property
    def nbytes(self) -> int:
        """Bytes that the packed votes take."""
        return self.n_members * pack(self.n_samples, 1, self._n_codes).nbytes

    @property
    def y(self) -> Array | None:
        """The true labels, coded; None if there are none."""
        return array_in(self.path, self.id, "y") if self.given_y is None else self.given_y

    @property
    def names(self) -> NDArray[np.object_] | None:
        """Names of the members; None if they have none."""
        return array_in(self.path, self.id, "names")

    @property
    def order(self) -> NDArray[np.intp]:
        """The members, in the order in which they lie."""
        return np.asarray(array_in(self.path, self.id, "order"))

    @property
    def truth(self) -> Array:
        """The coded true labels; an error where there are none."""
        if self.y is None:
            raise ValueError(f"{self} has no true labels. Give y, or write the store with y.")
        return self.y

    @property
    def missing(self) -> list[NDArray[np.intp]]:
        """The members of each tile that is still to be written, in the order they lie."""
        finished = read_log(self.path)
        return [
            self.members_of(tile)
            for tile in range(self.n_tiles)
            if tile not in finished or not self._tile_path(tile).exists()
        ]

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples that each member has a vote on."""
        voted = np.empty(self.n_members, dtype=np.int64)
        for tile in range(self.n_tiles):
            voted[self.members_of(tile)] = self.mapped(tile).n_voted
        return voted

    def member_blocks(self, first: int = 0, n_rows: int = 1) -> Iterator[slice]:
        """Cut the members from one on into slices whose tables against n_rows are small."""
        return table_blocks(self, first, n_rows)

    def write(self, members: Members, votes: ArrayLike) -> None:
        """Write a whole tile.

        Parameters
        ----------
        members : sequence of int
            One of the lists that `missing` gives.
        votes : array-like of shape (len(members), n_samples)
            Their labels, member by member; masked where missing.
        """
        mask = np.ma.getmaskarray(np.ma.asanyarray(votes)) if np.ma.is_masked(votes) else None
        if mask is None:
            labels = as_labels(votes, "votes")
        elif self.has_missing:
            labels = as_labels(np.where(mask, self.classes[0], np.ma.getdata(votes)), "votes")
        else:
            raise InputError("votes are masked. Create the store with has_missing=True.")
        self._check_tile(members, labels.shape)
        _refuse_unknown(find_classes(labels), self.classes, "votes")
        codes = encode(labels, self.classes)
        self.write_codes(
            members, codes if mask is None else mark_missing(codes, mask, self.n_classes)
        )

    def places_of(self, labels: Array) -> NDArray[np.intp]:
        """Give the places of labels among the classes; an error for one that is not there."""
        _refuse_unknown(labels, self.classes, "votes")
        return np.searchsorted(self.classes, plain_text(labels))

    def write_codes(self, members: Members, codes: Array) -> None:
        """Write a whole tile of coded votes: places among the classes, behind them if missing."""
        self._check_tile(members, codes.shape)
        if not 0 <= codes.min() <= codes.max() < self._n_codes:
            raise InputError(
                f"Votes hold codes from {codes.min()} to {codes.max()}, but the store has "
                f"{self._n_codes} codes: "
                f"{self.n_classes} classes{', and one for missing votes' * self.has_missing}."
            )
        packed = pack(self.n_samples, len(codes), self._n_codes)
        packed.write(0, np.ascontiguousarray(codes.T, dtype=code_dtype(self._n_codes)))
        self._write_packed(members, packed)

    def _check_tile(self, members: Members, shape: tuple[int, ...]) -> None:
        place = int(np.argmax(self.order == members[0])) if len(members) else 0
        expected = self.members_of(place // self.tile_members)
        if not np.array_equal(members, expected) or shape != (len(expected), self.n_samples):
            raise InputError(
                f"Votes of shape {shape} of these {len(members)} members are no tile. Give "
                f"the members as `missing` lists them, with {self.n_samples} votes each."
            )

    def _write_packed(self, members: Members, packed: Packing) -> None:
        tile = int(self._places[members[0]]) // self.tile_members
        file = self._tile_path(tile)
        with writing(self.path, self._progress):
            for torn in self.path.glob(f".*-{file.name}"):  # left by a crash
                torn.unlink()
            write_array(file, packed.cells)
            line = {"tile": tile, "crc32": [zlib.crc32(cells) for cells in packed.cells]}
            append_line(self.path / LOG, json.dumps(line, separators=(",", ":")))

    def _progress(self) -> str:
        return f"{self.n_tiles - len(self.missing)} of {self.n_tiles} tiles are"

    def take(self, members: Members) -> Votes:
        """Load the votes of some members, in the order given, and check them."""
        chosen = np.asarray(members, dtype=np.intp)
        places = self._places[chosen]
        packed = pack(self.n_samples, len(chosen), self._n_codes)
        tiles, within = np.divmod(places, self.tile_members)
        for tile in np.unique(tiles):
            here = np.flatnonzero(tiles == tile)
            self._copy(int(tile), within[here], packed.cells, here)
        return self._votes(packed, chosen)

    def load(self) -> Votes:
        """Load all votes."""
        return self.take(np.arange(self.n_members))

    def mapped(self, tile: int, rows: slice = slice(None)) -> Votes:
        """Map votes of a tile's members, in the order they lie, and check them; no copy is made."""
        packed = packing_of(self._cells(tile, rows), self.n_samples, self._n_codes)
        return self._votes(packed, self.members_of(tile)[rows])

    def rows(self, samples: slice) -> Votes:
        """Load the votes of all members on a run of samples that starts at a multiple of 64."""
        start, stop, step = samples.indices(self.n_samples)
        if start % WORD_BITS or step != 1 or stop <= start:
            raise InputError(
                f"{samples} is no run of samples that starts at a multiple of {WORD_BITS}."
            )
        packed = pack(stop - start, self.n_members, self._n_codes)
        first = start // packed.samples_a_cell
        last = -(-stop // packed.samples_a_cell)
        for tile in range(self.n_tiles):
            whole = self._cells(tile)  # checksums are of whole members
            packed.cells[self.members_of(tile), ..., : last - first] = whole[..., first:last]
        if isinstance(packed, Planes) and stop % WORD_BITS:  # samples beyond the end of the run
            packed.cells[..., last - first - 1] &= np.uint64((1 << stop % WORD_BITS) - 1)
        votes = self._votes(packed, np.arange(self.n_members))
        return votes if self.y is None else replace(votes, y=self.y[start:stop])

    def with_labels(self, y: ArrayLike) -> Self:
        """Put true labels beside the votes, in the place of any that were there."""
        return replace(self, given_y=_coded(y, self.classes, self.n_samples))

    def unverified(self) -> Self:
        """Leave out the checksums."""
        return replace(self, verified=False)

    def verify(self) -> list[str]:
        """Read everything once and say which tiles are damaged or missing."""
        faults = []
        for tile in range(self.n_tiles):
            try:
                forget_checks(self._tile_path(tile))
                replace(self, verified=True)._cells(tile)
            except InputError as error:
                faults.append(str(error))
        return faults

    def vote(self, members: Members) -> Array:
        """Give the label with the most votes of some members for each sample."""
        return self.take(members).vote()

    def is_right(self, members: Members) -> NDArray[np.bool_]:
        """Say on which samples the vote of some members is right."""
        return self.take(members).is_right()

    def members_of(self, tile: int) -> NDArray[np.intp]:
        """Give the members of a tile, in the order they lie."""
        return self.order[tile * self.tile_members : (tile + 1) * self.tile_members]

    @property
    def _n_codes(self) -> int:
        return self.n_classes + self.has_missing

    @property
    def _places(self) -> NDArray[np.intp]:
        return places_in(self.path, self.id)

    def _tile_path(self, tile: int) -> Path:
        return self.path / f"tile-{tile:05d}.npy"

    def _cells(self, tile: int, rows: slice = slice(None)) -> Array:
        """Map what is held of a tile's members, and check it."""
        sums = self._sums(tile)
        with reading(self._tile_path(tile)):
            mapped = self._map(tile)
            within = np.arange(len(mapped))[rows]
            self._check(tile, within, mapped, within, sums)
            return mapped[rows]

    def _copy(
        self, tile: int, rows: NDArray[np.intp], cells: Array, places: NDArray[np.intp]
    ) -> None:
        """Copy what is held of some of a tile's members to places of another array; check it."""
        sums = self._sums(tile)
        with reading(self._tile_path(tile)):
            mapped = self._map(tile)
            copy_rows(flat(mapped), rows, flat(cells), places)
            self._check(tile, rows, cells, places, sums)

    def _sums(self, tile: int) -> Sequence[int] | None:
        return read_log(self.path).get(tile) if self.verified else None

    def _map(self, tile: int) -> Array:
        cells: Array = np.asarray(open_memmap(self._tile_path(tile), mode="r"))
        like = pack(self.n_samples, 0, self._n_codes).cells
        shape = (len(self.members_of(tile)), *like.shape[1:])
        if cells.shape != shape or cells.dtype != like.dtype:
            raise InputError(f"holds {cells.shape} of {cells.dtype}, not {shape} of {like.dtype}.")
        if not cells.flags.c_contiguous:
            raise ValueError("members do not lie one after another")
        return cells

    def _check(
        self,
        tile: int,
        rows: NDArray[np.intp],
        cells: Array,
        places: NDArray[np.intp],
        sums: Sequence[int] | None,
    ) -> None:
        """Compare the checksums of a tile's members with what lies at some places of an array.

        A process does so once for each member of a file.
        """
        if not self.verified:
            return
        if sums is None:
            raise InputError("is not listed as finished: the store is half-written. Resume it.")
        checked = checked_rows(self._tile_path(tile), len(sums))
        for index in np.flatnonzero(~checked[rows]):
            row = rows[index]
            if zlib.crc32(cells[places[index]]) != sums[row]:
                raise InputError(
                    f"is damaged: the votes of member {self.members_of(tile)[row]} are not those "
                    "written. Delete the file and resume the store."
                )
            checked[row] = True

    def _votes(self, packed: Packing, members: NDArray[np.intp]) -> Votes:
        packed.freeze()
        names = self.names
        taken = None if names is None else names[members]
        return Votes(packed, self.classes, self.y, taken, self.has_missing)

    def __repr__(self) -> str:
        return (
            f"VoteStore({self.n_samples} samples, {self.n_members} members, "
            f"{self.n_classes} classes)"
        )


def _check_sizes(
    n_members: int,
    n_samples: int,
    tile_members: int | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Refuse a store that cannot be, before any work."""
    if n_members < 1 or n_samples < 1:
        raise InputError(f"A store of {n_members} members and {n_samples} samples is empty.")
    if tile_members is not None and tile_members < 1:
        raise InputError(f"tile_members={tile_members} is no number of members. Give 1 or more.")
    if names is not None and len(names) != n_members:
        raise InputError(f"There are {len(names)} names for {n_members} members. Give one each.")


def _coded(y: ArrayLike, classes: Array, n_samples: int) -> Array:
    truth = as_column(y)
    if len(truth) != n_samples:
        raise InputError(
            f"The store has {n_samples} samples but y has {len(truth)} labels. Give one true label "
            "for each sample."
        )
    _refuse_unknown(find_classes(truth), classes, "y")
    return code_column(truth, classes)


def _refuse_unknown(labels: Array, classes: Array, name: str) -> None:
    found = plain_text(labels)
    if len(merge_classes(classes, found)) > len(classes):  # refuses text beside numbers
        unknown = np.setdiff1d(found, classes).tolist()[0]
        raise InputError(
            f"{name} holds the label {unknown!r}, which is none of the store's {len(classes)} "
            "classes. Create the store with all of them."
        )
