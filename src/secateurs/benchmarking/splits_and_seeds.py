"""The evaluation protocol: splits into training, validation and test set, and derived seeds.

Each class is shuffled and divided into as many blocks as there are folds. For fold i, block i is
the test set and block i + 1 the validation set; the other blocks and remaining samples are the
training set. For regression, all samples are treated as one class.

All random seeds are derived from names (seed, data set, ensemble, fold), so an ensemble can be
trained on its own, in any order and in any process, and is always the same.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from secateurs.typing import IndexArray

N_FOLDS = 5  # as in the paper


class SplitIndices(NamedTuple):
    """Indices of the training, validation and test samples, each in ascending order."""

    train: IndexArray
    validation: IndexArray
    test: IndexArray


def split_samples(
    y: ArrayLike, fold: int, rng: np.random.Generator, n_folds: int = N_FOLDS, by_class: bool = True
) -> SplitIndices:
    """Split samples into a training, a validation and a test set, stratified by default.

    ``rng`` shuffles the samples; pass an equal one for all folds, so that test sets do not overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from secateurs.benchmarking.splits_and_seeds import split_samples
    >>> parts = split_samples(["a"] * 12 + ["b"] * 7, 0, np.random.default_rng(0))
    >>> [len(indices) for indices in parts]  # blocks of 2 and of 1
    [13, 3, 3]
    """
    labels = np.asarray(y) if by_class else np.zeros(len(np.asarray(y)))
    held_out = {fold: "test", (fold + 1) % n_folds: "validation"}
    parts: dict[str, list[IndexArray]] = {"train": [], "validation": [], "test": []}
    for label in np.unique(labels):
        indices = rng.permutation(np.flatnonzero(labels == label))
        size = len(indices) // n_folds
        for block in range(n_folds):
            part = held_out.get(block, "train")
            parts[part].append(indices[size * block : size * (block + 1)])
        parts["train"].append(indices[size * n_folds :])
    return SplitIndices(**{name: np.sort(np.concatenate(part)) for name, part in parts.items()})


def seed_sequence(*parts: object) -> np.random.SeedSequence:
    """Return a seed sequence derived from names, the same on every machine.

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
    """Return a seed derived from names for scikit-learn: an integer below 2³¹."""
    return int(seed_sequence(*parts).generate_state(1)[0] >> 1)
