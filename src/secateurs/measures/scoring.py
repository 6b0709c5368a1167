"""`Scoring`: any scikit-learn scorer, applied to predictions of an ensemble."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from secateurs._renamed_modules import restore_renamed
from secateurs.exceptions import InputError, SecateursError, describe_error, unknown_name_error
from secateurs.measures.fast_scores import (
    FAST_SCORES,
    RequiredPredictions,
    SampleWeights,
    count_score,
    is_count_score,
)
from secateurs.measures.lookup_estimators import LookupClassifier, LookupRegressor, normalise
from secateurs.measures.ranking_scores import RANKING_SCORES, is_ranking_score, ranking_score
from secateurs.outputs.input_checks import has_fractions
from secateurs.outputs.sample_rows import SampleRows
from secateurs.outputs.votes import Votes
from secateurs.text_format import to_one_line
from secateurs.thread_safety import record_warnings
from secateurs.typing import Array, IndexArray

_REGRESSION_NAMES = re.compile(r"r2|explained_variance|d2_absolute.*|neg_(mean|median|root|max)_.*")
_MAKE_SCORER = re.compile(r"make_scorer\((\w+).*")  # how scikit-learn prints a scorer
_MISSING_CLASS_WARNINGS = ("y_pred contains classes not in y_true", "A single label was found")
_LABEL_WORDS = {
    **{"r2": "R²", "d2": "D²", "f1": "F1", "roc": "ROC", "auc": "AUC", "brier": "Brier"},
    **{"ovr": "one-vs-rest", "ovo": "one-vs-one", "rand": "Rand", "jaccard": "Jaccard"},
    **{"matthews": "Matthews", "corrcoef": "correlation", "poisson": "Poisson"},
    **{"fowlkes": "Fowlkes", "mallows": "Mallows"},
}


@dataclass(frozen=True, eq=False, repr=False)
class Scoring:
    """A scikit-learn scorer with its name, and the predictions it needs; larger is better."""

    __setstate__ = restore_renamed(given="given_scorer")

    name: str  # as in scikit-learn, for instance "neg_log_loss"
    label: str  # for display, for instance "log loss"; names the result of `display_score`
    # At least; a score of labels also accepts probabilities. "any" for functions, which may call
    # any method of the estimator.
    needs: RequiredPredictions
    larger_is_better: bool  # of the result of `display_score`
    classes: Array  # the labels, sorted; empty for regression
    scorer: Callable[..., float]  # called with (estimator, X, y)
    given_scorer: object = None  # the argument of `from_scorer`: str, callable or None
    given_key: str | None = None  # the user's own name for the score, if there is one

    @classmethod
    def from_scorer(
        cls, scoring: object, classes: ArrayLike | None = None, key: str | None = None
    ) -> Scoring:
        """Return the score for a name, a scorer, or None: accuracy, or R² without classes.

        ``key`` is the user's own name for the score.
        """
        labels = np.asarray(() if classes is None else classes)
        scorer = _resolve_scorer(scoring, len(labels) == 0)
        name = scoring if isinstance(scoring, str) else _scorer_name(scorer)
        _check_score_kind(name, len(labels) == 0)
        made_from = _MAKE_SCORER.match(name)
        metric = made_from[1].removesuffix("_score") if made_from else name
        is_loss = name.startswith("neg_") or "greater_is_better=False" in name
        needs: RequiredPredictions = "any" if len(labels) else "numbers"
        if name in FAST_SCORES:
            needs = FAST_SCORES[name].needs
        label = _readable_label(metric) if key is None else key
        made = cls(name, label, needs, not is_loss, labels, scorer, scoring, key)
        has_known_needs = name in FAST_SCORES or made.is_regression_score or made.reads_samples
        return made if has_known_needs else made._with_detected_needs()

    @property
    def key(self) -> str:
        """Its name among several scores."""
        return self.given_key or self.name

    @property
    def reads_samples(self) -> bool:
        """Whether it is the user's own function, which may read X or predict other samples."""
        return self.name not in FAST_SCORES and not hasattr(self.scorer, "_response_method")

    def uses_labels(self, outputs: object) -> bool:
        """Return whether it is computed from predicted labels, for these votes or predictions."""
        return self.needs == "labels" or (self.needs == "any" and isinstance(outputs, Votes))

    @property
    def is_regression_score(self) -> bool:
        """Whether it scores values of regressors rather than predictions of classes."""
        return len(self.classes) == 0

    def display_score(self, score: float) -> float:
        """Return a score as it is displayed: losses are positive."""
        return score if self.larger_is_better else 0.0 - score

    def check_prediction_kind(self, kind: str) -> None:
        """Raise an error if the score needs probabilities but only labels are available."""
        if self.needs == "probabilities" and kind == "labels":
            raise InputError(
                "{scoring} needs probabilities, but the predictions are labels. Pass "
                "probabilities, from predict_proba or collect_predictions, or a score of labels "
                "such as 'balanced_accuracy'.",
                scoring=self.name,
            )

    def __call__(
        self,
        predictions: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        samples: SampleRows | None = None,
    ) -> float:
        """Return the score of probabilities (samples × classes), or of labels or values.

        A function of the user receives ``samples`` as X; without samples, the predictions.
        """
        predicted, truth = np.asarray(predictions), np.asarray(y)
        if not self.is_regression_score:
            self.check_prediction_kind("labels" if predicted.ndim == 1 else "probabilities")
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        fast = FAST_SCORES.get(self.name)
        try:
            if fast is not None:
                score = fast.score_function(predicted, truth, weights, self.classes)
            elif is_count_score(self.name, self.classes):
                score = count_score(self.name, predicted, truth, weights, self.classes)
            elif (codes := self._rankable_codes(truth, weights)) is not None:
                score = ranking_score(self.name, normalise(predicted), codes, weights)
            else:
                if samples is None:
                    samples = SampleRows(predicted.reshape(len(truth), -1))
                score = self._call_scorer(self._lookup(predicted, samples), truth, weights)
            score = float(score)
        except (SecateursError, Warning, MemoryError):
            raise
        except Exception as error:
            raise self._explain_error(error) from error
        if math.isnan(score):
            raise self._undefined_error(truth)
        return score

    def _rankable_codes(self, y: Array, weights: SampleWeights) -> IndexArray | None:
        """Return the codes of the true labels if compiled code computes the score, else None."""
        if self.name not in RANKING_SCORES:
            return None
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        is_known = bool((self.classes[codes] == y).all())
        is_defined = is_known and is_ranking_score(self.name, self.classes, codes, weights)
        return codes if is_defined else None

    def _lookup(
        self, predictions: Array, samples: SampleRows
    ) -> LookupClassifier | LookupRegressor:
        """Return an estimator that looks up these predictions."""
        if self.is_regression_score:
            return LookupRegressor(predictions, samples)
        # A scorer with a choice of methods uses probabilities, as it would for a forest.
        is_choice = not isinstance(getattr(self.scorer, "_response_method", ""), str)
        return LookupClassifier(predictions, samples, self.classes, not is_choice)

    def _call_scorer(
        self, estimator: LookupClassifier | LookupRegressor, y: Array, weights: SampleWeights
    ) -> float:
        """Return the score of an estimator that looks up stored predictions."""
        keywords = {} if weights is None else {"sample_weight": weights}
        # With metadata routing, scorers would ignore weights that were not requested explicitly.
        with config_context(enable_metadata_routing=False), record_warnings() as recorded:
            score = self.scorer(estimator, estimator.samples.X, y, **keywords)
        for warning in recorded:
            # Folds often lack a class, so these warnings of scikit-learn would come many times.
            is_expected = isinstance(warning, UndefinedMetricWarning)
            if not is_expected and not str(warning).startswith(_MISSING_CLASS_WARNINGS):
                warnings.warn(warning, stacklevel=2)
        return score

    def _with_detected_needs(self) -> Scoring:
        """Return a copy with ``needs``, detected from the methods that the scorer calls."""
        # Synthetic probabilities: three samples of each class, the first of which is misclassified.
        codes = np.repeat(np.arange(len(self.classes)), 3)
        probabilities = np.full((len(codes), len(self.classes)), 0.2 / len(self.classes))
        probabilities[np.arange(len(codes)), np.roll(codes, 1)] += 0.8
        estimator = self._lookup(probabilities, SampleRows(probabilities))
        assert isinstance(estimator, LookupClassifier)
        failure = None
        try:
            self._call_scorer(estimator, self.classes[codes], None)
        except Exception as error:  # a user's function may fail here and work on real samples
            failure = error
        if failure is not None and self.name in get_scorer_names() and len(self.classes) > 1:
            raise self._explain_error(failure) from failure
        is_soft = "predict_proba" in estimator.called_methods
        return replace(self, needs="probabilities" if is_soft else "labels")

    def _explain_error(self, error: Exception) -> InputError:
        """Return an error that explains why scikit-learn's scorer failed."""
        text, n_classes = str(error), len(self.classes)
        if "pos_label" in text and n_classes == 2:
            function = _MAKE_SCORER.sub(r"\1", self.name).removesuffix("_score") + "_score"
            is_soft = function.startswith(("average_precision", "d2_"))
            response = ", response_method='predict_proba'" if is_soft else ""
            first, second = self.classes.tolist()
            return InputError(
                f"{{scoring}} needs to know which of the classes {first!r} and {second!r} is "
                f"positive. If it is {second!r}, pass make_scorer({function}{response}, "
                f"pos_label={second!r}). 'roc_auc' and 'f1_macro' need no positive class.",
                scoring=self.name,
            )
        if n_classes > 2 and "one-vs-one" in text:
            return InputError(
                "{scoring}: multi-class one-vs-one AUC does not accept sample weights. Leave out "
                f"sample_weight, or pass '{self.name.replace('ovo', 'ovr')}'.",
                scoring=self.name,
            )
        if n_classes > 2 and ("multi_class" in text or "multiclass" in text):
            multiclass_name = f"{self.name}_{'ovr' if 'auc' in self.name else 'macro'}"
            has_variant = multiclass_name in get_scorer_names()
            hint = f"'{multiclass_name}'" if has_variant else "a score for several classes"
            return InputError(
                f"{{scoring}} is a score for two classes, but there are {n_classes}. Pass {hint}.",
                scoring=self.name,
            )
        if "unexpected keyword argument 'sample_weight'" in text:
            return InputError(
                "{scoring} does not accept sample weights. Leave out sample_weight, or pass "
                "another score.",
                scoring=self.name,
            )
        kind = "values" if self.is_regression_score else "classes"
        return InputError(
            f"{{scoring}} cannot score these {kind}: {describe_error(error)}. Pass another score.",
            scoring=self.name,
        )

    def _undefined_error(self, y: Array) -> InputError:
        """Return an error that explains why the score is NaN."""
        labels = np.unique(y)
        reason = "it returned NaN"
        if not self.is_regression_score and len(labels) == 1:
            reason = f"y holds one class only ({labels.tolist()[0]!r})"
        elif len(y) < 2:
            reason = f"there is {len(y)} sample"
        return InputError(
            f"{{scoring}} is not defined on these samples: {reason}. Pass more samples, or another "
            "score.",
            scoring=self.name,
        )

    def __repr__(self) -> str:
        return f"Scoring({self.name!r})"


def resolve_scorings(scoring: object, classes: ArrayLike | None) -> tuple[Scoring, ...]:
    """Return the scores of the parameter ``scoring``: one, a list, or a dict of several."""
    if isinstance(scoring, Mapping):
        pairs: list[tuple[str | None, object]] = [(str(k), scorer) for k, scorer in scoring.items()]
    elif isinstance(scoring, (list, tuple, set)):
        pairs = [(None, scorer) for scorer in scoring]
    else:
        return (Scoring.from_scorer(scoring, classes),)
    if not pairs:
        raise InputError("{scoring} has no scores. Pass at least one.", scoring=scoring)
    scorings = [Scoring.from_scorer(scorer, classes, key) for key, scorer in pairs]
    keys = [scoring.key for scoring in scorings]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(
            f"{{scoring}} has two scores called {twice!r}. Pass a dict with a name for each.",
            scoring=...,
        )
    return tuple(scorings)


def main_scorer(scoring: object) -> object:
    """Return the score to optimise: the first of several."""
    if isinstance(scoring, Mapping):
        return next(iter(scoring.values()), None)
    if isinstance(scoring, (list, tuple)):
        return scoring[0] if scoring else None
    return scoring


def _resolve_scorer(scoring: object, is_regression: bool) -> Callable[..., float]:
    """Return the scorer for a name, for None (the default), or for a callable itself."""
    if scoring is None:
        scoring = "r2" if is_regression else "accuracy"
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            suitable_names = [
                name for name in get_scorer_names() if _is_regression_name(name) == is_regression
            ]
            raise unknown_name_error("scoring", scoring, suitable_names)
        return get_scorer(scoring)
    if inspect.isfunction(scoring) and (scoring.__module__ or "").startswith("sklearn.metrics."):
        raise InputError(
            f"{{scoring}} is a metric, not a scorer. Pass make_scorer({scoring.__name__}).",
            scoring=scoring.__name__,
        )
    if not callable(scoring) or inspect.isclass(scoring):
        raise InputError(
            "{scoring} is not a valid score. Pass a name such as 'neg_log_loss', a scorer made by "
            "make_scorer, or a function scorer(estimator, X, y).",
            scoring=scoring,
        )
    return scoring


def is_regression_scoring(scoring: object) -> bool:
    """Return whether a name or scorer is a regression score of scikit-learn."""
    name = scoring if isinstance(scoring, str) else _scorer_name(scoring) if scoring else ""
    return _is_regression_name(name)


def is_regression_task(y: ArrayLike | None, scoring: object) -> bool | None:
    """Return whether true values and score are those of a regression; None if undecided."""
    if is_regression_scoring(scoring) or has_fractions(y):
        return True
    # Text is never regression. Neither are 0 and 1, for which predictions with fractions may be
    # probabilities. The predictions must decide about other whole numbers.
    truth = np.asarray(y)
    return None if truth.dtype.kind in "iuf" and not np.isin(truth, (0, 1)).all() else False


def _is_regression_name(name: str) -> bool:
    return _REGRESSION_NAMES.fullmatch(name) is not None


def _check_score_kind(name: str, is_regression: bool) -> None:
    """Raise an error if a classification score is used for regression, or vice versa."""
    if name not in get_scorer_names() or _is_regression_name(name) == is_regression:
        return
    kind, predicted = ("classification", "values") if is_regression else ("regression", "classes")
    advice = (
        "regression score, such as 'r2' or 'neg_mean_squared_error'"
        if is_regression
        else "classification score, such as 'accuracy' or 'neg_log_loss'"
    )
    raise InputError(
        f"{{scoring}} is a {kind} score, but the members predict {predicted}. Pass a {advice}.",
        scoring=name,
    )


def _scorer_name(scorer: object) -> str:
    """Return the name of a scorer in scikit-learn, or else of its function."""
    for name in get_scorer_names():
        named_scorer = get_scorer(name)
        if type(named_scorer) is type(scorer) and vars(named_scorer) == vars(scorer):
            return name
    return to_one_line(getattr(scorer, "__name__", "") or repr(scorer))


def _readable_label(name: str) -> str:
    words = name.removeprefix("neg_").split("_")
    return " ".join(_LABEL_WORDS.get(word, word) for word in words)
