"""Measure cells on the votes of a bag, one method per kind of cell."""

import itertools
import os
import time
from collections.abc import Callable

import numpy as np

from secateurs._methods import METHODS
from secateurs.benchmarking.splits_and_seeds import small_seed
from secateurs.distributed import DOMEP, EPFD
from secateurs.distributed.epfd import GroupedPruner
from secateurs.objectives import TDAS
from secateurs.outputs.compiling import compiling_seconds
from secateurs.outputs.votes import Votes
from secateurs.paper._bagging_protocol import EnsembleVotes
from secateurs.paper._literal_algorithms import (
    MOST_TIMED_DISTANCES,
    count_distances,
    literal_comep,
    literal_tdas,
)
from secateurs.paper._plan import Cell
from secateurs.pruners import COMEP, BasePruner, make_pruner
from secateurs.thread_safety import record_warnings
from secateurs.typing import IndexArray, JsonObject

# Methods that decide their own size, as in the paper.
FREE_SIZE = tuple(name for name, method in METHODS.items() if method.size_rule is not None)
# A time is the minimum of three repetitions, unless the first one takes so long that repeating it
# would dominate the run and background noise hardly matters.
_N_REPEATS = 3
_MAX_REPEATED_SECONDS = 0.3
_N_RACES = 5  # alternating fits of COMEP and DOMEP; enough for an interval of the speed-up


class CellMeasurer:
    """Measures the cells of one bag; a selection that several cells share is computed once."""

    def __init__(self, ensemble_votes: EnsembleVotes) -> None:
        self._ensemble_votes = ensemble_votes
        self._known_selections: dict[tuple[object, ...], tuple[list[int], JsonObject]] = {}

    def measure_cell(self, cell: Cell) -> JsonObject:
        """Return the measured fields of a result, without those of the cell itself."""
        measure_kind: Callable[[Cell], JsonObject] = getattr(self, f"_measure_{cell.kind}")
        # Methods warn about data that they are not made for; here they all have to run.
        with record_warnings():
            measured = measure_kind(cell)
        votes = self._ensemble_votes
        return measured | {
            "n_train": votes.n_train,
            "n_validation": votes.validation.n_samples,
            "n_test": votes.test.n_samples,
            "n_classes": votes.n_classes,
            "source": votes.source,
            "train_seconds": votes.train_seconds,
            "vote_seconds": votes.vote_seconds,
        }

    def _measure_prune(self, cell: Cell) -> JsonObject:
        """Return accuracy and times of a selection of the reproduction."""
        members, times = self._select_members(cell)
        votes, test = self._ensemble_votes.validation, self._ensemble_votes.test
        return {
            "accuracy": test.accuracy(members),
            "validation_accuracy": votes.accuracy(members),
            "n_kept": len(members),
            "members": members,
            "objective": TDAS(votes, cell.diversity_weight).value_of(members),
            **times,
        }

    def _select_members(self, cell: Cell) -> tuple[list[int], JsonObject]:
        """Select the members of a cell of the reproduction, and time the selection."""
        if cell.method == "full":
            return list(range(cell.n_members)), {"seconds": 0.0}
        is_free_size = cell.method in FREE_SIZE and cell.variant == "library"
        weight = cell.diversity_weight if METHODS[cell.method].has_diversity_weight else None
        key = (cell.method, cell.variant, None if is_free_size else cell.keep, weight)
        votes = self._ensemble_votes.validation
        if key not in self._known_selections:
            self._known_selections[key] = _fit_timed(make_cell_pruner(cell, votes), votes)
        return self._known_selections[key]

    def _measure_combination(self, cell: Cell) -> JsonObject:
        """Return objective and accuracies of all combinations of ``cell.keep`` members."""
        votes, test = self._ensemble_votes.validation, self._ensemble_votes.test
        distances = TDAS(votes, cell.diversity_weight).matrix()
        points = []
        for members in itertools.combinations(range(cell.n_members), cell.keep):
            objective = distances[np.ix_(members, members)].sum() / 2  # each pair counts twice
            points.append([float(objective), votes.accuracy(members), test.accuracy(members)])
        return {"size": cell.keep, "points": points}

    def _measure_size(self, cell: Cell) -> JsonObject:
        """Return the test accuracy of the 1, 2, … members that a method keeps."""
        votes = self._ensemble_votes.validation
        pruner = make_cell_pruner(cell, votes)
        sizes = list(range(1, cell.keep + 1))
        fits = [cell.keep] if pruner.is_nested else sizes
        orders = [pruner.with_keep(size).fit(votes).member_indices_.tolist() for size in fits]
        selections = [orders[0][:size] for size in sizes] if pruner.is_nested else orders
        accuracies = [self._ensemble_votes.test.accuracy(members) for members in selections]
        return {"sizes": sizes, "accuracies": accuracies}

    def _measure_speedup(self, cell: Cell) -> JsonObject:
        """Time a method and its distributed version alternately, with a process for each group."""
        votes = self._ensemble_votes.validation
        workers = int(cell.variant.split("-")[0])
        if cell.method == "domep":
            common: JsonObject = {"keep": cell.keep, "diversity_weight": cell.diversity_weight}
            alone: BasePruner = COMEP(**common)
            grouped: GroupedPruner = DOMEP(n_groups=workers, n_jobs=workers, **common)
            grouped.seed(_pruner_seed(cell))
        else:
            alone = make_cell_pruner(cell, votes)
            grouped = EPFD(
                make_cell_pruner(cell, votes),
                n_groups=workers,
                n_jobs=workers,
                random_state=_pruner_seed(cell),
            )
        grouped.fit(votes)  # starts the worker processes, so that the races do not include it
        alone.fit(votes)
        times: dict[str, list[float]] = {"comep": [], "domep": [], "comep_cpu": [], "path_cpu": []}
        for _ in range(_N_RACES):
            times["comep"].append(_seconds(lambda: alone.fit(votes), time.perf_counter))
            times["domep"].append(_seconds(lambda: grouped.fit(votes), time.perf_counter))
            times["comep_cpu"].append(_seconds(lambda: alone.fit(votes)))
            times["path_cpu"].append(_critical_path_seconds(grouped, votes, _seconds))
        seconds = {f"seconds_{name}": values for name, values in times.items()}
        counted = {"workers": workers, "n_groups": workers, "n_cores": os.cpu_count() or 1}
        return {**counted, **seconds, **self._time_literal(cell, grouped)}

    def _time_literal(self, cell: Cell, domep: GroupedPruner) -> JsonObject:
        """Time plain programs of Algorithms 1 and 2, on the groups of DOMEP."""
        n_distances = count_distances(cell.n_members, cell.keep)
        if cell.method != "domep" or n_distances > MOST_TIMED_DISTANCES:
            return {}
        votes, setting = self._ensemble_votes.validation, (cell.keep, cell.diversity_weight)

        def time_literal(members: IndexArray) -> float:
            part = votes.take(members)
            return _seconds(lambda: literal_comep(part, *setting))

        selected = [group[literal_comep(votes.take(group), *setting)] for group in domep.groups_]
        candidates = np.sort(np.concatenate(selected))
        results = [*selected, candidates[literal_comep(votes.take(candidates), *setting)]]
        compared = _seconds(
            lambda: [literal_tdas(votes.take(r), cell.diversity_weight) for r in results]
        )
        path = max(map(time_literal, domep.groups_)) + time_literal(candidates) + compared
        alone = time_literal(np.arange(cell.n_members))
        return {"literal_seconds": alone, "literal_path_seconds": path}

    def _measure_scale(self, cell: Cell) -> JsonObject:
        """Time a method on the votes of a bag."""
        votes = self._ensemble_votes.validation
        _, times = _fit_timed(make_cell_pruner(cell, votes).with_keep(cell.keep), votes)
        return {"n": votes.n_members, "d": votes.n_samples, **times}


def make_cell_pruner(cell: Cell, votes: Votes) -> BasePruner:
    """Return the pruner of a cell.

    Methods that decide their own size in the paper also do so here. The distributed version of
    COMEP is DOMEP.
    """
    seed = _pruner_seed(cell)
    parameters: JsonObject = {"keep": None if cell.method in FREE_SIZE else cell.keep}
    if METHODS[cell.method].has_diversity_weight:
        parameters["diversity_weight"] = cell.diversity_weight
    if cell.method == "kl":
        parameters["distributions"] = votes.sizes  # number of votes per member and label
    if cell.variant == "authors":
        parameters |= _authors_settings(cell)
    is_distributed = cell.variant == "epfd"
    name = "domep" if is_distributed and cell.method == "comep" else cell.method
    pruner = make_pruner(name, **parameters).seed(seed)
    if not is_distributed or name == "domep":
        return pruner
    # All methods use the number of groups of DOMEP, so that their times can be compared.
    n_groups = DOMEP(cell.keep).resolve_n_groups(cell.n_members, cell.keep)
    return EPFD(pruner, n_groups=n_groups, random_state=seed)


def _pruner_seed(cell: Cell) -> int:
    """Return the seed of a method; it does not depend on ``keep`` and the diversity weight."""
    names = ("seed", "dataset", "reading", "learner", "fold", "n_members", "method", "variant")
    return small_seed(*(getattr(cell, name) for name in names))


def _authors_settings(cell: Cell) -> JsonObject:
    """Return parameters that make a method behave similarly to the authors' program.

    The program starts COMEP at a random member. It stops DREP as soon as the errors increase
    (nearly always at one member, given enough samples), and uses the fraction to keep as ρ. It
    keeps SEP near the number of members to keep, and runs SEP and PEP for about as many rounds.
    """
    settings: dict[str, JsonObject] = {
        "comep": {"start": "random"},
        "domep": {"start": "random"},
        "drep": {"stop": "nonincrease", "rho": cell.keep / cell.n_members},
        "sep": {"keep": cell.keep, "n_iterations": cell.keep + 1},
        "pep": {"n_iterations": cell.keep},
    }
    return settings.get(cell.method, {})


def _fit_timed(pruner: BasePruner, votes: Votes) -> tuple[list[int], JsonObject]:
    """Fit the pruner of a cell; return the selected members and the time."""
    fields: JsonObject = {"seconds": _least_seconds(lambda: pruner.fit(votes))}
    if isinstance(pruner, GroupedPruner):
        fields["path_seconds"] = _critical_path_seconds(pruner, votes, _least_seconds)
        fields["group_wins"] = int(pruner.winner_ < len(pruner.candidates_) - 1)
    return pruner.member_indices_.tolist(), fields


def _critical_path_seconds(
    fitted: GroupedPruner, votes: Votes, measure: Callable[[Callable[[], object]], float]
) -> float:
    """Measure the longest group and the second round, as if each group had its own machine."""
    groups = fitted.groups_
    if len(groups) == 1:
        return measure(lambda: fitted.fit(votes))
    candidates = np.sort(np.concatenate(fitted.candidates_[:-1]))

    def time_group(members: IndexArray) -> float:
        part = votes.take(members)
        inner = fitted.inner.for_members(members)
        pruner = inner.with_keep(None if inner.keep is None else min(inner.keep, len(members)))
        return measure(lambda: pruner.fit(part))

    return max(map(time_group, groups)) + time_group(candidates)


def _least_seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of several runs; long work runs once."""
    times = [_seconds(work)]
    while len(times) < _N_REPEATS and times[0] < _MAX_REPEATED_SECONDS:
        times.append(_seconds(work))
    return min(times)


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Return the time of work; by default its CPU time, which other programs hardly change.

    Work during which kernels were compiled or loaded is repeated.
    """
    while True:
        seconds_before, start = compiling_seconds(), clock()
        work()
        seconds = clock() - start
        if compiling_seconds() == seconds_before:
            return seconds
