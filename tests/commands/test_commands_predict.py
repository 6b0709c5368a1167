"""Tables as on Kaggle: `prune --predictions` writes a blend, and `predict` a submission."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import refused, type_in

from secateurs import Blend, load, prune

NAMES = ["lgbm", "xgb", "nn", "ridge", "knn"]


def competition(n_rows, seed, gaps=0.0):
    """Return IDs, probabilities of class 1 by model, and true labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    skill = np.linspace(2.0, 0.2, len(NAMES))
    p = 1 / (1 + np.exp(-(2 * y[:, None] - 1) * skill - rng.normal(size=(n_rows, len(NAMES)))))
    p = p.round(6)
    p[rng.random(p.shape) < gaps] = np.nan
    frame = pd.DataFrame(p, columns=NAMES)
    frame.insert(0, "id", [f"row-{i}" for i in range(n_rows)])
    return frame, y


@pytest.fixture
def kaggle(desk):
    """Files of out-of-fold predictions with gaps, and of predictions of the test set."""
    frame, y = competition(200, 0, gaps=0.1)
    frame.assign(target=y).to_csv("oof.csv", index=False)
    test, _ = competition(60, 1, gaps=0.3)
    test.to_csv("test.csv", index=False)
    return desk


PRUNE = ("prune", "--predictions", "oof.csv", "-t", "target", "--ignore", "id", "-k", "3")


def test_a_submission_is_made_from_files_with_gaps(kaggle):
    ended = type_in(*PRUNE, "-o", "blend.json", "--json", "-p", "caruana")
    assert ended.code == 0, ended.err
    oof, test = pd.read_csv("oof.csv"), pd.read_csv("test.csv")
    expected = prune(oof[NAMES], y=oof["target"], keep=3, pruner="caruana", random_state=0)
    assert ended.json["names"] == expected.member_names
    words = ("predict", "blend.json", "test.csv", "-o", "sub.csv", "--id", "id")
    ended = type_in(*words, "--proba", "--positive", "1")
    assert ended.code == 0, ended.err
    found = pd.read_csv("sub.csv")
    assert found.columns.tolist() == ["id", "prediction"]
    assert found["id"].tolist() == test["id"].tolist()
    shares = expected.estimator.predict_proba(test)
    np.testing.assert_allclose(found["prediction"], shares[:, 1], rtol=1e-12)
    assert type_in(*words[:4], "labels.csv").code == 0
    inspected = type_in("inspect", "blend.json").out
    assert "blend of probabilities" in inspected
    assert ", ".join(load("blend.json").names) in inspected
    assert pd.read_csv("labels.csv")["prediction"].tolist() == shares.argmax(axis=1).tolist()
    assert type_in(*words[:4], "both.parquet", "--proba").code == 0
    assert pd.read_parquet("both.parquet").columns.tolist() == ["0", "1"]


def test_the_class_of_the_probabilities_is_printed(kaggle):
    ended = type_in(*PRUNE)
    note = "predictions are read as probabilities of class 1, because they are numbers from 0 to 1"
    assert note in ended.err
    assert note not in type_in(*PRUNE, "--positive", "1").err
    compared = type_in("compare", *PRUNE[1:], "--methods", "best").err
    assert compared.lower().count(note) == 1


def test_probabilities_in_every_file_select_the_same_members(kaggle):
    oof = pd.read_csv("oof.csv")
    expected = type_in(*PRUNE, "--json").json["names"]
    wide = {"id": oof["id"], "target": oof["target"]}
    wide |= {f"{n}:{c}": oof[n] if c else 1 - oof[n] for n in NAMES for c in (0, 1)}
    named = {f"oof_{name}": oof[name] for name in NAMES}
    pd.DataFrame(wide).to_csv("wide.csv", index=False)
    pd.DataFrame(named | {"target": oof["target"], "x": "y"}).to_parquet("named.parquet")
    values = oof[NAMES].to_numpy()
    np.savez("one.npz", probabilities=values, y=oof["target"], names=NAMES)
    both = np.stack([1 - values, values], axis=2)
    np.savez("both.npz", probabilities=both, y=oof["target"], names=NAMES)
    oof.to_csv("nan.csv", index=False, na_rep="NaN")
    for words in (
        ("nan.csv", "-t", "target", "--ignore", "id"),
        ("wide.csv", "-t", "target", "--ignore", "id"),
        ("wide.csv", "-t", "target", "--columns", "{model}:{class}"),
        ("named.parquet", "-t", "target", "--columns", "oof_{model}"),
        ("one.npz",),
        ("both.npz",),
    ):
        out = ("-o", "blend.json", "--force")
        ended = type_in("prune", "--predictions", *words, "-k", "3", "--json", *out)
        assert ended.code == 0, ended.err
        assert ended.json["names"] == expected, words
        # The file has an ID, or a target, and is read by the blend like the file it came from.
        ended = type_in("predict", "blend.json", words[0], "-o", "both.csv", "--proba", "--force")
        assert ended.code == 0, ended.err
        found = pd.read_csv("both.csv").to_numpy()
        np.testing.assert_allclose(found[:, 1], load("blend.json").predict_proba(values)[:, 1])


def test_files_of_probabilities_may_have_their_classes_in_any_order(desk):
    rng = np.random.default_rng(4)
    classes, shares = np.array(["low", "mid", "high"]), rng.dirichlet([1, 1, 1], (80, 5))
    y = classes[shares[:, :4].mean(axis=1).argmax(axis=1)]  # of the members that are kept
    np.savez("val.npz", probabilities=shares, y=y, classes=classes)
    words = ("prune", "--predictions", "val.npz", "-p", "es", "-k", 4, "-o", "blend.json")
    assert type_in(*words).code == 0
    words = ("predict", "blend.json", "test.npz", "-o", "out.csv", "--force")
    for order in ([0, 1, 2], [2, 0, 1]):
        np.savez("test.npz", probabilities=shares[:, :, order], classes=classes[order])
        assert type_in(*words).code == 0
        assert pd.read_csv("out.csv")["prediction"].tolist() == y.tolist()
    np.savez("test.npz", probabilities=shares, classes=["low", "mid", "top"])
    assert "Columns name the classes low, mid, top, but" in refused(3, *words)


def test_text_labels_need_the_positive_class(kaggle):
    oof = pd.read_csv("oof.csv")
    oof["target"] = np.where(oof["target"] == 1, "churn", "stay")
    oof.to_csv("oof.csv", index=False)
    line = refused(3, *PRUNE)
    assert "oof.csv: Predictions have one probability per sample" in line
    assert "Pass --positive: 'churn' or 'stay'" in line
    assert type_in(*PRUNE, "--positive", "churn", "-o", "blend.json").code == 0
    assert load("blend.json").positive == "churn"
    words = ("predict", "blend.json", "test.csv", "-o", "sub.csv", "--proba", "--positive")
    assert type_in(*words, "churn").code == 0
    assert "blend.json has no class 'left'. Classes: churn, stay" in refused(
        3, *words[:4], "other.csv", *words[5:], "left"
    )


def test_a_forgotten_id_column_is_named(kaggle):
    oof = pd.read_csv("oof.csv")
    oof["id"] = np.arange(len(oof))
    oof.to_csv("oof.csv", index=False)
    line = refused(3, *PRUNE[:5], "-k", "3")
    assert "oof.csv: Column 'id' does not have numbers from 0 to 1 as the other columns do" in line


def test_labels_with_gaps_and_unanswered_samples(desk):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    words = np.array(["ant", "bee", "cat"])
    votes = words[np.where(rng.random((120, 4)) < 0.7, y[:, None], rng.integers(3, size=(120, 4)))]
    frame = pd.DataFrame(votes, columns=list("abcd")).mask(rng.random((120, 4)) < 0.2)
    frame.assign(truth=words[y]).to_csv("votes.csv", index=False)
    ended = type_in(
        *("prune", "--predictions", "votes.csv", "-t", "truth", "-k", "2"), "-o", "b.json"
    )
    assert ended.code == 0, ended.err
    expected = prune(frame, y=words[y], keep=2, random_state=0)
    assert load("b.json").names == expected.estimator.names
    frame.loc[3] = None
    frame.to_csv("test.csv", index=False)
    ended = type_in("predict", "b.json", "test.csv", "-o", "out.csv", "--json")
    assert ended.json["unanswered"] == frame[expected.estimator.names].isna().all(axis=1).sum()
    found = pd.read_csv("out.csv")["prediction"]
    assert found.tolist() == expected.estimator.predict(frame).tolist()
    assert found[3] == words[np.bincount(y).argmax()]
    missing = ("--unanswered", "missing", "--force")
    assert type_in("predict", "b.json", "test.csv", "-o", "out.csv", *missing).code == 0
    assert pd.isna(pd.read_csv("out.csv")["prediction"][3])


@pytest.mark.parametrize("labels", [["ant", "bee", "cat"], [0, 1, 2]])
def test_gaps_in_every_file_are_the_same_missing_labels(desk, labels):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    codes = np.where(rng.random((120, 4)) < 0.7, y[:, None], rng.integers(3, size=(120, 4)))
    frame = pd.DataFrame(np.array(labels)[codes], columns=list("abcd"))
    frame = frame.mask(rng.random((120, 4)) < 0.2)  # integers become floats: 1.0
    table = frame.assign(truth=np.array(labels)[y])
    table.to_csv("empty.csv", index=False)
    table.to_csv("nan.csv", index=False, na_rep="NaN")
    table.to_parquet("gaps.parquet")
    expected = prune(frame, y=table["truth"], pruner="re", keep=2).estimator
    for name in ("empty.csv", "nan.csv", "gaps.parquet"):
        words = ("prune", "--predictions", name, "-t", "truth", "-k", "2", "-p", "re", "--force")
        ended = type_in(*words, "-o", "b.json")
        assert ended.code == 0, ended.err
        assert load("b.json").classes_.tolist() == labels
        ended = type_in("predict", "b.json", name, "-o", "out.csv", "--force", "--json")
        kept = frame[expected.names]
        assert ended.json["unanswered"] == kept.isna().all(axis=1).sum()
        found = pd.read_csv("out.csv", dtype=str)["prediction"]
        assert found.tolist() == [str(label) for label in expected.predict(frame)]


def test_nan_is_a_label_if_a_true_label_is_called_so(desk):
    rng = np.random.default_rng(0)
    truth = rng.choice(["nan", "salt"], size=60)
    votes = np.where(rng.random((60, 3)) < 0.8, truth[:, None], "nan")
    pd.DataFrame(votes, columns=list("abc")).assign(t=truth).to_csv("bread.csv", index=False)
    words = ("prune", "--predictions", "bread.csv", "-t", "t", "-k", "2", "-o", "b.json")
    assert type_in(*words).code == 0
    ended = type_in("predict", "b.json", "bread.csv", "-o", "out.csv", "--json")
    assert ended.json["unanswered"] == 0
    assert set(pd.read_csv("out.csv", keep_default_na=False)["prediction"]) == {"nan", "salt"}


def test_a_table_without_any_prediction_is_refused(desk):
    for gap in ("", "nan"):
        Path("gaps.csv").write_text("a,b,t\n" + f"{gap},{gap},x\n{gap},{gap},y\n" * 9)
        words = ("prune", "--predictions", "gaps.csv", "-t", "t", "-k", "1", "-o", "b.json")
        assert "gaps.csv: All predictions are missing" in refused(3, *words)


def test_errors_name_no_options_that_the_command_does_not_have(desk):
    Path("blend.json").write_text(Blend(["a", "b"], classes=[0, 1]).to_json())
    Path("other.csv").write_text("a,b\n0,1\n7,1\n")
    message = refused(3, "predict", "blend.json", "other.csv", "-o", "o.csv")
    assert "Member 'a' predicts 7 for sample 1, which is not one of the classes 0, 1" in message
    assert "--" not in message


def test_values_of_regressors_with_gaps(desk):
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    frame = pd.DataFrame(
        {name: y + rng.normal(size=80) * (i + 1) / 4 for i, name in enumerate("abc")}
    )
    frame = frame.round(6).mask(rng.random((80, 3)) < 0.1)
    frame.assign(y=y).to_csv("values.csv", index=False)
    words = ("prune", "--predictions", "values.csv", "-t", "y", "-k", "2", "-p", "caruana")
    assert type_in(*words, "-o", "b.json").code == 0
    blend = load("b.json")
    assert blend.kind == "values"
    assert type_in("predict", "b.json", "values.csv", "-o", "out.csv").code == 0
    np.testing.assert_allclose(pd.read_csv("out.csv")["prediction"], blend.predict(frame))
    frame.astype(object).assign(a="x").to_csv("bad.csv", index=False)
    assert "bad.csv, column a, row 1: 'x' is not a finite number" in refused(
        3, "predict", "b.json", "bad.csv", "-o", "other.csv"
    )


def test_models_predict_tables_of_samples(desk):
    words = ("predict", "forest.skops", "test.csv", "-t", "churn", "-o", "out.csv")
    assert type_in(*words, "--proba").code == 0
    rows = pd.read_csv("test.csv").drop(columns="churn")
    np.testing.assert_allclose(pd.read_csv("out.csv"), load("forest.skops").predict_proba(rows))
    assert type_in(*words, "--force", "--id", "age", "--ignore", "age").code == 3
    assert "--unanswered is for blends" in type_in(*words, "--force", "--unanswered", "missing").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.json", "test.csv", "-o", "o.csv"), "none.json does not exist"),
        (("blend.json", "test.csv", "-o", "o.txt"), "o.txt ends in '.txt'. Use one of: .csv"),
        (("blend.json", "test.csv", "-o", "test.csv"), "test.csv exists"),
        (("blend.json", "fewer.csv", "-o", "o.csv"), "no predictions of xgb"),
        (("blend.json", "test.csv", "-o", "o.csv", "--id", "no"), "has no column 'no'"),
        (("bad.json", "test.csv", "-o", "o.csv"), "bad.json: The JSON text of the blend is inval"),
        (("list.json", "test.csv", "-o", "o.csv"), "list.json is not a model file"),
        (("values.json", "test.csv", "-o", "o.csv", "--proba"), "has no probabilities"),
    ],
)
def test_input_that_cannot_be_predicted_is_refused(kaggle, words, message):
    blend = Blend(["lgbm", "xgb"], classes=[0, 1], kind="probabilities")
    (kaggle / "blend.json").write_text(blend.to_json())
    (kaggle / "values.json").write_text(Blend(["lgbm"], kind="values").to_json())
    record = json.loads(blend.to_json()) | {"weights": [1, -1]}
    (kaggle / "bad.json").write_text(json.dumps(record))
    (kaggle / "list.json").write_text("[1]")
    pd.read_csv("test.csv").drop(columns="xgb").to_csv("fewer.csv", index=False)
    assert message in refused(3, "predict", *words)


def test_all_models_of_a_library_with_weights_are_a_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=600)
    noise = rng.normal(size=(600, 8))
    shares = 1 / (1 + np.exp(-(2 * truth[:, None] - 1) * np.linspace(0.3, 1.4, 8) - noise))
    table = pd.DataFrame(shares, columns=[f"m{i}" for i in range(8)]).assign(target=truth)
    table.to_csv("oof.csv", index=False)
    words = ("prune", "--predictions", "oof.csv", "--target", "target", "--scoring", "roc_auc")
    assert type_in(*words, "-o", "blend.json").code == 0
    blend = json.loads((tmp_path / "blend.json").read_text())
    assert len(blend["names"]) == 8
    assert len(set(blend["weights"])) > 1
