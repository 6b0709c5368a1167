"""
Pruning without harming a subgroup
==================================

A smaller ensemble with the same overall accuracy can be worse for a small
subgroup, because few of its samples decide which members are kept. This
example prunes a forest with and without a limit on the loss of every
subgroup.
"""

# %%
# A forest, and a small subgroup
# ------------------------------
#
# A tenth of the samples come from another region, in which half of the
# features have the opposite meaning.
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

X, y = make_classification(
    8000, 12, n_informative=8, class_sep=1.5, random_state=0
)
region = np.where(
    np.random.default_rng(0).random(len(y)) < 0.1, "north", "south"
)
X[region == "north", :6] *= -1
X = np.column_stack([X, region == "north"])  # the forest can learn it
train, validation, test = slice(0, 2000), slice(2000, 5000), slice(5000, None)
forest = RandomForestClassifier(100, random_state=0)
forest.fit(X[train], y[train])

# %%
# A tolerance for all samples together
# ------------------------------------
#
# The smallest forest within two points of accuracy. ``sensitive_features``
# adds the scores of the subgroups to the summary. (A warning says that the
# Brier score is much worse: a tolerance of accuracy does not preserve it.)
from secateurs import prune

given = {"pruner": "joint", "tolerance": 0.02, "random_state": 0}
overall = prune(
    forest,
    X[validation],
    y[validation],
    sensitive_features=region[validation],
    **given,
)
summary = overall.summary(X[test], y[test], sensitive_features=region[test])
rows = [name for name in summary.index if name.startswith("accuracy")]
summary.loc[["members", *rows], ["before", "after"]].round(3)

# %%
# A limit for every subgroup
# --------------------------
#
# ``max_group_loss`` limits the cross-validated loss of each subgroup.
# ``decided_by`` names the score or subgroup that needs the most trees.
limited = prune(
    forest,
    X[validation],
    y[validation],
    sensitive_features=region[validation],
    max_group_loss=0.02,
    **given,
)
print("decided by:", limited.decided_by)
again = limited.summary(X[test], y[test], sensitive_features=region[test])
again.loc[["members", *rows], ["before", "after"]].round(3)

# %%
# Both forests beside the full one
# --------------------------------
import matplotlib.pyplot as plt

groups = ["accuracy, south", "accuracy, north"]
figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
points = {
    "full forest": summary.loc[groups, "before"],
    f"{len(overall.member_indices)} trees": summary.loc[groups, "after"],
    f"{len(limited.member_indices)} trees, limit by subgroup": again.loc[
        groups, "after"
    ],
}
for shift, marker, (label, values) in zip(
    (-0.1, 0, 0.1), "osD", points.items(), strict=True
):
    axes.plot(np.arange(2) + shift, values, marker, label=label)
axes.set_xticks(range(2), ["south (90 %)", "north (10 %)"])
axes.set_xlim(-0.5, 1.5)
axes.set_ylabel("test accuracy")
axes.grid(axis="y")
figure.legend(loc="outside upper center", ncols=3)
plt.show()
