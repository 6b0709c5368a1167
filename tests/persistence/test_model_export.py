"""Export: the same predictions elsewhere, or no file."""

import json
import os
import sys
from hashlib import sha256

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import treelite
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
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
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateurs import prune
from secateurs.exceptions import (
    InputError,
    MissingExtraError,
    ParityError,
    UnsupportedEnsembleError,
)
from secateurs.persistence import export, inspect_file

X, CODES = make_classification(400, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
X = X.astype(np.float32)
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.float32(np.nan), X)
LABELS = {
    "two classes": (CODES == 1).astype(int),
    "three classes": CODES,
    "text": np.array(["ant", "bee", "cat"])[CODES],
}
TRAIN, CHECK, OTHER = slice(0, 250), slice(250, 350), slice(350, 400)

TREE = DecisionTreeClassifier(max_depth=5)
TRIO = [
    ("forest", RandomForestClassifier(5, random_state=0)),
    ("line", LogisticRegression()),
    ("bayes", GaussianNB()),
]
FORESTS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "shallow forest": RandomForestClassifier(15, max_depth=4, random_state=0),
    "extra trees": ExtraTreesClassifier(10, random_state=0),
}
OTHERS = {
    "bagged trees": BaggingClassifier(TREE, 9, max_features=0.5, random_state=0),
    "bagged columns": BaggingClassifier(TREE, 9, bootstrap_features=True, random_state=0),
    "boosted": AdaBoostClassifier(TREE, n_estimators=8, random_state=0),
    "hard vote": VotingClassifier(TRIO),
    "weighted hard vote": VotingClassifier(TRIO, weights=[1, 2, 1]),
    "soft vote": VotingClassifier(TRIO, voting="soft", weights=[1, 2, 1]),
    "vote of bags": VotingClassifier([("bag", BaggingClassifier(TREE, 4, random_state=0)), *TRIO]),
    "scaled forest": make_pipeline(StandardScaler(), RandomForestClassifier(9, random_state=0)),
    "scaled vote": make_pipeline(StandardScaler(), VotingClassifier(TRIO)),
}


def run(path, rows):
    """Predict as a user of the file would."""
    if path.suffix == ".treelite":
        shares = treelite.gtil.predict(treelite.Model.deserialize(path), rows)
        return None, shares.reshape(len(rows), -1)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})[:2]


def is_tied(model, rows):
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
    else:
        weights = getattr(model, "weights", None)
        shares = [np.bincount(votes, weights, 3) for votes in model.transform(rows).astype(int)]
    top = np.sort(shares, axis=1)
    return top[:, -1] - top[:, -2] < 1e-6


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize(
    ("name", "suffix"),
    [(name, ".onnx") for name in FORESTS | OTHERS] + [(name, ".treelite") for name in FORESTS],
)
def test_an_exported_model_predicts_the_same(tmp_path, name, suffix, labels):
    model = (FORESTS | OTHERS)[name].fit(X[TRAIN], LABELS[labels][TRAIN])
    path = export(model, tmp_path / f"model{suffix}", X[CHECK])
    labels, shares = run(path, X[OTHER])
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(shares, model.predict_proba(X[OTHER]), atol=1e-5)
    if labels is not None:
        assert ((labels == model.predict(X[OTHER])) | is_tied(model, X[OTHER])).all()


def test_a_pruned_forest_can_be_exported(tmp_path):
    forest = RandomForestClassifier(20, random_state=0).fit(X[TRAIN], CODES[TRAIN])
    forest.estimators_, forest.n_estimators = forest.estimators_[3:8], 5
    for suffix in (".onnx", ".treelite"):
        _, shares = run(export(forest, tmp_path / f"model{suffix}", X[CHECK]), X[OTHER])
        np.testing.assert_allclose(shares, forest.predict_proba(X[OTHER]), atol=1e-5)


def test_the_model_is_not_changed(tmp_path):
    vote = VotingClassifier(TRIO, weights=[1, 2, 1]).fit(X[TRAIN], CODES[TRAIN])
    export(vote, tmp_path / "vote.onnx", X[CHECK])
    assert vote.weights == [1, 2, 1]
    assert vote.flatten_transform is True


def test_data_frames_are_accepted(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))
    model.fit(frame[TRAIN], CODES[TRAIN])
    export(model, tmp_path / "named.onnx", frame[CHECK])
    export(model, tmp_path / "unnamed.onnx", X[CHECK])


def test_the_side_car_holds_the_comparison(tmp_path):
    model = FORESTS["forest"].fit(X[TRAIN], LABELS["text"][TRAIN])
    path = export(model, tmp_path / "forest.onnx", X[CHECK])
    record = json.loads((tmp_path / "forest.onnx.json").read_text())
    assert record["format"] == "onnx"
    assert record["sha256"] == sha256(path.read_bytes()).hexdigest()
    assert record["members"] == 10
    assert record["classes"] == ["ant", "bee", "cat"]
    assert record["input"] == {"dtype": "float32", "features": 6}
    assert {"skl2onnx", "onnx", "onnxruntime"} <= set(record["versions"])
    assert record["check"]["rows"] == 100
    assert record["check"]["labels_differing"] == 0
    assert record["check"]["largest_probability_difference"] < 1e-5
    assert inspect_file(path)["sidecar_matches"] is True


def test_missing_values_go_through_treelite_and_through_imputers(tmp_path):
    forest = RandomForestClassifier(10, random_state=0).fit(HOLES[TRAIN], CODES[TRAIN])
    _, shares = run(export(forest, tmp_path / "forest.treelite", HOLES[CHECK]), HOLES[OTHER])
    assert (shares == forest.predict_proba(HOLES[OTHER])).all()
    filled = make_pipeline(SimpleImputer(), FORESTS["forest"]).fit(HOLES[TRAIN], CODES[TRAIN])
    _, shares = run(export(filled, tmp_path / "filled.onnx", HOLES[CHECK]), HOLES[OTHER])
    np.testing.assert_allclose(shares, filled.predict_proba(HOLES[OTHER]), atol=1e-5)


REGRESSION_TREE = DecisionTreeRegressor(max_depth=5)
REGRESSION_PAIR = [("line", LinearRegression()), ("forest", RandomForestRegressor(4))]
REGRESSION_FORESTS = {
    "forest": RandomForestRegressor(9, random_state=0),
    "extra trees": ExtraTreesRegressor(9, random_state=0),
}
REGRESSORS = REGRESSION_FORESTS | {
    "bagged trees": BaggingRegressor(REGRESSION_TREE, 6, max_features=0.5, random_state=0),
    "vote": VotingRegressor(REGRESSION_PAIR),
    "weighted vote": VotingRegressor(REGRESSION_PAIR, weights=[1, 2]),
    "pipeline": make_pipeline(SimpleImputer(), StandardScaler(), RandomForestRegressor(4)),
}
TRUE_NUMBERS = X[:, 0] * X[:, 1] + CODES


@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize(
    ("name", "suffix"),
    [(name, ".onnx") for name in REGRESSORS] + [(name, ".treelite") for name in REGRESSION_FORESTS],
)
def test_an_exported_regressor_predicts_the_same(tmp_path, name, suffix, offset):
    model = REGRESSORS[name].fit(X[TRAIN], offset + TRUE_NUMBERS[TRAIN])
    path = export(model, tmp_path / f"model{suffix}", X[CHECK])
    if suffix == ".onnx":
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        found = session.run(None, {"X": X[OTHER]})[0].ravel()
    else:
        found = treelite.gtil.predict(treelite.Model.deserialize(path), X[OTHER]).ravel()
    np.testing.assert_allclose(found, model.predict(X[OTHER]), atol=(1 + offset) * 1e-5)
    record = json.loads((tmp_path / f"model{suffix}.json").read_text())
    assert record["classes"] == []
    assert record["check"]["rows"] == 100
    assert record["check"]["largest_difference"] <= record["check"]["allowed_difference"]


def test_values_far_from_zero_may_differ_by_little_of_their_deviation(tmp_path):
    model = RandomForestRegressor(9, random_state=0).fit(X[TRAIN], 1e7 + TRUE_NUMBERS[TRAIN])
    with pytest.raises(ParityError, match=r"would differ by up to .*Nothing was written"):
        export(model, tmp_path / "model.onnx", X[CHECK])
    assert os.listdir(tmp_path) == []
    export(model, tmp_path / "model.treelite", X[CHECK])  # adds in double precision


def lacking_a_class():
    bagging = BaggingClassifier(GaussianNB(), 4, random_state=0).fit(X[TRAIN], CODES[TRAIN])
    some = CODES[TRAIN] != 2
    bagging.estimators_[1] = GaussianNB().fit(X[TRAIN][some], CODES[TRAIN][some])
    return bagging


REFUSED = {
    "trained with holes": (".onnx", RandomForestClassifier(9), HOLES, "Export it as .treelite"),
    "bagged with holes": (".onnx", BaggingClassifier(TREE, 9), HOLES, "Keep the model as .skops"),
    "no probabilities": (".onnx", BaggingClassifier(LinearSVC(), 4), X, "LinearSVC has no predict"),
    "neighbours": (".onnx", BaggingClassifier(KNeighborsClassifier(), 4), X, "nearest neighbours"),
    "margins": (".onnx", make_pipeline(LinearSVC()), X, "no predict_proba to compare"),
    "bagging": (".treelite", BaggingClassifier(TREE, 4), X, "Export it as .onnx"),
    "pipeline": (".treelite", make_pipeline(TREE), X, "it is not a forest"),
    "bagged regressors": (".treelite", BaggingRegressor(), X, "treelite: it is not a forest"),
    "numbers with holes": (".onnx", RandomForestRegressor(9), HOLES, "Export it as .treelite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_models_that_are_converted_wrongly_are_rejected_with_an_alternative(tmp_path, case):
    suffix, model, rows, words = REFUSED[case]
    model.fit(rows[TRAIN], CODES[TRAIN])
    with pytest.raises(UnsupportedEnsembleError, match=words):
        export(model, tmp_path / f"model{suffix}", rows[CHECK])
    assert os.listdir(tmp_path) == []


def test_other_models_that_are_converted_wrongly_are_rejected(tmp_path):
    forest = FORESTS["forest"].fit(X[TRAIN], CODES[TRAIN])
    with pytest.raises(UnsupportedEnsembleError, match=r"X_check has missing.*\.treelite"):
        export(forest, tmp_path / "model.onnx", HOLES[CHECK])
    with pytest.raises(UnsupportedEnsembleError, match="a member has only 2 classes"):
        export(lacking_a_class(), tmp_path / "model.onnx", X[CHECK])
    two = RandomForestClassifier(3).fit(X, np.stack([CODES, CODES], axis=1))
    numbers = RandomForestRegressor(3).fit(X, np.stack([CODES, CODES], axis=1))
    for model in (two, RandomForestClassifier(3), numbers, RandomForestRegressor(3)):
        with pytest.raises(
            UnsupportedEnsembleError, match="not a fitted classifier or regressor with one output"
        ):
            export(model, tmp_path / "model.treelite", X)
    assert os.listdir(tmp_path) == []


def test_a_model_that_disagrees_is_not_written(tmp_path):
    # The converter turns the votes of two-class support vector machines round, and says nothing.
    vote = VotingClassifier([("a", SVC()), ("b", SVC(C=3))]).fit(
        X[TRAIN], LABELS["two classes"][TRAIN]
    )
    with pytest.raises(ParityError, match=r"\d+ of 100 labels .* Nothing was written"):
        export(vote, tmp_path / "vote.onnx", X[CHECK])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("model.skops", X, r"'\.skops'.*Pass one of: \.onnx, \.treelite"),
        ("taken.onnx", X, r"taken\.onnx exists"),
        ("noted.onnx", X, r"noted\.onnx\.json exists"),
        ("model.onnx", X[:99], r"shape \(99, 6\).*at least 100 samples"),
        ("model.onnx", X[:, :5], "the 6 features"),
        ("model.onnx", X[0], "shape"),
        ("model.onnx", [["a"] * 6] * 100, "is not numeric"),
        ("model.treelite", np.where(X > 2, np.inf, X), "itself cannot predict"),
    ],
)
def test_senseless_input_is_refused(tmp_path, name, rows, words):
    for taken in ("taken.onnx", "noted.onnx.json"):
        (tmp_path / taken).touch()
    model = FORESTS["forest"].fit(X[TRAIN], CODES[TRAIN])
    with pytest.raises(InputError, match=words):
        export(model, tmp_path / name, rows)
    assert len(os.listdir(tmp_path)) == 2


def test_an_existing_file_is_replaced_on_request(tmp_path):
    model = FORESTS["forest"].fit(X[TRAIN], CODES[TRAIN])
    (tmp_path / "model.treelite").write_text("old")
    path = export(model, tmp_path / "model.treelite", X[CHECK], force=True)
    assert (run(path, X[OTHER])[1] == model.predict_proba(X[OTHER])).all()


@pytest.mark.parametrize(("suffix", "package"), [("onnx", "skl2onnx"), ("treelite", "treelite")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path, monkeypatch, suffix, package
):
    monkeypatch.setitem(sys.modules, package, None)
    model = FORESTS["forest"].fit(X[TRAIN], CODES[TRAIN])
    with pytest.raises(MissingExtraError) as caught:
        export(model, tmp_path / f"model.{suffix}", X[CHECK])
    needs = f'writing .{suffix} needs: pip install "secateurs[{suffix}]"'
    assert str(caught.value) == needs


def test_a_model_whose_state_makes_no_sense_is_refused(tmp_path):
    model = BaggingClassifier(LogisticRegression(), 3, random_state=0).fit(X[TRAIN], CODES[TRAIN])
    model.estimators_[1].intercept_ = model.estimators_[1].intercept_.astype("S2")
    with pytest.raises(InputError, match="The model itself cannot predict X_check: "):
        export(model, tmp_path / "model.onnx", X)
    with pytest.raises(InputError, match="Member 1, a LogisticRegression, cannot predict: "):
        prune(model, X, CODES, "re", keep=2)


def mixed_rows(n_rows=160):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(40, 10, n_rows)),
            "post code": rng.choice(["01234", "1234", "99999"], n_rows),
            "city": rng.choice(["Ulm", "Bonn", "Köln"], n_rows),
            "rooms": rng.integers(1, 5, n_rows),
            "owner": rng.random(n_rows) < 0.5,
        }
    ).astype({"post code": object, "city": object})
    right = frame["post code"].eq("01234") ^ (frame["rooms"] > 2)
    return frame, np.where(right, "yes", "no")


NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
TABLES = {
    "one hot": OneHotEncoder(handle_unknown="ignore"),
    "dense": OneHotEncoder(drop="first", sparse_output=False),
    "rare": OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist"),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


def mixed_pipeline(encoder, last=RandomForestClassifier(7, random_state=0)):  # noqa: B008
    table = ColumnTransformer(
        [("number", NUMBERS, ["age"]), ("text", encoder, ["post code", "city"])],
        remainder="passthrough",
    )
    return make_pipeline(table, clone(last))


@pytest.mark.parametrize("name", TABLES)
def test_a_pipeline_of_mixed_columns_has_an_input_for_each(tmp_path, name):
    rows, y = mixed_rows()
    model = mixed_pipeline(TABLES[name]).fit(rows, y)
    path = export(model, tmp_path / "model.onnx", rows)
    record = json.loads((tmp_path / "model.onnx.json").read_text())
    kinds = ["float32", "string", "string", "float32", "float32"]
    assert record["input"] == {"columns": dict(zip(rows.columns, kinds))}
    assert record["check"]["rows"] == 160
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    dtypes = {"string": object, "float32": np.float32}
    names = [column.replace(" ", "_") for column in rows.columns]
    columns = [rows[[name]].to_numpy(dtypes[kind]) for name, kind in zip(rows.columns, kinds)]
    labels, shares = session.run(None, dict(zip(names, columns)))
    assert labels.tolist() == model.predict(rows).tolist()
    assert np.abs(shares - model.predict_proba(rows)).max() < 1e-5


def test_a_regressor_of_mixed_columns_is_exported_too(tmp_path):
    rows, _ = mixed_rows()
    numbers = rows["rooms"] * 2.5 + rows["city"].eq("Ulm")
    last = RandomForestRegressor(5, random_state=0)
    model = mixed_pipeline(TABLES["one hot"], last).fit(rows, numbers)
    assert export(model, tmp_path / "model.onnx", rows).is_file()


def test_columns_that_onnx_does_not_support_are_reported(tmp_path):
    rows, y = mixed_rows()
    rows.loc[4, "city"] = None
    model = mixed_pipeline(TABLES["one hot"]).fit(rows, y)
    told = (
        r"X_check has None among the text of column 'city', row 5; ONNX does not support "
        "missing text"
    )
    with pytest.raises(InputError, match=told):
        export(model, tmp_path / "model.onnx", rows)
    assert export(model, tmp_path / "model.onnx", rows.drop(index=4)).is_file()
    with pytest.raises(InputError, match=r"export\(model\[-1\], path, model\[:-1\]"):
        export(model, tmp_path / "model.onnx", rows, force=True)
    export(model[-1], tmp_path / "last.onnx", model[:-1].transform(rows))  # as the message says
    for name in ("last.onnx", "last.onnx.json"):
        (tmp_path / name).unlink()
    with pytest.raises(InputError, match=r"column 'city': .*could not convert"):
        export(model[-1], tmp_path / "forest.onnx", rows.iloc[:, [2] * model[-1].n_features_in_])
    hashed = ColumnTransformer([("note", HashingVectorizer(n_features=4), "city")])
    model = make_pipeline(hashed, RandomForestClassifier(3, random_state=0))
    model.fit(rows.drop(index=4), y[rows.index != 4])
    told = r"Pipeline cannot be written as \.onnx: .*HashingVectorizer.*before the last "
    told += r"\(columntransformer\) is not supported, export .*Keep the model as \.skops"
    with pytest.raises(UnsupportedEnsembleError, match=told):
        export(model, tmp_path / "hashed.onnx", rows.drop(index=4))
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.json"]


def test_a_numeric_model_accepts_a_data_frame(tmp_path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0))
    model.fit(X[TRAIN], CODES[TRAIN])
    export(model, tmp_path / "model.onnx", X[CHECK])
    record = json.loads((tmp_path / "model.onnx.json").read_text())
    assert record["input"] == {"dtype": "float32", "features": 6}
