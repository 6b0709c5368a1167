"""`Blend`: the same predictions as plain NumPy and scikit-learn, and JSON that is checked."""

import copy
import json
import pickle
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from secateurs import Blend, frontier, load, prune, save
from secateurs.exceptions import InputError, SecateursError

LABELS = np.array(["ant", "bee", "cat"])
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(3, size=90)
Y = LABELS[TRUTH]
SHARES = RNG.dirichlet(np.ones(3), size=(90, 6)) + np.eye(3)[TRUTH][:, None] * 0.5
SHARES /= SHARES.sum(axis=2, keepdims=True)
NAMES = [f"net {member}" for member in range(6)]


def naive_mean(values, mask, weights):
    """Weighted mean of the present predictions, sample by sample; NaN if there are none."""
    rows = []
    for row, gaps in zip(values, mask, strict=True):
        present = [i for i in range(len(row)) if not gaps[i] and weights[i] > 0]
        total = sum(weights[i] for i in present)
        rows.append(
            sum(weights[i] * np.asarray(row[i], dtype=float) for i in present) / total
            if present
            else np.full(np.shape(row[0]), np.nan)
        )
    return np.array(rows)


@st.composite
def weighted_gaps(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = draw(st.lists(st.integers(0, 5), min_size=6, max_size=6).filter(any))
    return rng.random((90, 6)) < draw(st.sampled_from([0.0, 0.4, 0.9])), np.array(weights, float)


@given(weighted_gaps())
def test_probabilities_are_averaged_over_the_members_that_answer(case):
    mask, weights = case
    prior = np.array([0.2, 0.5, 0.3])
    expected = naive_mean(SHARES, mask, weights)
    unanswered = np.isnan(expected[:, 0])
    table = np.where(mask[:, :, None], np.nan, SHARES)
    blend = Blend(NAMES, weights, LABELS, kind="probabilities", prior=prior)
    found = blend.predict_proba(table)
    np.testing.assert_allclose(found[~unanswered], expected[~unanswered])
    assert (found[unanswered] == prior).all()
    assert (blend.predict(table)[unanswered] == "bee").all()
    assert (blend.predict(table) == LABELS[found.argmax(axis=1)]).all()
    missing = clone(blend).set_params(unanswered="missing")
    np.testing.assert_array_equal(np.isnan(missing.predict_proba(table)[:, 0]), unanswered)
    assert [label is None for label in missing.predict(table)] == unanswered.tolist()


@given(weighted_gaps())
def test_labels_are_counted_by_weight(case):
    mask, weights = case
    codes = SHARES.argmax(axis=2)
    expected = naive_mean(np.eye(3)[codes], mask, weights)
    unanswered = np.isnan(expected[:, 0])
    table = np.ma.array(LABELS[codes], mask=mask)
    blend = Blend(NAMES, weights, LABELS, prior=[0.5, 0.25, 0.25])
    np.testing.assert_allclose(blend.predict_proba(table)[~unanswered], expected[~unanswered])
    labels = blend.predict(table)
    assert (labels[unanswered] == "ant").all()
    for label, share in zip(labels[~unanswered], expected[~unanswered], strict=True):
        tied = [name for name, value in zip(LABELS, share) if value > share.max() - 1e-9]
        assert label == tied[0]


@given(weighted_gaps())
def test_regression_values_are_averaged(case):
    mask, weights = case
    values = SHARES[:, :, 0] * 10
    expected = naive_mean(values, mask, weights)
    table = pd.DataFrame(np.where(mask, np.nan, values), columns=NAMES)
    blend = Blend(NAMES, weights, kind="values", prior=4.5)
    np.testing.assert_allclose(blend.predict(table), np.where(np.isnan(expected), 4.5, expected))
    missing = clone(blend).set_params(unanswered="missing")
    np.testing.assert_allclose(missing.predict(table), expected)


def fitted_library():
    X = SHARES[:, 0] + RNG.normal(scale=0.3, size=(90, 3))
    models = {
        "linear": LogisticRegression(),
        "bayes": GaussianNB(),
        "tree": DecisionTreeClassifier(max_depth=2),
    }
    return X, {name: model.fit(X[:45], Y[:45]) for name, model in models.items()}


@pytest.mark.parametrize("weights", [None, [3, 1, 2]])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_blends_predict_as_scikit_learns_voting(voting, weights):
    X, models = fitted_library()
    judge = VotingClassifier(list(models.items()), voting=voting, weights=weights)
    judge.fit(X[:45], Y[:45])
    if voting == "soft":
        table = {name: model.predict_proba(X) for name, model in models.items()}
        blend = Blend([*models], weights, LABELS, kind="probabilities")
        np.testing.assert_allclose(blend.predict_proba(table), judge.predict_proba(X))
    else:
        table = {name: model.predict(X) for name, model in models.items()}
        blend = Blend([*models], weights, LABELS)
    assert (blend.predict(table) == judge.predict(X)).all()
    assert blend.score(table, Y) == judge.score(X, Y)


@pytest.mark.filterwarnings("ignore:.* also in the validation set")
@pytest.mark.parametrize("pruner", ["caruana", "comep"])
@pytest.mark.parametrize("kind", ["labels", "probabilities"])
def test_prune_returns_the_blend_that_its_summary_describes(kind, pruner):
    table = {
        name: LABELS[SHARES[:, i].argmax(axis=1)] if kind == "labels" else SHARES[:, i]
        for i, name in enumerate(NAMES)
    }
    pruning = prune(table, y=Y, pruner=pruner, keep=3, classes=LABELS)
    blend = pruning.estimator
    assert blend.names == [NAMES[i] for i in sorted(pruning.member_indices)]
    assert blend.classes_.tolist() == LABELS.tolist()
    order = np.argsort(pruning.member_indices)
    if pruning.weights is not None:
        np.testing.assert_allclose(blend.weights, pruning.weights[order])
    assert pruning.summary(table, Y).loc["accuracy", "after"] == blend.score(table, Y)
    assert blend.prior.tolist() == [np.mean(label == Y) for label in LABELS]


@pytest.mark.filterwarnings("ignore:.* also in the validation set")
def test_arrays_of_probabilities_keep_the_order_of_the_classes_that_were_passed():
    order = [2, 0, 1]
    given, shares = LABELS[order].tolist(), SHARES.copy()
    shares[:4] = np.nan  # no member answers these samples
    pruning = prune(shares[:, :, order], y=Y, pruner="joint", keep=3, classes=given)
    same = prune(shares, y=Y, pruner="joint", keep=3, classes=LABELS)
    assert pruning.member_indices.tolist() == same.member_indices.tolist()
    expected = same.estimator.predict_proba(shares)
    for blend in (pruning.estimator, Blend.from_json(pruning.estimator.to_json())):
        assert blend.classes_.tolist() == LABELS.tolist()
        np.testing.assert_array_equal(blend.predict_proba(shares[:, :, order]), expected)
        assert (blend.predict(shares[:, :, order]) == same.estimator.predict(shares)).all()
    after = pruning.summary(shares[:, :, order], Y)["after"]
    assert after["accuracy"] == same.summary(shares, Y)["after"]["accuracy"]


def test_labels_that_no_member_predicts_are_classes_too():
    votes = LABELS[SHARES.argmax(axis=2)]
    blend = prune(votes, y=Y, keep=2, pruner="comep", classes=[*LABELS, "elk"]).estimator
    assert blend.classes_.tolist() == [*LABELS, "elk"]
    assert blend.prior[3] == 0
    truth = np.where(np.arange(90) < 3, "aardvark", Y)
    blend = prune(votes, y=truth, keep=2, pruner="comep", classes=LABELS).estimator
    assert blend.classes_.tolist() == ["aardvark", *LABELS]
    assert blend.prior[0] == pytest.approx(3 / 90)


@pytest.mark.parametrize("kind", ["probabilities", "values"])
def test_with_sample_weights_scores_of_unanswered_samples_are_those_of_the_blend(kind):
    rng = np.random.default_rng(3)
    y, weights = (rng.random(120) < 0.3).astype(int), rng.uniform(0.2, 3, 120)
    weights[y == 1] *= 5
    table = np.floor(np.clip(0.3 + 0.4 * y[:, None] + rng.normal(0, 0.2, (120, 4)), 0, 1) * 512)
    table = np.where(rng.random((120, 4)) < 0.5, np.nan, table / 512)
    table[::4] = np.nan
    is_soft = kind == "probabilities"
    options = {"positive": 1} if is_soft else {}
    scoring = "neg_brier_score" if is_soft else "neg_mean_squared_error"
    options |= {"cost": [1, 2, 3, 4], "sample_weight": weights[:80], "scoring": scoring}
    front = frontier(table[:80], y=y[:80], **options)
    pruning = front.at(max_cost=10)
    blend = pruning.estimator
    errors = (blend.predict_proba(table)[:, 1] if is_soft else blend.predict(table)) - y
    on_validation = -front.table()["validation_score"].iloc[-1]
    assert on_validation == pytest.approx(
        np.average(errors[:80] ** 2, weights=weights[:80]), rel=1e-6
    )
    row = "Brier score" if is_soft else "mean squared error"
    on_test = pruning.summary(table[80:], y[80:]).loc[row, "after"]
    assert on_test == pytest.approx(np.mean(errors[80:] ** 2), rel=1e-6)


def test_members_are_found_by_name_and_other_columns_are_ignored():
    frame = pd.DataFrame(LABELS[SHARES.argmax(axis=2)], columns=NAMES)
    blend = prune(frame, y=Y, pruner="comep", keep=2).estimator
    expected = blend.predict(frame)
    turned = frame[NAMES[::-1]].assign(id=np.arange(90), other=1.5)
    assert (blend.predict(turned) == expected).all()
    assert (blend.predict(dict(frame)) == expected).all()
    with pytest.raises(InputError, match=f"no predictions of {blend.names[0]}. Pass predictions"):
        blend.predict(frame.drop(columns=blend.names[0]))


def test_arrays_have_all_columns_or_those_of_the_blend():
    votes = LABELS[SHARES.argmax(axis=2)]
    blend = prune(votes, y=Y, pruner="comep", keep=2).estimator
    expected = blend.predict(votes)
    assert (blend.predict(votes[:, blend.member_indices_]) == expected).all()
    assert (blend.predict(pd.DataFrame(votes, columns=NAMES)) == expected).all()
    with pytest.raises(InputError, match=r"has 4 members. Pass one column for each of the 2 mem"):
        blend.predict(votes[:, :4])
    soft = Blend(["a", "b"], classes=[0, 1], kind="probabilities", positive=1)
    with pytest.raises(InputError, match=r"has 3 members. Pass one column for each of the 2 mem"):
        soft.predict(np.full((4, 3), 0.25))


def test_tables_of_another_kind_are_rejected():
    blend = Blend(["a", "b"], classes=LABELS)
    with pytest.raises(InputError, match=r"has probabilities, but the members .* predict labels"):
        blend.predict(SHARES[:, :2])
    with pytest.raises(InputError, match="'b' predicts 'elk' for sample 1, which is not one of"):
        blend.predict([["ant", "bee"], ["cat", "elk"]])
    soft = Blend(["a", "b"], classes=LABELS, kind="probabilities")
    with pytest.raises(InputError, match="needs two classes, but there are 3"):
        soft.predict(SHARES[:, :2, 0])
    named = pd.DataFrame({f"{n}:{c}": [1 / 3] for n in "ab" for c in ("ant", "bee", "elk")})
    soft.set_params(columns="{model}:{class}")
    with pytest.raises(InputError, match="Columns name the classes ant, bee, elk, but the class"):
        soft.predict(named)


@pytest.mark.parametrize("weights", [[1], [0, 0], [-1, 2], [np.nan, 1], [np.inf, 1]])
def test_invalid_weights_are_rejected(weights):
    with pytest.raises(InputError, match="weights is not valid"):
        Blend(["a", "b"], weights, LABELS).predict([["ant", "bee"]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"classes": ["no", "no"]},
            r"'classes' is \['no', 'no'\]. Expected: different labels of one type",
        ),
        (
            {"classes": None},
            "'classes' is None. Expected: labels for classifiers, and none for val",
        ),
        ({"kind": "scores"}, "'kind' is 'scores'. Expected: one of labels, probabilities, values"),
        ({"prior": [1.0]}, r"'prior' is \[1.0\]. Expected: a frequency for each class"),
        ({"names": "ab"}, "'names' is 'ab'. Expected: different names, as a list"),
        ({"unanswered": "guess"}, "'unanswered' is 'guess'. Expected: majority or missing"),
    ],
)
def test_blends_written_by_hand_are_checked_like_json(changes, message):
    blend = Blend(["a", "b"], classes=["no", "yes"], kind="probabilities").set_params(**changes)
    with pytest.raises(InputError, match=f"^The parameters of the blend are invalid: {message}"):
        blend.predict(np.full((2, 2, 2), 0.5))
    with pytest.raises(InputError, match=message):
        blend.to_json()


def test_a_blend_that_json_cannot_hold_is_not_written():
    with pytest.raises(InputError, match="weights is not valid"):
        Blend(["a", "b"], [1, np.nan], [0, 1]).to_json()
    votes = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    for name in ("", "x" * 5000, "a\ud800"):
        with pytest.raises(InputError, match=r"Member 1 has the name .*\. Pass names of 1 to"):
            prune({"a": votes[:, 0], name: votes[:, 1]}, y=votes[:, 0], keep=1)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["labels", "probabilities", "values"]))
def test_a_list_has_an_array_for_each_member(seed, kind):
    rng = np.random.default_rng(seed)
    members = {
        "labels": rng.integers(2, size=(4, 20)),
        "probabilities": rng.dirichlet([1, 1], size=(4, 20)),
        "values": rng.normal(size=(4, 20)),
    }[kind]
    classes = None if kind == "values" else [0, 1]
    blend = Blend(["a", "b"], [1, 3], classes, kind=kind, member_indices=[3, 0], n_members=4)
    expected = blend.predict(members.swapaxes(0, 1)).tolist()
    assert blend.predict(list(members)).tolist() == expected
    assert blend.predict([members[3], members[0]]).tolist() == expected
    for n_arrays, n_values in ((4, 4), (4, 2), (2, 4), (2, 2)):
        rows_or_members = [array[:n_values] for array in members[:n_arrays]]
        with pytest.raises(InputError, match=rf"A list of {n_arrays} arrays of {n_values} values"):
            blend.predict(rows_or_members)


def test_tables_without_two_dimensions_are_rejected():
    blend = Blend(["a", "b"], classes=[0, 1])
    for table in (None, 3, "ab", [0, 1], np.zeros(4)):
        with pytest.raises(
            InputError, match=r"The table has shape \(.*\)\. Pass one row per sample"
        ):
            blend.predict(table)
    with pytest.raises(InputError, match=r"holds 0\.1, which is not a label"):
        blend.predict(pd.DataFrame({"a": [0.1, 0.9], "b": [0.3, 0.2]}))


def test_blends_are_estimators_of_scikit_learn():
    blend = prune(SHARES, y=Y, classes=LABELS, names=NAMES, pruner="caruana", keep=3).estimator
    check_is_fitted(blend)
    assert is_classifier(blend)
    assert not is_regressor(blend)
    assert blend.n_features_in_ == len(blend.feature_names_in_) == len(blend.names)
    for same in (clone(blend), copy.deepcopy(blend), pickle.loads(pickle.dumps(blend))):
        assert (same.predict(SHARES) == blend.predict(SHARES)).all()
    scores = cross_val_score(blend, SHARES, Y, cv=3, scoring="neg_log_loss", error_score="raise")
    assert np.isfinite(scores).all()
    assert get_scorer("accuracy")(blend, SHARES, Y) == blend.score(SHARES, Y)
    values = Blend(["a"], kind="values")
    assert is_regressor(values)
    assert not hasattr(values, "predict_proba")
    assert not hasattr(values, "classes_")
    assert values.score([[1.0], [2.0]], [1.0, 2.0]) == 1.0


TEXT = st.text(string.printable, min_size=1, max_size=8)


@st.composite
def blends(draw):
    names = draw(st.lists(TEXT, min_size=1, max_size=5, unique=True))
    n_names, kind = len(names), draw(st.sampled_from(["labels", "probabilities", "values"]))
    weights = draw(
        st.none() | st.lists(st.floats(0.1, 9), min_size=n_names, max_size=n_names).map(np.array)
    )
    options = {"unanswered": draw(st.sampled_from(["majority", "missing"]))}
    if draw(st.booleans()):
        options |= {"member_indices": np.arange(n_names) * 2, "n_members": 2 * n_names}
    if kind == "values":
        return Blend(names, weights, kind=kind, prior=draw(st.floats(-9, 9)), **options)
    labels = draw(st.sampled_from([st.integers(-9, 9), TEXT, st.booleans(), st.floats(-9, 9)]))
    classes = np.array(draw(st.lists(labels, min_size=2, max_size=4, unique=True)))
    prior = np.full(len(classes), 1 / len(classes))
    return Blend(names, weights, classes, kind=kind, prior=prior, **options)


@given(blends())
def test_json_restores_every_parameter(blend):
    text = blend.to_json({"method": "COMEP"})
    same = Blend.from_json(text)
    own, other = blend.get_params(), same.get_params()
    assert own.keys() == other.keys()
    for name, value in own.items():
        np.testing.assert_array_equal(np.asarray(other[name]), np.asarray(value))
    assert json.loads(text)["provenance"] == {"method": "COMEP"}
    assert json.loads(same.to_json()) == json.loads(blend.to_json())


def test_saved_blends_hold_no_predictions(tmp_path):
    pruning = prune(SHARES, y=Y, classes=LABELS, names=NAMES, pruner="caruana", keep=3)
    path = pruning.save(tmp_path / "blend.json")
    assert [file.name for file in tmp_path.iterdir()] == ["blend.json"]
    assert path.stat().st_size < 4000
    record = json.loads(path.read_text())
    assert record["provenance"]["method"] == "EnsembleSelection"
    assert (load(path).predict_proba(SHARES) == pruning.estimator.predict_proba(SHARES)).all()
    with pytest.raises(SecateursError, match="exists"):
        pruning.save(path)
    save(pruning.estimator, tmp_path / "blend.pkl")
    same = load(tmp_path / "blend.pkl", trust="pickle")
    assert (same.predict(SHARES) == pruning.estimator.predict(SHARES)).all()
    with pytest.raises(InputError, match=r"a Blend is saved as \.json, which is as safe"):
        pruning.save(tmp_path / "blend.skops")
    with pytest.raises(InputError, match=r"only a Blend can be saved as \.json"):
        save(DecisionTreeClassifier(), tmp_path / "tree.json")


VALID = json.loads(
    Blend(
        ["a", "b"],
        [1.0, 2.0],
        [0, 1],
        kind="probabilities",
        prior=[0.5, 0.5],
        positive=1,
        member_indices=[1, 3],
        n_members=5,
    ).to_json()
)
HALF = ["a", "b\ud800"]  # half of a character
HOSTILE = {
    "names": [
        None,
        "ab",
        [],
        ["a"] * 2,
        ["a", 1],
        ["a", ""],
        ["a", "x" * 5000],
        [["a"], "b"],
        HALF,
    ],
    "weights": ["ab", [1], [1, 2, 3], [1, -2], [0, 0], [1, True], [1, "2"], [1, 1e308], [1, [2]]],
    "classes": [None, [], [0, 0], [0, "a"], [True, 1], "01", [[0], [1]], [0, None], HALF],
    "kind": [None, "scores", ["labels"], 1],
    "positive": [2, "1", [1], {}],
    "columns": [1, "", ["{model}"], "x" * 5000, "nope", "{model}{model}"],
    "prior": [[1.0], [0.7, 0.7], [-0.5, 1.5], 0.5, "half", [0.5, None]],
    "unanswered": [None, "guess", 1],
    "member_indices": [[1], [1, 1], [-1, 0], [0, 5], [0.5, 1], [True, 2], 3],
    "n_members": [None, 2, -1, 2.5, 1 << 40, "5"],
    "provenance": [[], "text", 1],
    "version": [0, 2, "1", None, True],
    "format": ["", "secateurs.Pruning", None],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in HOSTILE.items() for value in values]
)
def test_invalid_values_in_json_are_rejected_in_one_line(key, value):
    with pytest.raises(InputError) as caught:
        Blend.from_json(json.dumps(VALID | {key: value}))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("n_members", [1, 6])
def test_json_without_indices_has_as_many_members_as_names(n_members):
    text = json.dumps(VALID | {"member_indices": None, "n_members": n_members})
    with pytest.raises(InputError, match=f"'n_members' is {n_members}. Expected: 2, or null"):
        Blend.from_json(text)
    for allowed in (2, None):
        text = json.dumps(VALID | {"member_indices": None, "n_members": allowed})
        assert Blend.from_json(text).member_indices_.tolist() == [0, 1]


@pytest.mark.parametrize("text", [None, {}, 1, ["{}"]])
def test_json_that_is_no_text_is_rejected(text):
    with pytest.raises(InputError, match=f"but got {type(text).__name__}. Pass text or bytes"):
        Blend.from_json(text)


def test_a_name_with_a_line_break_leaves_messages_on_one_line():
    blend = Blend(["a\nb", "c"], classes=[0, 1])
    with pytest.raises(InputError, match=r"no predictions of a b\. Pass predictions") as caught:
        blend.predict({"c": [0, 1]})
    assert "\n" not in str(caught.value)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def read_json(text):
    """Return the blend of a text, or the message of its error."""
    try:
        return Blend.from_json(text)
    except InputError as error:
        return str(error)


@given(st.dictionaries(st.sampled_from(sorted(VALID)), JSON_VALUES, min_size=1))
def test_any_json_is_a_blend_that_predicts_or_rejected_in_one_line(changes):
    found = read_json(json.dumps(VALID | changes))
    if isinstance(found, str):
        assert "\n" not in found
    elif found.columns is None:
        assert len(found.predict({name: [0.25, np.nan] for name in found.names})) == 2


@given(st.data())
def test_damaged_json_text_is_rejected_in_one_line(data):
    text = json.dumps(VALID)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.text(max_size=3)) + text[at + 1 :]
    found = read_json(damaged)
    assert isinstance(found, Blend) or "\n" not in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not the JSON text of a blend"),
        ("[]", "not the JSON text"),
        ("null", "not the JSON text"),
        ("[" * 200_000, "nested too deeply"),
        ('{"format": ' * 100_000, "nested too deeply"),
        (b"\xff\xfe\x00", "not the JSON text"),
        (json.dumps(VALID | {"weights": [1, float("nan")]}), "NaN is not a number"),
        (json.dumps(VALID | {"weights": [1, float("inf")]}), "Infinity is not a number"),
        (json.dumps(VALID).replace('"weights": [1.0', '"weights": [' + "9" * 5000), "not the JSON"),
        (json.dumps(VALID)[:-1] + ', "kind": "labels"}', "a key occurs twice"),
        (json.dumps(VALID | {"__class__": "os.system"}), "'__class__' is unknown"),
        (json.dumps({k: v for k, v in VALID.items() if k != "names"}), "'names' is missing"),
        ("{" + " " * (17 << 20) + "}", "limited to"),
        (json.dumps(VALID | {"classes": [0, 10**30]}), "numbers of 64 bits or booleans"),
        (json.dumps(VALID | {"columns": "x" * 4000}), "x{79}…' is not a valid pattern"),
    ],
)
def test_hostile_json_is_rejected_in_one_line(text, message, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        Blend.from_json(text)
    assert "\n" not in str(caught.value)
    path = tmp_path / "blend.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SecateursError, match=r"blend\.json") as caught:
        load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n_members", ["kept", "all"])
@pytest.mark.parametrize("kind", ["labels", "probabilities"])
def test_a_list_of_arrays_has_an_array_per_member_as_in_prune(kind, n_members):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    table = np.where(rng.random((40, 5)) < 0.7, y[:, None], 1 - y[:, None])
    if kind == "probabilities":
        table = np.stack([0.8 - 0.6 * table, 0.2 + 0.6 * table], axis=2)
    pruning = prune([table[:, member] for member in range(5)], y=y, pruner="best", keep=3)
    kept = range(5) if n_members == "all" else np.sort(pruning.member_indices)
    for n_samples in (1, 2, 3, 4, 5, 40):
        columns = [table[:n_samples, member] for member in kept]
        if n_samples in (3, 5):  # as many as members
            with pytest.raises(InputError, match="may hold samples or members"):
                pruning.estimator.predict(columns)
        else:
            expected = pruning.estimator.predict(table[:n_samples])
            assert pruning.estimator.predict(columns).tolist() == expected.tolist()
