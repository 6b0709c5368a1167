"""One round of group pruning: each group in this process, by joblib, or on an executor."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from secateurs.engines.checkpoints import Checkpoints
from secateurs.engines.executors import Engine, gather_results
from secateurs.engines.failures import explain_failures, joblib_stop_flag, run_while_wanted
from secateurs.engines.transport import Indices, PredictionSlice, PredictionSource
from secateurs.exceptions import InputError
from secateurs.outputs.predictions import true_values
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressStage
from secateurs.pruners.base import BasePruner

_QUICK_BYTES = 1 << 24  # votes up to this size are read group by group, without a thread
_TASKS_PER_WORKER = 8  # at least, where there are enough groups; each costs messages


class GroupJob(NamedTuple):
    """A group of members, and how to prune it."""

    name: str
    pruner: BasePruner
    members: Indices
    n_keep: int | None
    seed: int | None
    needs_accuracy: bool


class GroupResult(NamedTuple):
    """The members that a pruner keeps of a group."""

    members: Indices
    scores: NDArray[np.float64]
    objective: float | None
    accuracy: float | None
    weights: NDArray[np.float64] | None = None


@dataclass
class GroupProgress:
    """Tells the number of results, their total, and the best score so far."""

    stage: ProgressStage
    n_total: int
    score_result: Callable[[GroupResult], float]
    n_done: int = 0
    best_score: float = -math.inf

    def add_result(self, result: GroupResult) -> None:
        """Report a finished result."""
        self.n_done += 1
        if self.stage.has_callback:
            self.best_score = max(self.best_score, self.score_result(result))
        self.stage.report_progress(
            self.n_done, self.n_total, None if math.isinf(self.best_score) else self.best_score
        )


@dataclass(frozen=True)
class GroupRunner:
    """Prune groups in parallel, with a checkpoint after each."""

    source: PredictionSource
    engine: Engine | None
    n_jobs: int | None
    checkpoints: Checkpoints
    progress: GroupProgress

    def prune_groups(self, jobs: Sequence[GroupJob]) -> list[GroupResult]:
        """Return a result per group, in order; those of an earlier run are read."""
        results = [
            _result_from_checkpoint(self.checkpoints.read_value(job.name), job) for job in jobs
        ]
        for result in results:
            if result is not None:
                self.progress.add_result(result)
        left = [index for index, result in enumerate(results) if result is None]

        def record_result(place: int, result: GroupResult) -> None:
            results[left[place]] = result
            self.checkpoints.write_value(jobs[left[place]].name, _result_as_dict(result))
            self.progress.add_result(result)

        self._run_jobs([jobs[index] for index in left], record_result)
        return [result for result in results if result is not None]

    def _run_jobs(
        self, jobs: Sequence[GroupJob], finished: Callable[[int, GroupResult], None]
    ) -> None:
        if self.engine is not None:
            self._run_on_engine(self.engine, jobs, finished)
        elif len(jobs) == 1 or effective_n_jobs(self.n_jobs) == 1:
            for place, votes in enumerate(self._load_predictions(jobs)):
                finished(place, _prune_group(votes, jobs[place]))
        else:
            self._run_with_joblib(jobs, finished)

    def _load_predictions(self, jobs: Sequence[GroupJob]) -> Iterator[Any]:
        """Yield the votes of each group; large ones are read ahead in a thread."""
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
        together = max(1, len(jobs) // (_TASKS_PER_WORKER * engine.n_workers))
        firsts = range(0, len(jobs), together)
        tasks = [
            [
                (self.source.slice_members(job.members), job)
                for job in jobs[first : first + together]
            ]
            for first in firsts
        ]

        def record_results(index: int, results: list[GroupResult]) -> None:
            for place, result in enumerate(results, firsts[index]):
                finished(place, result)

        gather_results(
            engine, [engine.submit(_prune_groups, task) for task in tasks], record_results
        )

    def _run_with_joblib(
        self, jobs: Sequence[GroupJob], finished: Callable[[int, GroupResult], None]
    ) -> None:
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        except ValueError as error:  # "multiprocessing", which waits for ever for a lost worker
            raise InputError(
                f"This backend of joblib returns no result before all are done ({error}). Use "
                "joblib.parallel_config with 'loky', 'threading' or 'dask'."
            ) from error
        with explain_failures(), joblib_stop_flag() as unwanted:
            numbered = (
                delayed(run_while_wanted)(
                    unwanted,
                    _prune_numbered_group,
                    place,
                    self.source.slice_members(job.members),
                    job,
                )
                for place, job in enumerate(jobs)
            )
            results = parallel(numbered)
            try:
                for place, result in results:
                    finished(place, result)
            finally:
                with warnings.catch_warnings():  # joblib warns about what it cancels
                    warnings.simplefilter("ignore")
                    results.close()


def _prune_groups(task: Sequence[tuple[PredictionSlice, GroupJob]]) -> list[GroupResult]:
    return [_prune_group(group.load(), job) for group, job in task]


def _prune_numbered_group(
    place: int, group: PredictionSlice, job: GroupJob
) -> tuple[int, GroupResult]:
    return place, _prune_group(group.load(), job)


def _prune_group(votes: Any, job: GroupJob) -> GroupResult:
    """Prune a group; a group that is not larger than ``n_keep`` stays whole."""
    pruner = job.pruner.with_keep(None if job.n_keep is None else min(job.n_keep, votes.n_members))
    if job.seed is not None:
        pruner.seed(job.seed)
    pruner._is_silent = True
    pruner.fit(votes)
    chosen, weights = pruner.member_indices_, getattr(pruner, "weights_", None)
    accuracy = _accuracy_criterion(votes, chosen, weights) if job.needs_accuracy else None
    objective = getattr(pruner, "objective_", None)
    worth = None if objective is None else float(objective)
    return GroupResult(job.members[chosen], pruner.scores_, worth, accuracy, weights)


def _accuracy_criterion(outputs: Any, members: Indices, weights: Any) -> float:
    """Return the accuracy of the vote; of numbers, the mean squared error of their mean, negative.

    Samples on which no member predicts a number are left out.
    """
    if isinstance(outputs, Votes) and weights is None:
        return outputs.accuracy(members)
    answers = outputs.vote(members, weights=weights)
    if len(outputs.classes):
        return float((answers == true_values(outputs)).mean())
    off = answers - outputs.truth
    return -float((off[~np.isnan(off)] ** 2).mean())


def _result_as_dict(result: GroupResult) -> dict[str, Any]:
    kept = result._asdict().items()
    return {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in kept}


def _result_from_checkpoint(found: dict[str, Any] | None, job: GroupJob) -> GroupResult | None:
    """Return the result of a checkpoint, if it keeps members of this group."""
    if found is None:
        return None
    members, scores = np.array(found["members"], dtype=np.intp), np.array(found["scores"])
    if not np.isin(members, job.members).all():
        return None
    weights = found.get("weights")
    weights = None if weights is None else np.array(weights)
    return GroupResult(**{**found, "members": members, "scores": scores, "weights": weights})
