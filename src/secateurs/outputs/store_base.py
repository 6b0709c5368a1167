"""What stores of votes and stores of scores have in common, above their tiles."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs import __version__
from secateurs.exceptions import InputError
from secateurs.outputs._store_files import (
    StrPath,
    convert_write_errors,
    create_store_folder,
    read_array,
    read_cached_array,
    read_meta,
)
from secateurs.outputs._store_tiles import TileFolder, member_bytes
from secateurs.outputs.input_checks import check_store_sizes
from secateurs.persistence.atomic_files import check_path_encoding
from secateurs.typing import Array, MemberIndices

_TILE_BYTES = 64 << 20
_STORED = ("id", "n_members", "n_samples", "tile_members", "has_missing")  # of meta.json

Outputs = TypeVar("Outputs", bound=Any)


@dataclass(frozen=True, eq=False, repr=False)
class Store(TileFolder, Generic[Outputs]):
    """A folder of tiles with what members predict, the truth, and the members' names."""

    content: str | None = None  # fingerprint of what the store is of
    given_y: Array | None = None  # replaces the truth in the folder

    @classmethod
    def _create_store(
        cls,
        path: StrPath,
        n_members: int,
        n_samples: int,
        classes: Array,
        *,
        like: Array,
        y: Array | None,
        names: Sequence[str] | None,
        has_missing: bool,
        content: str | None = None,
        tile_members: int | None = None,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> Self:
        """Create an empty store of cells like those given; the truth is coded already."""
        target = Path(path)
        meta = {
            "secateurs": __version__,
            "id": secrets.token_hex(8),
            "n_members": n_members,
            "n_samples": n_samples,
            "has_missing": bool(has_missing),
            "content": content,
            "tile_members": tile_members or max(1, _TILE_BYTES // max(1, member_bytes(like))),
        }
        rng = np.random.RandomState(random_state)
        arrays = {
            "order": rng.permutation(n_members) if shuffle else np.arange(n_members),
            "classes": classes,
            "y": y,
            "names": None if names is None else np.array([str(name) for name in names]),
        }
        with convert_write_errors(target):
            create_store_folder(
                target, cls.of, meta, {name: a for name, a in arrays.items() if a is not None}
            )
        return cls.resume(target)

    @classmethod
    def _check_new_store(
        cls,
        path: StrPath,
        n_members: int,
        n_samples: int,
        tile_members: int | None = None,
        names: Sequence[str] | None = None,
        **_: Any,
    ) -> None:
        """Refuse a folder that exists, and sizes that a store cannot have."""
        check_path_encoding(Path(path))
        if Path(path).exists():
            raise InputError(
                f"{Path(path)} exists. Give a folder that does not, or {cls.__name__}.resume."
            )
        check_store_sizes(n_members, n_samples, tile_members, names)

    @classmethod
    def open(cls, path: StrPath) -> Self:
        """Open a complete store."""
        store = cls.resume(path)
        n_missing = len(store.missing)
        if n_missing:
            raise InputError(
                f"{store.path} is half-written: {n_missing} of its {store.n_tiles} tiles are "
                f"missing. Write them: {cls.__name__}.resume, or the same collect_{cls.of} again."
            )
        return store

    @classmethod
    def resume(cls, path: StrPath) -> Self:
        """Open a store that may be half-written, to write what is missing."""
        folder = Path(path).absolute()
        meta = read_meta(folder, cls.of)
        for name in ("order", "y", "names"):  # read again when needed; damage is reported now
            read_array(folder, meta, name)
        return cls(
            path=folder,
            classes=np.asarray(read_array(folder, meta, "classes")),
            content=meta.get("content"),
            **{name: meta[name] for name in _STORED},
        )

    @property
    def y(self) -> Array | None:
        """The truth: labels, coded, or numbers; None if there is none."""
        return read_cached_array(self.path, self.id, "y") if self.given_y is None else self.given_y

    @property
    def names(self) -> NDArray[np.object_] | None:
        """Names of the members; None if they have none."""
        return read_cached_array(self.path, self.id, "names")

    @property
    def truth(self) -> Array:
        """The truth; an error if there is none."""
        if self.y is None:
            raise InputError(f"{self} has no true labels. Give y, or write the store with y.")
        return self.y

    @property
    def n_voted(self) -> NDArray[np.int64]:
        """Number of samples on which each member predicts."""
        voted = np.empty(self.n_members, dtype=np.int64)
        for tile in range(self.n_tiles):
            voted[self.members_of(tile)] = self.mapped(tile).n_voted
        return voted

    def take(self, members: MemberIndices) -> Outputs:
        """Load what some members predict, in the order given, and check it."""
        chosen = np.asarray(members, dtype=np.intp)
        like = self._cell_template
        cells = np.empty((len(chosen), *like.shape[1:]), dtype=like.dtype)
        tiles, within = np.divmod(self._storage_indices[chosen], self.tile_members)
        for tile in np.unique(tiles):
            here = np.flatnonzero(tiles == tile)
            self._copy_cells(int(tile), within[here], cells, here)
            self._rescale_in_place(int(tile), cells, here)
        return self._outputs_from_cells(cells, chosen)

    def load(self) -> Outputs:
        """Load what all members predict."""
        return self.take(np.arange(self.n_members))

    def mapped(self, tile: int, rows: slice = slice(None)) -> Outputs:
        """Map a tile's members, in the order they lie, without a copy, and check them."""
        cells = self._rescaled_cells(tile, self._map_checked_cells(tile, rows))
        return self._outputs_from_cells(cells, self.members_of(tile)[rows])

    def with_labels(self, y: ArrayLike) -> Self:
        """Return the same store with this truth, in place of any it has."""
        return replace(self, given_y=self._encode_truth(y))

    def vote(
        self, members: MemberIndices, silent: Any = None, weights: ArrayLike | None = None
    ) -> Array:
        """Return what some members predict together, per sample."""
        vote: Array = self.take(members).vote(silent=silent, weights=weights)
        return vote

    def _rescale_in_place(self, tile: int, cells: Array, places: NDArray[np.intp]) -> None:
        """Bring a tile's cells, at some places of an array, to the form that all share."""

    def _rescaled_cells(self, tile: int, cells: Array) -> Array:
        """Return a tile's cells in the form that all share."""
        return cells

    @abstractmethod
    def _encode_truth(self, y: ArrayLike) -> Array:
        """Return the truth as the store holds it."""

    @abstractmethod
    def _outputs_from_cells(self, cells: Array, members: NDArray[np.intp]) -> Outputs:
        """Return what some members predict, from their cells."""

    @abstractmethod
    def rows(self, samples: slice) -> Outputs:
        """Load what all members predict on a run of samples."""


def load_into_memory(outputs: Any) -> Any:
    """Return votes or scores, loaded where they are in a store."""
    return outputs.load() if isinstance(outputs, Store) else outputs
