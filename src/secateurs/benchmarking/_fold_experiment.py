"""Measure a fold of a benchmark: train an ensemble once, and let all methods select members."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256

import numpy as np
from sklearn.utils import _safe_indexing

from secateurs.benchmarking.benchmark_inputs import (
    BenchmarkDataset,
    BenchmarkEnsemble,
    Entrant,
    dataset_digest,
)
from secateurs.benchmarking.result_store import Result, ResultSchema
from secateurs.benchmarking.splits_and_seeds import seed_sequence, small_seed, split_samples
from secateurs.ensembles import CORRECTS
from secateurs.evaluation.alternatives import SINGLE_BEST
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.score_table import SizeCurve, cross_validate_selections
from secateurs.evaluation.selections import MemberSelector, Selection, select_for_sizes
from secateurs.exceptions import InputError, SecateursError, describe_error
from secateurs.outputs.collect import collect_votes
from secateurs.outputs.compiling import start_stopwatch
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import resolve_keep
from secateurs.pruners.selector import fit_pruner
from secateurs.thread_safety import limit_libraries_to_one_thread, record_warnings
from secateurs.typing import Array, Samples

VOTINGS = ("own", "labels")


@dataclass(frozen=True, order=True)
class BenchmarkCell:
    """One measurement: a method at a size, on a fold of a data set."""

    dataset: str
    ensemble: str
    method: str
    keep: float  # a count or a fraction of the members
    fold: int  # the fold that is the test set
    seed: int


SCHEMA = ResultSchema(
    BenchmarkCell,
    {
        **{"score": float, "n_members": int, "n_kept": int, "members": [int], "seconds": float},
        **dict.fromkeys(("n_train", "n_validation", "n_test", "n_classes"), int),
        **{"train_seconds": float, "vote_seconds": float, "source": str},
    },
    {"": {}},
)


@dataclass(frozen=True, eq=False)
class FoldExperiment:
    """The work of one fold: train the ensemble on its training part, and measure cells."""

    data: BenchmarkDataset
    model: BenchmarkEnsemble
    entrants: Mapping[str, Entrant]  # methods and baselines by name
    digest: str  # hash of the data
    sources: Mapping[str, str]  # by method: fingerprint of everything its result depends on
    fold: int
    seed: int
    n_folds: int
    scoring: str | Callable[..., float] | None
    voting: str  # "own" (as in the ensemble itself) or "labels" (one vote each)

    @property
    def file_stem(self) -> str:
        """A unique name, also used as a file name; changed or ambiguous names get a hash."""
        parts = (self.data.name, self.model.name)
        text = "-".join(re.sub(r"[^\w.]+", "_", part)[:60] for part in parts)
        if text != "-".join(parts) or "-" in "".join(parts):
            text += f"-{sha256(chr(0).join(parts).encode()).hexdigest()[:8]}"
        return f"{text}-fold{self.fold}-seed{self.seed}"

    def __call__(self, cells: list[BenchmarkCell]) -> Iterator[Result]:
        """Train the ensemble and measure the cells."""
        try:
            # One thread: folds run in parallel, and rounding must not depend on the number of
            # cores.
            with limit_libraries_to_one_thread():
                yield from self._measure_cells(cells)
        except SecateursError as error:
            error.prepend(f"{self._location_text}: ")
            raise

    @property
    def _location_text(self) -> str:
        return f"{self.data.name}, {self.model.name}, fold {self.fold}"

    def _measure_cells(self, cells: Sequence[BenchmarkCell]) -> Iterator[Result]:
        """Train the ensemble of a fold and yield the results of its cells."""
        problem, training_fields = self._train_ensemble()
        sizes = {cell.keep: resolve_keep(cell.keep, problem.n_members) or 1 for cell in cells}
        names = dict.fromkeys(cell.method for cell in cells)
        ascending = sorted(set(sizes.values()))
        selectors = {
            name: partial(
                _select_naming_errors,
                name,
                self._make_selector(self.entrants[name], ascending, problem),
            )
            for name in names
            if self.entrants[name].pruner is not None
        }
        # At these sizes probabilities are added in the order of the members, as a sliced ensemble
        # adds them, so that near ties are rounded in the same way.
        exact = range(1, problem.n_members + 1) if problem.is_plain_accuracy else ()
        curves = cross_validate_selections(EvaluationPlan(problem), selectors, exact)
        any_curve = next(iter(curves.values()), None) or self._full_ensemble_curve(problem)
        for cell in cells:
            entrant = self.entrants[cell.method]
            if entrant.pruner is None:
                members = list(range(problem.n_members))
                fields = _result_fields(float(any_curve.main_score.full_value), members, 0.0)
            else:
                fields = _result_at_size(curves[cell.method], sizes[cell.keep], entrant)
            source = self.sources[cell.method]
            yield asdict(cell) | fields | training_fields | {"source": source}

    def _train_ensemble(self) -> tuple[Problem, Result]:
        """Train the ensemble; return the pruning problem, and result fields on the training."""
        X, y = self.data.read_checked(self.model.is_regression)
        if self.data.has_user_loader and dataset_digest(X, y) != self.digest:
            raise InputError(
                f"the function of {self.data.name} returns different data each time. Fix its "
                "random state, or pass (X, y)."
            )
        names = (self.seed, *self.data.seed_names)
        rng = np.random.default_rng(seed_sequence(*names, "folds"))
        by_class = not self.model.is_regression
        parts = split_samples(y, self.fold, rng, self.n_folds, by_class)
        seed = small_seed(*names, self.model.name, self.fold, "train")
        (X_train, X_validation, X_test), (y_train, y_validation, y_test) = (
            [_safe_indexing(table, indices) for indices in parts] for table in (X, y)
        )
        elapsed = start_stopwatch()
        try:
            model = self.model.make_estimator(seed).fit(X_train, y_train)
        except (SecateursError, Warning, MemoryError):
            raise
        except Exception as error:
            raise InputError(
                f"the ensemble cannot be trained: {describe_error(error)}. Pass another ensemble, "
                "or other data."
            ) from error
        trained = elapsed()
        # A warning that members may have been trained on these samples would be wrong here.
        with record_warnings():
            problem = self._make_problem(model, X_validation, y_validation, X_test, y_test)
            _ = problem.test_predictions  # predicted here, so that its time is measured
        if problem.ensemble.is_sequential:
            raise InputError(
                f"there is nothing to compare: only the first rounds of {type(model).__name__} can "
                f"be kept, as {CORRECTS}. Pass another ensemble."
            )
        seconds = (trained, elapsed() - trained)
        n_classes = len(np.unique(y)) if by_class else 0
        counts = dict(zip(("n_train", "n_validation", "n_test"), map(len, parts), strict=True))
        counts["n_classes"] = n_classes
        times = dict(zip(("train_seconds", "vote_seconds"), seconds, strict=True))
        return problem, {"n_members": problem.n_members, **counts, **times}

    def _make_problem(
        self, model: object, X: Samples, y: Array, X_test: Samples, y_test: Array
    ) -> Problem:
        """Return the problem of a fold, as votes or with the model itself."""
        if self.voting == "labels":
            model, X, X_test = collect_votes(model, X), None, collect_votes(model, X_test)
        return Problem.from_input(model, X, y, X_test=X_test, y_test=y_test, scoring=self.scoring)

    def _make_selector(
        self, entrant: Entrant, sizes: list[int], problem: Problem
    ) -> MemberSelector:
        """Return a function that selects members with a method of the benchmark."""
        assert entrant.pruner is not None
        pruner = self._seeded_pruner(entrant, problem)
        if entrant.decides_size:
            return partial(_select_own_size, pruner)
        if entrant.name == SINGLE_BEST:
            return partial(select_for_sizes, pruner, [1], None)
        return partial(_select_sizes, pruner, sizes)

    def _seeded_pruner(self, entrant: Entrant, problem: Problem) -> BasePruner:
        """Return a method with a seed that depends neither on the size nor on its parameters.

        A method that was passed as a short name optimises the score of the benchmark, if it can.
        """
        assert entrant.pruner is not None
        pruner = entrant.pruner.with_keep(entrant.pruner.keep)
        if entrant.takes_scoring and "scoring" in pruner.get_params(deep=False):
            pruner.set_params(scoring=problem.scoring.given_scorer)
        names = (self.seed, *self.data.seed_names, self.model.name, self.fold, problem.n_members)
        if getattr(getattr(pruner, "selector", pruner), "random_state", None) is not None:
            return pruner  # the user's seed
        return pruner.seed(small_seed(*names, entrant.seed_name, "library"))

    def _full_ensemble_curve(self, problem: Problem) -> SizeCurve:
        """Return a curve with the score of the full ensemble, if no method is measured."""
        members = list(range(problem.n_members))
        selection = Selection(np.array([len(members)]), members)
        selectors = {"": lambda _: selection}
        return cross_validate_selections(EvaluationPlan(problem), selectors, [])[""]


def _select_naming_errors(name: str, selector: MemberSelector, problem: Problem) -> Selection:
    """Return the members that a method selects; its errors name the method."""
    try:
        return selector(problem)
    except SecateursError as error:
        error.prepend(f"method {name}: ")
        raise
    except (Warning, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"method {name} failed: {describe_error(error)}. Fix it, or leave it out."
        ) from error


def _select_sizes(pruner: BasePruner, sizes: list[int], problem: Problem) -> Selection:
    """Return the members that a method selects for these sizes, and for no other size."""
    return replace(select_for_sizes(pruner, sizes, sizes[-1], problem), sizes=np.array(sizes))


def _select_own_size(pruner: BasePruner, problem: Problem) -> Selection:
    """Return the members of a method that decides their number itself."""
    with record_warnings():
        elapsed = start_stopwatch()
        fitted = fit_pruner(pruner, problem.predictions_for(pruner))
        seconds = elapsed()
    members = fitted.member_indices_.tolist()
    size, weights = len(members), problem.weights_for_pruner(fitted)
    return Selection(
        np.array([size]),
        None,
        {size: members},
        {size: fitted},
        {size: seconds},
        weights={} if weights is None else {size: weights},
    )


def _result_at_size(curve: SizeCurve, size: int, entrant: Entrant) -> Result:
    """Return the result fields of a method at a size."""
    selection = curve.selection
    if entrant.decides_size or entrant.name == SINGLE_BEST:
        size = int(selection.sizes[0])
    index = selection.size_index(size)
    # Nested selections of all sizes come from one run, that of the largest size.
    seconds = selection.seconds[max(selection.seconds) if selection.order else size]
    return _result_fields(
        float(curve.main_score.values[index]), selection.members_at(size), seconds
    )


def _result_fields(score: float, members: list[int], seconds: float) -> Result:
    return {"score": score, "n_kept": len(members), "members": members, "seconds": seconds}
