"""Member diagnostics, compared with a second implementation of their formulas."""

from itertools import combinations

import numpy as np
import pytest

import cases
import naive
from secateurs import Predictions, Votes
from secateurs.report import member_diagnostics

CASES = [cases.E1, cases.E2, cases.D1, cases.make(1, 70, 3, cases.KINDS * 2)]


@pytest.mark.parametrize("case", CASES)
def test_pairs_have_the_kappa_and_error_of_their_formulas(case):
    pairs = member_diagnostics.kappa_error(Votes.encode(*case))
    expected = list(combinations(range(case.n_members), 2))
    assert list(zip(pairs.first.tolist(), pairs.second.tolist())) == expected
    columns = cases.transpose(case.votes)
    errors = [naive.member_error([[v] for v in column], case.y) for column in columns]
    for place, (i, j) in enumerate(expected):
        assert pairs.kappa[place] == pytest.approx(float(naive.kappa(columns[i], columns[j])))
        assert pairs.error[place] == pytest.approx(float(errors[i] + errors[j]) / 2)


def test_the_front_has_pairs_that_no_other_beats():
    pairs = member_diagnostics.kappa_error(Votes.encode(*CASES[-1]))
    points = list(zip(pairs.kappa.tolist(), pairs.error.tolist()))
    for point, on_front in zip(points, pairs.pareto_front):
        better = [p for p in points if p[0] <= point[0] and p[1] <= point[1] and p != point]
        if on_front:
            assert not better
        else:
            assert better or points.count(point) > 1


def test_pairs_of_some_members_are_marked():
    pairs = member_diagnostics.kappa_error(Votes.encode(*cases.E2))
    chosen = [(i, j) for i, j, among in zip(*pairs[:2], pairs.pairs_among([0, 2, 4])) if among]
    assert chosen == [(0, 2), (0, 4), (2, 4)]


def test_distances_are_those_of_the_formula_and_near_members_neighbours():
    case = CASES[-1]
    pairs = member_diagnostics.pair_distances(Votes.encode(*case), [0])
    columns = cases.transpose(case.votes)
    n = case.n_members
    expected = [
        [naive.nvi(columns[i], columns[j]) if i != j else 0 for j in range(n)] for i in range(n)
    ]
    assert pairs.values == pytest.approx(np.array(expected), abs=1e-12)
    assert sorted(pairs.order) == list(range(n))
    off = [expected[i][j] for i, j in combinations(range(n), 2)]
    assert (pairs.low, pairs.high) == pytest.approx(tuple(np.percentile(off, [1, 99])))
    blocks = np.array([0, 1, 0, 1, 0])
    apart = 1.0 - (blocks[:, None] == blocks) * 0.9
    np.fill_diagonal(apart, 0)
    assert blocks[member_diagnostics.cluster_order(apart)].tolist() in (
        [0, 0, 0, 1, 1],
        [1, 1, 0, 0, 0],
    )


def test_of_very_many_members_the_kept_and_some_more_are_shown():
    rng = np.random.default_rng(0)
    votes = Votes.encode(rng.integers(2, size=(8, 600)), rng.integers(2, size=8))
    kept = [599, 5, 300]
    pairs = member_diagnostics.pair_distances(votes, kept)
    assert len(pairs.members) == member_diagnostics.MOST_IN_HEATMAP
    assert set(kept) <= set(pairs.members.tolist())
    assert (np.diff(pairs.members) > 0).all()


@pytest.mark.parametrize("case", CASES)
def test_steps_are_what_the_formulas_say(case):
    order = list(range(case.n_members))[::-1]
    votes = Votes.encode(*case)
    steps = member_diagnostics.selection_steps(votes, order, [float(m) for m in order])
    columns = cases.transpose(case.votes)
    for n, step in enumerate(steps):
        assert (step.member, step.score) == (order[n], order[n])
        wrong = naive.errors(case.votes, case.y, order[: n + 1])
        assert step.accuracy == pytest.approx(1 - wrong / len(case.y))
        assert step.alone == naive.n_correct(case.votes, case.y, order[n]) / len(case.y)
        before = [naive.nvi(columns[order[n]], columns[other]) for other in order[:n]]
        assert step.distance == pytest.approx(np.mean(before) if n else np.nan, nan_ok=True)


def test_errors_of_pairs_are_correlated_as_the_formula_says():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    table = y[:, None] + rng.normal(size=(40, 1)) + rng.normal(size=(40, 5))
    table[:, 4] = y + 0.5  # always off by the same
    masked = np.ma.array(table, mask=rng.random(table.shape) < 0.3)
    for given in (table, masked):
        pairs = member_diagnostics.error_correlations(Predictions.encode(given, y), [0])
        expected = list(combinations(range(5), 2))
        assert list(zip(pairs.first.tolist(), pairs.second.tolist())) == expected
        off = np.ma.asarray(given) - y[:, None]
        for place, (i, j) in enumerate(expected):
            both = ~np.ma.getmaskarray(off)[:, [i, j]].any(axis=1)
            first, second = (np.ma.getdata(off)[both, m] for m in (i, j))
            if 4 in (i, j):
                assert pairs.correlation[place] == pytest.approx(0, abs=1e-5)
            else:
                same = np.corrcoef(first, second)[0, 1]
                assert pairs.correlation[place] == pytest.approx(same, abs=1e-6)
            errors = [np.sqrt((off[:, m] ** 2).mean()) for m in (i, j)]
            assert pairs.error[place] == pytest.approx(np.mean(errors), abs=1e-6)


def test_pairs_of_very_many_members_are_those_of_a_sample_with_the_kept_ones(monkeypatch):
    monkeypatch.setattr(member_diagnostics, "MOST_IN_PAIRS", 6)
    rng = np.random.default_rng(0)
    votes, y = rng.integers(0, 3, (50, 40)), rng.integers(0, 3, 50)
    pairs = member_diagnostics.kappa_error(Votes.encode(votes, y), [31, 7])
    members = sorted({*pairs.first.tolist(), *pairs.second.tolist()})
    assert len(members) == 6
    assert {7, 31} <= set(members)
    assert list(zip(pairs.first.tolist(), pairs.second.tolist())) == list(combinations(members, 2))
    errors = (votes != y[:, None]).mean(axis=0)
    for place, (i, j) in enumerate(combinations(members, 2)):
        expected = float(naive.kappa(votes[:, i].tolist(), votes[:, j].tolist()))
        assert pairs.kappa[place] == pytest.approx(expected)
        assert pairs.error[place] == pytest.approx((errors[i] + errors[j]) / 2)
