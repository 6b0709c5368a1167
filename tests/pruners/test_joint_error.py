"""Joint error."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import mean_squared_error

import naive_scores
from cases import E1, E2, make
from score_cases import KINDS, make_scores, score_cases_with_keep
from secateurs import JointErrorPruner, Predictions, collect_predictions
from secateurs.exceptions import InputError
from secateurs.objectives import JointError, _joint_error, _lazy_sums
from secateurs.search import best_member

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

# Five samples, four members: probabilities of the second class.
SOFT = np.array([[1, 6, 9, 4, 8], [4, 2, 6, 7, 3], [7, 1, 8, 9, 6], [2, 7, 3, 8, 9]]).T / 10
SOFT_TABLE, SOFT_Y = np.stack([1 - SOFT, SOFT], axis=2), [0, 0, 1, 1, 1]


def members(pruner):
    return pruner.member_indices_.tolist()


@given(score_cases_with_keep(), st.sampled_from([0, 0, Fraction(1, 2), 1]), st.booleans())
def test_chooses_as_the_formula_does(drawn, shrink, refine):
    case, keep = drawn
    pruner = JointErrorPruner(keep, float(shrink), refine).fit(case.given)
    expected = naive_scores.joint_error(case.outputs, case.truth, keep, Fraction(shrink), refine)
    assert members(pruner) == expected
    G = naive_scores.error_matrix(case.outputs, case.truth)
    errors = [naive_scores.squared_error(G, expected[: k + 1]) for k in range(keep)]
    assert pruner.scores_ == pytest.approx([float(error) for error in errors], rel=1e-9, abs=1e-300)
    assert pruner.objective_ == pruner.scores_[-1]


@given(score_cases_with_keep(kinds=["probabilities"], most_members=12))
def test_lazy_evaluation_chooses_as_the_formula_does(drawn):
    case, keep = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_joint_error, "_LEAST_LAZY", 0)
        patch.setattr(_lazy_sums, "_TRIAL_STEPS", 100)
        patch.setattr(_lazy_sums, "_FIRST_MEMBERS", 1)
        pruner = JointErrorPruner(keep).fit(case.given)
    assert members(pruner) == naive_scores.joint_error(case.outputs, case.truth, keep)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("trial_steps", [2, 100])
def test_lazy_gains_are_exact_and_leave_out_members_that_cannot_be_best(
    monkeypatch, n_classes, trial_steps
):
    rng = np.random.default_rng(n_classes)
    truth = np.eye(n_classes)[rng.integers(n_classes, size=200)]
    noise = rng.dirichlet(np.ones(n_classes), (60, 200))
    quality = rng.random(60)[:, None, None]
    table = quality * truth + (1 - quality) * noise
    table[7], table[8] = table[3], 1 - table[3] if n_classes == 2 else table[3]
    predictions = Predictions.encode(table.swapaxes(0, 1), truth.argmax(axis=1))
    dense = JointError(predictions)
    monkeypatch.setattr(_joint_error, "_LEAST_LAZY", 0)
    monkeypatch.setattr(_lazy_sums, "_TRIAL_STEPS", trial_steps)
    lazy = JointError(predictions)
    free = np.ones(60, dtype=bool)
    n_left_out = 0
    for _ in range(30):
        gains, all_gains = lazy.leading_gains(free), dense.gains()
        is_known = np.isfinite(gains)
        assert gains[is_known & free].tolist() == all_gains[is_known & free].tolist()
        member = best_member(all_gains, free)
        assert best_member(gains, free) == member
        n_left_out += np.count_nonzero(~is_known & free)
        for objective in (lazy, dense):
            objective.add(member)
        assert lazy.value == dense.value
        free[member] = False
    assert n_left_out > (30 if trial_steps == 100 else 0)
    assert lazy.gains()[free].tolist() == dense.gains()[free].tolist()


@given(score_cases_with_keep())
def test_no_set_has_a_smaller_error_than_the_bound(drawn):
    case, keep = drawn
    pruner = JointErrorPruner(keep).fit(case.given)
    least = naive_scores.least_joint_error(case.outputs, case.truth, keep)
    assert pruner.lower_bound_ <= max(0.0, float(least)) * (1 + 1e-12)
    assert pruner.lower_bound_ <= max(0.0, pruner.objective_) * (1 + 1e-12)


def test_the_bound_is_close_and_follows_a_new_fit():
    case = make_scores(0, "probabilities", 40, 300)
    pruner = JointErrorPruner(20).fit(case.given)
    assert 0.8 * pruner.objective_ < pruner.lower_bound_ <= pruner.objective_
    again = pruner.set_params(keep=12).fit(case.given).lower_bound_
    assert again == JointErrorPruner(12).fit(case.given).lower_bound_ <= pruner.objective_


@given(score_cases_with_keep(), st.data())
def test_many_batches_are_one_fit(drawn, data):
    case, keep = drawn
    n_samples = len(case.y)
    cut = data.draw(st.integers(1, n_samples))
    whole = JointErrorPruner(keep).fit(case.given)
    present = ~np.ma.getmaskarray(case.table).reshape(n_samples, case.n_members, -1)[..., 0]
    if cut == n_samples or not present[:cut].any(axis=0).all() or not present[cut:].any():
        return
    batched = JointErrorPruner(keep)
    for run in (slice(0, cut), slice(cut, n_samples)):
        batch = type(case.given).encode(case.table[run], case.y[run])
        batched.partial_fit(batch)
    assert members(batched) == members(whole)
    assert batched.scores_.tolist() == whole.scores_.tolist()


def test_soft_example_of_four_members():
    pruner = JointErrorPruner(keep=2).fit(SOFT_TABLE, SOFT_Y)
    assert sorted(members(pruner)) == [0, 2]
    assert pruner.objective_ == pytest.approx(0.207, abs=1e-4)
    assert pruner.lower_bound_ == pytest.approx(0.207, abs=1e-4)
    everyone = JointErrorPruner(keep=1.0).fit(SOFT_TABLE, SOFT_Y)
    assert everyone.objective_ == pytest.approx(0.247, abs=1e-4)


def test_labels_of_two_classes_are_ordered_by_the_tandem_loss():
    assert members(JointErrorPruner(keep=1.0).fit(*E1)) == [3, 4, 1, 2, 0, 5]


def test_labels_of_three_classes():
    assert members(JointErrorPruner(keep=1.0).fit(*E2)) == [2, 3, 1, 0, 4]


@pytest.mark.parametrize("shrink", [0.0, 0.5])
def test_labels_are_probabilities_of_one(shrink):
    case = make(3, 200, 3, ["noisy"] * 12)
    hard = np.eye(3)[np.array(case.votes)]
    by_labels = JointErrorPruner(5, shrink).fit(*case)
    by_scores = JointErrorPruner(5, shrink).fit(hard, case.y)
    assert members(by_labels) == members(by_scores)
    assert by_labels.scores_ == pytest.approx(by_scores.scores_, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_objective_is_the_brier_score_of_a_forest(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int) + 2 * (X[:, 1] > 0) * (n_classes == 4)
    forest = RandomForestClassifier(25, max_depth=4, random_state=0).fit(X[:200], y[:200])
    scores = collect_predictions(forest, X[200:])
    pruner = JointErrorPruner(keep=6).fit(scores, y[200:])
    kept = [forest.estimators_[t].predict_proba(X[200:]) for t in members(pruner)]
    truth = np.eye(n_classes)[y[200:]]
    brier = ((np.mean(kept, axis=0) - truth) ** 2).sum(axis=1).mean()
    assert pruner.objective_ == pytest.approx(brier, abs=2.0**-13)
    others = [forest.estimators_[t].predict_proba(X[200:]) for t in range(6)]
    assert brier < ((np.mean(others, axis=0) - truth) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_objective_is_the_mean_squared_error_of_a_regression_forest(scale):
    X, y = make_regression(400, 5, noise=20, random_state=0)
    y = y * scale
    forest = RandomForestRegressor(25, max_depth=4, random_state=0).fit(X[:200], y[:200])
    pruner = JointErrorPruner(keep=6).fit(collect_predictions(forest, X[200:]), y[200:])
    kept = np.mean([forest.estimators_[t].predict(X[200:]) for t in members(pruner)], axis=0)
    assert pruner.objective_ == pytest.approx(mean_squared_error(y[200:], kept), rel=1e-7)
    off = 2.0**-28 * np.abs(y).max()
    assert pruner.predict(collect_predictions(forest, X[200:])) == pytest.approx(kept, abs=off)


@pytest.mark.parametrize("kind", KINDS)
def test_swaps_only_help(kind):
    for seed in range(10):
        case = make_scores(seed, kind, 12, 30)
        greedy, refined = (JointErrorPruner(4, refine=r).fit(case.given) for r in (False, True))
        assert refined.objective_ <= greedy.objective_
        assert not refined.is_nested
        assert greedy.is_nested


def test_progress_is_told_as_squared_errors():
    case = make_scores(0, "numbers", 8, 30)
    seen = []
    pruner = JointErrorPruner(4).fit(case.given, callback=lambda *told: seen.append(told))
    assert seen == [(k + 1, 4, score) for k, score in enumerate(pruner.scores_.tolist())]


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"shrink": 1.5}, "shrink=1.5 is out of range"),
        ({"shrink": "half"}, "shrink='half' is out of range"),
        ({"shard": "columns"}, "shard='columns' is unknown"),
    ],
)
def test_senseless_parameters_are_refused(parameters, told):
    with pytest.raises(InputError, match=told):
        JointErrorPruner(**parameters).fit(*E1)


def test_numbers_need_true_numbers():
    scores = Predictions.encode([[2.5, 1.0], [0.5, 2.0]])
    with pytest.raises(InputError, match="requires y"):
        JointErrorPruner(keep=1).fit(scores)
