"""The score that a user asks for: scikit-learn's scorers, over what an ensemble answers."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metaestimators import available_if

from secateurs.exceptions import InputError, SecateursError, describe_error, unknown_name_error
from secateurs.measures.fast_scores import FAST_SCORES, SampleWeights
from secateurs.outputs.input_checks import has_fractions
from secateurs.text_format import to_one_line
from secateurs.typing import Array

_OF_NUMBERS = re.compile(r"r2|explained_variance|d2_absolute.*|neg_(mean|median|root|max)_.*")
_MADE = re.compile(r"make_scorer\((\w+).*")
_WORDS = {
    **{"r2": "R²", "d2": "D²", "f1": "F1", "roc": "ROC", "auc": "AUC", "brier": "Brier"},
    **{"ovr": "one-vs-rest", "ovo": "one-vs-one", "rand": "Rand", "jaccard": "Jaccard"},
    **{"matthews": "Matthews", "corrcoef": "correlation", "poisson": "Poisson"},
    **{"fowlkes": "Fowlkes", "mallows": "Mallows"},
}


@dataclass(frozen=True, eq=False, repr=False)
class Scoring:
    """A score of answers: labels, probabilities or numbers. Larger is better, as in scikit-learn.

    Made by `from_scorer`. Calling it returns the score, a float.

    Attributes
    ----------
    name : str
        As users know it, for instance "neg_log_loss".
    label : str
        For people, for instance "log loss"; it names what `display_score` returns.
    needs : {"labels", "probabilities", "numbers"}
        The least that answers must be. Where labels are enough, probabilities do as well.
    larger_is_better : bool
        Direction of what `display_score` returns.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty for numbers.
    scorer : callable(estimator, X, y)
        The scorer of scikit-learn, or the function given.
    given_scorer : str, callable or None
        What `from_scorer` got.

    Examples
    --------
    >>> from secateurs.measures.scoring import Scoring
    >>> scoring = Scoring.from_scorer("neg_brier_score", ["no", "yes"])
    >>> score = scoring([[0.5, 0.5], [0.0, 1.0]], ["no", "yes"])
    >>> scoring.label, score, scoring.display_score(score), scoring.larger_is_better
    ('Brier score', -0.125, 0.125, False)
    """

    name: str
    label: str
    needs: str
    larger_is_better: bool
    classes: Array
    scorer: Callable[..., Any]
    given_scorer: Any = None

    @classmethod
    def from_scorer(cls, scoring: Any, classes: ArrayLike | None = None) -> Scoring:
        """Return a score by its name in scikit-learn, from a scorer, or from a callable.

        Parameters
        ----------
        scoring : str, callable(estimator, X, y) or None
            One of ``sklearn.metrics.get_scorer_names()``, what ``make_scorer`` returns, or a
            function; None for accuracy, of numbers R².
        classes : array-like of shape (n_classes,), optional
            The labels, in the order of probabilities; none for numbers.

        Returns
        -------
        Scoring
        """
        labels = np.asarray(() if classes is None else classes)
        scorer = _resolve_scorer(scoring, len(labels) == 0)
        name = scoring if isinstance(scoring, str) else _scorer_name(scorer)
        _check_score_kind(name, len(labels) == 0)
        found = _MADE.match(name)
        plain = found[1].removesuffix("_score") if found else name
        is_loss = name.startswith("neg_") or "greater_is_better=False" in name
        needs = (
            FAST_SCORES[name].needs
            if name in FAST_SCORES
            else "labels"
            if len(labels)
            else "numbers"
        )
        made = cls(name, _readable_label(plain), needs, not is_loss, labels, scorer, scoring)
        return (
            made if name in FAST_SCORES or made.is_regression_score else made._with_detected_needs()
        )

    @property
    def is_regression_score(self) -> bool:
        """Whether it is a score of numbers, of regressors, rather than of classes."""
        return len(self.classes) == 0

    def display_score(self, score: float) -> float:
        """Return a score as people know it: an error is not negative."""
        return score if self.larger_is_better else 0.0 - score

    def check_prediction_kind(self, kind: str) -> None:
        """Refuse answers of a kind that do not say enough: labels where probabilities are due."""
        if self.needs == "probabilities" and kind == "labels":
            raise InputError(
                "{scoring} needs probabilities, and these are labels. Give probabilities, of "
                "predict_proba or collect_predictions, or a score of labels such as "
                "'balanced_accuracy'.",
                scoring=self.name,
            )

    def __call__(
        self, answers: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of answers.

        Parameters
        ----------
        answers : array-like of shape (n_samples, n_classes) or (n_samples,)
            Probabilities; or labels, or numbers.
        y : array-like of shape (n_samples,)
            The true labels or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
        """
        given, truth = np.asarray(answers), np.asarray(y)
        if not self.is_regression_score:
            self.check_prediction_kind("labels" if given.ndim == 1 else "probabilities")
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        fast = FAST_SCORES.get(self.name)
        try:
            if fast is not None:
                score = fast.score_function(given, truth, weights, self.classes)
            else:
                score = self._call_scorer(_lookup_estimator(given, self.classes), truth, weights)
            score = float(score)
        except (SecateursError, Warning, MemoryError):
            raise
        except Exception as error:
            raise self._explain_error(error) from error
        if math.isnan(score):
            raise self._undefined_error(truth)
        return score

    def _call_scorer(self, estimator: Any, y: Array, weights: SampleWeights) -> Any:
        """Return what the scorer says of an estimator whose rows are the numbers of answers."""
        rows = np.arange(len(y))[:, None]
        keywords = {} if weights is None else {"sample_weight": weights}
        with config_context(enable_metadata_routing=False), warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            for known in ("y_pred contains classes not in y_true", "A single label was found"):
                warnings.filterwarnings("ignore", known)
            return self.scorer(estimator, rows, y, **keywords)

    def _with_detected_needs(self) -> Scoring:
        """Return the same with ``needs``, found by asking for the score of a few made answers."""
        codes = np.repeat(np.arange(len(self.classes)), 3)
        spread = np.full((len(codes), len(self.classes)), 0.2 / len(self.classes))
        spread[np.arange(len(codes)), np.roll(codes, 1)] += 0.8
        estimator = _lookup_estimator(spread, self.classes)
        wrong = None
        try:
            self._call_scorer(estimator, self.classes[codes], None)
        except Exception as error:  # what is no score here may be one of other rows
            wrong = error
        needs = "probabilities" if "predict_proba" in estimator.called_methods else "labels"
        if wrong is not None and self.name in get_scorer_names() and len(self.classes) > 1:
            raise self._explain_error(wrong) from wrong
        return replace(self, needs=needs)

    def _explain_error(self, error: Exception) -> InputError:
        """Return what scikit-learn's error means for the one who asked for this score."""
        told, n_classes = str(error), len(self.classes)
        if "pos_label" in told and n_classes == 2:
            function = _MADE.sub(r"\1", self.name).removesuffix("_score") + "_score"
            is_soft = function.startswith(("average_precision", "d2_"))
            response = ", response_method='predict_proba'" if is_soft else ""
            first, second = self.classes.tolist()
            return InputError(
                f"{{scoring}} does not know which of the classes {first!r} and {second!r} is the "
                f"positive one. Give make_scorer({function}{response}, pos_label={second!r}).",
                scoring=self.name,
            )
        if n_classes > 2 and ("multi_class" in told or "multiclass" in told):
            other = f"{self.name}_{'ovr' if 'auc' in self.name else 'macro'}"
            hint = f"'{other}'" if other in get_scorer_names() else "one of several classes"
            return InputError(
                f"{{scoring}} is a score of two classes, and there are {n_classes}. Give {hint}.",
                scoring=self.name,
            )
        if "unexpected keyword argument 'sample_weight'" in told:
            return InputError(
                "{scoring} does not take weights of samples. Leave sample_weight out, or give "
                "another score.",
                scoring=self.name,
            )
        kind = "numbers" if self.is_regression_score else "classes"
        return InputError(
            f"{{scoring}} cannot score these {kind}: {describe_error(error)}. Give another score.",
            scoring=self.name,
        )

    def _undefined_error(self, y: Array) -> InputError:
        """Return why the score is not a number."""
        found = np.unique(y)
        why = "it returned NaN"
        if not self.is_regression_score and len(found) == 1:
            why = f"y holds one class only ({found[0].item()!r})"
        elif len(y) < 2:
            why = f"there is {len(y)} sample"
        return InputError(
            f"{{scoring}} is not defined on these rows: {why}. Give more rows, or another score.",
            scoring=self.name,
        )

    def __repr__(self) -> str:
        return f"Scoring({self.name!r})"


def _resolve_scorer(scoring: Any, of_numbers: bool) -> Callable[..., Any]:
    """Return a scorer: by name, by default, or the one given."""
    if scoring is None:
        scoring = "r2" if of_numbers else "accuracy"
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            fitting = [
                name for name in get_scorer_names() if _is_regression_name(name) == of_numbers
            ]
            raise unknown_name_error("scoring", scoring, fitting)
        return get_scorer(scoring)
    if not callable(scoring) or inspect.isclass(scoring):
        raise InputError(
            "{scoring} is not a valid score. Give one name such as 'neg_log_loss', a scorer of "
            "make_scorer, or a function scorer(estimator, X, y).",
            scoring=scoring,
        )
    if inspect.isfunction(scoring) and scoring.__module__.startswith("sklearn.metrics."):
        raise InputError(
            f"{{scoring}} is a metric, not a scorer. Give make_scorer({scoring.__name__}).",
            scoring=scoring.__name__,
        )
    return scoring


def is_regression_scoring(scoring: Any) -> bool:
    """Tell whether a name or scorer is known as a score of numbers rather than of classes."""
    name = scoring if isinstance(scoring, str) else _scorer_name(scoring) if scoring else ""
    return _is_regression_name(name)


def is_regression_task(y: Any, scoring: Any) -> bool | None:
    """Tell by the truth and the score whether predictions are numbers; None to look at them.

    They are with a score of numbers, and with true values that are not all whole. They are not with
    true values that are text or only 0 and 1, of which numbers may be probabilities.
    """
    if is_regression_scoring(scoring) or has_fractions(y):
        return True
    truth = np.asarray(y)
    return None if truth.dtype.kind in "iuf" and not np.isin(truth, (0, 1)).all() else False


def _is_regression_name(name: str) -> bool:
    return _OF_NUMBERS.fullmatch(name) is not None


def _check_score_kind(name: str, of_numbers: bool) -> None:
    """Refuse a score of classes for numbers, and one of numbers for classes."""
    if name not in get_scorer_names() or _is_regression_name(name) == of_numbers:
        return
    kind, other = ("classes", "numbers") if of_numbers else ("numbers", "classes")
    example = "'r2' or 'neg_mean_squared_error'" if of_numbers else "'accuracy' or 'neg_log_loss'"
    raise InputError(
        f"{{scoring}} is a score of {kind}, and the members predict {other}. Give a score of "
        f"{other}, such as {example}.",
        scoring=name,
    )


def _scorer_name(scorer: Callable[..., Any]) -> str:
    """Return the name of a scorer as users know it."""
    for name in get_scorer_names():
        known = get_scorer(name)
        if type(known) is type(scorer) and vars(known) == vars(scorer):
            return name
    return to_one_line(getattr(scorer, "__name__", "") or repr(scorer))


def _readable_label(name: str) -> str:
    words = name.removeprefix("neg_").split("_")
    return " ".join(_WORDS.get(word, word) for word in words)


def _lookup_estimator(answers: Array, classes: Array) -> Any:
    """Return an estimator that gives these answers."""
    return _LookupClassifier(answers, classes) if len(classes) else _LookupRegressor(answers)


class _LookupRegressor(RegressorMixin, BaseEstimator):
    """A regressor that has its answers already; X holds their numbers."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def predict(self, X: Any) -> Array:
        return self.answers[np.asarray(X, dtype=np.intp).ravel()]


class _LookupClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that has its answers already; X holds their numbers."""

    def __init__(self, answers: Any, classes: Any) -> None:
        self.answers, self.classes = answers, classes
        self.classes_ = classes
        self.called_methods: set[str] = set()

    def predict(self, X: Any) -> Array:
        given = self.answers[np.asarray(X, dtype=np.intp).ravel()]
        return given if given.ndim == 1 else self.classes_[given.argmax(axis=1)]

    @available_if(lambda classifier: classifier.answers.ndim == 2)
    def predict_proba(self, X: Any) -> Array:
        self.called_methods.add("predict_proba")
        return self.answers[np.asarray(X, dtype=np.intp).ravel()]
