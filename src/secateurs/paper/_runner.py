"""Run plans: every cell once, in parallel, so that a killed run goes on where it was."""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from secateurs import __version__
from secateurs.engines._executors import engine_for, gather, running
from secateurs.exceptions import InputError, import_extra
from secateurs.paper import datasets
from secateurs.paper._cells import TIMED_KINDS, Bag, Cell, by_bag
from secateurs.paper._costs import cost
from secateurs.paper._kinds import Measurer
from secateurs.paper._plan import PLANS, Plan, load_plan
from secateurs.paper._protocol import cast_votes
from secateurs.paper._results import (
    RESULTS,
    Row,
    append_row,
    load_results,
    stored,
    write_json,
)
from secateurs.paper._sources import Missing, find_sources
from secateurs.persistence._files import write_file

Callback = Callable[[int, int, float | None], object]

_MARK = ".folder"  # in the results folder: tells workers whether they see the same one


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes
    ----------
    n_cells : int
        Cells that the plans ask for, without those of missing data.
    n_run : int
        Cells that were measured; the others were there.
    missing : tuple of Missing
        Data sets that could not be had.
    seconds : float
        How long it took.
    """

    n_cells: int
    n_run: int
    missing: tuple[Missing, ...]
    seconds: float


class Task(NamedTuple):
    """A bag to make, and what to measure on it."""

    bag: Bag
    cells: list[Cell]
    source: str
    data_dir: Path | None
    folder: str
    mark: str


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

    An ensemble is trained once a fold; every row is on disk as soon as it is measured. Rows are the
    same whatever the order, the number of workers and the interruptions, but for their times.

    Parameters
    ----------
    plans : iterable of str or Plan
        Plans, or names of `PLANS`.
    out_dir : str or path-like
        Folder of the results; made if it is not there. What it holds is not measured again.
    data_dir : str or path-like, optional
        Folder of the data sets, see `secateurs.paper.datasets.load`.
    quick : bool, default=False
        Take the short form of plans given by name.
    n_jobs : int or None, default=None
        Ensembles made at the same time, by joblib under its ``parallel_config``.
    executor : Executor or Client, optional
        Where to make them instead: any ``concurrent.futures.Executor``, or a Dask ``Client``.
    callback : callable, optional
        Called as ``callback(done, total, seconds_left)``, in cells; the time is None at first.
    seed : int, default=0
        Where all chance comes from.

    Returns
    -------
    Outcome

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
    cells = [c for plan in chosen for c in plan.cells(seed) if c.dataset in sources]
    there = {c for c, row in stored(folder).items() if row["source"] == sources.get(c.dataset)}
    cells = list(dict.fromkeys(cells))
    tasks = [
        Task(bag, todo, sources[bag.dataset], data_folder, str(folder), mark)
        for bag, todo in _bags(cell for cell in cells if cell not in there)
    ]
    progress = _Progress(tasks, len(cells), callback)
    _work(tasks, n_jobs, executor, progress)
    return Outcome(len(cells), progress.n_run, tuple(missing), time.perf_counter() - start)


def reproduce(
    out_dir: str | os.PathLike[str],
    *,
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    data_dir: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    callback: Callback | None = None,
    seed: int = 0,
) -> Outcome:
    """Repeat the paper's experiments: measure, then write tables, figures and a page.

    Parameters
    ----------
    out_dir : str or path-like
        Folder for all that is made. A run that was stopped goes on.
    only : str or sequence of str, optional
        Names of `PLANS`; all of them by default.
    quick, data_dir, n_jobs, executor, callback, seed
        As for `run`.

    Returns
    -------
    Outcome
    """
    from secateurs.paper._outputs import write_outputs

    import_extra("matplotlib", "plot", "drawing figures")  # now, not after hours
    names = PLANS if only is None else (only,) if isinstance(only, str) else tuple(only)
    plans = [load_plan(name, quick) for name in names]
    outcome = run(
        plans,
        out_dir,
        data_dir=data_dir,
        n_jobs=n_jobs,
        executor=executor,
        callback=callback,
        seed=seed,
    )
    write_outputs(out_dir, plans, load_results(out_dir), missing=outcome.missing)
    return outcome


def run_bag(task: Task) -> list[Row]:
    """Make a bag and measure its cells; give the rows that are not on disk yet.

    Each row goes to a file of the bag as soon as it is there, if this process sees the folder.
    """
    voted = cast_votes(task.bag, task.data_dir)
    if voted.source != task.source:
        raise InputError(
            f"{task.bag.dataset} comes from {voted.source!r} here, not from {task.source!r}. "
            "Let all workers see the same data folder."
        )
    mark = Path(task.folder) / _MARK
    is_shared = mark.is_file() and mark.read_text("utf-8") == task.mark
    measurer = Measurer(voted)
    unsaved = []
    for cell in task.cells:
        row = cell.as_row() | measurer.measure(cell)
        if is_shared:
            append_row(_file(task), row)
        else:
            unsaved.append(row)
    return unsaved


class _Progress:
    """Counts cells, and tells the time left from the bags done and their costs."""

    def __init__(self, tasks: Sequence[Task], n_cells: int, callback: Callback | None) -> None:
        self._total = n_cells
        self._n_there = n_cells - sum(len(task.cells) for task in tasks)
        self._cost_left = sum(cost(task.bag, task.cells) for task in tasks)
        self._cost_done = 0.0
        self._start = time.perf_counter()
        self._callback = callback
        self.n_run = 0
        self._tell()

    def done(self, task: Task) -> None:
        """Count a task."""
        taken = cost(task.bag, task.cells)
        self.n_run += len(task.cells)
        self._cost_done += taken
        self._cost_left -= taken
        self._tell()

    def _tell(self) -> None:
        if self._callback is None:
            return
        left = None
        if self._cost_done:
            pace = (time.perf_counter() - self._start) / self._cost_done
            left = max(0.0, pace * self._cost_left)
        self._callback(self._n_there + self.n_run, self._total, left)


def _work(tasks: Sequence[Task], n_jobs: int | None, executor: Any, progress: _Progress) -> None:
    """Do all tasks: what is timed alone comes last, here and one after the other."""

    def finished(task: Task, rows: Iterable[Row]) -> None:
        for row in rows:
            append_row(_file(task), row)
        progress.done(task)

    timed = [task for task in tasks if task.cells[0].kind in TIMED_KINDS]
    others = [task for task in tasks if task.cells[0].kind not in TIMED_KINDS]
    _spread(others, n_jobs, executor, finished)
    for task in timed:
        finished(task, run_bag(task))


def _spread(
    tasks: Sequence[Task],
    n_jobs: int | None,
    executor: Any,
    finished: Callable[[Task, list[Row]], None],
) -> None:
    """Do tasks in many places, the longest first; or here, in their order."""
    from joblib import Parallel, delayed, effective_n_jobs

    by_cost = sorted(tasks, key=lambda task: -cost(task.bag, task.cells))
    if executor is not None:
        with running(engine_for(executor)) as engine:
            futures = [engine.submit(run_bag, task) for task in by_cost]
            gather(engine, futures, lambda index, rows: finished(by_cost[index], rows))
    elif effective_n_jobs(n_jobs) == 1:
        for task in tasks:
            finished(task, run_bag(task))
    else:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        for task, rows in parallel(delayed(_with_task)(task) for task in by_cost):
            finished(task, rows)


def _with_task(task: Task) -> tuple[Task, list[Row]]:
    return task, run_bag(task)


def _file(task: Task) -> Path:
    return Path(task.folder) / f"{task.bag.key}.jsonl"


def _bags(cells: Iterable[Cell]) -> Iterator[tuple[Bag, list[Cell]]]:
    """Sort cells under bags; what is timed alone has bags of its own."""
    listed = list(cells)
    for timed in (False, True):
        part = [cell for cell in listed if (cell.kind in TIMED_KINDS) == timed]
        yield from by_bag(part).items()


def _mark(folder: Path) -> str:
    """Give the text by which workers know the results folder."""
    path = folder / _MARK
    if not path.is_file():
        write_file(path, secrets.token_hex(16).encode())
    return path.read_text("utf-8")


def _check_versions(out_dir: Path) -> None:
    """Refuse to mix rows of two versions of what makes them."""
    names = ("numpy", "scikit-learn")
    versions = {"secateurs": __version__} | {name: version(name) for name in names}
    path = out_dir / "versions.json"
    if path.is_file():
        earlier = json.loads(path.read_text("utf-8"))
        if earlier != versions:
            raise InputError(
                f"{out_dir} holds results of {_listed(earlier)}; this is {_listed(versions)}. Give "
                "another folder, or take the versions of then."
            )
    else:
        write_json(path, versions)


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())
