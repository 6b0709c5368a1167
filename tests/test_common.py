"""What holds for every pruner: scikit-learn's contract and ours."""

import inspect
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import naive_selection
from cases import KINDS, Case, cases, make, plain
from checks import broken_checks, quick
from secateurs import COMEP, EPFD, Votes, make_pruner
from secateurs._methods import METHODS
from secateurs.pruners import BasePruner

NAMES = tuple(METHODS)
BY_MEMBER_ORDER = (
    *("domep", "kl", "sep", "pep", "es", "random"),  # training order, random draws
    "caruana",  # adding the same member again leaves the mean unchanged, which ties
    "comp",  # ties: few samples count
)
# Tied votes go to the lowest class.
BY_CLASS_ORDER = ("re", "drep", "comp", "uwa", "pcomep", "caruana")

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|reference direction|one class)"
)


def declared(**facts):
    """Run a test for the methods of which the registry says so."""
    names = [
        name
        for name, method in METHODS.items()
        if all(getattr(method.traits, fact) == value for fact, value in facts.items())
    ]
    return pytest.mark.parametrize("name", names)


@parametrize_with_checks([quick(name) for name in NAMES], expected_failed_checks=broken_checks)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def members(pruner):
    return pruner.member_indices_.tolist()


def test_fitted_attributes_agree_with_each_other(name):
    case = plain(20, 100, 3)
    pruner = quick(name).fit(case.votes, case.y)
    chosen = members(pruner)
    assert len(set(chosen)) == len(chosen) == len(pruner.scores_)
    assert sorted(chosen) == np.flatnonzero(pruner.support_).tolist()
    assert pruner.get_support(indices=True).tolist() == sorted(chosen)
    assert pruner.classes_.tolist() == [0, 1, 2]
    assert pruner.n_features_in_ == 20
    if hasattr(pruner, "objective_"):
        assert pruner.objective_ == pruner.scores_[-1]


@pytest.mark.parametrize("keep", [1, 7, 20, 0.01, 0.125, 0.375, 1.0, np.int64(3), np.float32(0.5)])
def test_keep_is_a_count_or_a_fraction(name, keep):
    case = plain(20, 60)
    pruner = quick(name, keep=keep).fit(case.votes, case.y)
    n_kept = naive.n_kept(keep.item() if isinstance(keep, np.generic) else keep, 20)
    if METHODS[name].traits.may_keep_fewer:
        assert 1 <= len(members(pruner)) <= n_kept
    else:
        assert len(members(pruner)) == n_kept


def test_the_vote_of_the_kept_members_is_the_prediction(name):
    case = make(1, 80, 3, ["noisy"] * 9, ["ant", "bee", "cat"])
    pruner = quick(name, keep=4).fit(case.votes, case.y)
    chosen, weights = members(pruner), getattr(pruner, "weights_", np.ones(9))
    expected = [naive_selection.weighted_vote(case.votes, chosen, weights, n) for n in range(80)]
    assert pruner.predict(case.votes).tolist() == expected
    accuracy = np.mean([label == truth for label, truth in zip(expected, case.y)])
    assert pruner.score(case.votes, case.y) == accuracy


@pytest.mark.parametrize("name", NAMES)
@given(case=cases(most_members=6), data=st.data())
def test_many_batches_are_one_fit(name, case, data):
    size = data.draw(st.integers(1, len(case.y)))
    batched = quick(name)
    for first in range(0, len(case.y), size):
        batch = slice(first, first + size)
        batched.partial_fit(case.votes[batch], case.y[batch])
    whole = quick(name).fit(case.votes, case.y)
    assert members(batched) == members(whole)
    assert batched.scores_.tolist() == whole.scores_.tolist()
    assert batched.classes_.tolist() == whole.classes_.tolist()


def test_fit_forgets_earlier_batches(name):
    first, second = plain(12, 60, seed=1), plain(12, 60, seed=2)
    again = quick(name).partial_fit(*first).fit(*second)
    assert members(again) == members(quick(name).fit(*second))
    both = quick(name).fit(*first).partial_fit(*second)
    joined = Case(first.votes + second.votes, first.y + second.y)
    assert members(both) == members(quick(name).fit(*joined))


def test_names_of_classes_change_nothing(name):
    case = plain(15, 301, 3)
    expected = members(quick(name, keep=5).fit(*case))
    for labels in (["x", "y", "z"], [-5, 0, 99], [10.0, 20.0, 30.0]):
        renamed = Case(
            [[labels[label] for label in row] for row in case.votes],
            [labels[label] for label in case.y],
        )
        assert members(quick(name, keep=5).fit(*renamed)) == expected


def relabelled(case, labels):
    return Case(
        [[labels[label] for label in row] for row in case.votes],
        [labels[label] for label in case.y],
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BY_CLASS_ORDER])
@given(case=cases(most_members=6, classes=(2, 3, 7)), data=st.data())
def test_the_order_of_classes_decides_nothing(name, case, data):
    renamed = relabelled(case, data.draw(st.permutations(range(7))))
    for pruner in (quick(name), quick(name, keep=0.5)):
        assert members(pruner.fit(*renamed)) == members(pruner.fit(*case))


@pytest.mark.parametrize("name", BY_CLASS_ORDER)
def test_the_order_of_classes_decides_where_tied_votes_go_to_the_lowest(name):
    drawn = [plain(9, 30, 3, seed) for seed in range(200)]
    pruner = quick(name, keep=5)
    assert any(
        members(pruner.fit(*case)) != members(pruner.fit(*relabelled(case, [2, 0, 1])))
        for case in drawn
    )


def test_the_order_of_samples_changes_nothing(name):
    case = plain(15, 301, 3)
    order = np.random.default_rng(0).permutation(301)
    mixed = Case([case.votes[n] for n in order], [case.y[n] for n in order])
    assert members(quick(name, keep=5).fit(*mixed)) == members(quick(name, keep=5).fit(*case))


def test_the_order_of_members_decides_only_where_it_should(name):
    same = []
    for seed in range(5):
        case = plain(15, 3001, 3, seed)
        order = np.random.default_rng(seed).permutation(15)
        mixed = [[row[t] for t in order] for row in case.votes]
        found = quick(name, keep=5).fit(mixed, case.y).member_indices_
        expected = quick(name, keep=5).fit(*case).member_indices_
        same.append(sorted(order[found]) == sorted(expected))
    assert all(same) != (name in BY_MEMBER_ORDER)


@declared(needs_y=False)
def test_methods_that_do_not_look_at_true_labels_need_none(name):
    case = plain(10, 50)
    assert members(quick(name).fit(case.votes)) == members(quick(name).fit(*case))


@declared(needs_y=True)
def test_methods_that_look_at_true_labels_ask_for_them(name):
    with pytest.raises(ValueError, match="requires y to be passed"):
        quick(name).fit([[0, 1], [1, 1]])
    case = plain(10, 50)
    others = [np.random.default_rng(seed).permutation(case.y) for seed in range(5)]
    expected = members(quick(name, keep=3).fit(*case))
    assert any(members(quick(name, keep=3).fit(case.votes, y)) != expected for y in others)


def test_a_vote_for_a_class_that_y_never_shows_is_allowed(name):
    case = plain(8, 40)
    votes = [[2, *row[1:]] for row in case.votes]
    pruner = quick(name).fit(votes, case.y)
    assert pruner.classes_.tolist() == [0, 1, 2]


def test_one_class_in_y_is_allowed(name):
    case = make(0, 40, 2, ["random"] * 6)
    assert len(members(quick(name, keep=2).fit(case.votes, [1] * 40))) >= 1


def test_pruners_are_cloned_and_pickled(name):
    case = plain(10, 50)
    pruner = quick(name, keep=3).fit(*case)
    copy = pickle.loads(pickle.dumps(pruner))
    assert members(copy) == members(pruner)
    assert copy.partial_fit(*case).n_features_in_ == 10
    fresh = clone(pruner)
    assert not hasattr(fresh, "support_")
    assert members(fresh.fit(*case)) == members(pruner)


def test_a_restored_comep_still_knows_its_bound():
    case = plain(10, 50)
    pruner = COMEP(keep=3).fit(*case)
    assert pickle.loads(pickle.dumps(pruner)).upper_bound_ == pruner.upper_bound_


def test_members_keep_their_names(name):
    case = plain(6, 50)
    frame = pd.DataFrame(case.votes, columns=[f"tree {t}" for t in range(6)])
    pruner = quick(name, keep=2).fit(frame, case.y).set_output(transform="pandas")
    kept = [f"tree {t}" for t in sorted(members(pruner))]
    assert pruner.get_feature_names_out().tolist() == kept
    assert pruner.transform(frame).columns.tolist() == kept
    coded = quick(name, keep=2).fit(Votes.encode(frame, case.y))
    assert coded.get_feature_names_out().tolist() == kept


def test_text_votes_are_transformed_as_they_are():
    votes = np.array([["a", "b", "b"], ["b", "b", "a"], ["a", "a", "b"]])
    pruner = make_pruner("best", keep=1).fit(votes, ["a", "b", "a"])
    assert pruner.transform(votes).tolist() == [["a"], ["b"], ["a"]]


def test_a_grid_search_finds_keep_and_diversity_weight():
    case = plain(20, 200, 3)
    grid = {"keep": [3, 0.5], "diversity_weight": [0.1, 0.5, 0.9]}
    search = GridSearchCV(COMEP(), grid, cv=3, scoring="balanced_accuracy").fit(*case)
    assert set(search.best_params_) == {"keep", "diversity_weight"}
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_estimator_.score(*case) > 0.5


def test_pruners_go_into_pipelines(name):
    case = plain(10, 50)
    pipeline = make_pipeline(quick(name, keep=5), make_pruner("best", keep=2))
    assert pipeline.fit_transform(np.array(case.votes), case.y).shape[1] <= 2


def test_every_parameter_and_attribute_is_documented(name):
    pruner = quick(name).fit(*plain(10, 50))
    text = inspect.getdoc(type(pruner))
    for parameter in pruner.get_params():
        assert f"\n{parameter} : " in text
    described_in = {}
    for names, other in re.findall(r"\n([\w, ]+)\n    As for .*`(BasePruner|EPFD)`", text):
        kind = EPFD if other == "EPFD" else BasePruner
        described_in |= dict.fromkeys(names.split(", "), inspect.getdoc(kind))
    for attribute in vars(pruner):
        if attribute.endswith("_") and not attribute.startswith("_"):
            assert f"\n{attribute} : " in described_in.get(attribute, text)


def test_short_names_are_those_of_the_paper():
    assert {"comep", "kl", "kp", "oo", "re", "drep", "sep", "oep", "pep", "es"} <= set(NAMES)
    assert make_pruner("KP", keep=20).keep == 20


def test_sizes_are_fixed_unless_the_method_decides(name):
    assert quick(name).keep == (0.1 if METHODS[name].size_rule is None else None)


def test_classes_are_as_the_registry_declares_them(name):
    method, pruner = METHODS[name], quick(name)
    assert type(pruner).__name__ == method.class_name
    assert {
        fact: getattr(pruner, fact) for fact in method.class_attributes
    } == method.class_attributes
    assert hasattr(pruner, "diversity_weight") == method.has_diversity_weight
    assert hasattr(pruner, "n_iterations") == (method.traits.most_rounds is not None)


def with_weights(pruner, n_members=None):
    """The first members, with what their weights, if they have any, are among them."""
    weights = getattr(pruner, "weights_", np.ones(len(members(pruner))))[:n_members]
    return members(pruner)[:n_members], (weights / weights.sum()).round(9).tolist()


def test_members_for_a_smaller_keep_are_a_prefix_where_declared(name):
    drawn = [make(0, 65, 2, KINDS * 2), *(plain(14, 70, 3, seed) for seed in range(3))]
    same = []
    for case in drawn:
        *smaller, whole = (quick(name, keep=keep).fit(*case) for keep in range(1, 15))
        same += [with_weights(one) == with_weights(whole, len(members(one))) for one in smaller]
    assert all(same) == METHODS[name].traits.is_nested


def gapped(seed):
    """Votes with gaps, and the same with samples without any vote and other values in the gaps."""
    case, mask = plain(12, 60, 2, seed), np.random.default_rng(seed).random((60, 12)) < 0.2
    votes = np.ma.array(case.votes, mask=mask)
    filled = np.ma.array(np.where(mask, 1 - votes.data, votes.data), mask=mask)
    silent = np.ma.array(np.ones((40, 12), int), mask=True)
    return (votes, case.y), (np.ma.concatenate([filled, silent]), [*case.y, *[0, 1] * 20])


def test_missing_votes_are_no_evidence_or_refused(name, monkeypatch):
    if not METHODS[name].traits.takes_missing:
        with pytest.raises(ValueError, match="cannot work with missing votes"):
            quick(name).fit(*gapped(0)[0])
        monkeypatch.setattr(METHODS[name].load(), "takes_missing", True)
    same = []
    for seed in range(5):
        first, second = gapped(seed)
        same.append(
            members(quick(name, keep=4).fit(*first)) == members(quick(name, keep=4).fit(*second))
        )
    assert all(same) == METHODS[name].traits.takes_missing


def test_the_objective_has_the_direction_that_is_declared(name):
    direction = METHODS[name].traits.larger_is_better
    assert hasattr(quick(name).fit(*plain(8, 40)), "objective_") == (direction is not None)
    pruner = quick(name, keep=5 if METHODS[name].size_rule is None else None)
    gains = []
    for seed in range(8) if direction is not None else ():
        case = plain(24, 90, 2, seed)
        few = [row[:6] for row in case.votes]  # to choose from more is an advantage
        gains.append(pruner.fit(*case).objective_ - clone(pruner).fit(few, case.y).objective_)
        spread = EPFD(pruner, 3, "objective", random_state=seed).fit(*case)
        found = np.abs(spread.candidate_scores_)
        assert spread.objective_ == (max(found) if direction else min(found))
    assert direction is None or (np.mean(gains) > 0) == direction


def test_the_number_kept_is_the_one_declared(name):
    method = METHODS[name]
    case = make(0, 60, 2, ["noisy"] * 19 + ["perfect"])
    kept = members(quick(name, keep=1.0).fit(*case))
    assert (len(kept) < 20) == method.traits.may_keep_fewer
    if method.size_rule is None:
        with pytest.raises(ValueError, match="keep=None"):
            quick(name, keep=None).fit(*case)
    else:
        assert 1 <= len(members(quick(name, keep=None).fit(*case))) < 20
