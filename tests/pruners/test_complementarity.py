"""Complementarity."""

import pytest
from hypothesis import given

import naive
import naive_orderings
from cases import D1, D2, E1, E2, cases_with_keep, plain
from secateurs import ComplementarityPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_chooses_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = ComplementarityPruner(keep).fit(case.votes, case.y)
    chosen = naive_orderings.complementarity(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == chosen
    errors = [naive.errors(case.votes, case.y, chosen[: k + 1]) for k in range(keep)]
    assert pruner.scores_ == pytest.approx([count / len(case.y) for count in errors])
    assert pruner.objective_ == pruner.scores_[-1]


@pytest.mark.parametrize(
    ("case", "members"),
    [(E1, [3, 0, 1, 4, 5, 2]), (E2, [2, 0, 1, 3, 4]), (D1, [0, 1, 2]), (D2, [0, 1, 2])],
)
def test_values_worked_out_by_hand(case, members):
    pruner = ComplementarityPruner(1.0).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_chooses_among_many_as_the_paper_does(n_classes):
    case = plain(30, 65, n_classes)
    pruner = ComplementarityPruner(9).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive_orderings.complementarity(case.votes, case.y, 9)


def test_members_come_in_order_once_the_vote_is_right_everywhere():
    votes = [[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]
    pruner = ComplementarityPruner(4).fit(votes, [0, 0, 0])
    assert pruner.member_indices_.tolist() == [1, 0, 2, 3]
