"""
Pruning a pipeline with categories and missing values
=====================================================

Real tables have text columns and missing values. A pipeline handles them, and
the ensemble is its last step. This example prunes such a pipeline after
fitting, and then uses a grid search to select the number of trees of a pruned
pipeline.
"""

# %%
# A table with text and missing values
# ------------------------------------
#
# The table is generated: three numeric columns are cut into categories, and
# one entry in ten is removed.
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

features, y = make_classification(
    1500,
    n_features=10,
    n_informative=6,
    n_redundant=0,
    class_sep=0.8,
    random_state=0,
)
table = pd.DataFrame(features, columns=[f"x{column}" for column in range(10)])
categories = ["low", "middle", "high"]
for column in ("x0", "x3", "x6"):
    table[column] = pd.qcut(table[column], 3, labels=categories).astype(object)
rng = np.random.default_rng(0)
table = table.mask(rng.random(table.shape) < 0.1)
table.head()

# %%
# Pruning the fitted pipeline
# ---------------------------
#
# ``prune`` accepts the pipeline and the table without any preparation. The
# result is a pipeline with the same preprocessing steps and fewer trees in the
# last step.
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from secateurs import prune

X_train, X_rest, y_train, y_rest = train_test_split(
    table, y, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
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
).fit(X_train, y_train)
pruning = prune(pipeline, X_val, y_val, "joint", keep=30)
print(f"100 trees: {pipeline.score(X_test, y_test):.4f}")
print(f" 30 trees: {pruning.estimator.score(X_test, y_test):.4f}")
pruning.estimator

# %%
# Pruning inside the pipeline
# ---------------------------
#
# ``PrunedClassifier`` fits a forest and prunes it in one step, here by
# out-of-bag votes, so that no validation set is needed. Its parameters can be
# searched like those of any estimator.
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
).fit(pd.concat([X_train, X_val]), np.concatenate([y_train, y_val]))
print(f"best parameters in cross-validation: {search.best_params_}")
print(f"accuracy on the test set: {search.score(X_test, y_test):.4f}")

# %%
# The standard error over the folds shows which sizes cross-validation can
# distinguish.
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
    label="mean of three folds, with standard error",
)
best_size = search.best_params_["prunedclassifier__pruner__keep"]
ax.plot(
    best_size,
    search.best_score_,
    "D",
    color="#d55e00",
    label="selected",
    zorder=3,
)
ax.set(
    xscale="log",
    xlabel="trees kept of 50",
    ylabel="cross-validated accuracy",
)
ax.set_xticks(sizes, labels=sizes)
ax.minorticks_off()
ax.set_title("Grid search for the size of a pruned pipeline")
ax.legend(loc="lower right")
plt.show()
