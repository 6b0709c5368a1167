"""Fitted ensembles: their members, labels and features, and how to slice them.

`as_ensemble` turns a fitted model, or a list or dict of models, into an `Ensemble`. An ensemble
that is known only by its predictions is a `secateurs.outputs.prediction_table.PredictionTable`. A
sliced ensemble is a plain object of the same class with consistent attributes. It shares its
members with the original, which stays unchanged.
"""

from secateurs.ensembles._as_ensemble import as_ensemble as as_ensemble
from secateurs.ensembles._base_ensemble import Ensemble as Ensemble
from secateurs.ensembles._gradient_boosting import CORRECTS as CORRECTS
from secateurs.ensembles._gradient_boosting import GradientBoosted as GradientBoosted
from secateurs.ensembles._sklearn_ensembles import AdaBoost as AdaBoost
from secateurs.ensembles._sklearn_ensembles import Bagging as Bagging
from secateurs.ensembles._sklearn_ensembles import Forest as Forest
from secateurs.ensembles._sklearn_ensembles import ModelCollection as ModelCollection
from secateurs.ensembles._sklearn_ensembles import Voting as Voting
from secateurs.ensembles._sklearn_ensembles import check_same_kind as check_same_kind
