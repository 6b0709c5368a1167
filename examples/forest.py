"""A random forest of 300 trees becomes one of 30: fit, prune, compare, save."""

import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import secateurs

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
X_choose, X_test, y_choose, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

forest = RandomForestClassifier(300, random_state=0).fit(X_fit, y_fit)
pruning = secateurs.prune(forest, X_choose, y_choose, keep=30, diversity_weight="auto")
print(pruning)
print(pruning.summary(X_test, y_test).round(4))

# Instead of a size, say what you can afford: half a point of accuracy, or a megabyte.
for budget in ({"tolerance": 0.005}, {"max_bytes": 1_000_000}):
    smaller = secateurs.prune(forest, X_choose, y_choose, random_state=0, **budget)
    print(budget, "keeps", len(smaller.member_indices), "trees")

with tempfile.TemporaryDirectory() as folder:
    path = pruning.save(Path(folder) / "small.skops")
    again = secateurs.load(path)  # a plain RandomForestClassifier
    assert (again.predict(X_test) == pruning.estimator.predict(X_test)).all()
    print("saved and loaded:", again)
