"""``secateurs prune``: the right members, honest figures, the files that were asked for."""

import hashlib
import json
import pickle
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import N_TREES, TARGET, make_rows, tree_of, type_in
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, get_scorer, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import naive
from secateurs import (
    COMEP,
    DOMEP,
    EPFD,
    KappaPruner,
    Votes,
    collect_votes,
    load,
    save,
)

PRUNE = ("prune", "forest.skops", "val.csv", "--target", TARGET)
VOTES = ("prune", "--predictions", "val-votes.csv", "--target", "truth")  # of the same forest


def run_of(*words):
    """Return the data of the report of a command that must succeed."""
    ended = type_in(*words, "--run", "run.json", "--force")
    assert ended.code == 0, ended.err
    return json.loads(Path("run.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "words",
    [
        ("--pruner", "sep", "--keep", "4", "--random-state", "3", "--test", "test.csv"),
        ("--pruner", "caruana", "--keep", "4", "--scoring", "neg_log_loss", "--no-weights"),
        ("--pruner", "kp", "--keep", "4", "--n-groups", "2", "--ignore", "note"),
        ("--pruner", "re", "--cost", "costs.txt", "--max-cost", "3"),
    ],
    ids=lambda words: words[1],
)
def test_the_command_in_the_report_does_the_same_again(desk, words):
    Path("mine.pkl").write_bytes(pickle.dumps(load("forest.skops")))
    pd.read_csv("val.csv").assign(note=1).to_csv("val.csv", index=False)
    pd.read_csv("test.csv").assign(note=1).to_csv("test.csv", index=False)
    Path("costs.txt").write_text("1\n0.5\n" * (N_TREES // 2))
    ignored = () if "--ignore" in words else ("--ignore", "note")
    made = run_of("prune", "mine.pkl", "val.csv", "-t", TARGET, "--trust-pickle", *ignored, *words)
    shell = made["reproduce"]["shell"]
    assert "--trust-pickle" in shell
    assert made["ensemble"]["source"] == "mine.pkl"
    again = run_of(*shlex.split(shell)[1:])
    assert again["chosen"] == made["chosen"]
    assert again["reproduce"] == made["reproduce"]


def test_the_title_of_a_report_names_the_file(desk):
    assert type_in(*PRUNE, "-p", "kp", "-k", "4", "--report", "model.html", "--force").code == 0
    titled = "<title>RandomForestClassifier of forest.skops, pruned by kp</title>"
    assert titled in Path("model.html").read_text("utf-8")
    assert type_in(*VOTES, "-p", "kp", "-k", "4", "--report", "votes.html").code == 0
    titled = "<title>val-votes.csv, predictions of 12 members, pruned by kp</title>"
    assert titled in Path("votes.html").read_text("utf-8")


def votes_and_labels(model, name="val.csv"):
    frame = pd.read_csv(name)
    y = frame.pop(TARGET).to_numpy()
    return collect_votes(model, frame), y


def test_the_members_are_those_of_the_paper(desk):
    votes, y = votes_and_labels(load("forest.skops"))
    ended = type_in(*PRUNE, "-k", "4", "--diversity-weight", "0.3", "--json")
    codes = np.searchsorted(["left", "stays", "waits"], votes)
    truth = np.searchsorted(["left", "stays", "waits"], y)
    start = ended.json["members"][0]
    expected = naive.comep(codes.tolist(), truth.tolist(), 4, 0.3, start)
    assert ended.json["members"] == expected


def test_the_small_model_is_a_plain_forest_of_the_chosen_trees(desk):
    ended = type_in(*PRUNE, "-k", "4", "--no-refit", "--json")
    whole, small = load("forest.skops"), load("forest-pruned.skops")
    X, _ = make_rows(50, 9)
    kept = [whole.estimators_[member] for member in ended.json["members"]]
    shares = np.mean([tree.predict_proba(X.to_numpy()) for tree in kept], axis=0)
    assert type(small) is type(whole)
    assert small.n_estimators == 4
    assert np.allclose(small.predict_proba(X), shares, atol=1e-12)
    assert ended.json["wrote"] == ["forest-pruned.skops", "forest-pruned.skops.json"]


def test_the_side_car_says_what_it_was_made_from(desk):
    type_in(*PRUNE, "-p", "comep", "-k", "4", "--test", "test.csv")
    how = json.loads((desk / "forest-pruned.skops.json").read_text())["provenance"]
    assert how["method"] == "COMEP"
    for name, file in (("model", "forest.skops"), ("data", "val.csv"), ("test", "test.csv")):
        digest = hashlib.sha256((desk / file).read_bytes()).hexdigest()
        assert how["inputs"][name] == {"file": file, "sha256": digest}


def test_test_rows_are_measured_as_scikit_learn_does(desk):
    ended = type_in(*PRUNE, "-k", "4", "--test", "test.csv", "--json")
    frame = pd.read_csv("test.csv")
    y = frame.pop(TARGET)
    figures = ended.json["figures"]
    for column, name in (("full", "forest.skops"), ("pruned", "forest-pruned.skops")):
        voted = load(name).predict(frame)
        assert figures["accuracy"][column] == accuracy_score(y, voted)
        assert figures["balanced accuracy"][column] == pytest.approx(
            balanced_accuracy_score(y, voted)
        )
    low, high = figures["accuracy"]["interval"]
    change = figures["accuracy"]["pruned"] - figures["accuracy"]["full"]
    assert low <= change <= high
    assert ended.json["measured_on"] == "test set (110 samples)"


@pytest.mark.parametrize("test", [(), ("--test", "test.csv")])
def test_sizes_are_those_of_the_files(desk, test):
    figures = type_in(*PRUNE, "-k", "4", *test, "--json").json["figures"]
    for column, name in (("full", "forest"), ("pruned", "forest-pruned")):
        type_in("export", f"{name}.skops", "-o", f"{name}.onnx", "--check", "val.csv", "-t", TARGET)
        for suffix in (".skops", ".onnx"):
            size = (desk / f"{name}{suffix}").stat().st_size / 1e6
            # skops writes a few bytes more or less, by where objects lie in memory
            assert figures[f"megabytes as {suffix}"][column] == pytest.approx(size, rel=0.1)
        size = len(pickle.dumps(load(f"{name}.skops"))) / 1e6
        assert figures["megabytes"][column] == pytest.approx(size, rel=0.01)
    assert list(figures)[-5:] == [
        "megabytes",
        "megabytes as .skops",
        "megabytes as .onnx",
        "ms for 1 row",
        "ms for 1000 rows",
    ]


def test_ensembles_too_large_to_be_converted_have_no_size_in_onnx(desk):
    X, y = make_rows(150, 0)
    save(RandomForestClassifier(101, max_depth=2, random_state=0).fit(X, y), "many.skops")
    words = ("prune", "many.skops", "val.csv", "-t", TARGET, "-k", "4")
    (line,) = [line for line in type_in(*words).out.splitlines() if ".onnx" in line]
    assert re.fullmatch(r"file \(\.onnx\) +0\.\d\d\d MB +\(full: too large or not possible\)", line)
    size = type_in(*words, "--force", "--json").json["figures"]["megabytes as .onnx"]
    assert size == {"full": None, "pruned": pytest.approx(float(line.split()[2]), abs=0.01)}


def test_without_test_rows_accuracy_is_cross_fitted(desk):
    """Said again: five parts by class, chosen on four, voted by probabilities on the fifth."""
    ended = type_in(*PRUNE, "-p", "comep", "-k", "4", "--json")
    forest = load("forest.skops")
    votes, y = votes_and_labels(forest)
    X = pd.read_csv("val.csv").drop(columns=TARGET).to_numpy()
    rng = np.random.RandomState(0)
    shuffled = rng.permutation(len(y)).tolist()
    by_class = sorted(shuffled, key=lambda row: y[row])
    part = {row: place % 5 for place, row in enumerate(by_class)}
    right = {"full": [], "pruned": []}
    for fold in range(5):
        rest = [row for row in range(len(y)) if part[row] != fold]
        held_out = [row for row in range(len(y)) if part[row] == fold]
        kept = COMEP(keep=4).fit(votes[rest], y[rest]).member_indices_
        for name, members in (("full", range(N_TREES)), ("pruned", kept)):
            trees = [forest.estimators_[member] for member in members]
            shares = sum(tree.predict_proba(X[held_out]) for tree in trees)
            voted = forest.classes_[shares.argmax(axis=1)]
            right[name] += (voted == y[held_out]).tolist()
    figures = ended.json["figures"]["accuracy, cross-validated"]
    assert figures["full"] == sum(right["full"]) / len(y)
    assert figures["pruned"] == sum(right["pruned"]) / len(y)
    changes = [int(a) - int(b) for a, b in zip(right["pruned"], right["full"])]
    half = 1.96 * np.std(changes) / np.sqrt(len(y))
    assert figures["interval"] == pytest.approx(
        [np.mean(changes) - half, np.mean(changes) + half], abs=1e-4
    )
    assert "cross-validated" in ended.json["measured_on"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_predictions_need_no_model(desk, suffix):
    votes, y = votes_and_labels(load("forest.skops"))
    target = () if suffix == "npz" else ("--target", "truth")
    words = ("--predictions", f"val-votes.{suffix}", *target, "-p", "comep", "-k", "5")
    ended = type_in("prune", *words, "--json")
    expected = COMEP(keep=5).fit(votes, y).member_indices_.tolist()
    assert ended.json["members"] == expected
    names = "member {}" if suffix == "npz" else "tree {}"
    assert ended.json["names"] == [names.format(member) for member in expected]
    assert ended.json["wrote"] == []


@pytest.mark.parametrize("kind", ["int8", "float", "bool", "bytes", "text"])
def test_arrays_of_any_kind_mean_the_same(desk, kind):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    votes = np.where(rng.random((80, 9)) < 0.7, y[:, None], 1 - y[:, None])
    kinds = {"bytes": np.array([b"a", b"b"]), "text": np.array(["a", "b"])}
    cast = kinds[kind].__getitem__ if kind in kinds else np.vectorize(np.dtype(kind).type)
    np.savez("votes.npz", votes=cast(votes), y=cast(y))
    ended = type_in("prune", "--predictions", "votes.npz", "-p", "comep", "-k", "3", "--json")
    assert ended.json["members"] == COMEP(keep=3).fit(votes, y).member_indices_.tolist()


def test_the_members_of_predictions_are_saved_as_a_blend(desk):
    words = ("prune", "--predictions", "val-votes.csv", "--target", "truth", "-k", "3")
    ended = type_in(*words, "-o", "kept.json", "--test", "test-votes.csv")
    assert ended.code == 0
    kept = json.loads((desk / "kept.json").read_text())
    chosen = kept["provenance"]["names"]
    assert f"kept, in the order of selection: {', '.join(chosen)}\n" in ended.out
    assert sorted(chosen) == sorted(kept["names"])
    assert kept["provenance"]["inputs"]["predictions"]["file"] == "val-votes.csv"
    assert kept["member_indices"] == sorted(kept["provenance"]["members"])
    assert load("kept.json").names == kept["names"]
    assert "next: " in ended.err
    assert " predict kept.json TEST -o FILE\n" in ended.err


def test_probabilities_are_voted_by_their_sum(desk):
    ended = type_in(
        *("prune", "--predictions", "val-shares.npz", "--test", "test-shares.npz", "-k", "4"),
        "--json",
    )
    arrays = np.load("test-shares.npz", allow_pickle=True)
    y = np.searchsorted(arrays["classes"].astype(str), arrays["y"].astype(str))
    for column, members in (("full", range(N_TREES)), ("pruned", ended.json["members"])):
        voted = arrays["probabilities"][:, list(members)].sum(axis=1).argmax(axis=1)
        assert ended.json["figures"]["accuracy"][column] == (voted == y).mean()


def test_labels_may_lie_in_a_file_of_their_own(desk):
    frame = pd.read_csv("val-votes.csv")
    frame[["truth"]].to_csv("labels.csv", index=False)
    frame.drop(columns="truth").to_csv("votes.csv", index=False)
    np.save("votes.npy", frame.drop(columns="truth").to_numpy(str))
    np.save("labels.npy", frame["truth"].to_numpy(str))
    whole = type_in(
        *("prune", "--predictions", "val-votes.csv", "--target", "truth", "-k", "5", "--json")
    ).json["members"]
    for votes in ("votes.csv", "votes.npy"):
        for labels in ("labels.csv", "labels.npy"):
            apart = ("--predictions", votes, "--labels", labels)
            assert type_in("prune", *apart, "-k", "5", "--json").json["members"] == whole


@pytest.mark.parametrize("labels", [["0", "1"], ["1.0", "2"], ["True", "False"], ["no", "yes"]])
def test_labels_of_any_kind_mean_the_same(desk, labels):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    votes = np.where(rng.random((80, 9)) < 0.7, y[:, None], 1 - y[:, None])
    names = [f"m{member}" for member in range(9)]
    table = pd.DataFrame(np.array(labels)[votes], columns=names)
    table.assign(y=np.array(labels)[y]).to_csv("votes.csv", index=False)
    ended = type_in("prune", "--predictions", "votes.csv", "-t", "y", "-k", "3", "--json")
    flipped = labels[0] > labels[1]  # classes are sorted
    expected = COMEP(keep=3).fit(votes ^ flipped, y ^ flipped).member_indices_.tolist()
    assert ended.json["members"] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-p", "kp"), lambda: KappaPruner(keep=4)),
        (("-p", "KP"), lambda: KappaPruner(keep=4)),
        (("-p", "domep"), lambda: DOMEP(keep=4, random_state=0)),
        (("--n-groups", "2"), lambda: DOMEP(keep=4, n_groups=2, random_state=0)),
        (
            ("-p", "kp", "--n-groups", "2", "--random-state", "3"),
            lambda: EPFD(KappaPruner(keep=4), n_groups=2, random_state=3),
        ),
    ],
)
def test_methods_and_groups(desk, words, expected):
    votes, y = votes_and_labels(load("forest.skops"))
    ended = type_in(*VOTES, "-k", "4", *words, "--json")
    assert ended.json["members"] == expected().fit(votes, y).member_indices_.tolist()


def test_a_fraction_and_a_percentage_say_the_same(desk):
    members = [
        type_in(*VOTES, "-k", keep, "--json").json["members"] for keep in ("3", "0.25", "25%")
    ]
    assert members[0] == members[1] == members[2]
    assert len(members[0]) == 3


def test_a_budget_in_place_of_a_number(desk):
    ended = type_in(*PRUNE, "--max-bytes", "30kB", "--no-branches", "--json")
    whole = load("forest.skops")
    n_kept = len(ended.json["members"])
    small = load("forest-pruned.skops")
    assert len(pickle.dumps(small)) <= 30_000 < len(pickle.dumps(whole))
    assert 1 <= n_kept < N_TREES


@pytest.mark.parametrize("form", ["names", "numbers", "column"])
def test_members_by_what_they_cost(desk, form):
    cost = [1 + member % 4 for member in range(N_TREES)]
    text = "\n".join(map(str, cost))
    if form == "names":
        lines = [f"member {member},{cost[member]}" for member in reversed(range(N_TREES))]
        text = "\n".join(["name,cost", *lines])
    elif form == "column":
        text = f"cost\n{text}\n"
    (desk / "costs.csv").write_text(text, "utf-8")
    ended = type_in(*PRUNE, "--cost", "costs.csv", "--max-cost", "7", "--json")
    members = ended.json["members"]
    assert sum(cost[member] for member in members) == ended.json["budget"]["total_cost"] <= 7
    assert ended.json["budget"]["cost"] == cost
    written = json.loads((desk / "forest-pruned.skops.json").read_text("utf-8"))
    assert written["provenance"]["budget"]["max_cost"] == 7
    told = type_in(*PRUNE, "--cost", "costs.csv", "--max-cost", "7", "--force").err
    assert re.search(
        r"^kept \d members and refitted them: total cost \d of at most 7, ", told, re.M
    )
    assert "method: " not in told  # no method has a part in it


def test_without_a_total_the_cheapest_members_within_the_tolerance_are_kept(desk):
    (desk / "costs.txt").write_text("1\n0.5\n" * (N_TREES // 2), "utf-8")
    words = (*VOTES, "--cost", "costs.txt", "--tolerance", "0.2", "-o", "kept.json", "--json")
    made = type_in(*words, "--run", "run.json").json
    total = made["budget"]["total_cost"]
    assert made["budget"]["max_cost"] is None
    assert made["figures"]["cost"] == {"full": 0.75 * N_TREES, "pruned": total}
    shell = json.loads((desk / "run.json").read_text("utf-8"))["reproduce"]["shell"]
    assert shell.endswith(f"--cost costs.txt --max-cost {total:g}")


def test_exchangeable_members_have_a_number_and_its_expected_accuracy(desk):
    made = type_in(*VOTES, "--exchangeable", "--tolerance", "0.1", "-o", "kept.json", "--json").json
    assert made["members"] == list(range(len(made["members"])))
    assert "an expected accuracy of" in made["size_reason"]


def test_the_rule_that_decided_the_default_size_is_printed(desk):
    ended = type_in(*PRUNE, "--json")
    assert ended.code == 0
    assert "of the full ensemble" in ended.json["size_reason"]
    text = type_in(*PRUNE, "--force").err
    assert f"kept {len(ended.json['members'])} members: {ended.json['size_reason']}" in text


def test_out_of_bag_votes_choose_on_the_training_rows(desk):
    X, y = make_rows(150, 0)
    X.assign(**{TARGET: y}).to_csv("train.csv", index=False)
    plain = ("prune", "forest.skops", "train.csv", "-t", TARGET, "-p", "comep", "-k", "4")
    ended = type_in(*plain)
    assert "warning: The validation set looks like the training set of the ensemble" in ended.err
    assert "pass held-out samples, or --oob" in ended.err.lower()
    ended = type_in(*plain, "--oob", "--json", "--force")
    assert ended.json["warnings"] == []
    votes = collect_votes(load("forest.skops"), X, oob=True)
    expected = COMEP(keep=4).fit(votes, y).member_indices_.tolist()
    assert ended.json["members"] == expected
    ended = type_in(*plain, "--oob", "--missing", "wrong", "--json", "--force")
    encoded = Votes.encode(votes, y, missing="wrong")
    assert ended.json["members"] == COMEP(keep=4).fit(encoded).member_indices_.tolist()
    assert type_in(*plain, "--missing", "skip").code == 2


def test_older_names_of_options_mean_the_same(desk):
    old = ("-m", "comep", "--lambda", "0.3", "--n-groups", "2", "--seed", "3", "--jobs", "1")
    new = (
        *("--pruner", "comep", "--diversity-weight", "0.3", "--n-groups", "2"),
        *("--random-state", "3", "--n-jobs", "1"),
    )
    found = [type_in(*VOTES, "-k", "4", *words, "--json").json for words in (old, new)]
    assert found[0] == found[1]
    assert "lambda" not in type_in("prune", "--help").out
    assert "--max-bytes 10" in type_in(*PRUNE, "--max-size", "10B").err


def test_the_same_command_gives_the_same_members(desk):
    runs = [type_in(*VOTES, "-p", "sep", "-k", "5", "--json").json for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_dry_run_writes_nothing(desk):
    before = tree_of(desk)
    ended = type_in(*PRUNE, "-k", "4", "--dry-run", "--json")
    assert ended.json == {
        "dry_run": True,
        "would_write": ["forest-pruned.skops", "forest-pruned.skops.json"],
        "warnings": [],
    }
    assert tree_of(desk) == before


def test_results_go_to_stdout_and_all_else_to_stderr(desk):
    ended = type_in(*PRUNE, "-k", "4", "--test", "test.csv")
    lines = ended.out.splitlines()
    assert lines[0].split() == ["full", "pruned", "change"]
    assert lines[1].split() == ["members", "12", "4", "−67", "%"]
    assert "12 members · 120 validation samples · 110 test samples" in ended.err
    assert "wrote forest-pruned.skops, forest-pruned.skops.json" in ended.err
    quiet = type_in(*PRUNE, "-k", "4", "--test", "test.csv", "--force", "-q")
    assert quiet.err == ""
    assert [line.split() for line in quiet.out.splitlines()[:2]] == [
        line.split() for line in lines[:2]
    ]


def test_the_next_command_works_as_printed(desk):
    ended = type_in(*PRUNE, "-k", "4", "--test", "test.csv")
    line = next(line for line in ended.err.splitlines() if line.startswith("next: "))
    words = shlex.split(line)
    assert type_in(*words[words.index("export") :]).code == 0
    assert (desk / "forest-pruned.onnx").is_file()


def test_a_pipeline_takes_text(desk):
    X, y = make_rows(150, 0)
    X = X.assign(town=np.where(X["age"] > 0, "Ulm", "Bonn"))
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(9, random_state=0)).fit(X, y)
    save(model, "towns.skops")
    X.assign(**{TARGET: y})[::2].to_csv("towns.csv", index=False)
    ended = type_in("prune", "towns.skops", "towns.csv", "-t", TARGET, "-k", "3")
    assert ended.code == 0, ended.err
    small = load("towns-pruned.skops")
    assert len(small[-1].estimators_) == 3


def test_refitted_trees_are_written_and_measured(desk):
    given = (*PRUNE, "-k", "3", "--test", "test.csv", "--json", "--force")
    plain, refitted = (
        type_in(*given, *more).json["figures"] for more in (("--no-refit",), ("--refit",))
    )
    assert refitted["log loss"]["full"] == plain["log loss"]["full"]
    assert refitted["log loss"]["pruned"] != plain["log loss"]["pruned"]
    frame = pd.read_csv("test.csv")
    y, small = frame.pop(TARGET), load("forest-pruned.skops")
    expected = log_loss(y, small.predict_proba(frame))
    assert np.isclose(refitted["log loss"]["pruned"], expected)


@pytest.mark.parametrize(
    "given", [("-m", "caruana"), ("--weights",), ("-m", "caruana", "--no-weights")]
)
def test_weights_are_written_and_measured(desk, given):
    given = ("--scoring", "neg_log_loss", "--report", "page.html", *given)
    ended = type_in(*PRUNE, "-k", "3", "--test", "test.csv", "--json", "--force", *given)
    frame = pd.read_csv("test.csv")
    y, small = frame.pop(TARGET), load("forest-pruned.skops")
    assert np.isclose(
        ended.json["figures"]["log loss"]["pruned"], log_loss(y, small.predict_proba(frame))
    )
    weights, forest = ended.json["weights"], load("forest.skops")
    assert (weights is None) == ("--no-weights" in given)
    sidecar = json.loads(Path("forest-pruned.skops.json").read_text())
    assert sidecar["provenance"]["weights"] == weights
    shares = [forest.estimators_[m].predict_proba(frame.to_numpy()) for m in ended.json["members"]]
    expected = np.average(shares, axis=0, weights=weights)
    np.testing.assert_allclose(small.predict_proba(frame), expected)
    assert (">weight<" in Path("page.html").read_text()) == (weights is not None)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_the_score_asked_for_is_measured(desk, scoring):
    ended = type_in(*PRUNE, "-k", "4", "--scoring", scoring, "--test", "test.csv", "--json")
    frame = pd.read_csv("test.csv")
    y, small = frame.pop(TARGET), load("forest-pruned.skops")
    expected = get_scorer(scoring)(small, frame, y)
    label = {"balanced_accuracy": "balanced accuracy", "neg_log_loss": "log loss"}
    found = ended.json["figures"][label.get(scoring, "ROC AUC one-vs-rest")]["pruned"]
    assert np.isclose(found, abs(expected))


def test_a_tolerance_is_of_the_score_asked_for(desk):
    kept = {}
    for scoring in ("accuracy", "neg_log_loss"):
        ended = type_in(*PRUNE, "--tolerance", "0.03", "--scoring", scoring, "--force")
        label = scoring.removeprefix("neg_").replace("_", " ")
        assert f"within 0.03 of the best size's {label}" in ended.err
        kept[scoring] = ended.err
    assert kept["accuracy"] != kept["neg_log_loss"]
    assert "neg_log_loss" in type_in("compare", *PRUNE[1:], "--scoring", "neg_log_loss").out


def test_scores_that_cannot_be_asked_for_are_refused_in_one_line(desk):
    for scoring, told in (
        ("acuracy", "error: --scoring acuracy is unknown. Did you mean 'accuracy'"),
        ("r2", "error: --scoring r2 is a regression score"),
    ):
        ended = type_in(*PRUNE, "-k", "4", "--scoring", scoring)
        assert ended.code == 3
        assert ended.err.splitlines()[-1].startswith(told)


def test_branches_unlabelled_samples_and_slim_files(desk):
    given = (*PRUNE, "--max-nodes", "60", "--unlabelled", "test.csv", "--slim", "--json", "--force")
    ended = type_in(*given)
    small = load("forest-pruned.skops")
    assert sum(tree.tree_.node_count for tree in small.estimators_) <= 60
    assert len(small.estimators_) == len(ended.json["members"])
    assert not any(tree.tree_.impurity.any() for tree in small.estimators_)
    assert json.loads(Path("forest-pruned.skops.json").read_text())["slim"] is True
    text = type_in(*given[: given.index("--slim")], "--force").err
    n_nodes = sum(tree.tree_.node_count for tree in small.estimators_)
    assert f"branches to {n_nodes} nodes, and refitted the leaves\n" in text


def test_all_members_can_be_kept_and_corrected(desk):
    ended = type_in(*PRUNE, "-k", "1.0", "--refit", "--json")
    assert len(ended.json["members"]) == N_TREES


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--branches", "-k", "3"), "--branches needs a budget"),
        (("--max-nodes", "9", "-k", "3"), "--keep and --max-nodes exclude each other"),
        (("--no-refit", "--unlabelled", "test.csv", "-k", "3"), "--unlabelled is for refitting"),
    ],
)
def test_options_of_refitting_that_exclude_each_other(desk, given, told):
    ended = type_in(*PRUNE, *given)
    assert ended.code == 2
    assert told in ended.err


def test_slim_files_are_converted(desk):
    ended = type_in("convert", "forest.skops", "small.skops", "--slim", "--json")
    assert ended.json["bytes_after"] < ended.json["bytes_before"]
    X, _ = make_rows(50, 9)
    whole, small = load("forest.skops"), load("small.skops")
    assert np.array_equal(whole.predict_proba(X), small.predict_proba(X))
