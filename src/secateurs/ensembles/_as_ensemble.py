"""Models of any kind as ensembles, and why some cannot be pruned."""

import warnings
from collections.abc import Mapping
from typing import Any

from sklearn import ensemble as kinds
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
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
from secateurs.exceptions import InputError, SecateursWarning, UnsupportedEnsembleError

_KNOWN = (
    "a RandomForest, ExtraTrees, Bagging or Voting classifier or regressor, AdaBoostClassifier, a "
    "forest or boosted model of scikit-learn, XGBoost, LightGBM or CatBoost, a Pipeline or fitted "
    "search around one, a list or dict of fitted classifiers or of fitted regressors, or "
    "predictions (samples × members)"
)


def _from_calibrated(model: Any) -> Ensemble:
    """Return the only ensemble that is calibrated; its slices keep the calibrator."""
    if len(model.calibrated_classifiers_) > 1:
        raise UnsupportedEnsembleError(
            f"CalibratedClassifierCV holds {len(model.calibrated_classifiers_)} models, one for "
            "each fold. Prune one that was fitted to all rows, then calibrate it: "
            "CalibratedClassifierCV(FrozenEstimator(pruned)). Or fit with ensemble=False."
        )
    ensemble = as_ensemble(model.calibrated_classifiers_[0].estimator).wrapped_in(model)
    warnings.warn(
        "The calibrator was fitted to the answers of the whole ensemble; the pruned one keeps it. "
        "Members are chosen, and figures by size are, without it. Calibrate again to be exact: "
        "CalibratedClassifierCV(FrozenEstimator(pruned)).",
        SecateursWarning,
        stacklevel=3,
    )
    return ensemble


_FORESTS = (
    kinds.RandomForestClassifier,
    kinds.ExtraTreesClassifier,
    kinds.RandomForestRegressor,
    kinds.ExtraTreesRegressor,
)
_KINDS: tuple[tuple[Any, Any], ...] = (
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


def _from_xgboost(model: Any) -> Ensemble:
    """Return rounds of boosting, or the trees of the only round."""
    is_forest = (model.num_parallel_tree or 1) > 1 and model.get_booster().num_boosted_rounds() == 1
    return XGBoostForest(model) if is_forest else XGBoost(model)


def _from_lightgbm(model: Any) -> Ensemble:
    """Return rounds of boosting, or the trees of a forest."""
    is_forest = "\naverage_output\n" in model.booster_.model_to_string(num_iteration=1)
    return LightGBMForest(model) if is_forest else LightGBM(model)


_OTHER_LIBRARIES: dict[str, Any] = {  # by package and class, so that none is imported
    "xgboost.XGBRFClassifier": XGBoostForest,
    "xgboost.XGBRFRegressor": XGBoostForest,
    "xgboost.XGBClassifier": _from_xgboost,
    "xgboost.XGBRegressor": _from_xgboost,
    "lightgbm.LGBMClassifier": _from_lightgbm,
    "lightgbm.LGBMRegressor": _from_lightgbm,
    "catboost.CatBoostClassifier": CatBoost,
    "catboost.CatBoostRegressor": CatBoost,
}


def as_ensemble(model: Any) -> Ensemble:
    """Return a model as an `Ensemble`.

    Parameters
    ----------
    model : object
        A fitted scikit-learn ensemble, a pipeline or fitted search around one, or a list or dict of
        fitted classifiers, or of fitted regressors.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs.ensembles import as_ensemble
    >>> forest = RandomForestClassifier(10, random_state=0).fit(*load_iris(return_X_y=True))
    >>> as_ensemble(forest).slice([2, 7]).n_estimators
    2
    """
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
    for known, kind in _KINDS:
        if isinstance(model, known):
            check_is_fitted(model)
            return kind(model)
    for ancestor in type(model).__mro__:
        name = f"{ancestor.__module__.partition('.')[0]}.{ancestor.__name__}"
        if name in _OTHER_LIBRARIES:
            check_is_fitted(model)
            return _OTHER_LIBRARIES[name](model)
    raise UnsupportedEnsembleError(f"{type(model).__name__} {_model_fault(model)}")


def _model_fault(model: Any) -> str:
    """Return why a model of no known kind cannot be pruned, and a way out."""
    if isinstance(model, (kinds.StackingClassifier, kinds.StackingRegressor)):
        return (
            "cannot be sliced: its final estimator was trained on the outputs of all members. "
            "Prune the list model.estimators_, then fit a stacking of those kept."
        )
    if isinstance(model, (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier)):
        return (
            "cannot be pruned: it holds a model for each class or pair of classes. Forests and "
            "boosted models take several classes themselves: fit one without it. Or prune each of "
            "model.estimators_ on its own labels, and put the results back."
        )
    if isinstance(model, kinds.AdaBoostRegressor):
        return (
            "cannot be pruned: it takes a weighted median of its members. Prune the list "
            "model.estimators_, which is averaged."
        )
    return f"is not an ensemble that can be pruned. Give one of: {_KNOWN}."
