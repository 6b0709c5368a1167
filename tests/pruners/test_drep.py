"""DREP and its three stops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import E1, E2, cases, cases_with_keep
from secateurs import DREP, ReducedErrorPruner

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

RHOS = st.sampled_from([0.01, 0.2, 0.25, 0.3, 0.5, 1.0])


@pytest.mark.parametrize("stop", ["best_prefix", "nonincrease", "strict"])
@given(case=cases(), rho=RHOS)
def test_chooses_as_the_paper_does(stop, case, rho):
    pruner = DREP(rho=rho, stop=stop).fit(case.votes, case.y)
    chosen = naive.drep(case.votes, case.y, rho, stop)
    assert pruner.member_indices_.tolist() == chosen
    errors = naive.errors(case.votes, case.y, chosen)
    assert pruner.objective_ == pytest.approx(errors / len(case.y))


@given(cases_with_keep(), RHOS)
def test_keeps_as_many_as_asked_for(drawn, rho):
    case, keep = drawn
    pruner = DREP(keep, rho).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.drep(case.votes, case.y, rho, keep=keep)


@given(cases_with_keep())
def test_looking_at_everybody_is_reduced_error_pruning(drawn):
    case, keep = drawn
    every = DREP(keep, rho=1).fit(case.votes, case.y)
    reduced = ReducedErrorPruner(keep).fit(case.votes, case.y)
    assert every.member_indices_.tolist() == reduced.member_indices_.tolist()


@pytest.mark.parametrize(
    ("case", "rho", "stop", "members"),
    [
        (E1, 0.5, "strict", [3]),
        (E1, 0.5, "nonincrease", [3]),
        (E1, 0.5, "best_prefix", [3, 0, 1]),
        (E1, 0.25, "best_prefix", [3, 0, 5, 1, 2]),
        (E2, 0.5, "nonincrease", [2, 0, 1, 4, 3]),
        (E2, 0.5, "best_prefix", [2, 0, 1]),
    ],
)
def test_values_worked_out_by_hand(case, rho, stop, members):
    assert DREP(rho=rho, stop=stop).fit(case.votes, case.y).member_indices_.tolist() == members
