"""
A method of your own
====================

``prune``, ``compare`` and ``EPFD`` take any object with ``fit(votes, y)`` and
then ``member_indices_`` or ``get_support()``: scikit-learn's selectors, and
classes of your own. This example writes a method in a dozen lines and lets it
compete.
"""

# %%
# Farthest first
# --------------
#
# Start with the most accurate member. Then add the member that is most
# different from the chosen one that it is most like, among those that are
# nearly as accurate as the first. ``keep`` is set from outside.
import numpy as np
from sklearn.base import BaseEstimator

from secateurs import measures


class FarthestFirst(BaseEstimator):
    """Keep accurate members that are far from each other."""

    def __init__(self, keep=10, slack=0.03):
        self.keep = keep
        self.slack = slack

    def fit(self, votes, y):
        """Choose members, in order."""
        accuracy = np.mean(votes == y[:, None], axis=0)
        apart = measures.disagreement.matrix(votes)
        apart[:, accuracy < accuracy.max() - self.slack] -= (
            1  # only if there are no others
        )
        chosen = [int(accuracy.argmax())]
        while len(chosen) < self.keep:
            nearest = apart[chosen].min(axis=0)
            nearest[chosen] = -np.inf
            chosen.append(int(nearest.argmax()))
        self.member_indices_ = np.array(chosen)
        return self


# %%
# It is used as any method of the library.
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
trees = ExtraTreesClassifier(80, max_depth=8, random_state=0).fit(X_fit, y_fit)
pruning = prune(trees, X_choose, y_choose, FarthestFirst(), keep=10)
print(
    pruning.estimator,
    f"accuracy {pruning.estimator.score(X_test, y_test):.4f}",
)

# %%
# So is a selector of scikit-learn, here by what each member tells about the
# labels, estimated from neighbours.
relevant = SelectKBest(
    lambda votes, y: mutual_info_classif(votes, y, discrete_features=True),
    k=10,
)
selected = prune(trees, X_choose, y_choose, relevant)
print(f"SelectKBest: accuracy {selected.estimator.score(X_test, y_test):.4f}")

# %%
# Does it earn its place?
# -----------------------
#
# ``compare`` puts it next to methods of the library, and to what every method
# must beat: random members, and the first ones.
from secateurs import compare

comparison = compare(
    *(trees, X_choose, y_choose, [FarthestFirst(), "joint", "re"]),
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
# ``low`` to ``high`` is the interval of the change against all members. Where
# those of two methods overlap, one data set does not decide between them. How
# to add a method to the library, with its tests, is told in
# :doc:`/contributing`.
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

display = AccuracySizeDisplay.from_result(comparison)
display.ax_.set_title("A method of your own among others")
display.ax_.set_ylim(0.8, 1)
plt.show()
