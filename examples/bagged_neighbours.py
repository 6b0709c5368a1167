"""Bagged nearest neighbours, each on half the features: pruned by three methods."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateurs import prune

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
X_choose, X_test, y_choose, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

bagging = BaggingClassifier(KNeighborsClassifier(), 60, max_features=0.5, random_state=0)
model = make_pipeline(StandardScaler(), bagging).fit(X_fit, y_fit)
print(f"all 60 members: {model.score(X_test, y_test):.4f}")
for method in ("comep", "re", "oo"):
    small = prune(model, X_choose, y_choose, method, keep=9).estimator  # a Pipeline again
    print(f"9 by {method}: {small.score(X_test, y_test):.4f}")
