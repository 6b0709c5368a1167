"""
Keep the best team of a model library
=====================================

An AutoML run, or a few weeks of work, leave many fitted models behind:
different algorithms with different settings, some good, some poor. The best
single model wastes what the others know, and a vote of all of them listens to
the poor ones. This example keeps the few models that predict best together,
with and without weights.
"""

# %%
# A library of models
# -------------------
#
# Half of the rows train the models, a quarter chooses among them, a quarter
# tells.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)

library = {
    f"tree, depth {depth}": DecisionTreeClassifier(
        max_depth=depth, random_state=0
    )
    for depth in (1, 2, 4, 6, 8, 12)
}
library |= {
    f"{k} neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(k))
    for k in (1, 2, 3, 7, 15, 31)
}
library |= {
    f"logistic, C={c}": make_pipeline(
        StandardScaler(), LogisticRegression(C=c)
    )
    for c in (0.001, 0.01, 0.1, 1)
}
library |= {
    "discriminant": LinearDiscriminantAnalysis(),
    "Bayes": GaussianNB(),
}
library |= {
    f"forest of {n}": RandomForestClassifier(n, random_state=0)
    for n in (10, 40)
}
library |= {
    f"extra trees, {n}": ExtraTreesClassifier(n, random_state=0)
    for n in (10, 40)
}
library["forest of stumps"] = RandomForestClassifier(
    30, max_depth=1, random_state=0
)
for model in library.values():
    model.fit(X_fit, y_fit)
print(len(library), "models")

# %%
# Six that vote best together
# ---------------------------
#
# ``prune`` takes the models as they are. What comes out is a fitted
# ``VotingClassifier`` of six. The plain call knows from the rows that some
# members are much better than others, and takes what did best on such
# libraries.
from secateurs import prune

six = prune(library, X_choose, y_choose, keep=6, random_state=0)
print(six.reason)
print("kept, in the order of choice:", ", ".join(six.member_names))

# %%
# The obvious alternatives are to take the best single model, to let all of
# them vote, or to take the six best, whatever they have in common.
single = prune(library, X_choose, y_choose, "best", keep=1)
best_six = prune(library, X_choose, y_choose, "best", keep=6)
everybody = prune(library, X_choose, y_choose, "best", keep=len(library))

# %%
# Ensemble selection adds the same model again where that helps, for any score
# of scikit-learn, and so finds weights. The result serves them.
weighted = prune(
    library, X_choose, y_choose, "caruana", keep=6, scoring="neg_log_loss"
)
for name, weight in zip(weighted.member_names, weighted.weights, strict=True):
    print(f"{weight:.2f}  {name}")

# %%
# On rows that played no part
# ---------------------------
from sklearn.metrics import log_loss

teams = {
    "the best single model": single,
    "all models": everybody,
    "the six best": best_six,
    "six chosen together": six,
    "six with weights": weighted,
}
losses = {}
for name, team in teams.items():
    losses[name] = log_loss(y_test, team.estimator.predict_proba(X_test))
    accuracy = team.estimator.score(X_test, y_test)
    print(f"{name:>22}: accuracy {accuracy:.3f}, log loss {losses[name]:.3f}")

# %%
# Test rows are few, so that accuracies a row or two apart say little. The
# probabilities say more: each dot is the log loss of a model alone, a kept one
# in colour, and the lines are teams. Which models are kept does not follow
# from how good they are alone. One that is right where the others are wrong is
# worth more than another of the same kind.
import matplotlib.pyplot as plt

alone = {
    name: log_loss(y_test, m.predict_proba(X_test))
    for name, m in library.items()
}
names = sorted(alone, key=alone.get, reverse=True)
kept = np.isin(names, six.member_names)
_, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
ax.scatter(
    [alone[name] for name in names],
    names,
    color=np.where(kept, "#0072b2", "0.6"),
)
for style, colour, name in (
    ("-", "#0072b2", "six chosen together"),
    ("--", "#d55e00", "six with weights"),
    (":", "0.2", "all models"),
):
    ax.axvline(losses[name], color=colour, linestyle=style, label=name)
ax.set(xscale="log", xlabel="log loss on test rows (less is better)")
ax.xaxis.set_major_formatter("{x:g}")
ax.set_title("Models alone, and together")
ax.grid(axis="y", color="0.9")
ax.set_axisbelow(True)
ax.legend(loc="lower left", bbox_to_anchor=(0.35, 0.02))
plt.show()
