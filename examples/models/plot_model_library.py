"""
Selecting models from a library
===============================

An AutoML run, or a few weeks of work, produces many fitted models: different
algorithms with different settings, some good, some poor. The best single model
ignores the information in the others, and a vote of all models includes the
poor ones. This example keeps the few models that predict best together, with
and without weights.
"""

# %%
# A library of models
# -------------------
#
# Half of the samples are used for training, a quarter for validation and a
# quarter for testing.
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
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
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
    model.fit(X_train, y_train)
print(len(library), "models")

# %%
# Six models that predict best together
# -------------------------------------
#
# ``prune`` accepts a dictionary of fitted models. The result is a fitted
# ``VotingClassifier`` of six models. The default call detects from the
# predictions that some members are much better than others, and uses the
# method that performed best on such libraries.
from secateurs import prune

six = prune(library, X_val, y_val, keep=6, random_state=0)
print(six.reason)
print("kept, in order of selection:", ", ".join(six.member_names))

# %%
# The obvious alternatives are the best single model, a vote of all models, and
# a vote of the six best models regardless of their similarity.
single = prune(library, X_val, y_val, "best", keep=1)
best_six = prune(library, X_val, y_val, "best", keep=6)
full = prune(library, X_val, y_val, "best", keep=len(library))

# %%
# Ensemble selection can add the same model several times if this improves the
# score, and thereby computes weights. It works with any scikit-learn score.
# The pruned model predicts with these weights.
weighted = prune(
    library, X_val, y_val, "caruana", keep=6, scoring="neg_log_loss"
)
for name, weight in zip(weighted.member_names, weighted.weights, strict=True):
    print(f"{weight:.2f}  {name}")

# %%
# Results on the test set
# -----------------------
from sklearn.metrics import log_loss

ensembles = {
    "best single model": single,
    "full library": full,
    "six best models": best_six,
    "six selected models": six,
    "six weighted models": weighted,
}
losses = {}
for name, ensemble in ensembles.items():
    losses[name] = log_loss(y_test, ensemble.estimator.predict_proba(X_test))
    accuracy = ensemble.estimator.score(X_test, y_test)
    print(f"{name:>22}: accuracy {accuracy:.3f}, log loss {losses[name]:.3f}")

# %%
# The test set is small, so accuracies that differ by one or two samples mean
# little. Log loss is more informative. Each dot is the log loss of a single
# model, with the kept models in colour, and the lines are ensembles. Which
# models are kept does not follow from their individual scores: a model that is
# right where the others are wrong is more useful than another model of the
# same kind.
import matplotlib.pyplot as plt

single_losses = {
    name: log_loss(y_test, model.predict_proba(X_test))
    for name, model in library.items()
}
names = sorted(single_losses, key=single_losses.get, reverse=True)
is_kept = np.isin(names, six.member_names)
_, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
ax.scatter(
    [single_losses[name] for name in names],
    names,
    color=np.where(is_kept, "#0072b2", "0.6"),
)
for style, colour, name in (
    ("-", "#0072b2", "six selected models"),
    ("--", "#d55e00", "six weighted models"),
    (":", "0.2", "full library"),
):
    ax.axvline(losses[name], color=colour, linestyle=style, label=name)
ax.set(xscale="log", xlabel="log loss on the test set (lower is better)")
ax.xaxis.set_major_formatter("{x:g}")
ax.set_title("Single models and ensembles")
ax.grid(axis="y", color="0.9")
ax.set_axisbelow(True)
ax.legend(loc="lower left", bbox_to_anchor=(0.35, 0.02))
plt.show()
