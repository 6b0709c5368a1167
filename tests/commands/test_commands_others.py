"""The smaller commands: compare, report, inspect, convert, export, methods, cite, data."""

import hashlib
import json
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from command_line import N_TREES, TARGET, make_rows, refused, tree_of, type_in
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from secateurs import COMEP, all_pruners, compare, load
from secateurs._methods import METHODS
from secateurs.commands.cite import read_references
from secateurs.paper.datasets import DATASETS

ROWS = ("forest.skops", "val.csv", "--target", TARGET)
VOTES = ("--predictions", "val-votes.csv", "--target", "truth")
TREE, STUMP = (DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (4, 1))
KD_TREE = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]
LABELS = np.array(["left", "stays", "waits"])


def board_of(ended):
    return {(line["method"], line["keep"]): line for line in ended.json["leaderboard"]}


def test_a_leaderboard_has_every_method_at_every_size(desk):
    ended = type_in("compare", *VOTES, "-k", "2", "-k", "25%", "--json")
    lines = board_of(ended)
    assert {keep for _, keep in lines} == {0, 1, 2, 3, N_TREES}
    names = {name.split()[0] for name, _ in lines}
    assert names == {*METHODS, "all", "single", "majority"}
    accuracies = [line["accuracy"] for line in ended.json["leaderboard"]]
    assert accuracies == sorted(accuracies, reverse=True)


def test_a_leaderboard_is_judged_on_the_test_rows(desk):
    words = (
        "-p",
        "comep",
        "-k",
        "4",
        "--diversity-weight",
        "0.2",
        "--test",
        "test-votes.csv",
        "--json",
    )
    lines = board_of(type_in("compare", *VOTES, *words, "--json"))
    chosen, tested = pd.read_csv("val-votes.csv"), pd.read_csv("test-votes.csv")
    votes = chosen.drop(columns="truth").to_numpy()
    kept = COMEP(keep=4, diversity_weight=0.2).fit(votes, chosen["truth"]).member_indices_
    labels = tested.drop(columns="truth").to_numpy()
    for name, members in ((("comep λ=0.2", 4), kept), (("all members", N_TREES), range(N_TREES))):
        counts = np.stack([(labels[:, list(members)] == label).sum(axis=1) for label in LABELS])
        right = LABELS[counts.argmax(axis=0)] == tested["truth"]
        assert lines[name]["accuracy"] == right.mean()


def test_a_leaderboard_as_a_table_and_as_a_file(desk):
    words = ("compare", *VOTES, "-p", "re", "-p", "kp", "-k", "3", "-o", "board.csv")
    ended = type_in(*words)
    assert ended.out.splitlines()[0].split()[:4] == ["method", "members", "accuracy", "change"]
    frame = pd.read_csv("board.csv")
    baselines = {"es", "random", "single best", "majority class", "all members"}
    assert set(frame["method"]) == {"re", "kp", *baselines}
    assert len(ended.out.splitlines()) == 1 + len(frame)
    assert "Scores are cross-validated on 120 validation samples" in ended.err
    assert "wrote board.csv" in ended.err
    assert "board.csv exists" in refused(3, *words)


def test_a_budget_leaves_the_lines_that_meet_it(desk):
    words = ("compare", *VOTES, "-p", "comep", "-p", "re", "-k", "2", "-k", "6", "--json")
    everything = type_in(*words).json["leaderboard"]
    tolerance = sorted(-line["change"] for line in everything)[len(everything) // 2]
    some = type_in(*words, "--tolerance", max(0.0, tolerance)).json["leaderboard"]
    expected = [line for line in everything if line["change"] >= -max(0.0, tolerance) - 1e-12]
    key = ("method", "keep", "accuracy")
    assert [[line[k] for k in key] for line in some] == [
        [line[k] for k in key] for line in expected
    ]
    assert 0 < len(some) < len(everything)


def test_a_budget_may_be_bytes_and_time(desk):
    words = ("compare", "forest.skops", "val.csv", "-t", TARGET, "-p", "comep", "-p", "re")
    lines = type_in(*words, "-k", "2", "-k", "6", "--max-bytes", "20kB", "--json").json
    assert {line["keep"] for line in lines["leaderboard"]} == {1, 2}
    assert all(line["bytes"] <= 20_000 for line in lines["leaderboard"])
    ended = type_in(*words, "-k", "2", "--max-latency", "1us", "-q")
    assert ended.code == 5


def test_a_frontier_has_a_row_for_each_total_cost(desk):
    (desk / "costs.txt").write_text("\n".join(["1", "2", "3"] * 4), "utf-8")
    words = ("frontier", *VOTES, "--cost", "costs.txt", "-o", "front.csv", "--report", "front.html")
    ended = type_in(*words, "--run", "front.json", "--json")
    rows = ended.json["frontier"]
    assert ended.json["is_exact"]
    assert [row["cost"] for row in rows] == sorted({row["cost"] for row in rows})
    scores = [row["validation_score"] for row in rows]
    assert scores == sorted(set(scores))
    assert all(row["cost_in_turn"] <= row["cost"] + 1e-9 for row in rows)
    written = pd.read_csv(desk / "front.csv")
    assert written["cost"].tolist() == [row["cost"] for row in rows]
    assert 'id="plot-frontier"' in (desk / "front.html").read_text("utf-8")
    assert type_in("report", "front.json", "-o", "again.html").code == 0
    text = type_in("frontier", *VOTES).out.splitlines()
    assert text[0].split()[:2] == ["cost", "in"]


def test_a_frontier_rejects_bad_options_before_any_work(desk):
    assert "none.csv does not exist" in refused(3, "frontier", *VOTES, "--cost", "none.csv")
    line = refused(2, "frontier", *VOTES, "--max-group-loss", "0.01")
    assert "--max-group-loss needs --sensitive-features" in line


def test_a_budget_may_be_a_total_cost(desk):
    (desk / "costs.txt").write_text("\n".join(["1", "2", "3"] * 4), "utf-8")
    words = ("compare", *VOTES, "-p", "best", "-k", "2", "-k", "6", "--cost", "costs.txt")
    lines = type_in(*words, "--max-cost", "6", "--json").json["leaderboard"]
    assert {line["keep"] for line in lines} == {1, 2}  # six members cost 9 or more
    assert all(1 <= line["cost"] <= 6 for line in lines)
    assert type_in(*words, "--max-cost", "6").out.splitlines()[0].split()[-1] == "cost"


def test_fresh_forests_are_rows_of_the_leaderboard(desk):
    train, labels = make_rows(150, 0)  # the training samples of the forest
    train.assign(**{TARGET: labels}).to_csv("train.csv", index=False)
    words = ("compare", "forest.skops", "val.csv", "-t", TARGET, "--test", "test.csv", "-p", "es")
    ended = type_in(*words, "-k", "4", "--fresh", "--train", "train.csv", "--json")
    (line,) = (line for line in ended.json["leaderboard"] if line["method"] == "fresh forest")
    (X_val, y_val), (X_test, y_test) = make_rows(120, 1), make_rows(110, 2)
    found = compare(
        load("forest.skops"),
        *(X_val, y_val, ["es"], 4),
        **{"X_test": X_test, "y_test": y_test, "X_train": train, "y_train": labels},
        fresh=True,
        random_state=0,
    )
    assert line["accuracy"] == found.fresh.forests[4].model.score(X_test, y_test)
    out_of_bag = ("compare", "forest.skops", "train.csv", "-t", TARGET, "-p", "es", "-k", "4")
    ended = type_in(*out_of_bag, "--oob", "--fresh")
    assert "  fresh forest  " in ended.out
    note = "fresh forest: trained on the samples with 4 trees, and with min_samples_leaf="
    assert note in ended.err


def test_fresh_forests_that_cannot_be_trained_are_refused(desk):
    words = ("compare", "forest.skops", "val.csv", "-t", TARGET, "-p", "es", "-k", "4")
    line = refused(3, *words, "--fresh", "-q")
    assert "Pass --train and" not in line
    assert "--fresh needs the training samples with their labels. Pass --train, or --oob" in line
    assert "--train is for --fresh only" in refused(2, *words, "--train", "test.csv")
    assert "nowhere.csv" in refused(3, *words, "--fresh", "--train", "nowhere.csv")
    (desk / "costs.txt").write_text("\n".join("1" * 12), "utf-8")
    costs = ("--cost", "costs.txt", "--max-cost", "6")
    assert "exclude each other" in refused(2, *words, "--fresh", *costs)
    assert "--fresh needs MODEL" in refused(2, "compare", *VOTES, "--fresh")


def test_a_comparison_can_be_tried_dry(desk):
    before = tree_of(desk)
    ended = type_in("compare", *VOTES, "-k", "3", "-o", "board.csv", "--dry-run", "--json")
    assert ended.json["would_write"] == ["board.csv"]
    assert tree_of(desk) == before


def test_groups_wrap_every_method(desk):
    words = ("compare", *VOTES, "-p", "kp", "-p", "comep", "-k", "3", "--n-groups", "2", "--json")
    names = {name for name, _ in board_of(type_in(*words))}
    baselines = {"es", "random", "single", "majority", "all"}
    assert {name.split()[0] for name in names} == {"EPFD", "domep", *baselines}


def test_the_page_is_the_same_by_way_of_its_data(desk):
    words = ("prune", *VOTES, "-k", "3", "--test", "test-votes.csv")
    ended = type_in(*words, "--report", "page.html", "--run", "run.json")
    assert ended.code == 0, ended.err
    assert "wrote page.html, run.json" in ended.err
    ended = type_in("report", "run.json", "-o", "again.html", "--json")
    assert ended.json["wrote"] == ["again.html"]
    assert (desk / "again.html").read_bytes() == (desk / "page.html").read_bytes()
    assert ended.json["bytes"] == len((desk / "page.html").read_bytes())
    assert "again.html exists" in refused(3, "report", "run.json", "-o", "again.html")
    assert "val.csv is not valid JSON" in refused(3, "report", "val.csv")
    assert "again.html is not valid JSON" in refused(3, "report", "again.html")


@pytest.mark.parametrize(
    "words", [("prune", "-p", "re", "-k", "3"), ("compare", "-p", "re", "-k", "3"), ("frontier",)]
)
def test_run_files_have_a_checksum(desk, words):
    command, *options = words
    assert type_in(command, *VOTES, *options, "--run", "run.json").code == 0
    ended = type_in("report", "run.json")
    assert ended.code == 0, ended.err
    assert "checksum" not in ended.err
    run = json.loads((desk / "run.json").read_text())
    run["ensemble"]["names"][0] += "!"
    (desk / "run.json").write_text(json.dumps(run))
    assert "does not match its checksum" in refused(3, "report", "run.json", "--force")


@pytest.mark.parametrize("command", ["prune", "compare"])
def test_the_page_names_the_command(desk, command):
    assert type_in(command, *VOTES, "-p", "re", "-k", "3", "--run", "run.json").code == 0
    run = json.loads((desk / "run.json").read_text())
    expected = "secateurs prune --predictions val-votes.csv --target truth"
    assert run["reproduce"]["command"] == expected


def test_inspecting_builds_nothing(desk):
    facts = type_in("inspect", "forest.skops", "--json").json
    content = (desk / "forest.skops").read_bytes()
    assert facts["sha256"] == hashlib.sha256(content).hexdigest()
    assert facts["bytes"] == len(content)
    assert facts["members"] == N_TREES
    assert facts["model"].endswith("RandomForestClassifier")
    told = type_in("inspect", "forest.skops").out
    assert re.search(r"^members +12$", told, re.MULTILINE)
    assert "sklearn.tree._tree.Tree" in told


def test_inspecting_tells_whether_the_side_car_fits(desk):
    assert type_in("prune", *ROWS, "-p", "comep", "-k", "3").code == 0
    assert "describes this file; pruned by COMEP" in type_in("inspect", "forest-pruned.skops").out
    (desk / "forest-pruned.skops").write_bytes((desk / "forest.skops").read_bytes())
    assert "describes another file" in type_in("inspect", "forest-pruned.skops").out


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemError('the file ran code')",)


def test_inspecting_a_pickle_runs_no_code(desk):
    joblib.dump(Evil(), "evil.pkl")
    ended = type_in("inspect", "evil.pkl")
    assert ended.code == 0
    assert "content  not inspected" in ended.out


def test_converting_refuses_no_model_and_the_next_command_names_what_to_trust(desk):
    X, y = make_rows(150, 0)
    X = X.assign(town=np.where(X["age"] > 0, "Ulm", "Bonn"))
    table = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    members = [("near", KNeighborsClassifier(algorithm="kd_tree")), ("tree", TREE), ("low", STUMP)]
    joblib.dump(make_pipeline(table, VotingClassifier(members)).fit(X, y), "mine.joblib")
    X.assign(**{TARGET: y})[::2].to_csv("towns.csv", index=False)
    ended = type_in("convert", "mine.joblib", "mine.skops", "--trust-pickle")
    assert ended.code == 0, ended.err
    words = ("prune", "mine.skops", "towns.csv", "-t", TARGET, "-k", "1")
    line = refused(4, *words)
    trust = re.search(r"pass ((--trust-type \S+ ?)+)\.", line)[1].split()
    assert trust[1::2] == KD_TREE
    ended = type_in(*words, *trust)
    assert ended.code == 0, ended.err


def test_converting_keeps_the_predictions(desk):
    X, _ = make_rows(30, 8)
    forest = load("forest.skops")
    joblib.dump(forest, "mine.joblib")
    assert "is a pickle" in refused(4, "convert", "mine.joblib", "mine.skops")
    words = ("convert", "mine.joblib", "mine.skops", "--trust-pickle")
    for limit in ("--max-unpacked", "--max-bytes"):  # its older name
        assert "is larger than --max-unpacked 1000." in refused(4, *words, limit, "1kB")
    ended = type_in(*words, "--json")
    assert ended.json["wrote"] == ["mine.skops", "mine.skops.json"]
    assert load("mine.skops").predict(X).tolist() == forest.predict(X).tolist()
    assert "mine.skops exists" in refused(3, "convert", "mine.joblib", "mine.skops")
    assert type_in("convert", "mine.skops", "back.joblib").code == 0
    again = load("back.joblib", trust="pickle")
    assert again.predict(X).tolist() == forest.predict(X).tolist()


@pytest.mark.parametrize("suffix", ["onnx", "treelite"])
def test_exported_models_are_checked_on_the_rows_given(desk, suffix):
    name = f"forest.{suffix}"
    words = ("export", "forest.skops", "-o", name, "--check", "val.csv")
    assert "val.csv has columns unknown to the model: churn. Leave" in refused(3, *words)
    ended = type_in(*words, "--target", TARGET, "--json")
    assert ended.json["check"]["rows"] == 120
    assert ended.json["check"]["labels_differing"] == 0
    assert ended.json["wrote"] == [name, f"{name}.json"]
    assert ended.json["bytes"] == (desk / name).stat().st_size
    assert f"{name} exists" in refused(3, *words, "--target", TARGET)


def test_methods_are_told_with_their_parameters(desk):
    listed = type_in("methods").out.splitlines()
    assert [line.split()[0] for line in listed[1:]] == ["auto", *all_pruners()]
    assert "the default" in listed[1]
    told = type_in("methods", "drep").out
    assert "rho=0.3" in told
    assert "secateurs cite drep" in told
    facts = type_in("methods", "--json").json["methods"]
    for name, pruner in all_pruners().items():
        assert facts[name]["parameters"] == pruner().get_params(deep=False)


def test_every_paper_can_be_cited(desk):
    known = read_references()
    for name, method in METHODS.items():
        if method.citation is None:
            assert "does not come from a paper" in refused(3, "cite", name)
        else:
            entry = type_in("cite", name).out
            assert entry.strip() == known[method.citation]
            assert entry.count("{") == entry.count("}")
    assert {method.citation for method in METHODS.values()} - {None} == set(known)
    own = type_in("cite", "--json").json["bibtex"]
    assert "@software{secateurs," in own
    assert "Objection Maximization" in own


def test_citations_agree_with_the_docstrings():
    """The year and the first author stand in both."""
    known = read_references()
    for name, pruner in all_pruners().items():
        key = METHODS[name].citation
        if key is not None:
            told = pruner.__doc__
            assert re.search(r"year = \{(\d+)\}", known[key])[1] in told
            author = re.search(r"author = \{([^,]+),", known[key])[1]
            plain = re.sub(r"\{\\['~](.)\}", r"\1", author)
            assert plain[:4] in told.replace("í", "i").replace("ñ", "n")


def test_data_sets_are_listed_and_verified(desk, monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    rows = {row["name"]: row for row in type_in("data", "list", "--json").json["datasets"]}
    assert rows["iris"]["source"] == "scikit-learn"
    assert "iris" in type_in("data", "list").out
    assert "none of the data sets" in refused(3, "data", "verify", "--data", ".")
    assert "nowhere is not a folder" in refused(3, "data", "list", "--data", "nowhere")
    assert "'irs' is not a data set. Did you mean 'iris'" in refused(
        3, "data", "fetch", "irs", "--data", "."
    )


def test_data_sets_drawn_by_their_definition_are_fetched(desk):
    ended = type_in("data", "fetch", "ringnorm", "--data", "sets", "--json")
    (row,) = ended.json["datasets"]
    assert row["source"] == "generated"
    assert (desk / "sets" / "ringnorm.csv.gz").is_file()
    before = tree_of(desk)
    again = type_in("data", "fetch", "ringnorm", "--data", "sets", "--json")
    assert again.code == 0
    assert tree_of(desk) == before


def test_data_sets_that_are_there_are_verified(desk):
    assert type_in("data", "fetch", "ringnorm", "--data", "sets").code == 0
    rows = type_in("data", "verify", "--data", "sets", "--json").json["datasets"]
    (found,) = (row for row in rows if row["state"] != "absent")
    digest = hashlib.sha256((desk / "sets" / "ringnorm.csv.gz").read_bytes()).hexdigest()
    assert (found["name"], found["sha256"]) == ("ringnorm", digest)
    assert digest[:16] in type_in("data", "verify", "--data", "sets").out


def test_data_sets_that_are_other_files_are_told(desk):
    name = next(name for name, known in DATASETS.items() if known.sha256 is not None)
    (desk / f"{name}.csv.gz").write_bytes(b"another file")
    line = refused(3, "data", "verify", "--data", ".")
    assert f"files that do not match their checksums: {name}. Fetch" in line


@pytest.mark.parametrize("words", [("demo", "-o"), ("data", "fetch", "ringnorm", "--data")])
def test_a_folder_that_cannot_be_created_is_reported_with_a_way_out(desk, words):
    ended = type_in(*words, "/proc/self/new")
    assert ended.code == 3
    assert "error: /proc/self cannot be written to: " in ended.err
    assert "Pass another folder" in ended.err
