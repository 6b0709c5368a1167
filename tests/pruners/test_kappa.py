"""Kappa pruning."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given

import naive
from cases import E1, E2, cases_with_keep, plain
from secateurs import KappaPruner, Votes, measures

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")


@given(cases_with_keep())
def test_chooses_as_the_paper_does(drawn):
    case, keep = drawn
    pruner = KappaPruner(keep).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.kappa_pruning(case.votes, keep)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("keep", [1, 2, 3, 10, 39, 40])
def test_chooses_among_many_as_the_paper_does(n_classes, keep):
    case = plain(40, 60, n_classes)
    pruner = KappaPruner(keep).fit(case.votes)
    assert pruner.member_indices_.tolist() == naive.kappa_pruning(case.votes, keep)


@pytest.mark.parametrize(("case", "members"), [(E1, [0, 5, 4]), (E2, [1, 4, 0])])
def test_values_worked_out_by_hand(case, members):
    assert KappaPruner(3).fit(case.votes).member_indices_.tolist() == members


def test_scores_are_the_kappas_that_brought_members_in():
    pruner = KappaPruner(3).fit(E1.votes)
    matrix = measures.kappa.matrix(E1.votes)
    assert pruner.scores_.tolist() == [matrix[0, 5], matrix[0, 5], matrix[4, 5]]


@pytest.mark.parametrize("keep", [0.1, 0.9])
def test_memory_does_not_grow_with_the_number_of_pairs(keep):
    votes = Votes.encode(np.random.default_rng(0).integers(2, size=(64, 3000), dtype=np.int8))
    KappaPruner(2).fit(votes.take(range(20)))  # compiles
    tracemalloc.start()
    KappaPruner(keep).fit(votes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 2  # half of what one number for each pair would take
