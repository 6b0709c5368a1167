"""What a benchmark measures: data sets × ensembles × methods × sizes × folds, all checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
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
from secateurs.units import read_keep


class DatasetSummary(NamedTuple):
    """What is known of a data set."""

    n_rows: int
    n_features: int
    classes: tuple[Any, ...]
    digest: str

    @property
    def n_values(self) -> int:
        """Number of values."""
        return self.n_rows * self.n_features


@dataclass(frozen=True, eq=False)
class Study:
    """All that is to be measured. Made by `from_inputs`, with the parameters of `benchmark`.

    Attributes
    ----------
    models : list of BenchmarkEnsemble
        The ensembles.
    entrants, baselines : list of Entrant
        The methods that are ranked, and what they must beat.
    sizes : list of int or float
        The sizes asked for.
    scoring : object
        The score, as it was given.
    voting : {"own", "labels"}
        How members vote.
    n_folds : int
        Number of folds.
    seeds : range
        Random seeds.
    control : str or None
        The method that others are compared with.
    datasets : list of BenchmarkDataset
        The data sets.
    dataset_summaries : mapping of str to DatasetSummary
        What is known of each.
    """

    models: list[BenchmarkEnsemble]
    entrants: list[Entrant]
    baselines: list[Entrant]
    sizes: list[float]
    scoring: Any
    voting: str
    n_folds: int
    seeds: range
    control: str | None
    datasets: list[BenchmarkDataset]
    dataset_summaries: Mapping[str, DatasetSummary]

    @classmethod
    def from_inputs(
        cls,
        datasets: Any,
        ensembles: Any,
        methods: Methods = "all",
        keep: Any = 0.1,
        *,
        scoring: Any = None,
        folds: int = N_FOLDS,
        random_state: int = 0,
        repeats: int = 1,
        control: str | None = None,
        voting: str = "own",
        target: str = "target",
    ) -> Study:
        """Check everything, and read all data sets once: what is wrong is told before any work."""
        sets, ensemble_list, sizes = (
            parse_datasets(datasets, target),
            parse_ensembles(ensembles),
            _parse_sizes(keep),
        )
        of_numbers = _check_same_task(ensemble_list)
        _check_settings(voting, folds, random_state, repeats, of_numbers)
        found = parse_methods(methods, of_numbers)
        if control is not None:
            check_option("control", control, [entrant.name for entrant in found])
        facts = {data.name: _summarise_dataset(data, folds, scoring, of_numbers) for data in sets}
        seeds = range(random_state, random_state + repeats)
        settings = (sizes, scoring, voting, folds, seeds, control)
        return cls(ensemble_list, found, baseline_entrants(found), *settings, sets, facts)

    @property
    def is_regression(self) -> bool:
        """Whether the ensembles predict numbers."""
        return self.models[0].is_regression

    @property
    def resolved_scoring(self) -> Scoring:
        """The score; larger is better."""
        classes = () if self.is_regression else next(iter(self.dataset_summaries.values())).classes
        return Scoring.from_scorer(self.scoring, classes)

    def fold_experiments(self) -> list[FoldExperiment]:
        """Return the folds of all data sets, with what their results are made of."""
        settings = value_fingerprint([self.scoring, self.n_folds, self.voting])
        by_name = {entrant.name: entrant for entrant in (*self.entrants, *self.baselines)}
        prints = {
            name: value_fingerprint([entrant.pruner, entrant.decides_size, entrant.takes_scoring])
            for name, entrant in by_name.items()
        }
        works = []
        for data, model in itertools.product(self.datasets, self.models):
            digest = self.dataset_summaries[data.name].digest
            bag = [digest, value_fingerprint(model.make_estimator()), settings]
            sources = {name: str(joblib.hash([*bag, prints[name]])) for name in by_name}
            works += [
                FoldExperiment(
                    *(data, model, by_name, digest, sources, fold, seed),
                    *(self.n_folds, self.scoring, self.voting),
                )
                for seed in self.seeds
                for fold in range(self.n_folds)
            ]
        return works

    def fold_cells(self, work: FoldExperiment) -> list[BenchmarkCell]:
        """Return the cells of a fold."""
        names = work.data.name, work.model.name
        return [
            BenchmarkCell(*names, method, keep, work.fold, work.seed)
            for method in work.entrants
            for keep in self.sizes
        ]


def _check_same_task(found: list[BenchmarkEnsemble]) -> bool:
    """Return whether ensembles predict numbers; refuse some that do and some that do not."""
    kinds = {model.name: model.is_regression for model in found}
    if len(set(kinds.values())) > 1:
        told = format_list(
            f"{n} ({'numbers' if numbers else 'classes'})" for n, numbers in kinds.items()
        )
        raise InputError(
            f"{{ensembles}} predict different things: {told}. Give classifiers or regressors.",
            ensembles=...,
        )
    return found[0].is_regression


def _check_settings(
    voting: str, folds: int, random_state: int, repeats: int, of_numbers: bool
) -> None:
    """Refuse settings that make no sense."""
    check_option("voting", voting, VOTINGS)
    if of_numbers and voting == "labels":
        raise InputError(
            "{voting} is for classes, and these ensembles predict numbers. Leave it out.",
            voting=voting,
        )
    if not is_integer(folds) or folds < 3:
        raise InputError(
            "{folds} is not valid. Give 3 or more: one block to test on, one to choose on, and the "
            "rest to train on.",
            folds=folds,
        )
    for name, value, least in (("repeats", repeats, 1), ("random_state", random_state, 0)):
        if not is_integer(value) or value < least:
            raise InputError(
                f"{{{name}}} is not valid. Give an integer from {least}.", **{name: value}
            )


def _summarise_dataset(
    data: BenchmarkDataset, n_folds: int, scoring: Any, of_numbers: bool
) -> DatasetSummary:
    """Read a data set; refuse one that cannot be cut into folds or scored."""
    X, y = data.read_checked(of_numbers)
    classes: Any = ()
    counts = np.array([len(y)])
    if not of_numbers:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2:
            raise InputError(f"Data set {data.name} has {len(classes)} class. Give two or more.")
    if (counts // n_folds).sum() < 2:
        raise InputError(
            f"Data set {data.name} has {len(y)} rows, too few for {{folds}}. Give more rows or "
            "fewer folds.",
            folds=n_folds,
        )
    Scoring.from_scorer(scoring, classes)
    return DatasetSummary(len(y), int(np.shape(X)[1]), tuple(classes), dataset_digest(X, y))


def _parse_sizes(keep: Any) -> list[float]:
    """Return sizes as numbers, each once; they are checked as far as they can be without models."""
    wanted = [keep] if is_number(keep) or isinstance(keep, str) or keep is None else list(keep)
    sizes: dict[Any, None] = dict.fromkeys(
        read_keep(size) if isinstance(size, str) else size for size in wanted
    )
    if not sizes:
        raise InputError(
            "{keep} asks for no size at all. Give a count, a fraction, or several.", keep=keep
        )
    for size in sizes:
        fraction = is_number(size) and 0 < size <= 1
        if not fraction and not (is_integer(size) and size >= 1):
            raise InputError(
                "{keep} is not a valid size. Give a count from 1, or a fraction in (0, 1] such as "
                "0.1 or '10%'.",
                keep=keep,
            )
    return [int(size) if is_integer(size) else float(size) for size in sizes]
