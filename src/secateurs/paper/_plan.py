"""Plans: which cells make a table or figure of the paper, one TOML file each."""

import itertools
import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from secateurs.exceptions import InputError, reading
from secateurs.paper._cells import KINDS, VARIANTS, WORKERS, Cell
from secateurs.paper._protocol import LEARNERS, N_FOLDS
from secateurs.paper.datasets import READINGS
from secateurs.pruners import all_pruners
from secateurs.pruners._base import resolve_keep

PLANS = (
    "table-dt",
    "table-svm",
    "table-knn",
    "figure-epfd",
    "figure-speedup",
    "figure-objective",
    "figure-lambda",
    "figure-size",
    "figure-scale",
    "settings",
    "authors",
)


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
        Whether it is known that the paper read the data so.
    note : str
        How that is known, or why not.
    n_members : tuple of int
        Sizes of the ensemble for this row; empty: those of the plan.
    """

    paper_name: str
    dataset: str
    reading: str
    learner: str
    established: bool
    note: str = ""
    n_members: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What to measure for a table or figure: the product of all that is listed.

    Attributes
    ----------
    name, title : str
        Short and long name.
    reproduces : str
        What of the paper it repeats.
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
    quick : bool
        Whether this is the short form.

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
    quick: bool = False

    @property
    def learners(self) -> tuple[str, ...]:
        """The learners of all rows, each once."""
        return tuple(dict.fromkeys(row.learner for row in self.rows))

    def cells(self, seed: int = 0) -> list[Cell]:
        """Give all cells, in the order of the plan."""
        sized = [(row, n) for row in self.rows for n in row.n_members or self.n_members]
        product = itertools.product(
            sized, self.folds, self.keep, self.diversity_weight, self.methods, self.variants
        )
        cells = [
            Cell(
                kind=self.kind,
                dataset=row.dataset,
                reading=row.reading,
                learner=row.learner,
                n_members=n_members,
                keep=resolve_keep(keep, n_members) or n_members,
                diversity_weight=weight,
                method=method,
                variant=variant,
                fold=fold,
                seed=seed,
            )
            for (row, n_members), fold, keep, weight, method, variant in product
            if not isinstance(keep, int) or keep <= n_members
        ]
        return list(dict.fromkeys(cells))


def load_plan(name: str, quick: bool = False) -> Plan:
    """Read one of the plans that come with the package.

    Parameters
    ----------
    name : str
        One of `PLANS`.
    quick : bool, default=False
        Give its short form: minutes instead of hours, and no data but what is at hand.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from secateurs.paper import load_plan
    >>> load_plan("figure-lambda").methods
    ('comep',)
    """
    if name not in PLANS:
        raise InputError(f"{name!r} is no table or figure. Give one of: {', '.join(PLANS)}.")
    return read_plan(files("secateurs.paper") / "plans" / f"{name}.toml", quick)


def read_plan(path: Path | Traversable, quick: bool = False) -> Plan:
    """Read a plan from a TOML file.

    Parameters
    ----------
    path : Path
        The file; it names the plan.
    quick : bool, default=False
        Let what stands under ``[quick]`` take the place of what stands above.

    Returns
    -------
    Plan
    """
    with reading(Path(str(path))):
        content = tomllib.loads(path.read_text("utf-8"))
        short = content.pop("quick", {})
        if quick:
            content |= short
        return _plan(path.name.removesuffix(".toml"), content, quick)


def _plan(name: str, content: dict[str, Any], quick: bool) -> Plan:
    known = {item.name for item in fields(Plan)} - {"name", "quick"}
    unknown = sorted(set(content) - known)
    if unknown:
        raise InputError(f"has unknown settings {', '.join(unknown)}. Known: {_listed(known)}.")
    rows = tuple(PaperRow(**_tuples(row)) for row in content.pop("rows"))
    plan = Plan(name=name, rows=rows, quick=quick, **_tuples(content))
    _check(plan)
    return plan


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _check(plan: Plan) -> None:
    allowed = {
        "kind": ([plan.kind], KINDS),
        "reading": ([row.reading for row in plan.rows], READINGS),
        "learner": ([row.learner for row in plan.rows], LEARNERS),
        "method": (plan.methods, (*all_pruners(), "full", "all")),
        "fold": (plan.folds, range(N_FOLDS)),
        "variant": (plan.variants, WORKERS if plan.kind == "speedup" else VARIANTS),
    }
    for what, (given, known) in allowed.items():
        for value in given:
            if value not in known:
                raise InputError(f"has {what} {value!r}. Known: {_listed(known)}.")


def _listed(values: Any) -> str:
    return ", ".join(map(str, sorted(values)))
