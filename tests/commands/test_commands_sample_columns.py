"""Columns about samples: weights, groups, times and subgroups."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import FEATURES, TARGET, refused, type_in
from sklearn.model_selection import TimeSeriesSplit

from secateurs import load, prune

PRUNE = ("prune", "forest.skops", "weighted.csv", "--target", TARGET, "--sample-weight", "w")
PREDICTED = ("prune", "--predictions", "votes.csv", "-t", "truth", "--sample-weight", "w")
KEPT = ("-p", "best", "-k", "3", "--json")


@pytest.fixture
def weighted(desk):
    """The rows to choose on and to test on, with weights."""
    frames = {}
    for name, new in (("val.csv", "weighted.csv"), ("test.csv", "weighted-test.csv")):
        frame = pd.read_csv(desk / name)
        frame["w"] = 1.0 + 4.0 * (np.arange(len(frame)) % 3 == 0)
        frame.to_csv(new, index=False)
        frames[new] = frame
    return frames


def test_figures_have_the_weights_and_the_method_says_that_it_does_not_look_at_them(weighted):
    ended = type_in(*PRUNE, *KEPT, "--test", "weighted-test.csv", "--report", "page.html")
    assert ended.code == 0, ended.err
    test = weighted["weighted-test.csv"]
    small = load("forest-pruned.skops")
    expected = small.score(test[FEATURES], test[TARGET], test["w"])
    assert ended.json["figures"]["accuracy"]["pruned"] == pytest.approx(expected)
    assert "but not in the selection by best" in ended.json["measured_on"]
    plain = small.score(test[FEATURES], test[TARGET])
    assert plain != pytest.approx(expected)
    page = Path("page.html").read_text("utf-8")
    assert "--sample-weight w" in page
    assert f"{expected:.3f}" in page


def test_predictions_have_weights_in_a_column_or_an_array(desk):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    votes = np.where(rng.random((60, 5)) < 0.8, y[:, None], 1 - y[:, None])
    weights = np.where(y == 1, 5.0, 1.0)
    frame = pd.DataFrame(votes, columns=list("abcde")).assign(truth=y, w=weights)
    frame.to_csv("votes.csv", index=False)
    np.savez("votes.npz", votes=votes, y=y, names=list("abcde"), w=weights)
    found = type_in(*PREDICTED, *KEPT).json
    others = type_in("prune", "--predictions", "votes.npz", "--sample-weight", "w", *KEPT).json
    assert found["figures"] == others["figures"]
    assert found["names"] == others["names"]
    none = ("prune", "--predictions", "votes.csv", "-t", "truth", "--ignore", "w", *KEPT)
    assert type_in(*none).json["figures"] != found["figures"]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("-1", "weighted.csv, column 'w', row 3: '-1' is not a valid weight. Pass numbers of 0"),
        ("much", "row 3: 'much' is not a valid weight"),
        ("inf", "row 3: 'inf' is not a valid weight"),
        ("", "row 3 is empty"),
    ],
)
def test_senseless_weights_are_refused(weighted, cell, told):
    frame = weighted["weighted.csv"].astype({"w": object})
    frame.loc[2, "w"] = cell
    frame.to_csv("weighted.csv", index=False)
    ended = type_in(*PRUNE, *KEPT[:-1])
    assert ended.code == 3
    assert told in ended.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--sample-weight", "weight"), 3, "has no column 'weight'"),
        (("--sample-weight", TARGET), 2, "holds weights: it cannot be the target or ignored"),
        (("--test", "test.csv"), 3, "test.csv has no column 'w'"),
    ],
)
def test_columns_that_are_no_weights_are_refused(weighted, words, code, told):
    ended = type_in(*PRUNE, *words, *KEPT[:-1])
    assert ended.code == code
    assert len([line for line in ended.err.splitlines() if told in line]) == 1
    assert "Traceback" not in ended.err


FOLDED = ("prune", "forest.skops", "folded.csv", "--target", TARGET, "-p", "joint", "--json")
COLUMNS = ["patient", "day", "side"]


@pytest.fixture
def folded(desk):
    """The validation and test samples with groups, dates and subgroups, in random order of time."""
    frames = {}
    for name, new in (("val.csv", "folded.csv"), ("test.csv", "folded-test.csv")):
        frame = pd.read_csv(desk / name)
        rng = np.random.default_rng(0)
        frame["patient"] = [f"p{index // 3}" for index in range(len(frame))]
        days = pd.date_range("2024-01-01", periods=len(frame)).strftime("%Y-%m-%d")
        frame["day"] = rng.permutation(days)
        frame["side"] = np.where(frame["age"] > 0.3, "old", "young")
        frame.to_csv(new, index=False)
        frames[new] = frame
    return frames


def ignoring(*used):
    return [word for name in COLUMNS if name not in used for word in ("--ignore", name)]


@pytest.mark.filterwarnings("ignore:120 samples are too few")
def test_groups_time_and_folds_are_those_of_python(folded):
    frame, model = folded["folded.csv"], load("forest.skops")
    given = model, frame[FEATURES], frame[TARGET], "joint"
    options = {"tolerance": 0.02, "random_state": 0}
    order = np.argsort(pd.to_datetime(frame["day"]).to_numpy())
    in_time = [(order[a], order[b]) for a, b in TimeSeriesSplit(3).split(order)]
    for words, used, parameters in (
        (["--groups", "patient"], "patient", {"groups": frame["patient"]}),
        (["--time", "day", "--cv", "3"], "day", {"cv": in_time}),
        (["--cv", "7"], None, {"cv": 7}),
    ):
        ended = type_in(*FOLDED, "--tolerance", "2%", "--force", *words, *ignoring(used))
        assert ended.code == 0, ended.err
        expected = prune(*given, **options, **parameters)
        assert ended.json["members"] == expected.member_indices.tolist()
        table = expected.summary(X=frame[FEATURES])
        figures = ended.json["figures"]["accuracy, cross-validated"]
        assert figures["pruned"] == pytest.approx(table.loc["accuracy", "after"])
        assert ended.json["baselines"] == pytest.approx(table.attrs["baselines"])


def test_several_scores_tolerances_and_subgroups(folded):
    words = ["--scoring", "balanced_accuracy", "--scoring", "accuracy", "--test", "folded-test.csv"]
    words += ["--tolerance", "accuracy=0.05", "--tolerance", "balanced_accuracy=5%"]
    words += ["--sensitive-features", "side", "--max-group-loss", "0.5", "--report", "page.html"]
    ended = type_in(*FOLDED, *words, *ignoring("side"))
    assert ended.code == 0, ended.err
    figures, test = ended.json["figures"], folded["folded-test.csv"]
    old = test[test["side"] == "old"]
    expected = load("forest-pruned.skops").score(old[FEATURES], old[TARGET])
    assert figures["accuracy, old"]["pruned"] == pytest.approx(expected)
    assert {
        "balanced accuracy",
        "balanced accuracy, worst subgroup",
        "accuracy, largest gap",
    } <= set(figures)
    assert ended.json["decided_by"] in {
        "accuracy",
        "balanced_accuracy",
        "subgroup old",
        "subgroup young",
    }
    page = Path("page.html").read_text("utf-8")
    assert "accuracy, worst subgroup" in page
    assert "majority class" in page


def test_empty_cells_of_a_sensitive_feature_are_a_subgroup(folded):
    for name, frame in folded.items():
        frame.replace({"side": {"old": None}}).to_csv(name, index=False)
    words = ["--sensitive-features", "side", "--test", "folded-test.csv"]
    ended = type_in(*FOLDED, *words, *ignoring("side"))
    test = folded["folded-test.csv"]
    old = test[test["side"] == "old"]
    expected = load("forest-pruned.skops").score(old[FEATURES], old[TARGET])
    assert ended.json["figures"]["accuracy, missing"]["pruned"] == pytest.approx(expected)


def test_a_comparison_prints_all_scores_and_the_majority_class(folded):
    words = ["compare", "forest.skops", "folded.csv", "-t", TARGET, "-p", "joint", "-k", "4"]
    words += ["--scoring", "f1_macro", "--scoring", "accuracy", "--sensitive-features", "side"]
    ended = type_in(*words, *ignoring("side"))
    assert ended.code == 0, ended.err
    head, *lines = ended.out.splitlines()
    assert head.split()[-4:] == ["worst", "subgroup", "largest", "gap"]
    assert any("majority class" in line for line in lines)


@pytest.mark.parametrize(
    ("code", "words", "message"),
    [
        (2, ["--groups", "patient", "--time", "day"], "--groups and --time exclude each other"),
        (2, ["--groups", TARGET], "is the target: --groups needs another"),
        (2, ["--tolerance", "1%", "--tolerance", "accuracy=1%"], "NAME=LOSS for every score"),
        (2, ["--cv", "1"], "--cv"),
        (3, ["--groups", "nowhere"], "nowhere"),
        (3, ["--time", "side"], "is neither a number nor a date"),
        (2, ["--max-group-loss", "1%"], "--sensitive-features"),
        (2, ["--relative-to", "first"], "--relative-to"),
    ],
)
def test_bad_columns_and_folds_give_one_line(folded, code, words, message):
    assert message in refused(code, *FOLDED[:-1], *words, *ignoring(*words))
