"""Boosting-based ordering."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import naive
from cases import D1, D2, D3, E1, E2, cases_with_keep, make
from secateurs import BoostingPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_orders_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = BoostingPruner(keep).fit(case.votes, case.y)
    members, errors = naive.boosting_order(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == members
    assert pruner.scores_ == pytest.approx([float(error) for error in errors], abs=1e-12)


@pytest.mark.parametrize(
    ("case", "members", "errors"),
    [
        (E1, [3, 4, 1, 2, 5, 0], "1/5 1/8 3/28 31/150 1969/7378 4277/10818"),
        (E2, [2, 3, 1, 0, 4], "2/9"),
        (D1, [0, 1, 2], "1/4 1/2 1/4"),  # a copy is wrong on half the weight, and resets it
        (D2, [0, 1, 2], "0 0 0"),
    ],
)
def test_values_worked_out_by_hand(case, members, errors):
    pruner = BoostingPruner(keep=1.0).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members
    expected = [float(Fraction(error)) for error in errors.split()]
    assert pruner.scores_[: len(expected)] == pytest.approx(expected, abs=1e-12)


def test_one_class_in_y_is_no_special_case():
    pruner = BoostingPruner(keep=3).fit(*D3)
    assert pruner.member_indices_.tolist() == naive.boosting_order(*D3, 3)[0]


def test_long_runs_stay_on_the_way_of_exact_arithmetic():
    case = make(3, 25, 2, ["noisy"] * 40)
    members, errors = naive.boosting_order(case.votes, case.y, 40)
    pruner = BoostingPruner(keep=40).fit(*case)
    assert pruner.member_indices_.tolist() == members
    assert pruner.scores_ == pytest.approx([float(error) for error in errors], abs=1e-9)


def test_missing_votes_are_left_out_of_errors_and_keep_their_weight():
    # Of four samples, member 0 votes on three and is wrong on the first. That one then weighs
    # 1/4 · 1/(2/3), the other two 1/4 · 1/(4/3), and the last still 1/4.
    wrong = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
    mask = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]], dtype=bool)
    pruner = BoostingPruner(keep=3).fit(np.ma.array(wrong, mask=mask), [0, 0, 0, 0])
    assert pruner.member_indices_[0] == 0
    assert pruner.scores_[0] == pytest.approx(1 / 3)
    # Member 2 is wrong on the last two samples of all four, member 1 on two of its three.
    second = {1: (3 / 16 + 1 / 4) / (3 / 16 + 3 / 16 + 1 / 4), 2: 3 / 16 + 1 / 4}
    assert pruner.member_indices_[1] == 2
    assert pruner.scores_[1] == pytest.approx(second[2])
    assert second[2] < second[1]
