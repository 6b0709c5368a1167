"""The base class of vote stores and prediction stores, on top of their tiles."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

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
from secateurs.outputs.missing_answers import check_missing_rule
from secateurs.persistence.atomic_files import check_path_encoding
from secateurs.typing import Array, IndexArray, MemberIndices, MissingRule

if TYPE_CHECKING:
    from secateurs.outputs.prediction_store import PredictionStore
    from secateurs.outputs.predictions import Predictions
    from secateurs.outputs.vote_store import VoteStore
    from secateurs.outputs.votes import Votes

# A tile is written and resumed as one unit: larger tiles are fewer files, smaller ones lose less
# work in a crash.
_TILE_BYTES = 64 << 20
_META_FIELDS = ("id", "n_members", "n_samples", "tile_members", "has_missing")  # in meta.json

# Predictions of all members, encoded: in memory, or in a store on disk. Strings, because the
# modules of these classes import this one.
EncodedPredictions: TypeAlias = "Votes | Predictions | VoteStore | PredictionStore"
PredictionsLike: TypeAlias = "ArrayLike | Votes | Predictions | VoteStore | PredictionStore"
Outputs = TypeVar("Outputs", bound="Votes | Predictions")


@dataclass(frozen=True, eq=False, repr=False)
class Store(TileFolder, Generic[Outputs]):
    """A folder of tiles with members' predictions, true labels or values, and members' names."""

    content: str | None = None  # fingerprint of the ensemble and the samples
    given_y: Array | None = None  # replaces the true labels or values in the folder
    missing_rule: MissingRule = "ignore"  # what a missing prediction means, as for `Votes`

    @classmethod
    def _create_store(
        cls,
        path: StrPath,
        n_members: int,
        n_samples: int,
        classes: Array,
        *,
        template: Array,
        y: Array | None,
        names: Sequence[str] | None,
        has_missing: bool,
        missing: MissingRule = "ignore",
        content: str | None = None,
        tile_members: int | None = None,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> Self:
        """Create an empty store with cells like the template; y is already encoded."""
        target = Path(path)
        meta = {
            "secateurs": __version__,
            "id": secrets.token_hex(8),
            "n_members": n_members,
            "n_samples": n_samples,
            "has_missing": bool(has_missing),
            "missing_rule": check_missing_rule(missing),
            "content": content,
            "tile_members": tile_members or max(1, _TILE_BYTES // max(1, member_bytes(template))),
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
                target,
                cls.format_key,
                meta,
                {name: a for name, a in arrays.items() if a is not None},
            )
        return cls.resume(target)

    @classmethod
    def _create_like(cls, path: StrPath, outputs: Outputs, **options: Any) -> Self:
        """Create an empty store with the shape of some votes or predictions."""
        y = outputs.y
        return cls.create(  # type: ignore[attr-defined]
            path,
            outputs.n_members,
            outputs.n_samples,
            None if outputs.is_numbers else outputs.classes,
            y=y if y is None or outputs.is_numbers else outputs.classes[y],
            names=None if outputs.names is None else outputs.names.tolist(),
            has_missing=outputs.has_missing,
            missing=outputs.missing_rule,
            **options,
        )

    @classmethod
    def _check_new_store(
        cls,
        path: StrPath,
        n_members: int,
        n_samples: int,
        tile_members: int | None = None,
        names: Sequence[str] | None = None,
        **_: object,
    ) -> None:
        """Raise an error if the folder exists, or a store cannot have these sizes."""
        check_path_encoding(Path(path))
        if Path(path).exists():
            raise InputError(
                f"{Path(path)} exists. Pass a new folder, or use {cls.__name__}.resume."
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
                f"missing. Write them with {cls.__name__}.resume, or run the same "
                f"collect_{cls.contents} again."
            )
        return store

    @classmethod
    def resume(cls, path: StrPath) -> Self:
        """Open a store that may be half-written, so that missing tiles can be written."""
        folder = Path(path).absolute()
        meta = read_meta(folder, cls.format_key)
        for name in ("order", "y", "names"):  # read again when needed; damage is reported now
            read_array(folder, meta, name)
        return cls(
            path=folder,
            classes=np.asarray(read_array(folder, meta, "classes")),
            content=meta.get("content"),
            missing_rule=meta.get("missing_rule", "ignore"),
            **{name: meta[name] for name in _META_FIELDS},
        )

    @property
    def y(self) -> Array | None:
        """The codes of the true labels, or the true values; None if there are none."""
        return read_cached_array(self.path, self.id, "y") if self.given_y is None else self.given_y

    @property
    def names(self) -> NDArray[np.object_] | None:
        """Names of the members; None if they have none."""
        return read_cached_array(self.path, self.id, "names")

    @property
    def truth(self) -> Array:
        """The codes of the true labels, or the true values; raises an error if there are none."""
        if self.y is None:
            raise InputError(f"{self} has no true labels. Pass y, or write the store with y.")
        return self.y

    @property
    def n_answered(self) -> NDArray[np.int64]:
        """Number of samples that each member predicts."""
        answered = np.empty(self.n_members, dtype=np.int64)
        for tile in range(self.n_tiles):
            answered[self.members_of(tile)] = self.mapped(tile).n_answered
        return answered

    def take(self, members: MemberIndices) -> Outputs:
        """Load the predictions of some members, in the given order, and check them."""
        selected = np.asarray(members, dtype=np.intp)
        template = self._cell_template
        cells = np.empty((len(selected), *template.shape[1:]), dtype=template.dtype)
        tiles, rows_in_tile = np.divmod(self._storage_indices[selected], self.tile_members)
        for tile in np.unique(tiles):
            targets = np.flatnonzero(tiles == tile)
            self._copy_cells(int(tile), rows_in_tile[targets], cells, targets)
            self._rescale_in_place(int(tile), cells, targets)
        return self._outputs_from_cells(cells, selected)

    def load(self) -> Outputs:
        """Load the predictions of all members."""
        return self.take(np.arange(self.n_members))

    def mapped(self, tile: int, rows: slice = slice(None)) -> Outputs:
        """Map the members of a tile, in storage order, without a copy, and check them."""
        cells = self._rescaled_cells(tile, self._map_checked_cells(tile, rows))
        return self._outputs_from_cells(cells, self.members_of(tile)[rows])

    def with_labels(self, y: ArrayLike) -> Self:
        """Return the same store with other true labels or values."""
        return replace(self, given_y=self._encode_truth(y))

    def vote(
        self,
        members: MemberIndices,
        silent: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Array:
        """Return the combined prediction of some members, per sample."""
        return self.take(members).vote(silent=silent, weights=weights)

    def _rescale_in_place(self, tile: int, cells: Array, rows: IndexArray) -> None:
        """Rescale the cells of a tile, in some rows of an array, to the step of the store."""

    def _rescaled_cells(self, tile: int, cells: Array) -> Array:
        """Return the cells of a tile in the step of the store."""
        return cells

    @abstractmethod
    def _encode_truth(self, y: ArrayLike) -> Array:
        """Return the codes of true labels, or the true values."""

    @abstractmethod
    def _outputs_from_cells(self, cells: Array, members: IndexArray) -> Outputs:
        """Return the predictions of some members from their cells."""

    @abstractmethod
    def rows(self, samples: slice) -> Outputs:
        """Load the predictions of all members on consecutive samples."""


def load_into_memory(outputs: Any) -> Any:
    """Return votes or predictions, loaded into memory if they are in a store."""
    return outputs.load() if isinstance(outputs, Store) else outputs
