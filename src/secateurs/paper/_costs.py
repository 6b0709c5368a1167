"""About how long bags take, to begin with long ones and to tell the time left."""

import math
from collections.abc import Callable, Iterable, Mapping

from secateurs.paper._cells import Bag, Cell
from secateurs.paper._protocol import SYNTHETIC
from secateurs.paper.datasets import DATASETS

_ROUNDS = {"pep": 2.5, "sep": 0.8}  # seconds at 100 members; other methods take next to nothing
_QUICK = 0.02

# Seconds for one member, by training rows and features: orders of magnitude.
_LEARNERS: Mapping[str, Callable[[float, float], float]] = {
    "dt": lambda n, f: 1.3e-8 * n * f * math.log2(n + 1),
    "nb": lambda n, f: 1e-8 * n * f,
    "knn": lambda n, f: 1e-6 * n * f,
    "knn-distance": lambda n, f: 1e-6 * n * f,
    "lm": lambda n, f: 1e-8 * n * f**2,
    "svm-linear": lambda n, f: 1e-6 * n * f,
    "svm-rbf": lambda n, f: 1e-8 * n**2 * (1 + f / 20),
    SYNTHETIC: lambda n, f: 1e-8 * n,
}


def cost(bag: Bag, cells: Iterable[Cell]) -> float:
    """Guess the seconds that a bag and its cells take."""
    known = DATASETS.get(bag.dataset)
    n_rows = (known and known.n_rows) or 1000
    n_features = (known and known.n_features) or 20
    if bag.learner == SYNTHETIC:
        n_rows = int(bag.dataset.removeprefix(f"{SYNTHETIC}-"))
    training = bag.n_members * _LEARNERS[bag.learner](0.6 * n_rows, n_features)
    pruning = sum(_ROUNDS.get(cell.method, _QUICK) for cell in cells)
    return training + pruning * (bag.n_members / 100) ** 2
