"""Run tasks: every cell once, in parallel; an interrupted run continues where it stopped."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from secateurs import __version__
from secateurs.benchmarking.result_store import RESULTS, Result, append_result, write_json
from secateurs.engines.executors import engine_for, gather_results, running_engine
from secateurs.engines.failures import explain_failures, joblib_stop_flag, run_while_wanted
from secateurs.exceptions import InputError, describe_error
from secateurs.persistence.atomic_files import write_file
from secateurs.progress import ProgressStage, open_stage, watch_progress
from secateurs.text_format import format_list

Callback = Callable[[int, int, float | None], object]

_TOKEN_FILE = ".folder"  # in the results folder: tells workers whether they see the same one
_RESUME = "Run again to resume: results so far are kept. Fewer than {n_jobs} need less memory."
_ANEW = "Run again with fewer than {n_jobs}, which need less memory."


class ResultsFolder(NamedTuple):
    """The folder that results are written to, and the text by which workers recognise it."""

    path: str
    token: str

    @classmethod
    def create(cls, out_dir: str | os.PathLike[str]) -> ResultsFolder:
        """Return the place for the results of a run, created if needed."""
        folder = Path(out_dir).resolve() / RESULTS
        folder.mkdir(parents=True, exist_ok=True)
        _check_versions(folder.parent)
        return cls(str(folder), _folder_token(folder))

    @property
    def is_shared(self) -> bool:
        """Whether this process sees the folder."""
        mark = Path(self.path) / _TOKEN_FILE
        return mark.is_file() and mark.read_bytes() == self.token.encode()


class Task(NamedTuple):
    """Cells that are measured together, on one trained ensemble.

    Attributes
    ----------
    name : str
        Name of the file of their results.
    cells : list
        What to measure.
    work : callable(cells)
        Yields the result of each cell as soon as it is measured; goes to other processes.
    cost : float
        Estimated time, in any unit.
    is_timed : bool
        Whether it must run alone.
    results_folder : ResultsFolder or None
        Where the results go; None to send them back.
    """

    name: str
    cells: list[Any]
    work: Callable[[list[Any]], Iterable[Result]]
    cost: float = 1.0
    is_timed: bool = False
    results_folder: ResultsFolder | None = None

    def save_result(self, result: Result) -> None:
        """Append a result to the file."""
        assert self.results_folder is not None
        append_result(Path(self.results_folder.path) / f"{self.name}.jsonl", result)


def run_task(task: Task) -> tuple[Task, list[Result]]:
    """Measure the cells of a task; return it, and the results that are not on disk yet.

    Each result goes to a file as soon as it is there, if this process sees the folder.
    """
    is_shared = task.results_folder is not None and task.results_folder.is_shared
    unsaved = []
    for result in task.work(task.cells):
        if is_shared:
            task.save_result(result)
        else:
            unsaved.append(result)
    return task._replace(work=_empty_work), unsaved


def _empty_work(cells: list[Any]) -> Iterable[Result]:
    """Stand for work that need not travel back."""
    return ()


def run_tasks(
    tasks: Sequence[Task],
    n_cells: int,
    *,
    n_jobs: int | None = None,
    executor: Any = None,
    callback: Callback | None = None,
) -> list[Result]:
    """Run tasks; return the results of those that have no place.

    Parameters
    ----------
    tasks : sequence of Task
        What is to be done.
    n_cells : int
        Number of all cells, with those that were measured before.
    n_jobs : int or None, default=None
        Number of tasks done in parallel, by joblib under its ``parallel_config``.
    executor : Executor or Client, optional
        Where the work runs instead: any ``concurrent.futures.Executor``, or a Dask ``Client``.
    callback : callable, optional
        Called as ``callback(done, total, seconds_left)``, in cells; the time is None at first.

    Returns
    -------
    list of dict
    """
    told = None if callback is None else _ignore_progress  # a bar, or a callback
    with (
        watch_progress(told),
        open_stage("measuring", n_cells) as steps,
    ):  # what tasks tell is not shown
        progress = _TaskProgress(tasks, n_cells, steps, callback)
        _dispatch_tasks(tasks, n_jobs, executor, progress)
    return progress.results


def _ignore_progress(done: int, total: int, best: float | None) -> None:
    """Stand for a bar where there is a callback."""


def _dispatch_tasks(
    tasks: Sequence[Task], n_jobs: int | None, executor: Any, progress: _TaskProgress
) -> None:
    """Do tasks in parallel, the longest first; or in this process, in their order.

    Timed ones come last, in this process and one after the other.
    """
    here = [task for task in tasks if task.is_timed]
    others = [task for task in tasks if not task.is_timed]
    by_cost = sorted(others, key=lambda task: -task.cost)
    if executor is not None:
        with running_engine(engine_for(executor)) as engine:
            futures = [engine.submit(run_task, task) for task in by_cost]
            gather_results(engine, futures, lambda _, found: progress.finish_task(*found))
    elif effective_n_jobs(n_jobs) == 1:
        here = others + here
    else:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        way_out = _RESUME if any(task.results_folder for task in tasks) else _ANEW
        with explain_failures(way_out, n_jobs=n_jobs), joblib_stop_flag() as flag:
            for found in parallel(
                delayed(run_while_wanted)(flag, run_task, task) for task in by_cost
            ):
                progress.finish_task(*found)
    for task in here:
        progress.finish_task(*run_task(task))


class _TaskProgress:
    """Keeps results, counts cells, and estimates the time left from the costs of tasks."""

    def __init__(
        self, tasks: Sequence[Task], n_cells: int, steps: ProgressStage, callback: Callback | None
    ) -> None:
        self._steps = steps
        self._total = n_cells
        self._n_done = n_cells - sum(len(task.cells) for task in tasks)
        self._cost_left = sum(task.cost for task in tasks)
        self._cost_done = 0.0
        self._start = time.perf_counter()
        self._callback = callback
        self.results: list[Result] = []
        self._report_progress()

    def finish_task(self, task: Task, unsaved: Iterable[Result]) -> None:
        """Count a task, and save its results that are not on disk."""
        for result in unsaved:
            if task.results_folder is None:
                self.results.append(result)
            else:
                task.save_result(result)
        self._n_done += len(task.cells)
        self._cost_done += task.cost
        self._cost_left -= task.cost
        self._report_progress()

    def _report_progress(self) -> None:
        self._steps.report_progress(self._n_done, self._total)
        if self._callback is not None:
            spent = time.perf_counter() - self._start
            left = max(0.0, spent / self._cost_done * self._cost_left) if self._cost_done else None
            self._callback(self._n_done, self._total, left)


def _folder_token(folder: Path) -> str:
    """Return the text by which workers recognise the results folder."""
    path = folder / _TOKEN_FILE
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
            f"{path} is damaged: {describe_error(error)}. It says which versions made the results beside "
            "it. Delete it if they are those of now, or give another folder."
        ) from error
    if earlier != versions:
        then, now = (
            format_list(f"{n} {v}" for n, v in found.items()) for found in (earlier, versions)
        )
        raise InputError(
            f"{out_dir} holds results of {then}; this is {now}. Give another folder, or install "
            "those versions."
        )
