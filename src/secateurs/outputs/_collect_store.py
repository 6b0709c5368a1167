"""Collect what members predict into a store, some members at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.labels import merge_classes
from secateurs.outputs._fingerprint import ensemble_fingerprint
from secateurs.outputs._member_querier import MemberQuerier, in_bag_mask
from secateurs.outputs._store_files import filling_lock
from secateurs.outputs.input_checks import as_label_column
from secateurs.outputs.label_coding import find_classes, mark_missing
from secateurs.outputs.prediction_store import PredictionStore
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.vote_store import VoteStore
from secateurs.progress import open_stage
from secateurs.typing import Array, MemberIndices

StoreType = TypeVar("StoreType", VoteStore, PredictionStore)


class StoreCollector(ABC, Generic[StoreType]):
    """Members that are asked tile by tile, for a store of what they answer."""

    store_class: type[StoreType]

    def __init__(self, ensemble: Ensemble, questions: MemberQuerier, oob: bool) -> None:
        self._ensemble, self._querier, self._oob = ensemble, questions, oob

    @abstractmethod
    def query_members(self, store: StoreType, members: list[int]) -> Any:
        """Return what members answer, as the store holds it."""

    @abstractmethod
    def write_tile(self, store: StoreType, members: MemberIndices, answers: Any) -> None:
        """Write a tile of answers."""

    @abstractmethod
    def is_stored(self, store: StoreType, member: int, answer: Any) -> bool:
        """Tell whether the store has this answer of a member."""

    def collect_into(self, path: Path, y: ArrayLike | None) -> StoreType:
        """Fill a store, or write what is missing of one."""
        ensemble, questions = self._ensemble, self._querier
        n_members, n_samples = ensemble.n_members, questions.n_samples
        content = ensemble_fingerprint(ensemble, questions.prepared_samples)
        if path.exists():
            store = self.store_class.resume(path)
            shape = (store.n_members, store.n_samples, store.has_missing)
            same = shape == (n_members, n_samples, self._oob)
            if not same or not self._has_same_content(store, content):
                raise InputError(
                    f"{path} holds {store.of} of another ensemble or on other rows. Give another "
                    "folder."
                )
            store = store if y is None else _with_same_labels(store, y)
        else:
            classes: Any = None if ensemble.is_regression else ensemble.classes
            if y is not None and classes is not None:
                classes = merge_classes(classes, find_classes(as_label_column(y)))
            described: Any = {"y": y, "names": ensemble.member_names, "has_missing": self._oob}
            store = self.store_class.create(
                path, n_members, n_samples, classes, content=content, **described
            )
        if store.missing:
            n_missing = sum(map(len, store.missing))
            with filling_lock(path), open_stage(f"collecting {store.of}", n_missing) as steps:
                for members in store.missing:
                    self.write_tile(store, members, self.query_members(store, members.tolist()))
                    steps.report_progress(steps.done + len(members), n_missing)
        return store

    def _has_same_content(self, store: StoreType, content: str) -> bool:
        """Tell whether a store is of these members and rows; one member is asked again."""
        written = np.setdiff1d(store.order, np.concatenate([[], *store.missing]))[:1].tolist()
        if not written:
            return store.content in (None, content)
        same = store.content == content
        return same and self.is_stored(store, written[0], self.query_members(store, written))

    def _training_mask(self, members: list[int]) -> NDArray[np.bool_] | None:
        """Mark the rows that members were trained on, if these are to be left out."""
        if not self._oob:
            return None
        return in_bag_mask(self._ensemble, self._querier.n_samples, members)


class VoteStoreCollector(StoreCollector[VoteStore]):
    """Votes for a `VoteStore`."""

    store_class = VoteStore

    def query_members(self, store: VoteStore, members: list[int]) -> Array:
        asked = store.places_of(self._ensemble.classes)[self._querier.query_codes(members)]
        seen = self._training_mask(members)
        return asked if seen is None else mark_missing(asked, seen, store.n_classes)

    def write_tile(self, store: VoteStore, members: MemberIndices, answers: Array) -> None:
        store.write_codes(members, answers)

    def is_stored(self, store: VoteStore, member: int, answer: Array) -> bool:
        return np.array_equal(store.take([member]).codes([0]), answer)


class PredictionStoreCollector(StoreCollector[PredictionStore]):
    """Scores for a `PredictionStore`."""

    store_class = PredictionStore

    def query_members(self, store: PredictionStore, members: list[int]) -> Predictions:
        return store.as_held(
            Predictions.filled(
                self._querier.query_predictions(members, self._training_mask(members))
            )
        )

    def write_tile(
        self, store: PredictionStore, members: MemberIndices, answers: Predictions
    ) -> None:
        store.write(members, answers)

    def is_stored(self, store: PredictionStore, member: int, answer: Predictions) -> bool:
        held = store.take([member])
        return np.array_equal(held.cells, answer.with_exponent(held.exponent).cells)


def _with_same_labels(store: StoreType, y: ArrayLike) -> StoreType:
    """Return a store with true labels; refuse labels other than those it has."""
    labelled = store.with_labels(y)
    if store.y is not None and not np.array_equal(store.y, labelled.truth):
        raise InputError(
            f"{store.path} holds other true labels than y. Give the same y or none, and the other "
            "labels to the pruner's fit; or give another folder."
        )
    return labelled
