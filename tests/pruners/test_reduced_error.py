"""Reduced-error pruning, with and without back-fitting."""

import pytest
from hypothesis import given

import naive
from cases import E1, cases_with_keep, plain
from secateurs import ReducedErrorPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_chooses_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = ReducedErrorPruner(keep).fit(case.votes, case.y)
    chosen = naive.reduced_error(case.votes, case.y, keep)
    assert pruner.member_indices_.tolist() == chosen
    errors = [naive.errors(case.votes, case.y, chosen[: k + 1]) for k in range(keep)]
    assert pruner.scores_ == pytest.approx([count / len(case.y) for count in errors])
    assert pruner.objective_ == pruner.scores_[-1]


@given(cases_with_keep(most_samples=30))
def test_backfits_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = ReducedErrorPruner(keep, backfit=True).fit(case.votes, case.y)
    chosen = naive.reduced_error(case.votes, case.y, keep, backfit=True)
    assert pruner.member_indices_.tolist() == chosen
    errors = naive.errors(case.votes, case.y, chosen)
    assert pruner.objective_ == pytest.approx(errors / len(case.y))


def test_values_worked_out_by_hand():
    pruner = ReducedErrorPruner(6).fit(E1.votes, E1.y)
    assert pruner.member_indices_.tolist() == [3, 4, 1, 2, 5, 0]
    assert pruner.scores_ == pytest.approx([0.2, 0.2, 0, 0.1, 0, 0.1])


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_chooses_among_many_as_the_paper_does(n_classes):
    case = plain(30, 65, n_classes)
    for backfit in (False, True):
        pruner = ReducedErrorPruner(7, backfit).fit(case.votes, case.y)
        expected = naive.reduced_error(case.votes, case.y, 7, backfit)
        assert pruner.member_indices_.tolist() == expected
