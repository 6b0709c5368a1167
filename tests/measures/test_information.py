"""Entropies, and measures computed from them."""

import math

import pytest
from hypothesis import given

import naive
from cases import D2, E1, E2, cases
from secateurs import Votes, measures


@given(cases())
def test_entropy_equals_the_formula(case):
    assert measures.entropy(case.y) == pytest.approx(naive.entropy(case.y), abs=1e-12)


def test_entropy_accepts_labels_of_any_type():
    assert measures.entropy(["x", "y", "z", "x"]) == pytest.approx(1.5)
    assert measures.entropy([True, True]) == 0


def test_a_member_that_is_always_wrong_on_two_classes_has_relevance_one():
    assert measures.nmi([1, 0, 1, 0], [0, 1, 0, 1]) == 1


@given(cases())
def test_normalised_information_equals_the_formula(case):
    first, last = naive.column(case.votes, 0), naive.column(case.votes, -1)
    assert measures.nmi(first, case.y) == pytest.approx(naive.nmi(first, case.y), abs=1e-12)
    assert measures.nvi(first, last) == pytest.approx(naive.nvi(first, last), abs=1e-12)


def test_constants_have_no_information_and_no_distance_from_each_other():
    constant, other, halves = [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]
    assert measures.nmi(constant, halves) == measures.nmi(constant, other) == 0
    assert measures.nvi(constant, other) == 0
    assert measures.nvi(constant, halves) == 1  # I = 0, H = 1


@given(cases(most_members=4, most_samples=65))
def test_multi_information_equals_the_formula(case):
    parts = measures.multi_information(case.votes, case.y)
    expected = naive.multi_information(case.votes, case.y)
    assert tuple(parts) == pytest.approx(expected, abs=1e-9)
    total = parts.relevancy - parts.redundancy + parts.conditional_redundancy
    assert parts.total == pytest.approx(total, abs=1e-9)


@given(cases(most_members=4, most_samples=30))
def test_multi_information_diversity_is_the_sum_of_all_interactions(case):
    expected = naive.interaction_information(case.votes, case.y)
    got = measures.multi_information(case.votes, case.y).diversity
    assert got == pytest.approx(expected, abs=1e-9)


@given(cases(most_members=5))
def test_pairwise_interaction_equals_the_formula(case):
    expected = naive.pairwise_interaction(case.votes, case.y)
    assert measures.pairwise_interaction(case.votes, case.y) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("case", "parts", "second_order"),
    [
        (E1, (1.0, 0.929678, 2.561874, 2.632197), 1.429684),
        (E2, (math.log2(3), 3.614369, 4.645949, 2.616542), -0.830075),
        (D2, (1, 3, 2, 0), -3),
    ],
)
def test_values_computed_by_hand(case, parts, second_order):
    votes = Votes.encode(case.votes, case.y)
    assert tuple(measures.multi_information(votes)) == pytest.approx(parts, abs=1e-6)
    assert measures.pairwise_interaction(votes) == pytest.approx(second_order, abs=1e-6)
