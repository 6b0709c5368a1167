"""What a skops file may describe: scikit-learn trusts what it is built from, and crashes."""

import io
import json

import numpy as np
import pytest
import skops.io
from model_files import TREE, X, Y, _fitted, nodes, unpack, zipped
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from secateurs import collect_votes, load, save
from secateurs.exceptions import InputError, UntrustedFileError


@pytest.fixture
def path(tmp_path):
    return save(clone(TREE).fit(X, Y), tmp_path / "tree.skops")


def packed(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def tree_of(schema):
    (tree,) = (node for node in nodes(schema) if node["__loader__"] == "TreeNode")
    return tree


def test_nodes_of_a_tree_are_a_list(path):
    entries = unpack(path)
    file = tree_of(json.loads(entries["schema.json"]))["content"]["content"]["nodes"]["file"]
    known = np.load(io.BytesIO(entries[file]))
    for array in (
        known[0],
        known[:, None],
        np.array(7.0),
    ):  # two have no length
        zipped(entries | {file: packed(array)}, path)
        with pytest.raises(InputError, match="a tree whose nodes are not a list"):
            load(path)


def test_an_id_or_entry_cannot_be_used_for_two_objects(path):
    """Two descriptions under one id, of the same length: skops would build the first for both."""
    entries = unpack(path)
    schema = json.loads(entries["schema.json"])
    state = tree_of(schema)["content"]
    other = json.loads(json.dumps(state))
    other["content"]["nodes"] |= {"file": "1.npy", "__id__": 1}
    parts = [other, schema]
    listed = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    whole = listed | {"content": parts, "__id__": 2, "protocol": schema["protocol"]}
    added = {"schema.json": json.dumps(whole), "1.npy": packed(np.array(7.0))}
    zipped(entries | added, path)
    with pytest.raises(InputError, match="in two different ways"):
        load(path)


def test_bytes_and_sparse_arrays_are_read_as_before(tmp_path):
    held = {"file": b"some", "again": b"some", "sparse": sparse.csr_array(np.eye(3))}
    path = save([held, held], tmp_path / "held.skops")
    same = load(path, trust_types=["scipy.sparse._csr.csr_array"])
    assert same[1]["file"] == same[0]["again"] == b"some"
    assert (same[1]["sparse"].toarray() == np.eye(3)).all()


def test_members_of_bagging_number_their_classes_by_integers(tmp_path):
    model = BaggingClassifier(TREE, 3, random_state=0).fit(X, Y)
    path = save(model, tmp_path / "model.skops")
    model.estimators_[1].classes_ = model.estimators_[1].classes_.astype(float)
    skops.io.dump(model, path)
    with pytest.raises(UntrustedFileError, match="classes that the ensemble does not have"):
        load(path)
    assert save(_fitted("forest"), tmp_path / "forest.skops")  # whose trees have floats


@pytest.mark.parametrize("letter", [0xD800, 0x7FFFFFFF])
def test_labels_are_text(tmp_path, letter):
    model = BaggingClassifier(TREE, 3, random_state=0).fit(X, Y)
    path = save(model, tmp_path / "model.skops")
    model.classes_.view(np.uint32)[0] = letter
    skops.io.dump(model, path)
    with pytest.raises(UntrustedFileError, match="labels of an ensemble are not text"):
        load(path)


def test_errors_of_boosting_are_as_many_as_its_members(tmp_path):
    model = AdaBoostClassifier(TREE, n_estimators=3, random_state=0).fit(X, Y)
    path = save(model, tmp_path / "model.skops")
    for errors in (model.estimator_errors_[None], model.estimator_errors_[:2]):
        model.estimator_errors_ = errors
        skops.io.dump(model, path)
        with pytest.raises(UntrustedFileError, match="fewer weights or errors than members"):
            load(path)


def test_trees_hold_trees(tmp_path):
    model = BaggingClassifier(TREE, 3, random_state=0).fit(X, Y)
    path = save(model, tmp_path / "model.skops")
    for tree, told in (("none", "holds no tree"), (None, "was not fitted")):
        if tree is None:
            del model.estimators_[1].tree_
        else:
            model.estimators_[1].tree_ = tree
        skops.io.dump(model, path)
        with pytest.raises(UntrustedFileError, match=told):
            load(path)


def test_bagging_with_unknown_training_samples_is_reported(tmp_path):
    model = BaggingClassifier(TREE, 3, random_state=0).fit(X, Y)
    model._max_samples = "many"
    loaded = load(save(model, tmp_path / "model.skops"))
    with pytest.raises(
        InputError, match="training samples of the members of BaggingClassifier are unknown"
    ):
        collect_votes(loaded, X, oob=True)


def test_members_are_models_and_those_of_forests_trees(tmp_path):
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    path = save(forest, tmp_path / "model.skops")
    others = {"is not a model": {}, "is not a tree": LogisticRegression().fit(X, Y)}
    for told, other in others.items():
        forest.estimators_[0] = other
        skops.io.dump(forest, path)
        with pytest.raises(UntrustedFileError, match=told):
            load(path)
