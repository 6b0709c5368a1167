"""The numbers behind the figures, against their formulas said again."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cases
import naive
from secateurs import COMEP, Votes
from secateurs.evaluation import _diagnostics
from secateurs.evaluation._weights import WeightedChoices, weight_grid
from secateurs.exceptions import InputError
from secateurs.report._base64 import pack, sample_rows, unpack

CASES = [cases.E1, cases.E2, cases.D1, cases.make(1, 70, 3, cases.KINDS * 2)]


@pytest.mark.parametrize("case", CASES)
def test_pairs_have_the_kappa_and_error_of_their_formulas(case):
    pairs = _diagnostics.kappa_error(Votes.encode(*case))
    expected = list(combinations(range(case.n_members), 2))
    assert list(zip(pairs.first.tolist(), pairs.second.tolist())) == expected
    columns = cases.transpose(case.votes)
    errors = [naive.member_error([[v] for v in column], case.y) for column in columns]
    for place, (i, j) in enumerate(expected):
        assert pairs.kappa[place] == pytest.approx(float(naive.kappa(columns[i], columns[j])))
        assert pairs.error[place] == pytest.approx(float(errors[i] + errors[j]) / 2)


def test_the_front_has_pairs_that_no_other_beats():
    pairs = _diagnostics.kappa_error(Votes.encode(*CASES[-1]))
    points = list(zip(pairs.kappa.tolist(), pairs.error.tolist()))
    for point, on_front in zip(points, pairs.front):
        better = [p for p in points if p[0] <= point[0] and p[1] <= point[1] and p != point]
        if on_front:
            assert not better
        else:
            assert better or points.count(point) > 1


def test_pairs_of_some_members_are_marked():
    pairs = _diagnostics.kappa_error(Votes.encode(*cases.E2))
    chosen = [(i, j) for i, j, among in zip(*pairs[:2], pairs.among([0, 2, 4])) if among]
    assert chosen == [(0, 2), (0, 4), (2, 4)]


def test_distances_are_those_of_the_formula_and_near_members_neighbours():
    case = CASES[-1]
    pairs = _diagnostics.pair_distances(Votes.encode(*case), [0])
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
    assert blocks[_diagnostics.cluster_order(apart)].tolist() in ([0, 0, 0, 1, 1], [1, 1, 0, 0, 0])


def test_of_very_many_members_the_kept_and_some_more_are_shown():
    rng = np.random.default_rng(0)
    votes = Votes.encode(rng.integers(2, size=(8, 600)), rng.integers(2, size=8))
    kept = [599, 5, 300]
    pairs = _diagnostics.pair_distances(votes, kept)
    assert len(pairs.members) == _diagnostics.MOST_IN_HEATMAP
    assert set(kept) <= set(pairs.members.tolist())
    assert (np.diff(pairs.members) > 0).all()


@pytest.mark.parametrize("case", CASES)
def test_steps_are_what_the_formulas_say(case):
    order = list(range(case.n_members))[::-1]
    votes = Votes.encode(*case)
    steps = _diagnostics.selection_steps(votes, order, [float(m) for m in order])
    columns = cases.transpose(case.votes)
    for n, step in enumerate(steps):
        assert (step.member, step.score) == (order[n], order[n])
        wrong = naive.errors(case.votes, case.y, order[: n + 1])
        assert step.accuracy == pytest.approx(1 - wrong / len(case.y))
        assert step.alone == naive.n_correct(case.votes, case.y, order[n]) / len(case.y)
        before = [naive.nvi(columns[order[n]], columns[other]) for other in order[:n]]
        assert step.distance == pytest.approx(np.mean(before) if n else np.nan, nan_ok=True)


def test_confusion_and_losses_by_hand():
    truth = np.array([0, 0, 1, 1, 2])
    before, after = np.array([0, 1, 1, 1, 0]), np.array([1, 0, 1, 1, 2])
    assert _diagnostics.confusion(truth, before, 3).tolist() == [[1, 1, 0], [0, 2, 0], [1, 0, 0]]
    counts = _diagnostics.losses(truth, 3, before == truth, after == truth)
    assert counts.rows.tolist() == [2, 2, 1]
    assert counts.lost.tolist() == [1, 0, 0]
    assert counts.won.tolist() == [1, 0, 1]


def test_rows_are_told_by_the_share_of_members_that_are_right():
    right_of_ten = [0, 4, 5, 6, 9, 10]
    votes = [[1] * n + [0] * (10 - n) for n in right_of_ten]
    assert _diagnostics.by_share(Votes.encode(votes, [1] * 6)).tolist() == [0, 0, 1, 2, 5, 5]


@given(cases.cases(most_members=6, most_samples=40), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_choices_from_known_distances_are_those_of_comep(case, weight):
    with np.errstate(all="raise"):
        votes = Votes.encode(*case)
    for start in ("spread", "relevance", case.n_members - 1):
        pruner = COMEP(start=start)
        chosen = WeightedChoices(pruner, [weight], case.n_members).choosers()[repr(weight)](votes)
        assert chosen.order == naive.comep(case.votes, case.y, case.n_members, weight, start)


@pytest.mark.parametrize("start", ["spread", "relevance", "random", 7])
@pytest.mark.parametrize("n_members", [40, 300])  # above 256 the spread start looks at a sample
@pytest.mark.filterwarnings("ignore:.*agree with y less than chance")
def test_many_members_are_chosen_as_comep_does(n_members, start):
    votes = Votes.encode(*cases.make(5, 90, 4, ["noisy"] * (n_members - 8) + ["copy"] * 8))
    pruner = COMEP(start=start, random_state=3)
    choosers = WeightedChoices(pruner, [0.1, 0.5], n_members).choosers()
    for weight in (0.1, 0.5):
        alone = COMEP(n_members, weight, start, random_state=3).fit(votes)
        assert choosers[repr(weight)](votes).order == alone.member_indices_.tolist()


def test_the_grid_has_twentieths_and_more():
    assert weight_grid(0.37) == sorted([*(step / 20 for step in range(21)), 0.37])
    assert weight_grid(0.5) == weight_grid()


@given(
    hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=70), elements=st.integers(0, 400)),
    st.sampled_from([1, 2, 3, 4, 5, 16, 17, 256, 257, 500]),
)
def test_codes_come_back_as_they_went(values, n_codes):
    codes = values % n_codes
    packed = pack(codes, n_codes)
    assert (unpack(packed) == codes).all()
    assert packed["bits"] == next(b for b in (1, 2, 4, 8, 16) if n_codes <= 2**b)


def test_floats_come_back_to_the_last_bit_and_large_ones_deflated():
    values = np.random.default_rng(0).random(100)
    assert (unpack(pack(values)) == values).all()
    zeros = np.zeros((100, 9000), dtype=int)
    packed = pack(zeros, 3)
    assert packed["deflated"]
    assert len(packed["base64"]) < 1000
    assert (unpack(packed) == zeros).all()


@pytest.mark.parametrize(
    "damage",
    [
        {"base64": "?"},
        {"base64": "AAAA"},
        {"bits": 3},
        {"shape": [10**9, 10**9]},
        {"shape": [-1]},
        {"deflated": True},
    ],
)
def test_damaged_packs_are_refused(damage):
    packed = pack(np.arange(40) % 3, 3) | damage
    with pytest.raises(InputError, match="Packed numbers"):
        unpack(packed)


def test_a_bomb_does_not_go_off():
    packed = pack(np.zeros((1000, 1000), dtype=int), 3)
    with pytest.raises(InputError, match="bytes where 2 belong"):
        unpack(packed | {"shape": [5]})


def test_a_sample_of_rows_keeps_the_classes_in_proportion():
    truth = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 300, 100]))
    rows = sample_rows(truth, 100)
    assert len(set(rows.tolist())) == 100
    assert np.abs(np.bincount(truth[rows]) - [60, 30, 10]).max() <= 1
    assert sorted(sample_rows(truth, 1000)) == list(range(1000))
