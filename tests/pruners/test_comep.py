"""COMEP: Algorithm 1, its starts, its bound and its refinement."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import E1, E2, Case, cases_with_keep, make, plain
from secateurs import COMEP, Votes
from secateurs.objectives import TDAS
from secateurs.pruners import _comep

pytestmark = pytest.mark.filterwarnings("ignore:.*(chance would|1 member|one class)")

WEIGHTS = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
STARTS = ("spread", "relevance", "every", "first", "last")


def start_of(name, case):
    return {"first": 0, "last": case.n_members - 1}.get(name, name)


@pytest.mark.parametrize("start", STARTS)
@given(drawn=cases_with_keep(), weight=WEIGHTS)
def test_chooses_as_algorithm_1_does(start, drawn, weight):
    case, keep = drawn
    start = start_of(start, case)
    pruner = COMEP(keep, weight, start).fit(case.votes, case.y)
    chosen = pruner.member_indices_.tolist()
    assert chosen == naive.comep(case.votes, case.y, keep, weight, start)
    values = [naive.tdas(case.votes, case.y, chosen[: k + 1], weight) for k in range(keep)]
    assert pruner.scores_ == pytest.approx(values, abs=1e-12)
    assert pruner.objective_ == pruner.scores_[-1]


@given(cases_with_keep(), st.integers(0, 1000))
def test_a_random_start_is_drawn_from_the_seed(drawn, seed):
    case, keep = drawn
    first = np.random.RandomState(seed).randint(case.n_members)
    pruner = COMEP(keep, start="random", random_state=seed).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == naive.comep(case.votes, case.y, keep, 0.5, int(first))


@pytest.mark.parametrize("start", [*STARTS, "random"])
@given(drawn=cases_with_keep(most_members=6, most_samples=30), weight=WEIGHTS)
def test_is_at_least_half_as_good_as_the_best_set(start, drawn, weight):
    case, keep = drawn
    best = naive.best_tdas(case.votes, case.y, keep, weight)
    start = start_of(start, case)
    pruner = COMEP(keep, weight, start, random_state=0).fit(case.votes, case.y)
    assert pruner.objective_ >= best / 2 - 1e-12
    assert pruner.objective_ <= best + 1e-12
    assert pruner.upper_bound_ >= best


@given(cases_with_keep(most_members=6, most_samples=30), WEIGHTS)
def test_refined_sets_are_those_of_best_swaps(drawn, weight):
    case, keep = drawn
    plain_set = COMEP(keep, weight).fit(case.votes, case.y)
    refined = COMEP(keep, weight, refine=True).fit(case.votes, case.y)
    expected = naive.swap_refine(case.votes, case.y, plain_set.member_indices_.tolist(), weight)
    assert refined.member_indices_.tolist() == expected
    assert refined.objective_ >= plain_set.objective_ - 1e-12
    value = naive.tdas(case.votes, case.y, expected, weight)
    assert refined.objective_ == pytest.approx(value, abs=1e-12)
    assert refined.scores_[-1] == refined.objective_


@pytest.mark.parametrize(
    ("case", "start", "members", "value"),
    [(E1, 0, [0, 3, 1], 1.760200), (E2, 0, [0, 3, 1], 2.075272)],
)
def test_values_worked_out_by_hand(case, start, members, value):
    pruner = COMEP(keep=3, start=start).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members
    assert pruner.objective_ == pytest.approx(value, abs=1e-6)


def test_refinement_finds_the_optimum_of_e1():
    pruner = COMEP(keep=3, start=0, refine=True).fit(E1.votes, E1.y)
    assert sorted(pruner.member_indices_) == [1, 3, 4]
    assert pruner.objective_ == pytest.approx(1.833883, abs=1e-6)


def test_weight_0_adds_the_most_relevant_members():
    case = plain()
    relevance = [naive.relevance(case.votes, case.y, t) for t in range(case.n_members)]
    pruner = COMEP(keep=6, diversity_weight=0, start="relevance").fit(case.votes, case.y)
    best = sorted(range(case.n_members), key=lambda t: -relevance[t])[:6]
    assert pruner.member_indices_.tolist() == best
    assert pruner.relevance_ == pytest.approx(relevance)


def test_weight_1_does_not_look_at_the_true_labels():
    case = plain()
    shuffled = np.random.default_rng(0).permutation(case.y)
    first = COMEP(keep=6, diversity_weight=1).fit(case.votes, case.y)
    second = COMEP(keep=6, diversity_weight=1).fit(case.votes, shuffled)
    assert (first.member_indices_ == second.member_indices_).all()


def test_the_spread_start_looks_at_a_sample_of_many_members(monkeypatch):
    case = plain(n_members=40, n_samples=100)
    monkeypatch.setattr(_comep, "_SPREAD_EXACT", 20)
    monkeypatch.setattr(_comep, "_SPREAD_SAMPLE", 7)
    expected = naive.spread_start(case.votes, case.y, 0.5, exact_up_to=20, n_references=7)
    assert COMEP(keep=1).fit(case.votes, case.y).member_indices_ == [expected]


def test_the_bound_is_that_of_the_last_fit():
    case = plain()
    pruner = COMEP(keep=3).fit(case.votes, case.y)
    small = pruner.upper_bound_
    assert pruner.set_params(keep=6).fit(case.votes, case.y).upper_bound_ > small


def test_a_member_that_is_reliably_wrong_is_warned_of():
    case = make(0, 100, 2, ["noisy", "noisy", "wrong", "noisy"])
    with pytest.warns(UserWarning, match=r"1 of the 2 selected members .*\(member 2\)"):
        COMEP(keep=2, start=2).fit(case.votes, case.y)


def test_ordinary_members_are_not_warned_of():
    case = plain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        COMEP(keep=5).fit(case.votes, case.y)


def test_one_class_in_y_leaves_diversity_alone():
    case = make(1, 60, 2, ["random"] * 5)
    alone = Case(case.votes, [0] * 60)
    with pytest.warns(UserWarning, match=r"one class only \(0\)"):
        pruner = COMEP(keep=3).fit(*alone)
    assert pruner.member_indices_.tolist() == naive.comep(*alone, 3, 0.5, "spread")
    assert not pruner.relevance_.any()


def test_coded_votes_are_taken_as_they_are():
    case = plain()
    votes = Votes.encode(case.votes, case.y)
    first, second = COMEP(keep=5).fit(votes), COMEP(keep=5).fit(case.votes, case.y)
    assert (first.member_indices_ == second.member_indices_).all()


@given(cases_with_keep(), WEIGHTS)
def test_reaches_half_of_the_optimum_from_every_start(drawn, weight):
    """As Birnbaum and Goldman prove for greedy search and distances that are a metric."""
    case, keep = drawn
    best = naive.best_tdas(case.votes, case.y, keep, weight)
    for start in range(case.n_members):
        assert COMEP(keep, weight, start).fit(case.votes, case.y).objective_ >= best / 2 - 1e-12


def test_half_of_the_optimum_can_be_all_that_is_reached():
    """Two kept, relevance alone: the start knows nothing, and two others know all."""
    y = [0, 0, 1, 1]
    votes = np.transpose([[0, 1, 0, 1], y, [1, 1, 0, 0]])
    assert naive.best_tdas(votes.tolist(), y, 2, 0.0) == pytest.approx(1)
    assert COMEP(2, 0.0, 0).fit(votes, y).objective_ == pytest.approx(1 / 2)
    assert COMEP(2, 0.0).fit(votes, y).objective_ == pytest.approx(1)


@pytest.mark.parametrize("missing", [False, True])
def test_the_bound_is_the_same_to_the_last_bit_after_pickling(missing):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n_samples, n_members, n_classes = rng.integers((50, 5, 2), (300, 40, 20))
        y = rng.integers(n_classes, size=n_samples)
        votes = rng.integers(n_classes, size=(n_samples, n_members))
        votes = np.where(rng.random(votes.shape) < 0.5, y[:, None], votes)
        if missing:
            votes = np.ma.array(votes, mask=rng.random(votes.shape) < 0.2)
        pruner = COMEP(keep=3, diversity_weight=0.3).fit(votes, y)
        pruner._predictions.truth_counts  # noqa: B018 (cached)
        copy = pickle.loads(pickle.dumps(pruner))
        assert copy.upper_bound_ == pruner.upper_bound_
        assert (TDAS(copy._predictions, 0.3).relevance == pruner.relevance_).all()
