"""
Rare classes and a suitable score
=================================

If one sample in twenty is positive, a model that always predicts the negative
class is right on the other nineteen. Accuracy hardly depends on the rare
class. This example prunes for a score that does, and compares the effect of
each selection on several scores.
"""

# %%
# A forest for a rare class
# -------------------------
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, y = make_classification(
    4000, n_informative=6, weights=[0.95], random_state=1
)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, stratify=y, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)
print(f"{y_test.mean():.1%} of the test samples are positive")

# %%
# The number of trees depends on the score
# ----------------------------------------
#
# By default, ``prune`` keeps the fewest trees whose score is within 0.005 of
# the score of the full forest. ``scoring`` sets this score, which can be any
# scikit-learn scorer. Average precision measures how well the predicted
# probabilities rank the rare samples first.
import pandas as pd
from sklearn.metrics import average_precision_score, balanced_accuracy_score

from secateurs import prune

ensemble_and_data = forest, X_val, y_val
for_accuracy = prune(
    *ensemble_and_data, "joint", scoring="accuracy", random_state=0
)
for_precision = prune(
    *ensemble_and_data, "joint", scoring="average_precision", random_state=0
)


def evaluate(model):
    """Return the size and the scores of a model on the test set."""
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
    "full forest": forest,
    "pruned for accuracy": for_accuracy.estimator,
    "pruned for average precision": for_precision.estimator,
}
pd.DataFrame(
    {name: evaluate(model) for name, model in models.items()}
).T.round(3)

# %%
# A method that maximises the score
# ---------------------------------
#
# Ensemble selection selects trees, and weights for them, by the score itself.
# Here it may keep ten trees, once for accuracy and once for balanced accuracy,
# the mean of the recall of the two classes. The test set shows whether the
# improvement generalises.
selections = {
    f"up to ten trees for {score}": prune(
        *ensemble_and_data, "caruana", keep=10, scoring=score
    ).estimator
    for score in ("accuracy", "balanced_accuracy")
}
pd.DataFrame(
    {name: evaluate(model) for name, model in selections.items()}
).T.round(3)

# %%
# Where the dashed line is below the others, pruning lost precision that
# accuracy does not measure.
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
ax.set_title("One positive sample in twenty")
ax.legend(loc="lower left")
plt.show()
