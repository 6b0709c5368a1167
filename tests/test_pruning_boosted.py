"""prune() on boosted models: the shortest prefix that is good enough, by any score."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from boosted_models import (
    CHOOSE,
    FIT,
    LIBRARIES,
    N_ROUNDS,
    TASKS,
    TEST,
    TRUNCATED,
    fitted_boosted,
    methods_of,
)
from secateurs import COMEP, EarlyStoppingPruner, PrunedClassifier, PrunedRegressor, compare, prune
from secateurs.exceptions import BudgetError, InputError, UnsupportedEnsembleError

pytestmark = pytest.mark.usefixtures("one_thread")


def curve_of(library, model, X, y, score, *, method="predict"):
    """The score of every prefix on rows, by the library's own truncated predictions."""
    answers = (TRUNCATED[library](model, X, n, method) for n in range(1, N_ROUNDS + 1))
    return [score(y, np.squeeze(answer)) for answer in answers]


def shortest(scores, tolerance):
    """The least size from which on no score is lower than that of all rounds, less a tolerance."""
    low = [n for n, score in enumerate(scores, 1) if score < scores[-1] - tolerance - 1e-12]
    return max(low, default=0) + 1


@pytest.mark.parametrize("tolerance", [0.0, 0.005, 0.03])
@pytest.mark.parametrize("task", TASKS)
def test_the_shortest_prefix_within_the_tolerance_is_kept(library, task, tolerance):
    model, X, y = fitted_boosted(library, task)
    pruning = prune(model, X[CHOOSE], y[CHOOSE], tolerance=tolerance, relative_to="full")
    score = r2_score if task == "numbers" else accuracy_score
    scores = curve_of(library, model, X[CHOOSE], y[CHOOSE], score)
    expected = shortest(scores, tolerance)
    assert pruning.member_indices.tolist() == list(range(expected))
    for method in methods_of(task):
        truncated = TRUNCATED[library](model, X[TEST], expected, method)
        assert np.array_equal(getattr(pruning.estimator, method)(X[TEST]), truncated)


def test_keep_is_the_number_of_rounds(library):
    model, X, y = fitted_boosted(library, "three labels")
    for keep, kept in ((4, 4), (0.5, N_ROUNDS // 2)):
        pruning = prune(model, X[CHOOSE], y[CHOOSE], keep=keep)
        assert pruning.member_indices.tolist() == list(range(kept))
        truncated = TRUNCATED[library](model, X[TEST], kept, "predict_proba")
        assert np.array_equal(pruning.estimator.predict_proba(X[TEST]), truncated)


def test_any_score_decides(library):
    model, X, y = fitted_boosted(library, "rare labels")
    kept = prune(
        model, X[CHOOSE], y[CHOOSE], scoring="balanced_accuracy", tolerance=0.05, relative_to="full"
    )
    balanced = curve_of(library, model, X[CHOOSE], y[CHOOSE], balanced_accuracy_score)
    assert len(kept.member_indices) == shortest(balanced, 0.05)
    kept = prune(
        model, X[CHOOSE], y[CHOOSE], scoring="neg_log_loss", tolerance=0.02, relative_to="full"
    )
    losses = curve_of(
        *(library, model, X[CHOOSE], y[CHOOSE]),
        lambda y, shares: -log_loss(y, shares),
        method="predict_proba",
    )
    assert len(kept.member_indices) == shortest(losses, 0.02)


def test_weights_of_rows_count():
    model, X, y = fitted_boosted("scikit-learn", "three labels")
    weights = np.random.RandomState(0).uniform(0, 3, len(y))[CHOOSE]
    kept = prune(
        model, X[CHOOSE], y[CHOOSE], sample_weight=weights, tolerance=0.01, relative_to="full"
    )
    weighted = curve_of(
        *("scikit-learn", model, X[CHOOSE], y[CHOOSE]),
        lambda y, labels: accuracy_score(y, labels, sample_weight=weights),
    )
    assert len(kept.member_indices) == shortest(weighted, 0.01)


def test_budgets_of_bytes_and_time(library):
    import pickle

    model, X, y = fitted_boosted(library, "two labels")
    ten = prune(model, X[CHOOSE], y[CHOOSE], keep=10).estimator
    pruning = prune(model, X[CHOOSE], y[CHOOSE], max_bytes=len(pickle.dumps(ten)))
    assert len(pruning.member_indices) == 10
    assert len(prune(model, X[CHOOSE], y[CHOOSE], max_latency=60).member_indices) == N_ROUNDS
    with pytest.raises(BudgetError, match="Not even one member meets max_bytes=10"):
        prune(model, X[CHOOSE], y[CHOOSE], max_bytes=10)


def test_the_summary_is_of_both_models(library):
    model, X, y = fitted_boosted(library, "three labels")
    pruning = prune(model, X[CHOOSE], y[CHOOSE], keep=3)
    summary = pruning.summary(X[TEST], y[TEST])
    both = {"before": model, "after": pruning.estimator}
    for column, one in both.items():
        right = np.mean(np.ravel(one.predict(X[TEST])) == y[TEST])
        assert summary.loc["accuracy", column] == pytest.approx(right)
        loss = log_loss(y[TEST], one.predict_proba(X[TEST]))
        assert summary.loc["log loss", column] == pytest.approx(loss, rel=1e-4)
    assert summary.loc["members"].tolist()[:2] == [N_ROUNDS, 3]
    assert "3 of 20 members" in repr(pruning)
    assert "3 of 20" in pruning._repr_html_()
    assert pruning.provenance()["members"] == [0, 1, 2]


REFUSED = {
    "another method": ({"pruner": "comep"}, "COMEP cannot .* each tree corrects the trees before"),
    "another pruner": ({"pruner": COMEP(keep=3)}, "COMEP cannot select among the rounds"),
    "random members": ({"pruner": "random", "keep": 3}, "RandomPruner cannot select"),
    "costs": ({"cost": np.ones(N_ROUNDS), "max_cost": 5}, "cost cannot select among the rounds"),
    "rows of training": ({"oob": True}, "does not record which samples .* use a validation set"),
    "too many": ({"keep": 50}, "keep=50 asks for more"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_rounds_of_boosting_do_not_allow(options, message):
    model, X, y = fitted_boosted("scikit-learn", "two labels")
    with pytest.raises(InputError, match=message):
        prune(model, X[CHOOSE], y[CHOOSE], **options)


def test_rounds_are_not_refitted():
    model, X, y = fitted_boosted("scikit-learn", "two labels")
    with pytest.raises(UnsupportedEnsembleError, match="cannot be refitted"):
        prune(model, X[CHOOSE], y[CHOOSE], refit=True)


def test_comparisons_and_reports_are_refused_with_the_reason(tmp_path):
    model, X, y = fitted_boosted("scikit-learn", "two labels")
    with pytest.raises(InputError, match=r"cannot be compared: .* each tree corrects"):
        compare(model, X[CHOOSE], y[CHOOSE])
    pruning = prune(model, X[CHOOSE], y[CHOOSE])
    with pytest.raises(InputError, match="members that predict on their own"):
        pruning.report(tmp_path / "page.html", X[TEST], y[TEST])
    assert not list(tmp_path.iterdir())


def test_the_method_that_keeps_the_first_may_be_named():
    model, X, y = fitted_boosted("scikit-learn", "two labels")
    by_default = prune(model, X[CHOOSE], y[CHOOSE], tolerance=0.005).member_indices
    for pruner in ("auto", "es", EarlyStoppingPruner()):
        named = prune(model, X[CHOOSE], y[CHOOSE], pruner, tolerance=0.005)
        assert named.member_indices.tolist() == by_default.tolist()


def mixed(X):
    """Rows with a column of text."""
    kinds = np.array(["old", "new", "lent"])[np.digitize(X[:, 0], [-1, 1])]
    return pd.DataFrame(np.nan_to_num(X), columns=list("abcdef")).assign(kind=kinds)


def test_a_pipeline_of_mixed_columns_is_pruned(library):
    _, X, y = fitted_boosted(library, "three labels")
    table = mixed(X)
    encoded = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoded, LIBRARIES[library]("Classifier"))
    model.fit(table[FIT], y[FIT])
    inner, ready = model[-1], model[:-1].transform(table[TEST])
    pruning = prune(model, table[CHOOSE], y[CHOOSE], keep=4)
    expected = TRUNCATED[library](inner, ready, 4, "predict_proba")
    assert np.array_equal(pruning.estimator.predict_proba(table[TEST]), expected)
    assert np.array_equal(model[-1].predict_proba(ready), inner.predict_proba(ready))


def test_columns_of_categories_are_pruned(library):
    _, X, y = fitted_boosted(library, "three labels")
    table = mixed(X)
    if library == "catboost":
        model = LIBRARIES[library]("Classifier", cat_features=["kind"])
    elif library == "scikit-learn":
        pytest.skip("takes no categories")
    else:
        table["kind"] = table["kind"].astype("category")
        more = {"lightgbm": {}, "xgboost": {"enable_categorical": True}}
        asked = more.get(library, {"categorical_features": "from_dtype"})
        model = LIBRARIES[library]("Classifier", **asked)
    model.fit(table[FIT], y[FIT])
    pruning = prune(model, table[CHOOSE], y[CHOOSE], keep=4)
    expected = TRUNCATED[library](model, table[TEST], 4, "predict_proba")
    assert np.array_equal(pruning.estimator.predict_proba(table[TEST]), expected)


@pytest.mark.parametrize("task", ["three labels", "numbers"])
def test_fitting_and_pruning_in_one_estimator(library, task):
    _, X, y = fitted_boosted(library, task)
    kind, pruned = ("Regressor", PrunedRegressor)
    if task != "numbers":
        kind, pruned = ("Classifier", PrunedClassifier)
    estimator = pruned(LIBRARIES[library](kind), random_state=0).fit(X[FIT], y[FIT])
    assert type(estimator.estimator_).__name__.endswith(kind)
    kept = len(estimator.pruning_.member_indices)
    assert kept <= N_ROUNDS
    whole = estimator.pruning_.ensemble.model
    truncated = TRUNCATED[library](whole, X[TEST], kept, "predict")
    assert np.array_equal(estimator.predict(X[TEST]), truncated)


def test_in_a_grid_search():
    _, X, y = fitted_boosted("histograms", "two labels")
    ordinal = make_pipeline(OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=8))
    codes = pd.DataFrame({"a": np.round(np.nan_to_num(X[:, 0])), "b": np.round(X[:, 2])})
    ordinal.set_params(ordinalencoder__handle_unknown="use_encoded_value")
    ordinal.set_params(ordinalencoder__unknown_value=-1)
    search = GridSearchCV(
        PrunedClassifier(ordinal, random_state=0),
        {"pruner": [None, EarlyStoppingPruner(keep=2)]},
        cv=2,
    )
    search.fit(codes[FIT], y[FIT])
    assert len(search.best_estimator_.estimator_[-1]._predictors) <= 8


def test_a_search_around_a_boosted_model_is_pruned():
    _, X, y = fitted_boosted("scikit-learn", "two labels")
    model = GradientBoostingClassifier(n_estimators=6, random_state=0)
    search = GridSearchCV(clone(model), {"max_depth": [1, 2]}, cv=2).fit(X[FIT], y[FIT])
    pruning = prune(search, X[CHOOSE], y[CHOOSE], keep=2)
    assert type(pruning.estimator) is GradientBoostingClassifier
    assert len(pruning.estimator.estimators_) == 2
