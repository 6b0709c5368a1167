"""Predictions: fixed point, missing values, batches, and results derived from them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import (
    COMEP,
    BestMembersPruner,
    JointErrorPruner,
    Predictions,
    RandomPruner,
    collect_predictions,
    collect_votes,
    make_pruner,
)
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.outputs.collect import collect_encoded_predictions

PROBABILITY_ERROR = 2.0**-15 + 1e-9
NUMBER_ERROR = 2.0**-29


def classifiers(n_classes):
    tree = DecisionTreeClassifier(max_depth=4)
    named = [("nb", GaussianNB()), ("tree", tree), ("knn", KNeighborsClassifier())]
    return {
        "forest": RandomForestClassifier(7, max_depth=5, random_state=0),
        "extra": ExtraTreesClassifier(7, max_depth=5, bootstrap=True, random_state=0),
        "bagged trees": BaggingClassifier(tree, 7, max_features=0.6, random_state=0),
        "bagged models": BaggingClassifier(GaussianNB(), 5, random_state=0),
        "few rows": BaggingClassifier(tree, 5, max_samples=n_classes + 2, random_state=0),
        "voting": VotingClassifier(named, voting="soft", weights=[1, 2, 3]),
        "boosting": AdaBoostClassifier(tree, n_estimators=5, random_state=0),
        "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(4, random_state=0)),
    }


@pytest.fixture(scope="module", params=[2, 3])
def classified(request):
    X, y = make_classification(240, 8, n_informative=5, n_classes=request.param, random_state=0)
    return X, np.array(["cat", "dog", "emu"])[y], request.param


def own_answers(ensemble, X):
    """The members' own answers, asked one by one."""
    rows = ensemble.prepare_input(X)
    answers = []
    for index, member in enumerate(ensemble.members):
        seen = ensemble.member_input(rows, index)
        if not hasattr(member, "classes_"):
            answers.append(member.predict(seen))
            continue
        known = np.zeros((len(X), len(ensemble.classes)))
        places = member.classes_.astype(int) if ensemble.has_coded_labels else member.classes_
        for column, label in enumerate(places):
            place = label if ensemble.has_coded_labels else ensemble.classes.tolist().index(label)
            known[:, place] = member.predict_proba(seen)[:, column]
        answers.append(known)
    return np.stack(answers, axis=1)


@pytest.mark.parametrize("name", classifiers(2))
def test_probabilities_are_those_of_the_members(classified, name):
    X, y, n_classes = classified
    model = classifiers(n_classes)[name].fit(X, y)
    scores = collect_predictions(model, X, n_jobs=2)
    assert_allclose_to(scores, own_answers(as_ensemble(model), X), PROBABILITY_ERROR)


def assert_allclose_to(scores, expected, error):
    assert scores.shape == expected.shape
    assert np.abs(scores - expected).max() <= error


def test_a_member_without_probabilities_has_1_for_its_label(classified):
    X, y, _ = classified
    scores = collect_predictions([LinearSVC().fit(X, y), GaussianNB().fit(X, y)], X)
    votes = collect_votes([LinearSVC().fit(X, y), GaussianNB().fit(X, y)], X)
    assert set(np.unique(scores[:, 0])) == {0.0, 1.0}
    assert_array_equal(np.unique(y)[scores[:, 0].argmax(axis=1)], votes[:, 0])


REGRESSORS = {
    "forest": RandomForestRegressor(7, random_state=0),
    "extra": ExtraTreesRegressor(7, bootstrap=True, random_state=0),
    "bagged trees": BaggingRegressor(DecisionTreeRegressor(), 7, max_features=0.6, random_state=0),
    "bagged models": BaggingRegressor(LinearRegression(), 5, random_state=0),
    "voting": VotingRegressor([("a", Ridge()), ("b", LinearRegression())], weights=[1, 3]),
    "pipeline": make_pipeline(StandardScaler(), RandomForestRegressor(4, random_state=0)),
}


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(200, 6, noise=5, random_state=0)
    return X, y


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_are_those_of_the_members(numbers, name):
    X, y = numbers
    model = REGRESSORS[name].fit(X, y)
    expected = own_answers(as_ensemble(model), X)
    error = NUMBER_ERROR * np.abs(expected).max()
    assert_allclose_to(collect_predictions(model, X, n_jobs=2), expected, error)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_sliced_regressor_averages_its_members(numbers, name):
    X, y = numbers
    model = REGRESSORS[name].fit(X, y)
    known = as_ensemble(model)
    scores, whole = collect_encoded_predictions(known, X, y), known.weights
    weights = None if whole is None else whole[[1]]
    expected = scores.average([1], weights)
    assert np.abs(known.slice([1]).predict(X) - expected).max() <= 1e-6 * np.abs(y).max()
    assert np.abs(model.predict(X) - scores.average(weights=whole)).max() <= 1e-6 * np.abs(y).max()


def test_out_of_bag_values_are_masked_on_training_samples(numbers):
    X, y = numbers
    forest = RandomForestRegressor(40, random_state=0, oob_score=True).fit(X, y)
    scores = collect_predictions(forest, X, oob=True)
    for member, rows in enumerate(forest.estimators_samples_):
        assert_array_equal(scores.mask[:, member], np.isin(np.arange(len(X)), rows))
    np.testing.assert_allclose(scores.mean(axis=1), forest.oob_prediction_, rtol=1e-6)


@given(
    arrays(float, (9, 3), elements=st.floats(-1e6, 1e6)),
    st.lists(st.integers(0, 9), max_size=3),
    arrays(bool, (9, 3)),
)
def test_batches_of_values_join_to_the_result_of_one_batch(table, cuts, mask):
    mask[0] = False
    masked, y = np.ma.array(table, mask=mask), np.arange(9.0)
    whole = Predictions.encode(masked, y)
    edges = sorted({0, 9, *cuts})
    parts = [Predictions.encode(masked[a:b], y[a:b]) for a, b in pairwise(edges)]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.append(part)
    assert joined.exponent == whole.exponent
    assert_array_equal(joined.cells, whole.cells)
    assert_array_equal(joined.y, whole.y)
    assert joined.has_missing == whole.has_missing


def test_batches_with_other_classes_join_to_the_result_of_one_batch():
    rng = np.random.RandomState(0)
    table = rng.dirichlet(np.ones(2), size=(8, 3))
    whole = Predictions.encode(table, np.array(list("aabbccab")), classes=["b", "a"])
    first = Predictions.encode(table[:4], np.array(list("aabb")), classes=["b", "a"])
    joined = first.append(Predictions.encode(table[4:], np.array(list("ccab")), classes=["b", "a"]))
    assert_array_equal(joined.classes, ["a", "b", "c"])
    assert_array_equal(joined.cells, whole.cells)
    assert_array_equal(joined.y, whole.y)
    assert_array_equal(joined.decode()[:, :, 2], 0)
    np.testing.assert_allclose(joined.decode()[:, :, [1, 0]], table, atol=PROBABILITY_ERROR)


def test_the_largest_probability_is_the_vote_and_ties_go_to_the_lowest_class():
    table = [[[0.5, 0.5], [0.2, 0.8]], [[0.3, 0.7], [1.0, 0.0]]]
    assert Predictions.encode(table).votes.codes([0, 1]).tolist() == [[0, 1], [1, 0]]


def test_methods_for_labels_use_the_labels_of_probabilities():
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=40)
    table = (rng.dirichlet(np.ones(3), size=(40, 6)) + np.eye(3)[y][:, None]) / 2
    by_labels = COMEP(keep=3).fit(table.argmax(axis=2), y)
    assert_array_equal(COMEP(keep=3).fit(table, y).member_indices_, by_labels.member_indices_)


def test_methods_for_labels_reject_regressors_and_name_alternatives(numbers):
    X, y = numbers
    scores = collect_encoded_predictions(as_ensemble(REGRESSORS["forest"].fit(X, y)), X, y)
    with pytest.raises(InputError, match=r"COMEP needs classes.*random.*best"):
        COMEP().fit(scores)
    with pytest.raises(InputError, match=r"COMEP needs classes.*random.*best"):
        COMEP().fit(scores.decode(), y)
    expected = np.argmin([np.mean((scores.values(m) - y) ** 2) for m in range(7)])
    assert BestMembersPruner(keep=1).fit(scores).member_indices_[0] == expected
    assert RandomPruner(keep=7, random_state=0).fit(scores).score(scores, y) > 0.5


def test_a_mean_leaves_out_missing_values():
    table = np.ma.array([[1.0, 3.0], [2.0, 9.0], [5.0, 7.0]], mask=[[0, 0], [0, 1], [1, 1]])
    scores = Predictions.encode(table)
    assert_array_equal(scores.average(), [2.0, 2.0, np.nan])
    assert_array_equal(scores.n_voted, [2, 1])


@pytest.mark.parametrize(
    ("table", "y", "told"),
    [
        ([[[0.5, 0.6]]], None, "sum of 1"),
        ([[[np.nan, 1.0]]], None, "sum of 1"),
        ([[[1.5, -0.5]]], None, "sum of 1"),
        ([[np.inf, 1.0]], None, "finite"),
        ([[0.5, 1.0]], ["a"], "not numbers"),
        ([[0.5, 1.0]], [np.nan], "NaN"),
        ([[0.5, 1.0]], [1.0, 2.0, 3.0], "1 sample but y has 3"),
        ([[[0.5, 0.5]]], ["a"], "coded differently"),
    ],
)
def test_invalid_predictions_are_rejected(table, y, told):
    with pytest.raises(InputError, match=told):
        Predictions.encode(table, y)


@pytest.mark.parametrize("n_axes", [2, 3])
def test_transposed_tables_are_rejected(n_axes):
    table = np.full((5, 8, 2)[:n_axes], 0.5)
    y = np.arange(8) + 0.5 if n_axes == 2 else [0, 1] * 4
    turned = "votes.T" if n_axes == 2 else r"votes.swapaxes\(0, 1\)"
    for refused in (Predictions.encode, JointErrorPruner(keep=2).fit):
        with pytest.raises(InputError, match=rf"shape \(5, 8.* looks transposed\. .*pass {turned}"):
            refused(table, y)


def test_labels_that_do_not_match_the_probabilities_are_refused():
    with pytest.raises(InputError, match="probabilities of 2 classes"):
        Predictions.encode([[[0.5, 0.5]]], classes=["a", "b", "c"])


def test_later_changes_of_the_table_do_not_change_cells():
    table, y = np.array([[0.5, 1.5], [2.0, 3.0]]), np.array([1.0, 2.0])
    scores = Predictions.encode(table, y)
    table[:], y[:] = 9, 9
    assert_array_equal(scores.decode(), [[0.5, 1.5], [2.0, 3.0]])
    assert_array_equal(scores.truth, [1.0, 2.0])


def test_logistic_probabilities_survive_a_round_trip(classified):
    X, y, _ = classified
    known = LogisticRegression().fit(X, y).predict_proba(X)
    table = np.stack([known, known[:, ::-1]], axis=1)
    assert_allclose_to(Predictions.encode(table).decode(), table, PROBABILITY_ERROR)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-160])
@pytest.mark.parametrize("name", ["best", "joint", "caruana"])
def test_values_whose_squares_vanish_are_rejected(name, scale):
    y = np.array([1.0, 2.0, -3.0, 0.5]) * scale
    table = np.stack([y + 1.5 * scale, y + 0.5 * scale], axis=1)
    with pytest.raises(InputError, match="squares of errors of values below 1e-140") as caught:
        make_pruner(name, keep=1).fit(table, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scale", [1e-139, 1e-100, 1e100, 1e140])
@pytest.mark.parametrize("name", ["best", "joint", "caruana"])
def test_very_small_and_very_large_values_are_selected_as_others(name, scale):
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    table = y[:, None] + rng.normal(size=(40, 5)) * [0.5, 0.4, 0.3, 0.2, 0.1]
    expected = make_pruner(name, keep=2).fit(table, y).member_indices_.tolist()
    values = Predictions.encode(table * scale, y * scale)
    assert make_pruner(name, keep=2).fit(values).member_indices_.tolist() == expected
    assert expected[0] == 4


def test_zeros_are_values_like_others():
    assert make_pruner("best", keep=1).fit(Predictions.encode(np.zeros((4, 2)), np.zeros(4)))


def test_large_whole_floats_are_neither_labels_nor_named_twice():
    table = np.array([[1e150, 2e150], [3e150, 4e150]])
    with pytest.raises(InputError, match=r"hold whole numbers up to 5e\+150 as floats"):
        make_pruner("best", keep=1).fit(table, [1e150, 5e150])


def test_probabilities_without_classes_are_rejected():
    with pytest.raises(InputError, match=r"shape \(5, 3, 0\), without any class"):
        Predictions.encode(np.empty((5, 3, 0)))


@pytest.mark.parametrize("weight", [1e308, 1e-310])
def test_sample_weights_whose_sums_overflow_or_vanish_are_rejected(weight):
    table, y = np.array([[0.5, 2.0], [1.5, 0.0], [2.5, 1.0]]), [0.0, 1.0, 2.0]
    with pytest.raises(InputError, match=r"sample_weight has .* only their ratios matter"):
        make_pruner("caruana", keep=1).fit(table, y, sample_weight=np.full(3, weight))


def test_values_whose_squares_overflow_are_rejected():
    with pytest.raises(
        InputError, match=r"holds 1e\+308, and sums of squares of values beyond 1e\+150 overflow"
    ):
        Predictions.encode([[1.0, 1e308], [2.0, 3.0]], [1.0, 2.0])
    with pytest.raises(InputError, match=r"y holds 1e\+200, and sums of squares"):
        Predictions.encode([[1.0, 2.0], [2.0, 3.0]], [1.0, -1e200])
