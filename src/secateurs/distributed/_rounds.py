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

from secateurs._progress import Stage
from secateurs.engines._checkpoints import Checkpoints
from secateurs.engines._executors import Engine, gather
from secateurs.engines._failures import explained, joblib_flag, wanted
from secateurs.engines._transport import Indices, VoteSlice, VoteSource
from secateurs.exceptions import InputError
from secateurs.outputs._scores import true_values
from secateurs.outputs._votes import Votes
from secateurs.pruners._base import BasePruner

_QUICK_BYTES = 1 << 24  # votes up to this size are read group by group, without a thread
_TASKS_PER_WORKER = 8  # at least, where there are enough groups; each costs messages


class Job(NamedTuple):
    """A group of members, and how to prune it."""

    name: str
    pruner: BasePruner
    members: Indices
    n_keep: int | None
    seed: int | None
    asks_accuracy: bool


class Result(NamedTuple):
    """The members that a pruner keeps of a group."""

    members: Indices
    scores: NDArray[np.float64]
    objective: float | None
    accuracy: float | None
    weights: NDArray[np.float64] | None = None


@dataclass
class ProgressReport:
    """Tells the number of results, their total, and the best score so far."""

    stage: Stage
    total: int
    compete: Callable[[Result], float]
    done: int = 0
    best: float = -math.inf

    def add(self, result: Result) -> None:
        """Report a finished result."""
        self.done += 1
        if self.stage.is_heard:
            self.best = max(self.best, self.compete(result))
        self.stage.tell(self.done, self.total, None if math.isinf(self.best) else self.best)


@dataclass(frozen=True)
class Rounds:
    """Prune groups in parallel, with a checkpoint after each."""

    source: VoteSource
    engine: Engine | None
    n_jobs: int | None
    checkpoints: Checkpoints
    progress: ProgressReport

    def prune(self, jobs: Sequence[Job]) -> list[Result]:
        """Return a result per group, in order; those of an earlier run are read."""
        results = [_kept(self.checkpoints.get(job.name), job) for job in jobs]
        for result in results:
            if result is not None:
                self.progress.add(result)
        left = [index for index, result in enumerate(results) if result is None]

        def finished(place: int, result: Result) -> None:
            results[left[place]] = result
            self.checkpoints.put(jobs[left[place]].name, _as_dict(result))
            self.progress.add(result)

        self._run([jobs[index] for index in left], finished)
        return [result for result in results if result is not None]

    def _run(self, jobs: Sequence[Job], finished: Callable[[int, Result], None]) -> None:
        if self.engine is not None:
            self._run_by_engine(self.engine, jobs, finished)
        elif len(jobs) == 1 or effective_n_jobs(self.n_jobs) == 1:
            for place, votes in enumerate(self._votes_of(jobs)):
                finished(place, _prune(votes, jobs[place]))
        else:
            self._run_by_joblib(jobs, finished)

    def _votes_of(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Yield the votes of each group; large ones are read ahead in a thread."""
        groups = [VoteSlice(self.source.votes, job.members) for job in jobs]
        if len(groups) == 1 or self.source.votes.nbytes < _QUICK_BYTES:
            yield from (group.load() for group in groups)
            return
        with ThreadPoolExecutor(1) as thread:
            reading = thread.submit(groups[0].load)
            for following in groups[1:]:
                votes = reading.result()
                reading = thread.submit(following.load)
                yield votes
            yield reading.result()

    def _run_by_engine(
        self, engine: Engine, jobs: Sequence[Job], finished: Callable[[int, Result], None]
    ) -> None:
        together = max(1, len(jobs) // (_TASKS_PER_WORKER * engine.n_workers))
        firsts = range(0, len(jobs), together)
        tasks = [
            [(self.source.slice(job.members), job) for job in jobs[first : first + together]]
            for first in firsts
        ]

        def all_finished(index: int, results: list[Result]) -> None:
            for place, result in enumerate(results, firsts[index]):
                finished(place, result)

        gather(engine, [engine.submit(_prune_all, task) for task in tasks], all_finished)

    def _run_by_joblib(self, jobs: Sequence[Job], finished: Callable[[int, Result], None]) -> None:
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        except ValueError as error:  # "multiprocessing", which waits for ever for a lost worker
            raise InputError(
                f"This backend of joblib returns no result before all are done ({error}). Use "
                "joblib.parallel_config with 'loky', 'threading' or 'dask'."
            ) from error
        with explained(), joblib_flag() as unwanted:
            numbered = (
                delayed(wanted)(unwanted, _numbered, place, self.source.slice(job.members), job)
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


def _prune_all(task: Sequence[tuple[VoteSlice, Job]]) -> list[Result]:
    return [_prune(group.load(), job) for group, job in task]


def _numbered(place: int, group: VoteSlice, job: Job) -> tuple[int, Result]:
    return place, _prune(group.load(), job)


def _prune(votes: Any, job: Job) -> Result:
    """Prune a group; a group that is not larger than ``n_keep`` stays whole."""
    pruner = job.pruner.with_keep(None if job.n_keep is None else min(job.n_keep, votes.n_members))
    if job.seed is not None:
        pruner.seed(job.seed)
    pruner._is_silent = True
    pruner.fit(votes)
    chosen, weights = pruner.member_indices_, getattr(pruner, "weights_", None)
    accuracy = _accuracy(votes, chosen, weights) if job.asks_accuracy else None
    objective = getattr(pruner, "objective_", None)
    worth = None if objective is None else float(objective)
    return Result(job.members[chosen], pruner.scores_, worth, accuracy, weights)


def _accuracy(outputs: Any, members: Indices, weights: Any) -> float:
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


def _as_dict(result: Result) -> dict[str, Any]:
    kept = result._asdict().items()
    return {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in kept}


def _kept(found: dict[str, Any] | None, job: Job) -> Result | None:
    """Return the result of a checkpoint, if it keeps members of this group."""
    if found is None:
        return None
    members, scores = np.array(found["members"], dtype=np.intp), np.array(found["scores"])
    if not np.isin(members, job.members).all():
        return None
    weights = found.get("weights")
    weights = None if weights is None else np.array(weights)
    return Result(**{**found, "members": members, "scores": scores, "weights": weights})
