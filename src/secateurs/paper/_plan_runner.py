"""Run the paper's plans: find their data sets, train each ensemble once, measure all cells."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
from secateurs.typing import ExecutorLike

# Estimated times decide the order of tasks (longest first) and the time left, so a factor of two
# does not matter. They were measured in CPU time on the tasks of the short forms. SEP and PEP run
# for many rounds; all other methods take milliseconds.
_PRUNING_SECONDS = {"pep": 0.5, "sep": 0.15}  # with 100 members and few samples
_OTHER_PRUNING_SECONDS = 0.002
_BAG_SECONDS, _MEMBER_SECONDS, _CELL_SECONDS = 0.03, 0.001, 0.003  # regardless of the data
_RACE_SECONDS, _FITS_PER_RACE = 0.7, 10  # of a cell that times workers

# Seconds to train one member, by number of training samples and of features.
_TRAINING_SECONDS: Mapping[str, Callable[[float, float], float]] = {
    "dt": lambda n, f: 2e-8 * n * f * math.log2(n + 1),
    "nb": lambda n, f: 1e-8 * n * f,
    "knn": lambda n, f: 5e-7 * n * f,
    "knn-distance": lambda n, f: 5e-7 * n * f,
    "lm": lambda n, f: 1e-8 * n * f**2,
    "lm-sgd-l1": lambda n, f: 1e-6 * n * f,
    "lm-sgd-l2": lambda n, f: 1e-6 * n * f,
    "svm-linear": lambda n, f: 1e-6 * n * f,
    # All SVMs of a bag share a kernel; the samples of the larger data sets are far apart.
    "svm-rbf": lambda n, f: 1.6e-5 * min(n, 3000),
    SYNTHETIC: lambda n, f: 1e-8 * n,
}


@dataclass(frozen=True)
class MissingDataset:
    """A data set that is not available."""

    dataset: str
    paper_names: tuple[str, ...]
    plans: tuple[str, ...]  # names of the plans that need it
    reason: str


@dataclass(frozen=True)
class Outcome:
    """Summary of a run.

    Attributes
    ----------
    n_cells : int
        Number of cells of the plans, without cells of missing data sets.
    n_run : int
        Number of cells measured by this run; the other cells had been measured before.
    missing : tuple of MissingDataset
        Data sets that are not available.
    seconds : float
        Duration of the run.
    claims : tuple of Claim
        The paper's claims with their verdicts; empty unless returned by `reproduce`.
    """

    n_cells: int
    n_run: int
    missing: tuple[MissingDataset, ...]
    seconds: float
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class BagWork:
    """Picklable function that trains a bag and measures cells on it."""

    bag: Bag
    source: str  # expected source of the data set: workers must not read different data
    data_dir: Path | None

    def __call__(self, cells: list[Cell]) -> Iterator[Result]:
        """Train the bag and yield the results of its cells."""
        voted = cast_votes(self.bag, self.data_dir)
        if voted.source != self.source:
            raise InputError(
                f"{self.bag.dataset} comes from {voted.source!r} here, not from {self.source!r}. "
                "Make the same data folder available to all workers."
            )
        measurer = CellMeasurer(voted)
        for cell in cells:
            yield asdict(cell) | measurer.measure_cell(cell)

    def make_task(self, cells: list[Cell], folder: ResultsFolder) -> Task:
        """Return the task that measures cells on the bag."""
        is_timed = cells[0].kind in TIMED_KINDS
        return Task(
            self.bag.unique_name, cells, self, self._estimate_seconds(cells), is_timed, folder
        )

    def _estimate_seconds(self, cells: Iterable[Cell]) -> float:
        """Estimate the time to train the bag and to measure its cells."""
        registered = datasets.DATASETS.get(self.bag.dataset)
        n_samples = (registered and registered.n_rows) or 1000
        n_features = (registered and registered.n_features) or 20
        if self.bag.learner == SYNTHETIC:
            n_samples = int(self.bag.dataset.removeprefix(f"{SYNTHETIC}-"))
        train_member = _TRAINING_SECONDS[self.bag.learner.removesuffix(STRATIFIED)]
        member_seconds = _MEMBER_SECONDS + train_member(0.6 * n_samples, n_features)
        size = (self.bag.n_members / 100) ** 1.5 * (1 + 0.2 * n_samples / 1000)
        measuring = sum(_estimate_cell_seconds(cell, size) for cell in cells)
        return _BAG_SECONDS + self.bag.n_members * member_seconds + measuring


def _estimate_cell_seconds(cell: Cell, size: float) -> float:
    """Estimate the time of a cell; ``size`` is 1 for 100 members and few samples."""
    pruning = size * _PRUNING_SECONDS.get(cell.method, _OTHER_PRUNING_SECONDS)
    if cell.kind == "speedup":
        return _RACE_SECONDS + _FITS_PER_RACE * pruning
    return _CELL_SECONDS + pruning


def run(
    plans: Iterable[str | Plan],
    out_dir: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    callback: Callback | None = None,
    seed: int = 0,
) -> Outcome:
    """Measure all cells of plans that have not been measured yet.

    An ensemble is trained once per fold, and every result is written to disk immediately. Except
    for times, results do not depend on the order, the number of workers or interruptions.

    Parameters
    ----------
    plans : iterable of str or Plan
        Plans, or names out of `PLANS`.
    out_dir : str or path-like
        Folder of the results, created if needed. Results in it are not measured again.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`.
    quick : bool, default=False
        Use the short form of plans that are passed by name.
    n_jobs : int or None, default=None
        Number of ensembles trained in parallel by joblib; its ``parallel_config`` is respected.
    executor : Executor or Client, optional
        Runs the work instead of joblib: a ``concurrent.futures.Executor`` or a Dask ``Client``.
    callback : callable, optional
        Called as ``callback(done, total, seconds_left)`` with numbers of cells; the time is None
        until it can be estimated.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Outcome

    See Also
    --------
    reproduce : Also write tables, figures and a page.
    load_results : Load the results as a data frame.

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
    loaded = [load_plan(plan, quick, data_dir) if isinstance(plan, str) else plan for plan in plans]
    folder = ResultsFolder.create(out_dir)
    path = Path(folder.path)
    data_folder = datasets.data_folder(data_dir)
    sources, missing = find_sources(loaded, data_folder)
    write_json(path.parent / "missing.json", [asdict(item) for item in missing])
    wanted = dict.fromkeys(c for p in loaded for c in p.cells(seed) if c.dataset in sources)
    stored = stored_results(path, SCHEMA, is_resumed=True)
    # Results of a data set from another source, such as a changed file, are measured again.
    measured = {c for c, result in stored.items() if result["source"] == sources.get(c.dataset)}
    tasks = [
        BagWork(bag, sources[bag.dataset], data_folder).make_task(cells, folder)
        for bag, cells in _group_by_bag(cell for cell in wanted if cell not in measured)
    ]
    run_tasks(tasks, len(wanted), n_jobs=n_jobs, executor=executor, callback=callback)
    n_run = sum(len(task.cells) for task in tasks)
    return Outcome(len(wanted), n_run, tuple(missing), time.perf_counter() - start)


def _group_by_bag(cells: Iterable[Cell]) -> list[tuple[Bag, list[Cell]]]:
    """Group cells by bag; timed cells get separate tasks, which run alone."""
    groups: dict[tuple[bool, Bag], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.kind in TIMED_KINDS, cell.bag), []).append(cell)
    return [(bag, group) for (_, bag), group in groups.items()]


def find_sources(
    plans: Sequence[Plan], data_dir: Path | None
) -> tuple[dict[str, str], list[MissingDataset]]:
    """Return the sources of the plans' data sets, and the data sets that are not available.

    For short forms, the latter include the data sets that only the full form of the plan needs.
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
    """Return the data sets of full forms of short plans that are not available locally."""
    full = [load_plan(plan.name) for plan in plans if plan.quick and plan.name in PLANS]
    return [
        missing_dataset(name, full, f"Not part of the short form. {datasets.how_to_get(name)}")
        for name in _dataset_names(full)
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
            datasets.load(name, data_dir)  # fills scikit-learn's cache before workers read it
        except InputError as error:
            return None, datasets.unavailable_reason(error)
    return source, ""
