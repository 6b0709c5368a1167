"""Margin distance minimisation, with a moving and a fixed target."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_orderings
from cases import D1, D2, E1, E2, cases_with_keep, plain
from secateurs import MarginDistancePruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

TARGETS = {"moving": None, 0.075: Fraction(3, 40), 0.25: Fraction(1, 4), 0.9: Fraction(9, 10)}


def distances(case, chosen, target):
    """The distance after each step."""
    found = []
    for step in range(1, len(chosen) + 1):
        moving = 2 * math.sqrt(2 * step) / case.n_members
        p = moving if target is None else target
        found.append(naive_orderings.squared_margin_distance(case.votes, case.y, chosen[:step], p))
    return np.sqrt(np.array(found, dtype=float))


@given(cases_with_keep(), st.sampled_from(list(TARGETS)))
def test_chooses_as_the_paper_does(drawn, target):
    case, keep = drawn
    pruner = MarginDistancePruner(keep, target).fit(case.votes, case.y)
    chosen = naive_orderings.margin_distance(case.votes, case.y, keep, TARGETS[target])
    assert pruner.member_indices_.tolist() == chosen
    assert pruner.scores_ == pytest.approx(distances(case, chosen, TARGETS[target]), abs=1e-9)


@pytest.mark.parametrize(
    ("case", "target", "members"),
    [
        (E1, 0.075, [3, 0, 5, 1, 2, 4]),
        (E1, 0.25, [3, 4, 1, 2, 5, 0]),
        (E1, "moving", [3, 4, 1, 2, 0, 5]),
        (E2, 0.075, [2, 0, 1, 4, 3]),
        (E2, "moving", [2, 3, 1, 0, 4]),
        (D1, "moving", [0, 1, 2]),
        (D2, 0.5, [0, 1, 2]),
    ],
)
def test_values_worked_out_by_hand(case, target, members):
    pruner = MarginDistancePruner(1.0, target).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members


def test_the_first_distance_worked_out_by_hand():
    pruner = MarginDistancePruner(1, 0.075).fit(E1.votes, E1.y)
    assert pruner.scores_ == pytest.approx([math.sqrt(53 / 288)])


@pytest.mark.parametrize("target", TARGETS)
def test_chooses_among_many_as_the_paper_does(target):
    case = plain(30, 65, 3)
    pruner = MarginDistancePruner(9, target).fit(case.votes, case.y)
    expected = naive_orderings.margin_distance(case.votes, case.y, 9, TARGETS[target])
    assert pruner.member_indices_.tolist() == expected


def test_a_decimal_target_ties_as_it_is_written():
    # Member 2 comes first. 0.075 of 20 members is r = 1.5; 2⟨c, s⟩ − 2r⟨c, 1⟩ is then 12 − 6 for
    # member 0 (right on 9 of the 14 that member 2 gets right, and on 2 others), and −12 + 18 for
    # member 1 (on 4 and 3). The float next to 0.075 is below it, and prefers member 1.
    right = [{*range(9), 14, 15}, {*range(4), 14, 15, 16}, set(range(14)), *[set()] * 17]
    votes = [[int(n not in samples) for samples in right] for n in range(20)]
    pruner = MarginDistancePruner(2, 0.075).fit(votes, [0] * 20)
    assert pruner.member_indices_.tolist() == [2, 0]
    assert naive_orderings.margin_distance(votes, [0] * 20, 2, Fraction(3, 40)) == [2, 0]
    assert naive_orderings.margin_distance(votes, [0] * 20, 2, Fraction(0.075)) == [2, 1]


@pytest.mark.parametrize("target", [0, 1, -0.5, math.nan, True, "fixed", None, [0.1]])
def test_senseless_targets_are_refused(target):
    with pytest.raises(ValueError, match=r"target=.* is not a valid target"):
        MarginDistancePruner(2, target).fit(E1.votes, E1.y)
