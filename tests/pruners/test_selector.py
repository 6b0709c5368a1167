"""Selectors of other packages as pruners, and methods as pruners."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.tree import DecisionTreeClassifier

import naive
from cases import cases_with_keep, plain
from secateurs import COMEP, EPFD, BestMembersPruner, benchmark, compare, prune
from secateurs.exceptions import InputError
from secateurs.pruners import BasePruner, ReducedErrorPruner, SelectorPruner
from secateurs.pruners.selector import pruner_from_method, pruner_label
from secateurs.search import Choice


class Best(BaseEstimator):
    """The most accurate members, by a class that does not use secateurs."""

    def __init__(self, keep=2, random_state=None):
        self.keep = keep
        self.random_state = random_state

    def fit(self, votes, y):
        accuracy = (np.asarray(votes) == np.asarray(y)[:, None]).mean(axis=0)
        self.member_indices_ = np.argsort(-accuracy, kind="stable")[: self.keep]


class Half:
    """Every second member; not a scikit-learn estimator, and without ``keep``."""

    def fit(self, votes, y):
        self.n_members = votes.shape[1]

    def get_support(self):
        return np.arange(self.n_members) % 2 == 0


class Odd:
    """Selects the members that it was created with."""

    keep = 2

    def __init__(self, members):
        self.members = members

    def fit(self, votes, y):
        self.member_indices_ = self.members


@pytest.mark.filterwarnings("ignore:The ensemble has 1 member")
@given(cases_with_keep())
def test_it_keeps_what_the_selector_says(drawn):
    (votes, y), keep = drawn
    pruner = SelectorPruner(Best(keep=keep)).fit(votes, y)
    expected = naive.best_members(votes, y, keep)
    assert pruner.member_indices_.tolist() == expected
    columns = list(zip(*votes))
    right = [sum(a == b for a, b in zip(columns[t], y)) / len(y) for t in expected]
    assert pruner.scores_ == pytest.approx(right)


def test_labels_reach_it_as_they_were_given():
    class Seen:
        def fit(self, votes, y):
            self.member_indices_ = [0]
            self.votes, self.y = votes.tolist(), y.tolist()

    table, y = [["cat", "dog"], ["dog", "dog"]], ["cat", "dog"]
    selector = SelectorPruner(Seen()).fit(table, y).selector_
    assert (selector.votes, selector.y) == (table, y)


def test_a_selector_of_scikit_learn_is_one():
    votes, y = plain(12, 200)
    pruning = prune(votes, None, y, pruner=SelectKBest(chi2, k=5))
    expected = SelectKBest(chi2, k=5).fit(votes, y).get_support(indices=True)
    assert pruning.member_indices.tolist() == expected.tolist()


def test_groups_are_pruned_by_it_as_by_ours():
    votes, y = plain(40, 300)
    own = EPFD(Best(keep=4), n_groups=5, random_state=3).fit(votes, y)
    ours = EPFD(BestMembersPruner(keep=4), n_groups=5, random_state=3).fit(votes, y)
    assert own.member_indices_.tolist() == ours.member_indices_.tolist()
    assert [c.tolist() for c in own.candidates_] == [c.tolist() for c in ours.candidates_]
    assert EPFD(Half(), n_groups=2, random_state=0).fit(votes, y).support_.sum() >= 10
    nested = EPFD(EPFD(Best(keep=4), n_groups=2), n_groups=2, random_state=0)
    assert len(pickle.loads(pickle.dumps(nested.fit(votes, y))).member_indices_) == 4


def test_keep_and_seed_are_handed_on_and_the_selector_itself_stays_as_it_is():
    votes, y = plain(20, 100)
    selector = Best(keep=7)
    pruner = clone(SelectorPruner(selector)).with_keep(3).seed(11).fit(votes, y)
    assert (pruner.selector_.keep, pruner.selector_.random_state) == (3, 11)
    assert (selector.keep, hasattr(selector, "member_indices_")) == (7, False)
    pruning = prune(votes, None, y, pruner=selector, keep=0.2)
    assert pruning.member_indices.tolist() == naive.best_members(votes, y, 4)


def test_it_is_compared_with_the_others():
    votes, y = plain(20, 200)
    board = compare(votes, None, y, methods=["re", Best()], keep=[2, 4]).leaderboard()
    assert any("Best" in name for name in board["method"])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([0, 0], "not distinct members of the 9"),
        ([0, 9], "not distinct members of the 9"),
        ([-1, 0], "not distinct members of the 9"),
        ([], "not distinct members of the 9"),
        ([0.5, 1.0], "not distinct members of the 9"),
        ([[0, 1]], "not distinct members of the 9"),
        ([0, 1, 2], "Odd kept 3 members, not 2"),
    ],
)
def test_selected_members_are_checked(members, message):
    votes, y = plain(9, 30)
    with pytest.raises(InputError, match=message):
        SelectorPruner(Odd(members)).fit(votes, y)


class Own(BasePruner):
    """A user's pruner that returns the members that it was created with."""

    def __init__(self, members=(0, 1), keep=2):
        self.members = members
        self.keep = keep

    def _select(self, votes, n_keep, rng):
        return Choice(self.members, [0.0] * len(self.members))


class OwnFit(Own):
    """A user's pruner whose own ``fit`` sets its members."""

    def fit(self, votes, y=None):
        super().fit(votes, y)
        self.member_indices_ = np.array(self.members)
        return self

    def _select(self, votes, n_keep, rng):
        return Choice([0, 1], [0.0, 0.0])


WRONG_MEMBERS = [[1.7, 1.7], [1.0, 2.0], [3, 3], [-1, 2], [0, 12], [], [True, False], ["0", "1"]]


@pytest.mark.parametrize("members", WRONG_MEMBERS, ids=str)
def test_a_pruner_of_a_user_that_returns_wrong_members_is_named(members):
    votes, y = plain(12, 60)
    with pytest.raises(InputError, match=r"^Own has member_indices_=.* members of the 12"):
        Own(members).fit(votes, y)
    for pruner, name in ((Own(members), "Own"), (OwnFit(members), "OwnFit")):
        with pytest.raises(InputError, match=f"{name} has member_indices_=.*") as caught:
            prune(votes, None, y, pruner=pruner)
        assert "\n" not in str(caught.value)
    X, labels = np.arange(60.0)[:, None], np.arange(60) % 2
    for method in (Own(members), OwnFit(members), lambda votes, y, keep: members):
        name = getattr(method, "__name__", type(method).__name__)
        with pytest.raises(InputError, match=r"method mine: .*has member_indices_=") as caught:
            benchmark({"d": (X, labels)}, RandomForestClassifier(12), {"mine": method}, 2, folds=3)
        assert f"{name} has" in str(caught.value)


class Plain(Own):
    """A user's pruner that returns members without scores."""

    def _select(self, votes, n_keep, rng):
        return self.members


@pytest.mark.parametrize("members", [[3, 1], (3, 1), np.array([3, 1])], ids=str)
def test_a_pruner_of_a_user_may_return_members_only(members):
    votes, y = plain(12, 60)
    pruning = prune(votes, None, y, pruner=Plain(members))
    assert pruning.member_indices.tolist() == [3, 1]
    assert np.isnan(pruning.pruner.scores_).all()
    assert len(pruning.pruner.scores_) == 2
    assert pruning.summary()["after"]["members"] == 2


@pytest.mark.parametrize("members", [*WRONG_MEMBERS, None, 3, {1, 2}, [[0], [1, 2]]], ids=str)
def test_wrong_members_without_scores_are_named_too(members):
    votes, y = plain(12, 60)
    with pytest.raises(InputError, match=r"^Plain has member_indices_=.* members of the 12"):
        Plain(members).fit(votes, y)


@pytest.mark.parametrize("returned", [None, 3, "0"])
def test_a_function_that_returns_no_members_is_named(returned):
    def no_members(votes, y, keep):
        return returned

    votes, y = plain(9, 30)
    with pytest.raises(InputError, match=r"no_members has member_indices_=.*not distinct members"):
        pruner_from_method(no_members).with_keep(2).fit(votes, y)


def test_a_mask_of_another_length_or_type_is_refused():
    class Support:
        def fit(self, votes, y):
            pass

        def get_support(self):
            return [3, 5]

    votes, y = plain(9, 30)
    with pytest.raises(InputError, match=r"Support has get_support\(\) of type int64 and shape"):
        SelectorPruner(Support()).fit(votes, y)
    with pytest.raises(InputError, match="not distinct members"):
        pruner_from_method(lambda votes, y, keep: [True, True]).with_keep(2).fit(votes, y)


def test_bad_selectors_are_refused_in_one_line():
    votes, y = plain(9, 30)
    with pytest.raises(InputError, match=r"keep=3, but Half has no such attribute"):
        prune(votes, None, y, pruner=Half(), keep=3)
    with pytest.raises(InputError, match=r"has neither member_indices_ nor get_support"):
        SelectorPruner(DecisionTreeClassifier()).fit(votes, y)
    with pytest.raises(InputError, match=r"is not a valid pruner. Pass a name such as 'comep'"):
        EPFD(None).fit(votes, y)
    for none in (3, Best):
        with pytest.raises(InputError, match=r"is not a valid pruner. Pass a name such as 'comep'"):
            EPFD(none).fit(votes, y)
        with pytest.raises(InputError, match=r"is not a valid pruner. Pass a name such as 'comep'"):
            prune(votes, None, y, pruner=none)
    with pytest.raises(ValueError, match="cannot work with missing votes"):
        SelectorPruner(Best()).fit(np.ma.masked_equal(votes, 0), y)


def test_a_pruner_that_was_fitted_before_is_not_sent_with_its_votes(monkeypatch):
    votes, y = plain(30, 4000)
    sizes = []
    monkeypatch.setattr(
        COMEP, "for_members", lambda self, members: sizes.append(len(pickle.dumps(self))) or self
    )
    EPFD(COMEP(keep=3).fit(votes, y), n_groups=3, random_state=0).fit(votes, y)
    assert len(sizes) == 4
    assert max(sizes) < 1000


def test_a_class_and_a_function_become_pruners():
    def first(votes, y, keep):
        return range(keep)

    assert repr(pruner_from_method(COMEP)) == "COMEP()"
    pruner = pruner_from_method(first).with_keep(2).fit([[0, 1, 0], [1, 1, 0]], [0, 1])
    assert pruner.member_indices_.tolist() == [0, 1]


def test_labels_show_the_weight_and_the_parameters_that_were_set():
    pruner = EPFD(ReducedErrorPruner(backfit=True), n_groups=2)
    assert pruner_label(COMEP(keep=3)) == "comep λ=0.5"
    assert pruner_label(pruner) == "EPFD n_groups=2 pruner=re backfit=True"
