"""Pairwise measures, against formulas and values computed by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import naive
from cases import D1, D2, E1, E2, NAMED, cases, make
from secateurs import Votes, measures
from secateurs.exceptions import InputError

LABEL_MEASURES = ("disagreement", "kappa", "nvi", "nmi", "mutual_information")
ORACLE_MEASURES = (
    "oracle_disagreement",
    "q_statistic",
    "correlation",
    "double_fault",
    "same_fault",
    "oracle_kappa",
)
ALL = (*LABEL_MEASURES, *ORACLE_MEASURES)


def truth_of(name, case):
    return (case.y,) if name in ORACLE_MEASURES else ()


@pytest.mark.parametrize("name", ALL)
@given(case=cases(most_members=5))
def test_every_pair_equals_the_formula(name, case):
    measure, formula = getattr(measures, name), getattr(naive, name)
    truth = truth_of(name, case)
    matrix = measure.matrix(case.votes, *truth)
    for i in range(case.n_members):
        for j in range(case.n_members):
            first, second = naive.column(case.votes, i), naive.column(case.votes, j)
            expected = float(formula(first, second, *truth))
            assert matrix[i, j] == pytest.approx(expected, abs=1e-12)
            assert measure(first, second, *truth) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
@given(case=cases(most_members=5))
def test_the_mean_is_over_unordered_pairs(name, case):
    truth = truth_of(name, case)
    expected = float(naive.mean_over_pairs(getattr(naive, name), case.votes, *truth))
    assert getattr(measures, name).mean(case.votes, *truth) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("oracle_disagreement", Fraction(2, 5)),
        ("disagreement", Fraction(2, 5)),
        ("double_fault", Fraction(1, 10)),
        ("q_statistic", Fraction(1, 9)),
        ("correlation", Fraction(1, 21)),
        ("kappa", Fraction(1, 6)),
        ("oracle_kappa", Fraction(1, 21)),
        ("nvi", 0.989608),
    ],
)
def test_the_first_pair_of_e1_computed_by_hand(name, value):
    got = getattr(measures, name).matrix(E1.votes, *truth_of(name, E1))[0, 1]
    assert got == pytest.approx(float(value), abs=5e-7)


@pytest.mark.parametrize(
    ("case", "name", "value"),
    [
        ("E1", "disagreement", Fraction(12, 25)),
        ("E1", "double_fault", Fraction(3, 50)),
        ("E1", "q_statistic", Fraction(-217, 495)),
        ("E1", "correlation", -0.138074),
        ("E1", "kappa", Fraction(17, 390)),
        ("E1", "oracle_kappa", Fraction(-1037, 7980)),
        ("E1", "nvi", 0.946540),
        ("E2", "oracle_disagreement", Fraction(23, 45)),
        ("E2", "disagreement", Fraction(17, 30)),
        ("E2", "double_fault", Fraction(1, 18)),
        ("E2", "same_fault", 0),
        ("E2", "q_statistic", Fraction(-10, 21)),
        ("E2", "kappa", Fraction(5, 33)),
        ("E2", "oracle_kappa", Fraction(-14341, 76076)),
        ("E2", "nvi", 0.845870),
        ("D1", "disagreement", 0),
        ("D1", "q_statistic", 1),
        ("D1", "correlation", 1),
        ("D1", "kappa", 1),
        ("D1", "oracle_kappa", 1),
        ("D2", "disagreement", 0),
        ("D2", "q_statistic", 1),
        ("D2", "correlation", 1),
        ("D2", "kappa", 1),
        ("D2", "oracle_kappa", 1),
    ],
)
def test_means_over_pairs_computed_by_hand(case, name, value):
    case = NAMED[case]
    got = getattr(measures, name).mean(case.votes, *truth_of(name, case))
    assert got == pytest.approx(float(value), abs=5e-7)


@given(cases(classes=(2,)))
def test_label_and_oracle_forms_agree_for_two_classes(case):
    labels = measures.disagreement.matrix(case.votes)
    assert labels == pytest.approx(measures.oracle_disagreement.matrix(case.votes, case.y))
    same = measures.same_fault.matrix(case.votes, case.y)
    assert same == pytest.approx(measures.double_fault.matrix(case.votes, case.y))


@given(cases(classes=(2, 3, 7), most_samples=65))
def test_kappa_equals_scikit_learn_if_it_is_defined(case):
    first, last = naive.column(case.votes, 0), naive.column(case.votes, -1)
    if len(set(first) | set(last)) > 1:
        expected = cohen_kappa_score(first, last)
        assert measures.kappa(first, last) == pytest.approx(expected, abs=1e-12)


@given(cases())
def test_nvi_is_a_distance(case):
    apart = measures.nvi.matrix(case.votes)
    assert ((apart >= 0) & (apart <= 1)).all()
    assert (apart == apart.T).all()
    assert (np.diag(apart) <= 1e-12).all()
    detours = apart[:, :, None] + apart[None]
    assert (detours.min(axis=1) >= apart - 1e-12).all()


@given(cases(), st.permutations(range(40)))
def test_names_of_classes_do_not_matter(case, names):
    renamed = [[names[label] for label in row] for row in case.votes]
    for name in LABEL_MEASURES:
        matrix = getattr(measures, name).matrix(case.votes)
        assert getattr(measures, name).matrix(renamed) == pytest.approx(matrix, abs=1e-12)


def test_matrices_larger_than_a_block_are_complete(monkeypatch):
    case = make(5, 100, 3, ["noisy"] * 40)
    votes = Votes.encode(case.votes, case.y)
    expected = measures.kappa.matrix(votes)
    monkeypatch.setattr("secateurs.outputs.base_votes._MOST_TABLE_CELLS", 1000)
    assert (measures.kappa.matrix(votes) == expected).all()
    assert measures.kappa.mean(votes) == pytest.approx(
        expected[np.triu_indices(40, 1)].mean(), abs=1e-14
    )


def test_measures_of_correct_votes_need_true_labels():
    with pytest.raises(ValueError, match="double_fault needs the true labels"):
        measures.double_fault.matrix([[0, 1], [1, 1]])


def test_columns_of_text_and_numbers_are_rejected():
    assert measures.kappa(["a", "b"], ["a", "b"]) == 1.0
    with pytest.raises(ValueError, match="mixes kinds of labels"):
        measures.kappa(["a", "b"], [0, 1])


@pytest.mark.parametrize("columns", [([0, 1, 1], [0, 1]), ([[0, 1], [1, 1]], [[0, 1], [1, 1]])])
def test_columns_of_different_lengths_and_tables_are_rejected(columns):
    with pytest.raises(InputError, match=r"Pass two columns .* call kappa.matrix\(votes\)"):
        measures.kappa(*columns)


def test_measures_have_name_docstring_and_repr():
    assert repr(measures.kappa) == "<measure kappa>"
    assert measures.kappa.__doc__.startswith("Cohen's κ")
    assert measures.q_statistic.needs_truth
    assert not measures.nvi.needs_truth


def test_degenerate_sets_are_handled():
    assert measures.q_statistic.mean(D1.votes, D1.y) == 1
    assert measures.nvi.mean(D2.votes) == 0
    assert measures.same_fault.mean(E2.votes, E2.y) == 0
