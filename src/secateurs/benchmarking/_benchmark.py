"""`benchmark`: compare methods on many data sets and ensembles."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from joblib import effective_n_jobs
from joblib.externals.loky.backend import reduction

from secateurs.benchmarking._benchmark_result import Benchmark
from secateurs.benchmarking._fold_experiment import SCHEMA, FoldExperiment
from secateurs.benchmarking.result_store import results_frame, stored_results
from secateurs.benchmarking.splits_and_seeds import N_FOLDS
from secateurs.benchmarking.study import Study
from secateurs.benchmarking.task_runner import Callback, ResultsFolder, Task, run_tasks
from secateurs.evaluation.alternatives import Methods
from secateurs.exceptions import InputError, check_parameter_names, describe_error
from secateurs.typing import ExecutorLike

_COLUMNS = (
    *("dataset", "ensemble", "method", "keep", "seed", "fold", "score"),
    *("n_members", "n_kept", "members", "n_train", "n_validation", "n_test", "n_classes"),
    *("seconds", "train_seconds", "vote_seconds"),
)


@check_parameter_names
def benchmark(
    datasets: Mapping[str, object] | str | os.PathLike[str],
    ensembles: object,
    methods: Methods = "all",
    keep: float | str | Sequence[float | str] = 0.1,
    *,
    scoring: str | Callable[..., float] | None = None,
    folds: int = N_FOLDS,
    random_state: int = 0,
    repeats: int = 1,
    control: str | None = None,
    voting: str = "own",
    target: str = "target",
    title: str = "Benchmark",
    results: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    callback: Callback | None = None,
) -> Benchmark:
    """Compare methods on many data sets: scores, ranks, tests, tables and figures.

    Each data set is split into stratified folds. For every fold an ensemble is trained on all folds
    except two: one is the validation set on which methods select members, the other is the test
    set. All random seeds are derived from the names of data sets, ensembles and methods, so scores
    depend neither on the order, nor on the number of workers, nor on interruptions.

    Parameters
    ----------
    datasets : dict of str to data, or path
        Data sets by name: ``(X, y)``, a function that returns it, or the path of a table. Or the
        path of a folder of tables (.csv, .csv.gz, .parquet), which are named after their files.
    ensembles : estimator, or dict of str to estimator
        Unfitted ensembles by name, or functions that return one. Random states that are None are
        set to derived seeds.
    methods : "all", list, or dict of str to method, default="all"
        As for `compare`. A pruner with ``keep=None``, or a selector without ``keep``, decides how
        many members it keeps. Random members, the first members, the best single member and the
        full ensemble are always measured too, but are ranked only if they are listed here.
    keep : int, float, str or sequence of these, default=0.1
        Numbers of members to keep: counts, or fractions of the ensemble, such as 0.1 or "10%".
    scoring : str or callable, optional
        The score, as for `compare`; larger is better. By default accuracy, or R² for regressors.
    folds : int, default=5
        Number of folds, 3 or more.
    random_state : int, default=0
        Random seed.
    repeats : int, default=1
        Number of repetitions, each with its own seed and folds.
    control : str, optional
        Method that all others are compared with, by t-tests over the folds of each data set.
    voting : {"own", "labels"}, default="own"
        "own": members vote as in the ensemble itself, for example by probabilities in a forest.
        "labels": each member votes for one label.
    target : str, default="target"
        Column of the true values in tables.
    title : str, default="Benchmark"
        Title of tables and page.
    results : path, optional
        Folder in which each result is stored as soon as it is measured. Stored results are not
        measured again, so an interrupted run continues where it stopped.
    n_jobs : int or None, default=None
        Number of folds measured in parallel by joblib, which respects its ``parallel_config``.
    executor : Executor or Client, optional
        Runs the work instead: any ``concurrent.futures.Executor``, or a Dask ``Client``.
    callback : callable, optional
        Called as ``callback(done, total, seconds_left)`` after each task, in measurements; the time
        is None at first.

    Returns
    -------
    Benchmark
        The results as a tidy frame, tables, ranks, tests and figures.

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
    >>> result = benchmark(datasets, forest, ["comep", "re", "kp"], keep=3, folds=3)
    >>> result
    Benchmark(3 methods on 2 data sets: comep, re, kp)
    >>> result.frame.shape  # three methods and four baselines, on three folds of two data sets
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
    experiments = study.fold_experiments()
    _check_picklable(experiments, n_jobs, executor)
    folder = None if results is None else ResultsFolder.create(results)
    stored = {} if folder is None else stored_results(Path(folder.path), SCHEMA, is_resumed=True)
    cells = {cell: work for work in experiments for cell in study.fold_cells(work)}
    # A stored result with another source was measured on other data or with other parameters.
    up_to_date = {
        cell
        for cell, work in cells.items()
        if cell in stored and stored[cell]["source"] == work.sources[cell.method]
    }
    tasks = []
    for work in experiments:
        missing = [cell for cell in study.fold_cells(work) if cell not in up_to_date]
        if missing:
            cost = float(study.dataset_summaries[work.data.name].n_values * len(missing))
            tasks.append(Task(work.file_stem, missing, work, cost, results_folder=folder))
    measured = run_tasks(tasks, len(cells), callback=callback, n_jobs=n_jobs, executor=executor)
    if folder is None:
        stored = {SCHEMA.cell_of(result): result for result in measured}
    else:
        stored = stored_results(Path(folder.path), SCHEMA)
    frame = results_frame((stored[cell] for cell in cells), _COLUMNS).drop(columns="source")
    return Benchmark(frame, study, title)


def _check_picklable(
    experiments: Sequence[FoldExperiment], n_jobs: int | None, executor: ExecutorLike | None
) -> None:
    """Raise an error that names the first object that cannot be sent to other processes."""
    in_process = executor is None and effective_n_jobs(n_jobs) == 1
    if in_process or isinstance(executor, ThreadPoolExecutor):
        return
    dumps = reduction.dumps if executor is None else pickle.dumps  # joblib sends with cloudpickle
    first = experiments[0]
    named: dict[str, object] = {
        f"Method {name}": entrant.pruner for name, entrant in first.entrants.items()
    }
    named |= {
        f"Ensemble {work.model.name}": work.model.estimator_or_factory for work in experiments
    }
    named |= {
        f"Data set {work.data.name}": work.data.load
        for work in experiments
        if work.data.has_user_loader
    }
    for name, value in (named | {"The score": first.scoring}).items():
        try:
            dumps(value)
        except Exception as error:  # pickling of a user's object can raise anything
            raise InputError(
                f"{name} cannot be sent to other processes: {describe_error(error)}. Define its "
                "class or function in a module, or leave {n_jobs} out.",
                n_jobs=...,
            ) from error
