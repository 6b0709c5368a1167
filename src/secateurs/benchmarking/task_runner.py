"""Run tasks in parallel, each cell once, and continue interrupted runs."""

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
from secateurs.typing import ExecutorLike

Callback = Callable[[int, int, float | None], object]

# Workers on other machines may not see the results folder; they recognise it by a token in a file.
_TOKEN_FILE = ".folder"
_RESUME = "Run again to resume: results so far are kept. Fewer than {n_jobs} need less memory."
_RUN_AGAIN = "Run again with fewer than {n_jobs}, which need less memory."


class ResultsFolder(NamedTuple):
    """The folder for results, and the token by which workers recognise it."""

    path: str
    token: str

    @classmethod
    def create(cls, out_dir: str | os.PathLike[str]) -> ResultsFolder:
        """Return the folder for the results of a run, created if needed."""
        folder = Path(out_dir).resolve() / RESULTS
        folder.mkdir(parents=True, exist_ok=True)
        _check_versions(folder.parent)
        return cls(str(folder), _folder_token(folder))

    @property
    def is_shared(self) -> bool:
        """Whether this process sees the folder."""
        path = Path(self.path) / _TOKEN_FILE
        return path.is_file() and path.read_bytes() == self.token.encode()


class Task(NamedTuple):
    """Cells that are measured together, on one trained ensemble."""

    name: str  # of the file of its results
    cells: list[Any]
    work: Callable[[list[Any]], Iterable[Result]]  # yields each result as soon as it is measured
    cost: float = 1.0  # estimated time, in any unit
    is_timed: bool = False  # whether it must run alone
    results_folder: ResultsFolder | None = None  # None to return the results

    def save_result(self, result: Result) -> None:
        """Append a result to the file."""
        assert self.results_folder is not None
        append_result(Path(self.results_folder.path) / f"{self.name}.jsonl", result)


def run_task(task: Task) -> tuple[Task, list[Result]]:
    """Measure the cells of a task; return the task and the results that are not stored yet.

    If this process sees the results folder, each result is stored as soon as it is measured.
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
    """Replace the work of a finished task, which would be large to send back."""
    return ()


def run_tasks(
    tasks: Sequence[Task],
    n_cells: int,
    *,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    callback: Callback | None = None,
) -> list[Result]:
    """Run tasks; return the results of tasks without a results folder.

    ``n_cells`` includes cells that were measured before. Tasks run with joblib, or in
    ``executor``; ``callback(done, total, seconds_left)`` counts cells.
    """
    watcher = None if callback is None else _ignore_progress  # a callback replaces the bar
    # The open stage hides the progress of the tasks themselves.
    with watch_progress(watcher), open_stage("measuring", n_cells) as steps:
        progress = _TaskProgress(tasks, n_cells, steps, callback)
        _dispatch_tasks(tasks, n_jobs, executor, progress)
    return progress.results


def _ignore_progress(done: int, total: int, best: float | None) -> None:
    """Do nothing, instead of a progress bar."""


def _dispatch_tasks(
    tasks: Sequence[Task],
    n_jobs: int | None,
    executor: ExecutorLike | None,
    progress: _TaskProgress,
) -> None:
    """Run tasks in parallel, the longest first, or in this process in their order.

    Timed tasks run last, in this process and one after the other, so that they are undisturbed.
    """
    in_process = [task for task in tasks if task.is_timed]
    others = [task for task in tasks if not task.is_timed]
    by_cost = sorted(others, key=lambda task: -task.cost)
    if executor is not None:
        with running_engine(engine_for(executor)) as engine:
            futures = [engine.submit(run_task, task) for task in by_cost]
            gather_results(engine, futures, lambda _, finished: progress.finish_task(*finished))
    elif effective_n_jobs(n_jobs) == 1:
        in_process = others + in_process
    else:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        way_out = _RESUME if any(task.results_folder for task in tasks) else _RUN_AGAIN
        with explain_failures(way_out, n_jobs=n_jobs), joblib_stop_flag() as flag:
            for finished in parallel(
                delayed(run_while_wanted)(flag, run_task, task) for task in by_cost
            ):
                progress.finish_task(*finished)
    for task in in_process:
        progress.finish_task(*run_task(task))


class _TaskProgress:
    """Collects results, counts cells, and estimates the remaining time from the costs of tasks."""

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
        """Count the cells of a task, and store its results that are not stored yet."""
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
    """Return the token by which workers recognise the results folder; create it if needed."""
    path = folder / _TOKEN_FILE
    if not path.is_file() or not re.fullmatch(rb"[0-9a-f]{32}", path.read_bytes()):
        write_file(path, secrets.token_hex(16).encode())
    return path.read_text("utf-8")


def _check_versions(out_dir: Path) -> None:
    """Raise an error if stored results come from other versions of the libraries."""
    versions = {"secateurs": __version__, **{n: version(n) for n in ("numpy", "scikit-learn")}}
    path = out_dir / "versions.json"
    if not path.is_file():
        write_json(path, versions)
        return
    try:
        earlier = json.loads(path.read_text("utf-8"))
        if not earlier or not all(isinstance(value, str) for value in earlier.values()):
            raise ValueError("it contains no versions")
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is damaged: {describe_error(error)}. It names the versions that measured the "
            "results in its folder. Delete it if these are installed, or pass another folder."
        ) from error
    if earlier != versions:
        then, now = (
            format_list(f"{name} {number}" for name, number in packages.items())
            for packages in (earlier, versions)
        )
        raise InputError(
            f"{out_dir} contains results of {then}, but {now} are installed. Pass another folder, "
            "or install those versions."
        )
