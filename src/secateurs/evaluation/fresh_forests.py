"""Fresh forests: forests of as many trees as a pruned one, trained again for a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble, Forest, as_ensemble
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.refitted_scores import ModelPrediction, add_predictions, finish_curve
from secateurs.evaluation.score_table import SizeCurve, full_ensemble_vote
from secateurs.evaluation.selections import Selection
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.measures.group_predictions import group_predictions
from secateurs.measures.score_curve import ScoredSamples
from secateurs.measures.scoring import Scoring
from secateurs.outputs.collect import collect_encoded_predictions
from secateurs.outputs.compiling import start_stopwatch
from secateurs.outputs.predictions import Predictions, true_values
from secateurs.outputs.sample_rows import SampleRows
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.text_format import format_count, format_list
from secateurs.typing import Array, FloatArray, IndexArray, Samples

FRESH = "fresh forest"  # the method in leaderboards
# The leaf sizes that are tried besides that of the given forest: larger leaves make single trees
# better and smaller, which matters if there are few of them.
LEAF_SIZES = (1, 3, 5, 10)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Samples to train a fresh forest on."""

    X: Samples
    y: Array
    sample_weight: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class FreshForest:
    """A forest with the leaf size that has the best out-of-bag score."""

    model: Any  # the fitted forest, in its pipeline if there is one
    n_trees: int
    min_samples_leaf: int | float
    predictions: Predictions  # of these and more trees, out of bag, on the training set
    seconds: float  # to train forests of all leaf sizes


@dataclass(frozen=True, eq=False)
class FreshForests:
    """Fresh forests of several sizes, and their scores on held-out samples."""

    curve: SizeCurve
    forests: Mapping[int, FreshForest]  # by size, trained on all samples
    trained_on: str  # the training set, in words

    @property
    def note(self) -> str:
        """How the forests were trained, in a sentence."""
        leaves = [str(forest.min_samples_leaf) for forest in self.forests.values()]
        leaves = leaves[:1] if len({*leaves}) == 1 else leaves
        sizes = format_list(list(map(str, self.forests)), " and ")
        return (
            f"{FRESH}: trained on the {self.trained_on} with {sizes} trees, and with "
            f"min_samples_leaf={format_list(leaves, ' and ')}, selected by out-of-bag scores."
        )

    def describe_score(self, size: int, scoring: Scoring) -> str:
        """Return the score of the forest of a size, in words."""
        value = float(self.curve.main_score.values[self.curve.selection.size_index(size)])
        label, shown = scoring.label, scoring.display_score(value)
        return f"a {FRESH} of {format_count(size, 'tree')}: {label} {shown:.3f}"


def score_fresh_forests(
    plan: EvaluationPlan, sizes: Sequence[int], X_train: Samples, y_train: ArrayLike | None
) -> FreshForests:
    """Train forests of these sizes, and score them on samples that they were not trained on.

    They are scored on the test set if there is one. Otherwise, with ``oob``, out of bag; and with a
    separate training set, in each fold after training without the samples of the fold.
    """
    problem = plan.problem
    check_trainable(problem, X_train, y_train)
    added = None if problem.oob else TrainingSet(X_train, np.asarray(y_train))
    everything = _training_set(problem, added)
    is_out_of_bag = problem.oob and plan.has_folds
    n_fits = len(sizes) * (1 + len(plan.fold_indices) * (not is_out_of_bag))
    with open_stage("training fresh forests", n_fits) as steps:

        def train(samples: TrainingSet) -> dict[int, FreshForest]:
            trained = {}
            for size in sizes:
                trained[size] = train_fresh_forest(
                    problem.ensemble, size, samples, problem.scoring, plan.seed
                )
                steps.step()
            return trained

        forests = train(everything)
        curve = _empty_curve(forests)
        full_codes = None if problem.is_regression else full_ensemble_vote(plan)
        for index, fold in enumerate(plan.iter_folds()):
            if is_out_of_bag:
                predictions = {
                    size: _out_of_bag_prediction(forest, problem, fold.held_out)
                    for size, forest in forests.items()
                }
            else:
                in_fold = forests
                if plan.has_folds:
                    selected, _ = plan.fold_indices[index]
                    in_fold = train(_training_set(problem, added, selected))
                predictions = {
                    size: ModelPrediction.in_fold(forest.model, fold)
                    for size, forest in in_fold.items()
                }
            add_predictions(curve, predictions, fold, full_codes)
    finish_curve(curve, problem)
    trained_on = "samples" if problem.oob else "training and validation samples"
    return FreshForests(curve, forests, trained_on)


def check_trainable(problem: Problem, X_train: Samples, y_train: ArrayLike | None) -> None:
    """Raise an error if a forest of this kind cannot be trained again, or has no training set."""
    ensemble, name = problem.ensemble, type(problem.ensemble.model).__name__
    is_pipeline = all(isinstance(wrapper, Pipeline) for wrapper in ensemble.wrappers)
    if not isinstance(ensemble, Forest) or not is_pipeline:
        found = "predictions" if problem.has_only_predictions else name
        raise UnsupportedEnsembleError(
            f"{{fresh}} trains forests only, not {found}. Pass a RandomForest or ExtraTrees model, "
            "alone or in a pipeline, or leave it out.",
            fresh=True,
        )
    if not ensemble.model.bootstrap:
        raise UnsupportedEnsembleError(
            f"{{fresh}} selects min_samples_leaf by out-of-bag scores, which {name} with "
            "bootstrap=False does not have. Leave it out, or pass a forest with bootstrap=True.",
            fresh=True,
        )
    if problem.oob:
        if X_train is not None or y_train is not None:
            raise InputError(
                "{X_train} and {oob} exclude each other: with {oob}, X contains the training "
                "samples. Leave out {X_train}.",
                X_train=...,
                oob=True,
            )
        return
    if X_train is not None and y_train is None:
        raise InputError("{X_train} has no labels. Pass {y_train}.", X_train=..., y_train=...)
    if X_train is None or y_train is None:
        raise InputError(
            "{fresh} needs the training samples with their labels. Pass {X_train}, or {oob} if X "
            "contains the training samples.",
            fresh=True,
            X_train=...,
            oob=True,
        )
    if _num_samples(X_train) != _num_samples(y_train):
        raise InputError(
            f"{{X_train}} has {format_count(_num_samples(X_train), 'sample')}, but y_train has "
            f"{_num_samples(y_train)} labels. Pass as many of both.",
            X_train=...,
        )
    if problem.sample_weight is not None:
        raise InputError(
            "{fresh} with {sample_weight} needs weights for all training samples. Pass {oob} and "
            "the training samples as X, or leave out {sample_weight}.",
            fresh=True,
            sample_weight=...,
            oob=True,
        )


def train_fresh_forest(
    ensemble: Ensemble,
    n_trees: int,
    samples: TrainingSet,
    scoring: Scoring,
    random_state: Any = 0,
) -> FreshForest:
    """Train forests of ``n_trees`` trees with several leaf sizes, and return the best of them.

    All other parameters, and the pipeline, are those of the given forest. The best forest has the
    best out-of-bag score of `n_scored_trees` trees; ties go to the first of `LEAF_SIZES`.
    """
    elapsed = start_stopwatch()
    leaf_sizes = dict.fromkeys((*LEAF_SIZES, ensemble.model.min_samples_leaf))
    scores, trained = [], []
    for leaf_size in leaf_sizes:
        model = _fit_copy(ensemble, samples, n_scored_trees(n_trees), leaf_size, random_state)
        grown = as_ensemble(model)
        predictions = collect_encoded_predictions(grown, samples.X, samples.y, True)
        scores.append(_out_of_bag_score(predictions, model, samples, scoring))
        fresh = grown.slice(range(n_trees))  # the first trees are those of a smaller forest
        trained.append(FreshForest(fresh, n_trees, leaf_size, predictions, 0.0))
    best = int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))
    return replace(trained[best], seconds=elapsed())


def n_scored_trees(n_trees: int) -> int:
    """Return the number of trees whose out-of-bag score is that of ``n_trees`` trees.

    A sample is out of bag for about 1/e of the trees. The score of ``n_trees`` trees themselves
    would be that of a third as many, which prefer larger leaves: with 20 trees, it selected leaf
    sizes that lost 0.2 points of accuracy on five data sets.
    """
    return math.ceil(math.e * n_trees)


def _fit_copy(
    ensemble: Ensemble,
    samples: TrainingSet,
    n_trees: int,
    min_samples_leaf: int | float,
    random_state: Any,
) -> Any:
    """Return the forest, in its pipelines, trained with another number of trees and leaf size."""
    model: Any = clone(ensemble.model).set_params(
        n_estimators=n_trees,
        min_samples_leaf=min_samples_leaf,
        random_state=random_state,
        oob_score=False,  # it is computed by ``scoring`` instead
        warm_start=False,
    )
    prefix = ""
    for pipeline in reversed(ensemble.wrappers):
        copied = clone(pipeline)
        name = copied.steps[-1][0]
        copied.steps[-1] = (name, model)
        model, prefix = copied, f"{name}__{prefix}"
    weight = samples.sample_weight
    options = {} if weight is None else {f"{prefix}sample_weight": weight}
    return model.fit(samples.X, samples.y, **options)


def _out_of_bag_score(
    predictions: Predictions, model: Any, samples: TrainingSet, scoring: Scoring
) -> float:
    """Return the score on the samples that some tree was not trained on."""
    has_trees = np.zeros(predictions.n_samples, dtype=bool)
    for member in range(predictions.n_members):
        has_trees |= ~predictions.is_missing(member)
    scored = np.flatnonzero(has_trees)
    if len(scored) < 2:
        return np.nan
    predictions = _with_samples(predictions, model, samples.X, scoring).rows(scored)
    weight = None if samples.sample_weight is None else samples.sample_weight[scored]
    fitting = replace(scoring, classes=predictions.classes)
    everything = [range(predictions.n_members)]
    curves = ScoredSamples(predictions, weight).score_groups(everything, [fitting])
    return curves[scoring.key, None].full_value


def _out_of_bag_prediction(
    forest: FreshForest, problem: Problem, held_out: IndexArray | None
) -> Any:
    """Return the out-of-bag prediction of a forest for the samples of a fold."""
    predictions = _with_samples(forest.predictions, forest.model, problem.X, *problem.scorings)
    rows = predictions if held_out is None else predictions.rows(held_out)
    return next(group_predictions(rows, [range(forest.n_trees)], None))


def _with_samples(
    predictions: Predictions, model: Any, X: Samples, *scorings: Scoring
) -> Predictions:
    """Return predictions of a fresh forest, with the samples if a scorer reads them."""
    if not any(scoring.reads_samples for scoring in scorings):
        return predictions
    return replace(predictions, samples=SampleRows(X, as_ensemble(model)))


def _training_set(
    problem: Problem, added: TrainingSet | None, selected: IndexArray | None = None
) -> TrainingSet:
    """Return all or the selected validation samples, after the samples of a training set."""
    X, y = problem.X, np.asarray(true_values(problem.predictions))
    if selected is not None:
        X, y = _safe_indexing(X, selected), y[selected]
    if added is None:
        return TrainingSet(X, y, problem.sample_weight)
    return TrainingSet(_stack_samples(added.X, X), np.concatenate([added.y, y]))


def _stack_samples(*parts: Samples) -> Samples:
    """Return sets of samples as one: frames as a frame, sparse matrices as a matrix."""
    if all(hasattr(part, "iloc") for part in parts):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if all(hasattr(part, "vstack") for part in parts):  # polars
        first, second = parts
        return first.vstack(second)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts).tocsr()
    return np.concatenate([np.asarray(part) for part in parts])


def _empty_curve(forests: Mapping[int, FreshForest]) -> SizeCurve:
    """Return a curve of the sizes of forests, without scores."""
    members = {size: list(range(size)) for size in forests}
    seconds = {size: forest.seconds for size, forest in forests.items()}
    return SizeCurve(Selection(np.array(list(forests)), None, members, {}, seconds))
