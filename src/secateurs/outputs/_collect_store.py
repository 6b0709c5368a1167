"""Collect what members predict into a store, some members at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs._labels import Array, MemberIndices, merge_classes
from secateurs._progress import stage
from secateurs.ensembles import Ensemble
from secateurs.exceptions import InputError
from secateurs.outputs._checks import as_column
from secateurs.outputs._coding import find_classes, mark_missing
from secateurs.outputs._fingerprint import fingerprint
from secateurs.outputs._questions import Questions, in_bag_mask
from secateurs.outputs._score_store import ScoreStore
from secateurs.outputs._scores import Scores
from secateurs.outputs._store import VoteStore
from secateurs.outputs._store_files import filling

Kept = TypeVar("Kept", VoteStore, ScoreStore)


class Asked(ABC, Generic[Kept]):
    """Members that are asked tile by tile, for a store of what they answer."""

    kind: type[Kept]

    def __init__(self, ensemble: Ensemble, questions: Questions, oob: bool) -> None:
        self._ensemble, self._questions, self._oob = ensemble, questions, oob

    @abstractmethod
    def ask(self, store: Kept, members: list[int]) -> Any:
        """Return what members answer, as the store holds it."""

    @abstractmethod
    def write(self, store: Kept, members: MemberIndices, answers: Any) -> None:
        """Write a tile of answers."""

    @abstractmethod
    def holds(self, store: Kept, member: int, answer: Any) -> bool:
        """Tell whether the store has this answer of a member."""

    def collect_into(self, path: Path, y: ArrayLike | None) -> Kept:
        """Fill a store, or write what is missing of one."""
        ensemble, questions = self._ensemble, self._questions
        n_members, n_samples = ensemble.n_members, questions.n_samples
        content = fingerprint(ensemble, questions.rows)
        if path.exists():
            store = self.kind.resume(path)
            shape = (store.n_members, store.n_samples, store.has_missing)
            same = shape == (n_members, n_samples, self._oob)
            if not same or not self._is_content_of(store, content):
                raise InputError(
                    f"{path} holds {store.of} of another ensemble or on other rows. Give another "
                    "folder."
                )
            store = store if y is None else _with_same_labels(store, y)
        else:
            classes: Any = None if ensemble.is_regression else ensemble.classes
            if y is not None and classes is not None:
                classes = merge_classes(classes, find_classes(as_column(y)))
            described: Any = {"y": y, "names": ensemble.names, "has_missing": self._oob}
            store = self.kind.create(
                path, n_members, n_samples, classes, content=content, **described
            )
        if store.missing:
            n_missing = sum(map(len, store.missing))
            with filling(path), stage(f"collecting {store.of}", n_missing) as steps:
                for members in store.missing:
                    self.write(store, members, self.ask(store, members.tolist()))
                    steps.tell(steps.done + len(members), n_missing)
        return store

    def _is_content_of(self, store: Kept, content: str) -> bool:
        """Tell whether a store is of these members and rows; one member is asked again."""
        written = np.setdiff1d(store.order, np.concatenate([[], *store.missing]))[:1].tolist()
        if not written:
            return store.content in (None, content)
        same = store.content == content
        return same and self.holds(store, written[0], self.ask(store, written))

    def _seen(self, members: list[int]) -> NDArray[np.bool_] | None:
        """Mark the rows that members were trained on, if these are to be left out."""
        if not self._oob:
            return None
        return in_bag_mask(self._ensemble, self._questions.n_samples, members)


class AskedVotes(Asked[VoteStore]):
    """Votes for a `VoteStore`."""

    kind = VoteStore

    def ask(self, store: VoteStore, members: list[int]) -> Array:
        asked = store.places_of(self._ensemble.classes)[self._questions.codes(members)]
        seen = self._seen(members)
        return asked if seen is None else mark_missing(asked, seen, store.n_classes)

    def write(self, store: VoteStore, members: MemberIndices, answers: Array) -> None:
        store.write_codes(members, answers)

    def holds(self, store: VoteStore, member: int, answer: Array) -> bool:
        return np.array_equal(store.take([member]).codes([0]), answer)


class AskedScores(Asked[ScoreStore]):
    """Scores for a `ScoreStore`."""

    kind = ScoreStore

    def ask(self, store: ScoreStore, members: list[int]) -> Scores:
        return store.as_held(Scores.filled(self._questions.scores(members, self._seen(members))))

    def write(self, store: ScoreStore, members: MemberIndices, answers: Scores) -> None:
        store.write(members, answers)

    def holds(self, store: ScoreStore, member: int, answer: Scores) -> bool:
        held = store.take([member])
        return np.array_equal(held.cells, answer.with_exponent(held.exponent).cells)


def _with_same_labels(store: Kept, y: ArrayLike) -> Kept:
    """Return a store with true labels; refuse labels other than those it has."""
    labelled = store.with_labels(y)
    if store.y is not None and not np.array_equal(store.y, labelled.truth):
        raise InputError(
            f"{store.path} holds other true labels than y. Give the same y or none, and the other "
            "labels to the pruner's fit; or give another folder."
        )
    return labelled
