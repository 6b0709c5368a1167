"""Models of every kind that can be saved, and their files, whole and spoilt."""

import copy
import io
import json
import warnings
import zipfile
from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

X, CODES = make_classification(200, 8, n_informative=5, n_classes=3, random_state=0)
Y = np.array(["ant", "bee", "cat"])[CODES]
TRUE_NUMBERS = X[:, 0] * X[:, 1] + 0.3 * CODES
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
    "bagged pipelines": BaggingClassifier(make_pipeline(StandardScaler(), TREE), 4, random_state=0),
    "vote of pipelines": VotingClassifier([("near", make_pipeline(StandardScaler(), KNN)), *PAIR]),
    "list": None,
}
NEAR = KNeighborsRegressor(algorithm="brute")
LINES = [("line", LinearRegression()), ("svr", SVR())]
STUMPY = DecisionTreeRegressor(max_depth=4)
REGRESSORS = {
    "regression forest": RandomForestRegressor(9, max_depth=5, random_state=0),
    "regression extra trees": ExtraTreesRegressor(9, max_leaf_nodes=9, random_state=0),
    "regression bagged trees": BaggingRegressor(STUMPY, 6, max_features=0.5, random_state=0),
    "regression bagged neighbours": BaggingRegressor(NEAR, 3, random_state=0),
    "regression vote": VotingRegressor([*LINES, ("near", NEAR)], weights=[1, 2, 1]),
    "regression boosted": GradientBoostingRegressor(n_estimators=2, random_state=0),
    "regression pipeline": make_pipeline(StandardScaler(), RandomForestRegressor(5, max_depth=4)),
}
MODELS |= REGRESSORS
MIXED_ROWS = pd.DataFrame(
    {
        "age": np.where(np.arange(200) % 9 == 0, np.nan, X[:, 0]),
        "income": X[:, 1],
        "zip": np.array(["01234", "1234", "99999", "55555"])[(X[:, 2] * 7).astype(int) % 4],
        "city": np.array(["Ulm", "Bonn", "Köln"])[CODES],
        "note": [" ".join(["red", "blue", "car", "dog", "ü"][: 2 + n % 4]) for n in range(200)],
        "rooms": np.arange(200) % 5,
    }
).astype({"zip": object, "city": object, "note": object})
_TABLE = ColumnTransformer(
    [
        ("number", make_pipeline(SimpleImputer(add_indicator=True), RobustScaler()), ["age"]),
        ("rare", OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist"), ["zip"]),
        ("first", OneHotEncoder(drop="first", sparse_output=False), ["city"]),
        ("order", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["city"]),
        ("count", CountVectorizer(), "note"),
        ("weigh", TfidfVectorizer(ngram_range=(1, 2)), "note"),
        ("hash", HashingVectorizer(n_features=8), "note"),
        ("bins", KBinsDiscretizer(3, strategy="uniform"), ["income"]),
    ],
    remainder="passthrough",
)
MIXED = {
    "mixed pipeline": make_pipeline(_TABLE, RandomForestClassifier(5, max_depth=4, random_state=0)),
    "mixed vote": VotingClassifier(
        [("forest", make_pipeline(_TABLE, PAIR[0][1])), ("line", make_pipeline(_TABLE, PAIR[1][1]))]
    ),
}
KD_TREE = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]


@cache
def _fitted(name):
    if name == "list":
        return [_fitted("forest"), {"other": (_fitted("bagged trees"),)}]
    if name in MIXED:
        return MIXED[name].fit(MIXED_ROWS, Y)
    return MODELS[name].fit(X, TRUE_NUMBERS if name in REGRESSORS else Y)


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


NUMBERS = (*INTEGERS, 0.5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)
TYPES = ("f2", "f4", "f8", ">f8", "i1", "i4", "i8", ">i4", "u1", "u8", "?", "c16", "U3", "S2")


def edit_array(data, rng):
    """Change values of an array, its length, its shape, its type or its order."""
    array = np.load(io.BytesIO(data)).copy()
    edits = [_edit_values, _edit_values, _edit_length, _edit_shape, _edit_type]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # casts of what has no such value
        array = rng.choice(edits)(array, rng)
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _edit_values(array, rng):
    """Change one value, or all; of nodes of a tree, in one field."""
    part = array[rng.choice(array.dtype.names)] if array.dtype.names else array
    if not part.size or part.dtype.kind not in "iuf?":
        return array[::-1] if array.ndim else array
    value = rng.choice(NUMBERS if part.dtype.kind == "f" else INTEGERS)
    value = np.array(value).astype(part.dtype)
    if rng.random() < 0.2:
        part[...] = value
    else:
        part[np.unravel_index(rng.randrange(part.size), part.shape)] = value
    return array


def _edit_length(array, rng):
    if not array.ndim:
        return np.repeat(array, rng.choice([0, 1, 3]))
    longer = rng.random() < 0.3 and array.size
    return np.repeat(array, 2, axis=0) if longer else array[: rng.randrange(len(array) + 1)]


def _edit_shape(array, rng):
    ways = (lambda: array[..., None], lambda: array[None], array.ravel, lambda: array.T)
    more = (lambda: array.reshape(-1)[0], lambda: array.reshape(array.shape[::-1]))
    return np.array(rng.choice(ways + more if array.size else ways)())


def _edit_type(array, rng):
    if array.dtype.names:
        array = array[rng.choice(array.dtype.names)]
    try:
        return array.astype(rng.choice(TYPES))
    except ValueError:  # text that is no number
        return np.zeros(array.shape, rng.choice(TYPES))


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
