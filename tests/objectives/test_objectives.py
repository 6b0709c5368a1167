"""Objectives, against the formulas."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import E1, E2, cases, cases_with_keep
from secateurs import Votes
from secateurs.objectives import TDAS, VoteError, _tdas

WEIGHTS = (0.0, 0.1, 0.5, 1.0)


@given(cases(most_members=5), st.sampled_from(WEIGHTS))
def test_tdac_equals_equation_4(case, weight):
    objective = TDAS(Votes.encode(case.votes, case.y), weight)
    members = range(case.n_members)
    expected = [[naive.tdac(case.votes, case.y, i, j, weight) for j in members] for i in members]
    assert objective.matrix() == pytest.approx(np.array(expected), abs=1e-12)
    with pytest.MonkeyPatch.context() as patch:  # without a table of logarithms
        patch.setattr(_tdas, "MOST_LOOKED_UP", 0)
        assert objective.matrix() == pytest.approx(np.array(expected), abs=1e-12)
    assert objective.matrix_rows(members) == pytest.approx(np.array(expected), abs=1e-12)
    relevance = [naive.relevance(case.votes, case.y, t) for t in members]
    assert objective.relevance == pytest.approx(relevance, abs=1e-12)


def equation_6(votes, y, members, weight):
    """TDAS as the paper reformulates it: sums of VI over all pairs and of MI over all members."""
    columns = {t: naive.column(votes, t) for t in members}
    variation = sum(naive.nvi(columns[i], columns[j]) for i in members for j in members)
    relevance = sum(naive.relevance(votes, y, t) for t in members)
    return weight * variation / 2 + (1 - weight) * (len(members) - 1) * relevance / 2


@given(cases_with_keep(most_members=6), st.sampled_from(WEIGHTS))
def test_equation_6_also_counts_the_relevance_of_members_that_vote_alike(drawn, weight):
    case, keep = drawn
    members = list(range(case.n_members))[-keep:]
    alike = [
        (i, j)
        for i, j in itertools.combinations(members, 2)
        if naive.column(case.votes, i) == naive.column(case.votes, j)
    ]
    extra = sum(naive.relevance(case.votes, case.y, i) for i, _ in alike)
    value = TDAS(Votes.encode(case.votes, case.y), weight).value_of(members)
    sixth = equation_6(case.votes, case.y, members, weight)
    assert sixth == pytest.approx(value + (1 - weight) * extra, abs=1e-12)


@given(cases_with_keep(most_members=6), st.sampled_from(WEIGHTS), st.sampled_from([0, 1 << 17]))
def test_tdas_equals_equation_5(drawn, weight, least_read_once):
    case, keep = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tdas, "_LEAST_READ_ONCE", least_read_once)
        check_equation_5(case, keep, weight)


def check_equation_5(case, keep, weight):
    objective = TDAS(Votes.encode(case.votes, case.y), weight)
    members = list(range(case.n_members))[-keep:]
    expected = naive.tdas(case.votes, case.y, members, weight)
    assert objective.value_of(members) == pytest.approx(expected, abs=1e-12)
    for member in members:
        gain = objective.gains()[member]
        before = objective.value
        objective.add(member)
        assert objective.value == pytest.approx(before + gain)
    assert objective.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("missing", ["wrong", "ignore"])
@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_rows_of_one_member_are_those_of_several(monkeypatch, missing, n_classes):
    monkeypatch.setattr(_tdas, "_LEAST_READ_ONCE", 0)
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=150)
    votes = np.where(
        rng.random((150, 12)) < 0.6, y[:, None], rng.integers(n_classes, size=(150, 12))
    )
    gaps = np.ma.array(votes, mask=rng.random(votes.shape) < 0.1)
    for table in (votes, gaps):
        objective = TDAS(Votes.encode(table, y, missing=missing), 0.3)
        rows = objective.matrix_rows(range(12))
        for member in range(12):
            assert objective.matrix_rows([member]).tolist() == rows[[member]].tolist()


@pytest.mark.parametrize(
    ("case", "members", "value"),
    [
        (E1, [0, 3, 1], 1.760200),
        (E1, [1, 3, 4], 1.833883),
        (E2, [0, 3, 1], 2.075272),
        (E2, [1, 2, 3], 2.085922),
    ],
)
def test_tdas_computed_by_hand(case, members, value):
    objective = TDAS(Votes.encode(case.votes, case.y), 0.5)
    assert objective.value_of(members) == pytest.approx(value, abs=1e-6)


def test_tdac_of_e1_computed_by_hand():
    row = TDAS(Votes.encode(E1.votes, E1.y), 0.5).matrix_rows([0])[0]
    assert row == pytest.approx([0, 0.557984, 0.557984, 0.601108, 0.377007, 0.455521], abs=1e-6)


def test_members_with_equal_votes_have_distance_zero():
    votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0]]
    assert TDAS(Votes.encode(votes, [0, 1, 0]), 0.0).matrix()[0, 1] == 0


def errors_of(objective, value):
    return Fraction(-value, objective.units_per_error)


@given(cases(), st.data())
def test_errors_equal_the_formula(case, data):
    votes = Votes.encode(case.votes, case.y)
    all_members = list(range(case.n_members))
    chosen = data.draw(st.lists(st.sampled_from(all_members), unique=True, min_size=1))
    formulas = (("lowest", naive.errors), ("shared", naive.expected_errors))
    for (ties, formula), distinct in itertools.product(formulas, (False, True)):
        objective = VoteError(votes, ties, distinct)
        objective.reset(chosen)
        expected = formula(case.votes, case.y, chosen)
        assert errors_of(objective, objective.value) == expected
        assert objective.error_rates(objective.value) == pytest.approx(
            float(expected / len(case.y))
        )
        gains = objective.gains()
        for member in set(all_members) - set(chosen):
            after = formula(case.votes, case.y, [*chosen, member])
            assert errors_of(objective, int(gains[member])) == after


@pytest.mark.parametrize("distinct", [False, True])
@given(cases(), st.data())
def test_flips_add_and_remove(distinct, case, data):
    votes = Votes.encode(case.votes, case.y)
    mask = data.draw(st.lists(st.booleans(), min_size=case.n_members, max_size=case.n_members))
    chosen = np.array(mask)
    if not chosen.any():
        chosen[0] = True
    objective = VoteError(votes, "shared", distinct)
    objective.reset(np.flatnonzero(chosen))
    worths = objective.flip_gains(chosen)
    for member in range(case.n_members):
        after = set(np.flatnonzero(chosen)) ^ {member}
        if after:
            expected = naive.expected_errors(case.votes, case.y, after)
            assert errors_of(objective, int(worths[member])) == expected
        else:
            assert errors_of(objective, int(worths[member])) > len(case.y)
    before = objective.value
    all_members = np.arange(case.n_members)
    objective.flip_members(all_members, chosen)
    objective.flip_members(all_members, chosen)
    assert objective.value == before


@given(cases(most_members=5, most_samples=6), st.integers(2, 5), st.integers(1, 31))
def test_distinct_samples_give_the_same_values(case, times, start):
    votes = Votes.encode(np.repeat(case.votes, times, axis=0), np.repeat(case.y, times))
    chosen = np.array([start >> t & 1 for t in range(case.n_members)], dtype=bool)
    chosen[0] |= not chosen.any()
    plain, reduced = (VoteError(votes, "shared", distinct) for distinct in (False, True))
    assert reduced.can_flip_each
    assert not plain.can_flip_each
    for objective in (plain, reduced):
        objective.reset(np.flatnonzero(chosen))
    assert plain.value == reduced.value
    assert plain.flip_gains(chosen).tolist() == reduced.flip_gains(chosen).tolist()
    assert plain.gains().tolist() == reduced.gains().tolist()
    order, worths = reduced.flip_each(chosen.copy())
    for member, worth in zip(order, worths, strict=True):
        plain.flip_members([member], chosen)
        assert worth == (
            plain.value if chosen.any() else -len(votes.truth) * plain.units_per_error - 1
        )
    assert sorted(order) == list(range(case.n_members))
    assert plain.value == reduced.value


@given(cases(most_members=5, most_samples=20), st.data())
def test_votes_that_differ_from_the_winner_are_counted(case, data):
    is_masked = data.draw(st.booleans())
    mask = np.random.default_rng(0).random(np.shape(case.votes)) < 0.3 * is_masked
    votes = Votes.encode(np.ma.array(case.votes, mask=mask), case.y)
    objective = VoteError(votes, "lowest")
    for member in range(case.n_members):
        objective.add(member)
        for sample, count in enumerate(objective.n_overruled()):
            given_votes = [
                label
                for t, label in enumerate(case.votes[sample][: member + 1])
                if not mask[sample][t]
            ]
            tally = [given_votes.count(label) for label in votes.classes]
            is_right = votes.classes[int(np.argmax(tally))] == case.y[sample]
            assert count == sum((label == case.y[sample]) != is_right for label in given_votes)


def test_the_empty_set_has_the_lowest_value():
    objective = VoteError(Votes.encode([[0, 1]], [0]), "shared")
    assert objective.value == -np.inf
    objective.add(0)
    objective.remove(0)
    assert objective.value == -np.inf


def test_ties_of_many_classes_are_exact():
    """The common unit of 60 tied classes, times the samples, exceeds 64 bits."""
    votes = [list(range(60))] * 1000
    for distinct in (False, True):
        objective = VoteError(Votes.encode(votes, [0] * 1000), "shared", distinct)
        objective.reset(range(59))
        assert errors_of(objective, objective.value) == 1000 * (1 - Fraction(1, 59))
        assert errors_of(objective, objective.gains()[59]) == 1000 * (1 - Fraction(1, 60))


@given(cases(most_members=6), st.integers(0, 1000), st.data())
def test_rounds_of_flips_with_more_errors_are_undone(case, seed, data):
    most = data.draw(st.integers(1, case.n_members))
    flips = np.random.RandomState(seed).rand(12, case.n_members) < 0.4
    start = [t == seed % case.n_members for t in range(case.n_members)]
    expected = list(start)

    def errors(chosen):
        members = [t for t, inside in enumerate(chosen) if inside]
        return naive.expected_errors(case.votes, case.y, members)

    for turn in flips:
        after = [inside != flipped for inside, flipped in zip(expected, turn)]
        if sum(after) <= most and errors(after) <= errors(expected):
            expected = after
    for distinct in (True, False):
        objective = VoteError(Votes.encode(case.votes, case.y), ties="shared", distinct=distinct)
        chosen = np.array(start)
        objective.reset(np.flatnonzero(chosen))
        objective.flip_rounds(flips[:5], chosen, most)
        objective.flip_rounds(flips[5:], chosen, most)
        assert chosen.tolist() == expected
        assert objective.error_rates(objective.value) == pytest.approx(
            float(errors(expected)) / len(case.y)
        )


@given(cases(most_members=6), st.floats(0, 1))
def test_tdac_is_a_metric_up_to_renamed_labels(case, weight):
    """Eq. 4 of the paper: symmetric, never negative, with the triangle inequality."""
    far = TDAS(Votes.encode(case.votes, case.y), weight).matrix()
    assert (far == far.T).all()
    assert (far >= 0).all()
    assert (np.diag(far) == 0).all()
    assert (far[:, None, :] <= far[:, :, None] + far[None, :, :] + 1e-12).all()  # (i, j, k)
    columns = list(zip(*case.votes))
    for i, j in itertools.combinations(range(case.n_members), 2):
        one_to_one = {len(set(zip(columns[i], columns[j]))), len(set(columns[i]))}
        if (
            far[i, j] <= 1e-12 and columns[i] != columns[j]
        ):  # VI is 0, and relevance is 0 or has no weight
            assert len(one_to_one | {len(set(columns[j]))}) == 1 or weight < 1e-9
