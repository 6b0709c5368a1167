"""How many members, and how much weight for diversity: a grid search over both."""

from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, train_test_split

from secateurs import COMEP, PrunedClassifier, collect_votes

X, y = load_digits(return_X_y=True)
X_fit, X_choose, y_fit, y_choose = train_test_split(X, y, test_size=0.4, random_state=0)
trees = ExtraTreesClassifier(100, random_state=0).fit(X_fit, y_fit)

# On votes alone: quick, since the members are asked only once.
grid = {"keep": [5, 10, 20], "diversity_weight": [0.1, 0.3, 0.5, 0.9]}
votes = collect_votes(trees, X_choose)
search = GridSearchCV(COMEP(), grid, cv=5).fit(votes, y_choose)
print("best on votes:", search.best_params_, f"accuracy {search.best_score_:.4f}")

# As a classifier, with any of scikit-learn's scores; a frozen ensemble is not fitted again.
pruned = PrunedClassifier(FrozenEstimator(trees), COMEP())
named = {f"pruner__{name}": values for name, values in grid.items()}
search = GridSearchCV(pruned, named, cv=3, scoring="neg_log_loss").fit(X_choose, y_choose)
print("best by log loss:", search.best_params_)
