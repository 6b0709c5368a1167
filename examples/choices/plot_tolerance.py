"""
How many members are needed
===========================

The number of members that an ensemble needs is rarely known beforehand. It is
easier to decide how much accuracy may be lost. This example sets such a
tolerance, and shows what it costs and what it saves.
"""

# %%
# A forest of extremely randomised trees
# --------------------------------------
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
trees = ExtraTreesClassifier(150, random_state=0).fit(X_train, y_train)

# %%
# Four tolerances
# ---------------
#
# A ``tolerance`` of 0.01 keeps the fewest trees whose accuracy is at most one
# percentage point below that of the full forest. The accuracy is
# cross-validated: trees are selected on four fifths of the validation samples
# and scored on the remaining fifth, five times. A size qualifies only if
# nearly all larger sizes are within the tolerance as well, so that a single
# lucky size is not selected.
import pandas as pd

from secateurs import prune

prunings = {
    tolerance: prune(
        trees, X_val, y_val, "joint", tolerance=tolerance, random_state=0
    )
    for tolerance in (0.005, 0.01, 0.02, 0.05)
}
full_accuracy = trees.score(X_test, y_test)
pd.DataFrame(
    {
        "trees": [
            len(pruning.member_indices) for pruning in prunings.values()
        ],
        "change on the test set": [
            pruning.estimator.score(X_test, y_test) - full_accuracy
            for pruning in prunings.values()
        ],
    },
    index=pd.Index(prunings, name="tolerance"),
).round(4)

# %%
# The change on the test set may exceed the tolerance, which was met on the
# validation set. The larger the validation set, the closer the two agree.
#
# Accuracy by number of trees
# ---------------------------
#
# Accuracy rises steeply at first; later each further percentage point needs
# many times the number of trees. Each orange line is one of the tolerances
# above.
import matplotlib.pyplot as plt

from secateurs.displays import AccuracySizeDisplay

largest = max(
    prunings.values(), key=lambda pruning: len(pruning.member_indices)
)
display = AccuracySizeDisplay.from_result(largest, X_test, y_test)
display.ax_.set_ylim(0.86, 1)
for tolerance, pruning in prunings.items():
    size = len(pruning.member_indices)
    display.ax_.axvline(size, ymax=0.12, color="#d55e00", linewidth=1.5)
    display.ax_.text(
        size, 0.878, f"{tolerance:g}", ha="center", color="#d55e00"
    )
display.ax_.set_title("Sizes for four tolerances (orange)")
display.ax_.legend(loc="center right")
plt.show()
