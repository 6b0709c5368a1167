"""The protocol: rows in folds, to train on, to choose on and to test on; seeds from names.

Each class is shuffled and cut into as many blocks as there are folds. Block i is the test part,
block i + 1 the part to choose on, and the rest, with the rows left over, trains. For numbers, all
rows are one class.

All random seeds derive from names (seed, data set, ensemble, fold), so an ensemble can be trained
alone, in any order and in any process, and is always the same.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_FOLDS = 5


class SplitIndices(NamedTuple):
    """Rows to train on, to choose on and to test on, each in ascending order."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]


def split_samples(
    y: ArrayLike,
    fold: int,
    rng: np.random.Generator,
    n_folds: int = N_FOLDS,
    by_class: bool = True,
) -> SplitIndices:
    """Split rows into three parts, class by class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels.
    fold : int
        Which of the blocks is the test part.
    rng : Generator
        Shuffles the classes; the same for all folds.
    n_folds : int, default=5
        Number of blocks.
    by_class : bool, default=True
        Whether each class is split on its own; not for numbers.

    Returns
    -------
    SplitIndices

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.benchmarking.splits_and_seeds import split_samples
    >>> parts = split_samples(["a"] * 12 + ["b"] * 7, 0, np.random.default_rng(0))
    >>> [len(rows) for rows in parts]  # blocks of 2 and of 1
    [13, 3, 3]
    """
    labels = np.asarray(y) if by_class else np.zeros(len(np.asarray(y)))
    held_out = {fold: "test", (fold + 1) % n_folds: "validation"}
    parts: dict[str, list[NDArray[np.intp]]] = {"train": [], "validation": [], "test": []}
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        size = len(rows) // n_folds
        for block in range(n_folds):
            part = held_out.get(block, "train")
            parts[part].append(rows[size * block : size * (block + 1)])
        parts["train"].append(rows[size * n_folds :])
    return SplitIndices(**{name: np.sort(np.concatenate(rows)) for name, rows in parts.items()})


def seed_sequence(*parts: object) -> np.random.SeedSequence:
    """Return a source of randomness for a name, the same on every machine and in any order.

    Examples
    --------
    >>> from secateurs.benchmarking.splits_and_seeds import seed_sequence
    >>> first, again = seed_sequence(0, "iono", "dt"), seed_sequence(0, "iono", "dt")
    >>> first.generate_state(2).tolist() == again.generate_state(2).tolist()
    True
    """
    text = "\x1f".join(map(str, parts))
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()))


def small_seed(*parts: object) -> int:
    """Return a seed for scikit-learn: an integer below 2³¹."""
    return int(seed_sequence(*parts).generate_state(1)[0] >> 1)
