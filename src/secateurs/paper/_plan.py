"""Plans: the cells (single measurements) that make up a table or figure of the paper."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields

from secateurs.paper._data_registry import DATASETS
from secateurs.paper._printed_tables import LEARNER_NAMES, READING_NAMES
from secateurs.pruners.parameters import resolve_keep

PLANS = (
    *("table-dt", "table-svm", "table-knn"),
    *("figure-epfd", "figure-speedup", "figure-objective"),
    *("figure-lambda", "figure-size", "figure-scale"),
    *("settings", "authors", "bootstrap", "bootstrap-svm", "credit", "learners"),
)
KINDS = ("prune", "combination", "size", "speedup", "scale")
# Cells of these kinds are measured one at a time, because parallel work would distort their times.
TIMED_KINDS = ("speedup", "scale")
VARIANTS = ("library", "epfd", "authors")
WORKERS = ("2-workers", "3-workers")  # variants of "speedup" cells; the paper uses 2 and 3 machines
NOT_REPEATED = "Not in the paper."


@dataclass(frozen=True, order=True)
class Bag:
    """An ensemble trained on one fold; its votes are used by many cells."""

    dataset: str
    reading: str  # "binary" or "multiclass"
    learner: str
    n_members: int
    fold: int  # index of the block, out of five, that is the test set
    seed: int

    @property
    def unique_name(self) -> str:
        """Unique name of the bag, also used as a file name."""
        return (
            f"{self.dataset}-{self.reading}-{self.learner}-{self.n_members}"
            f"-fold{self.fold}-seed{self.seed}"
        )


@dataclass(frozen=True, order=True)
class Cell:
    """One measurement: a method with its settings, applied to a bag."""

    kind: str  # one of KINDS
    dataset: str
    reading: str
    learner: str
    n_members: int
    keep: int
    diversity_weight: float  # λ of COMEP and DOMEP, and of the objective reported for any method
    method: str  # short name of a pruner, or "full" for the full ensemble
    variant: str  # one of VARIANTS or, for speed-ups, of WORKERS
    fold: int
    seed: int

    @property
    def bag(self) -> Bag:
        """The bag that is trained for this cell."""
        return Bag(self.dataset, self.reading, self.learner, self.n_members, self.fold, self.seed)


CELL_FIELDS = tuple(field.name for field in fields(Cell))


@dataclass(frozen=True)
class Setting:
    """Ensemble size, number of kept members and λ: the settings that a plan varies."""

    n_members: int
    keep: int
    diversity_weight: float

    def __str__(self) -> str:
        return f"{self.n_members} members, {self.keep} kept, λ = {self.diversity_weight:g}"


@dataclass(frozen=True)
class PaperRow:
    """A row of a table, or a part of a figure: a data set and a learner.

    Attributes
    ----------
    paper_name : str
        The name printed in the paper, or the name of a stand-in.
    dataset : str
        A name of `secateurs.paper.datasets.DATASETS`.
    reading : {"binary", "multiclass"}
        "binary" merges the classes of a multi-class data set into two. With the suffix "+01" or
        "+pm1" the label is also a feature, as 0 and 1 or as −1 and 1.
    learner : str
        Short name of the learner that is bagged.
    established : bool
        Whether it is established that the paper read the data in this way.
    note : str
        How this was established, or why it was not.
    n_members, keep, methods : tuple
        Values that replace those of the plan; empty tuples use the plan's values.
    paper_item : str
        Figure of the paper that the row repeats or stands in for; if empty, the plan's.
    """

    paper_name: str
    dataset: str
    reading: str
    learner: str
    established: bool
    note: str = ""
    n_members: tuple[int, ...] = ()
    keep: tuple[int | float, ...] = ()
    methods: tuple[str, ...] = ()
    paper_item: str = ""

    @property
    def role(self) -> str:
        """Role of the data set, see `Dataset`; "synthetic" for randomly drawn votes."""
        registered = DATASETS.get(self.dataset)
        return registered.role if registered else "synthetic"

    @property
    def is_stand_in(self) -> bool:
        """Whether the data set replaces one of the paper."""
        return self.role in ("extra", "stand-in")


@dataclass(frozen=True)
class Plan:
    """The measurements for a table or figure: all combinations of the listed values.

    Attributes
    ----------
    name, title : str
        Short and long name.
    reproduces : str
        Description of the part of the paper that the plan repeats.
    kind : {"prune", "combination", "size", "speedup", "scale"}
        Kind of the measurements.
    rows : tuple of PaperRow
        Data sets and learners.
    methods : tuple of str
        Short names of pruners; "full" is the full ensemble.
    variants : tuple of str
        "library" (the method as implemented in secateurs), "epfd" (its distributed version),
        "authors" (settings of the authors' program); for speed-ups, "2-workers" or "3-workers".
    n_members : tuple of int
        Sizes of the ensemble.
    keep : tuple of int or float
        Number of members to keep: counts, or fractions of the ensemble.
    diversity_weight : tuple of float
        Values of λ.
    folds : tuple of int
        Indices of the folds to run, out of five.
    n_seeds : int
        Number of repetitions, each with its own folds and ensembles.
    quick : bool
        Whether this is the short form.
    paper_item : str
        Table or figures of the paper that the plan repeats; empty if there are none.

    Examples
    --------
    >>> from secateurs.paper import load_plan
    >>> plan = load_plan("table-dt")
    >>> plan.rows[0].paper_name, plan.n_members, plan.keep
    ('Iono', (100,), (0.2,))
    """

    name: str
    title: str
    reproduces: str
    kind: str
    rows: tuple[PaperRow, ...]
    methods: tuple[str, ...]
    n_members: tuple[int, ...]
    keep: tuple[int | float, ...]
    diversity_weight: tuple[float, ...]
    folds: tuple[int, ...]
    variants: tuple[str, ...] = ("library",)
    n_seeds: int = 1
    quick: bool = False
    paper_item: str = ""

    @property
    def heading(self) -> str:
        """The title, with the number of the paper's table or figures."""
        short = ", short form" if self.quick else ""
        item = f" ({self.paper_item} of the paper{short})" if self.paper_item else ""
        return self.title + item

    def repeated(self, row: PaperRow | None = None) -> str:
        """Return a sentence that names the part of the paper that a row, or the plan, repeats."""
        has_own = row is not None and any(r.paper_item for r in self.rows)
        item = row.paper_item if row and has_own else self.paper_item
        if not item:
            return NOT_REPEATED
        only_stand_ins = all(r.is_stand_in for r in ([row] if row else self.rows))
        short = ", in the short form" if self.quick else ""
        return f"{'In place of' if only_stand_ins else 'Repeats'} {item} of the paper{short}."

    def is_drawn(self, row: PaperRow) -> bool:
        """Return whether figures show a row: not if it only adds a data set to the claims."""
        has_items = any(other.paper_item for other in self.rows)
        return bool(row.paper_item) or row.role == "synthetic" or not has_items

    @property
    def learners(self) -> tuple[str, ...]:
        """The learners of all rows, each once."""
        return tuple(dict.fromkeys(row.learner for row in self.rows))

    @property
    def row_names(self) -> list[str]:
        """Names of the rows; learner or reading distinguish rows with the same paper name."""
        names = []
        for row in self.rows:
            namesakes = [r for r in self.rows if r.paper_name == row.paper_name]
            learners, readings = (
                {getattr(r, n) for r in namesakes} for n in ("learner", "reading")
            )
            suffixes = [LEARNER_NAMES.get(row.learner, row.learner)] if len(learners) > 1 else []
            suffixes += [READING_NAMES[row.reading]] if len(readings) > 1 else []
            names.append(", ".join([row.paper_name, *suffixes]))
        return names

    @property
    def settings(self) -> list[Setting]:
        """All settings, each once, in the order of the plan."""
        settings = (Setting(c.n_members, c.keep, c.diversity_weight) for c in self.cells())
        return list(dict.fromkeys(settings))

    def cells(self, seed: int = 0) -> list[Cell]:
        """Return all cells of a run, in the order of the plan.

        A plan with several seeds uses different ones in each run: with ``n_seeds=10`` these are
        0 to 9 for ``seed=0`` and 10 to 19 for ``seed=1``.
        """
        seeds = range(seed * self.n_seeds, (seed + 1) * self.n_seeds)
        cells = []
        for row in self.rows:
            data = (row.dataset, row.reading, row.learner)
            sizes = [
                (n, resolve_keep(keep, n) or n)
                for n in row.n_members or self.n_members
                for keep in row.keep or self.keep
                if not isinstance(keep, int) or keep <= n
            ]
            methods = row.methods or self.methods
            cells += [
                Cell(self.kind, *data, *size, weight, method, variant, fold, cell_seed)
                for size, weight, method, variant, fold, cell_seed in itertools.product(
                    sizes, self.diversity_weight, methods, self.variants, self.folds, seeds
                )
            ]
        return list(dict.fromkeys(cells))
