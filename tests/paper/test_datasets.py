"""Data sets: the registry, reading, two classes of several, definitions, and foreign copies."""

import gzip
import hashlib
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateurs.exceptions import InputError
from secateurs.paper import datasets
from secateurs.paper._data_sources import conform_to_registry, encode_features
from secateurs.paper._generated_data import ringnorm, waveform, waveform_noise
from secateurs.paper.datasets import (
    DATASETS,
    binarise,
    data_folder,
    fetch,
    find,
    load,
    status,
    verify,
)

# The labels that become class 0, and the rows of both classes.
ZERO = {
    "landsat": ("12", 2236, 4199),
    "page": ("1", 4913, 560),
    "shuttle": ("1", 45586, 12414),
    "ecoli": (["cp"], 143, 193),
    "yeast": (["CYT", "ERL", "EXC", "ME1", "ME2"], 598, 886),
    "sensor_readings_24": (["Move-Forward"], 2205, 3251),
    "segmentation_data": (["BRICKFACE", "CEMENT", "FOLIAGE"], 90, 120),
    "segmentation_test": (["BRICKFACE", "CEMENT", "FOLIAGE"], 900, 1200),
    "waveform": ("0", 1657, 3343),
    "waveform_noise": ("0", 1692, 3308),
}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)


def write(folder, name, text):
    path = folder / f"{name}.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def labels_of(name):
    return np.repeat(*zip(*DATASETS[name].class_counts.items()))


def test_the_registry_has_the_29_sets_of_the_paper():
    paper = [d for d in DATASETS.values() if d.role in ("paper", "authors' code")]
    assert Counter(d.task for d in paper) == {"binary": 17, "multiclass": 12}
    assert len({d.paper_name for d in paper} - {""}) == 20


def test_what_the_registry_says_of_a_set_fits_together():
    for dataset in DATASETS.values():
        if dataset.name == "ames":
            continue
        assert sum(dataset.class_counts.values()) == dataset.n_rows
        assert (len(dataset.class_counts) == 2) == (dataset.task == "binary")
        assert dataset.sha256 is None or len(dataset.sha256) == 64
        assert (dataset.sha256 is None) == (dataset.role == "stand-in")


@pytest.mark.parametrize("name", ZERO)
def test_several_classes_become_two_as_in_the_authors_program(name):
    zero, n_zero, n_one = ZERO[name]
    labels = labels_of(name)
    two = binarise(labels)
    assert set(labels[two == "0"]) == set(zero)
    assert Counter(two.tolist()) == {"0": n_zero, "1": n_one}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("aabb", "0011"),  # a reaches half, not more: b is the class
        ("aab", "001"),  # a is more than half, but the class is at least the second
        ("abb", "011"),
        ("bbaaac", "110001"),  # order of labels, not of rows; a reaches half, b more
        ("abcd", "0011"),
        ("abccccd", "0011111"),
    ],
)
def test_the_first_class_over_half_begins_the_second(labels, expected):
    assert "".join(binarise(list(labels))) == expected


@given(st.lists(st.sampled_from(["10", "9", "b", "B", "ä"]), min_size=2, max_size=40))
def test_two_classes_by_counting_one_class_after_another(labels):
    names = sorted(set(labels))
    if len(names) == 1:
        with pytest.raises(InputError, match="1 class"):
            binarise(labels)
        return
    n_reached, first = 0, None
    for place, name in enumerate(names):
        n_reached += labels.count(name)
        if first is None and n_reached > len(labels) / 2:
            first = max(place, 1)
    expected = [str(int(names.index(label) >= first)) for label in labels]
    assert binarise(labels).tolist() == expected


def test_words_are_counted_from_one_and_missing_cells_are_zero():
    frame = pd.DataFrame({"n": [2.5, None, -1], "w": ["b", "a", None], "i": [3, 4, 5]})
    assert encode_features(frame).tolist() == [[2.5, 2, 3], [0, 1, 4], [-1, 0, 5]]


def test_a_file_is_read_as_it_stands(tmp_path):
    write(tmp_path, "iono", "a,b,c,target\n0.1,NA,,01\n,None,7,x\n3,NA,8,01\n")
    data = load("iono", tmp_path)
    assert data.y.tolist() == ["01", "x", "01"]
    assert data.X.tolist() == [[0.1, 1, 0], [0, 2, 7], [3, 1, 8]]
    assert data.feature_names == ["a", "b", "c"]
    assert data.source.startswith("folder, another file (SHA-256 ")


def test_values_keep_all_their_digits(tmp_path):
    value = 0.1 + 0.2
    write(tmp_path, "iono", f"a,target\n{value!r},x\n1e-320,y\n")
    assert load("iono", tmp_path).X.ravel().tolist() == [value, 1e-320]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "has no last column 'target'"),
        ("target,a\n1,2\n", "has no last column 'target'"),
        ("a,target\n1,x\n2,\n", "rows without a label"),
        ("", "cannot be read"),
    ],
)
def test_a_file_of_another_form_is_refused_by_name(tmp_path, text, message):
    write(tmp_path, "iono", text)
    with pytest.raises(InputError, match=message) as caught:
        load("iono", tmp_path)
    assert "iono.csv.gz" in str(caught.value)


def test_a_damaged_file_is_refused(tmp_path):
    path = write(tmp_path, "iono", "a,target\n1,x\n" * 50)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"iono\.csv\.gz cannot be read"):
        load("iono", tmp_path)


def test_a_folder_comes_before_a_definition_and_the_one_given_before_the_environment(
    tmp_path, monkeypatch
):
    given_folder, named = tmp_path / "given", tmp_path / "named"
    for folder, value in ((given_folder, 1), (named, 2)):
        folder.mkdir()
        write(folder, "ringnorm", f"a,target\n{value},x\n{value},y\n")
    monkeypatch.setenv("SECATEURS_DATA", str(named))
    assert load("ringnorm").X[0, 0] == 2
    assert load("ringnorm", given_folder).X[0, 0] == 1
    assert data_folder() == named
    monkeypatch.delenv("SECATEURS_DATA")
    assert load("ringnorm").source == "generated"


def test_a_folder_may_hold_sets_of_which_no_checksum_is_known(tmp_path):
    write(tmp_path, "iris", "a,target\n1,x\n2,y\n3,z\n")
    assert load("iris", tmp_path).source == "folder"


def test_two_classes_stay_as_they_are(tmp_path):
    write(tmp_path, "iono", "a,target\n1,g\n2,b\n3,g\n")
    assert load("iono", tmp_path, "binary").y.tolist() == ["g", "b", "g"]


def test_several_classes_are_made_two_on_request():
    data = load("wine", reading="binary")
    assert Counter(data.y.tolist()) == {"0": 59, "1": 71 + 48}
    assert len(set(load("wine").y.tolist())) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("irish",), "'irish' is not a known data set"),
        (("iris", None, "ternary"), "reading='ternary' is not valid"),
        (("ames",), "ames is not available. It is not publicly available"),
        (("dogs_vs_cats",), r"Put dogs_vs_cats\.csv\.gz into a folder"),
        (("iris", "nowhere"), "data_dir='nowhere' is not a folder"),
    ],
)
def test_what_cannot_be_had_is_told_in_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        load(*arguments)
    assert "\n" not in str(caught.value)


def near(values, expected, n_rows, deviation):
    """Within five standard errors: wrong once in a million."""
    np.testing.assert_allclose(values, expected, atol=5 * deviation / np.sqrt(n_rows))


def test_ringnorm_has_the_moments_of_its_definition():
    n_rows = 20_000
    X, y = ringnorm(n_rows, np.random.default_rng(0))
    inner = y == "-1"
    near(inner.mean(), 0.5, n_rows, 0.5)
    n_each = n_rows * 0.48
    near(X[inner].mean(axis=0), 2 / 20**0.5, n_each, 1)
    near(X[~inner].mean(axis=0), 0, n_each, 2)
    near(X[inner].var(axis=0), 1, n_each, 2**0.5)
    near(X[~inner].var(axis=0), 4, n_each, 4 * 2**0.5)
    near(np.corrcoef(X[inner, :5], rowvar=False)[0, 1:], 0, n_each, 1)


@pytest.mark.parametrize(("draw", "n_noise"), [(waveform, 0), (waveform_noise, 19)])
def test_waves_have_the_moments_of_their_definition(draw, n_noise):
    n_rows = 30_000
    X, y = draw(n_rows, np.random.default_rng(1))
    peaks = {"0": (7, 15), "1": (7, 11), "2": (15, 11)}
    assert X.shape == (n_rows, 21 + n_noise)
    for label, (first, second) in peaks.items():
        part = X[y == label]
        near(len(part) / n_rows, 1 / 3, n_rows, 0.48)
        a, b = ([max(6 - abs(i - peak), 0) for i in range(1, 22)] for peak in (first, second))
        a, b = np.array(a), np.array(b)
        # u is uniform: mean 1/2, variance 1/12; the noise is standard normal.
        variance = 1 + (a - b) ** 2 / 12
        near(part[:, :21].mean(axis=0), (a + b) / 2, len(part), variance.max() ** 0.5)
        near(part[:, :21].var(axis=0), variance, len(part), 2**0.5 * variance.max())
        near(part[:, 21:].mean(axis=0), 0, len(part), 1)
        near(part[:, 21:].var(axis=0), 1, len(part), 2**0.5)
    middle = X[y == "0"][:, 10]  # both waves are 2 there, whatever their shares
    near(middle.var(), 1, len(middle), 2**0.5)


@pytest.mark.parametrize("name", ["ringnorm", "waveform", "waveform_noise"])
def test_drawn_data_is_the_same_every_time_and_as_large_as_the_original(name):
    first, again = load(name), load(name)
    assert first.X.shape == (DATASETS[name].n_rows, DATASETS[name].n_features)
    assert np.array_equal(first.X, again.X)
    assert first.y.tolist() == again.y.tolist()
    assert set(first.y.tolist()) == set(DATASETS[name].class_counts)


def test_the_list_tells_where_each_set_comes_from(tmp_path):
    write(tmp_path, "sonar", "a,target\n1,M\n2,R\n")
    sources = {row["name"]: row["source"] for row in status(tmp_path)}
    assert list(sources) == list(DATASETS)
    assert sources["sonar"].startswith("folder, another file")
    assert sources["iono"] == "OpenML"
    assert sources["waveform"] == "generated"
    assert sources["digits"] == "scikit-learn"
    assert sources["ames"] == sources["dogs_vs_cats"] == "missing"


def test_a_fetched_set_is_in_the_folder_and_reads_the_same(tmp_path):
    folder = tmp_path / "new"
    row = fetch("waveform", folder)
    assert row["source"] == "generated"
    assert row["sha256"] == hashlib.sha256((folder / "waveform.csv.gz").read_bytes()).hexdigest()
    drawn, read = load("waveform"), load("waveform", folder)
    assert np.array_equal(drawn.X, read.X)
    assert drawn.y.tolist() == read.y.tolist()
    assert fetch("waveform", folder)["source"] == read.source == "folder, generated"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["waveform.csv.gz", "waveform.json"]


@pytest.mark.parametrize(
    "sidecar", [None, "{}", "[1]", "no JSON", '{"sha256": "0", "source": "x"}']
)
def test_a_fetched_file_is_told_from_one_that_was_changed(tmp_path, sidecar):
    fetch("waveform", tmp_path)
    states = {row["name"]: row["state"] for row in verify(tmp_path)}
    assert states["waveform"] == "fetched"
    path = tmp_path / "waveform.json"
    path.unlink() if sidecar is None else path.write_text(sidecar)
    states = {row["name"]: row["state"] for row in verify(tmp_path)}
    assert states["waveform"] == "another file"


def test_what_nobody_has_cannot_be_fetched(tmp_path):
    with pytest.raises(InputError, match=r"ames cannot be fetched\. It is not publicly"):
        fetch("ames", tmp_path)


def test_files_are_compared_with_their_checksums(tmp_path, monkeypatch):
    path = write(tmp_path, "sonar", "a,target\n1,M\n2,R\n")
    states = {row["name"]: row["state"] for row in verify(tmp_path)}
    assert len(states) == 31
    assert states.pop("sonar") == "another file"
    assert set(states.values()) == {"absent"}
    same = replace(DATASETS["sonar"], sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(datasets, "DATASETS", {"sonar": same})
    assert [row["state"] for row in verify(tmp_path)] == ["ok"]


COUNTS = {"1": 3, "2": 2}


def known(n_features=1, counts=COUNTS):
    return replace(DATASETS["iris"], n_features=n_features, class_counts=counts)


def test_a_foreign_copy_with_our_names_is_taken_as_it_is():
    target = pd.Series(list("12121"), dtype="category")
    frame, labels = conform_to_registry(pd.DataFrame({"a": range(5)}), target, known())
    assert labels.tolist() == list("12121")
    assert frame["a"].tolist() == list(range(5))


def test_foreign_names_of_classes_are_told_by_their_sizes():
    target = pd.Series(["no", "yes", "no", "yes", "yes"])
    _, labels = conform_to_registry(pd.DataFrame({"a": range(5)}), target, known())
    assert labels.tolist() == list("21211")


def test_incomplete_rows_are_left_out_where_that_gives_the_table():
    frame = pd.DataFrame({"a": [0, 1, None, 3, 4, 5]})
    frame, labels = conform_to_registry(frame, pd.Series(list("112122")), known())
    assert frame["a"].tolist() == [0, 1, 3, 4, 5]
    assert labels.tolist() == list("11122")


@pytest.mark.parametrize(
    ("target", "n_features", "counts", "message"),
    [
        ("12121", 2, COUNTS, "has 1 features and classes of 2, 3 rows, not 2 and 2, 3"),
        ("11111", 1, COUNTS, "classes of 5 rows, not 1 and 2, 3"),
        ("xxyyz", 1, {"a": 2, "b": 2, "c": 1}, "cannot be matched by their sizes"),
    ],
)
def test_another_table_is_refused(target, n_features, counts, message):
    with pytest.raises(InputError, match=message):
        conform_to_registry(
            pd.DataFrame({"a": range(5)}), pd.Series(list(target)), known(n_features, counts)
        )


def openml_cache(home, data_id, frame, target):
    """Lay out a table as scikit-learn keeps it once it was fetched."""
    lines = ["@relation made", *(f"@attribute {name} numeric" for name in frame.columns[:-1])]
    values = ",".join(sorted(set(frame[target])))
    lines += [f"@attribute {target} {{{values}}}", "@data"]
    text = "\n".join(lines) + "\n" + frame.to_csv(index=False, header=False)
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": "nominal" if name == target else "numeric",
            "nominal_value": sorted(set(frame[target])) if name == target else [],
            "is_target": str(name == target).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for i, name in enumerate(frame.columns)
    ]
    description = {
        **{"id": str(data_id), "name": "made", "version": "1", "format": "ARFF"},
        **{"status": "active", "description": "made by hand", "file_id": str(data_id)},
        "url": f"https://api.openml.org/data/v1/download/{data_id}/made.arff",
        "md5_checksum": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
    }
    quality = [{"name": "NumberOfInstances", "value": str(len(frame))}]
    content = {
        f"api/v1/json/data/{data_id}": {"data_set_description": description},
        f"api/v1/json/data/features/{data_id}": {"data_features": {"feature": features}},
        f"api/v1/json/data/qualities/{data_id}": {"data_qualities": {"quality": quality}},
    }
    files = {name: json.dumps(value) for name, value in content.items()}
    files[f"data/v1/download/{data_id}/made.arff"] = text
    files[f"data/v1/download/{data_id}"] = text  # where scikit-learn 1.6 looks
    for name, value in files.items():
        path = home / "openml" / "openml.org" / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(value.encode()))


def made_heart():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(9, size=(270, 13)), columns=[f"f{i}" for i in range(13)])
    return frame.assign(kind=["absent"] * 150 + ["present"] * 120)


def test_a_table_of_openml_gets_our_form(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    frame = made_heart()
    openml_cache(tmp_path, DATASETS["heart"].openml_id, frame, "kind")
    assert find("heart") == "OpenML"
    data = load("heart")
    assert data.source == "OpenML"
    assert data.y.tolist() == ["1"] * 150 + ["2"] * 120
    assert np.array_equal(data.X, frame.drop(columns="kind").to_numpy(dtype=float))
    kept = tmp_path / "kept"
    assert fetch("heart", kept)["source"] == "OpenML"
    assert np.array_equal(load("heart", kept).X, data.X)


def test_a_table_of_openml_that_is_another_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    openml_cache(tmp_path, DATASETS["heart"].openml_id, made_heart().iloc[1:], "kind")
    with pytest.raises(InputError, match=r"heart: The copy has 13 .* Put heart\.csv\.gz into"):
        load("heart")


def test_what_openml_does_not_give_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # a closed port
    with pytest.raises(InputError, match="iono: OpenML's table 59 cannot be fetched: ") as caught:
        load("iono")
    assert "\n" not in str(caught.value)
    assert "Put iono.csv.gz into a folder" in str(caught.value)
