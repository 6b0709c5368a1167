"""Collect the members' predictions into a store, tile by tile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.tree._tree import Tree

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.labels import merge_classes
from secateurs.outputs._member_querier import MemberQuerier, in_bag_mask
from secateurs.outputs._store_files import filling_lock
from secateurs.outputs.input_checks import as_label_column
from secateurs.outputs.label_coding import find_classes, mark_missing
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.vote_store import VoteStore
from secateurs.progress import open_stage
from secateurs.typing import Array, BoolArray, MemberIndices, Samples

_TREE_ARRAYS = (
    *("children_left", "children_right", "feature", "threshold"),
    *("missing_go_to_left", "value"),
)

StoreType = TypeVar("StoreType", VoteStore, PredictionStore)
TileContent = TypeVar("TileContent", Array, Predictions)  # codes of votes, or predictions


class StoreCollector(ABC, Generic[StoreType, TileContent]):
    """Collects the predictions of an ensemble into a store, tile by tile."""

    store_class: type[StoreType]

    def __init__(self, ensemble: Ensemble, querier: MemberQuerier, oob: bool) -> None:
        self._ensemble, self._querier, self._oob = ensemble, querier, oob

    @abstractmethod
    def query_members(self, store: StoreType, members: list[int]) -> TileContent:
        """Return the members' predictions in the form of the store."""

    @abstractmethod
    def write_tile(self, store: StoreType, members: MemberIndices, content: TileContent) -> None:
        """Write a tile of predictions."""

    @abstractmethod
    def is_stored(self, store: StoreType, member: int, content: TileContent) -> bool:
        """Tell whether the store holds exactly these predictions of a member."""

    def collect_into(self, path: Path, y: ArrayLike | None) -> StoreType:
        """Fill a new store, or write the missing tiles of an existing one."""
        ensemble, querier = self._ensemble, self._querier
        n_members, n_samples = ensemble.n_members, querier.n_samples
        fingerprint = ensemble_fingerprint(ensemble, querier.prepared_samples)
        if path.exists():
            store = self.store_class.resume(path)
            shape = (store.n_members, store.n_samples, store.has_missing)
            is_same_shape = shape == (n_members, n_samples, self._oob)
            if not is_same_shape or not self._has_same_content(store, fingerprint):
                raise InputError(
                    f"{path} holds {store.contents} of another ensemble or on other samples. Pass "
                    "another folder."
                )
            store = store if y is None else _with_same_labels(store, y)
        else:
            classes = None if ensemble.is_regression else ensemble.classes
            if y is not None and classes is not None:
                classes = merge_classes(classes, find_classes(as_label_column(y)))
            options: dict[str, Any] = {"classes": classes, "y": y, "content": fingerprint}
            options |= {"names": ensemble.member_names, "has_missing": self._oob}
            store = self.store_class.create(path, n_members, n_samples, **options)
        if store.missing:
            n_missing = sum(map(len, store.missing))
            with filling_lock(path), open_stage(f"collecting {store.contents}", n_missing) as steps:
                for members in store.missing:
                    self.write_tile(store, members, self.query_members(store, members.tolist()))
                    steps.report_progress(steps.done + len(members), n_missing)
        return store

    def _has_same_content(self, store: StoreType, fingerprint: str) -> bool:
        """Tell whether a store belongs to these members and samples; evaluates one member again."""
        written = np.setdiff1d(store.order, np.concatenate([[], *store.missing]))[:1].tolist()
        if not written:
            return store.content in (None, fingerprint)
        is_same = store.content == fingerprint
        return is_same and self.is_stored(store, written[0], self.query_members(store, written))

    def _in_bag_mask(self, members: list[int]) -> BoolArray | None:
        """Return the mask of the members' training samples; None if they are not masked."""
        if not self._oob:
            return None
        return in_bag_mask(self._ensemble, self._querier.n_samples, members)


class VoteStoreCollector(StoreCollector[VoteStore, Array]):
    """Collects votes into a `VoteStore`."""

    store_class = VoteStore

    def query_members(self, store: VoteStore, members: list[int]) -> Array:
        codes = store.places_of(self._ensemble.classes)[self._querier.query_codes(members)]
        in_bag = self._in_bag_mask(members)
        return codes if in_bag is None else mark_missing(codes, in_bag, store.n_classes)

    def write_tile(self, store: VoteStore, members: MemberIndices, content: Array) -> None:
        store.write_codes(members, content)

    def is_stored(self, store: VoteStore, member: int, content: Array) -> bool:
        return np.array_equal(store.take([member]).codes([0]), content)


class PredictionStoreCollector(StoreCollector[PredictionStore, Predictions]):
    """Collects probabilities or regression values into a `PredictionStore`."""

    store_class = PredictionStore

    def query_members(self, store: PredictionStore, members: list[int]) -> Predictions:
        filler = self._querier.query_predictions(members, self._in_bag_mask(members))
        return store.as_held(Predictions.filled(filler))

    def write_tile(
        self, store: PredictionStore, members: MemberIndices, content: Predictions
    ) -> None:
        store.write(members, content)

    def is_stored(self, store: PredictionStore, member: int, content: Predictions) -> bool:
        stored = store.take([member])
        return np.array_equal(stored.cells, content.with_exponent(stored.exponent).cells)


def _with_same_labels(store: StoreType, y: ArrayLike) -> StoreType:
    """Return a store with true labels; raise if they differ from the labels in its folder."""
    labelled = store.with_labels(y)
    if store.y is not None and not np.array_equal(store.y, labelled.truth):
        raise InputError(
            f"{store.path} holds other true labels than y. Pass the same y, or another folder; or "
            "leave y out, and pass the new labels to the pruner's fit."
        )
    return labelled


def ensemble_fingerprint(ensemble: Ensemble, samples: Samples) -> str:
    """Return a hash of the samples and of all data that the members hold.

    A model that was written to a file and read again keeps its fingerprint. Functions inside
    members are left out, because their data may change from call to call.
    """
    views = [(ensemble.classes, ensemble.member_features(i)) for i in range(ensemble.n_members)]
    parts = [joblib.hash(part) for part in _hashable_parts((views, list(ensemble.members)), set())]
    table = np.ascontiguousarray(samples) if isinstance(samples, np.ndarray) else samples
    return joblib.hash([joblib.hash(table), *parts])


def _hashable_parts(value: object, enclosing: set[int]) -> Iterator[object]:
    """Yield the arrays, numbers and text inside a value, in a fixed order."""
    if id(value) in enclosing:  # a reference back to an enclosing object
        return
    enclosing = enclosing | {id(value)}
    if isinstance(value, Tree):
        yield from (np.ascontiguousarray(getattr(value, name)) for name in _TREE_ARRAYS)
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray)):
        yield value
    elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        yield np.ascontiguousarray(value)  # joblib's hash depends on the memory layout
    elif hasattr(value, "iloc") or issparse(value) or isinstance(value, memoryview):
        yield value
    elif isinstance(value, Mapping):
        for name, element in value.items():
            yield str(name)
            yield from _hashable_parts(element, enclosing)
    elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        elements = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        yield len(value)
        for element in elements:
            yield from _hashable_parts(element, enclosing)
    elif hasattr(value, "get_arrays"):  # KDTree and BallTree, whose state counts their calls
        yield from (np.asarray(array) for array in value.get_arrays())
    elif not callable(value) or hasattr(value, "predict"):
        yield type(value).__qualname__
        state = value.__getstate__()  # its attributes, or the state that it is pickled with
        yield from _hashable_parts(
            getattr(value, "__dict__", None) if state is None else state, enclosing
        )
