"""
Writing your own method
=======================

``prune``, ``compare`` and ``EPFD`` accept any object with ``fit(votes, y)``
that then has ``member_indices_`` or ``get_support()``: scikit-learn's
selectors, and your own classes. This example writes a method in a dozen lines
and compares it with methods of the library.
"""

# %%
# Farthest first
# --------------
#
# The method starts with the most accurate member. Each step then considers the
# members that are nearly as accurate as the first, and adds the one with the
# largest distance to its nearest selected member. ``prune`` sets the parameter
# ``keep``.
import numpy as np
from sklearn.base import BaseEstimator

from secateurs import measures


class FarthestFirst(BaseEstimator):
    """Keep accurate members that are far from each other."""

    def __init__(self, keep=10, slack=0.03):
        self.keep = keep
        self.slack = slack

    def fit(self, votes, y):
        """Select members, in order."""
        accuracy = np.mean(votes == y[:, None], axis=0)
        distances = measures.disagreement.matrix(votes)
        # Inaccurate members are selected only if no others are left.
        distances[:, accuracy < accuracy.max() - self.slack] -= 1
        members = [int(accuracy.argmax())]
        while len(members) < self.keep:
            nearest = distances[members].min(axis=0)
            nearest[members] = -np.inf
            members.append(int(nearest.argmax()))
        self.member_indices_ = np.array(members)
        return self


# %%
# It is used like any method of the library.
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
trees = ExtraTreesClassifier(80, max_depth=8, random_state=0).fit(
    X_train, y_train
)
pruning = prune(trees, X_val, y_val, FarthestFirst(), keep=10)
print(
    pruning.estimator,
    f"accuracy {pruning.estimator.score(X_test, y_test):.4f}",
)

# %%
# A scikit-learn selector can be used in the same way. This one selects members
# by the mutual information between their votes and the labels.
relevant = SelectKBest(
    lambda votes, y: mutual_info_classif(votes, y, discrete_features=True),
    k=10,
)
selected = prune(trees, X_val, y_val, relevant)
print(f"SelectKBest: accuracy {selected.estimator.score(X_test, y_test):.4f}")

# %%
# Comparison with other methods
# -----------------------------
#
# ``compare`` compares it with methods of the library, and with two baselines
# that every method must beat: random members and the first members.
from secateurs import compare

comparison = compare(
    *(trees, X_val, y_val, [FarthestFirst(), "joint", "re"]),
    keep=[3, 5, 10, 20, 40],
    X_test=X_test,
    y_test=y_test,
    random_state=0,
)
board = comparison.leaderboard()
board.loc[
    board["keep"] == 10, ["method", "members", "accuracy", "low", "high"]
].round(4)

# %%
# ``low`` and ``high`` are the bounds of the interval of the change against the
# full ensemble. If the intervals of two methods overlap, one data set is not
# enough to decide between them. :doc:`/contributing` describes how to add a
# method to the library, with its tests.
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

display = AccuracySizeDisplay.from_result(comparison)
display.ax_.set_title("Your own method compared with others")
display.ax_.set_ylim(0.8, 1)
plt.show()
