"""Gradient boosting: rounds that correct those before them, of which the first ones can be kept."""

import copy
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import is_regressor

from secateurs.ensembles._base_ensemble import Ensemble
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.labels import label_indices
from secateurs.typing import Array


class GradientBoosted(Ensemble):
    """Gradient boosting: members are its rounds, and what is kept are the first.

    The answer collected of a round is that of the model which ends with it.
    """

    is_soft = True
    is_sequential = True

    def __init__(self, model: Any) -> None:
        self._model_name = type(model).__name__
        classes = np.empty(0) if is_regressor(model) else np.asarray(model.classes_)
        self._class_order = np.argsort(classes, kind="stable")  # of the columns of probabilities
        super().__init__(model, range(self._n_rounds(model)), classes[self._class_order])

    @property
    def member_names(self) -> list[str]:
        """Names of the rounds."""
        return [f"round {index}" for index in range(self.n_members)]

    def sequential_predictions(self, X: Any, scores: bool) -> Iterator[Array]:
        """Yield the answers of the first round, of the first two, and so on, on prepared X.

        They are places among the classes; with ``scores``, probabilities (samples × classes) or
        numbers.
        """
        method = "predict_proba" if scores and not self.is_regression else "predict"
        for answers in self._staged_predictions(X, method):
            if method == "predict_proba":
                yield np.asarray(answers, dtype=float)[:, self._class_order]
            elif self.is_regression:
                yield self._flat_predictions(answers).astype(float)
            else:
                yield label_indices(self._flat_predictions(answers), self.classes, self._model_name)

    def _flat_predictions(self, answers: Any) -> Array:
        values = np.asarray(answers)
        if values.ndim != 1 and values.shape[1:] != (1,):
            raise UnsupportedEnsembleError(
                f"{self._model_name} predicts {values.shape[-1]} values per row; pruning needs one. Fit "
                "a model per output."
            )
        return values.ravel()

    def _staged_predictions(self, X: Any, method: str) -> Iterator[Array]:
        """Yield what the library predicts by the first round, the first two, and so on."""
        return getattr(self.model, f"staged_{method}")(X)

    def _slice_model(self, members: Sequence[int]) -> Any:
        if sorted(members) != list(range(len(members))):
            raise InputError(f"{self._model_name} can only keep its first rounds: {CORRECTS}.")
        return self._truncated_model(len(members))

    @abstractmethod
    def _n_rounds(self, model: Any) -> int:
        """Return the number of rounds that the model predicts with."""

    @abstractmethod
    def _truncated_model(self, n_rounds: int) -> Any:
        """Return a model of the same class with the first rounds only."""


CORRECTS = "each tree corrects the ones before it"


class SklearnGradientBoosting(GradientBoosted):
    """GradientBoosting of scikit-learn."""

    def _n_rounds(self, model: Any) -> int:
        return len(model.estimators_)

    def _truncated_model(self, n_rounds: int) -> Any:
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

    def _n_rounds(self, model: Any) -> int:
        return len(model._predictors)

    def _truncated_model(self, n_rounds: int) -> Any:
        first = copy.copy(self.model)
        first._predictors = first._predictors[:n_rounds]
        first.max_iter = n_rounds
        for name in ("train_score_", "validation_score_"):  # they begin before the first round
            setattr(first, name, getattr(first, name)[: n_rounds + 1])
        return first


class CatBoost(GradientBoosted):
    """CatBoostClassifier and CatBoostRegressor, whose parameters stay as they were trained with."""

    def _n_rounds(self, model: Any) -> int:
        return int(model.tree_count_)

    def _truncated_model(self, n_rounds: int) -> Any:
        first = self.model.copy()
        first.shrink(n_rounds)
        return first


class XGBoost(GradientBoosted):
    """XGBClassifier and XGBRegressor."""

    def _n_rounds(self, model: Any) -> int:
        config = json.loads(model.get_booster().save_config())
        _check_booster(self._model_name, config["learner"]["gradient_booster"]["name"], "gbtree")
        best = getattr(model, "best_iteration", None)
        return model.get_booster().num_boosted_rounds() if best is None else best + 1

    def _truncated_model(self, n_rounds: int) -> Any:
        first = copy.copy(self.model)
        first._Booster = self.model.get_booster()[:n_rounds]
        first.n_estimators = n_rounds
        if hasattr(first, "evals_result_"):
            first.evals_result_ = _truncated_history(first.evals_result_, n_rounds)
        return first

    def _staged_predictions(self, X: Any, method: str) -> Iterator[Array]:
        before = None
        for place in range(self.n_members):
            round_: Any = {"base_margin": before, "iteration_range": (place, place + 1)}
            yield getattr(self.model, method)(X, **round_)
            before = self.model.predict(X, output_margin=True, **round_)


class LightGBM(GradientBoosted):
    """LGBMClassifier and LGBMRegressor."""

    def _n_rounds(self, model: Any) -> int:
        found = re.search(r"^\[boosting: (\w+)\]", model.booster_.model_to_string(1), re.MULTILINE)
        _check_booster(self._model_name, found[1] if found else "gbdt", "gbdt")
        return model.best_iteration_ or model.booster_.current_iteration()

    def _truncated_model(self, n_rounds: int) -> Any:
        from lightgbm import Booster

        first = copy.copy(self.model)
        first._Booster = Booster(model_str=self.model.booster_.model_to_string(n_rounds))
        first.n_estimators = n_rounds
        first._best_iteration, first._best_score = 0, {}  # as without early stopping
        first._evals_result = _truncated_history(first._evals_result, n_rounds)
        return first

    def _staged_predictions(self, X: Any, method: str) -> Iterator[Array]:
        whole = self.model.predict(X) if self.is_regression else self.model.predict_proba(X)
        answered, raw = self._link_function(), 0.0
        answers: Any = None
        for place in range(self.n_members):
            only: Any = {"start_iteration": place, "num_iteration": 1}
            raw = raw + self.model.predict(X, raw_score=True, **only)
            answers = answered(raw)
            labels = method == "predict" and not self.is_regression
            yield self.model.classes_[answers.argmax(axis=1)] if labels else answers
        if not np.allclose(answers, whole, rtol=1e-6, atol=1e-9):
            raise UnsupportedEnsembleError(
                f"{self._model_name} does not predict what its trees add up to. {_FEWER}"
            )

    def _link_function(self) -> Callable[[Any], Array]:
        """Return the function that makes probabilities, or numbers, of what trees add up to."""
        text = self.model.booster_.model_to_string(1)
        found = re.search(r"^objective=(\w+)(.*)$", text, re.MULTILINE)
        name, options = (found[1], found[2]) if found else ("of its own", "")
        if name not in _LINKS:
            raise UnsupportedEnsembleError(
                f"{self._model_name} has the objective {name}, of which only the last answers are known. "
                f"{_FEWER}"
            )
        sigmoid = re.search(r"sigmoid:(\S+)", options)
        scale, link = float(sigmoid[1]) if sigmoid else 1.0, _LINKS[name]
        if "sqrt" in options:
            link = _signed_square
        if self.is_regression or "num_class" in options:
            return lambda raw: link(scale * raw)
        return lambda raw: np.stack([1.0 - link(scale * raw), link(scale * raw)], axis=1)


_FEWER = "Train fewer rounds, or stop early."


def _signed_square(raw: Array) -> Array:
    return np.sign(raw) * raw**2


_SAME = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
_LINKS: dict[str, Any] = dict.fromkeys(_SAME, np.asarray)
_LINKS |= dict.fromkeys(("poisson", "gamma", "tweedie"), np.exp)
_LINKS |= dict.fromkeys(("binary", "cross_entropy", "multiclassova"), expit)
_LINKS |= {"multiclass": partial(softmax, axis=1)}


def _check_booster(name: str, booster: str, known: str) -> None:
    """Refuse boosters whose first rounds are not what was trained first."""
    if booster != known:
        why = {"gblinear": "has no trees", "dart": "weighs its first trees for the later ones"}
        raise UnsupportedEnsembleError(
            f"{name} cannot be pruned: its booster, {booster}, "
            f"{why.get(booster, 'is not known')}. {_FEWER}"
        )


def _truncated_history(scores: Any, n_rounds: int) -> Any:
    """Return scores on evaluation sets, by round, of the first rounds."""
    return {
        rows: {name: values[:n_rounds] for name, values in found.items()}
        for rows, found in scores.items()
    }
