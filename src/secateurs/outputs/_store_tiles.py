"""Tiles of votes or predictions: written atomically, mapped into memory, checked when read."""

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
from secateurs.persistence.atomic_files import load_array, write_array
from secateurs.typing import Array, IndexArray, MemberIndices


@dataclass(frozen=True, eq=False, repr=False)
class TileFolder(ABC):
    """Tiles of a store, and the order of the members in them."""

    format_key: ClassVar[str]  # in meta.json: "votes" or "scores", as the format was first named
    contents: ClassVar[str]  # in messages: "votes" or "predictions"

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
        """An array of cells for zero members, with the shape and type of a member's cells."""

    @property
    def n_tiles(self) -> int:
        """Number of tiles."""
        return -(-self.n_members // self.tile_members)

    @property
    def nbytes(self) -> int:
        """Size of the cells in bytes."""
        return self.n_members * member_bytes(self._cell_template)

    @property
    def order(self) -> IndexArray:
        """The members in storage order."""
        return np.asarray(read_cached_array(self.path, self.id, "order"))

    @property
    def missing(self) -> list[IndexArray]:
        """The members of each tile that is still to be written, in storage order."""
        finished = read_log(self.path)
        return [
            self.members_of(tile)
            for tile in range(self.n_tiles)
            if tile not in finished or not self._tile_path(tile).exists()
        ]

    def members_of(self, tile: int) -> IndexArray:
        """Return the members of a tile, in storage order."""
        return self.order[tile * self.tile_members : (tile + 1) * self.tile_members]

    def unverified(self) -> Self:
        """Return the same store, which will be read without comparing checksums."""
        return replace(self, verified=False)

    def verify(self) -> list[str]:
        """Read all tiles and return a message for each tile that is damaged or missing."""
        faults = []
        for tile in range(self.n_tiles):
            try:
                forget_checks(self._tile_path(tile))
                replace(self, verified=True)._map_checked_cells(tile)
            except InputError as error:
                faults.append(str(error))
        return faults

    @property
    def _storage_indices(self) -> IndexArray:
        return storage_indices(self.path, self.id)

    def _tile_path(self, tile: int) -> Path:
        return self.path / f"tile-{tile:05d}.npy"

    def _check_tile(self, members: MemberIndices, shape: tuple[int, ...]) -> None:
        """Raise an error unless members and shape are those of a complete tile."""
        storage_index = int(np.argmax(self.order == members[0])) if len(members) else 0
        expected = self.members_of(storage_index // self.tile_members)
        if not np.array_equal(members, expected) or shape != (len(expected), self.n_samples):
            raise InputError(
                f"{self.contents.capitalize()} of shape {shape} for {len(members)} members are not "
                "a complete tile. Pass the members as `missing` lists them, with "
                f"{self.n_samples} {self.contents} each."
            )

    def _write_cells(self, members: MemberIndices, cells: Array, **log_entry: int) -> None:
        """Write a complete tile and its line in the log, with further entries."""
        tile = int(self._storage_indices[members[0]]) // self.tile_members
        file = self._tile_path(tile)
        n_tiles = self.n_tiles
        with (
            convert_write_errors(
                self.path, lambda: f"{n_tiles - len(self.missing)} of {n_tiles} tiles are"
            ),
            tile_lock(self.path),
        ):
            for temporary in self.path.glob(f".*-{file.name}"):  # left by a crash
                temporary.unlink()
            write_array(file, cells)
            line = {"tile": tile, "crc32": [zlib.crc32(own) for own in cells], **log_entry}
            append_line(self.path / LOG, json.dumps(line, separators=(",", ":")))

    def _map_checked_cells(self, tile: int, rows: slice = slice(None)) -> Array:
        """Return the cells of a tile, mapped into memory and checked."""
        sums = self._tile_checksums(tile)
        with reading_file(self._tile_path(tile)):
            mapped = self._map_tile(tile)
            indices = np.arange(len(mapped))[rows]
            self._check_cells(tile, indices, mapped, indices, sums)
            return mapped[rows]

    def _copy_cells(self, tile: int, rows: IndexArray, cells: Array, targets: IndexArray) -> None:
        """Copy the cells of some members of a tile to the target rows of an array; check them."""
        sums = self._tile_checksums(tile)
        with reading_file(self._tile_path(tile)):
            mapped = self._map_tile(tile)
            copy_member_cells(mapped, rows, cells, targets)
            self._check_cells(tile, rows, cells, targets, sums)

    def _tile_checksums(self, tile: int) -> Sequence[int] | None:
        entry = read_log(self.path).get(tile) if self.verified else None
        return None if entry is None else entry.crc32

    def _map_tile(self, tile: int) -> Array:
        """Map the file of a tile into memory, and check its shape."""
        cells: Array = np.asarray(load_array(self._tile_path(tile), mmap_mode="r"))
        template = self._cell_template
        shape = (len(self.members_of(tile)), *template.shape[1:])
        if cells.shape != shape or cells.dtype != template.dtype:
            raise InputError(
                f"has shape {cells.shape} and type {cells.dtype} instead of {shape} and "
                f"{template.dtype}. Delete the file and resume the store."
            )
        if not cells.flags.c_contiguous:
            raise ValueError("the array is not C-contiguous")
        return cells

    def _check_cells(
        self,
        tile: int,
        rows: IndexArray,
        cells: Array,
        targets: IndexArray,
        sums: Sequence[int] | None,
    ) -> None:
        """Compare the target rows of an array with the checksums of a tile's members.

        Each member is checked once per process and version of the file.
        """
        if not self.verified:
            return
        if sums is None:
            raise InputError(
                "is not listed as finished: the store is half-written. Resume the store."
            )
        checked = checked_members(self._tile_path(tile), len(sums))
        for index in np.flatnonzero(~checked[rows]):
            row = rows[index]
            if zlib.crc32(cells[targets[index]]) != sums[row]:
                raise InputError(
                    f"is damaged: the {self.contents} of member {self.members_of(tile)[row]} are "
                    "not as written. Delete the file and resume the store."
                )
            checked[row] = True


def member_bytes(template: Array) -> int:
    """Return the size of one member's cells in bytes, given an array with the cells of members."""
    return math.prod(template.shape[1:]) * template.itemsize
