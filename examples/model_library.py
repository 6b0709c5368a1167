"""A library of models, as an AutoML run leaves behind: keep a few, by worth and by cost."""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from secateurs import prune

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
X_choose, X_test, y_choose, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

library = {
    f"tree-{depth}": DecisionTreeClassifier(max_depth=depth, random_state=0)
    for depth in (1, 2, 4, 8)
}
library |= {
    f"near-{k}": make_pipeline(StandardScaler(), KNeighborsClassifier(k)) for k in (1, 5, 15)
}
library |= {
    f"linear-{c}": make_pipeline(StandardScaler(), LogisticRegression(C=c)) for c in (0.01, 1)
}
library |= {"bayes": GaussianNB()}
library |= {"forest": RandomForestClassifier(50, random_state=0)}
library |= {"extra": ExtraTreesClassifier(50, random_state=0)}
cost = []
for model in library.values():
    model.fit(X_fit, y_fit)
    start = time.perf_counter()
    model.predict(X_choose)
    cost.append(time.perf_counter() - start)

few = prune(library, X_choose, y_choose, "re", keep=3)
print("three that vote best:", few.member_names)
cheap = prune(library, X_choose, y_choose, "re", cost=cost, max_cost=np.sum(cost) / 5)
print("for a fifth of the time:", cheap.member_names)
print(few.summary(X_test, y_test).round(4))

weighted = prune(library, X_choose, y_choose, "caruana", keep=3, scoring="neg_log_loss")
print("with weights:", dict(zip(weighted.member_names, weighted.weights.round(2), strict=True)))
print(f"one model to serve: {weighted.estimator.score(X_test, y_test):.4f}")
