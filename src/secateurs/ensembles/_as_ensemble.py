"""Turn models of any kind into an `Ensemble`, or report why a model cannot be pruned."""

import warnings
from collections.abc import Callable, Mapping
from typing import TypeAlias

from sklearn import ensemble as kinds
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from secateurs.ensembles._base_ensemble import Ensemble
from secateurs.ensembles._gradient_boosting import (
    CatBoost,
    HistGradientBoosting,
    LightGBM,
    SklearnGradientBoosting,
    XGBoost,
)
from secateurs.ensembles._margin_forests import LightGBMForest, XGBoostForest
from secateurs.ensembles._sklearn_ensembles import (
    AdaBoost,
    Bagging,
    Forest,
    ModelCollection,
    Voting,
)
from secateurs.exceptions import (
    InputError,
    SecateursWarning,
    UnsupportedEnsembleError,
    caller_stacklevel,
)
from secateurs.thread_safety import limit_threads_after_fork

_SUPPORTED_MODELS = (
    "a RandomForest, ExtraTrees, Bagging or Voting classifier or regressor, AdaBoostClassifier, a "
    "forest or boosted model of scikit-learn, XGBoost, LightGBM or CatBoost, a Pipeline or fitted "
    "search around one, a list or dict of fitted classifiers or of fitted regressors, or "
    "predictions (samples × members)"
)


def _from_calibrated(model: CalibratedClassifierCV) -> Ensemble:
    """Return the ensemble inside a calibration; its slices keep the calibrator."""
    if len(model.calibrated_classifiers_) > 1:
        raise UnsupportedEnsembleError(
            f"CalibratedClassifierCV holds {len(model.calibrated_classifiers_)} models, one per "
            "fold. Prune a model that was fitted to all samples, then calibrate it: "
            "CalibratedClassifierCV(FrozenEstimator(pruned)). Or fit with ensemble=False."
        )
    ensemble = as_ensemble(model.calibrated_classifiers_[0].estimator).wrapped_in(model)
    warnings.warn(
        "The calibrator was fitted to the predictions of the full ensemble. The pruned ensemble "
        "keeps it. Members are selected, and scores by size are computed, without it. For exact "
        "probabilities, calibrate again: "
        "CalibratedClassifierCV(FrozenEstimator(pruned)).",
        SecateursWarning,
        stacklevel=caller_stacklevel(),
    )
    return ensemble


_FORESTS = (
    kinds.RandomForestClassifier,
    kinds.ExtraTreesClassifier,
    kinds.RandomForestRegressor,
    kinds.ExtraTreesRegressor,
)
_EnsembleFactory: TypeAlias = Callable[[BaseEstimator], Ensemble]
_KINDS: tuple[tuple[type | tuple[type, ...], _EnsembleFactory], ...] = (
    (_FORESTS, Forest),
    ((kinds.BaggingClassifier, kinds.BaggingRegressor), Bagging),
    ((kinds.VotingClassifier, kinds.VotingRegressor), Voting),
    (kinds.AdaBoostClassifier, AdaBoost),
    (CalibratedClassifierCV, _from_calibrated),
    ((kinds.GradientBoostingClassifier, kinds.GradientBoostingRegressor), SklearnGradientBoosting),
    (
        (kinds.HistGradientBoostingClassifier, kinds.HistGradientBoostingRegressor),
        HistGradientBoosting,
    ),
)


def _from_xgboost(model: BaseEstimator) -> Ensemble:
    """Return an XGBoost model as a forest if it is one round of several trees, or as boosting."""
    is_forest = (model.num_parallel_tree or 1) > 1 and model.get_booster().num_boosted_rounds() == 1
    return XGBoostForest(model) if is_forest else XGBoost(model)


def _from_lightgbm(model: BaseEstimator) -> Ensemble:
    """Return a LightGBM model as a forest if it was trained as one, or as boosting."""
    # The model text has this line only for boosting="rf", under whichever alias it was set.
    is_forest = "\naverage_output\n" in model.booster_.model_to_string(num_iteration=1)
    return LightGBMForest(model) if is_forest else LightGBM(model)


# By the name of package and class: importing the libraries would be slow, and they are optional.
_OTHER_LIBRARIES: dict[str, _EnsembleFactory] = {
    "xgboost.XGBRFClassifier": XGBoostForest,
    "xgboost.XGBRFRegressor": XGBoostForest,
    "xgboost.XGBClassifier": _from_xgboost,
    "xgboost.XGBRegressor": _from_xgboost,
    "lightgbm.LGBMClassifier": _from_lightgbm,
    "lightgbm.LGBMRegressor": _from_lightgbm,
    "catboost.CatBoostClassifier": CatBoost,
    "catboost.CatBoostRegressor": CatBoost,
}


def as_ensemble(model: object) -> Ensemble:
    """Return a fitted model, or a list or dict of fitted models, as an `Ensemble`."""
    limit_threads_after_fork()
    if isinstance(model, FrozenEstimator):
        return as_ensemble(model.estimator)
    if isinstance(model, (GridSearchCV, RandomizedSearchCV)) or hasattr(model, "best_estimator_"):
        check_is_fitted(model)
        if not hasattr(model, "best_estimator_"):
            raise InputError("The search has no best_estimator_. Run it with refit=True.")
        return as_ensemble(model.best_estimator_)
    if isinstance(model, (list, tuple, Mapping)):
        return ModelCollection(model)
    if isinstance(model, Pipeline):
        return as_ensemble(model.steps[-1][1]).wrapped_in(model)
    for model_classes, make_ensemble in _KINDS:
        if isinstance(model, model_classes):
            check_is_fitted(model)
            return make_ensemble(model)
    for ancestor in type(model).__mro__:
        name = f"{ancestor.__module__.partition('.')[0]}.{ancestor.__name__}"
        if name in _OTHER_LIBRARIES:
            check_is_fitted(model)
            return _OTHER_LIBRARIES[name](model)
    raise UnsupportedEnsembleError(f"{type(model).__name__} {_model_fault(model)}")


# Why models around an ensemble cannot be pruned, and the way out.
_WRAPPER_FAULTS: tuple[tuple[tuple[type, ...], str], ...] = (
    (
        (TransformedTargetRegressor,),
        "averages its members before it transforms the mean back, so that members have no "
        "predictions of their own. Prune the model inside, with targets as it was trained: "
        "pruning = prune(model.regressor_, X, model.transformer_.transform(y.reshape(-1, 1))[:, 0])"
        ". Then set model.regressor_ = pruning.estimator.",
    ),
    (
        (TunedThresholdClassifierCV, FixedThresholdClassifier),
        "has a threshold that was set for the full ensemble. Prune model.estimator_, then set the "
        "threshold again, with TunedThresholdClassifierCV(FrozenEstimator(pruning.estimator)).",
    ),
    (
        (MultiOutputClassifier, MultiOutputRegressor),
        "holds a model for each output. Prune each of model.estimators_ on its own column of y, "
        "and put the results back: model.estimators_[i] = prune(model.estimators_[i], X, y[:, i])"
        ".estimator.",
    ),
)
_NATIVE_FAULTS = {
    ("xgboost", "Booster"): "It does not store the labels of its classes. Save it with "
    "save_model(path) and load it as scikit-learn model: model = xgboost.XGBClassifier() or "
    "XGBRegressor(), model.load_model(path). To keep its first rounds only: booster[:n_rounds].",
    ("lightgbm", "Booster"): "It does not store the labels of its classes. Train a "
    "lightgbm.LGBMClassifier or LGBMRegressor instead. To keep its first rounds only: "
    "lightgbm.Booster(model_str=booster.model_to_string(num_iteration=n_rounds)).",
    ("catboost", "CatBoost"): "Save it with save_model(path) and load it as "
    "catboost.CatBoostClassifier() or CatBoostRegressor(): model.load_model(path).",
}


def _model_fault(model: object) -> str:
    """Return why an unsupported model cannot be pruned, and what to do instead."""
    if isinstance(model, (kinds.StackingClassifier, kinds.StackingRegressor)):
        return (
            "cannot be sliced: its final estimator was trained on the predictions of all members. "
            "Prune the list model.estimators_, then fit a new stacking of the kept members."
        )
    if isinstance(model, (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier)):
        return (
            "cannot be pruned: it holds a model for each class or pair of classes. Forests and "
            "boosted models support several classes themselves: fit one directly. Or prune each of "
            "model.estimators_ on its own labels, and put the results back."
        )
    if isinstance(model, kinds.AdaBoostRegressor):
        return (
            "cannot be pruned: it predicts a weighted median of its members. Prune the list "
            "model.estimators_ instead, whose predictions are averaged."
        )
    for model_classes, fault in _WRAPPER_FAULTS:
        if isinstance(model, model_classes):
            return fault
    package = type(model).__module__.partition(".")[0]
    if (package, type(model).__name__) in _NATIVE_FAULTS:
        return f"is a native model of {package}. {_NATIVE_FAULTS[package, type(model).__name__]}"
    return f"is not an ensemble that can be pruned. Pass one of: {_SUPPORTED_MODELS}."
