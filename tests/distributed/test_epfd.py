"""EPFD and DOMEP: two rounds over groups, against Algorithms 2 and 3."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import naive_orderings
from cases import cases_with_keep, make, plain
from checks import broken_checks
from naive_pareto import pareto_comep
from secateurs import COMEP, DOMEP, EPFD, KLDivergencePruner, Votes, all_pruners, make_pruner, prune

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|reference direction|one class)"
)


def columns(votes, members):
    return [[row[t] for t in members] for row in votes]


def frequencies(votes, y):
    return naive.class_frequencies(votes, y)


# The twins of the methods, on votes of some members: positions among these.
TWINS = {
    "comep": lambda v, y, k, seed: naive.comep(v, y, k, 0.5, "spread"),
    "kl": lambda v, y, k, seed: naive.kl_pruning(frequencies(v, y), k),
    "kp": lambda v, y, k, seed: naive.kappa_pruning(v, k) if len(v[0]) > 1 else [0],
    "oo": lambda v, y, k, seed: naive.orientation_ordering(v, y, k),
    "re": lambda v, y, k, seed: naive.reduced_error(v, y, k),
    "drep": lambda v, y, k, seed: naive.drep(v, y, 0.3, keep=k),
    "oep": lambda v, y, k, seed: naive.oep(v, y, k),
    "pcomep": lambda v, y, k, seed: pareto_comep(v, y, k, np.random.RandomState(seed)),
    "cluster": lambda v, y, k, seed: naive.cluster_pruning(v, y, k)[0],
    "boost": lambda v, y, k, seed: naive.boosting_order(v, y, k)[0],
    "mdm": lambda v, y, k, seed: naive_orderings.margin_distance(v, y, k),
    "comp": lambda v, y, k, seed: naive_orderings.complementarity(v, y, k),
    "uwa": lambda v, y, k, seed: naive_orderings.uncertainty_weighted(v, y, k),
    "epic": lambda v, y, k, seed: naive_orderings.contribution_ordering(v, y, k),
    "best": lambda v, y, k, seed: naive.best_members(v, y, k),
    "es": lambda v, y, k, seed: naive.early_stopping(len(v[0]), k),
    "random": lambda v, y, k, seed: naive.random_members(len(v[0]), k, np.random.RandomState(seed)),
    "sep": lambda v, y, k, seed: naive.sep(v, y, 5, np.random.RandomState(seed), k),
    "pep": lambda v, y, k, seed: naive.pep(v, y, 2, np.random.RandomState(seed), k)[0],
}
ROUNDS = {"sep": 5, "pep": 2}


def made(name, keep):
    parameters = {"n_iterations": ROUNDS[name]} if name in ROUNDS else {}
    return make_pruner(name, keep=keep, **parameters)


@pytest.mark.parametrize("name", TWINS)
@given(drawn=cases_with_keep(most_members=6, most_samples=15), data=st.data())
def test_prunes_groups_and_their_union_as_algorithm_3_does(name, drawn, data):
    (votes, y), keep = drawn
    n_members = len(votes[0])
    n_groups = data.draw(st.integers(2, max(2, n_members)))
    if n_groups > n_members:
        return
    seed, strict = data.draw(st.integers(0, 1000)), data.draw(st.booleans())
    rng = np.random.RandomState(seed)
    groups = naive.deal(n_members, n_groups, rng)
    seeds = rng.randint(2**31, size=n_groups + 1)

    def prune(members, index):
        kept = min(keep, len(members))
        twin = TWINS[name](columns(votes, members), y, kept, int(seeds[index]))
        return [members[t] for t in twin]

    def accuracy(members):
        if not strict and name not in ROUNDS and len(members) != keep:
            return None
        return 1 - naive.errors(votes, y, members) / len(y)

    chosen, result, best = naive.epfd(groups, prune, accuracy)
    pruner = EPFD(made(name, keep), n_groups, random_state=seed, strict=strict).fit(votes, y)
    assert [group.tolist() for group in pruner.groups_] == groups
    assert [members.tolist() for members in pruner.candidates_] == [*chosen, result]
    assert pruner.member_indices_.tolist() == best
    assert pruner.candidates_[pruner.winner_].tolist() == best


@given(cases_with_keep(most_members=7, most_samples=30), st.integers(0, 1000), st.data())
def test_domep_takes_the_largest_tdas_as_algorithm_2_does(drawn, seed, data):
    (votes, y), keep = drawn
    n_groups = data.draw(st.integers(1, len(votes[0])))
    pruner = DOMEP(keep, n_groups, random_state=seed).fit(votes, y)
    framed = EPFD(COMEP(keep), n_groups, "objective", random_state=seed).fit(votes, y)
    assert framed.member_indices_.tolist() == pruner.member_indices_.tolist()
    if n_groups == 1:
        assert pruner.member_indices_.tolist() == naive.comep(votes, y, keep, 0.5, "spread")
        return
    groups = naive.deal(len(votes[0]), n_groups, np.random.RandomState(seed))

    def prune(members, index):
        part = columns(votes, members)
        return [members[t] for t in naive.comep(part, y, min(keep, len(members)), 0.5, "spread")]

    def value(members):
        return naive.tdas(votes, y, members, 0.5) if len(members) == keep else None

    _, _, best = naive.epfd(groups, prune, value)
    assert pruner.member_indices_.tolist() == best
    assert pruner.objective_ == pytest.approx(value(best), abs=1e-12)
    assert pruner.objective_ >= naive.best_tdas(votes, y, keep, 0.5) / 4 - 1e-12


def test_a_group_can_win():
    won = set()
    for seed in range(100):
        case = plain(8, 12, 3, seed)
        pruner = DOMEP(3, 2, start="relevance", random_state=seed).fit(*case)
        scores = pruner.candidate_scores_
        assert scores[pruner.winner_] == pytest.approx(scores.max(), abs=1e-12)
        won.add(pruner.winner_ == 2)
    assert won == {True, False}


@pytest.mark.parametrize("name", all_pruners())
def test_one_group_is_the_method_itself(name):
    case = plain(12, 60)
    method = made(name, 4)
    if "random_state" in method.get_params():
        method.set_params(random_state=3)
    alone = clone(method).fit(*case)
    framed = EPFD(method, n_groups=1, random_state=0).fit(*case)
    assert framed.member_indices_.tolist() == alone.member_indices_.tolist()
    assert framed.scores_.tolist() == alone.scores_.tolist()


@pytest.mark.parametrize(
    ("n_members", "keep", "n_groups"), [(100, 10, 3), (100, 100, 1), (10, 9, 1), (1000, 10, 10)]
)
def test_the_number_of_groups_follows_the_root_of_n_over_k(n_members, keep, n_groups):
    votes = np.random.default_rng(0).integers(2, size=(20, n_members))
    pruner = DOMEP(keep, random_state=0).fit(votes, votes[:, 0])
    assert len(pruner.groups_) == n_groups


def test_groups_are_as_equal_as_can_be():
    pruner = EPFD(COMEP(2), 4, random_state=0).fit(*plain(10, 30))
    assert [len(group) for group in pruner.groups_] == [3, 3, 2, 2]
    assert sorted(np.concatenate(pruner.groups_)) == list(range(10))


def test_criteria_are_accuracy_objective_or_your_own():
    case = plain(20, 80)
    votes = Votes.encode(*case)
    by_error = EPFD(make_pruner("re", keep=3), 2, "objective", random_state=0).fit(votes)
    by_accuracy = EPFD(make_pruner("re", keep=3), 2, random_state=0).fit(votes)
    assert by_error.candidate_scores_ == pytest.approx(by_accuracy.candidate_scores_ - 1)

    def small_indices(votes, members):
        return -float(np.sum(members))

    own = EPFD(make_pruner("re", keep=3), 2, small_indices, random_state=0).fit(votes)
    assert sum(own.member_indices_) == min(sum(members) for members in own.candidates_)
    with pytest.raises(ValueError, match="needs a pruner with an objective_"):
        EPFD(make_pruner("best", keep=3), 2, "objective").fit(votes)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_only_the_final_choice_is_warned_of_and_its_members_by_their_own_numbers(n_jobs):
    case = make(0, 100, 2, ["wrong"] * 9)
    with pytest.warns(UserWarning, match="2 of the 2 selected members agree with y") as caught:
        pruner = DOMEP(keep=2, n_groups=3, n_jobs=n_jobs, random_state=0).fit(*case)
    low, high = sorted(pruner.member_indices_)
    (warning,) = caught
    assert f"(members {low}, {high})" in str(warning.message)
    assert warning.filename == __file__


def test_a_warning_that_concerns_all_groups_comes_once():
    with pytest.warns(UserWarning, match="no distributions") as caught:
        EPFD(KLDivergencePruner(keep=2), n_groups=5, random_state=0).fit(*plain(n_members=5))
    assert len(caught) == 1


def test_frameworks_can_be_nested():
    case = plain(24, 80)
    pruner = EPFD(EPFD(COMEP(3), 2), 2, random_state=0).fit(*case)
    assert len(pruner.member_indices_) == 3
    assert pruner.get_params()["pruner__pruner__keep"] == 3
    again = pickle.loads(pickle.dumps(pruner))
    assert again.member_indices_.tolist() == pruner.member_indices_.tolist()


def test_prune_sets_the_size_of_the_method_inside():
    (votes, y), framed = plain(24, 80), EPFD(COMEP(3), 2, random_state=0)
    pruning = prune(votes, y=y, pruner=framed, keep=5)
    expected = EPFD(COMEP(5), 2, random_state=0).fit(votes, y)
    assert pruning.member_indices.tolist() == expected.member_indices_.tolist()
    cheap = prune(votes, y=y, pruner=framed, cost=[1] * 24, max_cost=4)
    assert 1 <= len(cheap.member_indices) == cheap.pruner.keep <= 4


def test_distributions_follow_their_members():
    case = plain(8, 30)
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=8)
    pruner = EPFD(KLDivergencePruner(2, weights), 2, random_state=0).fit(*case)
    for group, members in zip(pruner.groups_, pruner.candidates_):
        expected = naive.kl_pruning(weights[group].tolist(), 2)
        assert members.tolist() == group[expected].tolist()


@pytest.mark.parametrize(
    ("pruner", "message"),
    [
        (EPFD(COMEP(2), 9), "n_groups=9 is not a valid number of groups for 6 members"),
        (EPFD(COMEP(2), 0), "n_groups=0 is not a valid number of groups"),
        (EPFD(COMEP(2), 2, "beauty"), "criterion='beauty' is unknown"),
        (EPFD(COMEP(2, start=1), 2), "start=1 is one member"),
        (EPFD(COMEP(20), 2), "keep=20 asks for more members than the ensemble has"),
        (DOMEP(diversity_weight=2), "diversity_weight=2 is out of range"),
    ],
)
def test_bad_parameters_are_refused(pruner, message):
    with pytest.raises(ValueError, match=message):
        pruner.fit(*plain(6, 20))


@parametrize_with_checks(
    [EPFD(COMEP(keep=0.5), random_state=0)], expected_failed_checks=broken_checks
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@given(cases_with_keep(), st.integers(1, 3), st.sampled_from(["random", "spread"]), st.floats(0, 1))
def test_domep_reaches_a_quarter_of_the_optimum(drawn, n_groups, start, weight):
    case, keep = drawn
    asked = {"n_groups": min(n_groups, case.n_members), "start": start, "random_state": 0}
    pruner = DOMEP(keep, diversity_weight=weight, **asked).fit(case.votes, case.y)
    best = naive.best_tdas(case.votes, case.y, keep, weight)
    assert naive.tdas(case.votes, case.y, pruner.member_indices_, weight) >= best / 4 - 1e-12
