"""Ties, orders and loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import cases_with_keep
from secateurs import Votes
from secateurs.objectives import TDAS
from secateurs.search import best_member, best_prefix, ranking, swap_search


def test_equal_integers_tie_and_the_lowest_index_wins():
    assert best_member(np.array([3, 7, 7])) == 1
    assert best_member(np.array([3, 7, 7]), np.array([True, False, True])) == 2


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_real_scores_tie_within_rounding(scale):
    scores = scale * np.array([0.5, 1 - 5e-13, 1.0, 1 - 5e-12])
    assert best_member(scores) == 1
    assert ranking(scores).tolist() == [1, 2, 3, 0]


def test_huge_integers_are_compared_exactly():
    scores = np.array([10**30, 10**30 + 1], dtype=object)
    assert best_member(scores) == 1
    assert ranking(scores).tolist() == [1, 0]


@given(st.lists(st.integers(-3, 3), min_size=1))
def test_rankings_put_ties_in_the_order_of_members(scores):
    expected = sorted(range(len(scores)), key=lambda member: (-scores[member], member))
    assert ranking(np.array(scores)).tolist() == expected
    assert ranking(np.array(scores, dtype=float)).tolist() == expected


def test_the_best_prefix_is_the_shortest():
    assert best_prefix([-3, -1, -2, -1]) == 2


@given(cases_with_keep(most_members=6, most_samples=30), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_the_best_swaps_are_made_until_none_helps(drawn, weight):
    case, keep = drawn
    objective = TDAS(Votes.encode(case.votes, case.y), weight)
    first = list(range(keep))
    expected = naive.swap_refine(case.votes, case.y, first, weight)
    assert swap_search(objective, first) == expected
