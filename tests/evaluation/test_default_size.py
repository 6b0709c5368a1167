"""The default size: spread of predictions, guard on the loss, boosted prefixes and libraries."""

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_classification, make_friedman1
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from secateurs import COMEP, LeafRefit, Predictions, Votes, prune
from secateurs.evaluation.budget import Budget
from secateurs.evaluation.default_size import (
    MAX_AUC_LOSS,
    MAX_CHANGE,
    MAX_CHANGE_BOOSTED,
    MIN_REFITTED,
    DefaultSize,
    Spread,
    measure_spread,
    smallest_guarded_size,
    smallest_unchanged_prefix,
)
from secateurs.evaluation.ranking_spread import expected_auc
from secateurs.evaluation.size_search import SizeSearch
from secateurs.problem import Problem

X, Y = make_classification(1500, 12, n_informative=5, weights=[0.85], random_state=0)
FIT, CHOOSE, TEST = slice(0, 500), slice(500, 900), slice(900, None)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(60, random_state=0).fit(X[FIT], Y[FIT])


def naive_spread(table, weights, sample_weight):
    """Return both parts of the spread of (members, samples, classes), NaN where missing."""
    n_members, n_samples, n_classes = table.shape
    within, means, counted = [], [], []
    for sample in range(n_samples):
        present = [m for m in range(n_members) if not math.isnan(table[m, sample, 0])]
        total = sum(weights[m] for m in present)
        if total == 0:
            continue
        mean = [
            sum(weights[m] * table[m, sample, c] for m in present) / total for c in range(n_classes)
        ]
        distance = [
            sum((table[m, sample, c] - mean[c]) ** 2 for c in range(n_classes)) for m in present
        ]
        within.append(sum(weights[m] * d for m, d in zip(present, distance, strict=True)) / total)
        means.append(mean)
        counted.append(sample_weight[sample])
    total = sum(counted)
    centre = [
        sum(w * mean[c] for w, mean in zip(counted, means, strict=True)) / total
        for c in range(n_classes)
    ]
    between = [sum((a - b) ** 2 for a, b in zip(mean, centre, strict=True)) for mean in means]
    return (
        sum(w * v for w, v in zip(counted, within, strict=True)) / total,
        sum(w * v for w, v in zip(counted, between, strict=True)) / total,
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.booleans(), st.booleans())
def test_the_spread_of_probabilities_equals_its_twin(seed, n_classes, has_missing, has_weights):
    rng = np.random.RandomState(seed)
    n_samples, n_members = rng.randint(3, 9), rng.randint(1, 6)
    cells = rng.multinomial(16, np.full(n_classes, 1 / n_classes), (n_samples, n_members)) / 16
    missing = rng.rand(n_samples, n_members) < 0.3 * has_missing
    missing[0] = False
    mask = np.broadcast_to(missing[:, :, None], cells.shape)
    predictions = Predictions.encode(np.ma.array(cells, mask=mask), rng.randint(2, size=n_samples))
    weights = rng.randint(1, 4, n_members).astype(float) if has_weights else np.ones(n_members)
    sample_weight = rng.randint(1, 5, n_samples).astype(float)
    table = np.where(mask, np.nan, cells).transpose(1, 0, 2)
    found = measure_spread(predictions, weights if has_weights else None, sample_weight)
    expected = naive_spread(table, weights, sample_weight)
    np.testing.assert_allclose(found[:2], expected, atol=1e-12)


def test_labels_count_as_probabilities_and_values_have_one_component():
    labels = np.array([[0, 0, 1], [1, 1, 1], [2, 0, 2], [1, 2, 0]])
    table = np.eye(3)[labels].transpose(1, 0, 2)
    found = measure_spread(Votes.encode(labels, [0, 1, 2, 0]))
    np.testing.assert_allclose(found[:2], naive_spread(table, np.ones(3), np.ones(4)), atol=1e-12)
    values = np.array([[0.5, 1.5], [2.0, 3.0], [4.0, 4.5]])
    found = measure_spread(Predictions.encode(values, [1.0, 2.0, 4.5]))
    expected = naive_spread(values.T[:, :, None], np.ones(2), np.ones(3))
    np.testing.assert_allclose(found[:2], expected, rtol=1e-6)
    np.testing.assert_allclose(found.loss, (0 + 0.25 + 0.0625) / 3, rtol=1e-6)


@settings(deadline=None)
@given(
    st.floats(1e-4, 10), st.floats(0, 10), st.integers(1, 500), st.sampled_from([0.015, 0.02, 0.03])
)
def test_the_size_is_the_fewest_members_with_the_expected_change(
    within, between, n_members, max_change
):
    """The mean of k of n members, drawn at random, changes by within · (1/k − 1/n)."""
    size = Spread(within, between).smallest_size(n_members, max_change)
    change = [within * (1 / k - 1 / n_members) for k in range(1, n_members + 1)]
    limit = max_change * between
    assert change[size - 1] <= limit + 1e-9 * within
    if size > 1:
        assert change[size - 2] > limit - 1e-9 * within


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_the_expected_loss_of_a_draw_is_the_mean_over_all_draws(seed, n_classes):
    rng = np.random.RandomState(seed)
    cells = rng.multinomial(16, np.full(n_classes, 1 / n_classes), (12, 5)) / 16
    y = np.r_[np.arange(n_classes), rng.randint(n_classes, size=12 - n_classes)]
    spread = measure_spread(Predictions.encode(cells, y))
    truth = np.eye(n_classes)[y]
    for k in range(1, 6):
        losses = [
            np.square(cells[:, list(draw)].mean(axis=1) - truth).sum(axis=1).mean()
            for draw in itertools.combinations(range(5), k)
        ]
        # Draws without replacement vary less than the formula, which has n instead of n − 1.
        rise = spread.within * (1 / k - 1 / 5) * 5 / 4
        np.testing.assert_allclose(np.mean(losses), spread.loss + rise, atol=1e-9)
        size = spread.smallest_size_for_loss(5, 0.1)
        assert (spread.within * (1 / k - 1 / 5) <= 0.1 * spread.loss + 1e-9) == (k >= size)


def test_an_ensemble_that_hardly_errs_keeps_more_than_its_spread_needs():
    rng = np.random.RandomState(0)
    points = rng.randint(0, 40, size=(3000, 2)) / 40  # steps, which trees learn without errors
    labels = (points[:, 0] > 0.5).astype(int) + (points[:, 1] > 0.7)
    model = RandomForestClassifier(80, random_state=0).fit(points[:700], labels[:700])
    pruning = prune(model, points[700:1000], labels[700:1000], refit=False, random_state=0)
    truth = np.eye(3)[labels[1000:]]

    def brier(estimator):
        return np.square(estimator.predict_proba(points[1000:]) - truth).sum(axis=1).mean()

    assert "raises the Brier score by at most 10 %" in pruning.size_reason
    assert brier(pruning.estimator) <= 1.05 * brier(model)


def test_members_that_agree_need_one_and_constant_predictions_need_all():
    assert Spread(0.0, 0.2).smallest_size(50, MAX_CHANGE) == 1
    assert Spread(0.0, 0.0).smallest_size(50, MAX_CHANGE) == 1
    assert Spread(0.2, 0.0).smallest_size(50, MAX_CHANGE) == 50


@settings(deadline=None)
@given(st.lists(st.floats(0.1, 2), min_size=1, max_size=40), st.integers(1, 45))
def test_the_guard_equals_its_twin(losses, smallest):
    smallest = min(smallest, len(losses))
    limit = 1.05 * losses[-1]

    def passes(size):
        later = [loss <= limit for loss in losses[size - 1 :]]
        return later[0] and sum(later) >= 0.9 * len(later)

    expected = next(size for size in range(smallest, len(losses) + 1) if passes(size))
    sizes = np.arange(1, len(losses) + 1)
    assert smallest_guarded_size(sizes, np.array(losses), smallest) == expected


def naive_prefix(staged, targets, largest):
    """Return the fewest rounds for which all longer prefixes hardly differ, with loops.

    Each prefix has (samples, values). `largest` is the error of one further sample.
    """
    n_samples, full = len(targets), staged[-1]
    loss = [sum((full[i] - targets[i]) ** 2) for i in range(n_samples)]

    def is_close(prefix):
        distance = sum(sum((prefix[i] - full[i]) ** 2) for i in range(n_samples))
        if distance > MAX_CHANGE_BOOSTED * sum(loss):
            return False
        excess = [sum((prefix[i] - targets[i]) ** 2) - 1.05 * loss[i] for i in range(n_samples)]
        deviation = statistics.pstdev(excess) / math.sqrt(n_samples)
        margin = max(statistics.NormalDist().inv_cdf(0.95) * deviation, largest / n_samples)
        return statistics.fmean(excess) + margin <= 0

    size = len(staged)
    while size > 1 and is_close(staged[size - 2]):
        size -= 1
    return size


@pytest.mark.parametrize("learning_rate", [0.4, 0.05])
def test_a_prefix_is_kept_from_which_on_predictions_hardly_change(learning_rate):
    boosted = GradientBoostingClassifier(
        n_estimators=40, learning_rate=learning_rate, max_depth=1, random_state=0
    ).fit(X[FIT], Y[FIT])
    staged = np.array([*boosted.staged_predict_proba(X[500:])])
    expected = naive_prefix(staged, np.eye(2)[Y[500:]], largest=1)
    assert 1 < expected < 40
    pruning = prune(boosted, X[500:], Y[500:])
    assert smallest_unchanged_prefix(pruning.problem.soft_predictions) == expected
    assert len(pruning.member_indices) >= expected
    assert pruning.size_reason


def test_all_rounds_are_kept_if_few_samples_hardly_have_errors():
    """A rise of the loss by 5 % is less than an error of 1 of one sample, which 300 cannot show."""
    features, labels = make_blobs(900, centers=2, cluster_std=1.5, random_state=3)
    boosted = GradientBoostingClassifier(n_estimators=60, learning_rate=0.5, random_state=0)
    boosted.fit(features[:600], labels[:600])
    shares = boosted.predict_proba(features[600:])
    assert 300 * 0.05 * ((shares - np.eye(2)[labels[600:]]) ** 2).sum(axis=1).mean() < 1
    assert len(prune(boosted, features[600:], labels[600:]).member_indices) == 60


def test_prefixes_of_boosted_regressors_are_compared_with_the_squared_error():
    features, target = make_friedman1(1400, noise=1.0, random_state=0)
    boosted = GradientBoostingRegressor(n_estimators=60, learning_rate=0.3, random_state=0)
    boosted.fit(features[:400], target[:400])
    staged = np.array([*boosted.staged_predict(features[400:])])
    expected = naive_prefix(staged[:, :, None], target[400:, None], largest=0)
    assert 1 < expected < 60
    pruning = prune(boosted, features[400:], target[400:])
    assert smallest_unchanged_prefix(pruning.problem.scored_predictions()) == expected
    assert len(pruning.member_indices) >= expected


def test_the_plain_call_preserves_probabilities_of_rare_classes(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], refit=False, random_state=0)
    table = np.stack([tree.predict_proba(X[CHOOSE]) for tree in forest.estimators_])
    within, between = naive_spread(table, np.ones(60), np.ones(400))
    least = math.ceil(1 / (1 / 60 + 0.015 * between / within) - 1e-9)
    assert least <= len(pruning.member_indices) < 60
    figures = pruning.summary(X[TEST], Y[TEST])
    assert figures.loc["Brier score", "after"] <= 1.05 * figures.loc["Brier score", "before"]
    assert figures.loc["ROC AUC", "change"] >= -0.01
    assert pruning.tolerance is None
    assert any(pruning.size_reason in remark for remark in figures.attrs["remarks"])
    assert pruning.provenance()["size_reason"] == pruning.size_reason


def test_refitted_trees_may_be_fewer_but_not_too_few(forest):
    refit = LeafRefit(synthetic_ratio=2)
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], refit=refit, random_state=0)
    plain = prune(forest, X[CHOOSE], Y[CHOOSE], refit=False, random_state=0)
    assert pruning.problem.refitted is not None
    assert MIN_REFITTED <= len(pruning.member_indices) <= len(plain.member_indices)


@pytest.mark.parametrize("name", ["comep", "joint"])
def test_a_named_method_and_keep_auto_follow_the_same_rule(forest, name):
    by_name = prune(forest, X[CHOOSE], Y[CHOOSE], name, random_state=0)
    given_auto = prune(forest, X[CHOOSE], Y[CHOOSE], name, keep="auto", random_state=0)
    assert by_name.member_indices.tolist() == given_auto.member_indices.tolist()
    of_object = prune(forest, X[CHOOSE], Y[CHOOSE], COMEP(keep=3), keep="auto", random_state=0)
    assert len(of_object.member_indices) > 3
    assert len(prune(forest, X[CHOOSE], Y[CHOOSE], COMEP(keep=3)).member_indices) == 3


def test_a_score_that_was_asked_for_must_be_within_its_tolerance_too(forest):
    asked = prune(forest, X[CHOOSE], Y[CHOOSE], "joint", scoring="neg_log_loss", random_state=0)
    plain = prune(forest, X[CHOOSE], Y[CHOOSE], "joint", random_state=0)
    within = prune(
        forest,
        X[CHOOSE],
        Y[CHOOSE],
        "joint",
        scoring="neg_log_loss",
        tolerance=0.005,
        random_state=0,
    )
    assert len(asked.member_indices) >= len(plain.member_indices)
    assert asked.tolerance == 0.005
    assert len(asked.member_indices) >= len(within.member_indices) - 3  # other folds


def test_other_kinds_of_ensembles_have_a_default_size():
    Z, target = make_friedman1(600, random_state=0)
    numbers = RandomForestRegressor(40, random_state=0).fit(Z[:300], target[:300])
    pruning = prune(numbers, Z[300:], target[300:], refit=False, random_state=0)
    values = np.stack([tree.predict(Z[300:]) for tree in numbers.estimators_])
    within, between = naive_spread(values[:, :, None], np.ones(40), np.ones(300))
    least = math.ceil(1 / (1 / 40 + 0.015 * between / within) - 1e-9)
    assert least <= len(pruning.member_indices) <= 40
    weighted = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X[FIT], Y[FIT])
    assert prune(weighted, X[CHOOSE], Y[CHOOSE], random_state=0).size_reason


def test_the_reason_is_true_if_all_members_or_the_fewest_refitted_ones_are_kept(forest):
    boosted = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X[FIT], Y[FIT])
    few = prune(boosted, X[CHOOSE][:30], Y[CHOOSE][:30])
    assert len(few.member_indices) == 10
    assert few.size_reason.startswith("without the last round, the predictions differ by more")

    def rule_for(ensemble):
        problem = Problem.from_input(ensemble, X[CHOOSE], Y[CHOOSE])
        return DefaultSize(SizeSearch(problem, COMEP(), np.random.RandomState(0)), Budget())

    equal = RandomForestClassifier(60, bootstrap=False, max_features=None, max_depth=2)
    decided = rule_for(equal.fit(X[FIT], Y[FIT])).refitted_size()
    assert decided == (MIN_REFITTED, "at least 20 members are kept if they are refitted")
    rule = rule_for(forest)
    assert rule._describe_spread(60, 0.01) == (
        "a random draw of fewer members changes the predictions of the full ensemble by more than "
        "1 % of their variance"
    )
    assert "of 59 members changes the predictions of the full ensemble by at most" in (
        rule._describe_spread(59, 0.01)
    )


def library(seed=0, soft=True):
    """Return predictions of three good models, three noisy ones and ten useless ones."""
    rng = np.random.RandomState(seed)
    y = rng.randint(2, size=600)
    quality = np.array([2.0] * 3 + [0.7] * 3 + [0.0] * 10)
    signal = np.where(y == 1, 1.0, -1.0)[:, None] * quality + rng.normal(size=(600, 16))
    share = 1 / (1 + np.exp(-2 * signal))
    table = np.stack([1 - share, share], axis=2)
    return (table if soft else (share > 0.5).astype(int)), y


@pytest.mark.parametrize("soft", [True, False])
def test_a_library_keeps_its_best_size_and_not_one_near_the_mean_of_all(soft):
    table, y = library(soft=soft)
    pruning = prune(table[:300], None, y[:300], random_state=0)
    assert set(pruning.member_indices.tolist()) <= set(range(6))
    assert len(pruning.member_indices) >= 2
    figures = pruning.summary(table[300:], y[300:])
    assert figures.loc["accuracy", "change"] > 0
    assert "libraries of different models" in pruning.reason
    assert pruning.size_reason


def test_a_library_is_pruned_for_the_score_that_was_asked_for():
    table, y = library(seed=1)
    pruning = prune(table[:300], None, y[:300], scoring="neg_log_loss", random_state=0)
    figures = pruning.summary(table[300:], y[300:])
    assert figures.loc["log loss", "after"] < figures.loc["log loss", "before"]
    assert "log loss" in pruning.reason


def test_one_model_may_be_better_than_any_selection_of_several():
    rng = np.random.RandomState(2)
    y = rng.randint(2, size=400)
    right = np.where(y == 1, 0.97, 0.03)
    share = np.column_stack([right, rng.rand(400, 7)])
    pruning = prune(np.stack([1 - share, share], axis=2), None, y, random_state=0)
    assert pruning.member_indices.tolist() == [0]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_expected_auc_counts_pairs(seed):
    rng = np.random.RandomState(seed)
    scores, share, weight = rng.randint(4, size=7) / 4, rng.rand(7), rng.randint(1, 4, 7)
    won = total = 0.0
    for i in range(7):
        for j in range(7):
            pair = weight[i] * share[i] * weight[j] * (1 - share[j])
            total += pair
            won += pair * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    assert expected_auc(scores, share, weight.astype(float)) == pytest.approx(won / total)


def test_the_auc_of_a_rare_class_may_need_more_members_than_the_spread():
    """Probabilities vary by one clear group, and the ranking of the others by noise."""
    rng = np.random.RandomState(0)
    y = (rng.rand(1500) < 0.05).astype(int)
    clear = (y == 1) & (rng.rand(1500) < 0.6)
    share = np.where(clear[:, None], 0.95, np.clip(0.02 + 0.08 * rng.rand(1500, 60), 0, 1))
    table = np.stack([1 - share, share], axis=2)
    predictions = Predictions.encode(table, y)
    plain = measure_spread(predictions).smallest_size(60, MAX_CHANGE)
    pruning = prune(table, None, y, "joint", random_state=0)
    assert len(pruning.member_indices) > plain
    assert "at most 0.007 of AUC" in pruning.size_reason
    full = share.mean(axis=1)

    def mean_loss(size):
        draws = [rng.permutation(60)[:size] for _ in range(40)]
        kept = [expected_auc(share[:, draw].mean(axis=1), full) for draw in draws]
        return expected_auc(full, full) - np.mean(kept)

    assert mean_loss(len(pruning.member_indices)) <= MAX_AUC_LOSS < mean_loss(plain)
