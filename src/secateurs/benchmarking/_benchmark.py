"""Many data sets, ensembles and methods: `benchmark`, the door to the runner."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs
from joblib.externals.loky.backend import reduction

from secateurs.benchmarking._benchmark_result import Benchmark
from secateurs.benchmarking._fold_experiment import SCHEMA, FoldExperiment
from secateurs.benchmarking.result_store import results_frame, stored_results
from secateurs.benchmarking.splits_and_seeds import N_FOLDS
from secateurs.benchmarking.study import Study
from secateurs.benchmarking.task_runner import Callback, ResultsFolder, Task, run_tasks
from secateurs.evaluation.alternatives import Methods
from secateurs.exceptions import InputError, describe_error

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
    study = Study.from_inputs(
        datasets,
        ensembles,
        methods,
        keep,
        scoring=scoring,
        folds=folds,
        random_state=random_state,
        repeats=repeats,
        control=control,
        voting=voting,
        target=target,
    )
    works = study.fold_experiments()
    _check_sendable(works, n_jobs, executor)
    place = None if results is None else ResultsFolder.create(results)
    known = {} if place is None else stored_results(Path(place.path), SCHEMA)
    asked = {cell: work for work in works for cell in study.fold_cells(work)}
    there = {
        cell: known[cell]
        for cell, work in asked.items()
        if cell in known and known[cell]["source"] == work.sources[cell.method]
    }
    tasks = []
    for work in works:
        missing = [cell for cell in study.fold_cells(work) if cell not in there]
        if missing:
            cost = float(study.dataset_summaries[work.data.name].n_values * len(missing))
            tasks.append(Task(work.file_stem, missing, work, cost, results_folder=place))
    workers = {"n_jobs": n_jobs, "executor": executor}
    measured = run_tasks(tasks, len(asked), callback=callback, **workers)
    if place is None:
        there = {SCHEMA.cell_of(result): result for result in measured}
    else:
        there = stored_results(Path(place.path), SCHEMA)
    frame = results_frame((there[cell] for cell in asked), _COLUMNS).drop(columns="source")
    return Benchmark(frame, study, title)


def _check_sendable(works: Sequence[FoldExperiment], n_jobs: int | None, executor: Any) -> None:
    """Refuse what cannot be sent to other processes, by its name."""
    in_process = executor is None and effective_n_jobs(n_jobs) == 1
    if in_process or isinstance(executor, ThreadPoolExecutor):
        return
    dumps = reduction.dumps if executor is None else pickle.dumps
    first = works[0]
    named: dict[str, Any] = {
        f"Method {name}": entrant.pruner for name, entrant in first.entrants.items()
    }
    named |= {f"Ensemble {work.model.name}": work.model.estimator_or_factory for work in works}
    named |= {
        f"Data set {work.data.name}": work.data.load for work in works if work.data.has_user_loader
    }
    for what, value in (named | {"The score": first.scoring}).items():
        try:
            dumps(value)
        except Exception as error:  # whatever an object's own pickling raises
            raise InputError(
                f"{what} cannot be sent to other processes: {describe_error(error)}. Define its class or "
                "function in a module, or leave {n_jobs} out.",
                n_jobs=...,
            ) from error
