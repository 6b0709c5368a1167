"""KL-divergence pruning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import E1, cases_with_keep
from secateurs import KLDivergencePruner

pytestmark = pytest.mark.filterwarnings("ignore:.*(no distributions|1 member)")

WEIGHTS = [[0.25] * 4, [0.4, 0.2, 0.2, 0.2], [0.1, 0.1, 0.4, 0.4], [0.7, 0.1, 0.1, 0.1]]
VOTES = [[0, 1, 0, 1], [1, 1, 0, 0]]


@given(cases_with_keep(), st.booleans())
def test_chooses_as_the_paper_does(drawn, symmetric):
    case, keep = drawn
    pruner = KLDivergencePruner(keep, symmetric=symmetric).fit(case.votes, case.y)
    frequencies = naive.class_frequencies(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.kl_pruning(frequencies, keep, symmetric)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_takes_distributions_of_any_kind(seed, keep, symmetric):
    weights = np.random.default_rng(seed).dirichlet(np.ones(5), size=6)
    pruner = KLDivergencePruner(keep, weights, symmetric).fit([[0] * 6, [1] * 6])
    expected = naive.kl_pruning(weights.tolist(), keep, symmetric)
    assert pruner.member_indices_.tolist() == expected


def test_values_worked_out_by_hand():
    pruner = KLDivergencePruner(3, WEIGHTS).fit(VOTES)
    assert pruner.member_indices_.tolist() == [0, 3, 2]
    assert pruner.objective_ == pytest.approx(1.567401, abs=1e-6)
    assert KLDivergencePruner(3).fit(E1.votes, E1.y).member_indices_.tolist() == [0, 5, 1]


def test_absent_distributions_are_warned_of():
    with pytest.warns(UserWarning, match="got no distributions"):
        KLDivergencePruner(1).fit(VOTES)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (WEIGHTS[:3], r"shape \(3, 4\). Pass one row for each of the 4 members"),
        ([[0.0] * 4, *WEIGHTS[1:]], "all-zero rows"),
        ([[-1.0] * 4, *WEIGHTS[1:]], "negative"),
        ([[np.nan] * 4, *WEIGHTS[1:]], "NaN"),
    ],
)
def test_distributions_that_are_none_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        KLDivergencePruner(2, weights).fit(VOTES)
