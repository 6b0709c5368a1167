"""SEP."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import E1, cases, cases_with_keep, plain
from secateurs import SEP
from secateurs.pruners.random_search import resolve_iterations

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

ROUNDS, SEEDS = st.integers(0, 25), st.integers(0, 2**31)


@given(cases(most_samples=30), ROUNDS, SEEDS)
def test_searches_as_the_paper_does(case, rounds, seed):
    pruner = SEP(n_iterations=rounds, random_state=seed).fit(case.votes, case.y)
    expected = naive.sep(case.votes, case.y, rounds, np.random.RandomState(seed))
    assert pruner.member_indices_.tolist() == expected
    errors = naive.expected_errors(case.votes, case.y, expected)
    assert pruner.objective_ == pytest.approx(float(errors) / len(case.y))


@given(cases_with_keep(most_samples=30), ROUNDS, SEEDS)
def test_keeps_no_more_than_asked_for(drawn, rounds, seed):
    case, keep = drawn
    pruner = SEP(keep, rounds, seed).fit(case.votes, case.y)
    expected = naive.sep(case.votes, case.y, rounds, np.random.RandomState(seed), keep)
    assert pruner.member_indices_.tolist() == expected
    assert 1 <= len(expected) <= keep


BUDGETS = [(1, 0), (5, 40), (6, 65), (100, 46052), (103, 49170), (104, 50000), (500, 50000)]


@pytest.mark.parametrize(("n_members", "rounds"), BUDGETS)
def test_the_budget_grows_with_the_ensemble_up_to_a_cap(n_members, rounds):
    assert resolve_iterations("auto", n_members) == rounds == naive.auto_iterations(n_members)


def test_the_automatic_budget_finds_the_optimum_of_a_tiny_set():
    pruner = SEP(random_state=0).fit(E1.votes, E1.y)
    assert pruner.n_iter_ == 65
    assert pruner.objective_ == 0


def test_more_rounds_are_never_worse():
    case = plain()
    errors = [
        SEP(n_iterations=rounds, random_state=0).fit(case.votes, case.y).objective_
        for rounds in (0, 10, 100, 1000)
    ]
    assert errors == sorted(errors, reverse=True)
