"""
What methods look for: accuracy against agreement
=================================================

A good team has members that are right, and that are wrong in different places.
The κ–error diagram shows both: every pair of members is a point, further left
the less the two agree beyond chance, further down the fewer errors they make.
This example shows which pairs four methods keep.
"""

# %%
# Bagged neighbours
# -----------------
#
# Each member sees a few of the columns of the scaled table, so that members
# differ. The bagging sits at the end of a pipeline, as it often does; the
# votes on two sets of rows are collected once.
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateurs import collect_votes, prune

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
bagging = BaggingClassifier(
    KNeighborsClassifier(3), 60, max_features=0.1, random_state=0
)
model = make_pipeline(StandardScaler(), bagging).fit(X_fit, y_fit)
votes, test_votes = (
    collect_votes(model, X_choose),
    collect_votes(model, X_test),
)

# %%
# Four ways to look
# -----------------
#
# ``kp`` takes the pairs that agree least, whatever their errors; ``best`` the
# members with the fewest errors, whatever they have in common. ``comep``
# weighs one against the other, and ``joint`` measures both at once: the
# squared error of the average.
methods = {
    "kp": "kp: least agreement",
    "best": "best: fewest errors",
    "comep": "comep: a weighted sum",
    "joint": "joint: error of the average",
}
prunings = {
    name: prune(votes, y=y_choose, pruner=name, keep=9) for name in methods
}
for name, pruning in prunings.items():
    accuracy = pruning.pruner.score(test_votes, y_test)
    print(f"9 members by {name:>5}: {accuracy:.4f}")
everybody = prune(votes, y=y_choose, pruner="es", keep=60)
print(f"all 60 members:     {everybody.pruner.score(test_votes, y_test):.4f}")

# %%
# Blue points are the pairs that a method keeps, on the rows it chose on. The
# line joins pairs that no other pair beats in both respects.
import matplotlib.pyplot as plt

from secateurs.displays import KappaErrorDisplay

figure, axes = plt.subplots(
    2, 2, figsize=(8, 6.5), layout="constrained", sharex=True, sharey=True
)
for ax, (name, pruning) in zip(axes.flat, prunings.items(), strict=True):
    KappaErrorDisplay.from_result(pruning, ax=ax)
    ax.set_title(methods[name])
    ax.label_outer()
    if ax is not axes[0, 0]:
        ax.get_legend().remove()
plt.show()
