"""OEP."""

import pytest
from hypothesis import given

import naive
from cases import E1, E2, cases, cases_with_keep
from secateurs import OEP

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases())
def test_chooses_as_the_paper_does(case):
    pruner = OEP().fit(case.votes, case.y)
    chosen = naive.oep(case.votes, case.y)
    assert pruner.member_indices_.tolist() == chosen
    errors = [
        naive.expected_errors(case.votes, case.y, chosen[: k + 1]) for k in range(len(chosen))
    ]
    assert pruner.scores_ == pytest.approx([float(e) / len(case.y) for e in errors])


@given(cases_with_keep())
def test_keeps_as_many_as_asked_for(drawn):
    case, keep = drawn
    pruner = OEP(keep).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.oep(case.votes, case.y, keep)


@pytest.mark.parametrize(("case", "members"), [(E1, [3, 4, 1]), (E2, [2, 3, 1])])
def test_values_worked_out_by_hand(case, members):
    assert OEP().fit(case.votes, case.y).member_indices_.tolist() == members


def test_the_whole_order_of_e1_is_as_worked_out_by_hand():
    pruner = OEP(6).fit(E1.votes, E1.y)
    assert pruner.member_indices_.tolist() == [3, 4, 1, 2, 5, 0]
    assert pruner.scores_ == pytest.approx([1 / 5, 1 / 5, 0, 1 / 20, 0, 1 / 20])
