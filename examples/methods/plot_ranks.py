"""
Compare methods over several data sets
======================================

On one data set, which method comes out ahead is mostly luck. Over several
data sets ranks can be averaged, and a test says which differences are more
than luck. This example does so for seven methods, and shows how little a few
data sets can prove.
"""

# %%
# Eight problems
# --------------
#
# Three that scikit-learn ships, five that it makes.
from sklearn import datasets

made = {"n_samples": 400, "n_informative": 6, "flip_y": 0.05}
problems = {
    "digits": datasets.load_digits,
    "breast cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "moons": datasets.make_moons(400, noise=0.35, random_state=0),
    "circles": datasets.make_circles(
        600, noise=0.2, factor=0.6, random_state=0
    ),
    "hastie": datasets.make_hastie_10_2(400, random_state=0),
    "two classes": datasets.make_classification(**made, random_state=0),
    "three": datasets.make_classification(**made, n_classes=3, random_state=0),
}

# %%
# One call
# --------
#
# ``benchmark`` cuts each data set into folds. For every fold, bagged trees are
# trained on all but two parts of the rows; one part chooses, one part tells.
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from secateurs import benchmark

trees = BaggingClassifier(DecisionTreeClassifier(max_depth=8), 30)
methods = ["joint", "comep", "mdm", "re", "best", "kp", "random"]
found = benchmark(problems, trees, methods, keep=7, folds=3)
found.mean_scores().round(3)

# %%
# Is there a difference at all?
# -----------------------------
#
# Friedman's test asks whether the methods can all be the same; only if not do
# pairs matter.
from textwrap import fill

print(fill(found.describe(), 76))

# %%
# Average ranks
# -------------
#
# The best method is on the left. A bar joins methods that these eight problems
# cannot tell apart by Nemenyi's test. For many more data sets and all methods,
# see :doc:`/kept`.
import matplotlib.pyplot as plt

from secateurs.displays import CriticalDifferenceDisplay

CriticalDifferenceDisplay(found.nemenyi()).plot()
plt.show()
