"""`Scoring`: scorers of scikit-learn applied to predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    get_scorer_names,
    jaccard_score,
    log_loss,
    make_scorer,
    max_error,
    mean_absolute_error,
    mean_squared_error,
    precision_score,
    r2_score,
    recall_score,
    root_mean_squared_error,
)
from sklearn.naive_bayes import GaussianNB

from secateurs.exceptions import InputError
from secateurs.measures.fast_scores import FAST_SCORES, is_count_score
from secateurs.measures.scoring import Scoring

NAMES = np.array(["ant", "bee", "cat", "dog"])
REGRESSION = [
    name
    for name in get_scorer_names()
    if name in ("r2", "explained_variance", "d2_absolute_error_score")
    or any(name.startswith(f"neg_{word}") for word in ("mean", "median", "root", "max"))
]
TWO_CLASSES = ("f1", "jaccard", "precision", "recall", "roc_auc", "average_precision")


@st.composite
def scored_predictions(draw, least_classes=2):
    """Probabilities (some are zero), true labels of all classes, sample weights or None."""
    n_classes = draw(st.integers(least_classes, 4))
    n_samples = draw(st.integers(n_classes, 12))
    rng = np.random.RandomState(draw(st.integers(0, 2**16)))
    y = np.concatenate([np.arange(n_classes), rng.randint(n_classes, size=n_samples - n_classes)])
    shares = rng.randint(0, 4, size=(n_samples, n_classes)) + 1e-9 * rng.randint(2)
    shares[shares.sum(axis=1) == 0, 0] = 1
    weights = rng.randint(1, 5, size=n_samples) / 4 if draw(st.booleans()) else None
    return shares / shares.sum(axis=1, keepdims=True), y, weights, n_classes


@given(scored_predictions())
def test_fast_classification_scores_equal_scikit_learn(drawn):
    probabilities, codes, weights, n_classes = drawn
    classes = NAMES[:n_classes]
    y, labels = classes[codes], classes[probabilities.argmax(axis=1)]
    with_weights = {"sample_weight": weights}
    hot = (codes[:, None] == np.arange(n_classes)).astype(float)
    apart = ((probabilities - hot) ** 2).sum(axis=1)  # scikit-learn halves it for two classes
    expected = {
        "accuracy": accuracy_score(y, labels, **with_weights),
        "balanced_accuracy": balanced_accuracy_score(y, labels, **with_weights),
        "neg_log_loss": -log_loss(y, probabilities, **with_weights),
        "neg_brier_score": -np.average(apart, weights=weights) / (2 if n_classes == 2 else 1),
    }
    for name, value in expected.items():
        scoring = Scoring.from_scorer(name, classes)
        assert scoring(probabilities, y, weights) == pytest.approx(value, rel=1e-12)
        if scoring.needs == "labels":
            assert scoring(labels, y, weights) == scoring(probabilities, y, weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@given(scored_predictions(), st.booleans())
def test_scores_of_counts_equal_scikit_learn(drawn, with_all_classes):
    probabilities, y, weights, n_classes = drawn
    classes = np.arange(n_classes)
    metrics = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
    metrics["jaccard"] = jaccard_score
    averages = ["macro", "micro", "weighted", *(["binary"] if n_classes == 2 else [])]
    y = y if with_all_classes else np.zeros_like(y)  # folds may lack a class
    labels = probabilities.argmax(axis=1)
    for ratio, metric in metrics.items():
        for average in averages:
            name = ratio if average == "binary" else f"{ratio}_{average}"
            assert is_count_score(name, classes)
            score = Scoring.from_scorer(name, classes)(probabilities, y, weights)
            assert score == pytest.approx(
                metric(y, labels, average=average, sample_weight=weights), rel=1e-12
            )


@given(
    st.lists(st.tuples(*[st.integers(-40, 40)] * 2, st.integers(1, 4)), min_size=2, max_size=12),
    st.booleans(),
)
def test_fast_regression_scores_equal_scikit_learn(rows, weighted):
    answers, y, shares = (np.array(column, dtype=float) / 8 for column in zip(*rows))
    weights = shares if weighted else None
    expected = {
        "r2": r2_score(y, answers, sample_weight=weights),
        "neg_mean_squared_error": -mean_squared_error(y, answers, sample_weight=weights),
        "neg_root_mean_squared_error": -root_mean_squared_error(y, answers, sample_weight=weights),
        "neg_mean_absolute_error": -mean_absolute_error(y, answers, sample_weight=weights),
    }
    for name, value in expected.items():
        assert Scoring.from_scorer(name)(answers, y, weights) == pytest.approx(
            value, rel=1e-9, abs=1e-12
        )


def test_every_fast_score_is_compared():
    classes = {"accuracy", "balanced_accuracy", "neg_log_loss", "neg_brier_score"}
    numbers = {f"neg_{name}_error" for name in ("mean_squared", "root_mean_squared")}
    assert set(FAST_SCORES) == classes | numbers | {"neg_mean_absolute_error", "r2"}


@pytest.mark.filterwarnings("ignore:'k'")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", sorted(set(get_scorer_names()) - set(REGRESSION)))
def test_classification_scores_equal_those_of_the_estimator(name, n_classes):
    if "samples" in name or (
        n_classes > 2 and (name in TWO_CLASSES[:-1] or name.endswith("likelihood_ratio"))
    ):
        pytest.skip("not defined for this number of classes")
    X, y = make_classification(
        90, 6, n_informative=4, n_classes=n_classes, flip_y=0.4, random_state=0
    )
    model = GaussianNB().fit(X, y)
    if name == "neg_brier_score" and n_classes > 2:
        try:
            get_scorer(name)(model, X, y)
        except ValueError:
            pytest.skip("this version of scikit-learn has it for two classes only")
    _compare_with_estimator(name, model, X, y)


def _compare_with_estimator(name, model, X, y):
    scoring = Scoring.from_scorer(name, model.classes_)
    probabilities = model.predict_proba(X)
    assert scoring(probabilities, y) == pytest.approx(get_scorer(name)(model, X, y), rel=1e-9)
    if scoring.needs == "labels":
        assert scoring(model.predict(X), y) == scoring(probabilities, y)
    else:
        with pytest.raises(InputError, match=f"{name}.*needs probabilities.*labels"):
            scoring(model.predict(X), y)


@pytest.mark.parametrize("name", REGRESSION)
def test_regression_scores_equal_those_of_the_estimator(name):
    X = np.random.RandomState(0).rand(50, 3)
    y = X @ [1, 2, 3] + 1
    model = Ridge().fit(X, y)
    expected = get_scorer(name)(model, X, y)
    scoring = Scoring.from_scorer(name)
    assert scoring.needs == "numbers"
    assert scoring(model.predict(X), y) == pytest.approx(expected, rel=1e-9)


def test_weights_reach_the_scorer_with_and_without_metadata_routing():
    y, answers = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    expected = f1_score(y, answers, sample_weight=weights)
    for enabled in (False, True):
        with config_context(enable_metadata_routing=enabled):
            assert Scoring.from_scorer("f1", [0, 1])(answers, y, weights) == expected
    with pytest.raises(InputError, match="does not accept sample weights"):
        Scoring.from_scorer(make_scorer(max_error))([1.0, 2.0], [1.0, 3.0], [1, 2])


def test_the_default_is_accuracy_or_r2():
    assert Scoring.from_scorer(None, [0, 1]).name == "accuracy"
    assert Scoring.from_scorer(None).name == "r2"
    assert (Scoring.from_scorer(None).label, Scoring.from_scorer(None).larger_is_better) == (
        "R²",
        True,
    )


@pytest.mark.parametrize(
    ("given", "name", "label", "needs", "larger"),
    [
        ("neg_log_loss", "neg_log_loss", "log loss", "probabilities", False),
        ("roc_auc", "roc_auc", "ROC AUC", "probabilities", True),
        (get_scorer("neg_brier_score"), "neg_brier_score", "Brier score", "probabilities", False),
        (make_scorer(f1_score, average="macro"), None, "f1", "labels", True),
        (
            make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"),
            "neg_log_loss",
            "log loss",
            "probabilities",
            False,
        ),
    ],
)
def test_a_score_has_name_label_needs_and_direction(given, name, label, needs, larger):
    scoring = Scoring.from_scorer(given, [0, 1])
    assert scoring.name == (name or repr(given))
    assert scoring.label.lower() == label.lower()
    assert (scoring.needs, scoring.larger_is_better) == (needs, larger)
    assert scoring.display_score(0.25) == (0.25 if larger else -0.25)


def test_a_loss_is_displayed_as_a_positive_value():
    scoring = Scoring.from_scorer("neg_brier_score", ["no", "yes"])
    score = scoring([[0.5, 0.5], [0.0, 1.0]], ["no", "yes"])
    assert (scoring.label, scoring.larger_is_better) == ("Brier score", False)
    assert (score, scoring.display_score(score)) == (-0.125, 0.125)


def test_a_function_can_be_a_score():
    def share_of_bees(estimator, X, y):
        return np.mean(estimator.predict_proba(X[y == "bee"])[:, 1])

    scoring = Scoring.from_scorer(share_of_bees, ["ant", "bee"])
    assert (scoring.name, scoring.label) == ("share_of_bees", "share of bees")
    assert scoring.needs == "any"
    assert scoring([[0.5, 0.5], [0.25, 0.75]], ["ant", "bee"]) == 0.75


def test_a_function_with_the_name_of_a_known_score_is_called_itself():
    def accuracy_score(y, predicted):
        return 0.125

    scoring = Scoring.from_scorer(make_scorer(accuracy_score), [0, 1])
    assert scoring([0, 1], [0, 1]) == 0.125


ANT_BEE = ["ant", "bee"]


@pytest.mark.parametrize(
    ("scoring", "classes", "message"),
    [
        ("neg_logloss", [0, 1], r"scoring='neg_logloss' is unknown.*mean 'neg_log_loss'"),
        ("r2", [0, 1], r"a regression score.*predict classes.*'neg_log_loss'"),
        (get_scorer("neg_max_error"), [0, 1], r"neg_max_error.*a regression score"),
        ("accuracy", (), r"a classification score.*predict values.*'r2'"),
        (accuracy_score, [0, 1], r"Pass make_scorer\(accuracy_score\)"),
        (["accuracy"], [0, 1], "not a valid score"),
        (3, [0, 1], "scoring=3 is not a valid score"),
        ("f1", ANT_BEE, r"'bee', pass make_scorer\(f1_score, pos_label='bee'\). 'roc_auc' and"),
        ("average_precision", ANT_BEE, r"response_method='predict_proba', pos_label='bee'"),
        ("roc_auc", [0, 1, 2], r"two classes, but there are 3. Pass 'roc_auc_ovr'"),
        ("precision", [0, 1, 2], r"Pass 'precision_macro'"),
    ],
)
def test_invalid_scores_are_rejected_with_advice(scoring, classes, message):
    with pytest.raises(InputError, match=message):
        Scoring.from_scorer(scoring, classes)


@pytest.mark.parametrize("scoring", TWO_CLASSES)
def test_the_scorer_advised_for_text_labels_works(scoring):
    if scoring == "roc_auc":
        return  # takes text as it is
    with pytest.raises(InputError) as caught:
        Scoring.from_scorer(scoring, ANT_BEE)
    import sklearn.metrics

    advised = str(caught.value).partition(", pass ")[2].partition(". ")[0]
    made = Scoring.from_scorer(eval(advised, vars(sklearn.metrics)), ANT_BEE)
    expected = Scoring.from_scorer(scoring, [0, 1])
    probabilities, codes = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]]), [0, 0, 1, 1]
    assert made(probabilities, NAMES[codes]) == expected(probabilities, codes)


@pytest.mark.parametrize(
    ("scoring", "y", "message"),
    [
        ("roc_auc", [1, 1], r"'roc_auc' is not defined.*one class only \(1\)"),
        (lambda estimator, X, y: np.nan, [0, 1], "returned NaN"),
        (lambda estimator, X, y: [1, 2], [0, 1], "cannot score these classes: TypeError"),
        (lambda estimator, X, y: {}["no"], [0, 1], "cannot score these classes: KeyError"),
        ("neg_log_loss", [0, 7], "label 7, which has no probability"),
    ],
)
def test_undefined_and_failing_scores_raise_an_error(scoring, y, message):
    with pytest.raises(InputError, match=message):
        Scoring.from_scorer(scoring, [0, 1])([[0.5, 0.5], [0.25, 0.75]], y)


@pytest.mark.parametrize(
    ("scoring", "y", "message"),
    [
        ("roc_auc", ["ant", "ant"], r"one class only \('ant'\)"),
        ("neg_log_loss", ["ant", "cat"], "label 'cat', which has no probability. The classes are"),
    ],
)
def test_labels_that_are_objects_are_named(scoring, y, message):
    score = Scoring.from_scorer(scoring, np.array(["ant", "bee"], dtype=object))
    with pytest.raises(InputError, match=message):
        score([[0.5, 0.5], [0.25, 0.75]], np.array(y, dtype=object))


def test_r2_of_one_sample_equals_r2_of_a_constant_target():
    assert Scoring.from_scorer("r2")([1.0], [1.0]) == r2_score([1.0, 1.0], [1.0, 1.0])
    assert Scoring.from_scorer("r2")([2.0], [1.0]) == r2_score([1.0, 1.0], [2.0, 2.0])


@given(scored_predictions(), st.integers(0, 3))
def test_log_loss_includes_classes_without_samples(drawn, absent):
    probabilities, codes, weights, n_classes = drawn
    rows = codes != absent % n_classes
    y, kept = codes[rows], probabilities[rows]
    shares = None if weights is None else weights[rows]
    classes = np.arange(n_classes)
    expected = -log_loss(y, kept, labels=classes, sample_weight=shares)
    found = Scoring.from_scorer("neg_log_loss", classes)(kept, y, shares)
    assert found == pytest.approx(expected, rel=1e-12)
