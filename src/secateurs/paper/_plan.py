"""Plans: which cells make a table or figure of the paper."""

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
    *("settings", "authors", "bootstrap", "learners"),
)
KINDS = ("prune", "combination", "size", "speedup", "scale")
TIMED_KINDS = ("speedup", "scale")  # measured alone, one after the other
VARIANTS = ("library", "epfd", "authors")
WORKERS = ("2-workers", "3-workers")  # the variants of a speed-up
NOT_REPEATED = "Not in the paper."


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
        Random seed of the run.

    Examples
    --------
    >>> from secateurs.paper._plan import Bag
    >>> Bag("iono", "binary", "dt", 100, 0, 0).unique_name
    'iono-binary-dt-100-fold0-seed0'
    """

    dataset: str
    reading: str
    learner: str
    n_members: int
    fold: int
    seed: int

    @property
    def unique_name(self) -> str:
        """A unique name, also used as a file name."""
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
    >>> from secateurs.paper._plan import Cell
    >>> cell = Cell("prune", "iono", "binary", "dt", 100, 20, 0.5, "comep", "library", 0, 0)
    >>> cell.bag.unique_name
    'iono-binary-dt-100-fold0-seed0'
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


CELL_FIELDS = tuple(field.name for field in fields(Cell))


@dataclass(frozen=True)
class Setting:
    """What a plan varies besides data, learner, fold and method."""

    n_members: int
    keep: int
    diversity_weight: float

    def __str__(self) -> str:
        return f"{self.n_members} members, {self.keep} kept, λ = {self.diversity_weight:g}"


@dataclass(frozen=True)
class PaperRow:
    """A row of a table, or a part of a figure: data and what is bagged.

    Attributes
    ----------
    paper_name : str
        The name that the paper prints, or that of a stand-in.
    dataset : str
        A name of `secateurs.paper.datasets.DATASETS`.
    reading : {"binary", "multiclass"}
        Whether several classes are made two.
    learner : str
        What is bagged.
    established : bool
        Whether it is known that the paper read the data in this way.
    note : str
        How that is known, or why not.
    n_members, keep, methods : tuple
        What this row has instead of the plan's; empty: what the plan has.
    paper_item : str
        Number of the paper's figure that it repeats, or stands in for; empty: that of the plan.
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
        """What the data is, as of `Dataset`; "synthetic" for votes that are drawn."""
        known = DATASETS.get(self.dataset)
        return known.role if known else "synthetic"

    @property
    def is_stand_in(self) -> bool:
        """Whether it takes the place of data of the paper."""
        return self.role in ("extra", "stand-in")


@dataclass(frozen=True)
class Plan:
    """What to measure for a table or figure: the product of everything listed.

    Attributes
    ----------
    name, title : str
        Short and long name.
    reproduces : str
        Which part of the paper it repeats.
    kind : {"prune", "combination", "size", "speedup", "scale"}
        What is measured.
    rows : tuple of PaperRow
        Data and learners.
    methods : tuple of str
        Short names of pruners; "full" is all members.
    variants : tuple of str
        "library", "epfd" (the method's distributed version), "authors"; "2-workers" and the like
        for speed-up.
    n_members : tuple of int
        Sizes of the ensemble.
    keep : tuple of int or float
        How many members to keep: counts, or fractions of the ensemble.
    diversity_weight : tuple of float
        λ.
    folds : tuple of int
        Which of the five folds.
    n_seeds : int
        How often everything is repeated, each time with other folds and ensembles.
    quick : bool
        Whether this is the short form.
    paper_item : str
        Numbers of the paper's table or figures that it repeats; empty if there are none.

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
        """The title, with the number that the paper's table or figures have."""
        short = ", short form" if self.quick else ""
        item = f" ({self.paper_item} of the paper{short})" if self.paper_item else ""
        return self.title + item

    def repeated(self, row: PaperRow | None = None) -> str:
        """Return a sentence that says what a row, or the whole plan, repeats of the paper."""
        has_own = row is not None and any(r.paper_item for r in self.rows)
        item = row.paper_item if row and has_own else self.paper_item
        if not item:
            return NOT_REPEATED
        is_other = all(r.is_stand_in for r in ([row] if row else self.rows))
        short = ", in the short form" if self.quick else ""
        return f"{'In place of' if is_other else 'Repeats'} {item} of the paper{short}."

    @property
    def learners(self) -> tuple[str, ...]:
        """The learners of all rows, each once."""
        return tuple(dict.fromkeys(row.learner for row in self.rows))

    @property
    def row_names(self) -> list[str]:
        """Names of the rows: the paper's, and learner or reading where rows share it."""
        names = []
        for row in self.rows:
            alike = [other for other in self.rows if other.paper_name == row.paper_name]
            learners, readings = ({getattr(o, n) for o in alike} for n in ("learner", "reading"))
            more = [LEARNER_NAMES.get(row.learner, row.learner)] if len(learners) > 1 else []
            more += [READING_NAMES[row.reading]] if len(readings) > 1 else []
            names.append(", ".join([row.paper_name, *more]))
        return names

    @property
    def settings(self) -> list[Setting]:
        """All settings, each once, in the order of the plan."""
        found = (Setting(c.n_members, c.keep, c.diversity_weight) for c in self.cells())
        return list(dict.fromkeys(found))

    def cells(self, seed: int = 0) -> list[Cell]:
        """Return all cells of a run, in the order of the plan.

        A plan that is repeated takes seeds of its own in each run: ten of them are 0 to 9 in the
        run of seed 0, 10 to 19 in that of seed 1.
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
                Cell(self.kind, *data, *size, weight, method, variant, fold, one)
                for size, weight, method, variant, fold, one in itertools.product(
                    sizes, self.diversity_weight, methods, self.variants, self.folds, seeds
                )
            ]
        return list(dict.fromkeys(cells))
