"""Uncertainty weighted accuracy."""

import pytest
from hypothesis import given

import naive
import naive_orderings
from cases import D1, D2, E1, E2, cases_with_keep, plain
from secateurs import UncertaintyWeightedPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_chooses_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = UncertaintyWeightedPruner(keep).fit(case.votes, case.y)
    chosen = naive_orderings.uncertainty_weighted(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == chosen
    errors = [naive.errors(case.votes, case.y, chosen[: k + 1]) for k in range(keep)]
    assert pruner.scores_ == pytest.approx([count / len(case.y) for count in errors])
    assert pruner.objective_ == pruner.scores_[-1]


@pytest.mark.parametrize(
    ("case", "members"),
    [(E1, [3, 4, 1, 2, 0, 5]), (E2, [2, 3, 1, 0, 4]), (D1, [0, 1, 2]), (D2, [0, 1, 2])],
)
def test_values_worked_out_by_hand(case, members):
    pruner = UncertaintyWeightedPruner(1.0).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_chooses_among_many_as_the_paper_does(n_classes):
    case = plain(30, 65, n_classes)
    pruner = UncertaintyWeightedPruner(9).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive_orderings.uncertainty_weighted(
        case.votes, case.y, 9
    )


def test_one_member_is_never_split_so_the_second_best_member_is_second():
    case = plain(12, 80, 3)
    chosen = UncertaintyWeightedPruner(2).fit(*case).member_indices_.tolist()
    assert chosen == naive.best_members(*case, 2)
    assert min(chosen) > 0
