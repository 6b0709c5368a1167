"""Scores to test on: tiny, awkward, with gaps, exact in fixed point."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from secateurs import Predictions, Votes

KINDS = ("labels", "probabilities", "numbers")


class ScoreCase(NamedTuple):
    kind: str
    outputs: list  # samples, members, components of fractions; None where missing
    truth: list  # vectors
    given: object  # Votes or Predictions, with the truth
    table: object  # the same as an array, masked where values are missing
    y: list

    @property
    def n_members(self):
        return len(self.outputs[0])


def predicted(rng, kind, n_samples, n_classes):
    """What one member predicts, in steps of 1/16: (samples, classes), or numbers."""
    if kind == "numbers":
        return rng.integers(-40, 40, n_samples) / 16
    labels = np.eye(n_classes)[rng.integers(n_classes, size=n_samples)]
    if kind == "labels":
        return labels
    cuts = np.sort(rng.integers(0, 17, (n_samples, n_classes - 1)), axis=1)
    edges = np.hstack([np.zeros((n_samples, 1)), cuts, np.full((n_samples, 1), 16)])
    return np.diff(edges) / 16


def make_scores(seed, kind, n_members, n_samples, n_classes=2, *, share_missing=0.0, scale=1.0):
    """Random members, some of them copies, and one that is always right now and then."""
    rng = np.random.default_rng(seed)
    members = [predicted(rng, kind, n_samples, n_classes) for _ in range(n_members)]
    truth = predicted(rng, "labels" if kind == "probabilities" else kind, n_samples, n_classes)
    for member in range(n_members):
        draw = rng.random()
        if draw < 0.15:
            members[member] = members[rng.integers(n_members)]
        elif draw < 0.25:
            members[member] = truth
    table = np.stack(members, axis=1) * scale
    truth = truth * scale
    mask = rng.random((n_samples, n_members)) < share_missing
    mask[rng.integers(n_samples, size=n_members), np.arange(n_members)] = False
    outputs = [
        [
            None if mask[n, t] else [Fraction(float(v)) for v in np.atleast_1d(table[n, t])]
            for t in range(n_members)
        ]
        for n in range(n_samples)
    ]
    y = truth.tolist() if kind == "numbers" else truth.argmax(axis=1).tolist()
    vectors = [[Fraction(float(v)) for v in np.atleast_1d(t)] for t in truth]
    if kind == "labels":
        table = table.argmax(axis=2)
    elif kind == "probabilities":
        mask = np.repeat(mask[..., None], n_classes, axis=2)
    masked = np.ma.array(table, mask=mask) if mask.any() else table
    given = (Votes if kind == "labels" else Predictions).encode(masked, y)
    return ScoreCase(kind, outputs, vectors, given, masked, y)


@st.composite
def score_cases(draw, kinds=KINDS, most_members=6, most_samples=12):
    """Small scores of all kinds, with and without gaps; numbers also very small and large."""
    kind = draw(st.sampled_from(kinds))
    return make_scores(
        draw(st.integers(0, 2**32 - 1)),
        kind,
        draw(st.integers(1, most_members)),
        draw(st.integers(1, most_samples)),
        draw(st.sampled_from([2, 2, 3, 5])),
        share_missing=draw(st.sampled_from([0.0, 0.0, 0.2, 0.6])),
        scale=2.0 ** draw(st.integers(-60, 60)) if kind == "numbers" else 1.0,
    )


@st.composite
def score_cases_with_keep(draw, **limits):
    case = draw(score_cases(**limits))
    return case, draw(st.integers(1, case.n_members))
