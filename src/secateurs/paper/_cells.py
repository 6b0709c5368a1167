"""Cells and bags: what an experiment measures, and what it trains once for many of them."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

KINDS = ("prune", "combination", "size", "speedup", "scale")
TIMED_KINDS = ("speedup", "scale")  # measured alone, one after the other
VARIANTS = ("library", "epfd", "authors")
WORKERS = ("2-workers", "3-workers")  # the variants of a speed-up


@dataclass(frozen=True, order=True)
class Bag:
    """An ensemble trained on one fold, whose votes serve many cells.

    Attributes
    ----------
    dataset, reading : str
        The data, and whether it is read with two classes or as it is.
    learner : str
        What is bagged.
    n_members : int
        Size of the ensemble.
    fold : int
        Which of the five blocks is the test part.
    seed : int
        Where all chance comes from.

    Examples
    --------
    >>> from secateurs.paper._cells import Bag
    >>> Bag("iono", "binary", "dt", 100, 0, 0).key
    'iono-binary-dt-100-fold0-seed0'
    """

    dataset: str
    reading: str
    learner: str
    n_members: int
    fold: int
    seed: int

    @property
    def key(self) -> str:
        """A name that no other bag has; it names a file as well."""
        return (
            f"{self.dataset}-{self.reading}-{self.learner}-{self.n_members}"
            f"-fold{self.fold}-seed{self.seed}"
        )


@dataclass(frozen=True, order=True)
class Cell:
    """One measurement: a method on a bag, with its settings.

    Attributes
    ----------
    kind : {"prune", "combination", "size", "speedup", "scale"}
        What is measured.
    dataset, reading, learner, n_members, fold, seed
        The bag.
    keep : int
        Number of members to keep.
    diversity_weight : float
        λ, for COMEP and DOMEP, and of the objective that is reported for any method.
    method : str
        Short name of a pruner, or "full" for all members.
    variant : str
        "library" for the method as secateurs has it, "epfd" for its distributed version,
        "authors" for the reading of the authors' program; "2-workers" and the like for speed-up.

    Examples
    --------
    >>> from secateurs.paper._cells import Cell
    >>> cell = Cell("prune", "iono", "binary", "dt", 100, 20, 0.5, "comep", "library", 0, 0)
    >>> cell.key
    'prune/iono-binary-dt-100-fold0-seed0/comep/library/keep20/weight0.5'
    """

    kind: str
    dataset: str
    reading: str
    learner: str
    n_members: int
    keep: int
    diversity_weight: float
    method: str
    variant: str
    fold: int
    seed: int

    @property
    def bag(self) -> Bag:
        """What is trained for this cell."""
        return Bag(self.dataset, self.reading, self.learner, self.n_members, self.fold, self.seed)

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return (
            f"{self.kind}/{self.bag.key}/{self.method}/{self.variant}"
            f"/keep{self.keep}/weight{self.diversity_weight:g}"
        )

    def as_row(self) -> dict[str, Any]:
        """Give the fields that tell this cell from others."""
        return asdict(self)


CELL_FIELDS = tuple(field.name for field in fields(Cell))


def cell_of(row: dict[str, Any]) -> Cell:
    """Give the cell that a row of results is of."""
    return Cell(**{name: row[name] for name in CELL_FIELDS})


def by_bag(cells: Iterable[Cell]) -> dict[Bag, list[Cell]]:
    """Sort cells, each once, under the bags that they need."""
    bags: dict[Bag, list[Cell]] = {}
    for cell in dict.fromkeys(cells):
        bags.setdefault(cell.bag, []).append(cell)
    return bags


def seed_sequence(*parts: object) -> np.random.SeedSequence:
    """Give a source of chance for a name, the same on every machine and in any order.

    Examples
    --------
    >>> from secateurs.paper._cells import seed_sequence
    >>> first, again = seed_sequence(0, "iono", "dt"), seed_sequence(0, "iono", "dt")
    >>> first.generate_state(2).tolist() == again.generate_state(2).tolist()
    True
    """
    text = "\x1f".join(map(str, parts))
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()))


def small_seed(*parts: object) -> int:
    """Give a seed for scikit-learn: a whole number below 2³¹."""
    return int(seed_sequence(*parts).generate_state(1)[0] >> 1)
