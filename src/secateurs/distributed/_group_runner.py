"""Prune the groups of one round: in this process, with joblib, or on an executor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from secateurs.engines.checkpoints import Checkpoints
from secateurs.engines.executors import Engine, gather_results
from secateurs.engines.failures import explain_failures, joblib_stop_flag, run_while_wanted
from secateurs.engines.transport import PredictionSlice, PredictionSource
from secateurs.exceptions import InputError
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressStage
from secateurs.pruners.base import BasePruner
from secateurs.thread_safety import record_warnings
from secateurs.typing import FloatArray, IndexArray, JsonObject

# From 16 MB of predictions on, a thread reads the next group while one is pruned. This hides the
# time for copying: EPFD then costs 4.5 % more than its pruner instead of 10 %
# (docs/decisions/0014-counts-and-memory.md). Smaller groups do not need a thread.
_QUICK_BYTES = 1 << 24
_TASKS_PER_WORKER = 8  # at least, if there are enough groups: balances load against messages


class GroupJob(NamedTuple):
    """A group of members, and how to prune it."""

    name: str  # of its checkpoint
    pruner: BasePruner
    members: IndexArray
    n_keep: int | None
    seed: int | None
    needs_accuracy: bool


class GroupResult(NamedTuple):
    """The members that a pruner keeps from a group."""

    members: IndexArray
    scores: FloatArray
    objective: float | None
    accuracy: float | None
    weights: FloatArray | None = None


@dataclass
class GroupProgress:
    """Reports the number of results, their total, and the best score so far."""

    stage: ProgressStage
    n_total: int
    score_result: Callable[[GroupResult], float]
    n_done: int = 0
    best_score: float = -math.inf

    def add_result(self, result: GroupResult) -> None:
        """Report the result of one more group."""
        self.n_done += 1
        if self.stage.has_callback:
            self.best_score = max(self.best_score, self.score_result(result))
        self.stage.report_progress(
            self.n_done, self.n_total, None if math.isinf(self.best_score) else self.best_score
        )


@dataclass(frozen=True)
class GroupRunner:
    """Prunes groups in parallel, with a checkpoint after each group."""

    source: PredictionSource
    engine: Engine | None
    n_jobs: int | None
    checkpoints: Checkpoints
    progress: GroupProgress

    def prune_groups(self, jobs: Sequence[GroupJob]) -> list[GroupResult]:
        """Return the result of each group, in order; checkpoints of an earlier run are used."""
        results = [
            _result_from_checkpoint(self.checkpoints.read_value(job.name), job) for job in jobs
        ]
        for result in results:
            if result is not None:
                self.progress.add_result(result)
        remaining = [index for index, result in enumerate(results) if result is None]

        def record_result(job_index: int, result: GroupResult) -> None:
            index = remaining[job_index]
            results[index] = result
            self.checkpoints.write_value(jobs[index].name, _result_as_dict(result))
            self.progress.add_result(result)

        self._run_jobs([jobs[index] for index in remaining], record_result)
        return [result for result in results if result is not None]

    def _run_jobs(
        self, jobs: Sequence[GroupJob], finished: Callable[[int, GroupResult], None]
    ) -> None:
        """Prune the groups on the engine, in this thread, or with joblib."""
        if self.engine is not None:
            self._run_on_engine(self.engine, jobs, finished)
        elif len(jobs) == 1 or effective_n_jobs(self.n_jobs) == 1:
            for index, votes in enumerate(self._load_predictions(jobs)):
                finished(index, _prune_group(votes, jobs[index]))
        else:
            self._run_with_joblib(jobs, finished)

    def _load_predictions(self, jobs: Sequence[GroupJob]) -> Iterator[Votes | Predictions]:
        """Yield the predictions of each group; a thread reads large ones ahead."""
        groups = [PredictionSlice(self.source.predictions, job.members) for job in jobs]
        if len(groups) == 1 or self.source.predictions.nbytes < _QUICK_BYTES:
            yield from (group.load() for group in groups)
            return
        with ThreadPoolExecutor(1) as thread:
            reading = thread.submit(groups[0].load)
            for following in groups[1:]:
                votes = reading.result()
                reading = thread.submit(following.load)
                yield votes
            yield reading.result()

    def _run_on_engine(
        self, engine: Engine, jobs: Sequence[GroupJob], finished: Callable[[int, GroupResult], None]
    ) -> None:
        jobs_per_task = max(1, len(jobs) // (_TASKS_PER_WORKER * engine.n_workers))
        firsts = range(0, len(jobs), jobs_per_task)
        tasks = [
            [
                (self.source.slice_members(job.members), job)
                for job in jobs[first : first + jobs_per_task]
            ]
            for first in firsts
        ]

        def record_results(task_index: int, results: list[GroupResult]) -> None:
            for index, result in enumerate(results, firsts[task_index]):
                finished(index, result)

        gather_results(
            engine, [engine.submit(_prune_groups, task) for task in tasks], record_results
        )

    def _run_with_joblib(
        self, jobs: Sequence[GroupJob], finished: Callable[[int, GroupResult], None]
    ) -> None:
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        except ValueError as error:  # "multiprocessing", which waits forever for a lost worker
            raise InputError(
                f"This joblib backend returns no result before all are done ({error}). Use "
                "joblib.parallel_config with 'loky', 'threading' or 'dask'."
            ) from error
        with explain_failures(), joblib_stop_flag() as stop_flag:
            numbered = (
                delayed(run_while_wanted)(
                    stop_flag,
                    _prune_numbered_group,
                    index,
                    self.source.slice_members(job.members),
                    job,
                )
                for index, job in enumerate(jobs)
            )
            results = parallel(numbered)
            try:
                for index, result in results:
                    finished(index, result)
            finally:
                with record_warnings():  # joblib warns about tasks that it cancels
                    results.close()


def _prune_groups(task: Sequence[tuple[PredictionSlice, GroupJob]]) -> list[GroupResult]:
    return [_prune_group(group.load(), job) for group, job in task]


def _prune_numbered_group(
    index: int, group: PredictionSlice, job: GroupJob
) -> tuple[int, GroupResult]:
    return index, _prune_group(group.load(), job)


def _prune_group(votes: Votes | Predictions, job: GroupJob) -> GroupResult:
    """Return the members that are kept from a group, which are all if it has only ``n_keep``."""
    pruner = job.pruner.with_keep(None if job.n_keep is None else min(job.n_keep, votes.n_members))
    if job.seed is not None:
        pruner.seed(job.seed)
    pruner._is_silent = True
    pruner.fit(votes)
    chosen, weights = pruner.member_indices_, getattr(pruner, "weights_", None)
    accuracy = _accuracy_criterion(votes, chosen, weights) if job.needs_accuracy else None
    objective = getattr(pruner, "objective_", None)
    value = None if objective is None else float(objective)
    return GroupResult(job.members[chosen], pruner.scores_, value, accuracy, weights)


def _accuracy_criterion(
    outputs: Votes | Predictions, members: IndexArray, weights: FloatArray | None
) -> float:
    """Return the accuracy of the vote, for regression the negative squared error of the mean."""
    if isinstance(outputs, Votes) and weights is None:
        return outputs.accuracy(members)
    # A sample without any prediction counts as wrong, not as a vote for the lowest class.
    silent = np.array(None, dtype=object) if len(outputs.classes) else None
    predicted = outputs.vote(members, silent=silent, weights=weights)
    if len(outputs.classes):
        return float((predicted == true_values(outputs)).mean())
    errors = predicted - outputs.truth  # NaN on samples without a prediction, which do not count
    return -float((errors[~np.isnan(errors)] ** 2).mean())


def _result_as_dict(result: GroupResult) -> JsonObject:
    items = result._asdict().items()
    return {name: item.tolist() if isinstance(item, np.ndarray) else item for name, item in items}


def _result_from_checkpoint(content: JsonObject | None, job: GroupJob) -> GroupResult | None:
    """Return the result in a checkpoint, None if it is missing or has members of other groups."""
    if content is None:
        return None
    members, scores = np.array(content["members"], dtype=np.intp), np.array(content["scores"])
    if not np.isin(members, job.members).all():
        return None
    weights = content.get("weights")
    weights = None if weights is None else np.array(weights)
    return GroupResult(**{**content, "members": members, "scores": scores, "weights": weights})
