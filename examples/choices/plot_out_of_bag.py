"""
No rows to spare: choose out of bag
===================================

Rows to choose on are rows that the ensemble could have been trained on. A
forest needs none: each tree has left out about a third of the training rows,
and its votes on those are as honest as votes on new ones. This example
compares the two ways on the same data, several times.
"""

# %%
# Two ways to use the same rows
# -----------------------------
#
# *Held out* trains on three quarters of the rows and chooses on the last one.
# *Out of bag* trains on all of them, and chooses by the votes of each tree on
# the rows that it did not see.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = load_digits(return_X_y=True)
n_keep, found = (
    15,
    {"out of bag": [], "held out": [], "the first": [], "all": []},
)
for seed in range(4):
    X_given, X_test, y_given, y_test = train_test_split(
        X, y, train_size=600, random_state=seed
    )
    forest = RandomForestClassifier(100, random_state=seed).fit(
        X_given, y_given
    )
    chosen = prune(forest, X_given, y_given, "joint", keep=n_keep, oob=True)
    first = prune(forest, X_given, y_given, "es", keep=n_keep, oob=True)

    X_fit, X_choose, y_fit, y_choose = train_test_split(
        X_given, y_given, test_size=0.25, random_state=seed
    )
    smaller = RandomForestClassifier(100, random_state=seed).fit(X_fit, y_fit)
    held_out = prune(smaller, X_choose, y_choose, "joint", keep=n_keep)

    found["all"].append(forest.score(X_test, y_test))
    found["out of bag"].append(chosen.estimator.score(X_test, y_test))
    found["the first"].append(first.estimator.score(X_test, y_test))
    found["held out"].append(held_out.estimator.score(X_test, y_test))

# %%
# Over all splits
# ---------------
import pandas as pd

table = pd.DataFrame(found)
table.agg(["mean", "min", "max"]).round(4)

# %%
# Every split is a line, so that a difference can be told from luck: what
# counts is whether lines go up or down together.
lead = table["out of bag"] - table["held out"]
print(f"out of bag is better on {(lead > 0).sum()} of {len(lead)} splits,")
print(f"on average by {100 * lead.mean():.2f} points")

# %%
# In one estimator
# ----------------
#
# ``PrunedClassifier`` fits and prunes in one step, for pipelines and
# cross-validation.
from secateurs import JointErrorPruner, PrunedClassifier

pruned = PrunedClassifier(
    RandomForestClassifier(100, random_state=3),
    JointErrorPruner(n_keep),
    validation="oob",
).fit(X_given, y_given)
print(f"fitted and pruned at once: {pruned.score(X_test, y_test):.4f}")

# %%
import matplotlib.pyplot as plt

_, ax = plt.subplots(layout="constrained")
columns = ["the first", "held out", "out of bag", "all"]
ax.plot(columns, table[columns].T, "o-", color="#0072b2", alpha=0.35)
ax.plot(
    columns,
    table[columns].mean(),
    "D",
    color="#d55e00",
    label="mean",
    zorder=3,
)
ax.set(ylabel="accuracy on test rows")
ax.set_title(f"{n_keep} of 100 trees, and all of them; a line is a split")
ax.legend(loc="lower right")
plt.show()
