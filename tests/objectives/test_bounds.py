"""Upper bound on TDAS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import cases_with_keep, plain
from secateurs import Votes
from secateurs.objectives import TDAS, bounds
from secateurs.search import greedy_forward


@given(
    cases_with_keep(most_members=6, most_samples=20),
    st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
    st.sampled_from([0, bounds._MOST_MATRIX_MEMBERS]),
)
def test_no_set_exceeds_the_bound(drawn, weight, most_matrix_members):
    case, keep = drawn
    best = naive.best_tdas(case.votes, case.y, keep, weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "_MOST_MATRIX_MEMBERS", most_matrix_members)
        objective = TDAS(Votes.encode(case.votes, case.y), weight)
        bound = bounds.upper_bound(objective, keep, reached=0.0)
        assert bound >= best
        assert bounds.upper_bound(objective, keep, reached=best) >= best


@pytest.mark.parametrize("weight", [0.5, 0.8])
@pytest.mark.parametrize("keep", [5, 20])
def test_relaxation_tightens_the_bound(weight, keep):
    case = plain(n_members=60, n_classes=3)
    objective = TDAS(Votes.encode(case.votes, case.y), weight)
    reached = greedy_forward(TDAS(Votes.encode(case.votes, case.y), weight), keep, [0]).scores[-1]
    simple = bounds._sum_of_largest(bounds._row_contributions(objective, keep), keep)
    bound = bounds.upper_bound(objective, keep, reached)
    assert reached <= bound < simple
    assert reached / bound > 0.95


def test_the_full_ensemble_reaches_the_bound():
    case = plain(n_members=12)
    objective = TDAS(Votes.encode(case.votes, case.y), 0.5)
    total = objective.value_of(range(12))
    assert bounds.upper_bound(objective, 12, total) == pytest.approx(total, rel=1e-9)


def test_a_single_member_has_the_bound_zero():
    objective = TDAS(Votes.encode([[0, 1], [1, 1]], [0, 1]), 0.5)
    assert bounds.upper_bound(objective, 1, 0.0) == 0
    assert np.isfinite(bounds.upper_bound(objective, 2, 0.0))
