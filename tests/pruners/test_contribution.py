"""Individual contributions."""

import pytest
from hypothesis import given

import naive_orderings
from cases import D1, D2, E1, E2, cases_with_keep, plain
from secateurs import ContributionPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_orders_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = ContributionPruner(keep).fit(case.votes, case.y)
    chosen = naive_orderings.contribution_ordering(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == chosen
    of_all = [naive_orderings.contribution(case.votes, case.y, t) for t in range(case.n_members)]
    assert pruner.contributions_.tolist() == of_all
    assert pruner.scores_.tolist() == [of_all[t] for t in chosen]


@pytest.mark.parametrize(
    ("case", "members", "contributions"),
    [
        (E1, [3, 4, 1, 2, 0, 5], [4, 6, 6, 10, 10, 0]),
        (E2, [2, 3, 0, 1, 4], [3, 3, 5, 5, 1]),
        (D1, [0, 1, 2], [-6, -6, -6]),
        (D2, [0, 1, 2], [0, 0, 0]),
    ],
)
def test_values_worked_out_by_hand(case, members, contributions):
    pruner = ContributionPruner(1.0).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members
    assert pruner.contributions_.tolist() == contributions


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_orders_many_as_the_paper_does(n_classes):
    case = plain(30, 129, n_classes)
    pruner = ContributionPruner(9).fit(case.votes, case.y)
    expected = naive_orderings.contribution_ordering(case.votes, case.y, 9)
    assert pruner.member_indices_.tolist() == expected
