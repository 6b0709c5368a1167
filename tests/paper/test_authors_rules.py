"""KP and OEP by the rules of the authors' program, against slow programs of these rules."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import naive
from cases import cases_with_keep
from secateurs import Votes
from secateurs.paper._authors_rules import select_kp, select_oep, their_kappa


@given(cases_with_keep(most_members=6, most_samples=20))
def test_oep_keeps_the_shortest_prefix_of_the_greedy_order(drawn):
    (votes, y), keep = drawn
    n_members = len(votes[0])
    order, errors = [], []
    while len(order) < n_members:
        rest = [t for t in range(n_members) if t not in order]
        order.append(min(rest, key=lambda t: (naive.errors(votes, y, [*order, t]), t)))
        errors.append(naive.errors(votes, y, order))
    expected = sorted(order[: errors.index(min(errors)) + 1])
    encoded = Votes.encode(votes, y)
    assert select_oep(encoded, keep) == (expected if keep < n_members else list(range(n_members)))


@given(cases_with_keep(classes=(2,), most_members=6, most_samples=20))
def test_kp_of_two_classes_selects_disjoint_pairs_of_lowest_kappa(drawn):
    (votes, y), keep = drawn
    n_members = len(votes[0])
    encoded = Votes.encode(votes, y)
    kappa = {
        (i, j): np.float32(their_kappa(*encoded.codes([i, j]), encoded.truth))
        for i in range(n_members)
        for j in range(i + 1, n_members)
    }
    for (i, j), value in kappa.items():
        columns = naive.column(votes, i), naive.column(votes, j)
        if len(set(columns[0]) | set(columns[1]) | set(y)) == 2 and columns[0] != columns[1]:
            assert value == pytest.approx(naive.kappa(*columns), abs=1e-6)
    selected = []
    for pair in sorted(kappa, key=lambda pair: (kappa[pair], pair)):
        if not set(pair) & set(selected):
            selected += pair
    expected = sorted(selected[:keep]) if keep < n_members else list(range(n_members))
    assert select_kp(encoded, keep) == expected


def test_their_kappa_of_three_classes_multiplies_margins():
    # table of labels: 2 1 0 / 0 2 1 / 1 0 2, so that each row and column has 3 and 2 · (2 + 1)
    first, second = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1, 2, 0, 2, 2])
    margin = (2 + 1) * (2 + 0)
    agreement, chance = Fraction(6, 9), Fraction(3 * margin * margin, 81)
    expected = (agreement - chance) / (1 - chance)
    assert their_kappa(first, second, first) == pytest.approx(float(expected))
    assert expected > 1  # which no kappa can be
