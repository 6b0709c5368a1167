"""Fitted ensembles of several kinds, and rows to fit, choose and test on."""

from functools import cache

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

X, CODES = make_classification(
    700, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, flip_y=0.15, random_state=1
)
Y = np.array(["ant", "bee", "cat"])[CODES]
FIT, CHOOSE, TEST = slice(0, 300), slice(300, 500), slice(500, 700)

MODELS = {
    "forest": RandomForestClassifier(25, random_state=0),
    "bagging": BaggingClassifier(KNeighborsClassifier(), 10, max_features=0.5, random_state=0),
    "voting": VotingClassifier(
        [
            ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
            ("bayes", GaussianNB()),
            ("linear", LogisticRegression()),
            ("near", KNeighborsClassifier()),
        ],
        voting="soft",
        weights=[1, 2, 3, 4],
    ),
    "boosting": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=12, random_state=0
    ),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(12, random_state=0)),
}


@cache
def fitted_models():
    """The models by their names, fitted once."""
    return {name: model.fit(X[FIT], Y[FIT]) for name, model in MODELS.items()}
