"""The plan of a benchmark: data sets × ensembles × methods × sizes × folds, all checked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np

from secateurs.benchmarking._fold_experiment import VOTINGS, BenchmarkCell, FoldExperiment
from secateurs.benchmarking.benchmark_inputs import (
    BenchmarkDataset,
    BenchmarkEnsemble,
    Entrant,
    baseline_entrants,
    dataset_digest,
    parse_datasets,
    parse_ensembles,
    parse_methods,
    value_fingerprint,
)
from secateurs.benchmarking.splits_and_seeds import N_FOLDS
from secateurs.evaluation.alternatives import Methods
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.pruners.parameters import check_option, is_integer, is_number
from secateurs.text_format import format_list
from secateurs.typing import Array
from secateurs.units import read_keep


class DatasetSummary(NamedTuple):
    """Size, classes and hash of a data set."""

    n_rows: int
    n_features: int
    classes: tuple[Any, ...]  # labels; empty for regression
    digest: str

    @property
    def n_values(self) -> int:
        """Number of feature values, which estimates the cost of training."""
        return self.n_rows * self.n_features


@dataclass(frozen=True, eq=False)
class Study:
    """Everything that a benchmark measures; create it with `from_inputs`."""

    models: list[BenchmarkEnsemble]
    entrants: list[Entrant]  # the ranked methods
    baselines: list[Entrant]  # methods that the ranked ones should beat
    sizes: list[float]  # counts, or fractions of the members
    scoring: str | Callable[..., float] | None  # as the user passed it
    voting: str  # "own" or "labels"
    n_folds: int
    seeds: range
    control: str | None  # the method that others are compared with
    datasets: list[BenchmarkDataset]
    dataset_summaries: Mapping[str, DatasetSummary]

    @classmethod
    def from_inputs(
        cls,
        datasets: object,
        ensembles: object,
        methods: Methods = "all",
        keep: float | str | Sequence[float | str] | None = 0.1,
        *,
        scoring: str | Callable[..., float] | None = None,
        folds: int = N_FOLDS,
        random_state: int = 0,
        repeats: int = 1,
        control: str | None = None,
        voting: str = "own",
        target: str = "target",
    ) -> Study:
        """Check the parameters of `benchmark` and read all data sets once.

        Errors are raised here, before anything is measured.
        """
        sets, ensemble_list, sizes = (
            parse_datasets(datasets, target),
            parse_ensembles(ensembles),
            _parse_sizes(keep),
        )
        is_regression = _check_same_task(ensemble_list)
        _check_settings(voting, folds, random_state, repeats, is_regression)
        entrants = parse_methods(methods, is_regression)
        if control is not None:
            check_option("control", control, [entrant.name for entrant in entrants])
        summaries = {
            data.name: _summarise_dataset(data, folds, scoring, is_regression) for data in sets
        }
        seeds = range(random_state, random_state + repeats)
        settings = (sizes, scoring, voting, folds, seeds, control)
        baselines = baseline_entrants(entrants)
        return cls(ensemble_list, entrants, baselines, *settings, sets, summaries)

    @property
    def is_regression(self) -> bool:
        """Whether the ensembles are regressors."""
        return self.models[0].is_regression

    @property
    def resolved_scoring(self) -> Scoring:
        """The score; larger is better."""
        classes = () if self.is_regression else next(iter(self.dataset_summaries.values())).classes
        return Scoring.from_scorer(self.scoring, classes)

    def fold_experiments(self) -> list[FoldExperiment]:
        """Return the work of all folds, with fingerprints of everything results depend on."""
        settings = value_fingerprint([self.scoring, self.n_folds, self.voting])
        by_name = {entrant.name: entrant for entrant in (*self.entrants, *self.baselines)}
        prints = {
            name: value_fingerprint([entrant.pruner, entrant.decides_size, entrant.takes_scoring])
            for name, entrant in by_name.items()
        }
        experiments = []
        for data, model in itertools.product(self.datasets, self.models):
            digest = self.dataset_summaries[data.name].digest
            common = [digest, value_fingerprint(model.make_estimator()), settings]
            sources = {name: str(joblib.hash([*common, prints[name]])) for name in by_name}
            experiments += [
                FoldExperiment(
                    *(data, model, by_name, digest, sources, fold, seed),
                    *(self.n_folds, self.scoring, self.voting),
                )
                for seed in self.seeds
                for fold in range(self.n_folds)
            ]
        return experiments

    def fold_cells(self, work: FoldExperiment) -> list[BenchmarkCell]:
        """Return the cells of a fold."""
        names = work.data.name, work.model.name
        return [
            BenchmarkCell(*names, method, keep, work.fold, work.seed)
            for method in work.entrants
            for keep in self.sizes
        ]


def _check_same_task(models: list[BenchmarkEnsemble]) -> bool:
    """Return whether the ensembles are regressors; raise an error if only some of them are."""
    tasks = {model.name: model.is_regression for model in models}
    if len(set(tasks.values())) > 1:
        names = format_list(
            f"{name} ({'regression' if is_regression else 'classes'})"
            for name, is_regression in tasks.items()
        )
        raise InputError(
            f"{{ensembles}} are for different tasks: {names}. Pass only classifiers or only "
            "regressors.",
            ensembles=...,
        )
    return models[0].is_regression


def _check_settings(
    voting: str, folds: int, random_state: int, repeats: int, is_regression: bool
) -> None:
    """Raise an error for invalid settings."""
    check_option("voting", voting, VOTINGS)
    if is_regression and voting == "labels":
        raise InputError(
            "{voting} is for classifiers, but these ensembles are regressors. Leave it out.",
            voting=voting,
        )
    if not is_integer(folds) or folds < 3:
        raise InputError(
            "{folds} is not valid. Pass 3 or more: one fold is the test set, one the validation "
            "set, and the others are for training.",
            folds=folds,
        )
    for name, value, least in (("repeats", repeats, 1), ("random_state", random_state, 0)):
        if not is_integer(value) or value < least:
            raise InputError(
                f"{{{name}}} is not valid. Pass an integer of at least {least}.", **{name: value}
            )


def _summarise_dataset(
    data: BenchmarkDataset,
    n_folds: int,
    scoring: str | Callable[..., float] | None,
    is_regression: bool,
) -> DatasetSummary:
    """Read a data set and return its summary; raise an error if it cannot be split or scored."""
    X, y = data.read_checked(is_regression)
    classes: Array = np.array([])
    counts = np.array([len(y)])
    if not is_regression:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2:
            raise InputError(f"Data set {data.name} has {len(classes)} class. Pass two or more.")
    if (counts // n_folds).sum() < 2:
        raise InputError(
            f"Data set {data.name} has {len(y)} samples, too few for {{folds}}. Pass more samples "
            "or fewer folds.",
            folds=n_folds,
        )
    Scoring.from_scorer(scoring, classes)
    return DatasetSummary(len(y), int(np.shape(X)[1]), tuple(classes), dataset_digest(X, y))


def _parse_sizes(keep: Any) -> list[float]:
    """Return the different sizes, each checked as far as possible without the ensembles."""
    values = [keep] if is_number(keep) or isinstance(keep, str) or keep is None else list(keep)
    sizes: dict[Any, None] = dict.fromkeys(
        read_keep(size) if isinstance(size, str) else size for size in values
    )
    if not sizes:
        raise InputError("{keep} has no size. Pass a count, a fraction, or several.", keep=keep)
    for size in sizes:
        fraction = is_number(size) and 0 < size <= 1
        if not fraction and not (is_integer(size) and size >= 1):
            raise InputError(
                "{keep} is not a valid size. Pass a count of at least 1, or a fraction in (0, 1] "
                "such as 0.1 or '10%'.",
                keep=keep,
            )
    return [int(size) if is_integer(size) else float(size) for size in sizes]
