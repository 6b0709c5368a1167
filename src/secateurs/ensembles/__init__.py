"""Fitted ensembles: their members, labels and features, and how to slice them.

`as_ensemble` turns a fitted model, or a list or dict of models, into an `Ensemble`; for predictions
see `secateurs.outputs._predictions`. A sliced ensemble is a plain object of the same class, with
all of its attributes in agreement; it shares its members with the original, which stays unchanged.
"""

from secateurs.ensembles._base import Ensemble as Ensemble
from secateurs.ensembles._boosted import CORRECTS as CORRECTS
from secateurs.ensembles._boosted import Boosted as Boosted
from secateurs.ensembles._kinds import Bagging as Bagging
from secateurs.ensembles._kinds import Boosting as Boosting
from secateurs.ensembles._kinds import Forest as Forest
from secateurs.ensembles._kinds import Models as Models
from secateurs.ensembles._kinds import Voting as Voting
from secateurs.ensembles._recognise import as_ensemble as as_ensemble
