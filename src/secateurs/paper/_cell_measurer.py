"""What each kind of cell measures on the votes of a bag."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from secateurs._methods import METHODS
from secateurs.benchmarking.splits_and_seeds import small_seed
from secateurs.distributed import DOMEP, EPFD
from secateurs.distributed.epfd import GroupedPruner
from secateurs.objectives import TDAS
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.votes import Votes
from secateurs.paper._bagging_protocol import EnsembleVotes
from secateurs.paper._plan import Cell
from secateurs.pruners import COMEP, BasePruner, make_pruner

# Methods that decide their own size, as in the paper.
FREE_SIZE = tuple(name for name, method in METHODS.items() if method.size_rule is not None)
_N_REPEATS = 3  # of quick ones
_QUICK = 0.3  # seconds
_N_RACES = 5  # COMEP against DOMEP

Fields = dict[str, Any]


class CellMeasurer:
    """Measures the cells of one bag; what two cells have in common is computed once.

    Parameters
    ----------
    voted : EnsembleVotes
        Votes of the bag.
    """

    def __init__(self, voted: EnsembleVotes) -> None:
        self._ensemble_votes = voted
        self._known_selections: dict[tuple[Any, ...], tuple[list[int], Fields]] = {}

    def measure_cell(self, cell: Cell) -> Fields:
        """Return what a result says besides the cell itself."""
        measure_kind: Callable[[Cell], Fields] = getattr(self, f"_measure_{cell.kind}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # weak spots of methods, see their docstrings
            found = measure_kind(cell)
        voted, facts = (
            self._ensemble_votes,
            ("n_classes", "source", "train_seconds", "vote_seconds"),
        )
        sizes = {"n_validation": voted.validation.n_samples, "n_test": voted.test.n_samples}
        rest = {name: getattr(voted, name) for name in facts}
        return found | {"n_train": voted.n_train, **sizes, **rest}

    def _measure_prune(self, cell: Cell) -> Fields:
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

    def _select_members(self, cell: Cell) -> tuple[list[int], Fields]:
        if cell.method == "full":
            return list(range(cell.n_members)), {"seconds": 0.0}
        free = cell.method in FREE_SIZE and cell.variant == "library"
        weight = cell.diversity_weight if METHODS[cell.method].has_diversity_weight else None
        same = (cell.method, cell.variant, None if free else cell.keep, weight)
        votes = self._ensemble_votes.validation
        if same not in self._known_selections:
            self._known_selections[same] = _fit_timed(make_cell_pruner(cell, votes), votes)
        return self._known_selections[same]

    def _measure_combination(self, cell: Cell) -> Fields:
        """Score all combinations of ``cell.keep`` members."""
        votes, test = self._ensemble_votes.validation, self._ensemble_votes.test
        distances = TDAS(votes, cell.diversity_weight).matrix()
        points = []
        for members in itertools.combinations(range(cell.n_members), cell.keep):
            inside = distances[np.ix_(members, members)].sum() / 2
            points.append([float(inside), votes.accuracy(members), test.accuracy(members)])
        return {"size": cell.keep, "points": points}

    def _measure_size(self, cell: Cell) -> Fields:
        """Score the 1, 2, … members that a method keeps."""
        votes = self._ensemble_votes.validation
        pruner = make_cell_pruner(cell, votes)
        sizes = list(range(1, cell.keep + 1))
        fits = [cell.keep] if pruner.is_nested else sizes
        orders = [pruner.with_keep(size).fit(votes).member_indices_.tolist() for size in fits]
        chosen = [orders[0][:size] for size in sizes] if pruner.is_nested else orders
        accuracies = [self._ensemble_votes.test.accuracy(members) for members in chosen]
        return {"sizes": sizes, "accuracies": accuracies}

    def _measure_speedup(self, cell: Cell) -> Fields:
        """Time COMEP and DOMEP in turn, with the groups of DOMEP in separate processes."""
        votes = self._ensemble_votes.validation
        workers = int(cell.variant.split("-")[0])
        common: Fields = {"keep": cell.keep, "diversity_weight": cell.diversity_weight}
        comep = COMEP(**common)
        domep = DOMEP(n_groups=workers, n_jobs=workers, **common).seed(_pruner_seed(cell))
        domep.fit(votes)  # starts the processes
        comep.fit(votes)
        times: dict[str, list[float]] = {"comep": [], "domep": [], "path": []}
        for _ in range(_N_RACES):
            times["comep"].append(_elapsed_seconds(lambda: comep.fit(votes)))
            times["domep"].append(_elapsed_seconds(lambda: domep.fit(votes)))
            times["path"].append(_critical_path_seconds(domep, votes))
        seconds = {f"seconds_{name}": found for name, found in times.items()}
        return {"workers": workers, "n_groups": workers, **seconds}

    def _measure_scale(self, cell: Cell) -> Fields:
        """Time a method on votes of a given size."""
        votes = self._ensemble_votes.validation
        _, times = _fit_timed(make_cell_pruner(cell, votes).with_keep(cell.keep), votes)
        return {"n": votes.n_members, "d": votes.n_samples, **times}


def make_cell_pruner(cell: Cell, votes: Votes) -> BasePruner:
    """Return the pruner that a cell asks for.

    Methods that decide their own size in the paper do so here. The distributed version of COMEP is
    DOMEP.
    """
    seed = _pruner_seed(cell)
    parameters: Fields = {"keep": None if cell.method in FREE_SIZE else cell.keep}
    if METHODS[cell.method].has_diversity_weight:
        parameters["diversity_weight"] = cell.diversity_weight
    if cell.method == "kl":
        parameters["distributions"] = votes.sizes  # how often a member gives each label
    if cell.variant == "authors":
        parameters |= _authors_settings(cell)
    spread = cell.variant == "epfd"
    name = "domep" if spread and cell.method == "comep" else cell.method
    pruner = make_pruner(name, **parameters).seed(seed)
    if not spread or name == "domep":
        return pruner
    n_groups = DOMEP(cell.keep).resolve_n_groups(cell.n_members, cell.keep)  # the same for all
    return EPFD(pruner, n_groups=n_groups, random_state=seed)


def _pruner_seed(cell: Cell) -> int:
    """Return the seed of a method, independent of ``keep`` and the weight."""
    names = ("seed", "dataset", "reading", "learner", "fold", "n_members", "method", "variant")
    return small_seed(*(getattr(cell, name) for name in names))


def _authors_settings(cell: Cell) -> Fields:
    """Return settings that bring a method near to what the authors' program does.

    It starts COMEP at a random member, stops DREP as soon as errors rise (nearly always at one
    member, given enough rows) with the fraction kept as ρ, holds SEP near the number to keep, and
    runs SEP and PEP for about as many rounds as members are to be kept.
    """
    settings: dict[str, Fields] = {
        "comep": {"start": "random"},
        "domep": {"start": "random"},
        "drep": {"stop": "nonincrease", "rho": cell.keep / cell.n_members},
        "sep": {"keep": cell.keep, "n_iterations": cell.keep + 1},
        "pep": {"n_iterations": cell.keep},
    }
    return settings.get(cell.method, {})


def _fit_timed(pruner: BasePruner, votes: Votes) -> tuple[list[int], Fields]:
    """Return the chosen members and the time taken; quick methods are timed repeatedly."""
    times = [_elapsed_seconds(lambda: pruner.fit(votes))]
    while len(times) < _N_REPEATS and times[0] < _QUICK:
        times.append(_elapsed_seconds(lambda: pruner.fit(votes)))
    fields: Fields = {"seconds": min(times)}
    if isinstance(pruner, GroupedPruner):
        fields["path_seconds"] = _critical_path_seconds(pruner, votes)
    return pruner.member_indices_.tolist(), fields


def _critical_path_seconds(fitted: GroupedPruner, votes: Votes) -> float:
    """Time the longest group and the second round: the least time with a machine per group."""
    groups = fitted.groups_
    if len(groups) == 1:
        return _elapsed_seconds(lambda: fitted.fit(votes))
    chosen = np.sort(np.concatenate(fitted.candidates_[:-1]))

    def time_one(members: Any) -> float:
        part = votes.take(members)
        inner = fitted.inner.for_members(members)
        pruner = inner.with_keep(None if inner.keep is None else min(inner.keep, len(members)))
        return _elapsed_seconds(lambda: pruner.fit(part))

    return max(map(time_one, groups)) + time_one(chosen)


def _elapsed_seconds(work: Callable[[], object]) -> float:
    elapsed = start_stopwatch()
    work()
    return elapsed()
