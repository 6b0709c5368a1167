"""Groups of members, pruned wherever there is somebody to do it."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from secateurs.engines._checkpoints import Checkpoints
from secateurs.engines._engines import Engine, gather
from secateurs.engines._failures import explained
from secateurs.engines._flags import joblib_flag
from secateurs.engines._transport import Members, Part, Parts
from secateurs.outputs._votes import Votes
from secateurs.pruners._base import BasePruner
from secateurs.search import interruptible

Progress = Callable[[int, int, float | None], None]

_QUICK_BYTES = 1 << 24  # votes up to this size are fetched group by group, without a thread
_TASKS_A_WORKER = 8  # at least, if there are so many groups; each costs its messages


class Job(NamedTuple):
    """Members to prune, and how."""

    name: str
    pruner: BasePruner
    members: Members
    n_keep: int | None
    seed: int | None
    asks_accuracy: bool


class Result(NamedTuple):
    """What a pruner made of some members."""

    members: Members
    scores: NDArray[np.float64]
    objective: float | None
    accuracy: float | None


@dataclass
class Told:
    """Who is told of progress: how many are done, and the best score so far."""

    callback: Progress | None
    total: int
    compete: Callable[[Result], float]
    done: int = 0
    best: float = -math.inf

    def of(self, result: Result) -> None:
        """Tell of a finished result."""
        self.done += 1
        if self.callback is not None:
            self.best = max(self.best, self.compete(result))
            best = None if math.isinf(self.best) else self.best
            self.callback(self.done, self.total, best)


@dataclass(frozen=True)
class Rounds:
    """Prunes groups side by side, and keeps what is finished."""

    parts: Parts
    engine: Engine | None
    n_jobs: int | None
    checkpoints: Checkpoints
    told: Told

    def prune(self, jobs: Sequence[Job]) -> list[Result]:
        """Prune each group, those of an earlier run excepted; results are in order."""
        results = [_read(self.checkpoints.get(job.name)) for job in jobs]
        for result in results:
            if result is not None:
                self.told.of(result)
        left = [index for index, result in enumerate(results) if result is None]

        def finished(place: int, result: Result) -> None:
            results[left[place]] = result
            self.checkpoints.put(jobs[left[place]].name, _plain(result))
            self.told.of(result)

        self._run([jobs[index] for index in left], finished)
        return [result for result in results if result is not None]

    def _run(self, jobs: Sequence[Job], finished: Callable[[int, Result], None]) -> None:
        if self.engine is not None:
            self._run_by_engine(self.engine, jobs, finished)
        elif len(jobs) == 1 or effective_n_jobs(self.n_jobs) == 1:
            for place, votes in enumerate(self._votes_of(jobs)):
                finished(place, _prune_votes(votes, jobs[place]))
        else:
            self._run_by_joblib(jobs, finished)

    def _votes_of(self, jobs: Sequence[Job]) -> Iterator[Votes]:
        """Give the votes of each group; the next ones are fetched meanwhile, if that takes time."""
        parts = [Part(self.parts.source, job.members) for job in jobs]
        if len(parts) == 1 or self.parts.source.nbytes < _QUICK_BYTES:
            yield from (part.votes() for part in parts)
            return
        with ThreadPoolExecutor(1) as thread:
            fetched = thread.submit(parts[0].votes)
            for following in parts[1:]:
                votes = fetched.result()
                fetched = thread.submit(following.votes)
                yield votes
            yield fetched.result()

    def _run_by_engine(
        self, engine: Engine, jobs: Sequence[Job], finished: Callable[[int, Result], None]
    ) -> None:
        together = max(1, len(jobs) // (_TASKS_A_WORKER * engine.n_workers))
        firsts = range(0, len(jobs), together)
        tasks = [
            [(self.parts.part(job.members), job) for job in jobs[first : first + together]]
            for first in firsts
        ]

        def all_finished(index: int, results: list[Result]) -> None:
            for place, result in enumerate(results, firsts[index]):
                finished(place, result)

        gather(engine, [engine.submit(_prune_all, task) for task in tasks], all_finished)

    def _run_by_joblib(self, jobs: Sequence[Job], finished: Callable[[int, Result], None]) -> None:
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        with explained(), joblib_flag() as unwanted:
            numbered = (
                delayed(_numbered)(place, unwanted, self.parts.part(job.members), job)
                for place, job in enumerate(jobs)
            )
            results = parallel(numbered)
            try:
                for place, result in results:
                    finished(place, result)
            finally:
                with warnings.catch_warnings():  # joblib tells of what it cancels
                    warnings.simplefilter("ignore")
                    results.close()


def _prune_all(task: Sequence[tuple[Part, Job]]) -> list[Result]:
    return [_prune(part, job) for part, job in task]


def _numbered(
    place: int, unwanted: Callable[[], bool] | None, part: Part, job: Job
) -> tuple[int, Result]:
    with nullcontext() if unwanted is None else interruptible(unwanted):
        return place, _prune(part, job)


def _prune(part: Part, job: Job) -> Result:
    return _prune_votes(part.votes(), job)


def _prune_votes(votes: Votes, job: Job) -> Result:
    """Prune some members; all of them stay if there are no more than wanted."""
    pruner = job.pruner.with_keep(None if job.n_keep is None else min(job.n_keep, votes.n_members))
    if job.seed is not None:
        pruner.seed(job.seed)
    pruner.fit(votes)
    chosen = pruner.member_indices_
    accuracy = votes.accuracy(chosen) if job.asks_accuracy else None
    objective = getattr(pruner, "objective_", None)
    worth = None if objective is None else float(objective)
    return Result(job.members[chosen], pruner.scores_, worth, accuracy)


def _plain(result: Result) -> dict[str, Any]:
    return {
        "members": result.members.tolist(),
        "scores": result.scores.tolist(),
        "objective": result.objective,
        "accuracy": result.accuracy,
    }


def _read(kept: dict[str, Any] | None) -> Result | None:
    if kept is None:
        return None
    members, scores = np.array(kept["members"], dtype=np.intp), np.array(kept["scores"])
    return Result(members, scores, kept["objective"], kept["accuracy"])
