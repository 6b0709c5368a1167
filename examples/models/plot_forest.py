"""
Pruning a forest with the default settings
==========================================

A random forest of 200 trees is accurate, but larger and slower than necessary.
This example prunes it with the default settings, and measures the result on
samples that were not used for pruning.
"""

# %%
# Training, validation and test set
# ---------------------------------
#
# The forest is trained on the training set, trees are selected on the
# validation set, and the result is evaluated on the test set. The validation
# set cannot be used for the evaluation, since the kept trees were selected
# because they perform well on it.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(200, random_state=0).fit(X_train, y_train)

# %%
# The default call
# ----------------
#
# Neither a method nor a size is given. The method is the one that performed
# best in our benchmark on ensembles of this kind, unless the validation data
# clearly contradict it. The size is the smallest whose cross-validated
# accuracy is within 0.005 of that of the full forest.
import secateurs

pruning = secateurs.prune(forest, X_val, y_val, random_state=0)
print(pruning.reason)
print(f"{len(pruning.member_indices)} of {len(forest)} trees are kept")

# %%
# The result is a plain scikit-learn forest of the same class with fewer trees.
# It can be loaded without secateurs. The original forest is not changed.
pruning.estimator

# %%
# Comparison with the full forest
# -------------------------------
#
# The interval of a change (``low`` to ``high``) is computed from the
# predictions of both forests on the same test samples. If it includes 0, the
# test set shows no significant difference. The tolerance was met in
# cross-validation on the validation set; the first line shows whether the test
# set agrees.
summary = pruning.summary(X_test, y_test)
summary.round(4)

# %%
# Setting the size
# ----------------
#
# If memory or time is limited, set the number of trees. The smaller the
# forest, the more the selection matters. For comparison, the first trees are
# shown as well: they are what training a smaller forest would have given.
n_keep = 20
small = secateurs.prune(forest, X_val, y_val, keep=n_keep, random_state=0)
first = secateurs.prune(forest, X_val, y_val, "es", keep=n_keep)
for name, model in {
    "full forest": forest,
    f"{n_keep} selected trees": small.estimator,
    f"the first {n_keep} trees": first.estimator,
}.items():
    print(f"{name:>20}: {model.score(X_test, y_test):.4f}")

# %%
# Accuracy by number of trees
# ---------------------------
#
# The display follows the order in which trees were selected. It shows the
# accuracy on the test set with its interval, and, as a dashed line, the
# accuracy on the validation set, which is optimistic. A dotted line marks the
# size selected by the default call.
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

display = AccuracySizeDisplay.from_result(pruning, X_test, y_test)
display.ax_.axvline(
    len(pruning.member_indices),
    color="0.4",
    linestyle=":",
    label="default call",
)
display.ax_.set_ylim(0.85, 1)
display.ax_.legend(loc="lower right")
display.ax_.set_title("A forest of 200 trees on handwritten digits")
plt.show()
