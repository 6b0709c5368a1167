"""Scores of all panels and of changed panels, compared with votes counted in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateurs import Predictions, Votes
from secateurs.objectives.panel_scores import AccuracyPanels, SquaredErrorPanels


@st.composite
def weighted_votes(draw):
    n_members, n_classes = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    n_samples = draw(st.integers(1, 12))
    label = st.integers(0, n_classes - 1)
    rows = st.lists(label, min_size=n_members, max_size=n_members)
    votes = draw(st.lists(rows, min_size=n_samples, max_size=n_samples))
    y = draw(st.lists(label, min_size=n_samples, max_size=n_samples))
    weights = draw(st.lists(st.integers(1, 5), min_size=n_members, max_size=n_members))
    return np.array(votes), np.array(y), np.array(weights, dtype=float), n_classes


def n_correct(votes, y, members, weights, n_classes):
    total = 0
    for row, label in zip(votes, y, strict=True):
        counts = [sum(weights[m] for m in members if row[m] == c) for c in range(n_classes)]
        total += counts.index(max(counts)) == label
    return total


def members_of(mask, n_members):
    return [m for m in range(n_members) if mask >> m & 1]


@given(weighted_votes(), st.booleans())
def test_all_panels_are_counted_with_and_without_weights(drawn, is_weighted):
    votes, y, weights, n_classes = drawn
    n_members = votes.shape[1]
    given_weights = weights if is_weighted else np.ones(n_members)
    panels = AccuracyPanels(Votes.encode(votes, y), given_weights)
    scores = panels.score_all()
    for mask in range(1, 1 << n_members):
        members = members_of(mask, n_members)
        assert scores[mask] == n_correct(votes, y, members, given_weights, n_classes)


@given(weighted_votes(), st.integers(0, 31))
def test_changed_panels_have_the_scores_of_all_panels(drawn, start):
    votes, y, _, _ = drawn
    n_members = votes.shape[1]
    mask = np.array([bool(start >> m & 1) for m in range(n_members)])
    for panels in (
        AccuracyPanels(Votes.encode(votes, y)),
        SquaredErrorPanels(Votes.encode(votes, y)),
    ):
        scores = panels.score_all()
        outside, inside = np.flatnonzero(~mask), np.flatnonzero(mask)
        for added in (*outside, -1):
            for dropped in (*inside, -1):
                after = mask.copy()
                if added >= 0:
                    after[added] = True
                if dropped >= 0:
                    after[dropped] = False
                if after.any():
                    found = panels.score_changes(mask, np.array([added]), np.array([dropped]))
                    expected = scores[(after * 2 ** np.arange(n_members)).sum()]
                    assert found[0] == pytest.approx(expected)


def test_weights_with_fractions_and_probabilities_do_not_overflow():
    table = np.zeros((4, 3, 2))
    table[:, :, 0] = [[0.9, 0.2, 0.6], [0.1, 0.9, 0.4], [0.5, 0.5, 0.1], [1, 0, 0]]
    table[:, :, 1] = 1 - table[:, :, 0]
    weights = np.array([0.3, 123.4, 50.5])
    encoded = Predictions.encode(table, [0, 1, 1, 0])
    scores = AccuracyPanels(encoded, weights).score_all()
    for mask in range(1, 8):
        members = members_of(mask, 3)
        labels = encoded.average(members, weights[members]).argmax(axis=1)
        assert scores[mask] == (labels == [0, 1, 1, 0]).sum()


def test_the_squared_error_is_that_of_the_average():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20)
    values = np.round(y[:, None] + rng.normal(size=(20, 4)), 3)
    scores = SquaredErrorPanels(Predictions.encode(values, y)).score_all()
    for mask in range(1, 16):
        members = members_of(mask, 4)
        error = np.mean((values[:, members].mean(axis=1) - y) ** 2)
        ratio = scores[mask] / scores[1]
        first = np.mean((values[:, 0] - y) ** 2)
        assert ratio == pytest.approx(error / first, rel=1e-5)


def test_a_bound_without_affordable_panels_is_zero():
    panels = AccuracyPanels(Votes.encode([[0, 1], [1, 1]], [0, 1]))
    assert panels.upper_bound(np.array([2.0, 3.0]), 1.0, 1) == 0
    assert panels.upper_bound(np.array([2.0, 3.0]), 4.0, 2) == 0
