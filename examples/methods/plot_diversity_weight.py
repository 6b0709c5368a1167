"""
The diversity weight λ of COMEP
===============================

COMEP combines two criteria: how different members are from each other, and how
much information each member has about the true labels. The weight λ between
them is the parameter ``diversity_weight``: 0 uses relevance alone, 1 diversity
alone, and the paper uses 0.5. This example shows the effect of the weight over
its full range.
"""

# %%
# Collecting the votes of bagged trees
# ------------------------------------
#
# Pruners work on the votes of all members, an array of shape (n_samples,
# n_members). The votes are collected once and used for all selections.
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from secateurs import collect_votes

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
tree = DecisionTreeClassifier(max_depth=8)
bagging = BaggingClassifier(tree, 80, max_features=0.4, random_state=0).fit(
    X_train, y_train
)
votes = collect_votes(bagging, X_val)
test_votes = collect_votes(bagging, X_test)

# %%
# Effect of the weight
# --------------------
#
# As λ increases, the selected members differ more from each other, and each of
# them is less accurate.
import numpy as np

from secateurs import COMEP, measures

for weight in (0.0, 0.25, 0.5, 0.75, 1.0):
    pruner = COMEP(keep=10, diversity_weight=weight).fit(votes, y_val)
    kept = votes[:, pruner.member_indices_]
    disagreement = measures.disagreement.mean(kept)
    member_accuracy = np.mean(kept == y_val[:, None])
    vote_accuracy = pruner.score(test_votes, y_test)
    print(f"λ={weight:<4}  disagreement {disagreement:.3f}", end="  ")
    print(f"members {member_accuracy:.3f}  vote {vote_accuracy:.3f}")

# %%
# The last column shows the accuracy of the vote on the test set, which is what
# matters.
#
# Selecting the weight by cross-validation
# ----------------------------------------
#
# ``diversity_weight="auto"`` selects the weight with the best cross-validated
# accuracy of the vote. Since it is an ordinary parameter of a scikit-learn
# estimator, a grid search can also tune it together with the size.
from sklearn.model_selection import GridSearchCV

tuned = COMEP(keep=10, diversity_weight="auto", random_state=0).fit(
    votes, y_val
)
vote_accuracy = tuned.score(test_votes, y_test)
print(f"auto: λ={tuned.diversity_weight_:g}, vote {vote_accuracy:.3f}")
grid = {"keep": [5, 10, 20], "diversity_weight": [0.0, 0.2, 0.4, 0.6, 0.8]}
search = GridSearchCV(COMEP(), grid, cv=5).fit(votes, y_val)
vote_accuracy = search.score(test_votes, y_test)
print(f"grid search: {search.best_params_}, vote {vote_accuracy:.3f}")

# %%
# Distance to the optimum
# -----------------------
#
# COMEP adds members one at a time, and computes an upper bound of the
# objective that an optimal search could reach.
fraction = tuned.objective_ / tuned.upper_bound_
print(f"at least {fraction:.1%} of the largest objective possible")

# %%
# All weights
# -----------
#
# The band is the 95 % interval of the change against the full ensemble. The
# dashed line shows how many of the members kept at λ = 0.5 are also kept at
# other weights.
import matplotlib.pyplot as plt

from secateurs.displays import DiversityWeightDisplay

display = DiversityWeightDisplay.from_predictions(
    *(votes, y_val),
    votes_test=test_votes,
    y_test=y_test,
    pruner="comep",
    keep=10,
)
display.ax_.set_title("10 of 80 bagged trees on handwritten digits")
plt.show()
