"""What a fold measures: an ensemble is trained once, and all methods choose among its members."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

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
from secateurs.evaluation.selections import MemberSelector, Selection, select_for_sizes
from secateurs.evaluation.size_curves import SizeCurve, evaluate_methods
from secateurs.exceptions import InputError, SecateursError, describe_error
from secateurs.outputs.collect import collect_votes
from secateurs.outputs.compiling import start_stopwatch
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.parameters import resolve_keep

VOTINGS = ("own", "labels")


@dataclass(frozen=True, order=True)
class BenchmarkCell:
    """One measurement: a method at a size, on a fold of a data set.

    Attributes
    ----------
    dataset, ensemble, method : str
        Their names.
    keep : int or float
        The size asked for.
    fold, seed : int
        Which block is the test part, and the random seed.
    """

    dataset: str
    ensemble: str
    method: str
    keep: float
    fold: int
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
    """A fold to train an ensemble on, and to measure cells on.

    Attributes
    ----------
    data, model : BenchmarkDataset and BenchmarkEnsemble
        What is trained on what.
    entrants : mapping of str to Entrant
        The methods, by name.
    digest : str
        The data's hash.
    sources : mapping of str to str
        What each result is made of, by method: the fingerprint of everything it depends on.
    fold, seed, n_folds : int
        Which of the folds, the random seed, and how many folds there are.
    scoring : object
        The score, as `Problem.from_input` takes it.
    voting : {"own", "labels"}
        Whether members vote as in the ensemble, or each for a label.
    """

    data: BenchmarkDataset
    model: BenchmarkEnsemble
    entrants: Mapping[str, Entrant]
    digest: str
    sources: Mapping[str, str]
    fold: int
    seed: int
    n_folds: int
    scoring: Any
    voting: str

    @property
    def file_stem(self) -> str:
        """A unique name, also used as a file name."""
        parts = (self.data.name, self.model.name)
        text = "-".join(re.sub(r"[^\w.]+", "_", part)[:60] for part in parts)
        if text != "-".join(parts) or "-" in "".join(parts):
            text += f"-{sha256(chr(0).join(parts).encode()).hexdigest()[:8]}"
        return f"{text}-fold{self.fold}-seed{self.seed}"

    def __call__(self, cells: list[BenchmarkCell]) -> Iterator[Result]:
        """Train the ensemble and measure the cells."""
        try:
            # One thread: folds run side by side, and sums must not depend on how many cores
            # there are.
            with threadpool_limits(limits=1):
                yield from self._measure_cells(cells)
        except SecateursError as error:
            error.prepend(f"{self._location_text}: ")
            raise

    @property
    def _location_text(self) -> str:
        return f"{self.data.name}, {self.model.name}, fold {self.fold}"

    def _measure_cells(self, cells: Sequence[BenchmarkCell]) -> Iterator[Result]:
        problem, facts = self._train_ensemble()
        sizes = {cell.keep: resolve_keep(cell.keep, problem.n_members) or 1 for cell in cells}
        asked = dict.fromkeys(cell.method for cell in cells)
        ascending = sorted(set(sizes.values()))
        choosers = {
            name: partial(
                _select_naming_errors,
                name,
                self._make_selector(self.entrants[name], ascending, problem),
            )
            for name in asked
            if self.entrants[name].pruner is not None
        }
        # In the order of the members, as in a sliced ensemble: near ties round as they do there.
        exact = range(1, problem.n_members + 1) if problem.is_plain_accuracy else ()
        curves = evaluate_methods(EvaluationPlan(problem), choosers, exact)
        whole = next(iter(curves.values()), None) or self._full_ensemble_curve(problem)
        for cell in cells:
            entrant = self.entrants[cell.method]
            if entrant.pruner is None:
                everybody = list(range(problem.n_members))
                found = _result_fields(float(whole.main_score.full_value), everybody, 0.0)
            else:
                found = _result_at_size(curves[cell.method], sizes[cell.keep], entrant)
            source = self.sources[cell.method]
            yield asdict(cell) | found | facts | {"source": source}

    def _train_ensemble(self) -> tuple[Problem, Result]:
        """Train the ensemble; return the problem of choosing its members, and facts about it."""
        X, y = self.data.read_checked(self.model.is_regression)
        if self.data.has_user_loader and dataset_digest(X, y) != self.digest:
            raise InputError(
                f"the function of {self.data.name} returns other data each time. Fix its random "
                "state, or give (X, y)."
            )
        names = (self.seed, *self.data.seed_names)
        rng = np.random.default_rng(seed_sequence(*names, "folds"))
        by_class = not self.model.is_regression
        parts = split_samples(y, self.fold, rng, self.n_folds, by_class)
        seed = small_seed(*names, self.model.name, self.fold, "train")
        (X_train, X_choose, X_test), (y_train, y_choose, y_test) = (
            [_safe_indexing(table, rows) for rows in parts] for table in (X, y)
        )
        elapsed = start_stopwatch()
        try:
            model = self.model.make_estimator(seed).fit(X_train, y_train)
        except (SecateursError, Warning, MemoryError):
            raise
        except Exception as error:
            raise InputError(
                f"the ensemble cannot be trained: {describe_error(error)}. Give another one, or other "
                "data."
            ) from error
        trained = elapsed()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # these rows are held out, however well they are met
            problem = self._make_problem(model, X_choose, y_choose, X_test, y_test)
            _ = problem.test_predictions
        if problem.ensemble.is_sequential:
            raise InputError(
                f"there is nothing to compare: of {type(model).__name__} only the first rounds can "
                f"be kept, as {CORRECTS}. Give another ensemble."
            )
        seconds = (trained, elapsed() - trained)
        n_classes = len(np.unique(y)) if by_class else 0
        facts = dict(zip(("n_train", "n_validation", "n_test"), map(len, parts), strict=True))
        facts["n_classes"] = n_classes
        times = dict(zip(("train_seconds", "vote_seconds"), seconds, strict=True))
        return problem, {"n_members": problem.n_members, **facts, **times}

    def _make_problem(self, model: Any, *rows: Any) -> Problem:
        X, y, X_test, y_test = rows
        more = {"y_test": y_test, "scoring": self.scoring}
        if self.voting == "own":
            return Problem.from_input(model, X, y, X_test=X_test, **more)
        votes, test = (collect_votes(model, one) for one in (X, X_test))
        return Problem.from_input(votes, y=y, X_test=test, **more)

    def _make_selector(
        self, entrant: Entrant, sizes: list[int], problem: Problem
    ) -> MemberSelector:
        assert entrant.pruner is not None
        pruner = self._seeded_pruner(entrant, problem)
        if entrant.decides_size:
            return partial(_select_own_size, pruner)
        if entrant.name == SINGLE_BEST:
            return partial(select_for_sizes, pruner, [1], None)
        return partial(_select_sizes, pruner, sizes)

    def _seeded_pruner(self, entrant: Entrant, problem: Problem) -> BasePruner:
        """Return a method with its seed, which depends neither on the size nor on its parameters.

        A method given by its short name optimises the score of the benchmark, if it can.
        """
        assert entrant.pruner is not None
        pruner = entrant.pruner.with_keep(entrant.pruner.keep)
        if entrant.takes_scoring and "scoring" in pruner.get_params(deep=False):
            pruner.set_params(scoring=problem.scoring.given_scorer)
        bag = (self.seed, *self.data.seed_names, self.model.name, self.fold, problem.n_members)
        free = getattr(getattr(pruner, "selector", pruner), "random_state", None) is None
        return pruner.seed(small_seed(*bag, entrant.seed_name, "library")) if free else pruner

    def _full_ensemble_curve(self, problem: Problem) -> SizeCurve:
        """Return a curve for the score of all members, where no method is measured."""
        everybody = list(range(problem.n_members))
        alone = Selection(np.array([len(everybody)]), everybody)
        return evaluate_methods(EvaluationPlan(problem), {"": lambda _: alone}, [])[""]


def _select_naming_errors(name: str, chooser: MemberSelector, problem: Problem) -> Selection:
    """Let a method select members; name it in whatever goes wrong in a method of one's own."""
    try:
        return chooser(problem)
    except SecateursError as error:
        error.prepend(f"method {name}: ")
        raise
    except (Warning, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"method {name} failed: {describe_error(error)}. Mend it, or leave it out."
        ) from error


def _select_sizes(pruner: BasePruner, sizes: list[int], problem: Problem) -> Selection:
    """Let a method select members for the sizes asked for, and no others."""
    return replace(select_for_sizes(pruner, sizes, sizes[-1], problem), sizes=np.array(sizes))


def _select_own_size(pruner: BasePruner, problem: Problem) -> Selection:
    """Let a method select as many members as it decides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        elapsed = start_stopwatch()
        fitted = pruner.fit(problem.predictions_for(pruner))
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
    """Return what a curve says of a size."""
    selection = curve.selection
    if entrant.decides_size or entrant.name == SINGLE_BEST:
        size = int(selection.sizes[0])
    place = selection.size_index(size)
    seconds = selection.seconds[max(selection.seconds) if selection.order else size]
    return _result_fields(
        float(curve.main_score.values[place]), selection.members_at(size), seconds
    )


def _result_fields(score: float, members: list[int], seconds: float) -> Result:
    return {"score": score, "n_kept": len(members), "members": members, "seconds": seconds}
