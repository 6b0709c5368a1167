"""The printed algorithms: numbers of distances, and plain programs."""

import itertools

import pytest
from hypothesis import given

import naive
from cases import cases_with_keep
from secateurs import Votes
from secateurs.paper._literal_algorithms import (
    count_distances,
    counted_speedup,
    literal_comep,
    literal_tdas,
)


@pytest.mark.parametrize(("n", "keep"), itertools.product(range(1, 9), range(1, 9)))
def test_distances_are_those_that_the_steps_compute(n, keep):
    printed = incremental = 0
    rest = n - 1
    for n_selected in range(1, min(keep, n)):
        printed += rest * n_selected
        incremental += rest
        rest -= 1
    assert count_distances(n, keep) == printed
    assert count_distances(n, keep, incremental=True) == incremental


def test_ratios_are_those_of_the_papers_operation_counts():
    # docs/reproduction.md: 2850 distances on the longest path of DOMEP, 4215 of COMEP
    assert counted_speedup(100, 10, 2) == pytest.approx(4215 / 2850)
    assert counted_speedup(100, 20, 3) == pytest.approx(16530 / 14440)


@given(cases_with_keep(most_members=6, most_samples=20))
def test_the_plain_program_selects_as_algorithm_1_does(drawn):
    (votes, y), keep = drawn
    encoded = Votes.encode(votes, y)
    assert literal_comep(encoded, keep, 0.5) == naive.comep(votes, y, keep, 0.5, 0)
    members = range(encoded.n_members)
    assert literal_tdas(encoded, 0.3) == pytest.approx(naive.tdas(votes, y, members, 0.3))
