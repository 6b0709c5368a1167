"""Fitted ensembles of regressors, and rows to fit, choose and test on."""

from functools import cache

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

X, Y = make_friedman1(600, 7, noise=1.0, random_state=0)
FIT, CHOOSE, TEST = slice(0, 250), slice(250, 420), slice(420, 600)

MODELS = {
    "forest": RandomForestRegressor(20, random_state=0),
    "extra trees": ExtraTreesRegressor(12, bootstrap=True, random_state=0),
    "bagging": BaggingRegressor(KNeighborsRegressor(2), 8, max_features=0.7, random_state=0),
    "voting": VotingRegressor(
        [
            ("tree", DecisionTreeRegressor(max_depth=4, random_state=0)),
            ("linear", LinearRegression()),
            ("near", KNeighborsRegressor()),
        ],
        weights=[1, 2, 3],
    ),
    "pipeline": make_pipeline(StandardScaler(), RandomForestRegressor(10, random_state=0)),
}


@cache
def fitted_regressors():
    """The models by their names, fitted once."""
    return {name: model.fit(X[FIT], Y[FIT]) for name, model in MODELS.items()}


def table(name="forest", rows=CHOOSE):
    """What every member predicts for some rows: (samples, members)."""
    model = fitted_regressors()[name]
    return np.column_stack([member.predict(X[rows]) for member in model.estimators_])
