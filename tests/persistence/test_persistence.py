"""Model files are saved and loaded, and files that could do harm are rejected."""

import io
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections import OrderedDict, defaultdict
from functools import partial
from hashlib import sha256
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from model_files import (
    KD_TREE,
    MIXED,
    MIXED_ROWS,
    MODELS,
    TREE,
    X,
    Y,
    _fitted,
    fitted,
    mutate,
    nodes,
    unpack,
    zipped,
)
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.tree._tree import Tree

from secateurs.exceptions import InputError, UnsupportedEnsembleError, UntrustedFileError
from secateurs.persistence import inspect_file, load, save
from secateurs.persistence._model_faults import reachable_objects
from secateurs.persistence.atomic_files import check_output_folder


@pytest.fixture
def forest_file(tmp_path):
    return save(_fitted("forest"), tmp_path / "forest.skops")


def edit_schema(path, edit):
    """Change the description in a skops file; `edit` gets the list of its nodes."""
    entries = unpack(path)
    schema = json.loads(entries["schema.json"])
    edit(list(nodes(schema)))
    zipped(entries | {"schema.json": json.dumps(schema)}, path)


def refusal(path, error=UntrustedFileError, **options):
    with pytest.raises(error) as caught:
        load(path, **options)
    assert type(caught.value) is error
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def predictions(model):
    if isinstance(model, list):
        return [predictions(model[0]), predictions(model[1]["other"][0])]
    methods = [name for name in ("predict", "predict_proba") if hasattr(model, name)]
    return [getattr(model, name)(X).tolist() for name in methods]


@pytest.mark.parametrize("suffix", [".skops", ".joblib", ".pkl"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_the_same_after_saving_and_loading(tmp_path, name, suffix):
    path = save(_fitted(name), tmp_path / f"model{suffix}")
    trust = None if suffix == ".skops" else "pickle"
    assert predictions(load(path, trust=trust)) == predictions(_fitted(name))


def test_a_forest_with_missing_values_is_saved_and_loaded(tmp_path):
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    forest = RandomForestClassifier(10, random_state=0).fit(holes, Y)
    same = load(save(forest, tmp_path / "forest.skops"))
    assert (same.predict_proba(holes) == forest.predict_proba(holes)).all()


def test_the_file_loads_where_secateurs_is_not_installed(tmp_path):
    path = save(_fitted("hard vote"), tmp_path / "model.skops")
    code = (
        "import sys; sys.modules['secateurs'] = None\n"
        "import numpy, skops.io\n"
        "trusted = ['sklearn.tree._tree.Tree', 'sklearn.utils._bunch.Bunch']\n"
        "model = skops.io.load(sys.argv[1], trusted=trusted)\n"
        "print(*model.predict(numpy.load(sys.argv[2])))\n"
    )
    np.save(tmp_path / "X.npy", X)
    command = [sys.executable, "-c", code, path, tmp_path / "X.npy"]
    child = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert child.stdout.split() == _fitted("hard vote").predict(X).tolist()


def test_the_side_car_describes_the_file(tmp_path):
    provenance = {"method": "comep", "members": [3, 1], "scores": [0.5]}
    path = save(_fitted("forest"), tmp_path / "forest.skops", provenance=provenance)
    record = json.loads((tmp_path / "forest.skops.json").read_text())
    data = path.read_bytes()
    assert record["format"] == "skops"
    assert record["sha256"] == sha256(data).hexdigest()
    assert record["bytes"] == len(data)
    assert record["model"] == "sklearn.ensemble._forest.RandomForestClassifier"
    assert record["members"] == 12
    assert record["provenance"] == provenance
    assert {"python", "numpy", "scikit-learn", "skops", "secateurs"} == set(record["versions"])
    assert inspect_file(path)["sidecar"] == record


def test_ones_own_model_is_written_and_loading_names_the_types_to_trust(tmp_path):
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, Y)
    held = [model, sparse.csr_array(np.eye(3))]
    path = save(held, tmp_path / "knn.skops")
    types = [*KD_TREE, "scipy.sparse._csr.csr_array"]
    assert json.loads((tmp_path / "knn.skops.json").read_text())["trust_types"] == sorted(types)
    assert f"pass trust_types={sorted(types)!r}." in refusal(path)  # all at once
    left = [types[0], *sorted(types[1:])]
    assert f"pass trust_types={left!r}." in refusal(path, trust_types=types[:1])
    assert predictions(load(path, trust_types=types)[0]) == predictions(model)


def test_the_side_car_of_a_trusted_file_lists_no_types(tmp_path):
    save(_fitted("forest"), tmp_path / "forest.skops")
    assert "trust_types" not in json.loads((tmp_path / "forest.skops.json").read_text())


def test_ones_own_model_of_any_size_and_ratio_is_written(tmp_path, monkeypatch):
    model = DummyClassifier().fit(X, Y)
    model.notes_ = np.zeros(9 << 20)  # packed a thousand times smaller, as in zip bombs
    monkeypatch.setattr("secateurs.persistence.model_files._MAX_BYTES", 1 << 20)
    path = save(model, tmp_path / "model.skops")
    digest = sha256(path.read_bytes()).hexdigest()
    assert "zip bombs" in refusal(path)
    assert (load(path, sha256=digest).notes_ == 0).all()


@pytest.mark.parametrize("name", MIXED)
def test_a_pipeline_of_mixed_columns_needs_no_trusted_types(tmp_path, name):
    model = _fitted(name)
    same = load(save(model, tmp_path / "model.skops"))
    assert same.predict(MIXED_ROWS).tolist() == model.predict(MIXED_ROWS).tolist()
    if hasattr(model, "predict_proba"):
        assert (same.predict_proba(MIXED_ROWS) == model.predict_proba(MIXED_ROWS)).all()


STEPS = {
    "selector": make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(dtype=np.float32), make_column_selector(dtype_include=object)),
    ),
    "targets": make_column_transformer((TargetEncoder(), ["city", "zip"])),
    "best": make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city", "zip"])), SelectKBest(chi2, k=2)
    ),
    "given": make_column_transformer(
        (OneHotEncoder(categories=[["Ulm", "Köln", "Bonn"]]), ["city"]),
        ("drop", ["note", "zip"]),
        remainder=SimpleImputer(),
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_preprocessing_before_a_forest_needs_no_trusted_types(tmp_path, step):
    model = make_pipeline(STEPS[step], RandomForestClassifier(3, random_state=0))
    model.fit(MIXED_ROWS, Y)
    same = load(save(model, tmp_path / "model.skops"))
    assert (same.predict_proba(MIXED_ROWS) == model.predict_proba(MIXED_ROWS)).all()


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(TREE, {"max_depth": [2, 3]}),
        GridSearchCV(TREE, {"max_depth": [2, 3]}, scoring="f1_macro", cv=ShuffleSplit(2)),
        MLPClassifier(4, max_iter=3),
        CalibratedClassifierCV(LogisticRegression()),
    ],
    ids=["search", "scored search", "network", "calibrated"],
)
def test_a_member_of_scikit_learn_needs_no_trusted_types(tmp_path, model):
    vote = VotingClassifier([("one", model), ("tree", TREE)]).fit(X, Y)
    assert predictions(load(save(vote, tmp_path / "vote.skops"))) == predictions(vote)


def test_holders_of_data_come_back_and_by_their_own_loader_only(tmp_path):
    path = tmp_path / "held.skops"
    held = {"dtype": np.dtype("f4"), "raw": bytearray(b"some"), "more": defaultdict(OrderedDict)}
    held["more"]["a"] = OrderedDict(b=1)
    skops.io.dump(held, path)
    assert load(path) == held
    edit_schema(
        path,
        lambda found: [
            node.update(__loader__="ObjectNode", content=None)
            for node in found
            if node["__loader__"] == "DTypeNode"
        ],
    )
    assert "not trusted: numpy.dtype" in refusal(path)  # whose state NumPy would follow blindly


def test_a_partial_function_has_to_be_trusted_by_name(tmp_path):
    step = FunctionTransformer(partial(np.clip, a_min=0, a_max=1))
    model = make_pipeline(step, LogisticRegression()).fit(X, Y)
    path = save(model, tmp_path / "model.skops")
    assert "functools.partial" in refusal(path)


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("model.onnx", {}, InputError, r"'\.onnx'.*Pass one of: \.skops, \.pkl"),
        ("model", {}, InputError, "ends in ''"),
        ("missing/model.skops", {}, InputError, "missing is not a folder"),
        ("taken.skops", {}, InputError, r"taken\.skops exists.*force=True"),
        ("noted.skops", {}, InputError, r"noted\.skops\.json exists"),
        ("folder.skops", {"force": True}, InputError, "is a folder"),
        ("model.skops", {"provenance": {"a": {1}}}, InputError, "set is not JSON"),
        ("model.skops", {"provenance": {"a": np.nan}}, InputError, "provenance is not plain JSON"),
    ],
)
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path, name, options, error, words):
    (tmp_path / "taken.skops").touch()
    (tmp_path / "noted.skops.json").touch()
    (tmp_path / "folder.skops").mkdir()
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(error, match=words):
        save(_fitted("forest"), tmp_path / name, **options)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("suffix", [".skops", ".pkl", ".joblib"])
def test_a_model_that_cannot_be_stored_is_refused(tmp_path, suffix):
    model = make_pipeline(FunctionTransformer(lambda rows: rows), LogisticRegression()).fit(X, Y)
    with pytest.raises(UnsupportedEnsembleError, match=r"cannot be written as .*lambda"):
        save(model, tmp_path / f"model{suffix}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("n_done", [0, 1])
def test_a_failure_half_way_leaves_everything_as_it_was(tmp_path, monkeypatch, n_done):
    replace, calls = os.replace, []

    def fail_once(*args):
        calls.append(args)
        if len(calls) == n_done + 1:
            raise OSError("the disk is full")
        replace(*args)

    for before in ({}, {"forest.skops": "old model", "forest.skops.json": "old side-car"}):
        for name, text in before.items():
            (tmp_path / name).write_text(text)
        calls.clear()
        monkeypatch.setattr(os, "replace", fail_once)
        with pytest.raises(InputError, match="the disk is full"):
            save(_fitted("forest"), tmp_path / "forest.skops", force=True)
        monkeypatch.undo()
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_an_existing_file_is_replaced_on_request(tmp_path, forest_file):
    save(_fitted("boosted"), forest_file, force=True)
    assert type(load(forest_file)) is AdaBoostClassifier
    assert sorted(os.listdir(tmp_path)) == ["forest.skops", "forest.skops.json"]


class Planter:
    """Unpickling this creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)])
@pytest.mark.parametrize("name", ["model.joblib", "model.pkl", "model.skops", "model.bin"])
def test_a_pickle_is_refused_and_does_nothing(tmp_path, name, compress):
    planted = tmp_path / "planted"
    buffer = io.BytesIO()
    joblib.dump(Planter(planted), buffer, compress=compress)
    (tmp_path / name).write_bytes(buffer.getvalue())
    words = refusal(tmp_path / name)
    assert "pickle" in words
    if name == "model.skops":  # a lie is refused even to those who trust pickles
        assert "named .skops" in refusal(tmp_path / name, trust="pickle")
    else:
        assert "trust='pickle'" in words
    refusal(tmp_path / name, sha256="0" * 64)
    assert inspect_file(tmp_path / name)["format"].endswith("pickle")
    assert not planted.exists()


def test_a_pickle_is_accepted_by_its_checksum(tmp_path):
    path = save(_fitted("forest"), tmp_path / "forest.pkl")
    digest = sha256(path.read_bytes()).hexdigest()
    assert predictions(load(path, sha256=digest.upper())) == predictions(_fitted("forest"))
    assert digest in refusal(path)


def test_a_wrong_checksum_is_refused_whatever_the_format(forest_file):
    assert "another file" in refusal(forest_file, sha256="0" * 64)


@pytest.mark.parametrize("option", [{"trust": "everything"}, {"sha256": "123"}])
def test_senseless_options_are_refused(forest_file, option):
    with pytest.raises(InputError, match=str(next(iter(option.values())))):
        load(forest_file, **option)


FOREIGN = {
    "table.csv": (b"x,y\n1,2\n", "not a model file"),
    "table.skops": (b"x,y\n1,2\n", "not a model file"),
    "picture.skops": (b"\x89PNG\r\n\x1a\n" + bytes(50), "not a model file"),
    "arrays.skops": (zipped({"a.npy": b"1"}), "zip file without a model"),
    "empty.skops": (b"", "is empty"),
    "start.skops": (b"PK\x03\x04", "BadZipFile"),
    "text.skops": (zipped({"schema.json": "{"}), "JSONDecodeError"),
    "deep.skops": (zipped({"schema.json": "[" * 9999 + "]" * 9999}), "RecursionError"),
    "number.skops": (zipped({"schema.json": "1"}), "AttributeError"),
    "broken.pkl": (b"\x80\x04\x95", "cannot be read"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_that_hold_no_model_are_refused_in_one_line(tmp_path, name):
    content, words = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    assert words in refusal(tmp_path / name, InputError, trust="pickle")


def test_paths_without_a_file_are_rejected(tmp_path):
    assert "is not a file" in refusal(tmp_path, InputError)
    assert "does not exist" in refusal(tmp_path / "missing.skops", InputError)


def test_a_skops_file_under_another_name_is_refused(forest_file):
    assert "named .pkl" in refusal(forest_file.rename(forest_file.with_suffix(".pkl")))


def test_lzma_entries_are_loaded_if_they_need_little_memory(tmp_path, forest_file):
    path = tmp_path / "lzma.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in unpack(forest_file).items():
            archive.writestr(name, content)
    assert load(path).n_estimators == load(forest_file).n_estimators
    with zipfile.ZipFile(path) as archive:
        entry = archive.infolist()[-1]
    data = bytearray(path.read_bytes())
    size_at = entry.header_offset + 30 + len(entry.filename) + 4 + 1  # after version and lengths
    data[size_at : size_at + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(data)
    assert "bytes of memory" in refusal(path)


def test_limits_are_kept_before_anything_is_unpacked(tmp_path, forest_file, monkeypatch):
    size = forest_file.stat().st_size
    assert f"max_bytes={size - 1}" in refusal(forest_file, max_bytes=size - 1)
    assert "unpacks to" in refusal(forest_file, max_bytes=size + 1)
    entries = unpack(forest_file)
    zipped(entries | {"zeros": bytes(70 << 20)}, tmp_path / "bomb.skops")
    assert "zip bombs" in refusal(tmp_path / "bomb.skops")
    with zipfile.ZipFile(tmp_path / "bz2.skops", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("schema.json", entries["schema.json"])
    assert "compressed in a way" in refusal(tmp_path / "bz2.skops")
    with zipfile.ZipFile(tmp_path / "double.skops", "w") as archive:
        archive.writestr("schema.json", entries["schema.json"])
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("schema.json", entries["schema.json"])
    assert "2 entries with 1 different names" in refusal(tmp_path / "double.skops")
    monkeypatch.setattr("secateurs.persistence.skops_files._MAX_SCHEMA", 1000)
    assert "of 1000 allowed" in refusal(forest_file)


def test_a_file_that_asks_for_memory_is_refused(tmp_path, forest_file):
    for name in ("void", "bytes_", "object_"):
        path = tmp_path / f"{name}.skops"
        node = {"__class__": name, "__module__": "numpy", "__loader__": "NdArrayNode", "__id__": 9}
        node |= {"type": "numpy", "file": "9.npy", "protocol": 2}
        buffer = io.BytesIO()
        np.save(buffer, np.array(50_000_000))
        zipped({"9.npy": buffer.getvalue(), "schema.json": json.dumps(node)}, path)
        assert skops.io.get_untrusted_types(file=path) == []
        assert f"not trusted: numpy.{name}" in refusal(path)
    entries = unpack(forest_file)
    name = next(name for name in entries if name.endswith(".npy"))
    lie = entries[name].replace(b"(3,), }" + b" " * 11, b"(999999999999,), }")
    zipped(entries | {name: lie}, forest_file)
    assert "999999999999" in refusal(forest_file, InputError)


def test_a_description_that_unfolds_without_end_is_refused(tmp_path):
    kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    part = kind | {"content": [], "__id__": 1}
    for key in range(2, 60):
        part = kind | {"content": [part, {"__id__": key - 1, **kind, "content": []}], "__id__": key}
    zipped({"schema.json": json.dumps(part | {"protocol": 2})}, tmp_path / "laughs.skops")
    assert "in two different ways" in refusal(tmp_path / "laughs.skops", InputError)


def test_one_array_cannot_be_read_for_many_objects(forest_file):
    def share(found):
        arrays = [node for node in found if node["__loader__"] == "NdArrayNode"]
        arrays[1]["file"] = arrays[0]["file"]

    edit_schema(forest_file, share)
    assert "one array for two objects" in refusal(forest_file, InputError)


def test_names_in_a_file_cannot_steer_the_terminal(forest_file):
    edit_schema(forest_file, lambda found: found[0].update(__class__="Fo\n\x1b[2Jrest"))
    assert "Fo??[2Jrest" in refusal(forest_file)


def test_another_version_of_scikit_learn_is_warned_about(forest_file):
    def age(found):
        for node in found:
            if node["__loader__"] == "JsonNode" and node["content"].startswith('"1.'):
                node["content"] = '"1.0.0"'

    edit_schema(forest_file, age)
    with pytest.warns(InconsistentVersionWarning, match=r"1\.0\.0"):
        load(forest_file)
    assert inspect_file(forest_file)["versions"]["scikit-learn"] == ["1.0.0"]


def set_node(**values):
    def tamper(tree):
        for name, value in values.items():
            getattr(tree, name)[0] = value

    return tamper


TAMPERINGS = {
    "child out of range": (set_node(children_right=10**6), "outside its nodes"),
    "child before": (set_node(children_left=-5), "outside its nodes"),
    "cycle": (set_node(children_left=0), "outside its nodes, or back"),
    "shared child": (set_node(children_left=2, children_right=2), "no parent, or two"),
    "half a leaf": (set_node(children_left=-1), "has a child"),
    "feature out of range": (set_node(feature=8), "feature it does not have"),
    "negative feature": (set_node(feature=-2), "feature it does not have"),
}


def test_objects_that_contain_themselves_are_found_once():
    ring = {"name": "ring", "parts": []}
    ring["parts"].append(ring)
    assert len(reachable_objects(ring)) == 2


WITH_TREES = ["forest", "bagged trees", "soft vote", "pipeline", "list"]
WITH_TREES += ["regression forest", "regression bagged trees", "regression pipeline"]


@pytest.mark.parametrize("where", WITH_TREES)
@pytest.mark.parametrize("how", TAMPERINGS)
def test_tampered_trees_are_refused_wherever_they_are(tmp_path, where, how):
    tamper, words = TAMPERINGS[how]
    model = fitted(where)
    tamper([thing for thing in reachable_objects(model) if isinstance(thing, Tree)][-1])
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    assert words in refusal(path)
    with pytest.raises(UntrustedFileError, match=words):
        save(model, tmp_path / "again.skops")
    assert os.listdir(tmp_path) == ["model.skops"]


def set_state(state=None, n_features=8):
    def tamper(model):
        tree = Tree(n_features, np.array([3]), 1)
        if state is not None:
            tree.__setstate__(_fitted("forest")[0].tree_.__getstate__() | state)
        model[0].tree_ = tree

    return tamper


def set_attribute(**values):
    return lambda model: [vars(model[0]).update({k: v}) for k, v in values.items()]


FAULTS = {
    "no nodes": ("forest", set_state(), "has no nodes"),
    "node count": ("forest", set_state({"node_count": 1}), "outside its nodes"),
    "depth": ("forest", set_state({"max_depth": 1}), "not as deep as it claims"),
    "features": ("forest", set_state({}, n_features=9), "other features"),
    "no columns": ("forest", set_state({}, n_features=0), "has no features"),
    "no features": ("forest", lambda m: vars(m[0]).pop("n_features_in_"), "other features"),
    "masked": ("forest", set_attribute(n_features_in_=np.ma.masked_all(())), "other features"),
    "outputs": ("forest", set_attribute(n_outputs_=2), "other outputs"),
    "classes": ("forest", set_attribute(classes_=np.arange(4)), "other classes"),
    "no classes": ("forest", lambda m: vars(m[0]).pop("n_classes_"), "state is inconsistent"),
    "a method": ("forest", set_attribute(_validate_X_predict=np.positive), "the name of a method"),
    "class codes": ("bagged neighbours", set_attribute(_y=np.full(200, 9)), "unknown class"),
    "samples": ("bagged neighbours", set_attribute(_fit_X=X[:, :3]), "other features"),
    "fewer samples": ("bagged neighbours", set_attribute(_fit_X=X[:9]), "differ in number"),
    "vectors": ("hard vote", lambda m: m.estimators_[2]._n_support.fill(10**6), "its vectors"),
    "sparse": ("hard vote", lambda m: vars(m.estimators_[2]).update(_sparse=True), "be checked"),
    "stages": (
        "gradient boosted",
        lambda m: vars(m).update(estimators_=np.repeat(m.estimators_, 9, axis=1)),
        "other outputs than their initial prediction",
    ),
    "other tree": (
        "gradient boosted",
        lambda m: m.estimators_[1].fill(_fitted("forest")[0]),
        "have different shapes",
    ),
    "no labels": (
        "gradient boosted",
        lambda m: vars(m).update(classes_=m.classes_[:0]),
        "other outputs than classes",
    ),
    "fewer labels": (
        "gradient boosted",
        lambda m: vars(m).update(classes_=m.classes_[:2]),
        "other outputs than classes",
    ),
    "stage": ("gradient boosted", lambda m: m.estimators_.fill(TREE), "not a fitted tree"),
    "numbers with classes": (
        "regression forest",
        lambda m: vars(m[0]).update(tree_=_fitted("forest")[0].tree_),
        "regression tree has classes",
    ),
    "number outputs": ("regression forest", set_attribute(n_outputs_=2), "other outputs than its"),
    "forest outputs": (
        "regression forest",
        lambda m: vars(m).update(n_outputs_=2**40),
        "other outputs than the ensemble",
    ),
    "labels among numbers": (
        "regression vote",
        lambda m: m.estimators_.append(_fitted("forest")),
        "predicts labels, but its ensemble is a regressor",
    ),
    "columns of numbers": (
        "regression bagged trees",
        lambda m: m.estimators_features_[0].__setitem__(0, 8),
        "features that the ensemble does not have",
    ),
    "fewer numbers": (
        "regression bagged neighbours",
        set_attribute(_y=np.zeros(9)),
        "differ in number",
    ),
    "vectors of numbers": (
        "regression vote",
        lambda m: vars(m.estimators_[1]).update(support_=m.estimators_[1].support_[:3]),
        "its vectors",
    ),
    "columns": (
        "mixed pipeline",
        lambda m: _encoder(m)._n_features_outs.__setitem__(0, 1),
        "columns",
    ),
    "disorder": ("mixed pipeline", lambda m: _reverse(_bins(m).categories_[0]), "not in order"),
    "table": ("mixed pipeline", lambda m: _bins(m).categories_.pop(), "lists of categories"),
    "codes": (
        "mixed pipeline",
        lambda m: _encoder(m)._default_to_infrequent_mappings[0].fill(99),
        "codes for other categories",
    ),
    "groups": (
        "mixed pipeline",
        lambda m: _encoder(m)._infrequent_indices[0].fill(99),
        "groups categories that it does not have",
    ),
    "no codes": (
        "mixed pipeline",
        lambda m: _encoder(m)._default_to_infrequent_mappings.__setitem__(0, None),
        "without their codes",
    ),
    "dropped": (
        "mixed pipeline",
        lambda m: m[0].named_transformers_["first"]._drop_idx_after_grouping.fill(9),
        "drops a category",
    ),
    "words": (
        "mixed vote",
        lambda m: m.estimators_[1][0].named_transformers_["count"].vocabulary_.update(dog=10**6),
        "a vocabulary does not have one column for each word",
    ),
    "weights of words": (
        "mixed pipeline",
        lambda m: vars(_weights(m)).update(idf_=_weights(m).idf_[:1]),
        "a vocabulary does not have one weight for each word",
    ),
    "weight of words": (
        "mixed pipeline",
        lambda m: vars(_weights(m)).update(idf_=np.float64(1.0).reshape(())),
        "a vocabulary does not have one weight for each word",
    ),
    "hashes": (
        "mixed vote",
        lambda m: vars(m.estimators_[1][0].named_transformers_["hash"]).update(n_features=0),
        "hashes into 0 columns",
    ),
    "generator": ("extra trees", lambda m: _spin(m.random_state), "outside its state"),
}


def _encoder(model):
    return model[0].named_transformers_["rare"]


def _weights(model):
    return model[0].named_transformers_["weigh"]._tfidf


def _bins(model):
    return model[0].named_transformers_["bins"]._encoder


def _reverse(values):
    values[:] = values[::-1].copy()


def _spin(generator):
    state = generator.get_state(legacy=False)
    state["state"]["pos"] = 10**6
    generator.set_state(state)


@pytest.mark.parametrize("fault", FAULTS)
def test_other_states_that_would_crash_are_refused(tmp_path, fault):
    name, tamper, words = FAULTS[fault]
    model = fitted(name)
    tamper(model)
    skops.io.dump(model, tmp_path / "model.skops")
    assert words in refusal(tmp_path / "model.skops")


def test_a_file_is_inspected_without_building_anything(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(make_pipeline(FunctionTransformer(os.system), _fitted("forest")), path)
    facts = inspect_file(path)
    assert facts["format"] == "skops"
    assert facts["sha256"] == sha256(path.read_bytes()).hexdigest()
    assert facts["bytes"] == path.stat().st_size
    assert facts["model"] == "sklearn.pipeline.Pipeline"
    assert {"posix.system", "sklearn.tree._tree.Tree"} <= set(facts["types"])
    assert (facts["protocol"], facts["sidecar"], facts["sidecar_matches"]) == (2, None, None)
    (tmp_path / "model.json").write_text('{"sha256": "of another file"}')
    assert inspect_file(path)["sidecar_matches"] is False
    (tmp_path / "model.json").write_text("not JSON")
    assert inspect_file(path)["sidecar"] is None
    (tmp_path / "model.json").write_text('{"format": "pkl", "sha256": "of model.pkl"}')
    assert inspect_file(path)["sidecar"] is None
    (tmp_path / "notes.txt").write_text("none")
    assert inspect_file(tmp_path / "notes.txt")["format"] == "unknown"


CHILD = """
import resource, signal, sys, warnings
from pathlib import Path
import numpy as np
from secateurs.exceptions import SecateursError
from secateurs.persistence.model_files import load
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
X = np.load(sys.argv[1])
for path in sorted(Path(sys.argv[1]).parent.glob("*.skops")):
    print(path.name, end=" ", flush=True)
    signal.alarm(20)
    try:
        model = load(path)
    except SecateursError as error:
        assert len(str(error).splitlines()) == 1
        print("refused")
        continue
    try:
        for name in ("predict", "predict_proba", "decision_path"):
            if hasattr(model, name):
                getattr(model, name)(X)
    except Exception as error:
        print("raised")
    else:
        print("predicted")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
def test_no_mutated_file_crashes_the_process(tmp_path):
    rng = random.Random(0)
    np.save(tmp_path / "X.npy", X)
    for name in MODELS:
        entries = unpack(save(_fitted(name), tmp_path / "source.skops", force=True))
        for number in range(10):
            (tmp_path / f"{name} {number}.skops").write_bytes(mutate(entries, rng))
    (tmp_path / "source.skops.json").unlink()
    (tmp_path / "pickle.skops").write_bytes(pickle.dumps(Planter(tmp_path / "planted")))
    command = [sys.executable, "-c", CHILD, tmp_path / "X.npy"]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert child.returncode == 0, child.stdout[-200:] + child.stderr[-2000:]
    fates = [line.split()[-1] for line in child.stdout.splitlines() if "skops" in line]
    assert len(fates) == 10 * len(MODELS) + 2
    assert fates.count("refused") > 40
    assert fates.count("predicted") > 30
    assert fates.count("raised") < 40
    assert not Path(tmp_path / "planted").exists()


def test_models_of_the_same_name_have_side_cars_of_their_own(tmp_path):
    first = save(_fitted("forest"), tmp_path / "k40.skops", provenance={"made": "first"})
    second = save(_fitted("boosted"), tmp_path / "k40.pkl", provenance={"made": "second"})
    for path, made in ((first, "first"), (second, "second")):
        facts = inspect_file(path)
        assert facts["sidecar"]["provenance"] == {"made": made}
        assert facts["sidecar_matches"]
    # Files of earlier versions, in which the suffix was replaced.
    (tmp_path / "k40.pkl.json").unlink()
    (tmp_path / "k40.skops.json").rename(tmp_path / "k40.json")
    assert inspect_file(first)["sidecar_matches"]
    assert inspect_file(second)["sidecar"] is None
    assert type(load(first)) is type(_fitted("forest"))


@pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="needs a folder that nobody can write to"
)
def test_a_folder_that_cannot_be_written_to_is_reported_before_any_work(tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("secateurs.persistence.model_files.find_fault", fail)
    with pytest.raises(
        InputError, match=r"^/proc/self cannot be written to: .* Pass another folder"
    ):
        save(_fitted("forest"), "/proc/self/model.skops")
    with pytest.raises(InputError, match=r"^/proc/self cannot be written to"):
        check_output_folder(Path("/proc/self/new/results"))
    check_output_folder(tmp_path / "new" / "results")
    with pytest.raises(InputError, match="is not a folder"):
        check_output_folder(Path(__file__))
    assert not list(tmp_path.iterdir())
