"""Tables of predictions: every input format selects the same members."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from secateurs import COMEP, collect_predictions, collect_votes, compare, prune
from secateurs.exceptions import InputError
from secateurs.outputs.prediction_table import PredictionTable
from secateurs.outputs.table_members import TableFormat

RNG = np.random.default_rng(0)
LABELS = np.array(["ant", "bee", "cat"])
TRUTH = RNG.integers(3, size=60)
Y = LABELS[TRUTH]
RIGHT = 0.6 * np.eye(3)[TRUTH][:, None]
SHARES = RNG.dirichlet(np.ones(3), size=(60, 7)) * 0.4 + RIGHT * (RNG.random((60, 7, 1)) < 0.7)
SHARES /= SHARES.sum(axis=2, keepdims=True)
VOTES = LABELS[SHARES.argmax(axis=2)]
NAMES = [f"model {member}" for member in range(7)]
KEPT = COMEP(keep=3).fit(VOTES, Y).member_indices_.tolist()


def by_name(make):
    return {name: make(member) for member, name in enumerate(NAMES)}


VOTE_TABLES = {
    "array": VOTES,
    "object array": VOTES.astype(object),
    "nested lists": VOTES.tolist(),
    "list of rows": list(VOTES),
    "list of members": list(VOTES.T),
    "tuple of Series": tuple(pd.Series(column) for column in VOTES.T),
    "frame": pd.DataFrame(VOTES, columns=NAMES),
    "dict of arrays": by_name(lambda member: VOTES[:, member]),
    "dict of lists": by_name(lambda member: VOTES[:, member].tolist()),
    "dict of columns": by_name(lambda member: VOTES[:, [member]]),
    "dict of Series": by_name(lambda member: pd.Series(VOTES[:, member])),
    "dict of frames": by_name(lambda member: pd.DataFrame({"prediction": VOTES[:, member]})),
    "dict of many kinds": by_name(
        lambda member: VOTES[:, member] if member % 2 else VOTES[:, member].astype(object)
    ),
}
SHARE_TABLES = {
    "array": SHARES,
    "nested lists": SHARES.tolist(),
    "list of members": [SHARES[:, member] for member in range(7)],
    "list of rows": list(SHARES),
    "dict of arrays": by_name(lambda member: SHARES[:, member]),
    "dict of lists": by_name(lambda member: SHARES[:, member].tolist()),
    "dict of frames": by_name(lambda member: pd.DataFrame(SHARES[:, member], columns=LABELS)),
    "dict of frames in any order": by_name(
        lambda member: pd.DataFrame(SHARES[:, member], columns=LABELS)[
            np.roll(LABELS, member).tolist()
        ]
    ),
}


@pytest.mark.parametrize("form", VOTE_TABLES)
def test_labels_in_any_form_select_the_same_members(form):
    table = VOTE_TABLES[form]
    pruning = prune(table, y=Y, pruner="comep", keep=3)
    assert pruning.member_indices.tolist() == KEPT
    named = form == "frame" or form.startswith("dict")
    expected = [NAMES[member] if named else f"member {member}" for member in KEPT]
    assert pruning.member_names == expected
    assert prune(table, y=Y, pruner="comep", keep=3, names=NAMES).member_names == [
        NAMES[i] for i in KEPT
    ]


@pytest.mark.parametrize("form", SHARE_TABLES)
def test_probabilities_in_any_form_select_the_same_members(form):
    table = SHARE_TABLES[form]
    given = None if "frames" in form else LABELS
    pruning = prune(table, y=Y, pruner="comep", keep=3, classes=given, names=NAMES)
    assert pruning.member_indices.tolist() == KEPT
    assert pruning.member_names == [NAMES[member] for member in KEPT]
    assert pruning.votes.classes.tolist() == LABELS.tolist()
    rows = {"X_test": table, "y_test": Y, "classes": given}
    accuracy = compare(table, y=Y, methods=["best"], keep=3, **rows).leaderboard().accuracy
    whole = (LABELS[SHARES.mean(axis=1).argmax(axis=1)] == Y).mean()
    assert whole in accuracy.tolist()


@pytest.mark.parametrize("form", [*VOTE_TABLES, *SHARE_TABLES])
def test_the_pruned_table_has_the_form_of_the_input(form):
    for tables, values in ((VOTE_TABLES, VOTES), (SHARE_TABLES, SHARES)):
        if form not in tables:
            continue
        kept = prune(
            tables[form], None, Y, "comep", 3, classes=None if "frames" in form else LABELS
        ).members
        places = sorted(KEPT)
        if form.startswith("dict"):
            assert list(kept) == [NAMES[place] for place in places]
            assert all(kept[name] is tables[form][name] for name in kept)
        elif form in ("list of members", "tuple of Series"):
            assert all(one is tables[form][place] for one, place in zip(kept, places))
        else:
            assert np.array_equal(np.asarray(kept), values[:, places])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2]])
@pytest.mark.parametrize("labels", [LABELS, np.array([7, 3, 5]), np.array([2.0, 1.0, 0.0])])
def test_classes_may_come_in_any_order(order, labels):
    expected = np.argsort(labels)
    scores = PredictionTable(
        SHARES[:, :, order], TableFormat(classes=labels[order])
    ).numeric_predictions
    assert scores.classes.tolist() == sorted(labels.tolist())
    assert np.abs(scores.decode() - SHARES[:, :, expected]).max() < 1e-4
    pruning = prune(
        SHARES[:, :, order], y=labels[TRUTH].tolist(), pruner="comep", keep=3, classes=labels[order]
    )
    assert pruning.member_indices.tolist() == KEPT
    voted = labels[SHARES.argmax(axis=2)]
    assert (pruning.votes.classes[pruning.votes.codes(range(7)).T] == voted).all()


@pytest.mark.parametrize(
    "cast",
    [
        lambda y: y.astype(object),
        lambda y: pd.Series(y, dtype=object),
        lambda y: pd.Series(y, index=np.arange(60) + 100),
        pd.Categorical,
        lambda y: y.tolist(),
        lambda y: y.reshape(-1, 1).astype(object),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_true_labels_may_be_objects(cast):
    for votes, y in ((VOTES, Y), (SHARES.argmax(axis=2), TRUTH)):
        assert prune(votes, y=cast(y), pruner="comep", keep=3).member_indices.tolist() == KEPT
        assert (
            prune(votes.astype(object), y=cast(y), pruner="comep", keep=3).member_indices.tolist()
            == KEPT
        )
        rows = {"X_test": votes, "y_test": cast(y)}
        assert len(compare(votes, y=cast(y), methods=["best"], keep=3, **rows).leaderboard()) == 6
    assert prune(SHARES, y=cast(TRUTH), pruner="comep", keep=3).member_indices.tolist() == KEPT
    assert (
        prune(SHARES, y=cast(Y), pruner="comep", keep=3, classes=LABELS).member_indices.tolist()
        == KEPT
    )


@pytest.mark.filterwarnings("ignore:.* also in the validation set")
def test_scores_of_probabilities_agree_with_scikit_learn():
    pruning = prune(SHARES, y=Y, pruner="comep", keep=3, classes=LABELS)
    found = pruning.summary(SHARES, Y)
    for column, members in (("before", list(range(7))), ("after", KEPT)):
        mean = SHARES[:, members].mean(axis=1)
        expected = roc_auc_score(Y, mean, multi_class="ovr")
        assert found.loc["ROC AUC one-vs-rest", column] == pytest.approx(expected, abs=2e-3)
        assert found.loc["log loss", column] == pytest.approx(log_loss(Y, mean), abs=1e-3)


def test_masked_probabilities_are_missing_votes():
    mask = RNG.random((60, 7)) < 0.2
    table = np.ma.array(SHARES.copy(), mask=np.repeat(mask[:, :, None], 3, axis=2))
    table.data[mask] = np.nan
    pruning = prune(table, y=TRUTH, pruner="comep", keep=3)
    expected = prune(np.ma.array(SHARES.argmax(axis=2), mask=mask), y=TRUTH, pruner="comep", keep=3)
    assert pruning.votes.n_answered.tolist() == (~mask).sum(axis=0).tolist()
    assert pruning.member_indices.tolist() == expected.member_indices.tolist()
    scores = pruning.ensemble.numeric_predictions.decode()
    assert (np.ma.getmaskarray(scores)[:, :, 0] == mask).all()


@pytest.mark.filterwarnings("ignore:.* also in the validation set")
def test_test_tables_are_matched_by_name():
    shuffled = [3, 1, 0, 2, 6, 5, 4]
    for form, tables in (("frame", VOTE_TABLES), ("dict of arrays", VOTE_TABLES)):
        table = tables[form]
        names = [NAMES[place] for place in shuffled]
        other = table[names] if form == "frame" else {name: table[name] for name in names}
        pruning = prune(table, y=Y, pruner="comep", keep=3)
        straight, matched = (pruning.summary(rows, Y) for rows in (table, other))
        assert matched.loc["accuracy"].equals(straight.loc["accuracy"])
    with pytest.raises(InputError, match="no predictions of model 0, model 1"):
        pruning.summary({"another" + name: VOTES[:, 0] for name in NAMES}, Y)


BAD = {
    "transposed labels": (
        VOTES.T,
        {},
        r"shape \(7, 60\) and y has 60 labels: they look transp.*\.T",
    ),
    "transposed nested lists": (VOTES.T.tolist(), {}, "they look transposed"),
    "transposed probabilities": (SHARES.swapaxes(0, 1), {}, r"pass predictions\.swapaxes\(0, 1\)"),
    "as many members as samples": (list(np.resize(VOTES, (60, 60))), {}, "may hold samples or mem"),
    "y outside of the classes": (
        SHARES,
        {},
        r"y has the label 'ant', which is not one of the .*0, 1",
    ),
    "few classes": (
        SHARES,
        {"classes": ["a", "b"]},
        "classes has 2 different labels for prob.* of 3",
    ),
    "classes twice": (SHARES, {"classes": ["a", "b", "b"]}, "classes has 2 different labels"),
    "votes outside of the classes": (
        VOTES,
        {"classes": ["ant", "bee"]},
        "A member has the label 'c",
    ),
    "few names": (VOTES, {"names": ["a"]}, "names has 1 different names for 7 members"),
    "names twice": (VOTES, {"names": ["a"] * 7}, "names has 1 different names for 7 members"),
    "two kinds": (
        {"a": VOTES[:, 0], "b": SHARES[:, 1]},
        {},
        "'a' has labels, member 'b' has probabilities of 3 classes. Pass one kind",
    ),
    "two numbers of classes": ({"a": SHARES[:, 0], "b": SHARES[:, 1, :2]}, {}, "of 3 classes, mem"),
    "two lengths": (
        {"a": VOTES[:, 0], "b": VOTES[:59, 1]},
        {},
        "'a' has 60 predictions, member 'b' has 59",
    ),
    "two indices": (
        {"a": pd.Series(Y), "b": pd.Series(Y, index=np.arange(60)[::-1])},
        {},
        "members 'a' and 'b' have different indices",
    ),
    "two sets of classes": (
        {
            "a": pd.DataFrame(SHARES[:, 0], columns=LABELS),
            "b": pd.DataFrame(SHARES[:, 1], columns=["ant", "bee", "elk"]),
        },
        {},
        "columns of member 'b' name other classes than those of 'a'",
    ),
    "three dimensions": (
        {"a": SHARES, "b": SHARES},
        {},
        r"'a' has predictions of shape \(60, 7, 3\)",
    ),
    "text beside numbers": ({"a": Y, "b": TRUTH}, {}, "mixes kinds of labels"),
    "another number of rows": ({"a": Y[:50], "b": Y[:50]}, {}, "50 samples but y has 60 labels"),
    "text for probabilities": (SHARES.astype(str), {}, "are not numbers"),
}


@pytest.mark.parametrize("form", BAD)
def test_invalid_tables_are_rejected_in_one_line(form):
    table, options, message = BAD[form]
    with pytest.raises(InputError, match=message) as caught:
        prune(table, y=Y, keep=1, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ([np.nan, 0.5, 0.5], r"\[nan 0\.5 0\.5\], which are not all finite numbers"),
        ([np.inf, 0.0, 0.0], "which are not all finite numbers"),
        ([-0.2, 0.6, 0.6], "which are partly negative"),
        ([0.7, 0.7, 0.0], "which do not sum to 1"),
        ([0.0, 0.0, 0.0], "which do not sum to 1"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_samples_with_invalid_probabilities_are_named(row, fault):
    values = SHARES.copy()
    values[4, 2] = row
    with pytest.raises(InputError, match=rf"Member 2 gives sample 4 the probabilities .*{fault}"):
        prune(values, y=TRUTH, keep=1)
    with pytest.raises(InputError, match=rf"Member 'model 2' gives sample 4 .*{fault}"):
        prune(values, y=TRUTH, keep=1, names=NAMES)


def test_names_and_classes_are_for_predictions_only():
    trees = [DecisionTreeClassifier(max_depth=1).fit(RIGHT[:, 0], Y)] * 2
    for name in ("classes", "names"):
        with pytest.raises(
            InputError, match=f"{name} is for predictions only; models have their own"
        ):
            prune(trees, RIGHT[:, 0], Y, keep=1, **{name: LABELS})


class Upright(ClassifierMixin, BaseEstimator):
    """A classifier that predicts a column, as CatBoost does for several classes."""

    def __init__(self, feature=0):
        self.feature = feature

    def fit(self, X, y):
        self.inner_ = DecisionTreeClassifier(max_depth=2).fit(X[:, [self.feature]], y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X[:, [self.feature]]).reshape(-1, 1)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X[:, [self.feature]])


@pytest.mark.filterwarnings("ignore:.* also in the validation set")
def test_models_that_predict_a_column_are_accepted():
    rows = SHARES[:, 0] + RNG.normal(scale=0.2, size=(60, 3))
    models = [Upright(feature).fit(rows, Y) for feature in range(3)]
    expected = np.hstack([model.predict(rows) for model in models])
    voting = VotingClassifier([(f"m{i}", Upright(i)) for i in range(3)], voting="soft").fit(rows, Y)
    for ensemble in (models, {f"m{i}": model for i, model in enumerate(models)}, voting):
        assert (collect_votes(ensemble, rows) == expected).all()
        assert collect_predictions(ensemble, rows).shape == (60, 3, 3)
        pruning = prune(ensemble, rows, Y, "best", keep=1)
        right = (expected == Y[:, None]).sum(axis=0)
        assert right[pruning.member_indices[0]] == right.max()
        assert pruning.summary(rows, Y).loc["accuracy", "after"] == right.max() / 60
