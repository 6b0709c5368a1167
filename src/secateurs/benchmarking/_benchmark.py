"""Many data sets, ensembles and methods: `benchmark`, the door to the runner."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import effective_n_jobs
from joblib.externals.loky.backend import reduction

from secateurs._text import listed
from secateurs._units import read_keep
from secateurs.benchmarking._benchmark_result import Benchmark, Facts
from secateurs.benchmarking._inputs import (
    Data,
    Entrant,
    Model,
    baselines,
    data_sets,
    digest_of,
    entrants,
    fingerprint,
    models,
)
from secateurs.benchmarking._measure import SCHEMA, VOTINGS, Cell, FoldWork
from secateurs.benchmarking._protocol import N_FOLDS
from secateurs.benchmarking._results import framed, stored_results
from secateurs.benchmarking._runner import Callback, Place, Task, run_tasks
from secateurs.evaluation._alternatives import Methods
from secateurs.exceptions import InputError, cause_of
from secateurs.measures._scoring import Scoring
from secateurs.pruners._parameters import check_option, is_number, is_whole, resolve_keep

_COLUMNS = (
    *("dataset", "ensemble", "method", "keep", "seed", "fold", "score"),
    *("n_members", "n_kept", "members", "n_train", "n_validation", "n_test", "n_classes"),
    *("seconds", "train_seconds", "vote_seconds"),
)


def benchmark(
    datasets: Any,
    ensembles: Any,
    methods: Methods = "all",
    keep: float | str | Sequence[float | str] = 0.1,
    *,
    scoring: Any = None,
    folds: int = N_FOLDS,
    random_state: int = 0,
    repeats: int = 1,
    control: str | None = None,
    voting: str = "own",
    target: str = "target",
    title: str = "Benchmark",
    results: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    callback: Callback | None = None,
) -> Benchmark:
    """Compare methods over many data sets: scores, ranks, tests, tables and figures.

    Each data set is cut into folds, class by class. For every fold an ensemble is trained on all
    blocks but two; methods choose its members on one of these, and are scored on the other. All
    random seeds derive from the names of data sets, ensembles and methods, so that neither the
    order, nor the number of workers, nor an interruption changes a score.

    Parameters
    ----------
    datasets : dict of str to data, or path
        Data sets by name: ``(X, y)``, a function that returns it, or the path of a table. Or a
        folder of tables (.csv, .csv.gz, .parquet), which are named by their files.
    ensembles : estimator, or dict of str to estimator
        Unfitted ensembles by name, or functions that return one. Random states that are None are
        set.
    methods : "all", list, or dict of str to method, default="all"
        As for `compare`. A pruner given with ``keep=None``, or a selector without ``keep``, decides
        how many members it keeps. Random and first members, the best single one and all of them
        are always measured too; unless given here, they take no part in ranks.
    keep : int, float, str or sequence of these, default=0.1
        Numbers of members to keep: counts, or fractions of the ensemble, such as 0.1 or "10%".
    scoring : str or callable, optional
        The score, as for `compare`: larger is better. By default accuracy, for regressors R².
    folds : int, default=5
        Number of folds, 3 or more.
    random_state : int, default=0
        Random seed.
    repeats : int, default=1
        Number of repetitions, each with a seed and folds of its own.
    control : str, optional
        Method to compare all others with, by t-tests over the folds of each data set.
    voting : {"own", "labels"}, default="own"
        Whether members vote as in the ensemble itself, by probabilities in a forest, or each for
        a label.
    target : str, default="target"
        Column of the true values in tables.
    title : str, default="Benchmark"
        Title of tables and page.
    results : path, optional
        Folder to keep the results in, each as soon as it is there. What it holds is not measured
        again: an interrupted run continues where it stopped.
    n_jobs : int or None, default=None
        Number of folds measured in parallel, by joblib under its ``parallel_config``.
    executor : Executor or Client, optional
        Where the work runs instead: any ``concurrent.futures.Executor``, or a Dask ``Client``.
    callback : callable, optional
        Called as ``callback(done, total, seconds_left)``, in measurements; the time is None at
        first.

    Returns
    -------
    Benchmark
        The results, as a tidy frame, tables, ranks, tests and figures.

    See Also
    --------
    compare : Compare methods and sizes on one fitted ensemble.

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import benchmark
    >>> datasets = {"iris": load_iris, "wine": load_wine}
    >>> forest = RandomForestClassifier(10)
    >>> found = benchmark(datasets, forest, ["comep", "re", "kp"], keep=3, folds=3)
    >>> found
    Benchmark(3 methods on 2 data sets: comep, re, kp)
    >>> found.frame.shape  # seven methods with what they must beat, on three folds of two sets
    (42, 17)
    """
    sets, ensemble_list = data_sets(datasets, target), models(ensembles)
    study = _Study(sets, ensemble_list, _sizes(keep), scoring, voting, folds)
    study.check()
    methods_found = entrants(methods, study.of_numbers)
    others = baselines(methods_found)
    if control is not None:
        check_option("control", control, [entrant.name for entrant in methods_found])
    for name, value, least in (("repeats", repeats, 1), ("random_state", random_state, 0)):
        if not is_whole(value) or value < least:
            raise InputError(
                f"{{{name}}} is not valid. Give an integer from {least}.", **{name: value}
            )
    facts = study.read()
    place = None if results is None else Place.of(results)
    seeds = range(random_state, random_state + repeats)
    works = study.works([*methods_found, *others], seeds, facts)
    _check_sendable(works, n_jobs, executor)
    cells = {id(work): study.cells(work) for work in works}
    known = stored_results(Path(place.folder), SCHEMA) if place else {}
    found = {
        cell: known[cell]
        for work in works
        for cell in cells[id(work)]
        if cell in known and known[cell]["source"] == work.sources[cell.method]
    }
    tasks = []
    for work in works:
        missing = [cell for cell in cells[id(work)] if cell not in found]
        if missing:
            cost = facts[work.data.name].size * len(missing)
            tasks.append(Task(work.name, missing, work, float(cost), place=place))
    n_cells = sum(map(len, cells.values()))
    unsaved = run_tasks(tasks, n_cells, n_jobs=n_jobs, executor=executor, callback=callback)
    if place:
        unsaved = list(stored_results(Path(place.folder), SCHEMA).values())
    found |= {SCHEMA.cell_of(result): result for result in unsaved}
    ordered = [found[cell] for work in works for cell in cells[id(work)]]
    frame = framed(ordered, _COLUMNS).drop(columns="source")
    return Benchmark(
        frame,
        Scoring.of(scoring, () if study.of_numbers else _some_classes(facts)),
        tuple(entrant.name for entrant in methods_found),
        tuple(entrant.name for entrant in others),
        tuple(study.sizes),
        control,
        title,
        folds,
        voting,
        facts,
        {model.name: model.make() for model in ensemble_list},
        {entrant.name: entrant.pruner for entrant in methods_found},
    )


@dataclass(frozen=True, eq=False)
class _Study:
    """All that is to be measured, but for the methods."""

    sets: list[Data]
    models: list[Model]
    sizes: list[float]
    scoring: Any
    voting: str
    n_folds: int

    @property
    def of_numbers(self) -> bool:
        """Whether the ensembles predict numbers."""
        return self.models[0].is_regression

    def check(self) -> None:
        """Refuse settings that make no sense, before anything is read."""
        check_option("voting", self.voting, VOTINGS)
        if not is_whole(self.n_folds) or self.n_folds < 3:
            raise InputError(
                "{folds} is not valid. Give 3 or more: one block to test on, one to choose on, "
                "and the rest to train on.",
                folds=self.n_folds,
            )
        if len({model.is_regression for model in self.models}) > 1:
            kinds = listed(
                f"{model.name} ({'numbers' if model.is_regression else 'classes'})"
                for model in self.models
            )
            raise InputError(
                f"{{ensembles}} predict different things: {kinds}. Give classifiers or regressors.",
                ensembles=...,
            )
        if self.of_numbers and self.voting == "labels":
            raise InputError(
                "{voting} is for classes, and these ensembles predict numbers. Leave it out.",
                voting=self.voting,
            )

    def read(self) -> dict[str, Facts]:
        """Read all data sets once, so that what is wrong with them is told before any work."""
        facts = {}
        for data in self.sets:
            X, y = data.read(self.of_numbers)
            classes, counts = (
                ((), np.array([len(y)])) if self.of_numbers else np.unique(y, return_counts=True)
            )
            if not self.of_numbers and len(classes) < 2:
                raise InputError(
                    f"Data set {data.name} has {len(classes)} class. Give two or more."
                )
            if (counts // self.n_folds).sum() < 2:
                raise InputError(
                    f"Data set {data.name} has {len(y)} rows, too few for {{folds}}. Give more "
                    "rows or fewer folds.",
                    folds=self.n_folds,
                )
            Scoring.of(self.scoring, classes)
            n_features = X.shape[1] if np.ndim(X) == 2 else np.shape(X)[-1]
            facts[data.name] = Facts(len(y), int(n_features), tuple(classes), digest_of(X, y))
        return facts

    def works(
        self, found: Sequence[Entrant], seeds: Sequence[int], facts: Mapping[str, Facts]
    ) -> list[FoldWork]:
        """Return the folds of all data sets, with what their results are made of."""
        settings = fingerprint([self.scoring, self.n_folds, self.voting])
        prints = {
            entrant.name: fingerprint([entrant.pruner, entrant.decides, entrant.takes_scoring])
            for entrant in found
        }
        by_name = {entrant.name: entrant for entrant in found}
        works = []
        for data, model in itertools.product(self.sets, self.models):
            bag = [facts[data.name].digest, fingerprint(model.make()), settings]
            sources = {name: joblib.hash([*bag, prints[name]]) for name in by_name}
            works += [
                FoldWork(
                    *(data, model, by_name, facts[data.name].digest, sources, fold, seed),
                    *(self.n_folds, self.scoring, self.voting),
                )
                for seed in seeds
                for fold in range(self.n_folds)
            ]
        return works

    def cells(self, work: FoldWork) -> list[Cell]:
        """Return the cells of a fold."""
        names = work.data.name, work.model.name
        return [
            Cell(*names, method, keep, work.fold, work.seed)
            for method in work.entrants
            for keep in self.sizes
        ]


def _sizes(keep: Any) -> list[float]:
    """Return sizes as numbers, each once; they are checked as far as they can be without models."""
    wanted = [keep] if is_number(keep) or isinstance(keep, str) or keep is None else list(keep)
    for size in wanted:
        resolve_keep(size, 1 << 62)
    sizes: dict[Any, None] = dict.fromkeys(
        read_keep(size) if isinstance(size, str) else size for size in wanted
    )
    if not sizes:
        raise InputError(
            "{keep} asks for no size at all. Give a count, a fraction, or several.", keep=keep
        )
    return [int(size) if is_whole(size) else float(size) for size in sizes]


def _some_classes(facts: dict[str, Facts]) -> tuple[Any, ...]:
    return next(iter(facts.values())).classes


def _check_sendable(works: Sequence[FoldWork], n_jobs: int | None, executor: Any) -> None:
    """Refuse what cannot be sent to other processes, by its name."""
    in_process = executor is None and effective_n_jobs(n_jobs) == 1
    if in_process or isinstance(executor, ThreadPoolExecutor):
        return
    dumps = reduction.dumps if executor is None else pickle.dumps
    first = works[0]
    named: dict[str, Any] = {
        f"Method {name}": entrant.pruner for name, entrant in first.entrants.items()
    }
    named |= {f"Ensemble {work.model.name}": work.model.given for work in works}
    named |= {f"Data set {work.data.name}": work.data.load for work in works if work.data.is_code}
    for what, value in (named | {"The score": first.scoring}).items():
        try:
            dumps(value)
        except Exception as error:  # whatever an object's own pickling raises
            raise InputError(
                f"{what} cannot be sent to other processes: {cause_of(error)}. Define its class or "
                "function in a module, or leave {n_jobs} out.",
                n_jobs=...,
            ) from error
