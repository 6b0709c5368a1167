"""Models of every kind that can be saved, and their files, whole and spoilt."""

import copy
import io
import json
import zipfile
from functools import cache

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

X, CODES = make_classification(200, 8, n_informative=5, n_classes=3, random_state=0)
Y = np.array(["ant", "bee", "cat"])[CODES]
TREE = DecisionTreeClassifier(max_depth=4)
KNN = KNeighborsClassifier(algorithm="brute")
PAIR = [("forest", RandomForestClassifier(4, max_depth=4)), ("line", LogisticRegression())]
MODELS = {
    "forest": RandomForestClassifier(12, random_state=0),
    "few leaves": RandomForestClassifier(9, max_leaf_nodes=9, ccp_alpha=0.001, random_state=0),
    "extra trees": ExtraTreesClassifier(12, random_state=np.random.RandomState(0)),
    "bagged trees": BaggingClassifier(TREE, 8, max_features=0.5, random_state=0),
    "bagged neighbours": BaggingClassifier(KNN, 4, random_state=0),
    "bagged machines": BaggingClassifier(LinearSVC(), 4, random_state=0),
    "bagged lines": BaggingClassifier(LogisticRegression(), 4, random_state=0),
    "hard vote": VotingClassifier([*PAIR, ("svc", SVC())], weights=[1, 2, 1]),
    "soft vote": VotingClassifier([*PAIR, ("knn", KNN)], voting="soft", weights=[1, 2, 1]),
    "boosted": AdaBoostClassifier(TREE, n_estimators=5, random_state=0),
    "gradient boosted": GradientBoostingClassifier(n_estimators=2, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    "list": None,
}
KD_TREE = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]


@cache
def _fitted(name):
    if name == "list":
        return [_fitted("forest"), {"other": (_fitted("bagged trees"),)}]
    return MODELS[name].fit(X, Y)


def fitted(name):
    return copy.deepcopy(_fitted(name))


def unpack(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries, path=None, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    if path is not None:
        path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def nodes(part):
    if isinstance(part, dict):
        if "__loader__" in part:
            yield part
        part = part.values()
    if not isinstance(part, (str, int, float, type(None))):
        for child in part:
            yield from nodes(child)


INTEGERS = (-1, 0, 1, 7, 8, 100, 2**31, -(2**31), 2**40, -(2**40), 2**62)


def flip(data, rng):
    changed = bytearray(data)
    for _ in range(rng.choice([1, 3, 10])):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def edit_array(data, rng):
    array = np.load(io.BytesIO(data)).copy()
    if rng.random() < 0.5 and array.ndim:
        array = array[: rng.randrange(len(array) + 1)]
    elif array.dtype.names:
        name = rng.choice(["left_child", "right_child", "feature"])
        array[name][rng.randrange(len(array))] = rng.choice(INTEGERS)
    elif array.size and array.dtype.kind in "iuf":
        value = np.array(rng.choice(INTEGERS)).astype(array.dtype)
        array.flat[rng.randrange(array.size)] = value
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def edit_nodes(data, rng):
    schema = json.loads(data)
    found = list(nodes(schema))
    node, other = rng.choice(found), copy.deepcopy(rng.choice(found))
    match rng.randrange(4):
        case 0:
            node.pop(rng.choice(list(node)))
        case 1:
            node.clear()
            node.update(other)
        case 2:
            key = rng.choice(["__loader__", "__class__", "__id__", "file"])
            node[key] = other.get(key)
        case 3:
            leaves = [leaf for leaf in found if leaf["__loader__"] == "JsonNode"]
            rng.choice(leaves).update(content=str(rng.choice(INTEGERS)), __id__=rng.getrandbits(40))
    return json.dumps(schema).encode()


def mutate(entries, rng):
    arrays = [name for name in entries if name.endswith(".npy")]
    match rng.randrange(7):
        case 0:
            return flip(zipped(entries), rng)
        case 1:
            return zipped(entries)[: rng.randrange(1, len(zipped(entries)))]
        case 2:
            name, edit = "schema.json", flip
        case 3 | 4:
            name, edit = "schema.json", edit_nodes
        case _:
            name, edit = rng.choice(arrays), rng.choice([flip, edit_array, edit_array])
    return zipped(entries | {name: edit(entries[name], rng)}, compresslevel=1)
