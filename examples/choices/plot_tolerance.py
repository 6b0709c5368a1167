"""
How many members are enough
===========================

Nobody knows beforehand how many members an ensemble needs. What one does know
is how much accuracy one is ready to give up. This example says that, and shows
what it costs and what it saves.
"""

# %%
# A forest of extremely randomised trees
# --------------------------------------
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
trees = ExtraTreesClassifier(150, random_state=0).fit(X_fit, y_fit)

# %%
# Four tolerances
# ---------------
#
# A ``tolerance`` of 0.01 asks for the fewest trees whose accuracy is at most
# one point below that of all. It is judged on rows held out: trees are chosen
# on four fifths of the rows given and scored on the fifth, five times. A size
# counts only if nearly all larger ones are within the tolerance as well, so
# that no size is taken by luck.
import pandas as pd

from secateurs import prune

prunings = {
    tolerance: prune(
        trees, X_choose, y_choose, "joint", tolerance=tolerance, random_state=0
    )
    for tolerance in (0.005, 0.01, 0.02, 0.05)
}
whole = trees.score(X_test, y_test)
pd.DataFrame(
    {
        "trees": [
            len(pruning.member_indices) for pruning in prunings.values()
        ],
        "change on test rows": [
            pruning.estimator.score(X_test, y_test) - whole
            for pruning in prunings.values()
        ],
    },
    index=pd.Index(prunings, name="tolerance"),
).round(4)

# %%
# Test rows need not agree to the last row with those that decided. The more
# rows there are to choose on, the closer they do.
#
# The picture
# -----------
#
# Accuracy rises steeply at first, and then every further point takes many
# times the trees. Each orange line is one of the tolerances above.
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
display.ax_.set_title("Sizes taken for four tolerances (orange)")
display.ax_.legend(loc="center right")
plt.show()
