"""Run the paper's plans: where their data sets come from, and what each ensemble costs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from secateurs.benchmarking.result_store import Result, stored_results, write_json
from secateurs.benchmarking.task_runner import Callback, ResultsFolder, Task, run_tasks
from secateurs.exceptions import InputError
from secateurs.paper import datasets
from secateurs.paper._bagging_protocol import STRATIFIED, SYNTHETIC, cast_votes
from secateurs.paper._cell_measurer import CellMeasurer
from secateurs.paper._plan import PLANS, TIMED_KINDS, Bag, Cell, Plan
from secateurs.paper._plan_files import load_plan
from secateurs.paper._plan_results import SCHEMA
from secateurs.paper.claims import Claim

_ROUNDS = {"pep": 2.5, "sep": 0.8}  # seconds at 100 members; other methods take next to nothing
_QUICK = 0.02

# Seconds to train one member, by training rows and features: orders of magnitude.
_SECONDS: Mapping[str, Callable[[float, float], float]] = {
    "dt": lambda n, f: 1.3e-8 * n * f * math.log2(n + 1),
    "nb": lambda n, f: 1e-8 * n * f,
    "knn": lambda n, f: 1e-6 * n * f,
    "knn-distance": lambda n, f: 1e-6 * n * f,
    "lm": lambda n, f: 1e-8 * n * f**2,
    "lm-sgd-l1": lambda n, f: 1e-6 * n * f,
    "lm-sgd-l2": lambda n, f: 1e-6 * n * f,
    "svm-linear": lambda n, f: 1e-6 * n * f,
    "svm-rbf": lambda n, f: 1e-8 * n**2 * (1 + f / 20),
    SYNTHETIC: lambda n, f: 1e-8 * n,
}


@dataclass(frozen=True)
class MissingDataset:
    """A data set that is not available, and what lacks it."""

    dataset: str
    paper_names: tuple[str, ...]
    plans: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes
    ----------
    n_cells : int
        Cells that the plans ask for, without those of missing data.
    n_run : int
        Cells measured by this run; the others were there.
    missing : tuple of MissingDataset
        Data sets that are not available.
    seconds : float
        How long it took.
    claims : tuple of Claim
        The paper's claims with their verdicts; empty unless made by `reproduce`.
    """

    n_cells: int
    n_run: int
    missing: tuple[MissingDataset, ...]
    seconds: float
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class BagWork:
    """A bag to make, and to measure cells on.

    Attributes
    ----------
    bag : Bag
        What is trained.
    source : str
        Where the data must come from.
    data_dir : Path or None
        Folder of the data sets.
    """

    bag: Bag
    source: str
    data_dir: Path | None

    def __call__(self, cells: list[Cell]) -> Iterator[Result]:
        """Make the bag and measure its cells."""
        voted = cast_votes(self.bag, self.data_dir)
        if voted.source != self.source:
            raise InputError(
                f"{self.bag.dataset} comes from {voted.source!r} here, not from {self.source!r}. "
                "Let all workers see the same data folder."
            )
        measurer = CellMeasurer(voted)
        for cell in cells:
            yield asdict(cell) | measurer.measure_cell(cell)

    def make_task(self, cells: list[Cell], place: ResultsFolder) -> Task:
        """Return the task to measure cells on the bag."""
        is_timed = cells[0].kind in TIMED_KINDS
        return Task(
            self.bag.unique_name, cells, self, self._estimate_seconds(cells), is_timed, place
        )

    def _estimate_seconds(self, cells: Iterable[Cell]) -> float:
        """Estimate the seconds."""
        known = datasets.DATASETS.get(self.bag.dataset)
        n_rows = (known and known.n_rows) or 1000
        n_features = (known and known.n_features) or 20
        if self.bag.learner == SYNTHETIC:
            n_rows = int(self.bag.dataset.removeprefix(f"{SYNTHETIC}-"))
        training = self.bag.n_members * _SECONDS[self.bag.learner.removesuffix(STRATIFIED)](
            0.6 * n_rows, n_features
        )
        pruning = sum(_ROUNDS.get(cell.method, _QUICK) for cell in cells)
        return training + pruning * (self.bag.n_members / 100) ** 2


def run(
    plans: Iterable[str | Plan],
    out_dir: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    executor: Any = None,
    callback: Callback | None = None,
    seed: int = 0,
) -> Outcome:
    """Measure all cells of some plans that are not measured yet.

    An ensemble is trained once per fold; every result is on disk as soon as it is measured.
    Results do not depend on the order, the number of workers or interruptions, except for times.

    Parameters
    ----------
    plans : iterable of str or Plan
        Plans, or names of `PLANS`.
    out_dir : str or path-like
        Folder of the results, created if needed. What it holds is not measured again.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`.
    quick : bool, default=False
        Use the short form of plans given by name.
    n_jobs : int or None, default=None
        Number of ensembles made in parallel, by joblib under its ``parallel_config``.
    executor : Executor or Client, optional
        Where the work runs instead: any ``concurrent.futures.Executor``, or a Dask ``Client``.
    callback : callable, optional
        Called as ``callback(done, total, seconds_left)``, in cells; the time is None at first.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Outcome

    See Also
    --------
    reproduce : Also writes tables, figures and a page.
    load_results : Read the results as a table.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from secateurs.paper import PaperRow, Plan, run
    >>> rows = (PaperRow("Iris", "iris", "multiclass", "dt", False),)
    >>> plan = Plan("mine", "Iris", "nothing", "prune", rows, ("comep",), (9,), (3,), (0.5,), (0,))
    >>> with TemporaryDirectory() as folder:
    ...     run([plan], folder).n_run, run([plan], folder).n_run
    (1, 0)
    """
    start = time.perf_counter()
    chosen = [load_plan(plan, quick, data_dir) if isinstance(plan, str) else plan for plan in plans]
    place = ResultsFolder.create(out_dir)
    folder = Path(place.path)
    data_folder = datasets.data_folder(data_dir)
    sources, missing = find_sources(chosen, data_folder)
    write_json(folder.parent / "missing.json", [asdict(item) for item in missing])
    asked = dict.fromkeys(c for p in chosen for c in p.cells(seed) if c.dataset in sources)
    known = stored_results(folder, SCHEMA)
    there = {c for c, found in known.items() if found["source"] == sources.get(c.dataset)}
    tasks = [
        BagWork(bag, sources[bag.dataset], data_folder).make_task(cells, place)
        for bag, cells in _group_by_bag(cell for cell in asked if cell not in there)
    ]
    run_tasks(tasks, len(asked), n_jobs=n_jobs, executor=executor, callback=callback)
    n_run = sum(len(task.cells) for task in tasks)
    return Outcome(len(asked), n_run, tuple(missing), time.perf_counter() - start)


def _group_by_bag(cells: Iterable[Cell]) -> list[tuple[Bag, list[Cell]]]:
    """Group cells by bag; timed cells have bags of their own."""
    groups: dict[tuple[bool, Bag], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.kind in TIMED_KINDS, cell.bag), []).append(cell)
    return [(bag, group) for (_, bag), group in groups.items()]


def find_sources(
    plans: Sequence[Plan], data_dir: Path | None
) -> tuple[dict[str, str], list[MissingDataset]]:
    """Return where the data sets of plans come from, and which are not available.

    For the short form of a plan, those that only the whole plan needs and that are not at hand
    count as missing too.
    """
    sources, missing = {}, []
    for name in _dataset_names(plans):
        source, reason = _find_source(name, data_dir)
        if source is not None:
            sources[name] = source
        else:
            missing.append(missing_dataset(name, plans, reason))
    return sources, missing + left_out_datasets(plans, data_dir)


def left_out_datasets(plans: Iterable[Plan], data_dir: Path | None) -> list[MissingDataset]:
    """Return the data sets that only the whole plan of a short form needs and are not at hand."""
    whole = [load_plan(plan.name) for plan in plans if plan.quick and plan.name in PLANS]
    return [
        missing_dataset(name, whole, f"Left out of the short form. {datasets.how_to_get(name)}")
        for name in _dataset_names(whole)
        if name in datasets.DATASETS and datasets.find(name, data_dir) in (None, "OpenML")
    ]


def _dataset_names(plans: Iterable[Plan]) -> dict[str, None]:
    return dict.fromkeys(row.dataset for plan in plans for row in plan.rows)


def missing_dataset(name: str, plans: Iterable[Plan], reason: str) -> MissingDataset:
    """Return a data set that is not available, with the rows and plans that need it."""
    users = [(r.paper_name, plan.name) for plan in plans for r in plan.rows if r.dataset == name]
    rows, wanted_by = (tuple(dict.fromkeys(part)) for part in zip(*users, strict=True))
    return MissingDataset(name, rows, wanted_by, reason)


def _find_source(name: str, data_dir: Path | None) -> tuple[str | None, str]:
    if name.startswith(f"{SYNTHETIC}-"):
        return "generated", ""
    source = datasets.find(name, data_dir)
    if source is None:
        return None, datasets.how_to_get(name)
    if source == "OpenML":
        try:
            datasets.load(name, data_dir)  # and keep it in scikit-learn's cache
        except InputError as error:
            return None, datasets.unavailable_reason(error)
    return source, ""
