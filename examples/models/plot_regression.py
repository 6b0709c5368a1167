"""
Prune a forest of regressors
============================

What an average of numbers is worth can be computed exactly from pairs of
members: its squared error is the mean of the products of their errors, each
pair once. Members that err in the same direction pay for it, members whose
errors cancel are rewarded. This example prunes a forest by that rule and by
simpler ones.
"""

# %%
# A forest of 200 regression trees
# --------------------------------
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

X, y = make_friedman1(1200, noise=1.0, random_state=0)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestRegressor(200, max_features=0.5, random_state=0).fit(
    X_fit, y_fit
)

# %%
# Methods side by side
# --------------------
#
# ``compare`` chooses on one set of rows and judges on another. Random members
# and the first ones are always there: a method that does not beat them is not
# worth its time. Of methods that count labels none can be asked here;
# ``joint`` follows the squared error of the average, and ``best`` looks at
# each tree alone.
from secateurs import compare

sizes = [5, 10, 20, 40, 80]
comparison = compare(
    *(forest, X_choose, y_choose, ["joint", "best"]),
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
# The leaderboard ends in advice: the fewest members within 0.005 of the score
# of all.
print(comparison.advice)

# %%
# Another score
# -------------
#
# Any scorer of scikit-learn for numbers may decide how many trees are enough.
# Here it is the mean absolute error, and what is tolerated is in its unit.
from sklearn.metrics import mean_absolute_error

from secateurs import prune

pruning = prune(
    *(forest, X_choose, y_choose, "joint"),
    scoring="neg_mean_absolute_error",
    tolerance=0.02,
    random_state=0,
)
before = mean_absolute_error(y_test, forest.predict(X_test))
after = mean_absolute_error(y_test, pruning.estimator.predict(X_test))
print(f"{len(pruning.member_indices)} trees are enough")
print(f"mean absolute error {before:.3f} -> {after:.3f}")

# %%
# R² on test rows, for all sizes that were compared:
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

display = AccuracySizeDisplay.from_result(comparison)
display.ax_.set_title("A forest of 200 regression trees")
display.ax_.set_ylim(bottom=0.75)
display.ax_.legend(loc="lower right")
plt.show()
