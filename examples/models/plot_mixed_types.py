"""
A pipeline with categories and missing values
=============================================

Real tables have columns of text and holes. They go through a pipeline, and
what is pruned sits at its end. This example prunes such a pipeline after it
was fitted, and then lets grid search decide how many trees a pruned pipeline
should have.
"""

# %%
# A table with text and holes
# ---------------------------
#
# Made from numbers: three columns are cut into words, and one entry in ten is
# removed.
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

numbers, y = make_classification(
    1500,
    n_features=10,
    n_informative=6,
    n_redundant=0,
    class_sep=0.8,
    random_state=0,
)
table = pd.DataFrame(numbers, columns=[f"x{column}" for column in range(10)])
words = ["low", "middle", "high"]
for column in ("x0", "x3", "x6"):
    table[column] = pd.qcut(table[column], 3, labels=words).astype(object)
rng = np.random.default_rng(0)
table = table.mask(rng.random(table.shape) < 0.1)
table.head()

# %%
# Prune the fitted pipeline
# -------------------------
#
# ``prune`` takes the pipeline as it is, and the table as it is. What comes out
# is a pipeline with the same steps in front and fewer trees at its end.
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from secateurs import prune

X_fit, X_rest, y_fit, y_rest = train_test_split(
    table, y, test_size=0.5, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
columns = make_column_transformer(
    (
        OneHotEncoder(handle_unknown="ignore"),
        make_column_selector(dtype_include=object),
    ),
    remainder=SimpleImputer(add_indicator=True),
)
pipeline = make_pipeline(
    columns, RandomForestClassifier(100, random_state=0)
).fit(X_fit, y_fit)
pruning = prune(pipeline, X_choose, y_choose, "joint", keep=30)
print(f"100 trees: {pipeline.score(X_test, y_test):.4f}")
print(f" 30 trees: {pruning.estimator.score(X_test, y_test):.4f}")
pruning.estimator

# %%
# Prune inside the pipeline
# -------------------------
#
# ``PrunedClassifier`` fits a forest and prunes it in one step, here by
# out-of-bag votes, so that no rows are set aside. Its parameters can be
# searched like any others.
from sklearn.model_selection import GridSearchCV

from secateurs import JointErrorPruner, PrunedClassifier

pruned = PrunedClassifier(
    RandomForestClassifier(50, random_state=0),
    JointErrorPruner(),
    validation="oob",
)
search = GridSearchCV(
    make_pipeline(columns, pruned),
    {"prunedclassifier__pruner__keep": [2, 5, 12, 30]},
    cv=3,
).fit(pd.concat([X_fit, X_choose]), np.concatenate([y_fit, y_choose]))
print(f"best by cross-validation: {search.best_params_}")
print(f"accuracy on test rows: {search.score(X_test, y_test):.4f}")

# %%
# The standard error over the folds tells which sizes cross-validation can tell
# apart.
import matplotlib.pyplot as plt

results = pd.DataFrame(search.cv_results_)
sizes = results["param_prunedclassifier__pruner__keep"].astype(int)
_, ax = plt.subplots(layout="constrained")
ax.errorbar(
    *(
        sizes,
        results["mean_test_score"],
        results["std_test_score"] / np.sqrt(search.n_splits_),
    ),
    fmt="o-",
    color="#0072b2",
    capsize=3,
    label="three folds, with standard error",
)
taken = search.best_params_["prunedclassifier__pruner__keep"]
ax.plot(
    taken, search.best_score_, "D", color="#d55e00", label="taken", zorder=3
)
ax.set(
    xscale="log",
    xlabel="trees kept of 50",
    ylabel="accuracy by cross-validation",
)
ax.set_xticks(sizes, labels=sizes)
ax.minorticks_off()
ax.set_title("Grid search over the size of a pruned pipeline")
ax.legend(loc="lower right")
plt.show()
