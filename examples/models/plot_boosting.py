"""
Truncating a boosted model to its first rounds
==============================================

In gradient boosting each tree corrects the previous ones, so no tree in the
middle can be removed. Only the last trees can: pruning keeps the shortest
prefix of rounds that is good enough. This example prunes models of
scikit-learn and, if installed, of XGBoost and LightGBM.
"""

# %%
# One call for every library
# --------------------------
#
# The models are trained with more rounds than they need, as happens without
# early stopping.
from importlib.util import find_spec

from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.model_selection import train_test_split

X, y = make_classification(
    2400, n_informative=8, class_sep=0.7, flip_y=0, random_state=0
)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)

models = {
    "HistGradientBoosting": HistGradientBoostingClassifier(
        max_iter=150, random_state=0
    ),
    "GradientBoosting": GradientBoostingClassifier(
        n_estimators=150, max_features="sqrt", random_state=0
    ),
}
if find_spec("xgboost"):
    from xgboost import XGBClassifier

    models["XGBoost"] = XGBClassifier(
        n_estimators=150, n_jobs=1, random_state=0
    )
if find_spec("lightgbm"):
    from lightgbm import LGBMClassifier

    models["LightGBM"] = LGBMClassifier(
        n_estimators=150,
        deterministic=True,
        n_jobs=1,
        random_state=0,
        verbosity=-1,
    )
for model in models.values():
    model.fit(X_train, y_train)

# %%
# The score is log loss, since too many rounds affect the probabilities first.
# ``prune`` keeps the smallest number of rounds from which on the score on the
# validation set stays within 0.005 of the score of all rounds. The result is a
# model of the same class.
from sklearn.metrics import log_loss

from secateurs import prune

prunings = {
    name: prune(model, X_val, y_val, tolerance=0.005, scoring="neg_log_loss")
    for name, model in models.items()
}
for name, pruning in prunings.items():
    before = log_loss(y_test, models[name].predict_proba(X_test))
    after = log_loss(y_test, pruning.estimator.predict_proba(X_test))
    kept = len(pruning.member_indices)
    print(f"{name:>21}: {kept:3} rounds of 150", end=", ")
    print(f"log loss {before:.3f} -> {after:.3f}")

print(next(iter(prunings.values())).reason)

# %%
# Within the tolerance, or the best
# ---------------------------------
#
# The tolerance refers to the score of the full model. If the full model
# overfits, an early round is as good as the last one, and a later round may be
# better than both. The best round can be kept with ``keep``.
import numpy as np

name = "HistGradientBoosting"
losses = {
    label: [
        log_loss(labels, probabilities)
        for probabilities in models[name].staged_predict_proba(samples)
    ]
    for label, samples, labels in (
        ("validation set", X_val, y_val),
        ("test set", X_test, y_test),
    )
}
best = prune(
    models[name],
    X_val,
    y_val,
    keep=int(np.argmin(losses["validation set"])) + 1,
)
loss = log_loss(y_test, best.estimator.predict_proba(X_test))
n_rounds = len(best.member_indices)
print(f"best on the validation set: {n_rounds} rounds", end=", ")
print(f"log loss {loss:.3f} on the test set")

# %%
# Both numbers of rounds were selected on the dashed line; the solid line shows
# the test set, which was not used for either.
import matplotlib.pyplot as plt

_, ax = plt.subplots(layout="constrained")
rounds = np.arange(1, 151)
ax.plot(
    rounds,
    losses["validation set"],
    "--",
    color="#0072b2",
    label="validation set",
)
ax.plot(rounds, losses["test set"], color="#0072b2", label="test set")
kept = len(prunings[name].member_indices)
ax.axvline(kept, color="0.3", linestyle=":", label="within the tolerance")
ax.axvline(
    len(best.member_indices), color="#d55e00", linestyle="-.", label="best"
)
ax.set(xlabel="rounds", ylabel="log loss", title=f"{name}, round by round")
ax.legend()
plt.show()
