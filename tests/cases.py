"""Votes to test on: random, tiny and awkward."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

KINDS = ("noisy", "noisy", "random", "constant", "copy", "perfect", "wrong")


class Case(NamedTuple):
    votes: list
    y: list

    @property
    def n_members(self):
        return len(self.votes[0])


def transpose(rows):
    return [list(row) for row in zip(*rows)]


def from_wrong(y, wrong):
    """Two-class votes from the samples that each member gets wrong."""
    return Case(
        [[label ^ (n in samples) for samples in wrong] for n, label in enumerate(y)], list(y)
    )


E1 = from_wrong(
    [0] * 5 + [1] * 5, [{4, 8, 9}, {3, 7, 9}, {2, 6, 9}, {0, 5}, {4, 8}, {0, 1, 3, 5, 6}]
)
E2 = Case(
    transpose(
        [
            [int(c) for c in row]
            for row in ["001112220", "010101202", "200111122", "000211221", "102011022"]
        ]
    ),
    [int(c) for c in "000111222"],
)
D1 = Case(transpose([[0, 0, 1, 0]] * 3), [0, 0, 1, 1])  # identical members
D2 = Case(transpose([[0, 0, 1, 1]] * 3), [0, 0, 1, 1])  # all right
D3 = Case(transpose([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]), [0] * 4)  # one class in y
NAMED = {"E1": E1, "E2": E2, "D1": D1, "D2": D2, "D3": D3}


def make(seed, n_samples, n_classes, kinds, labels=None):
    """Votes of members of the given kinds, with true labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    columns = []
    for kind in kinds:
        guess = rng.integers(n_classes, size=n_samples)
        if kind == "noisy":
            guess = np.where(rng.random(n_samples) < rng.uniform(0.3, 0.95), y, guess)
        elif kind == "constant":
            guess = np.full(n_samples, rng.integers(n_classes))
        elif kind == "copy" and columns:
            guess = columns[rng.integers(len(columns))]
        elif kind == "perfect":
            guess = y
        elif kind == "wrong":
            guess = (y + rng.integers(1, max(2, n_classes), size=n_samples)) % n_classes
        columns.append(guess)
    names = np.array(labels) if labels else np.arange(n_classes)
    return Case(names[np.stack(columns, axis=1)].tolist(), names[y].tolist())


@st.composite
def cases(draw, most_members=7, most_samples=70, classes=(1, 2, 2, 3, 7, 40)):
    """Small votes of all kinds; lengths around the borders of a word come up often."""
    n_members = draw(st.integers(1, most_members))
    around = [n for n in (1, 2, 3, 63, 64, 65) if n <= most_samples]
    n_samples = draw(st.one_of(st.sampled_from(around), st.integers(1, most_samples)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=n_members, max_size=n_members))
    n_classes = draw(st.sampled_from(classes))
    return make(draw(st.integers(0, 2**32 - 1)), n_samples, n_classes, kinds)


@st.composite
def cases_with_keep(draw, **limits):
    case = draw(cases(**limits))
    return case, draw(st.integers(1, case.n_members))


def plain(n_members=30, n_samples=400, n_classes=2, seed=0):
    """Ordinary votes, on which ties are not to be expected."""
    return make(seed, n_samples, n_classes, ["noisy"] * n_members)
