"""Measures of an ensemble, against formulas, values computed by hand, and identities."""

from fractions import Fraction

import pytest
from hypothesis import assume, given

import naive
from cases import E1, E2, NAMED, cases
from secateurs import Votes, measures

ORACLE = (
    "kohavi_wolpert",
    "interrater_agreement",
    "kuncheva_entropy",
    "difficulty",
    "generalised_diversity",
    "coincident_failure",
)
LABEL = ("label_kohavi_wolpert", "fleiss_kappa", "vote_entropy", "label_ambiguity")


def close(value, abs=1e-12):
    return pytest.approx(float(value), abs=abs)


@pytest.mark.parametrize("name", ORACLE)
@given(case=cases())
def test_measures_of_correct_votes_equal_the_formula(name, case):
    expected = getattr(naive, name)(case.votes, case.y)
    assert getattr(measures, name)(case.votes, case.y) == close(expected)
    assert getattr(measures, name)(Votes.encode(case.votes, case.y)) == close(expected)


@pytest.mark.parametrize("name", LABEL)
@given(case=cases())
def test_measures_of_labels_equal_the_formula(name, case):
    assert getattr(measures, name)(case.votes) == close(getattr(naive, name)(case.votes))


@given(cases())
def test_vote_entropy_accepts_any_base_and_can_be_normalised(case):
    bits = naive.vote_entropy(case.votes, base=2)
    assert measures.vote_entropy(case.votes, base=2) == close(bits)
    assert str(measures.vote_entropy([[1, 1]])) == "0.0"  # not −0.0
    normal = naive.vote_entropy(case.votes, normalise=True)
    assert measures.vote_entropy(case.votes, normalise=True) == close(normal)
    assert -1e-12 <= normal <= 1 + 1e-12


@given(cases())
def test_loss_ambiguity_is_good_minus_bad_diversity(case):
    got = measures.loss_ambiguity(case.votes, case.y)
    assert tuple(got) == pytest.approx(
        [float(part) for part in naive.loss_ambiguity(case.votes, case.y)], abs=1e-12
    )
    assert got.total == close(got.good - got.bad)


@pytest.mark.parametrize("name", ["disagreement_error_ratio", "c_bound"])
@given(case=cases())
def test_error_ratio_and_c_bound_equal_the_formula(name, case):
    expected = getattr(naive, name)(case.votes, case.y)
    got = getattr(measures, name)(case.votes, case.y)
    assert (got is None) == (expected is None)
    if expected is not None:
        assert got == pytest.approx(float(expected), abs=1e-12, rel=1e-12)


@given(cases())
def test_the_c_bound_bounds_the_error_of_the_vote(case):
    bound = measures.c_bound(case.votes, case.y)
    assume(bound is not None)
    members = range(case.n_members)
    assert naive.errors(case.votes, case.y, members) / len(case.y) <= bound + 1e-12


@pytest.mark.parametrize(
    ("case", "name", "value"),
    [
        ("E1", "kohavi_wolpert", Fraction(1, 5)),
        ("E1", "interrater_agreement", Fraction(-1, 7)),
        ("E1", "kuncheva_entropy", Fraction(3, 5)),
        ("E1", "difficulty", Fraction(1, 100)),
        ("E1", "generalised_diversity", Fraction(4, 5)),
        ("E1", "coincident_failure", Fraction(21, 25)),
        ("E1", "disagreement_error_ratio", Fraction(4, 3)),
        ("E1", "c_bound", Fraction(1, 5)),
        ("E2", "kohavi_wolpert", Fraction(46, 225)),
        ("E2", "interrater_agreement", Fraction(-167, 868)),
        ("E2", "kuncheva_entropy", Fraction(7, 9)),
        ("E2", "difficulty", Fraction(4, 405)),
        ("E2", "generalised_diversity", Fraction(23, 28)),
        ("E2", "coincident_failure", Fraction(31, 36)),
        ("E2", "disagreement_error_ratio", Fraction(51, 35)),
        ("D1", "kohavi_wolpert", 0),
        ("D1", "interrater_agreement", 1),
        ("D1", "difficulty", Fraction(3, 16)),
        ("D1", "generalised_diversity", 0),
        ("D1", "coincident_failure", 0),
        ("D2", "kohavi_wolpert", 0),
        ("D2", "interrater_agreement", 1),
        ("D2", "difficulty", 0),
        ("D2", "generalised_diversity", 0),
        ("D2", "coincident_failure", 0),
        ("D3", "kohavi_wolpert", Fraction(1, 6)),
        ("D3", "interrater_agreement", Fraction(-1, 3)),
        ("D3", "generalised_diversity", 1),
        ("D3", "coincident_failure", 1),
    ],
)
def test_values_computed_by_hand(case, name, value):
    case = NAMED[case]
    assert getattr(measures, name)(case.votes, case.y) == close(value)


@pytest.mark.parametrize(
    ("case", "name", "value"),
    [
        (E1, "fleiss_kappa", Fraction(1, 28)),
        (E1, "vote_entropy", 0.586392),
        (E1, "label_ambiguity", Fraction(3, 10)),
        (E2, "label_kohavi_wolpert", Fraction(17, 75)),
        (E2, "fleiss_kappa", Fraction(401, 2696)),
        (E2, "vote_entropy", 0.750329),
        (E2, "label_ambiguity", Fraction(14, 45)),
    ],
)
def test_label_values_computed_by_hand(case, name, value):
    assert getattr(measures, name)(case.votes) == close(value, abs=5e-7)


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        (E1, (Fraction(1, 5), Fraction(1, 4), Fraction(1, 20))),
        (E2, (Fraction(14, 45), Fraction(14, 45), 0)),
    ],
)
def test_loss_ambiguity_computed_by_hand(case, parts):
    expected = pytest.approx([float(part) for part in parts])
    assert tuple(measures.loss_ambiguity(case.votes, case.y)) == expected


def test_the_disagreement_error_ratio_is_undefined_without_errors():
    assert measures.disagreement_error_ratio([[0, 0], [1, 1]], [0, 1]) is None


@given(cases())
def test_five_measures_follow_from_accuracy_and_double_fault(case):
    """Disagreement, KW, difficulty, interrater κ and GD follow from accuracy and double fault."""
    n_members = case.n_members
    assume(n_members > 1)
    votes = Votes.encode(case.votes, case.y)
    right = votes.n_right.sum() / (votes.n_samples * n_members)
    apart = measures.oracle_disagreement.mean(votes)
    together = measures.double_fault.mean(votes)
    variance = measures.kohavi_wolpert(votes)
    half = (n_members - 1) / (2 * n_members)
    assert apart == close(2 * (1 - right - together))
    assert variance == close(half * apart)
    assert measures.label_kohavi_wolpert(votes) == close(half * measures.disagreement.mean(votes))
    assert measures.difficulty(votes) == close(right * (1 - right) - variance)
    if 0 < right < 1:
        kappa = 1 - apart / (2 * right * (1 - right))
        assert measures.interrater_agreement(votes) == close(kappa)
        assert measures.generalised_diversity(votes) == close(1 - together / (1 - right))


def test_entropy_and_coincident_failures_do_not_follow_from_pairs():
    # 0, 3 and 3 of five members are wrong, or 1, 1 and 4: sums and sums of squares are equal.
    tables = [
        [[int(member < n_wrong) for member in range(5)] for n_wrong in counts]
        for counts in ((0, 3, 3), (1, 1, 4))
    ]
    first, second = (Votes.encode(table, [0, 0, 0]) for table in tables)
    for measure in (measures.oracle_disagreement, measures.double_fault):
        assert measure.mean(first) == close(measure.mean(second))
    for measure in (measures.vote_entropy, measures.kuncheva_entropy, measures.coincident_failure):
        assert abs(measure(first) - measure(second)) > 0.05
