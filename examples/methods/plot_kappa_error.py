"""
Accuracy and agreement of selected members
==========================================

The members of a good ensemble are accurate and make errors on different
samples. The κ–error diagram shows both properties. Each point is a pair of
members: the further left, the less the two agree beyond chance; the further
down, the fewer errors they make. This example shows which pairs four methods
keep.
"""

# %%
# Bagged nearest neighbours
# -------------------------
#
# Each member is trained on a few of the features, so that members differ. The
# bagging ensemble is the last step of a pipeline, as is common. Its votes on
# the validation set and on the test set are collected once.
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateurs import collect_votes, prune

X, y = load_breast_cancer(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
bagging = BaggingClassifier(
    KNeighborsClassifier(3), 60, max_features=0.1, random_state=0
)
model = make_pipeline(StandardScaler(), bagging).fit(X_train, y_train)
votes = collect_votes(model, X_val)
test_votes = collect_votes(model, X_test)

# %%
# Four methods
# ------------
#
# ``kp`` selects the pairs that agree least, regardless of their errors;
# ``best`` selects the members with the fewest errors, regardless of their
# similarity. ``comep`` uses a weighted sum of both criteria, and ``joint``
# measures both together by the squared error of the average.
methods = {
    "kp": "kp: least agreement",
    "best": "best: fewest errors",
    "comep": "comep: a weighted sum",
    "joint": "joint: error of the average",
}
prunings = {
    name: prune(votes, y=y_val, pruner=name, keep=9) for name in methods
}
for name, pruning in prunings.items():
    accuracy = pruning.pruner.score(test_votes, y_test)
    print(f"9 members by {name:>5}: {accuracy:.4f}")
full = prune(votes, y=y_val, pruner="es", keep=60)
print(f"full ensemble:      {full.pruner.score(test_votes, y_test):.4f}")

# %%
# Blue points are the pairs that a method keeps, measured on the validation
# set. The line connects the pairs that no other pair beats in both properties.
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
