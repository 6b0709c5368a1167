"""Files of predictions: arrays that could do harm, and labels that must stay apart."""

import os
import re
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import refused, type_in
from sklearn.ensemble import RandomForestClassifier

from secateurs import COMEP, collect_votes, save


def votes_of(shape, labels=2):
    return np.random.default_rng(0).integers(labels, size=shape)


@pytest.mark.parametrize("labels", [False, True])
def test_arrays_that_unpack_to_more_than_allowed_are_refused_unread(desk, labels):
    np.savez_compressed("bomb.npz", votes=np.zeros((40, 50_000)), y=votes_of(40))
    assert os.stat("bomb.npz").st_size < 100_000
    words = ("bomb.npz",) if not labels else ("val-votes.npz", "--labels", "bomb.npz")
    words = ("prune", "--predictions", *words, "-k", "2", "--max-unpacked", "10MB")
    tracemalloc.start()
    line = refused(4, *words)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert re.search(r"bomb.npz unpacks to 160\d+ bytes, more than --max-unpacked 10000000", line)


@pytest.mark.parametrize("claim", ["(9999999999, 3)", "(8, 3)", "(9, 3, 0)", "(10, 3)"])
@pytest.mark.parametrize("packed", [False, True])
def test_arrays_that_claim_another_size_than_they_have_are_refused(desk, claim, packed):
    np.save("bad.npy", votes_of((9, 3)))
    content = Path("bad.npy").read_bytes()
    at = content.index(b"(9, 3), }")
    lie = claim.encode() + b", }"
    content = content[:at] + lie + content[at + len(lie) :]
    Path("bad.npy").write_bytes(content)
    words = ("bad.npy", "--labels", "val.csv", "--target", "truth")
    if packed:
        with zipfile.ZipFile("bad.npz", "w") as archive:
            archive.writestr("votes.npy", content)
        words = ("bad.npz",)
    line = refused(3, "prune", "--predictions", *words, "-k", "2")
    assert f"{words[0]} has an array of shape {claim} and dtype int64 in 216 bytes" in line


@pytest.mark.parametrize("dtype", ["<U0", "|S0", "|V0"])
def test_arrays_of_endless_nothing_are_refused(desk, dtype):
    with open("bad.npy", "wb") as handle:
        header = {"descr": dtype, "fortran_order": False, "shape": (10**12, 3)}
        np.lib.format.write_array_header_1_0(handle, header)
    assert "in 0 bytes" in refused(3, "prune", "--predictions", "bad.npy", "-k", "2")


def test_an_archive_of_something_else_is_refused(desk):
    with zipfile.ZipFile("bad.npz", "w") as archive:
        archive.writestr("votes.npy", "no array at all")
    assert "bad.npz cannot be read" in refused(3, "prune", "--predictions", "bad.npz", "-k", "2")


BEYOND = 2**53 + np.arange(3)


def chosen(votes, y, *words):
    """Members that `prune` chooses by a table of predictions as CSV."""
    names = [f"m{member}" for member in range(votes.shape[1])]
    pd.DataFrame(votes, columns=names).assign(truth=y).to_csv("votes.csv", index=False)
    ended = type_in(
        *(
            "prune",
            "--predictions",
            "votes.csv",
            "--target",
            "truth",
            "-p",
            "comep",
            "-k",
            "4",
            "--json",
        ),
        *words,
    )
    assert ended.code == 0, ended.err
    return ended.json["members"]


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "01", "2"],
        ["1", "+1", "2"],
        ["1", "1e0", "2"],
        [f"{label}" for label in BEYOND],
        [f"{2**64 + place}" for place in range(3)],
        ["-1", "18446744073709551615", "18446744073709551614"],
        ["1.5e300", "0.5", "left"],
    ],
)
def test_labels_that_are_written_differently_are_different(desk, labels):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    votes = np.where(rng.random((120, 12)) < 0.6, y[:, None], rng.integers(3, size=(120, 12)))
    expected = COMEP(keep=4).fit(votes, y).member_indices_.tolist()
    coded = np.array(labels, dtype=object)
    assert chosen(coded[votes], coded[y]) == expected


def test_numbers_are_one_label_however_columns_hold_them(desk):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    votes = np.where(rng.random((120, 12)) < 0.6, y[:, None], rng.integers(3, size=(120, 12)))
    mixed = np.where(np.arange(12) % 2, votes.astype(str), votes.astype(float).astype(str))
    expected = COMEP(keep=4).fit(votes, y).member_indices_.tolist()
    assert chosen(mixed, y) == expected


def test_fractions_are_no_labels_however_they_are_written(desk):
    pd.DataFrame({"a": ["0.70", "0.20"], "b": ["0.10", "1"], "y": ["x", "z"]}).to_csv(
        "t.csv", index=False
    )
    line = refused(3, "prune", "--predictions", "t.csv", "-t", "y")
    assert "t.csv: Predictions have one probability per sample and member. Of which class?" in line
    assert "Pass --positive: 'x' or 'z'" in line


def test_classes_of_a_model_beyond_two_to_the_53_stay_apart(desk):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 3)) + np.eye(3)[y]
    forest = RandomForestClassifier(12, random_state=0).fit(X[:150], BEYOND[y[:150]])
    save(forest, "beyond.skops")
    expected = COMEP(keep=4).fit(collect_votes(forest, X[150:]), BEYOND[y[150:]])
    for cast in (str, "{}.0".format):
        rows = pd.DataFrame(X[150:], columns=list("abc"))
        rows["y"] = [cast(label) for label in BEYOND[y[150:]]]
        rows.to_csv("rows.csv", index=False)
        words = ("prune", "beyond.skops", "rows.csv", "-t", "y", "-k", "4", "--json", "--force")
        words += ("-p", "comep")
        assert type_in(*words).json["members"] == expected.member_indices_.tolist()


def make_shares(folder, order=(0, 1, 2)):
    """Probabilities of three classes by seven members, in the order of classes given."""
    rng = np.random.default_rng(0)
    for name in ("val", "test"):
        y = rng.integers(3, size=90)
        values = rng.dirichlet(np.ones(3), size=(90, 7)) + 0.5 * np.eye(3)[y][:, None]
        values /= values.sum(axis=2, keepdims=True)
        labels = np.array(["ant", "bee", "cat"])
        np.savez(
            folder / f"{name}.npz",
            probabilities=values[:, :, list(order)],
            y=labels[y],
            classes=labels[list(order)],
            names=[f"model {member}" for member in range(7)],
        )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_names_and_classes_of_probabilities_are_kept(desk, order):
    make_shares(desk)
    words = ("prune", "--predictions", "val.npz", "--test", "test.npz", "-k", "3", "--json")
    expected = type_in(*words).json
    make_shares(desk, order)
    found = type_in(*words, "--run", "run.json").json
    assert found["names"] == [f"model {member}" for member in found["members"]]
    for key in ("members", "figures"):
        assert found[key] == expected[key]
    assert '"ant"' in (desk / "run.json").read_text()


def test_probabilities_of_other_classes_are_not_tested_on(desk):
    make_shares(desk)
    arrays = dict(np.load("test.npz"))
    np.savez("test.npz", **arrays | {"classes": ["ant", "bee", "elk"], "y": ["ant", "bee"] * 45})
    words = ("prune", "--predictions", "val.npz", "--test", "test.npz", "-k", "3")
    line = refused(3, *words)
    assert "test.npz: The test table has probabilities of ant, bee, elk, but the valid" in line


def test_probabilities_with_members_first_are_told_how_to_turn(desk):
    make_shares(desk)
    arrays = dict(np.load("val.npz"))
    np.savez("val.npz", **arrays | {"probabilities": arrays["probabilities"].swapaxes(0, 1)})
    line = refused(3, "prune", "--predictions", "val.npz", "-k", "3")
    assert "looks transposed. Pass one row per sample" in line
    assert "probabilities.swapaxes(0, 1)" in line
