"""ParetoCOMEP, its front and the set it keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import naive_pareto
from cases import D1, D2, D3, E1, E2, NAMED, cases_with_keep, make, plain
from secateurs import COMEP, EPFD, ParetoCOMEP
from secateurs.pruners import _pareto_comep

pytestmark = pytest.mark.filterwarnings("ignore:.*(1 member|chance would|one class)")

SEEDS = st.integers(0, 2**31)


def sums(votes, y, members):
    """Both sums of a set, by their formulas."""
    pairs = naive.combinations(members, 2)
    diversity = sum(naive.nvi(*[naive.column(votes, t) for t in pair]) for pair in pairs)
    return sum(naive.relevance(votes, y, t) for t in members), diversity


def assert_is_a_front(front, case):
    for members, relevance, diversity in front:
        assert list(members) == sorted(set(members))
        assert (relevance, diversity) == pytest.approx(sums(*case, members), abs=1e-9)
    assert (np.diff(front["relevance"]) < 0).all()
    assert (np.diff(front["diversity"]) > 0).all()


def assert_same_sets(front, expected):
    assert [members.tolist() for members in front["members"]] == [list(s[0]) for s in expected]
    assert front["relevance"] == pytest.approx([s[1] for s in expected], abs=1e-12)
    assert front["diversity"] == pytest.approx([s[2] for s in expected], abs=1e-12)


@given(cases_with_keep(), SEEDS)
def test_the_front_of_few_sets_is_the_one_of_all(drawn, seed):
    case, keep = drawn
    pruner = ParetoCOMEP(keep, seed).fit(*case)
    assert_same_sets(pruner.pareto_front_, naive_pareto.front(*case, keep))
    kept = pruner.pareto_front_[pruner.front_index_]["members"]
    assert pruner.member_indices_.tolist() == kept.tolist()
    assert pruner.scores_ == pytest.approx([naive.relevance(*case, t) for t in kept], abs=1e-12)


@given(cases_with_keep(most_members=6, most_samples=40), SEEDS)
def test_keeps_the_set_that_does_best_on_rows_held_out(drawn, seed):
    case, keep = drawn
    expected = naive_pareto.pareto_comep(*case, keep, np.random.RandomState(seed))
    assert ParetoCOMEP(keep, seed).fit(*case).member_indices_.tolist() == expected


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("keep", [1, 2, 3])
def test_fronts_of_named_cases(name, keep):
    case = NAMED[name]
    pruner = ParetoCOMEP(keep, random_state=0).fit(*case)
    assert_same_sets(pruner.pareto_front_, naive_pareto.front(*case, keep))


def test_one_member_is_the_most_relevant_one():
    case = plain(12, 100)
    pruner = ParetoCOMEP(1, random_state=0).fit(*case)
    assert len(pruner.pareto_front_) == 1
    assert pruner.member_indices_ == [naive.best({t: naive.relevance(*case, t) for t in range(12)})]
    assert (pruner.front_index_, pruner.trade_off_) == (0, 0.0)


@given(cases_with_keep(most_members=7, most_samples=30))
def test_a_searched_front_has_no_set_that_is_beaten_by_another(drawn):
    case, keep = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pareto_comep, "_MOST_SETS", 1)
        front = ParetoCOMEP(keep, random_state=0).fit(*case).pareto_front_
    assert_is_a_front(front, case)
    judged = [(members.tolist(), *sums(*case, members)) for members in front["members"]]
    assert not any(naive_pareto.beats(z, s) for z in judged for s in judged)
    # No swap of one member beats a set, or the search would have made it.
    for s in judged:
        for leaving in s[0]:
            for entering in set(range(case.n_members)) - set(s[0]):
                swapped = sorted({*s[0], entering} - {leaving})
                assert not naive_pareto.beats((swapped, *sums(*case, swapped)), s)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_finds_most_of_the_front(seed, monkeypatch):
    case = plain(14, 120, 3, seed)
    everything = naive_pareto.front(*case, 5)
    monkeypatch.setattr(_pareto_comep, "_MOST_SETS", 1)
    front = ParetoCOMEP(5, random_state=0).fit(*case).pareto_front_
    assert_is_a_front(front, case)
    found = {tuple(members) for members in front["members"].tolist()}
    known = {s[0] for s in everything}
    assert len(found & known) > 0.9 * len(known)


def test_the_front_is_no_worse_than_comep_at_any_weight(monkeypatch):
    case = plain(30, 200, 3)
    front = ParetoCOMEP(6, random_state=0).fit(*case).pareto_front_  # 593,775 sets
    assert_is_a_front(front, case)
    assert len(front) > 11
    for weight in (0, 0.3, 0.5, 1):
        relevance, diversity = sums(*case, COMEP(6, weight).fit(*case).member_indices_)
        reached = (front["relevance"] >= relevance - 1e-9) & (
            front["diversity"] >= diversity - 1e-9
        )
        assert reached.any()
    monkeypatch.setattr(_pareto_comep, "_MOST_SWAPS", 1)
    shorter = ParetoCOMEP(6, random_state=0).fit(*case).pareto_front_
    assert_is_a_front(shorter, case)
    assert len(shorter) < len(front)


def test_rows_in_any_order_and_rows_without_votes_change_nothing():
    case = plain(9, 80, 2, seed=4)
    expected = ParetoCOMEP(4, random_state=0).fit(*case)
    order = np.random.default_rng(0).permutation(80)
    mixed = ParetoCOMEP(4, random_state=0).fit(np.array(case.votes)[order], np.array(case.y)[order])
    silent = np.ma.concatenate([np.ma.array(case.votes), np.ma.masked_all((30, 9), dtype=int)])
    more = ParetoCOMEP(4, random_state=0).fit(silent, [*case.y, *[0, 1, 1] * 10])
    for other in (mixed, more):
        assert other.member_indices_.tolist() == expected.member_indices_.tolist()
        assert other.trade_off_ == expected.trade_off_


@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_ranks_of_classes_follow_the_samples_and_not_the_codes(
    n_classes, n_members, n_samples, seed
):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_samples)
    codes = rng.integers(n_classes + 1, size=(n_members, n_samples))  # the last one: missing
    order = rng.permutation(n_classes)
    tables = []
    for names in (np.arange(n_classes), order):
        y, votes = names[truth], np.append(names, n_classes)[codes]
        ranks = np.append(_pareto_comep.class_ranks(y, votes, n_classes), n_classes)
        assert sorted(ranks.tolist()) == list(range(n_classes + 1))
        tables.append(sorted(ranks[np.vstack([y, votes])].T.tolist()))
    assert tables[0] == tables[1]


def test_missing_votes_compare_members_where_both_have_one():
    case = plain(6, 60, 3)
    mask = np.random.default_rng(1).random((60, 6)) < 0.25
    front = ParetoCOMEP(3, random_state=0).fit(np.ma.array(case.votes, mask=mask), case.y)
    votes, y = np.array(case.votes), np.array(case.y)
    for members, relevance, diversity in front.pareto_front_:
        both = [(i, j, ~mask[:, i] & ~mask[:, j]) for i, j in naive.combinations(members, 2)]
        apart = [naive.nvi(votes[rows, i].tolist(), votes[rows, j].tolist()) for i, j, rows in both]
        own = [(t, ~mask[:, t]) for t in members]
        told = [naive.nmi(votes[rows, t].tolist(), y[rows].tolist()) for t, rows in own]
        assert (relevance, diversity) == pytest.approx((sum(told), sum(apart)))


def test_labels_may_be_text():
    numbers = plain(8, 60, 3)
    text = make(0, 60, 3, ["noisy"] * 8, ["ant", "bee", "cat"])
    first = ParetoCOMEP(3, random_state=0).fit(*numbers)
    second = ParetoCOMEP(3, random_state=0).fit(*text)
    assert (first.member_indices_ == second.member_indices_).all()


@pytest.mark.parametrize("case", [D1, D2])
def test_equal_members_leave_one_set(case):
    pruner = ParetoCOMEP(2, random_state=0).fit(*case)
    assert pruner.pareto_front_["members"].tolist() == [[0, 1]]
    assert pruner.pareto_front_["diversity"].tolist() == [0]


def test_one_class_in_y_is_warned_of():
    with pytest.warns(UserWarning, match=r"one class only \(0\)") as caught:
        pruner = ParetoCOMEP(2, random_state=0).fit(*D3)
    assert caught[0].filename == __file__
    assert not pruner.pareto_front_["relevance"].any()


def test_a_member_that_is_reliably_wrong_is_warned_of():
    case = make(0, 100, 2, ["wrong", "random", "random"])
    with pytest.warns(UserWarning, match=r"1 of the 1 selected members .*\(member 0\)"):
        ParetoCOMEP(1, random_state=0).fit(*case)


@pytest.mark.parametrize("case", [E1, E2, plain(30, 90, 3)])
def test_works_in_groups(case):
    grouped = EPFD(ParetoCOMEP(2), n_groups=2, random_state=0).fit(*case)
    assert len(grouped.member_indices_) == 2
    union = sorted(t for members in grouped.candidates_[:-1] for t in members.tolist())
    assert set(grouped.candidates_[-1].tolist()) <= set(union)
