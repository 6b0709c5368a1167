"""``--sample-weight``: weights of rows from a column, or an array beside predictions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import FEATURES, TARGET, type_in

from secateurs import load

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
