"""No rows to spare? Prune by votes on the rows that each tree did not see in training."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import COMEP, PrunedClassifier, prune

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

forest = RandomForestClassifier(200, random_state=0).fit(X_fit, y_fit)
pruning = prune(forest, X_fit, y_fit, keep=20, oob=True)  # the very rows it was trained on
print(f"200 trees: {forest.score(X_test, y_test):.4f}")
print(f"20 by out-of-bag votes: {pruning.estimator.score(X_test, y_test):.4f}")

# The same in one estimator, for pipelines and cross-validation.
pruned = PrunedClassifier(RandomForestClassifier(200, random_state=0), COMEP(20), validation="oob")
print(f"fitted and pruned at once: {pruned.fit(X_fit, y_fit).score(X_test, y_test):.4f}")
