"""
How much diversity: the weight λ of COMEP
=========================================

COMEP weighs two things: how different members are from each other, and how
much each of them tells about the true labels. The weight between them, λ, is
``diversity_weight``: 0 looks at relevance alone, 1 at diversity alone, and the
paper takes 0.5. This example looks at all of it.
"""

# %%
# Bagged trees, collected once
# ----------------------------
#
# Pruners work on the votes of all members, samples × members. Collected once,
# they serve for any number of choices.
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from secateurs import collect_votes

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
tree = DecisionTreeClassifier(max_depth=8)
bagging = BaggingClassifier(tree, 80, max_features=0.4, random_state=0).fit(
    X_fit, y_fit
)
votes, test_votes = (
    collect_votes(bagging, X_choose),
    collect_votes(bagging, X_test),
)

# %%
# What the weight does
# --------------------
#
# With λ the chosen members differ more from each other, and each of them is
# right less often.
import numpy as np

from secateurs import COMEP, measures

for weight in (0.0, 0.25, 0.5, 0.75, 1.0):
    pruner = COMEP(keep=10, diversity_weight=weight).fit(votes, y_choose)
    kept = votes[:, pruner.member_indices_]
    apart, alone = (
        measures.disagreement.mean(kept),
        np.mean(kept == y_choose[:, None]),
    )
    together = pruner.score(test_votes, y_test)
    print(f"λ={weight:<4}  disagreement {apart:.3f}", end="  ")
    print(f"members {alone:.3f}  vote {together:.3f}")

# %%
# The last column is what counts: the accuracy of the vote on test rows.
#
# Let the rows decide
# -------------------
#
# ``diversity_weight="auto"`` takes the weight whose choice votes best on rows
# held out. Being an ordinary parameter of an ordinary estimator, it can also
# be searched together with the size.
from sklearn.model_selection import GridSearchCV

chosen = COMEP(keep=10, diversity_weight="auto", random_state=0).fit(
    votes, y_choose
)
vote = chosen.score(test_votes, y_test)
print(f"auto: λ={chosen.diversity_weight_:g}, vote {vote:.3f}")
grid = {"keep": [5, 10, 20], "diversity_weight": [0.0, 0.2, 0.4, 0.6, 0.8]}
search = GridSearchCV(COMEP(), grid, cv=5).fit(votes, y_choose)
vote = search.score(test_votes, y_test)
print(f"grid search: {search.best_params_}, vote {vote:.3f}")

# %%
# How close to the best
# ---------------------
#
# COMEP adds members one at a time, and bounds how much a perfect search could
# still gain.
share = chosen.objective_ / chosen.upper_bound_
print(f"at least {share:.1%} of the largest objective possible")

# %%
# The whole range
# ---------------
#
# The band is the 95 % interval of the change against all members. The dashed
# line tells how many of the members kept at λ = 0.5 are kept at another
# weight.
import matplotlib.pyplot as plt

from secateurs.displays import DiversityWeightDisplay

display = DiversityWeightDisplay.from_predictions(
    *(votes, y_choose),
    votes_test=test_votes,
    y_test=y_test,
    pruner="comep",
    keep=10,
)
display.ax_.set_title("10 of 80 bagged trees on handwritten digits")
plt.show()
