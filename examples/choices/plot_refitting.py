"""
Fewer trees that say as much: refitting leaves
==============================================

Ten trees have less to say than a hundred, however well they are chosen: an
average over few trees is coarse, and its probabilities suffer most. Refitting
keeps the structure of the chosen trees, and fits the values in their leaves so
that their average imitates that of the whole forest. This example measures
what that gives back.
"""

# %%
# With and without
# ----------------
#
# The whole forest answers many rows, made from those given; no labels are
# needed for that. The training rows are given as ``X_unlabelled``, since there
# are more of them. The splits of the trees stay as they are, and so does the
# original forest. What comes out is a plain forest still.
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = make_classification(1500, n_informative=6, flip_y=0.05, random_state=0)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.6, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_fit, y_fit)

found = []
for keep in (3, 5, 10, 20):
    for refit in (False, True):
        more = {"X_unlabelled": X_fit} if refit else {}
        given = (forest, X_choose, y_choose, "joint")
        pruning = prune(*given, keep=keep, refit=refit, random_state=0, **more)
        found.append(
            {
                "trees": keep,
                "refitted": refit,
                "accuracy": pruning.estimator.score(X_test, y_test),
                "log loss": log_loss(
                    y_test, pruning.estimator.predict_proba(X_test)
                ),
            }
        )
table = pd.DataFrame(found).pivot(index="trees", columns="refitted")
table.round(4)

# %%
# Log loss is where the difference is: few trees give probabilities of exactly
# 0 or 1, and where these are wrong the price is high.
whole = log_loss(y_test, forest.predict_proba(X_test))
accuracy = forest.score(X_test, y_test)
print(f"all 100 trees: accuracy {accuracy:.4f}, log loss {whole:.4f}")

# %%
import matplotlib.pyplot as plt

_, ax = plt.subplots(layout="constrained")
losses = table["log loss"]
ax.plot(
    losses.index,
    losses[False],
    "o--",
    color="#d55e00",
    label="chosen trees as they were",
)
ax.plot(
    losses.index,
    losses[True],
    "s-",
    color="#0072b2",
    label="with refitted leaves",
)
ax.axhline(whole, color="0.4", linewidth=1, label="all 100 trees")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="trees kept",
    ylabel="log loss on test rows",
)
ax.set_xticks(losses.index, labels=losses.index)
ax.set_yticks([0.4, 0.6, 1, 2], labels=[0.4, 0.6, 1, 2])
ax.minorticks_off()
ax.set_title("Refitting leaves: probabilities of a few trees")
ax.legend()
plt.show()
