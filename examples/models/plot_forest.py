"""
A forest in one call
====================

A random forest of 200 trees is accurate, and larger and slower than it needs
to be. This example prunes it with the plain call, in which everything is left
to the library, and looks at what was won and lost on rows that played no part
in it.
"""

# %%
# Three sets of rows
# ------------------
#
# One part of the rows trains the forest, one part chooses trees, and one part
# tells how good the result is. Rows that did the choosing cannot do the
# telling: the trees kept are those that did well on them.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(200, random_state=0).fit(X_fit, y_fit)

# %%
# The plain call
# --------------
#
# Neither a method nor a size is given. The method is the one that did best on
# many other data sets with such ensembles, unless the rows given speak clearly
# against it; the size is the smallest whose accuracy on rows held out is
# within 0.005 of that of the whole forest.
import secateurs

pruning = secateurs.prune(forest, X_choose, y_choose, random_state=0)
print(pruning.reason)
print(f"{len(pruning.member_indices)} of {len(forest)} trees are kept")

# %%
# What comes out is a plain forest: the same class, the same methods, fewer
# trees. It loads where secateurs is not installed. The forest that went in is
# not changed.
pruning.estimator

# %%
# Before and after
# ----------------
#
# The interval of a change (``low`` to ``high``) comes from the same test rows
# for both forests. If it includes 0, these rows cannot tell the two apart. The
# tolerance was met on rows held out of those chosen on; the first line says
# whether these test rows agree.
summary = pruning.summary(X_test, y_test)
summary.round(4)

# %%
# A size of your own
# ------------------
#
# Where memory or time decide, say how many trees there may be. The smaller the
# forest, the more it matters which trees stay: beside those chosen here are
# the first ones, which is what training a smaller forest would have given.
n_keep = 20
small = secateurs.prune(
    forest, X_choose, y_choose, keep=n_keep, random_state=0
)
first = secateurs.prune(forest, X_choose, y_choose, "es", keep=n_keep)
for name, model in {
    "all trees": forest,
    f"{n_keep} chosen trees": small.estimator,
    f"the first {n_keep} trees": first.estimator,
}.items():
    print(f"{name:>20}: {model.score(X_test, y_test):.4f}")

# %%
# Every size at once
# ------------------
#
# The display follows the order in which trees were chosen: accuracy on the
# test rows with its interval, and, dashed, on the rows chosen on, which
# flatter the choice. A dotted line marks the size that the plain call took.
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

display = AccuracySizeDisplay.from_result(pruning, X_test, y_test)
display.ax_.axvline(
    len(pruning.member_indices), color="0.4", linestyle=":", label="plain call"
)
display.ax_.set_ylim(0.85, 1)
display.ax_.legend(loc="lower right")
display.ax_.set_title("A forest of 200 trees on handwritten digits")
plt.show()
