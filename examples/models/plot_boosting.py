"""
Cut a boosted model to its first rounds
=======================================

In gradient boosting each tree corrects the ones before it, so that no tree in
the middle can be left out. What can be left out are the last ones: the
shortest start that is good enough is kept. This example cuts models of
scikit-learn and, where they are installed, of XGBoost and LightGBM.
"""

# %%
# One call for every library
# --------------------------
#
# The models are trained with more rounds than they need, as happens when early
# stopping was not asked for.
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
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
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
    model.fit(X_fit, y_fit)

# %%
# The score is log loss, since probabilities are what suffers first from too
# many rounds. The smallest number of rounds is kept from which on the score on
# the rows given stays within 0.005 of that of all rounds. What comes out is a
# model of the same class.
from sklearn.metrics import log_loss

from secateurs import prune

prunings = {
    name: prune(
        model, X_choose, y_choose, tolerance=0.005, scoring="neg_log_loss"
    )
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
# As good as all, or the best
# ---------------------------
#
# The tolerance is measured from the whole model. Where that has come to
# overfit, an early round is as good as the last one, and a later one may be
# better than both. With ``keep`` it is taken instead.
import numpy as np

name = "HistGradientBoosting"
losses = {
    label: [
        log_loss(truth, p) for p in models[name].staged_predict_proba(rows)
    ]
    for label, rows, truth in (
        ("rows chosen on", X_choose, y_choose),
        ("test rows", X_test, y_test),
    )
}
best = prune(
    models[name],
    X_choose,
    y_choose,
    keep=int(np.argmin(losses["rows chosen on"])) + 1,
)
loss = log_loss(y_test, best.estimator.predict_proba(X_test))
n_rounds = len(best.member_indices)
print(
    f"best on the rows given: {n_rounds} rounds, log loss {loss:.3f} on others"
)

# %%
# Both decisions looked at the dashed line; the solid one comes from rows that
# had no part in them.
import matplotlib.pyplot as plt

_, ax = plt.subplots(layout="constrained")
rounds = np.arange(1, 151)
ax.plot(
    rounds,
    losses["rows chosen on"],
    "--",
    color="#0072b2",
    label="rows chosen on",
)
ax.plot(rounds, losses["test rows"], color="#0072b2", label="test rows")
kept = len(prunings[name].member_indices)
ax.axvline(kept, color="0.3", linestyle=":", label="as good as all rounds")
ax.axvline(
    len(best.member_indices), color="#d55e00", linestyle="-.", label="the best"
)
ax.set(xlabel="rounds", ylabel="log loss", title=f"{name}, round by round")
ax.legend()
plt.show()
