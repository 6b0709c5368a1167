"""Gradient boosting: each round corrects the rounds before it, so only the first can be kept."""

import copy
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, is_regressor

from secateurs.ensembles._base_ensemble import Ensemble
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.labels import label_indices
from secateurs.typing import Array, FloatArray, Samples

_PredictMethod: TypeAlias = Literal["predict", "predict_proba"]
# Scores of each evaluation set and metric, by round.
_History: TypeAlias = dict[str, dict[str, list[float]]]


class GradientBoosted(Ensemble):
    """Gradient boosting, whose members are its rounds; slices keep the first rounds.

    The prediction of a round is that of the model truncated after this round.
    """

    is_soft = True
    is_sequential = True

    def __init__(self, model: BaseEstimator) -> None:
        self._model_name = type(model).__name__
        classes = np.empty(0) if is_regressor(model) else np.asarray(model.classes_)
        # Columns of probabilities are in the order of the model's classes, which may be unsorted.
        self._class_order = np.argsort(classes, kind="stable")
        super().__init__(model, range(self._n_rounds(model)), classes[self._class_order])

    @property
    def member_names(self) -> list[str]:
        """Names of the rounds."""
        return [f"round {index}" for index in range(self.n_members)]

    def sequential_predictions(self, X: Samples, scores: bool) -> Iterator[Array]:
        """Yield the predictions of the first round, of the first two, and so on, on prepared X.

        They are class indices; with ``scores``, probabilities (samples × classes) or the values of
        a regressor.
        """
        method: _PredictMethod = "predict_proba" if scores and not self.is_regression else "predict"
        for predictions in self._staged_predictions(X, method):
            if method == "predict_proba":
                yield np.asarray(predictions, dtype=float)[:, self._class_order]
            elif self.is_regression:
                yield self._flat_predictions(predictions).astype(float)
            else:
                labels = self._flat_predictions(predictions)
                yield label_indices(labels, self.classes, self._model_name)

    def _flat_predictions(self, predictions: ArrayLike) -> Array:
        values = np.asarray(predictions)
        if values.ndim != 1 and values.shape[1:] != (1,):
            raise UnsupportedEnsembleError(
                f"{self._model_name} predicts {values.shape[-1]} values per sample; pruning needs "
                "one. Fit a model per output."
            )
        return values.ravel()

    def _staged_predictions(self, X: Samples, method: _PredictMethod) -> Iterator[Array]:
        """Yield the library's own predictions by the first round, the first two, and so on."""
        return getattr(self.model, f"staged_{method}")(X)

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
        if sorted(members) != list(range(len(members))):
            raise InputError(f"{self._model_name} can only keep its first rounds: {CORRECTS}.")
        return self._truncated_model(len(members))

    @abstractmethod
    def _n_rounds(self, model: BaseEstimator) -> int:
        """Return the number of rounds that the model uses to predict."""

    @abstractmethod
    def _truncated_model(self, n_rounds: int) -> BaseEstimator:
        """Return a model of the same class with the first rounds only."""


# The reason in every message about an operation that needs other than the first rounds.
CORRECTS = "each tree corrects the trees before it"


class SklearnGradientBoosting(GradientBoosted):
    """GradientBoosting of scikit-learn."""

    def _n_rounds(self, model: BaseEstimator) -> int:
        return len(model.estimators_)

    def _truncated_model(self, n_rounds: int) -> BaseEstimator:
        first = copy.copy(self.model)
        for name in ("estimators_", "train_score_", "oob_improvement_", "oob_scores_"):
            if hasattr(first, name):
                setattr(first, name, getattr(first, name)[:n_rounds])
        if hasattr(first, "oob_score_"):
            first.oob_score_ = first.oob_scores_[-1]
        first.n_estimators = first.n_estimators_ = n_rounds
        return first


class HistGradientBoosting(GradientBoosted):
    """HistGradientBoosting of scikit-learn."""

    def _n_rounds(self, model: BaseEstimator) -> int:
        return len(model._predictors)

    def _truncated_model(self, n_rounds: int) -> BaseEstimator:
        first = copy.copy(self.model)
        first._predictors = first._predictors[:n_rounds]
        first.max_iter = n_rounds
        for name in ("train_score_", "validation_score_"):  # both start before the first round
            setattr(first, name, getattr(first, name)[: n_rounds + 1])
        return first


class CatBoost(GradientBoosted):
    """CatBoostClassifier and CatBoostRegressor; a truncated model keeps its training parameters."""

    def _n_rounds(self, model: BaseEstimator) -> int:
        return int(model.tree_count_)

    def _truncated_model(self, n_rounds: int) -> BaseEstimator:
        first = self.model.copy()
        first.shrink(n_rounds)
        return first


class XGBoost(GradientBoosted):
    """XGBClassifier and XGBRegressor."""

    def _n_rounds(self, model: BaseEstimator) -> int:
        config = json.loads(model.get_booster().save_config())
        _check_booster(self._model_name, config["learner"]["gradient_booster"]["name"], "gbtree")
        best = getattr(model, "best_iteration", None)
        return model.get_booster().num_boosted_rounds() if best is None else best + 1

    def _truncated_model(self, n_rounds: int) -> BaseEstimator:
        first = copy.copy(self.model)
        first._Booster = self.model.get_booster()[:n_rounds]
        first.n_estimators = n_rounds
        if hasattr(first, "evals_result_"):
            first.evals_result_ = _truncated_history(first.evals_result_, n_rounds)
        return first

    def _staged_predictions(self, X: Samples, method: _PredictMethod) -> Iterator[Array]:
        # XGBoost has no staged predictions. Each round continues from the margin of the rounds
        # before it, so that the cost is linear in the number of rounds.
        margin = None
        for index in range(self.n_members):
            one_round = {"base_margin": margin, "iteration_range": (index, index + 1)}
            yield getattr(self.model, method)(X, **one_round)
            margin = self.model.predict(X, output_margin=True, **one_round)


class LightGBM(GradientBoosted):
    """LGBMClassifier and LGBMRegressor."""

    def _n_rounds(self, model: BaseEstimator) -> int:
        match = re.search(r"^\[boosting: (\w+)\]", model.booster_.model_to_string(1), re.MULTILINE)
        _check_booster(self._model_name, match[1] if match else "gbdt", "gbdt")
        return model.best_iteration_ or model.booster_.current_iteration()

    def _truncated_model(self, n_rounds: int) -> BaseEstimator:
        from lightgbm import Booster

        first = copy.copy(self.model)
        first._Booster = Booster(model_str=self.model.booster_.model_to_string(n_rounds))
        first.n_estimators = n_rounds
        first._best_iteration, first._best_score = 0, {}  # as without early stopping
        first._evals_result = _truncated_history(first._evals_result, n_rounds)
        return first

    def _staged_predictions(self, X: Samples, method: _PredictMethod) -> Iterator[Array]:
        # LightGBM has no staged predictions, and no start margin for `predict`: the raw scores of
        # single rounds are summed here, and its link function is applied to the sums.
        expected = self.model.predict(X) if self.is_regression else self.model.predict_proba(X)
        link, raw_scores = self._link_function(), np.zeros(())
        predictions = np.empty(0)
        for index in range(self.n_members):
            one_round = {"start_iteration": index, "num_iteration": 1}
            raw_scores = raw_scores + self.model.predict(X, raw_score=True, **one_round)
            predictions = link(raw_scores)
            are_labels = method == "predict" and not self.is_regression
            yield self.model.classes_[predictions.argmax(axis=1)] if are_labels else predictions
        # Detects a link function that is not LightGBM's; the tolerances only allow for rounding.
        if not np.allclose(predictions, expected, rtol=1e-6, atol=1e-9):
            raise UnsupportedEnsembleError(
                f"{self._model_name} does not predict the sum of its trees. {_FEWER}"
            )

    def _link_function(self) -> Callable[[FloatArray], FloatArray]:
        """Return the function that turns sums of trees into probabilities or predicted values."""
        text = self.model.booster_.model_to_string(1)
        match = re.search(r"^objective=(\w+)(.*)$", text, re.MULTILINE)
        name, options = (match[1], match[2]) if match else ("custom", "")
        if name not in _LINKS:
            raise UnsupportedEnsembleError(
                f"{self._model_name} has the objective {name}, whose predictions by round are "
                f"unknown. {_FEWER}"
            )
        sigmoid = re.search(r"sigmoid:(\S+)", options)
        scale, link = float(sigmoid[1]) if sigmoid else 1.0, _LINKS[name]
        if "sqrt" in options:
            link = _signed_square
        if self.is_regression or "num_class" in options:
            return lambda raw: link(scale * raw)
        return lambda raw: np.stack([1.0 - link(scale * raw), link(scale * raw)], axis=1)


_FEWER = "Train fewer rounds, or stop early."


def _signed_square(raw: FloatArray) -> FloatArray:
    return np.sign(raw) * raw**2


# LightGBM's objectives and the functions that it applies to raw scores. Other objectives are
# rejected because a wrong function would give wrong predictions.
_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
_LINKS: dict[str, Callable[[FloatArray], FloatArray]] = dict.fromkeys(_IDENTITY, np.asarray)
_LINKS |= dict.fromkeys(("poisson", "gamma", "tweedie"), np.exp)
_LINKS |= dict.fromkeys(("binary", "cross_entropy", "multiclassova"), expit)
_LINKS |= {"multiclass": partial(softmax, axis=1)}


def _check_booster(name: str, booster: str, supported: str) -> None:
    """Raise an error for boosters whose first rounds alone are not an earlier state of training."""
    if booster != supported:
        reasons = {
            "gblinear": "has no trees",
            "dart": "changes the weights of its first trees in later rounds",
        }
        raise UnsupportedEnsembleError(
            f"{name} cannot be pruned: its booster, {booster}, "
            f"{reasons.get(booster, 'is unknown')}. {_FEWER}"
        )


def _truncated_history(history: _History, n_rounds: int) -> _History:
    """Return the scores on evaluation sets of the first rounds."""
    return {
        dataset: {metric: scores[:n_rounds] for metric, scores in by_metric.items()}
        for dataset, by_metric in history.items()
    }
