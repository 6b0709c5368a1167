"""Regressors on the command line: numbers are read, chosen by, judged and written."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from command_line import refused, type_in
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fitted_regressors as regressors
from secateurs import load, prune, save

NAMES = list("abcdefg")
PRUNE = ("prune", "trees.skops", "val.csv", "--target", "price")


def frame_of(rows):
    X = pd.DataFrame(regressors.X[rows].round(6), columns=NAMES)
    return X.assign(price=regressors.Y[rows].round(6))


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a forest of regressors, rows to choose on and rows to test on."""
    monkeypatch.chdir(tmp_path)
    rows = frame_of(regressors.FIT)
    forest = RandomForestRegressor(15, max_depth=6, random_state=0)
    save(forest.fit(rows[NAMES], rows["price"]), tmp_path / "trees.skops")
    (tmp_path / "trees.skops.json").unlink()
    rows.to_csv("train.csv", index=False)
    for name, some in (("val", regressors.CHOOSE), ("test", regressors.TEST)):
        frame_of(some).to_csv(f"{name}.csv", index=False)
        frame_of(some).to_parquet(f"{name}.parquet")
    return tmp_path


def test_a_forest_of_regressors_is_pruned(shop):
    ended = type_in(*PRUNE, "--test", "test.csv", "-k", "5", "--json")
    rows, test = pd.read_csv("val.csv"), pd.read_csv("test.csv")
    expected = prune(load("trees.skops"), rows[NAMES], rows["price"], keep=5)
    assert ended.json["members"] == expected.member_indices.tolist()
    assert ended.json["method"] == "joint"
    small = load("trees-pruned.skops")
    assert type(small) is RandomForestRegressor
    assert len(small.estimators_) == 5
    figures = ended.json["figures"]
    for model, which in ((load("trees.skops"), "full"), (small, "pruned")):
        predicted = model.predict(test[NAMES])
        assert figures["R²"][which] == pytest.approx(r2_score(test["price"], predicted))
        off = mean_absolute_error(test["price"], predicted)
        assert figures["mean absolute error"][which] == pytest.approx(off)
    assert "accuracy" not in figures


def test_texts_speak_of_the_score_of_numbers(shop):
    ended = type_in(*PRUNE, "--tolerance", "0.1", "-o", "small.skops")
    assert "of the best size's R² on held-out samples" in ended.err
    assert "R², cross-validated" in ended.out
    assert "accura" not in ended.out + ended.err
    assert "vote" not in ended.out + ended.err


def test_parquet_and_csv_give_the_same(shop):
    first = type_in(*PRUNE, "-k", "4", "--json")
    again = ("prune", "trees.skops", "val.parquet", "--target", "price", "-o", "p.skops")
    assert type_in(*again, "-k", "4", "--json").json["members"] == first.json["members"]


def test_out_of_bag_numbers_with_rows_that_no_kept_member_has(shop):
    words = ("prune", "trees.skops", "train.csv", "--target", "price", "--oob", "-k", "3")
    ended = type_in(*words, "--json")
    assert ended.code == 0, ended.err
    assert 0 < ended.json["figures"]["R², cross-validated"]["pruned"] < 1


def test_training_rows_are_warned_of(shop):
    ended = type_in("prune", "trees.skops", "train.csv", "--target", "price", "-k", "3")
    assert "warning: The validation set looks like the training set of the ensemble" in ended.err
    assert "--oob" in ended.err


def test_methods_of_regression_are_compared(shop):
    ended = type_in("compare", "trees.skops", "val.csv", "--target", "price", "-k", "4", "--json")
    lines = ended.json["leaderboard"]
    methods = {line["method"] for line in lines}
    assert {"joint", "best", "es", "random", "all members"} <= methods
    assert not {"comep λ=0.5", "kp", "re"} & methods
    assert all("accuracy" not in line for line in lines)
    assert [line["r2"] for line in lines] == sorted((line["r2"] for line in lines), reverse=True)


def test_methods_that_need_classes_are_refused_in_one_line(shop):
    ended = type_in(*PRUNE, "-k", "4", "-p", "comep")
    assert ended.code == 3
    assert "COMEP needs classes, but these are continuous values. For regression use" in ended.err
    assert "joint" in ended.err
    words = refused(2, *PRUNE, "-k", "4", "-p", "joint", "--diversity-weight", "0.3", "-q")
    assert "applies to comep and domep, not to joint" in words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "row 3 is empty"),
        ("dear", "'dear' is not a finite number"),
        ("inf", "'inf' is not a finite number"),
    ],
)
def test_targets_that_are_not_numbers_are_refused(shop, value, words):
    frame = pd.read_csv("val.csv", dtype=str)
    frame.loc[2, "price"] = value
    frame.to_csv("bad.csv", index=False)
    message = refused(3, "prune", "trees.skops", "bad.csv", "--target", "price", "-k", "3")
    assert words in message
    assert "row 3" in message


def test_too_few_rows_are_refused(shop):
    frame_of(slice(0, 9)).to_csv("few.csv", index=False)
    message = refused(3, "prune", "trees.skops", "few.csv", "--target", "price", "-k", "3")
    assert "has 9 rows. Pass at least 10" in message


def test_mixed_columns_with_missing_values(shop):
    rng = np.random.RandomState(0)
    tables = []
    for rows in (regressors.FIT, regressors.CHOOSE):
        frame = frame_of(rows)
        frame["town"] = rng.choice(["Ulm", "Köln", None], len(frame))
        frame.loc[rng.rand(len(frame)) < 0.1, "c"] = np.nan
        tables.append(frame)
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer((words, ["town"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestRegressor(8, max_depth=5, random_state=0))
    joblib.dump(model.fit(tables[0].drop(columns="price"), tables[0]["price"]), "mixed.joblib")
    tables[1].to_csv("mixed.csv", index=False)
    command = ("prune", "mixed.joblib", "mixed.csv", "--target", "price", "--trust-pickle")
    ended = type_in(*command, "-k", "3", "--no-refit", "-o", "small.joblib", "--json")
    small = load("small.joblib", trust="pickle")
    kept = [model[-1].estimators_[member] for member in sorted(ended.json["members"])]
    X = model[:-1].transform(tables[1].drop(columns="price"))
    expected = np.mean([tree.predict(X.astype(np.float32)) for tree in kept], axis=0)
    assert np.allclose(small.predict(tables[1].drop(columns="price")), expected)


def test_files_of_regressors_are_inspected_converted_and_exported(shop):
    assert "RandomForestRegressor" in type_in("inspect", "trees.skops").out
    joblib.dump(load("trees.skops"), "trees.joblib")
    assert type_in("convert", "trees.joblib", "again.skops", "--trust-pickle").code == 0
    X = pd.read_csv("val.csv")[NAMES]
    assert (load("again.skops").predict(X) == load("trees.skops").predict(X)).all()
    words = ("export", "trees.skops", "-o", "trees.onnx", "--check", "val.csv", "--target", "price")
    ended = type_in(*words)
    assert "largest difference" in ended.out
    assert "label" not in ended.out
    check = json.loads((shop / "trees.onnx.json").read_text())["check"]
    assert check["rows"] == len(X)
    assert type_in(*words, "--force", "--json").json["check"] == check


def test_methods_tell_which_work_for_regression(shop):
    lines = type_in("methods").out.splitlines()
    marked = {line.split()[0] for line in lines[1:] if line.endswith("yes")}
    assert {"joint", "best", "es", "random"} <= marked
    assert "comep" not in marked
    assert "numbers" in type_in("methods", "joint").out
    assert "numbers" in type_in("methods", "joint", "--json").json["outputs"]


def made_table(rows, name="tree"):
    return pd.DataFrame(regressors.table(rows=rows), columns=[f"{name} {m}" for m in range(20)])


def test_tables_of_numbers_in_every_form(shop):
    members = {}
    for file, rows in (("val", regressors.CHOOSE), ("test", regressors.TEST)):
        table = made_table(rows).assign(truth=regressors.Y[rows])
        table.to_csv(f"{file}-numbers.csv", index=False)
        table.to_parquet(f"{file}-numbers.parquet")
        values, names = table.iloc[:, :-1].to_numpy(), table.columns[:-1].to_numpy(dtype=str)
        np.savez(f"{file}-numbers.npz", numbers=values, y=table["truth"], names=names)
    expected = prune(made_table(regressors.CHOOSE), y=regressors.Y[regressors.CHOOSE], keep=4)
    for suffix in ("csv", "parquet", "npz"):
        files = [f"{name}-numbers.{suffix}" for name in ("val", "test")]
        words = ("prune", "--predictions", files[0], "--test", files[1])
        words += () if suffix == "npz" else ("--target", "truth")
        ended = type_in(*words, "-k", "4", "--json", "-o", f"{suffix}.json")
        assert ended.json["names"] == expected.member_names
        members[suffix] = ended.json["figures"]["R²"]
        found = type_in("compare", *words[1:], "-k", "4", "--json").json["leaderboard"]
        assert "joint" in {line["method"] for line in found}
    kept = made_table(regressors.TEST)[expected.member_names]
    kept = np.average(kept, axis=1, weights=expected.weights)
    truth = regressors.Y[regressors.TEST]
    for figure in members.values():
        assert figure["pruned"] == pytest.approx(r2_score(truth, kept), abs=1e-6)


def test_whole_numbers_are_labels_unless_the_score_is_one_of_numbers(shop):
    table = made_table(regressors.CHOOSE).round().astype(int)
    table["truth"] = regressors.Y[regressors.CHOOSE].round().astype(int)
    table.to_csv("whole.csv", index=False)
    words = ("prune", "--predictions", "whole.csv", "--target", "truth", "-k", "3", "--json")
    assert "accuracy, cross-validated" in type_in(*words).json["figures"]
    assert "R², cross-validated" in type_in(*words, "--scoring", "r2").json["figures"]


def test_numbers_from_0_to_1_are_probabilities_unless_the_score_is_one_of_regression(shop):
    shares = pd.DataFrame(np.random.default_rng(0).random((40, 3)), columns=list("abc"))
    shares.assign(truth=np.arange(40) % 2).to_csv("shares.csv", index=False)
    words = ("prune", "--predictions", "shares.csv", "--target", "truth", "-k", "2")
    ended = type_in(*words)
    assert ended.code == 0
    assert "predictions are read as probabilities of class 1" in ended.err
    ended = type_in(*words, "--scoring", "r2")
    assert ended.code == 0
    assert "probabilities" not in ended.err


def test_an_array_named_numbers_is_a_regression_whatever_its_values(shop):
    rng, words = np.random.default_rng(0), ("prune", "--predictions", "shares.npz", "-k", "2")
    shares, y = rng.random((40, 3)), np.arange(40) % 2
    np.savez("shares.npz", numbers=shares, y=y)
    assert "R², cross-validated" in type_in(*words, "--json").json["figures"]
    ended = type_in(*words)
    assert "values of a regression, although y has only integers" in ended.out + ended.err
    message = refused(3, *words, "--positive", "1")
    assert "shares.npz: --positive 1 is for probabilities of one class, but" in message
    np.savez("shares.npz", numbers=shares, y=np.where(y == 1, "yes", "no"))
    message = refused(3, *words)
    assert "'no' is not a finite number, but this is a regression" in message
    assert "model" not in message


def test_counts_are_a_regression_and_probabilities_of_one_of_three_classes_an_error(shop):
    rng, words = np.random.default_rng(0), ("--target", "truth", "-k", "2")
    counts = rng.poisson(9.0, 60)
    table = pd.DataFrame(counts[:, None] + rng.normal(size=(60, 3)), columns=list("abc"))
    table.assign(truth=counts).to_csv("counts.csv", index=False)
    for command in ("prune", "compare"):
        ended = type_in(command, "--predictions", "counts.csv", *words)
        assert ended.code == 0
        assert "values of a regression, although y has only integers" in ended.out + ended.err
    for classes in ([0, 1, 2], ["ant", "bee", "cow"]):
        table = pd.DataFrame(rng.random((60, 3)), columns=list("abc"))
        table["truth"] = np.array(classes)[np.arange(60) % 3]
        table.to_csv("three.csv", index=False)
        message = refused(3, "prune", "--predictions", "three.csv", *words)
        assert "three.csv: Predictions are numbers from 0 to 1" in message
        assert "(see --columns)" in message
        assert ("--scoring, such as r2" in message) == (classes == [0, 1, 2])


def test_tables_to_test_on_are_numbers_too(shop):
    made_table(regressors.CHOOSE).assign(truth=regressors.Y[regressors.CHOOSE]).to_csv(
        "val-numbers.csv", index=False
    )
    whole = made_table(regressors.TEST).round().astype(int)
    whole.assign(truth=regressors.Y[regressors.TEST].round().astype(int)).to_csv(
        "whole.csv", index=False
    )
    words = ("prune", "--predictions", "val-numbers.csv", "--target", "truth", "-k", "3")
    assert type_in(*words, "--test", "whole.csv").code == 0
    whole.assign(truth="much").to_csv("words.csv", index=False)
    assert "'much' is not a finite number" in refused(3, *words, "--test", "words.csv")


def test_reports_of_regressors_are_written_and_made_again_from_their_run(shop):
    ended = type_in(*PRUNE, "-k", "4", "--report", "page.html", "--run", "run.json", "-q")
    assert ended.code == 0, ended.err
    assert "Predicted against true" in (shop / "page.html").read_text("utf-8")
    assert type_in("report", "run.json", "-o", "again.html").code == 0
    assert (shop / "again.html").read_bytes() == (shop / "page.html").read_bytes()
    words = ("compare", "trees.skops", "val.csv", "--target", "price", "-k", "4")
    assert type_in(*words, "--report", "compared.html", "-q").code == 0
