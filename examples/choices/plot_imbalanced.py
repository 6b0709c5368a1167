"""
Rare classes, and a score that sees them
========================================

Where one row in twenty is positive, a model that never says so is right on
nineteen. Accuracy hardly notices what happens to the rare class. This example
prunes for a score that does, and measures what each choice does to several of
them.
"""

# %%
# A forest on rare events
# -----------------------
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, y = make_classification(
    4000, n_informative=6, weights=[0.95], random_state=1
)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, stratify=y, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_fit, y_fit)
print(f"{y_test.mean():.1%} of the test rows are positive")

# %%
# How many trees are enough depends on the score
# ----------------------------------------------
#
# Without a size, the fewest trees within 0.005 of the whole forest are kept.
# ``scoring`` says within 0.005 of what: any score of scikit-learn. Average
# precision looks at how well probabilities put the rare rows in front.
import pandas as pd
from sklearn.metrics import average_precision_score, balanced_accuracy_score

from secateurs import prune

given = forest, X_choose, y_choose
for_accuracy = prune(*given, "joint", scoring="accuracy", random_state=0)
for_precision = prune(
    *given, "joint", scoring="average_precision", random_state=0
)


def described(model):
    """Return what a model is like on test rows."""
    predicted = model.predict(X_test)
    return {
        "trees": len(model.estimators_),
        "accuracy": (predicted == y_test).mean(),
        "balanced accuracy": balanced_accuracy_score(y_test, predicted),
        "average precision": average_precision_score(
            y_test, model.predict_proba(X_test)[:, 1]
        ),
    }


models = {
    "all trees": forest,
    "enough for accuracy": for_accuracy.estimator,
    "enough for average precision": for_precision.estimator,
}
pd.DataFrame(
    {name: described(model) for name, model in models.items()}
).T.round(3)

# %%
# A method that maximises the score
# ---------------------------------
#
# Ensemble selection chooses trees, and weights for them, by the score itself.
# Here it may keep ten trees, once for accuracy and once for balanced accuracy,
# the mean over the two classes. Whether that carries over to other rows is
# what test rows are for.
selections = {
    f"up to ten for {score}": prune(
        *given, "caruana", keep=10, scoring=score
    ).estimator
    for score in ("accuracy", "balanced_accuracy")
}
pd.DataFrame(
    {name: described(model) for name, model in selections.items()}
).T.round(3)

# %%
# Where the dashed line runs below the others, precision was lost that accuracy
# did not see.
import matplotlib.pyplot as plt
from sklearn.metrics import precision_recall_curve

_, ax = plt.subplots(layout="constrained")
styles = ("0.4", "-"), ("#d55e00", "--"), ("#0072b2", "-")
for (name, model), (colour, style) in zip(models.items(), styles, strict=True):
    precision, recall, _ = precision_recall_curve(
        y_test, model.predict_proba(X_test)[:, 1]
    )
    label = f"{name} ({len(model.estimators_)})"
    ax.step(
        recall,
        precision,
        color=colour,
        linestyle=style,
        where="post",
        label=label,
    )
ax.set(xlabel="recall of the rare class", ylabel="precision", ylim=(0, 1.02))
ax.set_title("One positive row in twenty")
ax.legend(loc="lower left")
plt.show()
