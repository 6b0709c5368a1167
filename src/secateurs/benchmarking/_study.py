"""What a benchmark measures: data sets × ensembles × methods × sizes × folds, all checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np

from secateurs._text import listed
from secateurs._units import read_keep
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
from secateurs.benchmarking._measure import VOTINGS, Cell, FoldWork
from secateurs.benchmarking._protocol import N_FOLDS
from secateurs.evaluation._alternatives import Methods
from secateurs.exceptions import InputError
from secateurs.measures._scoring import Scoring
from secateurs.pruners._parameters import check_option, is_number, is_whole


class Facts(NamedTuple):
    """What is known of a data set."""

    n_rows: int
    n_features: int
    classes: tuple[Any, ...]
    digest: str

    @property
    def size(self) -> int:
        """Number of values."""
        return self.n_rows * self.n_features


@dataclass(frozen=True, eq=False)
class Study:
    """All that is to be measured. Made by `of`, with the parameters of `benchmark`.

    Attributes
    ----------
    models : list of Model
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
    sets : list of Data
        The data sets.
    facts : mapping of str to Facts
        What is known of each.
    """

    models: list[Model]
    entrants: list[Entrant]
    baselines: list[Entrant]
    sizes: list[float]
    scoring: Any
    voting: str
    n_folds: int
    seeds: range
    control: str | None
    sets: list[Data]
    facts: Mapping[str, Facts]

    @classmethod
    def of(
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
        sets, ensemble_list, sizes = data_sets(datasets, target), models(ensembles), _sizes(keep)
        of_numbers = _check_models(ensemble_list)
        _check_settings(voting, folds, random_state, repeats, of_numbers)
        found = entrants(methods, of_numbers)
        if control is not None:
            check_option("control", control, [entrant.name for entrant in found])
        facts = {data.name: _facts(data, folds, scoring, of_numbers) for data in sets}
        seeds = range(random_state, random_state + repeats)
        settings = (sizes, scoring, voting, folds, seeds, control)
        return cls(ensemble_list, found, baselines(found), *settings, sets, facts)

    @property
    def of_numbers(self) -> bool:
        """Whether the ensembles predict numbers."""
        return self.models[0].is_regression

    @property
    def score(self) -> Scoring:
        """The score; larger is better."""
        classes = () if self.of_numbers else next(iter(self.facts.values())).classes
        return Scoring.of(self.scoring, classes)

    def works(self) -> list[FoldWork]:
        """Return the folds of all data sets, with what their results are made of."""
        settings = fingerprint([self.scoring, self.n_folds, self.voting])
        by_name = {entrant.name: entrant for entrant in (*self.entrants, *self.baselines)}
        prints = {
            name: fingerprint([entrant.pruner, entrant.decides, entrant.takes_scoring])
            for name, entrant in by_name.items()
        }
        works = []
        for data, model in itertools.product(self.sets, self.models):
            digest = self.facts[data.name].digest
            bag = [digest, fingerprint(model.make()), settings]
            sources = {name: str(joblib.hash([*bag, prints[name]])) for name in by_name}
            works += [
                FoldWork(
                    *(data, model, by_name, digest, sources, fold, seed),
                    *(self.n_folds, self.scoring, self.voting),
                )
                for seed in self.seeds
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


def _check_models(found: list[Model]) -> bool:
    """Return whether ensembles predict numbers; refuse some that do and some that do not."""
    kinds = {model.name: model.is_regression for model in found}
    if len(set(kinds.values())) > 1:
        told = listed(
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
    if not is_whole(folds) or folds < 3:
        raise InputError(
            "{folds} is not valid. Give 3 or more: one block to test on, one to choose on, and the "
            "rest to train on.",
            folds=folds,
        )
    for name, value, least in (("repeats", repeats, 1), ("random_state", random_state, 0)):
        if not is_whole(value) or value < least:
            raise InputError(
                f"{{{name}}} is not valid. Give an integer from {least}.", **{name: value}
            )


def _facts(data: Data, n_folds: int, scoring: Any, of_numbers: bool) -> Facts:
    """Read a data set; refuse one that cannot be cut into folds or scored."""
    X, y = data.read(of_numbers)
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
    Scoring.of(scoring, classes)
    return Facts(len(y), int(np.shape(X)[1]), tuple(classes), digest_of(X, y))


def _sizes(keep: Any) -> list[float]:
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
        if not fraction and not (is_whole(size) and size >= 1):
            raise InputError(
                "{keep} is not a valid size. Give a count from 1, or a fraction in (0, 1] such as "
                "0.1 or '10%'.",
                keep=keep,
            )
    return [int(size) if is_whole(size) else float(size) for size in sizes]
