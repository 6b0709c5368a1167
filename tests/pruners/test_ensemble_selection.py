"""Ensemble selection."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import get_scorer, log_loss, make_scorer

import naive_selection as naive
from cases import D1, D2, D3, E2, plain
from secateurs import (
    EPFD,
    EnsembleSelection,
    Predictions,
    Votes,
    collect_predictions,
    collect_votes,
)
from secateurs.exceptions import InputError
from secateurs.measures.ranking_scores import RANKING_SCORES

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

E3 = np.array(
    [
        *([0.1, 0.6, 0.9, 0.4, 0.8], [0.4, 0.2, 0.6, 0.7, 0.3]),
        *([0.7, 0.1, 0.8, 0.9, 0.6], [0.2, 0.7, 0.3, 0.8, 0.9]),
    ]
).T
E3_Y = [0, 0, 1, 1, 1]
E3_TABLE = np.stack([1 - E3, E3], axis=2)
ROUNDED = 2.0**-15 / 0.1  # a rounded probability in a logarithm, at the least one in E3


def log_loss_selection(**parameters):
    return EnsembleSelection(scoring="neg_log_loss", **parameters).fit(E3_TABLE, E3_Y)


def test_the_worked_example_of_log_loss():
    pruner = log_loss_selection(max_models=6)
    assert pruner.runs_[0].members == [2, 0, 2, 0, 2, 0]
    losses = [0.429733, 0.378317, 0.380249, 0.378317, 0.377910, 0.378317]
    np.testing.assert_allclose(pruner.runs_[0].scores, np.negative(losses), atol=ROUNDED)
    assert pruner.member_indices_.tolist() == [2, 0]
    np.testing.assert_allclose(pruner.weights_, [0.6, 0.4])
    assert pruner.objective_ == pruner.scores_[-1] == pytest.approx(-0.377910, abs=ROUNDED)


def test_the_worked_example_without_replacement():
    pruner = log_loss_selection(replacement=False, best_prefix=False)
    assert pruner.member_indices_.tolist() == [2, 0, 3, 1]
    assert_array_equal(pruner.weights_, [0.25] * 4)


def test_the_worked_example_with_a_sorted_start():
    pruner = log_loss_selection(sorted_start=2, max_models=2)
    assert pruner.member_indices_.tolist() == [2, 0]


def test_the_worked_example_of_bags(monkeypatch):
    bags = [np.array(bag) for bag in ([0, 1], [2, 3], [0, 2, 3])]
    monkeypatch.setattr(EnsembleSelection, "_draw_bags", lambda *_: bags)
    pruner = log_loss_selection(n_bags=3, max_models=4)
    weights = dict(zip(pruner.member_indices_.tolist(), pruner.weights_))
    expected = {0: 0.416667, 1: 0.083333, 2: 0.416667, 3: 0.083333}
    assert weights == pytest.approx(expected, abs=1e-6)


@st.composite
def problems(draw, kinds=("labels", "probabilities", "numbers"), missing=True, least=1):
    """Outputs of one kind for the twin, the same for the library, true values, and a score."""
    kind = draw(st.sampled_from(kinds))
    n_members, n_samples = draw(st.integers(1, 5)), draw(st.integers(least, 8))
    n_classes = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = np.zeros((n_samples, n_members), dtype=bool)
    if missing and draw(st.booleans()):
        mask = rng.random(mask.shape) < 0.4
        mask[rng.integers(n_samples, size=n_members), np.arange(n_members)] = False
    y = rng.integers(n_classes, size=n_samples)
    if kind == "labels":
        table = rng.integers(n_classes, size=mask.shape)
        names = ("accuracy", "balanced_accuracy")
        held = Votes.encode(np.ma.array(table, mask=mask), y)
        renamed = {label: place for place, label in enumerate(held.classes.tolist())}
        table, y = np.vectorize(renamed.get)(np.where(mask, held.classes[0], table)), held.truth
    elif kind == "probabilities":
        parts = rng.multinomial(16, np.ones(n_classes) / n_classes, size=mask.shape)
        table = parts / 16
        names = ("accuracy", "balanced_accuracy", "neg_log_loss", "neg_brier_score")
        held = Predictions.encode(
            np.ma.array(table, mask=np.repeat(mask[..., None], n_classes, 2)), y
        )
    else:
        table, y = rng.integers(-32, 32, size=mask.shape) / 4, rng.integers(-32, 32, n_samples) / 4
        names = ("neg_mean_squared_error", "neg_mean_absolute_error")
        held = Predictions.encode(np.ma.array(table, mask=mask), y)
    outputs = [
        [None if mask[n, t] else table[n, t].tolist() for t in range(n_members)]
        for n in range(n_samples)
    ]
    weights = rng.integers(1, 4, size=n_samples).tolist() if draw(st.booleans()) else None
    return outputs, held, y.tolist(), draw(st.sampled_from(names)), weights


options = st.fixed_dictionaries(
    {
        "keep": st.sampled_from([None, 1, 2]),
        "max_models": st.integers(1, 6),
        "replacement": st.booleans(),
        "best_prefix": st.booleans(),
        "sorted_start": st.sampled_from([0, 0, 1, 3]),
    }
)


@given(problems(), options)
def test_chooses_as_the_paper_does(problem, settled):
    outputs, held, y, scoring, weights = problem
    if settled["keep"] is not None:
        settled["keep"] = min(settled["keep"], held.n_members)
    pruner = EnsembleSelection(scoring=scoring, **settled).fit(held, sample_weight=weights)
    bag, scores, n_steps = naive.select(
        outputs, y, getattr(naive, scoring), weights=weights, **settled
    )
    members, shares = naive.multiplicities(bag, n_steps)
    assert pruner.runs_[0].members == bag
    np.testing.assert_allclose(pruner.runs_[0].scores, np.array(scores, float), atol=1e-9)
    assert pruner.member_indices_.tolist() == members
    np.testing.assert_allclose(pruner.weights_, np.array(shares, float), atol=1e-12)
    assert pruner.objective_ == pytest.approx(float(scores[n_steps - 1]), abs=1e-9)


@given(problems(kinds=("numbers",), missing=False, least=2), options)
def test_r2_and_the_root_follow_the_squared_error(problem, settled):
    outputs, held, y, _, weights = problem
    if len(set(y)) == 1:
        y[0] += 1
        held = held.with_labels(y)
    settled["keep"] = None
    bag, scores, _ = naive.select(outputs, y, naive.r2, weights=weights, **settled)
    pruner = EnsembleSelection(**settled).fit(held, sample_weight=weights)
    assert pruner.runs_[0].members == bag
    np.testing.assert_allclose(pruner.runs_[0].scores, np.array(scores, float), atol=1e-9)
    root = EnsembleSelection(scoring="neg_root_mean_squared_error", **settled)
    root.fit(held, sample_weight=weights)
    assert root.runs_[0].members == bag
    squared = naive.score(outputs, y, bag, naive.neg_mean_squared_error, weights)
    assert root.runs_[0].scores[-1] == pytest.approx(-np.sqrt(float(-squared)), abs=1e-9)


@given(problems(kinds=("numbers",)), options)
def test_any_other_score_of_numbers_is_asked_of_its_scorer(problem, settled):
    outputs, held, y, _, _ = problem
    settled["keep"] = None
    pruner = EnsembleSelection(scoring="neg_max_error", **settled).fit(held)
    bag, _, n_steps = naive.select(outputs, y, naive.neg_max_error, **settled)
    assert pruner.runs_[0].members == bag
    assert pruner.member_indices_.tolist() == naive.multiplicities(bag, n_steps)[0]


@pytest.mark.parametrize("scoring", RANKING_SCORES)
@given(problem=problems(kinds=("probabilities",), missing=False, least=3), settled=options)
def test_scores_of_rankings_choose_as_the_paper_does(problem, settled, scoring):
    outputs, held, y, _, weights = problem
    n_classes = held.n_classes
    is_defined = n_classes == 2 or (n_classes > 2 and scoring != "roc_auc")
    if len(set(y)) < n_classes or not is_defined:
        return
    weights = None if n_classes > 2 and "ovo" in scoring else weights
    settled["keep"] = None
    twin = naive.roc_auc if n_classes == 2 and "auc" in scoring else getattr(naive, scoring)
    pruner = EnsembleSelection(scoring=scoring, **settled).fit(held, sample_weight=weights)
    bag, scores, _ = naive.select(outputs, y, twin, weights=weights, **settled)
    assert pruner.runs_[0].members == bag
    np.testing.assert_allclose(pruner.runs_[0].scores, np.array(scores, float), atol=1e-12)


@given(problems(kinds=("probabilities",), missing=False, least=2), options)
def test_any_other_score_of_probabilities_is_asked_of_its_scorer(problem, settled):
    outputs, held, y, _, weights = problem
    if held.n_classes != 2 or len(set(y)) < 2:
        return
    settled["keep"] = None

    def own(estimator, X, y, sample_weight=None):
        return get_scorer("roc_auc")(estimator, X, y, sample_weight=sample_weight)

    pruner = EnsembleSelection(scoring=own, **settled).fit(held, sample_weight=weights)
    bag, scores, _ = naive.select(outputs, y, naive.roc_auc, weights=weights, **settled)
    assert pruner.runs_[0].members == bag
    np.testing.assert_allclose(pruner.runs_[0].scores, np.array(scores, float), atol=1e-12)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
@given(problem=problems(kinds=("labels", "probabilities")), settled=options)
def test_a_scorer_of_its_own_chooses_as_compiled_code(problem, settled, scoring):
    _, held, _, _, weights = problem
    settled["keep"] = None
    known = get_scorer(scoring)

    def another(estimator, X, y, sample_weight=None):
        return known(estimator, X, y, sample_weight=sample_weight)

    fast = EnsembleSelection(scoring=scoring, **settled).fit(held, sample_weight=weights)
    slow = EnsembleSelection(scoring=another, **settled).fit(held, sample_weight=weights)
    n_steps = len(fast.runs_[0].members)  # only a known score is known to be perfect
    assert slow.runs_[0].members[:n_steps] == fast.runs_[0].members
    np.testing.assert_allclose(slow.runs_[0].scores[:n_steps], fast.runs_[0].scores, atol=1e-12)


@given(problems(), options, st.integers(2, 4), st.integers(0, 99))
def test_weights_of_bags_are_means(problem, settled, n_bags, seed):
    outputs, held, y, scoring, weights = problem
    settled["keep"] = settled["keep"] and min(settled["keep"], held.n_members)
    pruner = EnsembleSelection(
        scoring=scoring, n_bags=n_bags, bag_fraction=0.6, random_state=seed, **settled
    )
    pruner.fit(held, sample_weight=weights)
    rng, n_members = np.random.RandomState(seed), held.n_members
    size = max(1, round(0.6 * n_members))
    bags = [sorted(rng.permutation(n_members)[:size].tolist()) for _ in range(n_bags)]
    members, shares = naive.bagged(
        outputs, y, getattr(naive, scoring), bags, weights=weights, **settled
    )
    assert pruner.member_indices_.tolist() == members
    np.testing.assert_allclose(pruner.weights_, np.array(shares, float), atol=1e-12)


@given(problems(least=2), options, st.integers(1, 7))
def test_many_batches_are_one_fit(problem, settled, size):
    _, held, _, scoring, _ = problem
    settled["keep"] = None
    whole = EnsembleSelection(scoring=scoring, **settled).fit(held)
    batched = EnsembleSelection(scoring=scoring, **settled)
    rows = np.arange(held.n_samples)
    parts = [held.rows(rows[n : n + size]) for n in range(0, held.n_samples, size)]
    if not parts[0].n_voted.all():
        return
    for part in parts:
        batched.partial_fit(part)
    assert batched.runs_ == whole.runs_
    assert_array_equal(batched.weights_, whole.weights_)
    assert_array_equal(batched.scores_, whole.scores_)


@given(problems(kinds=("numbers",)), st.integers(-40, 40))
def test_the_scale_of_numbers_decides_nothing(problem, power):
    _, held, y, scoring, _ = problem
    scaled = Predictions.encode(held.decode() * 2.0**power, np.array(y) * 2.0**power)
    expected = EnsembleSelection(scoring=scoring, max_models=6).fit(held)
    found = EnsembleSelection(scoring=scoring, max_models=6).fit(scaled)
    assert found.runs_[0].members == expected.runs_[0].members


@pytest.mark.parametrize("scale", [1.0, 2.0**-22, 2.0**-40])
def test_zeros_are_not_perfect_for_a_small_constant_target(scale):
    pruner = EnsembleSelection(scoring="neg_mean_squared_error", max_models=6)
    pruner.fit(Predictions.encode(np.zeros((3, 2)), np.full(3, 4.0 * scale)))
    assert pruner.runs_[0].members == [0] * 6
    assert pruner.objective_ == -16 * scale**2


@given(problems(), options)
def test_predictions_are_weighted_means(problem, settled):
    outputs, held, _, scoring, _ = problem
    settled["keep"] = None
    pruner = EnsembleSelection(scoring=scoring, **settled).fit(held)
    predicted = pruner.predict(held)
    for n, answer in enumerate(predicted.tolist()):
        shares = {}
        for t, weight in zip(pruner.member_indices_.tolist(), pruner.weights_):
            if outputs[n][t] is not None:
                shares[t] = Fraction(weight).limit_denominator(100)
        if not shares:
            continue
        total = sum(shares.values())
        if isinstance(held, Votes):
            rows = [outputs[n]]
            code = naive.weighted_vote(rows, shares, shares.values(), 0)
            assert answer == held.classes[code]
        elif held.is_numbers:
            expected = sum(w * Fraction(outputs[n][t]) for t, w in shares.items()) / total
            assert answer == pytest.approx(float(expected), abs=1e-9)
        else:
            mean = [
                sum(w * Fraction(outputs[n][t][c]) for t, w in shares.items())
                for c in range(held.n_classes)
            ]
            assert answer == held.classes[naive.most_likely(mean)]


def test_a_worse_step_is_taken_and_undone():
    pruner = log_loss_selection(max_models=3)
    assert pruner.runs_[0].scores[2] < pruner.runs_[0].scores[1]
    assert pruner.member_indices_.tolist() == [2, 0]
    assert_array_equal(pruner.weights_, [0.5, 0.5])
    last = log_loss_selection(max_models=3, best_prefix=False)
    np.testing.assert_allclose(last.weights_, [2 / 3, 1 / 3])


def test_a_run_ends_when_the_score_is_perfect():
    pruner = EnsembleSelection(best_prefix=False).fit(*D2)
    assert pruner.runs_[0].members == [0]


def test_identical_members_are_the_first_of_them():
    assert EnsembleSelection().fit(*D1).member_indices_.tolist() == [0]
    assert EnsembleSelection(replacement=False, best_prefix=False).fit(*D1).runs_[0].members == [
        0,
        1,
        2,
    ]


def test_one_class_is_fine_for_accuracy_and_refused_for_auc():
    assert EnsembleSelection().fit(*D3).objective_ == 1.0
    with pytest.raises(InputError, match=r"roc_auc.*one class only"):
        EnsembleSelection(scoring="roc_auc").fit(E3_TABLE, [1] * 5)


def test_votes_of_three_classes():
    bag, scores, n_steps = naive.select(E2.votes, E2.y, naive.accuracy)
    pruner = EnsembleSelection().fit(*E2)
    assert pruner.runs_[0].members == bag
    assert pruner.objective_ == scores[n_steps - 1]
    assert pruner.score(*E2) == pruner.objective_


def test_the_score_is_that_of_scikit_learn_on_a_forest():
    X, y = make_classification(400, 8, n_informative=5, n_classes=3, random_state=0)
    forest = RandomForestClassifier(30, max_depth=6, random_state=0).fit(X[:200], y[:200])
    scores = collect_predictions(forest, X[200:])
    pruner = EnsembleSelection(scoring="neg_log_loss").fit(scores, y[200:])
    kept = scores[:, pruner.member_indices_]
    mean = np.average(kept, axis=1, weights=pruner.weights_)
    loss = log_loss(y[200:], mean / mean.sum(axis=1, keepdims=True))
    assert -pruner.objective_ == pytest.approx(loss, rel=1e-3)  # steps of 2**-14
    whole = scores.mean(axis=1)
    assert loss < log_loss(y[200:], whole / whole.sum(axis=1, keepdims=True))
    assert pruner.weights_.sum() == pytest.approx(1)
    made = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")
    again = EnsembleSelection(scoring=made).fit(scores, y[200:])
    assert again.runs_ == pruner.runs_


def test_out_of_bag_numbers_of_a_forest():
    X, y = np.random.RandomState(0).rand(150, 3), np.random.RandomState(1).rand(150)
    forest = RandomForestRegressor(12, random_state=0).fit(X, y)
    scores = collect_predictions(forest, X, oob=True)
    pruner = EnsembleSelection(max_models=8).fit(scores, y)
    outputs = [[None if v is np.ma.masked else float(v) for v in row] for row in scores]
    expected = naive.select(outputs, y.tolist(), naive.neg_mean_squared_error, max_models=8)
    assert pruner.runs_[0].members == expected[0]


def test_labels_have_no_probabilities():
    with pytest.raises(InputError, match=r"neg_log_loss.*needs probabilities.*labels"):
        EnsembleSelection(scoring="neg_log_loss").fit(*plain(5, 20))


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"max_models": 0}, "max_models=0"),
        ({"max_models": 2.5}, r"max_models=2\.5"),
        ({"n_bags": 0}, "n_bags=0"),
        ({"sorted_start": -1}, "sorted_start=-1"),
        ({"bag_fraction": 0}, "bag_fraction=0"),
        ({"scoring": "acuracy"}, r"scoring='acuracy' is unknown. Did you mean 'accuracy'"),
        ({"scoring": "r2"}, "regression score"),
    ],
)
def test_senseless_parameters_are_refused(parameters, told):
    with pytest.raises(InputError, match=told):
        EnsembleSelection(**parameters).fit(*plain(5, 20))


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([1.0], r"shape \(1,\)"),
        ([-1] * 20, "zero or more"),
        ([0] * 20, "not all zero"),
        ("a", "numbers"),
    ],
)
def test_senseless_weights_are_refused(weights, told):
    with pytest.raises(InputError, match=f"sample_weight.*{told}"):
        EnsembleSelection().fit(*plain(5, 20), sample_weight=weights)


def test_progress_is_told_step_by_step_and_may_end_the_run():
    calls = []
    pruner = EnsembleSelection(scoring="neg_log_loss", max_models=6, n_bags=2, random_state=0)
    pruner.fit(E3_TABLE, E3_Y, callback=lambda *call: calls.append(call))
    assert [call[0] for call in calls] == list(range(1, 13))
    assert {call[1] for call in calls} == {12}
    assert max(max(run.scores) for run in pruner.runs_) == calls[-1][2]
    calls.clear()
    EnsembleSelection().fit(*D2, callback=lambda *call: calls.append(call))
    assert calls[-1] == (50, 50, 1.0)

    def stop(done, total, best):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EnsembleSelection().fit(*E2, callback=stop)


def test_groups_give_members_with_weights():
    case = plain(12, 80, 3)
    grouped = EPFD(EnsembleSelection(), 3, random_state=0).fit(*case)
    assert len(grouped.weights_) == len(grouped.member_indices_)
    assert grouped.weights_.sum() == pytest.approx(1)
    expected = [
        naive.weighted_vote(case.votes, grouped.member_indices_.tolist(), grouped.weights_, n)
        for n in range(80)
    ]
    assert grouped.predict(case.votes).tolist() == expected
    accuracy = np.mean([label == truth for label, truth in zip(expected, case.y)])
    assert grouped.candidate_scores_[grouped.winner_] == accuracy


def test_collected_votes_and_probabilities_are_accepted():
    X, y = make_classification(120, 6, random_state=0)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    names = np.array(["no", "yes"])
    labels = names[collect_votes(forest, X).astype(int)]
    by_votes = EnsembleSelection(keep=3).fit(labels, names[y])
    assert set(by_votes.predict(labels)) <= {"no", "yes"}
    by_scores = EnsembleSelection(keep=3, scoring="roc_auc").fit(collect_predictions(forest, X), y)
    assert 1 <= len(by_scores.member_indices_) <= 3
