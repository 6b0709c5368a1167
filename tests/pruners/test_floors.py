"""Early stopping, random members and best members."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import cases_with_keep
from secateurs import BestMembersPruner, EarlyStoppingPruner, RandomPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_early_stopping_keeps_the_first(drawn):
    case, keep = drawn
    pruner = EarlyStoppingPruner(keep).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.early_stopping(case.n_members, keep)


@given(cases_with_keep())
def test_best_members_are_right_most_often(drawn):
    case, keep = drawn
    pruner = BestMembersPruner(keep).fit(case.votes, case.y)
    expected = naive.best_members(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == expected
    right = [1 - naive.errors(case.votes, case.y, [t]) / len(case.y) for t in expected]
    assert pruner.scores_ == pytest.approx(right)


@given(cases_with_keep(), st.integers(0, 2**31))
def test_random_members_are_drawn_from_the_seed(drawn, seed):
    case, keep = drawn
    pruner = RandomPruner(keep, seed).fit(case.votes, case.y)
    rng = np.random.RandomState(seed)
    assert pruner.member_indices_.tolist() == naive.random_members(case.n_members, keep, rng)
    assert len(set(pruner.member_indices_)) == keep
