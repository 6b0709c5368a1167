"""Run plans: every cell once, in parallel; an interrupted run continues where it stopped."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from secateurs import __version__
from secateurs._text import listed
from secateurs.engines._executors import engine_for, gather, running
from secateurs.engines._failures import explained, joblib_flag, wanted
from secateurs.exceptions import InputError, cause_of
from secateurs.paper import datasets
from secateurs.paper._claims import Claim
from secateurs.paper._measure import Measurer
from secateurs.paper._plan import PLANS, TIMED_KINDS, Bag, Cell, Plan, load_plan
from secateurs.paper._protocol import SYNTHETIC, cast_votes
from secateurs.paper._results import RESULTS, Result, append_result, stored, write_json
from secateurs.persistence._files import write_file

Callback = Callable[[int, int, float | None], object]

_MARK = ".folder"  # in the results folder: tells workers whether they see the same one
_ROUNDS = {"pep": 2.5, "sep": 0.8}  # seconds at 100 members; other methods take next to nothing
_QUICK = 0.02
_RESUME = "Run again to resume: results so far are kept. Fewer than {n_jobs} need less memory."

# Seconds to train one member, by training rows and features: orders of magnitude.
_SECONDS: Mapping[str, Callable[[float, float], float]] = {
    "dt": lambda n, f: 1.3e-8 * n * f * math.log2(n + 1),
    "nb": lambda n, f: 1e-8 * n * f,
    "knn": lambda n, f: 1e-6 * n * f,
    "knn-distance": lambda n, f: 1e-6 * n * f,
    "lm": lambda n, f: 1e-8 * n * f**2,
    "svm-linear": lambda n, f: 1e-6 * n * f,
    "svm-rbf": lambda n, f: 1e-8 * n**2 * (1 + f / 20),
    SYNTHETIC: lambda n, f: 1e-8 * n,
}


@dataclass(frozen=True)
class Missing:
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
    missing : tuple of Missing
        Data sets that are not available.
    seconds : float
        How long it took.
    claims : tuple of Claim
        The paper's claims with their verdicts; empty unless made by `reproduce`.
    """

    n_cells: int
    n_run: int
    missing: tuple[Missing, ...]
    seconds: float
    claims: tuple[Claim, ...] = ()


class Task(NamedTuple):
    """A bag to make, and what to measure on it."""

    bag: Bag
    cells: list[Cell]
    source: str
    data_dir: Path | None
    folder: str
    mark: str

    @property
    def file(self) -> Path:
        """Where the results go."""
        return Path(self.folder) / f"{self.bag.key}.jsonl"

    @property
    def is_timed(self) -> bool:
        """Whether it must run alone."""
        return self.cells[0].kind in TIMED_KINDS

    @property
    def cost(self) -> float:
        """Estimated seconds."""
        known = datasets.DATASETS.get(self.bag.dataset)
        n_rows = (known and known.n_rows) or 1000
        n_features = (known and known.n_features) or 20
        if self.bag.learner == SYNTHETIC:
            n_rows = int(self.bag.dataset.removeprefix(f"{SYNTHETIC}-"))
        training = self.bag.n_members * _SECONDS[self.bag.learner](0.6 * n_rows, n_features)
        pruning = sum(_ROUNDS.get(cell.method, _QUICK) for cell in self.cells)
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
    chosen = [load_plan(plan, quick) if isinstance(plan, str) else plan for plan in plans]
    folder = Path(out_dir).resolve() / RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    _check_versions(folder.parent)
    mark = _mark(folder)
    data_folder = datasets.data_folder(data_dir)
    sources, missing = find_sources(chosen, data_folder)
    write_json(folder.parent / "missing.json", [asdict(item) for item in missing])
    asked = dict.fromkeys(c for p in chosen for c in p.cells(seed) if c.dataset in sources)
    there = {c for c, found in stored(folder).items() if found["source"] == sources.get(c.dataset)}
    tasks = [
        Task(bag, cells, sources[bag.dataset], data_folder, str(folder), mark)
        for bag, cells in _by_bag(cell for cell in asked if cell not in there)
    ]
    progress = _Progress(tasks, len(asked), callback)
    _work(tasks, n_jobs, executor, progress)
    return Outcome(len(asked), progress.n_run, tuple(missing), time.perf_counter() - start)


def run_bag(task: Task) -> tuple[Task, list[Result]]:
    """Make a bag and measure its cells; return the task and the results not on disk yet.

    Each result goes to a file of the bag as soon as it is there, if this process sees the folder.
    """
    voted = cast_votes(task.bag, task.data_dir)
    if voted.source != task.source:
        raise InputError(
            f"{task.bag.dataset} comes from {voted.source!r} here, not from {task.source!r}. "
            "Let all workers see the same data folder."
        )
    mark = Path(task.folder) / _MARK
    is_shared = mark.is_file() and mark.read_bytes() == task.mark.encode()
    measurer = Measurer(voted)
    unsaved = []
    for cell in task.cells:
        result = asdict(cell) | measurer.measure(cell)
        if is_shared:
            append_result(task.file, result)
        else:
            unsaved.append(result)
    return task, unsaved


class _Progress:
    """Keeps results, counts cells, and estimates the time left from the costs of bags."""

    def __init__(self, tasks: Sequence[Task], n_cells: int, callback: Callback | None) -> None:
        self._total = n_cells
        self._n_there = n_cells - sum(len(task.cells) for task in tasks)
        self._cost_left = sum(task.cost for task in tasks)
        self._cost_done = 0.0
        self._start = time.perf_counter()
        self._callback = callback
        self.n_run = 0
        self._tell()

    def done(self, task: Task, unsaved: Iterable[Result]) -> None:
        """Count a task, and save its results that are not on disk."""
        for result in unsaved:
            append_result(task.file, result)
        self.n_run += len(task.cells)
        self._cost_done += task.cost
        self._cost_left -= task.cost
        self._tell()

    def _tell(self) -> None:
        if self._callback is not None:
            spent = time.perf_counter() - self._start
            left = max(0.0, spent / self._cost_done * self._cost_left) if self._cost_done else None
            self._callback(self._n_there + self.n_run, self._total, left)


def _work(tasks: Sequence[Task], n_jobs: int | None, executor: Any, progress: _Progress) -> None:
    """Do tasks in parallel, the longest first; or in this process, in their order.

    Timed ones come last, in this process and one after the other.
    """
    here = [task for task in tasks if task.is_timed]
    others = [task for task in tasks if not task.is_timed]
    by_cost = sorted(others, key=lambda task: -task.cost)
    if executor is not None:
        with running(engine_for(executor)) as engine:
            futures = [engine.submit(run_bag, task) for task in by_cost]
            gather(engine, futures, lambda _, found: progress.done(*found))
    elif effective_n_jobs(n_jobs) == 1:
        here = others + here
    else:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        with explained(_RESUME, n_jobs=n_jobs), joblib_flag() as flag:
            for found in parallel(delayed(wanted)(flag, run_bag, task) for task in by_cost):
                progress.done(*found)
    for task in here:
        progress.done(*run_bag(task))


def _by_bag(cells: Iterable[Cell]) -> list[tuple[Bag, list[Cell]]]:
    """Group cells by bag; timed cells have bags of their own."""
    groups: dict[tuple[bool, Bag], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.kind in TIMED_KINDS, cell.bag), []).append(cell)
    return [(bag, group) for (_, bag), group in groups.items()]


def find_sources(
    plans: Sequence[Plan], data_dir: Path | None
) -> tuple[dict[str, str], list[Missing]]:
    """Return where the data sets of plans come from, and which are not available.

    For the short form of a plan, those that only the whole plan needs and that are not at hand
    count as missing too.
    """
    sources, missing = {}, []
    for name in _names(plans):
        source, reason = _source(name, data_dir)
        if source is not None:
            sources[name] = source
        else:
            missing.append(_missing(name, plans, reason))
    whole = [load_plan(plan.name) for plan in plans if plan.quick and plan.name in PLANS]
    for name in _names(whole):
        if name in datasets.DATASETS and datasets.find(name, data_dir) in (None, "OpenML"):
            reason = f"Left out of the short form. {datasets.how_to_get(name)}"
            missing.append(_missing(name, whole, reason))
    return sources, missing


def _names(plans: Iterable[Plan]) -> dict[str, None]:
    return dict.fromkeys(row.dataset for plan in plans for row in plan.rows)


def _missing(name: str, plans: Iterable[Plan], reason: str) -> Missing:
    users = [(r.paper_name, plan.name) for plan in plans for r in plan.rows if r.dataset == name]
    rows, wanted_by = (tuple(dict.fromkeys(part)) for part in zip(*users, strict=True))
    return Missing(name, rows, wanted_by, reason)


def _source(name: str, data_dir: Path | None) -> tuple[str | None, str]:
    if name.startswith(f"{SYNTHETIC}-"):
        return "generated", ""
    source = datasets.find(name, data_dir)
    if source is None:
        return None, datasets.how_to_get(name)
    if source == "OpenML":
        try:
            datasets.load(name, data_dir)  # and keep it in scikit-learn's cache
        except InputError as error:
            return None, str(error)
    return source, ""


def _mark(folder: Path) -> str:
    """Return the text by which workers recognise the results folder."""
    path = folder / _MARK
    if not path.is_file() or not re.fullmatch(rb"[0-9a-f]{32}", path.read_bytes()):
        write_file(path, secrets.token_hex(16).encode())
    return path.read_text("utf-8")


def _check_versions(out_dir: Path) -> None:
    """Refuse to mix results of different versions of the libraries that make them."""
    versions = {"secateurs": __version__, **{n: version(n) for n in ("numpy", "scikit-learn")}}
    path = out_dir / "versions.json"
    if not path.is_file():
        write_json(path, versions)
        return
    try:
        earlier = json.loads(path.read_text("utf-8"))
        if not earlier or not all(isinstance(value, str) for value in earlier.values()):
            raise ValueError("it names no versions")
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is damaged: {cause_of(error)}. It says which versions made the results beside "
            "it. Delete it if they are those of now, or give another folder."
        ) from error
    if earlier != versions:
        then, now = (listed(f"{n} {v}" for n, v in found.items()) for found in (earlier, versions))
        raise InputError(
            f"{out_dir} holds results of {then}; this is {now}. Give another folder, or install "
            "those versions."
        )
