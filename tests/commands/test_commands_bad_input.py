"""Bad input, as a user types it: the exit code, one line that names the place, nothing else."""

import json
import sys
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from command_line import TARGET, make_rows, refused, type_in
from sklearn.ensemble import (
    AdaBoostRegressor,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from secateurs import save
from secateurs.commands.command_errors import failure_from_error

PRUNE = ("prune", "forest.skops", "val.csv", "--target", TARGET)


def write_rows(name, change):
    frame = pd.read_csv("val.csv")
    change(frame).to_csv(name, index=False)


def refused_rows(change, *words):
    """Refuse a changed table of rows to choose on."""
    write_rows("bad.csv", change)
    line = refused(3, "prune", "forest.skops", "bad.csv", "--target", TARGET, *words)
    assert "bad.csv" in line
    return line


def refused_model(model, *words, code=3):
    joblib.dump(model, "model.joblib")
    line = refused(code, "prune", "model.joblib", "val.csv", "-t", TARGET, "--trust-pickle", *words)
    assert "model.joblib" in line
    return line


# The table itself, and its target.


def test_a_target_that_is_not_there_is_suggested(desk):
    line = refused(3, "prune", "forest.skops", "val.csv", "--target", "churned")
    assert "val.csv has no column 'churned'. Did you mean 'churn'? Columns: age, income" in line


def test_two_targets_are_refused(desk):
    lines = (desk / "val.csv").read_text().splitlines()
    twice = [f"{line},{line.split(',')[-1]}" for line in lines]
    (desk / "bad.csv").write_text("\n".join(twice) + "\n")
    line = refused(3, "prune", "forest.skops", "bad.csv", "--target", TARGET)
    assert "bad.csv has two columns named 'churn': 5 and 6." in line


def test_a_row_without_a_label_is_named(desk):
    def change(frame):
        frame.loc[6, TARGET] = None
        return frame

    assert "bad.csv, column 'churn', row 7 is empty" in refused_rows(change)


def test_labels_that_the_model_never_saw_are_listed(desk):
    def change(frame):
        frame.loc[[3, 8], TARGET] = ["gone", "went"]
        return frame

    line = refused_rows(change)
    assert "labels unknown to the model: gone, went (first in row 4)" in line
    assert "Known labels: left, stays, waits." in line


@pytest.mark.parametrize("name", ["nowhere.csv", "."])
def test_a_file_that_is_none_is_named(desk, name):
    assert f"error: {name} " in refused(3, "prune", "forest.skops", name, "-t", TARGET)
    assert f"error: {name} " in refused(3, "prune", name, "val.csv", "-t", TARGET)
    assert f"error: {name} " in refused(3, "prune", "--predictions", name, "-t", TARGET)
    assert f"error: {name} " in refused(3, "inspect", name)


def test_what_the_system_refuses_is_named(desk):
    long_name = "x" * 300
    assert f"error: {long_name}: " in refused(3, "inspect", long_name)


# Its features.


def test_features_of_other_names_are_refused(desk):
    line = refused_rows(lambda frame: frame.rename(columns={"age": "years"}))
    assert "lacks features of the model: age. Columns unknown to the model: years." in line


def test_a_column_too_many_is_refused(desk):
    line = refused_rows(lambda frame: frame.assign(id=1))
    assert "columns unknown to the model: id. Leave them out with: --ignore id" in line


def test_a_wrong_number_of_features_is_refused(desk):
    X, y = make_rows(60, 0)
    model = RandomForestClassifier(4, random_state=0).fit(X.to_numpy()[:, :3], y)
    joblib.dump(model, "model.joblib")
    line = refused(3, "prune", "model.joblib", "val.csv", "-t", TARGET, "--trust-pickle")
    assert "val.csv has 4 feature columns, but the model has 3" in line


@pytest.mark.parametrize(
    ("cell", "shown"), [("many", "'many'"), (np.inf, "'inf'"), ("1,5", "'1,5'")]
)
def test_a_cell_that_is_no_number_is_named(desk, cell, shown):
    def change(frame):
        frame["visits"] = frame["visits"].astype(object)
        frame.loc[4, "visits"] = cell
        return frame

    assert f"bad.csv, column 'visits', row 5: {shown} is not a finite" in refused_rows(change)


def test_a_number_beyond_the_trees_is_refused(desk):
    def change(frame):
        frame.loc[4, "visits"] = 1e300
        return frame

    assert "infinity or a value too large" in refused_rows(change)


def test_a_gap_is_named_where_the_model_takes_none(desk):
    X, y = make_rows(60, 0)
    vote = VotingClassifier([("a", GaussianNB()), ("b", GaussianNB(var_smoothing=0.1))])
    save(vote.fit(X, y), "voting.skops")

    def change(frame):
        frame.loc[9, "income"] = None
        return frame

    write_rows("bad.csv", change)
    line = refused(3, "prune", "voting.skops", "bad.csv", "-t", TARGET)
    assert (
        "bad.csv, row 10, column 'income' is empty, and the model does not accept missing values"
        in line
    )


# Its rows.


def test_too_few_rows_are_refused(desk):
    assert "bad.csv has 5 rows for 3 classes. Pass at least 6" in refused_rows(
        lambda frame: frame[:5]
    )


def test_too_few_predictions_are_refused(desk):
    pd.read_csv("val-votes.csv")[:5].to_csv("bad.csv", index=False)
    line = refused(3, "prune", "--predictions", "bad.csv", "-t", "truth", "-k", "2")
    assert "bad.csv has 5 rows for 3 classes. Pass at least 6" in line


def test_few_rows_of_a_class_are_warned_of(desk):
    frame = pd.read_csv("val.csv")
    rare = frame[TARGET] == "waits"
    pd.concat([frame[~rare], frame[rare][:4]]).to_csv("few.csv", index=False)
    ended = type_in("prune", "forest.skops", "few.csv", "-t", TARGET, "--dry-run")
    assert ended.code == 0
    assert "warning: few.csv has fewer than 5 rows of class waits" in ended.err


# How many to keep.


@pytest.mark.parametrize("keep", ["12", "13", "1.0", "100%", "0.99"])
def test_keeping_everything_is_refused(desk, keep):
    line = refused(3, *PRUNE, "-k", keep)
    assert "keeps all 12 members: there is nothing to prune" in line
    line = refused(3, "compare", *PRUNE[1:], "-k", keep)
    assert "there is nothing to prune" in line


def test_keeping_one_is_warned_of(desk):
    ended = type_in(*PRUNE, "-k", "1", "--dry-run")
    assert ended.code == 0
    assert ended.err.count("warning: --keep 1 leaves a single member") == 1


def test_a_budget_that_everything_meets_is_refused(desk):
    assert "all 12 members meet the budget" in refused(3, *PRUNE, "-q", "--max-bytes", "5MB")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--max-bytes", "10B"), "Not even one tree meets --max-bytes 10: the smallest takes "),
        (("--max-latency", "1us"), "Not even one member meets --max-latency 0.001ms: one takes "),
        (("--tolerance", "0", "--max-bytes", "11kB"), "meets --tolerance 0: the best"),
    ],
)
def test_a_budget_that_nothing_meets_is_refused(desk, words, message):
    assert message in refused(5, *PRUNE, "-q", *words)


def test_a_total_cost_that_nothing_meets_is_refused(desk):
    (desk / "costs.txt").write_text("\n".join(["7", "3.5", *["9"] * 10]), "utf-8")
    words = (*PRUNE, "-q", "--cost", "costs.txt", "--max-cost")
    line = refused(5, *words, "3")
    assert (
        "Not even one member meets --max-cost 3: the cheapest costs 3.5. Pass a larger limit."
        in line
    )
    line = refused(5, *words, "3.5", "--tolerance", "0")
    assert "No sub-ensemble that meets --max-cost 3.5 meets --tolerance 0: the best" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\n3\n", "costs.csv has 3 costs for 12 members"),
        ("name,cost\nmember 0,1\n", "costs.csv has no cost for member 1, member 2, member 3, …"),
        ("name,cost\nmember 0,1\nmember 0,2\n", "costs.csv names 'member 0' twice"),
        ("name,cost\nmember 0,cheap\n", "'cheap' is not a valid cost of member 0"),
        ("\n".join(["1"] * 11 + ["-2"]), "'-2' is not a valid cost of member 11"),
        ("\n".join(["1"] * 11 + ["1e999"]), "'1e999' is not a valid cost of member 11"),
        ("\n".join(["1"] * 11 + ["nan"]), "'nan' is not a valid cost of member 11"),
        ("member,price\nmember 0,1\n", "costs.csv has no column 'name'"),
        (
            "name,cost\nmember 99,1\n" + "".join(f"member {m},1\n" for m in range(12)),
            "costs.csv names unknown members: member 99. Pass a cost for each of: member 0",
        ),
        ("", "costs.csv is empty"),
    ],
)
def test_costs_that_do_not_fit_the_members_are_refused(desk, text, message):
    (desk / "costs.csv").write_text(text, "utf-8")
    words = (*PRUNE, "--cost", "costs.csv", "--max-cost", "4", "-q")
    assert message in refused(3, *words)


def test_a_total_needs_costs(desk):
    for words in (PRUNE, ("compare", *PRUNE[1:])):
        assert "--max-cost needs --cost FILE" in refused(2, *words, "--max-cost", "3")
    assert "none.csv does not exist" in refused(3, *PRUNE, "--cost", "none.csv", "--max-cost", "3")


def test_a_comparison_that_meets_no_budget_is_refused(desk):
    words = ("compare", "--predictions", "val-votes.csv", "-t", "truth", "-p", "es", "-k", "2")
    line = refused(5, *words, "-q", "--tolerance", "0")
    assert "no result of the comparison meets the budget: the least loss is 0." in line
    (desk / "costs.txt").write_text("2\n" * 12, "utf-8")
    line = refused(5, *words, "-q", "--cost", "costs.txt", "--max-cost", "1")
    assert "the cheapest costs 2. Allow more, or compare other sizes with --keep." in line


def test_a_tolerance_that_only_all_members_keep_is_refused(desk):
    # One member is always right, and the last one chosen: early stopping needs all four.
    y = [0, 1] * 20
    table = pd.DataFrame({"a": 1, "b": 1, "c": y, "d": y, "y": y})
    table.to_csv("votes.csv", index=False)
    words = ("prune", "--predictions", "votes.csv", "-t", "y", "-p", "es", "--tolerance", "0.1")
    line = refused(5, *words, "-q")
    assert "no sub-ensemble smaller than all 4 members is within 0.1 of their accuracy" in line
    assert "The smallest possible tolerance is 0.5." in line


# Predictions.


def votes_of(shape, labels=2):
    return np.random.default_rng(0).integers(labels, size=shape)


def test_a_transposed_table_is_told(desk):
    np.savez("bad.npz", votes=votes_of((9, 40)), y=votes_of(40))
    line = refused(3, "prune", "--predictions", "bad.npz", "-k", "2")
    assert "bad.npz has shape (9, 40) and there are 40 labels: it looks transposed" in line


def test_another_number_of_labels_is_told(desk):
    np.save("votes.npy", votes_of((40, 9)))
    np.save("labels.npy", votes_of(39))
    line = refused(3, "prune", "--predictions", "votes.npy", "--labels", "labels.npy", "-k", "2")
    assert "votes.npy has 40 rows, labels.npy has 39 labels" in line


def shares(change):
    values = np.full((40, 5, 2), 0.5)
    change(values)
    np.savez("bad.npz", probabilities=values, y=votes_of(40))
    return refused(3, "prune", "--predictions", "bad.npz", "-k", "2")


def test_probabilities_that_are_not_finite_are_refused(desk):
    def change(values):
        values[3, 1, 0] = np.nan

    line = shares(change)
    assert "bad.npz: Member 1 gives sample 3 the probabilities [nan 0.5], which are not all" in line


def test_probabilities_that_do_not_sum_to_one_are_refused(desk):
    def change(values):
        values[3, 1] = 0.7

    assert "bad.npz: Member 1 gives sample 3 the probabilities" in shares(change)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": votes_of(9)}, "has the arrays y. Pass either votes"),
        ({"votes": votes_of((9, 3)), "probabilities": votes_of((9, 3, 2))}, "Pass either votes"),
        ({"votes": votes_of((9, 3))}, "has no true labels. Add an array y"),
        ({"votes": votes_of((9,)), "y": votes_of(9)}, "votes of shape (9,). Pass an array with 2"),
        ({"votes": votes_of((0, 3)), "y": votes_of(0)}, "which is empty"),
        ({"votes": votes_of((9, 3)), "y": votes_of((9, 1))}, "y of shape (9, 1)"),
        ({"votes": votes_of((9, 3)), "y": votes_of(9), "names": ["a", "b"]}, "2 names for 3"),
        (
            {"votes": votes_of((9, 3)) / 2 + 0.1, "y": np.array(["a", "b", "c"] * 3)},
            "numbers from 0 to 1, one per sample and member, but there are 3 different labels",
        ),
        ({"votes": votes_of((9, 3)), "y": votes_of(9) + 7}, "no prediction in bad.npz matches"),
        (
            {"votes": votes_of((9, 3)) * 1j, "y": votes_of(9)},
            "type complex128 in votes",
        ),
        (
            {"votes": votes_of((9, 3)), "y": np.array([b"\xff"] * 9)},
            "cannot be read: UnicodeDecode",
        ),
        ({"votes": votes_of((9, 1)), "y": votes_of(9)}, "has 1 member: there is nothing to prune"),
        (
            {"probabilities": np.full((9, 3, 2), 0.5), "y": votes_of(9), "classes": ["a"]},
            "names 1 class but has probabilities for 2",
        ),
        (
            {"probabilities": np.full((9, 3, 2), 0.5), "y": votes_of(9) + 1},
            "to the model: 2",
        ),
        (
            {"votes": np.array([["a", None]], dtype=object), "y": votes_of(1)},
            "array of Python objects",
        ),
    ],
)
def test_arrays_that_are_no_predictions_are_refused(desk, arrays, message):
    np.savez("bad.npz", **arrays)
    line = refused(3, "prune", "--predictions", "bad.npz", "-k", "2")
    assert message in line
    assert "bad.npz" in line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.assign(truth=[None, *t["truth"][1:]]),
            "bad.csv, column 'truth', row 1 is empty",
        ),
        (lambda t: t.assign(truth=7), "no prediction in bad.csv matches a true label"),
        (lambda t: t[["truth"]], "no column except the target"),
        (lambda t: t.drop(columns="truth"), "has no column 'truth'"),
        (lambda t: t[["tree 1", "truth"]], "has 1 member"),
    ],
)
def test_tables_that_are_no_predictions_are_refused(desk, change, message):
    change(pd.read_csv("val-votes.csv")).to_csv("bad.csv", index=False)
    line = refused(3, "prune", "--predictions", "bad.csv", "-t", "truth", "-k", "2")
    assert message in line
    assert "bad.csv" in line


def test_a_test_table_of_other_members_is_refused(desk):
    table = pd.read_csv("test-votes.csv")
    words = ("prune", "--predictions", "val-votes.csv", "-t", "truth", "-k", "2", "--test")
    table.drop(columns="tree 1").to_csv("fewer.csv", index=False)
    assert "fewer.csv: The table has no predictions of tree 1." in refused(3, *words, "fewer.csv")


def test_members_of_a_test_table_may_come_in_any_order(desk):
    table = pd.read_csv("test-votes.csv").assign(note="x")
    table[table.columns[::-1]].to_csv("turned.csv", index=False)
    words = ("prune", "--predictions", "val-votes.csv", "-t", "truth", "-k", "2", "--json")
    straight, turned = (
        type_in(*words, "--test", name).json for name in ("test-votes.csv", "turned.csv")
    )
    assert turned["figures"] == straight["figures"]


def test_labels_of_several_columns_need_a_choice(desk):
    line = refused(3, "prune", "--predictions", "val-votes.npz", "--labels", "val.csv", "-k", "2")
    assert "val.csv has 5 columns: age, income, visits, calls, churn" in line


# The model.


def stacked():
    parts = [("a", GaussianNB()), ("b", DecisionTreeClassifier())]
    return StackingClassifier(parts), "final estimator was trained on the predictions of all"


def test_ensembles_that_cannot_be_pruned_are_refused_with_the_reason(desk):
    model, reason = stacked()
    assert reason in refused_model(model.fit(*make_rows(60, 0)))


def test_boosted_regressors_are_refused(desk):
    X, _ = make_rows(60, 0)
    model = AdaBoostRegressor(n_estimators=2).fit(X, X["age"])
    assert "it predicts a weighted median of its members" in refused_model(model)


def test_forests_of_two_outputs_are_refused(desk):
    X, y = make_rows(60, 0)
    model = RandomForestClassifier(2).fit(X, np.stack([y, y], axis=1))
    assert "has 2 outputs" in refused_model(model)


def test_models_that_are_no_ensembles_are_refused(desk):
    X, y = make_rows(60, 0)
    assert "is not an ensemble that can be pruned" in refused_model(GaussianNB().fit(X, y))
    assert "is not an ensemble that can be pruned" in refused_model("forest")
    assert "is not fitted yet" in refused_model(RandomForestClassifier(3))
    one = RandomForestClassifier(1).fit(X, y)
    assert "has 1 member: there is nothing to prune" in refused_model(one)


def test_a_model_of_another_version_is_refused(desk):
    with zipfile.ZipFile("forest.skops") as old, zipfile.ZipFile("old.skops", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "schema.json":
                now, then = (json.dumps(json.dumps(v)) for v in (sklearn.__version__, "1.2.3"))
                assert now.encode() in content
                content = content.replace(now.encode(), then.encode())
            new.writestr(entry, content)
    words = ("prune", "old.skops", "val.csv", "-t", TARGET, "-k", "3")
    line = refused(3, *words)
    assert "old.skops was written with scikit-learn 1.2.3" in line
    assert "--allow-version-mismatch" in line
    assert type_in(*words, "--allow-version-mismatch", "--dry-run").code == 0


# Safety.


def test_pickles_are_refused_unless_they_are_trusted(desk):
    X, y = make_rows(60, 0)
    joblib.dump(RandomForestClassifier(4, random_state=0).fit(X, y), "mine.joblib")
    words = ("prune", "mine.joblib", "val.csv", "-t", TARGET, "-k", "2")
    line = refused(4, *words)
    assert "mine.joblib is a pickle: loading it runs code from the file" in line
    assert "pass --trust-pickle or --sha256 " in line
    digest = line.split("--sha256 ")[1].split(".")[0]
    assert type_in(*words, "--sha256", digest, "--dry-run").code == 0
    assert type_in(*words, "--trust-pickle", "--dry-run").code == 0
    assert "it is another file" in refused(4, *words, "--sha256", "0" * 64)


def test_a_pickle_under_the_name_of_skops_is_refused(desk):
    joblib.dump([1], "model.skops")
    line = refused(4, "prune", "model.skops", "val.csv", "-t", TARGET, "--trust-pickle")
    assert "model.skops is named .skops but is a pickle file" in line


def test_types_that_are_not_trusted_are_named(desk):
    X, y = make_rows(60, 0)
    members = [("a", KNeighborsClassifier(algorithm="kd_tree")), ("b", GaussianNB())]
    skops.io.dump(VotingClassifier(members).fit(X, y), "tree.skops")
    line = refused(4, "prune", "tree.skops", "val.csv", "-t", TARGET, "-k", "1")
    assert "--trust-type sklearn.neighbors._kd_tree.KDTree" in line


def test_a_file_larger_than_allowed_is_refused(desk):
    line = refused(4, *PRUNE, "--max-unpacked", "1kB")
    assert "forest.skops is larger than --max-unpacked 1000" in line


# What is written.


@pytest.mark.parametrize("name", ["forest-pruned.skops", "forest-pruned.skops.json"])
def test_files_that_exist_are_left_alone(desk, name):
    (desk / name).write_text("precious")
    line = refused(3, *PRUNE, "-k", "3")
    assert f"{name} exists. Pass another path, or --force to overwrite it." in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "small.onnx"), "small.onnx ends in '.onnx'. Use one of: .skops"),
        (("-o", "nowhere/small.skops"), "nowhere is not a folder"),
        (("--report", "page.pdf"), "page.pdf ends in '.pdf'. Use one of: .html"),
        (("--run", "forest-pruned.skops.json"), "forest-pruned.skops.json would be written twice"),
        (("--run", "run.txt"), "Use one of: .json"),
    ],
)
def test_names_that_cannot_be_written_are_refused(desk, words, message):
    assert message in refused(3, *PRUNE, "-k", "3", *words)


def test_a_folder_that_cannot_be_written_to_is_named(desk):
    (desk / "out.skops").mkdir()
    assert "out.skops is a folder" in refused(3, *PRUNE, "-k", "3", "-o", "out.skops")


def test_an_exported_model_that_disagrees_is_not_written(desk):
    # The converter turns the votes of two-class support vector machines round, and says nothing.
    X, y = make_rows(150, 0)
    vote = VotingClassifier([("a", SVC()), ("b", SVC(C=3))]).fit(X, y == "left")
    save(vote, "vote.skops")
    words = ("export", "vote.skops", "-o", "vote.onnx", "--check", "val.csv", "-t", TARGET)
    assert "of 120 labels (except ties)" in refused(6, *words)


# Extras and workers.


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        (
            "pyarrow.parquet",
            ("prune", "forest.skops", "val.parquet", "-t", TARGET),
            'reading .parquet needs: pip install "secateurs[parquet]"',
        ),
        (
            "treelite",
            ("export", "forest.skops", "-o", "f.treelite", "--check", "val.csv", "-t", TARGET),
            'pip install "secateurs[treelite]"',
        ),
        (
            "distributed",
            (*PRUNE, "-k", "3", "--scheduler", "local"),
            'pip install "secateurs[dask]"',
        ),
    ],
)
def test_an_extra_that_is_missing_is_named(desk, monkeypatch, module, words, message):
    monkeypatch.setitem(sys.modules, module, None)
    assert message in refused(7, *words, "-q")


def test_a_scheduler_that_is_not_there_is_named(desk):
    words = ("prune", "--predictions", "val-votes.csv", "-t", "truth", "-k", "3")
    line = refused(8, *words, "-q", "--scheduler", "nonsense://here")
    assert "--scheduler nonsense://here" in line


# Usage.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("prune",), "Missing argument 'MODEL', or --predictions FILE."),
        (("prune", "forest.skops"), "Missing argument 'DATA'"),
        (("prune", "forest.skops", "val.csv"), "Pass --target COL"),
        ((*PRUNE, "-k", "x"), "'x' is not a valid number of members"),
        ((*PRUNE, "-k", "0"), "'0' is not a valid number of members"),
        ((*PRUNE, "-k", "1.5"), "'1.5' is not a valid number of members"),
        ((*PRUNE, "-k", "3", "--tolerance", "0.1"), "--keep and a budget exclude each other"),
        ((*PRUNE, "--tolerance", "-1"), "'-1' is not a valid loss. Pass a value such as 0.005"),
        (
            (*PRUNE, "--max-bytes", "5 parsecs"),
            "'5 parsecs' is not a valid size. Pass a value such as 5MB",
        ),
        ((*PRUNE, "--max-latency", "2"), "'2' is not a valid latency. Pass a value such as 2ms"),
        ((*PRUNE, "--diversity-weight", "1.2"), "'1.2' is not a valid weight"),
        (
            (*PRUNE, "-p", "kp", "--diversity-weight", "0.2"),
            "applies to comep and domep, not to kp",
        ),
        ((*PRUNE, "-p", "comeep"), "'comeep' is not a method. Did you mean 'comep'"),
        ((*PRUNE, "-p", "auto", "--n-groups", "3"), "--pruner auto cannot be used with --n-groups"),
        ((*PRUNE, "--labels", "y.csv"), "--labels and --test-labels need --predictions"),
        ((*PRUNE, "--predictions", "v.csv"), "--predictions replaces MODEL and DATA"),
        (
            ("prune", "--predictions", "v.csv", "--test-labels", "y"),
            "--test-labels needs --test",
        ),
        ((*PRUNE, "--ignore", TARGET), "is the target and cannot be ignored"),
        ((*PRUNE, "--sise", "3"), "No such option"),
        (("prun",), "'prun' is not a command. Did you mean 'prune'?"),
        (("cite", "comeep"), "'comeep' is not a method. Did you mean 'comep'"),
        (("data",), "Missing command"),
        (("data", "verify"), "Which folder? Pass --data DIR"),
        (("reproduce", "--only", "table-td"), "'table-td' is not a table or figure. Did you mean"),
        (("reproduce", "--authors", ".", "--dry-run"), "--authors cannot be used with --only"),
        (("reproduce", "--authors", ".", "--quick"), "--authors cannot be used with --only"),
        (("export", "forest.skops"), "Missing option '-o' / '--output'"),
    ],
)
def test_wrong_usage_is_told_with_a_hint(desk, words, message, monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    line = refused(2, *words)
    assert message in line
    assert " --help\n" in line


def test_errors_as_json(desk):
    words = ("prune", "forest.skops", "val.csv", "--target", "churned", "--json")
    ended = type_in(*words)
    assert (ended.code, ended.out) == (3, "")
    assert ended.error["code"] == "input.missing_column"
    assert ended.error["message"] == "val.csv has no column 'churned'."
    assert ended.error["hint"].startswith("Did you mean 'churn'?")
    words = ("prune", "--jsn", "--json")
    assert type_in(*words).error["code"] == "usage"
    ended = type_in(*PRUNE, "-k", "12", "--json")
    assert ended.error == {
        "code": "input.nothing_to_prune",
        "message": "--keep 12 keeps all 12 members: there is nothing to prune.",
        "hint": "Pass a count up to 11, or a fraction.",
    }


def test_names_from_files_cannot_steer_the_terminal(desk):
    frame = pd.read_csv("val.csv").rename(columns={"age": "\x1b[31mage\x07"})
    frame.to_csv("bad.csv", index=False)
    line = refused(3, "prune", "forest.skops", "bad.csv", "-t", TARGET)
    assert "\x1b" not in line
    assert "\x07" not in line


def test_a_name_of_any_length_leaves_the_line_short(desk):
    frame = pd.read_csv("val.csv").rename(columns={"age": "x" * 100_000})
    frame.to_csv("bad.csv", index=False)
    assert len(refused(3, "prune", "forest.skops", "bad.csv", "-t", TARGET)) < 1100


def test_a_fault_of_ours_is_told_as_such():
    found = failure_from_error(KeyError("\x1b[2J\nlost"))
    assert (found.exit_code, found.code) == (1, "internal")
    assert "internal error (KeyError: " in found.text
    assert "--debug" in found.text
    assert "\n" not in found.text


def test_debug_shows_where_it_arose(desk):
    ended = type_in("prune", "forest.skops", "val.csv", "--target", "churned", "--debug")
    assert ended.code == 3
    assert "Traceback (most recent call last)" in ended.err
    assert "error: val.csv has no column 'churned'" in ended.err
