"""Alternatives to a pruning: COMEP at other diversity weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cases
import naive
from secateurs import COMEP, Votes
from secateurs.problem import Problem
from secateurs.report.diversity_weights import diversity_weight_grid, diversity_weight_selectors


@given(cases.cases(most_members=6, most_samples=40), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_choices_from_known_distances_are_those_of_comep(case, weight):
    with np.errstate(all="raise"):
        problem = Problem(None, Votes.encode(*case))
    for start in ("spread", "relevance", case.n_members - 1):
        pruner = COMEP(start=start)
        chosen = diversity_weight_selectors(pruner, [weight], case.n_members)[repr(weight)](problem)
        assert chosen.order == naive.comep(case.votes, case.y, case.n_members, weight, start)


@pytest.mark.parametrize("start", ["spread", "relevance", "random", 7])
@pytest.mark.parametrize("n_members", [40, 300])  # above 256 the spread start looks at a sample
@pytest.mark.filterwarnings("ignore:.*agree with y less than chance")
def test_many_members_are_chosen_as_comep_does(n_members, start):
    votes = Votes.encode(*cases.make(5, 90, 4, ["noisy"] * (n_members - 8) + ["copy"] * 8))
    pruner = COMEP(start=start, random_state=3)
    choosers = diversity_weight_selectors(pruner, [0.1, 0.5], n_members)
    for weight in (0.1, 0.5):
        alone = COMEP(n_members, weight, start, random_state=3).fit(votes)
        assert choosers[repr(weight)](Problem(None, votes)).order == alone.member_indices_.tolist()


def test_the_grid_has_twentieths_and_more():
    assert diversity_weight_grid(0.37) == sorted([*(step / 20 for step in range(21)), 0.37])
    assert diversity_weight_grid(0.5) == diversity_weight_grid()
