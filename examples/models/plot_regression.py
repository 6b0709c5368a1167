"""
Pruning a regression forest
===========================

The squared error of an average can be computed exactly from pairs of members:
it is the mean of the products of their errors over all pairs. Members that err
in the same direction increase it, and members whose errors cancel decrease it.
This example prunes a forest by this criterion and by simpler ones.
"""

# %%
# A forest of 200 regression trees
# --------------------------------
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

X, y = make_friedman1(1200, noise=1.0, random_state=0)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestRegressor(200, max_features=0.5, random_state=0).fit(
    X_train, y_train
)

# %%
# Comparing methods
# -----------------
#
# ``compare`` selects members on the validation set and scores them on the test
# set. Random members and the first members are always included: a method that
# does not beat them is not worth its cost. Methods that count labels do not
# support regression; ``joint`` minimises the squared error of the average, and
# ``best`` scores each tree individually.
from secateurs import compare

sizes = [5, 10, 20, 40, 80]
comparison = compare(
    *(forest, X_val, y_val, ["joint", "best"]),
    keep=sizes,
    X_test=X_test,
    y_test=y_test,
    random_state=0,
)
board = comparison.leaderboard()
board[["method", "members", "r2", "change", "low", "high", "bytes"]].round(
    4
).head(8)

# %%
# The comparison also recommends a size: the fewest members whose score is
# within 0.005 of the score of the full ensemble.
print(comparison.advice)

# %%
# Another score
# -------------
#
# Any scikit-learn regression scorer can determine how many trees are enough.
# Here it is the mean absolute error, and the tolerance is in its unit.
from sklearn.metrics import mean_absolute_error

from secateurs import prune

pruning = prune(
    *(forest, X_val, y_val, "joint"),
    scoring="neg_mean_absolute_error",
    tolerance=0.02,
    random_state=0,
)
before = mean_absolute_error(y_test, forest.predict(X_test))
after = mean_absolute_error(y_test, pruning.estimator.predict(X_test))
print(f"{len(pruning.member_indices)} trees are enough")
print(f"mean absolute error {before:.3f} -> {after:.3f}")

# %%
# R² on the test set for all sizes that were compared:
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

display = AccuracySizeDisplay.from_result(comparison)
display.ax_.set_title("A forest of 200 regression trees")
display.ax_.set_ylim(bottom=0.75)
display.ax_.legend(loc="lower right")
plt.show()
