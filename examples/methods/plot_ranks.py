"""
Compare methods over several data sets
======================================

On one data set, which method comes out ahead is mostly luck. Over several data
sets ranks can be averaged, and a test says which differences are more than
luck. This example does so for seven methods, and shows how little a few data
sets can prove.
"""

# %%
# Eight problems
# --------------
#
# Three that scikit-learn ships, five that it makes. Each trains 60 bagged
# trees on 40 % of the rows; 30 % choose, 30 % tell.
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

problems = {
    "digits": datasets.load_digits(return_X_y=True),
    "breast cancer": datasets.load_breast_cancer(return_X_y=True),
    "wine": datasets.load_wine(return_X_y=True),
    "moons": datasets.make_moons(800, noise=0.35, random_state=0),
    "circles": datasets.make_circles(
        800, noise=0.2, factor=0.6, random_state=0
    ),
    "hastie": datasets.make_hastie_10_2(1000, random_state=0),
    "clusters": datasets.make_classification(
        800, n_informative=6, flip_y=0.05, random_state=0
    ),
    "three classes": datasets.make_classification(
        800, n_informative=6, n_classes=3, flip_y=0.05, random_state=0
    ),
}

# %%
# One fit, all methods
# --------------------
#
# A pruner takes votes and labels, and scores itself on the votes of other
# rows.
from secateurs import collect_votes, make_pruner

methods = ["joint", "comep", "mdm", "re", "best", "kp", "random"]
scores = []
for X, y in problems.values():
    X_fit, X_rest, y_fit, y_rest = train_test_split(
        X, y, test_size=0.6, random_state=0
    )
    X_choose, X_test, y_choose, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=0
    )
    trees = BaggingClassifier(
        DecisionTreeClassifier(), 60, max_features=0.7, random_state=0
    )
    trees.fit(X_fit, y_fit)
    votes, test_votes = (
        collect_votes(trees, X_choose),
        collect_votes(trees, X_test),
    )
    pruners = {
        name: make_pruner(name, keep=7).seed(0).fit(votes, y_choose)
        for name in methods
    }
    scores.append(
        {
            name: pruner.score(test_votes, y_test)
            for name, pruner in pruners.items()
        }
    )
scores = pd.DataFrame(scores, index=list(problems))
scores.round(3)

# %%
# Is there a difference at all?
# -----------------------------
#
# Friedman's test asks whether the methods can all be the same; only then do
# pairs matter.
from secateurs.statistics import friedman

found = friedman(scores)
print(f"Friedman's test: p = {found.p_value:.4f}")

# %%
# Average ranks
# -------------
#
# The best method is on the left. A bar joins methods that these eight problems
# cannot tell apart by Nemenyi's test. For 49 data sets and all methods, see
# :doc:`/kept`.
import matplotlib.pyplot as plt

from secateurs.displays import CriticalDifferenceDisplay

CriticalDifferenceDisplay.from_scores(scores)
plt.show()
