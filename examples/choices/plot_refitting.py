"""
Refitting the leaves of a pruned forest
=======================================

The average over ten trees is coarser than the average over a hundred, however
well the ten are selected, and the probabilities suffer most. Refitting keeps
the structure of the selected trees and fits the values in their leaves so that
their average imitates the average of the full forest. This example measures
the effect.
"""

# %%
# Pruning with and without refitting
# ----------------------------------
#
# The full forest predicts the targets of many synthetic samples, which are
# generated from the given samples; this needs no labels. The training samples
# are passed as ``X_unlabelled``, since there are more of them. The splits of
# the trees do not change, and neither does the original forest. The result is
# still a plain scikit-learn forest.
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = make_classification(1500, n_informative=6, flip_y=0.05, random_state=0)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.6, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)

results = []
for keep in (3, 5, 10, 20):
    for refit in (False, True):
        unlabelled = {"X_unlabelled": X_train} if refit else {}
        arguments = (forest, X_val, y_val, "joint")
        pruning = prune(
            *arguments, keep=keep, refit=refit, random_state=0, **unlabelled
        )
        results.append(
            {
                "trees": keep,
                "refitted": refit,
                "accuracy": pruning.estimator.score(X_test, y_test),
                "log loss": log_loss(
                    y_test, pruning.estimator.predict_proba(X_test)
                ),
            }
        )
table = pd.DataFrame(results).pivot(index="trees", columns="refitted")
table.round(4)

# %%
# The difference is largest for log loss: a few trees often predict
# probabilities of exactly 0 or 1, and log loss penalises these heavily where
# they are wrong.
full_loss = log_loss(y_test, forest.predict_proba(X_test))
full_accuracy = forest.score(X_test, y_test)
print(f"full forest: accuracy {full_accuracy:.4f}, log loss {full_loss:.4f}")

# %%
import matplotlib.pyplot as plt

_, ax = plt.subplots(layout="constrained")
losses = table["log loss"]
ax.plot(
    losses.index,
    losses[False],
    "o--",
    color="#d55e00",
    label="selected trees, not refitted",
)
ax.plot(
    losses.index,
    losses[True],
    "s-",
    color="#0072b2",
    label="with refitted leaves",
)
ax.axhline(full_loss, color="0.4", linewidth=1, label="full forest, 100 trees")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="trees kept",
    ylabel="log loss on the test set",
)
ax.set_xticks(losses.index, labels=losses.index)
ax.set_yticks([0.4, 0.6, 1, 2], labels=[0.4, 0.6, 1, 2])
ax.minorticks_off()
ax.set_title("Refitting leaves: probabilities of small forests")
ax.legend()
plt.show()
