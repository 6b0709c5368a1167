"""Ensembles of every kind against their members' own words; budgets against every size."""

import pickle
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from secateurs import VoteStore, collect_votes, make_pruner, prune
from secateurs.exceptions import BudgetError

METHODS = ("comep", "re", "oo", "drep", "oep", "kp", "best", "es")  # nested, and quick
KINDS = ("forest", "extra", "bagging", "voting", "boosting", "pipeline", "search", "list", "dict")


def differing(rng, labels, folder):
    """Return what is wrong with an ensemble that learns some labels, or None."""
    kind, n_rows = str(rng.choice(KINDS)), int(rng.choice([40, 63, 64, 65, 128, 129]))
    n_classes = min(len(labels), 8)
    codes = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, 4)) + 0.8 * codes[:, None] * rng.normal(size=4)
    y = labels[codes]
    if n_classes < 2:  # classifiers cannot be fitted to one class
        return None
    model = _fit(rng, kind, X, y)
    rows = _held(rng, X + rng.normal(scale=0.3, size=X.shape))
    expected = _said(model, np.asarray(rows))
    options = {"n_jobs": 2} if rng.random() < 0.1 else {}
    found = collect_votes(model, rows, **options)
    told = f"{kind} with labels of {labels.dtype}"
    if found.shape != expected.shape or not (found == expected).all():
        return f"{told}: members vote otherwise than they predict"
    store = collect_votes(model, rows, store=folder / "collected", y=y)
    stored = VoteStore.open(store.path).load()
    if not (stored.classes[stored.codes(range(stored.n_members)).T] == expected).all():
        return f"{told}: a store holds other votes"
    asked = Asked(model, rows, y, str(rng.choice(METHODS)))
    fault = _sizes(rng, asked, expected) or _tolerance(rng, asked)
    return None if fault is None else f"{told}, {asked.name}: {fault}"


class Asked(NamedTuple):
    """What is pruned, on which rows, and how."""

    model: object
    rows: object
    y: object
    name: str

    def prune(self, **options):
        return prune(self.model, self.rows, self.y, self.name, **options)

    def n_kept(self, **options):
        """Return the number of members kept, 0 if not even one may be."""
        try:
            return len(self.prune(**options).member_indices)
        except BudgetError:
            return 0


def _fit(rng, kind, X, y):
    seed, n = int(rng.integers(1000)), int(rng.integers(2, 9))
    tree = DecisionTreeClassifier(max_depth=int(rng.integers(1, 6)), random_state=seed)
    near = KNeighborsClassifier(3)
    named = [("tree", tree), ("bayes", GaussianNB()), ("near", near), ("line", _line())]
    forest = RandomForestClassifier(n, max_depth=4, random_state=seed)
    models = {
        "forest": forest,
        "extra": ExtraTreesClassifier(n, random_state=seed),
        "bagging": BaggingClassifier(
            (tree, near, _line(), make_pipeline(StandardScaler(), tree))[rng.integers(4)],
            n,
            max_features=float(rng.choice([0.5, 1.0])),
            bootstrap_features=bool(rng.integers(2)),
            random_state=seed,
        ),
        "voting": VotingClassifier(
            named,
            voting=str(rng.choice(["hard", "soft"])),
            weights=[None, [1, 2, 3, 4]][rng.integers(2)],
        ),
        "boosting": AdaBoostClassifier(tree, n_estimators=n, random_state=seed),
        "pipeline": make_pipeline(StandardScaler(), forest),
        "search": GridSearchCV(forest, {"max_depth": [3]}, cv=2),
    }
    if kind in models:
        return models[kind].fit(X, y)
    fitted = {name: member.fit(X, y) for name, member in named}
    return fitted if kind == "dict" else list(fitted.values())


def _line():
    return LogisticRegression(max_iter=300)


def _held(rng, X):
    ways = (X, np.asfortranarray(X), X.astype(np.float32), pd.DataFrame(X).to_numpy())
    return ways[rng.integers(len(ways))]


def _said(model, X):
    """Return what each member predicts by itself, as labels, one column each."""
    if isinstance(model, (list, dict)):
        members = model.values() if isinstance(model, dict) else model
        return np.stack([member.predict(X) for member in members], axis=1)
    if isinstance(model, GridSearchCV):
        return _said(model.best_estimator_, X)
    if hasattr(model, "steps"):
        return _said(model[-1], model[:-1].transform(X))
    answers = []
    for number, member in enumerate(model.estimators_):
        seen = X
        if hasattr(model, "estimators_features_"):
            seen = X[:, model.estimators_features_[number]]
        answer = member.predict(seen)
        if not isinstance(model, AdaBoostClassifier):  # whose members answer with labels
            answer = model.classes_[answer.astype(int)]
        answers.append(answer)
    return np.stack(answers, axis=1)


def _sizes(rng, asked, votes):
    """Prune to sizes and by budgets: each is met, and the next size would not meet it."""
    n = votes.shape[1]
    order = make_pruner(asked.name, keep=n).fit(votes, asked.y).member_indices_.tolist()
    keep = int(rng.integers(1, n + 1))
    kept = asked.prune(keep=keep)
    if kept.member_indices.tolist() != order[:keep]:
        return f"keep={keep} gives {kept.member_indices}, not {order[:keep]}"
    served = kept.members if isinstance(kept.ensemble.model, (list, dict)) else kept.estimator
    if not (_said(served, np.asarray(asked.rows)) == votes[:, sorted(order[:keep])]).all():
        return "the pruned ensemble has other members"
    if asked.n_kept(keep=keep / n) != keep:
        return f"keep={keep / n} of {n} is not {keep}"
    cost = rng.integers(1, 5, size=n)
    limit = float(rng.integers(0, cost.sum() + 2))
    if (asked.n_kept(cost=cost, max_cost=limit) > 0) != (cost.min() <= limit):
        return f"a total cost of {limit} finds a set or none, unlike the costs {cost}"
    if cost.min() <= limit:
        found = asked.prune(cost=cost, max_cost=limit).member_indices
        if cost[found].sum() > limit:
            return f"a total cost of {limit} keeps {found}, which cost {cost[found]}"
    pruned = [asked.prune(keep=size).estimator for size in range(1, n + 1)]
    costs = [len(pickle.dumps(small)) for small in pruned]
    limit = int(rng.integers(costs[0] // 2, costs[-1] + 2))
    found, expected = asked.n_kept(max_bytes=limit), _largest(costs, limit)
    return None if found == expected else f"{limit} bytes keep {found}, not {expected} of {costs}"


def _largest(costs, limit):
    """Return the largest size that costs no more; 0 if none does."""
    return max((size for size, cost in enumerate(costs, 1) if cost <= limit), default=0)


def _tolerance(rng, asked):
    """Allow more and more: never are more members kept, and in the end one."""
    seed, limits = int(rng.integers(1000)), (0.0, 0.02, 0.2, 1.0)
    sizes = [asked.n_kept(tolerance=limit, random_state=seed) for limit in limits]
    is_right = sizes == sorted(sizes, reverse=True) and sizes[-1] == 1
    return None if is_right else f"tolerances {limits} keep {sizes}"
