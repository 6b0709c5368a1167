"""Orientation ordering."""

import math

import pytest
from hypothesis import given

import naive
from cases import D2, E1, E2, cases, cases_with_keep
from secateurs import OrientationOrderingPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*(reference direction|1 member)")


@given(cases())
def test_chooses_as_the_paper_does(case):
    pruner = OrientationOrderingPruner().fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.orientation_ordering(case.votes, case.y)


@given(cases_with_keep())
def test_keeps_as_many_as_asked_for(drawn):
    case, keep = drawn
    pruner = OrientationOrderingPruner(keep).fit(case.votes, case.y)
    expected = naive.orientation_ordering(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == expected


@pytest.mark.parametrize(
    ("case", "members", "angles"),
    [
        (E1, [3, 4], [1.873542, math.pi / 2, math.pi / 2, 1.421167, 1.421167, math.pi / 2]),
        (E2, [1, 0], [1.547513, 0.618351, 1.664055, 1.664055, 2.280842]),
    ],
)
def test_values_worked_out_by_hand(case, members, angles):
    pruner = OrientationOrderingPruner().fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members
    assert pruner.angles_ == pytest.approx(angles, abs=1e-6)
    assert pruner.scores_ == pytest.approx([angles[member] for member in members], abs=1e-6)


def test_no_reference_direction_is_warned_of():
    with pytest.warns(UserWarning, match="no reference direction"):
        pruner = OrientationOrderingPruner().fit(D2.votes, D2.y)
    assert pruner.member_indices_.tolist() == [0]
    assert pruner.angles_ == pytest.approx([math.pi / 2] * 3)


def test_without_a_mean_direction_the_most_accurate_come_first():
    votes = [[0, 1], [0, 1], [1, 0], [1, 0]]
    pruner = OrientationOrderingPruner(2).fit(votes, [0, 0, 1, 0])
    assert pruner.member_indices_.tolist() == [0, 1]
    assert pruner.angles_ == pytest.approx([math.acos(0.5), math.acos(-0.5)])
