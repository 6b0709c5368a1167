"""Tiles of votes or scores in a folder: written whole, mapped into memory, checked when read."""

from __future__ import annotations

import json
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from secateurs.exceptions import InputError, reading_file
from secateurs.outputs._store_files import (
    LOG,
    append_line,
    checked_members,
    convert_write_errors,
    forget_checks,
    read_cached_array,
    read_log,
    storage_indices,
    tile_lock,
)
from secateurs.outputs.vote_packing import copy_member_cells
from secateurs.persistence.atomic_files import write_array
from secateurs.typing import Array, MemberIndices


@dataclass(frozen=True, eq=False, repr=False)
class TileFolder(ABC):
    """Tiles of a store, and the order in which members lie in them."""

    of: ClassVar[str]  # what they hold: votes or scores

    path: Path
    id: str
    n_members: int
    n_samples: int
    tile_members: int
    has_missing: bool
    classes: Array
    verified: bool = True

    @property
    @abstractmethod
    def _cell_template(self) -> Array:
        """Cells of no member: the shape of a member's cells, and their type."""

    @property
    def n_tiles(self) -> int:
        """Number of tiles."""
        return -(-self.n_members // self.tile_members)

    @property
    def nbytes(self) -> int:
        """Number of bytes that the cells take."""
        return self.n_members * member_bytes(self._cell_template)

    @property
    def order(self) -> NDArray[np.intp]:
        """The members, in the order in which they lie."""
        return np.asarray(read_cached_array(self.path, self.id, "order"))

    @property
    def missing(self) -> list[NDArray[np.intp]]:
        """The members of each tile that is still to be written, in the order they lie."""
        finished = read_log(self.path)
        return [
            self.members_of(tile)
            for tile in range(self.n_tiles)
            if tile not in finished or not self._tile_path(tile).exists()
        ]

    def members_of(self, tile: int) -> NDArray[np.intp]:
        """Return the members of a tile, in the order they lie."""
        return self.order[tile * self.tile_members : (tile + 1) * self.tile_members]

    def unverified(self) -> Self:
        """Return the same store, read without comparing checksums."""
        return replace(self, verified=False)

    def verify(self) -> list[str]:
        """Read everything once and return what is damaged or missing, a line per tile."""
        faults = []
        for tile in range(self.n_tiles):
            try:
                forget_checks(self._tile_path(tile))
                replace(self, verified=True)._map_checked_cells(tile)
            except InputError as error:
                faults.append(str(error))
        return faults

    @property
    def _storage_indices(self) -> NDArray[np.intp]:
        return storage_indices(self.path, self.id)

    def _tile_path(self, tile: int) -> Path:
        return self.path / f"tile-{tile:05d}.npy"

    def _check_tile(self, members: MemberIndices, shape: tuple[int, ...]) -> None:
        place = int(np.argmax(self.order == members[0])) if len(members) else 0
        expected = self.members_of(place // self.tile_members)
        if not np.array_equal(members, expected) or shape != (len(expected), self.n_samples):
            raise InputError(
                f"{self.of.capitalize()} of shape {shape} of {len(members)} members are not a "
                "complete tile. Give the members as `missing` lists them, with "
                f"{self.n_samples} {self.of} each."
            )

    def _write_cells(self, members: MemberIndices, cells: Array, **noted: int) -> None:
        """Write a whole tile; what is noted stands in the log."""
        tile = int(self._storage_indices[members[0]]) // self.tile_members
        file = self._tile_path(tile)
        n_tiles = self.n_tiles
        with (
            convert_write_errors(
                self.path, lambda: f"{n_tiles - len(self.missing)} of {n_tiles} tiles are"
            ),
            tile_lock(self.path),
        ):
            for torn in self.path.glob(f".*-{file.name}"):  # left by a crash
                torn.unlink()
            write_array(file, cells)
            line = {"tile": tile, "crc32": [zlib.crc32(own) for own in cells], **noted}
            append_line(self.path / LOG, json.dumps(line, separators=(",", ":")))

    def _map_checked_cells(self, tile: int, rows: slice = slice(None)) -> Array:
        """Map the cells of a tile's members, and check them."""
        sums = self._tile_checksums(tile)
        with reading_file(self._tile_path(tile)):
            mapped = self._map_tile(tile)
            within = np.arange(len(mapped))[rows]
            self._check_cells(tile, within, mapped, within, sums)
            return mapped[rows]

    def _copy_cells(
        self, tile: int, rows: NDArray[np.intp], cells: Array, places: NDArray[np.intp]
    ) -> None:
        """Copy cells of some of a tile's members to places of an array, and check them."""
        sums = self._tile_checksums(tile)
        with reading_file(self._tile_path(tile)):
            mapped = self._map_tile(tile)
            copy_member_cells(mapped, rows, cells, places)
            self._check_cells(tile, rows, cells, places, sums)

    def _tile_checksums(self, tile: int) -> Sequence[int] | None:
        entry = read_log(self.path).get(tile) if self.verified else None
        return None if entry is None else entry.crc32

    def _map_tile(self, tile: int) -> Array:
        cells: Array = np.asarray(open_memmap(self._tile_path(tile), mode="r"))
        like = self._cell_template
        shape = (len(self.members_of(tile)), *like.shape[1:])
        if cells.shape != shape or cells.dtype != like.dtype:
            raise InputError(f"holds {cells.shape} of {cells.dtype}, not {shape} of {like.dtype}.")
        if not cells.flags.c_contiguous:
            raise ValueError("members do not lie one after another")
        return cells

    def _check_cells(
        self,
        tile: int,
        rows: NDArray[np.intp],
        cells: Array,
        places: NDArray[np.intp],
        sums: Sequence[int] | None,
    ) -> None:
        """Compare the checksums of a tile's members with what lies at some places of an array.

        A process does so once per member of a file.
        """
        if not self.verified:
            return
        if sums is None:
            raise InputError("is not listed as finished: the store is half-written. Resume it.")
        checked = checked_members(self._tile_path(tile), len(sums))
        for index in np.flatnonzero(~checked[rows]):
            row = rows[index]
            if zlib.crc32(cells[places[index]]) != sums[row]:
                raise InputError(
                    f"is damaged: the {self.of} of member {self.members_of(tile)[row]} are not "
                    "those written. Delete the file and resume the store."
                )
            checked[row] = True


def member_bytes(like: Array) -> int:
    """Return the number of bytes that one member's cells take, given those of no member."""
    return math.prod(like.shape[1:]) * like.itemsize
