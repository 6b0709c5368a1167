"""The size rule: the smallest size within all tolerances, compared with a slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateurs.evaluation.tolerance import (
    STEADY_SHARE,
    ToleratedLoss,
    smallest_tolerated_size,
)

SCORES = st.lists(st.integers(0, 20), min_size=1, max_size=12)


def naive_size(curves, tolerances, relative_to, share):
    """Return the smallest size for which all scores and most larger sizes are within tolerance."""
    n_sizes = len(curves[0])
    ends = []
    for scores in curves:
        best = max(scores)
        is_better = relative_to == "best" and best > scores[-1]
        ends.append(scores.index(best) if is_better else n_sizes - 1)

    def is_good(size):
        limits = zip(curves, tolerances, ends, strict=True)
        return all(scores[size] >= scores[end] - tolerance for scores, tolerance, end in limits)

    last = max(ends)
    for size in range(last + 1):
        larger = [is_good(other) for other in range(size, last + 1)]
        if larger[0] and sum(larger) >= share * len(larger) - 1e-12:
            return size + 1
    return None


@given(SCORES, st.integers(0, 8), st.sampled_from(["best", "full"]), st.sampled_from([0.9, 1.0]))
def test_one_score_is_within_its_tolerance(scores, tolerance, relative_to, share):
    limit = ToleratedLoss("accuracy", np.array(scores, dtype=float), tolerance)
    sizes = np.arange(1, len(scores) + 1)
    found = smallest_tolerated_size(sizes, [limit], share, relative_to)
    assert found.size == naive_size([scores], [tolerance], relative_to, share)
    assert found.decided_by == ""


@given(st.data(), st.integers(2, 3), st.sampled_from(["best", "full"]))
def test_several_scores_are_within_all_tolerances(data, n_scores, relative_to):
    n_sizes = data.draw(st.integers(1, 8))
    curves = [
        data.draw(st.lists(st.integers(0, 9), min_size=n_sizes, max_size=n_sizes))
        for _ in range(n_scores)
    ]
    tolerances = [data.draw(st.integers(0, 4)) for _ in range(n_scores)]
    limits = [
        ToleratedLoss(str(index), np.array(scores, dtype=float), tolerance)
        for index, (scores, tolerance) in enumerate(zip(curves, tolerances, strict=True))
    ]
    found = smallest_tolerated_size(np.arange(1, n_sizes + 1), limits, STEADY_SHARE, relative_to)
    expected = naive_size(curves, tolerances, relative_to, STEADY_SHARE)
    assert (found and found.size) == expected
    if relative_to == "full":
        assert found is not None  # the full ensemble is within every tolerance of itself


def test_the_score_that_needs_the_most_members_decides():
    sizes = np.arange(1, 6)
    early = ToleratedLoss("accuracy", np.array([0.9, 0.9, 0.9, 0.9, 0.9]), 0.01)
    late = ToleratedLoss("roc_auc", np.array([0.5, 0.6, 0.7, 0.95, 0.95]), 0.01)
    found = smallest_tolerated_size(sizes, [early, late])
    assert (found.size, found.decided_by) == (4, "roc_auc")


def test_the_best_size_is_the_reference_and_larger_sizes_do_not_count():
    scores = np.array([0.5, 0.8, 0.9, 0.6, 0.55])
    limit = ToleratedLoss("r2", scores, 0.1)
    best = smallest_tolerated_size(np.arange(1, 6), [limit], relative_to="best")
    assert (best.size, best.reference_size) == (2, 3)
    full = smallest_tolerated_size(np.arange(1, 6), [limit], relative_to="full")
    assert (full.size, full.reference_size) == (1, 5)


def test_the_least_tolerance_that_leaves_members_out_is_known():
    limit = ToleratedLoss("accuracy", np.array([0.5, 0.75, 1.0]), 0.125)
    found = smallest_tolerated_size(np.arange(1, 4), [limit])
    assert (found.size, found.least_tolerance) == (3, 0.25)
    assert smallest_tolerated_size(np.arange(1, 2), [limit._replace(scores=np.ones(1))]).size == 1


@pytest.mark.parametrize("relative_to", ["best", "full"])
def test_scores_that_conflict_have_no_size(relative_to):
    falling = ToleratedLoss("a", np.array([0.9, 0.5, 0.1]), 0.1)
    rising = ToleratedLoss("b", np.array([0.1, 0.5, 0.9]), 0.1)
    found = smallest_tolerated_size(np.arange(1, 4), [falling, rising], relative_to=relative_to)
    assert (found is None) == (relative_to == "best")
