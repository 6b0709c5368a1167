"""PEP, its archive and its search."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import D2, E1, E2, cases, cases_with_keep, plain
from secateurs import OEP, PEP, Votes
from secateurs.objectives import VoteError
from secateurs.pruners import _pep

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

ROUNDS, SEEDS = st.integers(0, 12), st.integers(0, 2**31)


def front_of(pruner):
    return [(rate, members.tolist()) for rate, members in pruner.pareto_front_]


@given(cases(most_members=5, most_samples=20), ROUNDS, SEEDS)
def test_searches_as_the_paper_does(case, rounds, seed):
    pruner = PEP(n_iterations=rounds, random_state=seed).fit(case.votes, case.y)
    expected, front = naive.pep(case.votes, case.y, rounds, np.random.RandomState(seed))
    assert pruner.member_indices_.tolist() == expected
    for (rate, members), (errors, _, known) in zip(front_of(pruner), front, strict=True):
        assert members == list(known)
        assert rate == pytest.approx(float(errors) / len(case.y))


@given(cases(most_members=5, most_samples=6), ROUNDS, SEEDS)
def test_searches_the_same_among_samples_that_occur_three_times(case, rounds, seed):
    votes, y = np.repeat(case.votes, 3, axis=0), np.repeat(case.y, 3)
    pruner = PEP(n_iterations=rounds, random_state=seed).fit(votes, y)
    once = PEP(n_iterations=rounds, random_state=seed).fit(case.votes, case.y)
    assert front_of(pruner) == front_of(once)
    expected, _ = naive.pep(case.votes, case.y, rounds, np.random.RandomState(seed))
    assert pruner.member_indices_.tolist() == expected


@given(cases_with_keep(most_members=5, most_samples=20), ROUNDS, SEEDS)
def test_keeps_no_more_than_asked_for(drawn, rounds, seed):
    case, keep = drawn
    pruner = PEP(keep, rounds, seed).fit(case.votes, case.y)
    expected, _ = naive.pep(case.votes, case.y, rounds, np.random.RandomState(seed), keep)
    assert pruner.member_indices_.tolist() == expected
    assert 1 <= len(expected) <= keep


@pytest.mark.parametrize("distinct", [True, False])  # False: as with errors beyond 64 bits
@pytest.mark.parametrize("times", [1, 3])
@given(case=cases(most_members=5, most_samples=20), data=st.data())
def test_variable_depth_search_flips_as_the_paper_does(times, distinct, case, data):
    all_members = range(case.n_members)
    start = data.draw(st.sets(st.sampled_from(all_members), min_size=1))
    chosen = np.isin(all_members, list(start))
    votes = Votes.encode(np.repeat(case.votes, times, axis=0), np.repeat(case.y, times))
    objective = VoteError(votes, "shared", distinct=distinct)
    assert objective.can_flip_each == distinct
    path = _pep._search_variable_depth(objective, _pep._make_solution(objective, chosen), [])
    expected = naive.vds(case.votes, case.y, frozenset(start))
    assert [set(np.flatnonzero(step.member_mask)) for step in path] == [
        set(step) for step in expected if step
    ]


@pytest.mark.parametrize(
    ("case", "front"), [(E1, {(0, 3), (Fraction(1, 5), 1)}), (E2, {(0, 3), (Fraction(2, 9), 1)})]
)
def test_finds_the_true_front_of_tiny_sets(case, front):
    pruner = PEP(random_state=0).fit(case.votes, case.y)
    found = {(Fraction(rate).limit_denominator(1000), len(s)) for rate, s in front_of(pruner)}
    assert found == front


@given(cases(most_members=6, most_samples=12), SEEDS)
def test_the_archive_is_a_front(case, seed):
    front = front_of(PEP(n_iterations=20, random_state=seed).fit(case.votes, case.y))
    sizes = [len(members) for _, members in front]
    rates = [rate for rate, _ in front]
    assert sizes == sorted(set(sizes))
    assert rates == sorted(set(rates), reverse=True)


def test_is_no_worse_than_ordering():
    case = plain(12, 100)
    pareto = PEP(random_state=0).fit(case.votes, case.y)
    assert pareto.objective_ <= OEP().fit(case.votes, case.y).objective_


def test_one_member_is_enough_when_all_are_right():
    front = front_of(PEP(random_state=0).fit(D2.votes, D2.y))
    assert [(rate, len(members)) for rate, members in front] == [(0, 1)]


def test_an_unchanged_parent_is_searched_around_once(monkeypatch):
    case = plain(8, 60)
    searched = []
    original = _pep._search_variable_depth

    def spied(objective, start, archive):
        searched.append(start.member_mask.tobytes())
        return original(objective, start, archive)

    monkeypatch.setattr(_pep, "_search_variable_depth", spied)
    monkeypatch.setattr(_pep, "random_flips", lambda n, rng: np.zeros(n, dtype=bool))
    PEP(n_iterations=50, random_state=0).fit(case.votes, case.y)
    assert len(searched) == len(set(searched)) > 0
