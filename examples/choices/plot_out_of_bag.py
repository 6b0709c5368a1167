"""
Pruning with out-of-bag predictions
===================================

A validation set consists of samples that could have been used for training. A
forest does not need one: each tree is trained without about a third of the
training samples, and its votes on these out-of-bag samples are as unbiased as
votes on new samples. This example compares the two approaches on the same
data, several times.
"""

# %%
# Two ways to use the same data
# -----------------------------
#
# *Held-out* validation trains the forest on three quarters of the samples and
# selects trees on the remaining quarter. *Out-of-bag* validation trains on all
# samples, and selects trees by the votes of each tree on the samples that it
# was not trained on.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = load_digits(return_X_y=True)
n_keep = 15
scores = {
    "out of bag": [],
    "held out": [],
    "first trees": [],
    "full forest": [],
}
for seed in range(4):
    X_available, X_test, y_available, y_test = train_test_split(
        X, y, train_size=600, random_state=seed
    )
    forest = RandomForestClassifier(100, random_state=seed).fit(
        X_available, y_available
    )
    out_of_bag = prune(
        forest, X_available, y_available, "joint", keep=n_keep, oob=True
    )
    first = prune(
        forest, X_available, y_available, "es", keep=n_keep, oob=True
    )

    X_train, X_val, y_train, y_val = train_test_split(
        X_available, y_available, test_size=0.25, random_state=seed
    )
    smaller_forest = RandomForestClassifier(100, random_state=seed).fit(
        X_train, y_train
    )
    held_out = prune(smaller_forest, X_val, y_val, "joint", keep=n_keep)

    scores["full forest"].append(forest.score(X_test, y_test))
    scores["out of bag"].append(out_of_bag.estimator.score(X_test, y_test))
    scores["first trees"].append(first.estimator.score(X_test, y_test))
    scores["held out"].append(held_out.estimator.score(X_test, y_test))

# %%
# Results over all splits
# -----------------------
import pandas as pd

table = pd.DataFrame(scores)
table.agg(["mean", "min", "max"]).round(4)

# %%
# The figure below shows each split as a line. A difference is convincing if
# all lines go up or down together.
difference = table["out of bag"] - table["held out"]
n_better = (difference > 0).sum()
print(f"out of bag is better on {n_better} of {len(difference)} splits")
print(f"mean difference: {100 * difference.mean():.2f} percentage points")

# %%
# Fitting and pruning in one estimator
# ------------------------------------
#
# ``PrunedClassifier`` fits and prunes in one step, for pipelines and
# cross-validation.
from secateurs import JointErrorPruner, PrunedClassifier

pruned = PrunedClassifier(
    RandomForestClassifier(100, random_state=3),
    JointErrorPruner(n_keep),
    validation="oob",
).fit(X_available, y_available)
print(f"fitted and pruned in one step: {pruned.score(X_test, y_test):.4f}")

# %%
import matplotlib.pyplot as plt

_, ax = plt.subplots(layout="constrained")
columns = ["first trees", "held out", "out of bag", "full forest"]
ax.plot(columns, table[columns].T, "o-", color="#0072b2", alpha=0.35)
ax.plot(
    columns,
    table[columns].mean(),
    "D",
    color="#d55e00",
    label="mean",
    zorder=3,
)
ax.set(ylabel="accuracy on the test set")
ax.set_title(f"{n_keep} of 100 trees, and the full forest; one line per split")
ax.legend(loc="lower right")
plt.show()
