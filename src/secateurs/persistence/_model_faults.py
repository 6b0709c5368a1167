"""Check the trees and other indices of a loaded model before anything can call `predict`.

scikit-learn's compiled code follows the indices of a fitted model without a check: a child, a
feature or a class out of range crashes the process or reads memory outside the array.
"""

from collections.abc import Iterator
from itertools import pairwise
from numbers import Number
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble._forest import BaseForest
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from secateurs.typing import Array

_LEAF = -1  # child of a leaf, as in scikit-learn
_TWISTER_LENGTH = 624  # words of state in NumPy's Mersenne twister

_ATOMS = (str, bytes, int, float, complex, np.generic, np.dtype, type(None))
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)


def reachable_objects(root: object) -> list[Any]:
    """Return an object and all objects that it contains, each once; cycles are allowed.

    Attributes, lists, tuples, sets, dicts and arrays of objects are followed. Numbers, strings,
    functions and classes are left out.
    """
    seen: dict[int, object] = {}  # keeps objects alive, so that no id is reused
    stack = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, (*_ATOMS, *_CODE)) or id(item) in seen:
            continue
        seen[id(item)] = item
        stack.extend(_child_objects(item))
    return list(seen.values())


def find_fault(model: object) -> str | None:
    """Return the first fault in a model, or in a container of models; None without faults.

    A fault is anything that makes compiled code read outside its arrays.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secateurs.persistence._model_faults import find_fault
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> find_fault(model) is None
    True
    >>> model.tree_.feature[0] = 7
    >>> find_fault(model)
    'a tree splits on a feature it does not have'
    """
    items = reachable_objects(model)
    # Each check stops at its first fault, because the code after it relies on sound values.
    checks = (_tree_faults, _estimator_faults, _neighbour_faults, _svm_faults, _generator_faults)
    ensembles = (_feature_faults, _output_faults, _class_faults)
    # Boosting comes last: its check calls a predict method, which must be safe by then.
    for check in (*checks, _encoder_faults, _vocabulary_faults, *ensembles, _boosting_faults):
        for item in items:
            for fault in check(item):
                return fault
    return None


def _child_objects(item: object) -> list[object]:
    """Return the objects that a loaded object refers to."""
    children: list[object] = list(_instance_attributes(item).values())
    if isinstance(item, dict):
        children += [*item.keys(), *item.values()]
    elif isinstance(item, (list, tuple, set, frozenset)):
        children += item
    elif isinstance(item, np.ndarray) and item.dtype == object:
        children += np.asarray(item).ravel().tolist()
    return children


def _instance_attributes(item: object) -> dict[str, Any]:
    """Return the attributes stored in an object itself."""
    return vars(item) if hasattr(item, "__dict__") else {}


def _sklearn_attributes(item: object) -> dict[str, Any]:
    """Return the attributes of an object of scikit-learn; other classes may reuse the names."""
    return _instance_attributes(item) if type(item).__module__.startswith("sklearn.") else {}


def _tree_faults(tree: object) -> Iterator[str]:
    """Yield what is wrong with the node arrays of a tree."""
    if not isinstance(tree, Tree):
        return
    if tree.node_count < 1:
        yield "a tree has no nodes"
    if tree.n_outputs < 1 or tree.n_features < 1 or (tree.n_classes < 1).any():
        yield "a tree has no features, outputs or classes"
    left, right = tree.children_left, tree.children_right
    parents = np.flatnonzero(left != _LEAF)
    if (right[left == _LEAF] != _LEAF).any():
        yield "a leaf of a tree has a child"
    children = np.concatenate([left[parents], right[parents]])
    # Children that come after their parents also rule out cycles.
    if (children <= np.tile(parents, 2)).any() or (children >= tree.node_count).any():
        yield "a tree points outside its nodes, or back"
    if (np.bincount(children, minlength=tree.node_count)[1:] != 1).any():
        yield "a node of a tree has no parent, or two"
    features = tree.feature[parents]
    if (features < 0).any() or (features >= tree.n_features).any():
        yield "a tree splits on a feature it does not have"
    if tree.value.shape != (tree.node_count, tree.n_outputs, tree.max_n_classes):
        yield "a tree has values of a wrong shape"
    if tree.max_depth != tree.compute_node_depths().max() - 1:  # the root has depth 1
        yield "a tree is not as deep as it claims"  # decision_path allocates by max_depth


def _estimator_faults(owner: object) -> Iterator[str]:
    """Compare an estimator with its tree, and check that no attribute hides a method."""
    attributes = _sklearn_attributes(owner)
    if any(callable(getattr(type(owner), name, None)) for name in attributes):
        yield "an attribute has the name of a method"
    tree = attributes.get("tree_")
    if not isinstance(tree, Tree):
        if isinstance(owner, BaseDecisionTree) and "tree_" in attributes:
            yield "a tree's estimator holds no tree"
        return
    if not _is_count(attributes.get("n_features_in_"), tree.n_features):
        yield "a tree has other features than its estimator"
    if not _is_count(attributes.get("n_outputs_"), tree.n_outputs):
        yield "a tree has other outputs than its estimator"
    if "classes_" in attributes:
        classes = attributes["classes_"] if tree.n_outputs > 1 else [attributes["classes_"]]
        claimed = np.atleast_1d(attributes["n_classes_"])
        if not [len(labels) for labels in classes] == claimed.tolist() == tree.n_classes.tolist():
            yield "a tree has other classes than its estimator"
    elif (tree.n_classes != 1).any():
        yield "a regression tree has classes"


def _feature_faults(ensemble: object) -> Iterator[str]:
    """Check which features of an ensemble its members use."""
    attributes = _sklearn_attributes(ensemble)
    members, n_features = attributes.get("estimators_"), attributes.get("n_features_in_", 0)
    if not isinstance(members, list):
        return
    feature_lists = attributes.get("estimators_features_", [None] * len(members))
    if not members or len(feature_lists) != len(members):
        yield "an ensemble has no members, or other lists of features than members"
    for member, features in zip(members, feature_lists, strict=True):
        if not hasattr(member, "predict"):
            yield "a member is not a model"
        if isinstance(ensemble, BaseForest) and not isinstance(member, BaseDecisionTree):
            yield "a member of a forest is not a tree"
        if isinstance(member, BaseDecisionTree) and "tree_" not in _sklearn_attributes(member):
            yield "a member was not fitted"
        own = _sklearn_attributes(member).get("n_features_in_")
        if features is not None:
            columns = np.asarray(features)
            if columns.ndim != 1 or columns.dtype.kind not in "iu":
                yield "a member's list of features does not hold indices"
            # Pipelines and searches do not store the number: their first step has and checks it.
            has_others = own is not None and not _is_count(own, len(columns))
            if has_others or not _are_within(columns, n_features):
                yield "a member uses features that the ensemble does not have"
        elif isinstance(member, BaseDecisionTree) and own != attributes.get("n_features_in_", own):
            yield "a member has other features than the ensemble"


def _output_faults(ensemble: object) -> Iterator[str]:
    """Check that members have the outputs of their ensemble, and predict labels only if it does."""
    held = _sklearn_attributes(ensemble)
    if not isinstance(held.get("estimators_"), list):
        return
    for member in held["estimators_"]:
        own = _sklearn_attributes(member).get("n_outputs_", 1)
        if isinstance(member, BaseDecisionTree) and not _is_count(held.get("n_outputs_", own), own):
            yield "a member has other outputs than the ensemble"
        if isinstance(ensemble, RegressorMixin) and "classes_" in _sklearn_attributes(member):
            yield "a member predicts labels, but its ensemble is a regressor"


def _class_faults(ensemble: object) -> Iterator[str]:
    """Check that members have only classes of their ensemble."""
    held = _sklearn_attributes(ensemble)
    labels = held["le_"].classes_ if "le_" in held else held.get("classes_")
    if not isinstance(held.get("estimators_"), list) or labels is None:
        return
    classes = np.asarray(labels)
    if classes.dtype.kind == "U" and not _is_valid_unicode(classes):
        yield "labels of an ensemble are not text"
    if held.get("n_outputs_", 1) != 1:
        return
    if not _are_labels(classes):
        yield "the classes of an ensemble are not distinct labels"
    if "n_classes_" in held and not _is_count(held["n_classes_"], len(classes)):
        yield "an ensemble has other classes than it claims"
    n_members = len(held["estimators_"])
    for name in ("estimator_weights_", "estimator_errors_"):
        values = np.asarray(held.get(name, np.zeros(n_members)))
        if values.ndim != 1 or values.dtype.kind not in "fiu" or len(values) < n_members:
            yield "an ensemble has fewer weights or errors than members"
    # Members of AdaBoost predict labels, members of other ensembles predict class indices. A soft
    # vote averages probabilities by column, so that labels in the same order are valid as well.
    allowed = classes if "estimator_weights_" in held else np.arange(len(classes))
    for member in held["estimators_"]:
        own = np.asarray(getattr(member, "classes_", allowed))
        if held.get("voting") == "soft" and np.array_equal(own, classes):
            continue
        # A hard vote counts booleans as 0 and 1; elsewhere they would be a mask.
        is_counted = own.dtype.kind != "b" or held.get("voting") == "hard"
        is_index = np.can_cast(own.dtype, np.int64) and is_counted
        # Bagging and Voting use them as indices; trees of a forest store them as floats.
        is_index |= "estimators_features_" not in held and "le_" not in held
        is_distinct = own.ndim == 1 and len(np.unique(own)) == len(own)
        if not is_distinct or not is_index or not np.isin(own, allowed).all():
            yield "a member has classes that the ensemble does not have"


def _boosting_faults(booster: object) -> Iterator[str]:
    """Check gradient boosting, which uses its trees without their estimators."""
    held = _sklearn_attributes(booster)
    stages = held.get("estimators_")
    if not (isinstance(stages, np.ndarray) and hasattr(booster, "_raw_predict_init")):
        return
    members = stages.ravel().tolist()
    trees: list[Tree] = [_sklearn_attributes(member).get("tree_") for member in members]
    if not all(isinstance(member, BaseDecisionTree) for member in members) or not all(
        isinstance(tree, Tree) for tree in trees
    ):
        yield "a stage of boosting is not a fitted tree"
    n_features = trees[0].n_features
    if any(tree.n_features != n_features or tree.value.shape[1:] != (1, 1) for tree in trees):
        yield "the trees of boosting have different shapes"
    start = booster._raw_predict_init(np.zeros((1, n_features), dtype=np.float32))
    if start.shape != (1, stages.shape[1]):
        yield "the stages of boosting have other outputs than their initial prediction"
    labels = np.asarray(held.get("classes_", [0, 1]))
    if not _are_labels(labels) or stages.shape[1:] != (1 if len(labels) == 2 else len(labels),):
        yield "the stages of boosting have other outputs than classes"


def _neighbour_faults(model: object) -> Iterator[str]:
    """Check the stored samples of nearest neighbours, and the codes of their classes."""
    held = _sklearn_attributes(model)
    samples = held.get("_fit_X")
    if not isinstance(samples, np.ndarray):
        return
    if samples.ndim != 2 or not _is_count(held.get("n_features_in_"), samples.shape[1]):
        yield "stored neighbours have other features than their estimator"
    codes = np.asarray(held.get("_y"))
    if codes.ndim and len(codes) != len(samples):
        yield "stored neighbours and their targets differ in number"
    if "classes_" not in held or codes.ndim != 1:
        return
    if codes.dtype.kind not in "iu" or not _are_within(codes, len(held["classes_"])):
        yield "a stored neighbour is of an unknown class"


def _svm_faults(machine: BaseEstimator) -> Iterator[str]:
    """Check support vector machines, whose counts libsvm uses without a check."""
    held = _sklearn_attributes(machine)
    if "_n_support" not in held:
        return
    if held["_sparse"] or callable(held["kernel"]) or "_impl" in held:
        yield "a support vector machine is of a kind that cannot be checked"
    counts, support = np.asarray(held["_n_support"]), np.asarray(held["support_"])
    n_pairs = len(counts) * (len(counts) - 1) // 2
    vectors = (0 if held["kernel"] == "precomputed" else len(support), held["n_features_in_"])
    is_consistent = (
        len(counts) > 1
        and held["_dual_coef_"].shape == (len(counts) - 1, len(support))
        and (held["support_vectors_"].shape == vectors or vectors[0] == 0)
        and held["_intercept_"].shape == (n_pairs,)
        and held["_probA"].shape == held["_probB"].shape
        and held["_probA"].size in (0, n_pairs)
    )
    if machine._impl in ("c_svc", "nu_svc"):
        is_consistent = is_consistent and counts.sum() == len(support)
    if not is_consistent or (counts < 0).any() or not _are_within(support, held["shape_fit_"][0]):
        yield "a support vector machine counts its vectors wrongly"


def _generator_faults(generator: object) -> Iterator[str]:
    """Yield what is wrong with the state of a random generator."""
    if not isinstance(generator, np.random.RandomState):
        return
    state = generator.get_state(legacy=False)["state"]
    if not 0 <= state.get("pos", 0) <= _TWISTER_LENGTH:
        yield "a random generator points outside its state"


def _encoder_faults(encoder: object) -> Iterator[str]:
    """Check one-hot encoders: a code beyond the columns is written outside the sparse table."""
    held = _sklearn_attributes(encoder)
    if not isinstance(encoder, OneHotEncoder) or "categories_" not in held:
        return
    categories = held["categories_"]
    if not _is_count(held.get("n_features_in_"), len(categories)):
        yield "an encoder has other features than lists of categories"
    if not all(_are_categories(values) for values in categories):
        yield "the categories of an encoder are not in order"
    grouped = held["_infrequent_enabled"]
    groups = held["_infrequent_indices"] if grouped else [None] * len(categories)
    maps = held["_default_to_infrequent_mappings"] if grouped else groups
    dropped = held["_drop_idx_after_grouping"]
    dropped = [None] * len(categories) if dropped is None else dropped
    for values, group, codes, drop in zip(categories, groups, maps, dropped, strict=True):
        n_codes = len(values)
        if (group is None) != (codes is None):
            yield "an encoder groups categories without their codes"
        if group is not None:
            n_codes += 1 - len(group)
            if len(codes) != len(values) or not _are_indices(codes, n_codes):
                yield "an encoder has codes for other categories than its own"
            if not len(group) or not _are_indices(group, len(values)):
                yield "an encoder groups categories that it does not have"
        if drop is not None and not _are_indices([drop], n_codes):
            yield "an encoder drops a category that it does not have"
    if list(held["_n_features_outs"]) != encoder._compute_n_features_outs():
        yield "an encoder has other columns than categories"


def _are_categories(values: object) -> bool:
    """Return whether numeric categories increase, a missing one last; text may be unsorted."""
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return False
    # scikit-learn looks numbers up by bisection, and text in a dict.
    present = (values.view(np.int64) if values.dtype.kind in "mM" else values).tolist()
    present = present[:-1] if present and present[-1] != present[-1] else present
    if not all(isinstance(value, (Number, np.bool_)) for value in present):
        return True
    return all(low < high for low, high in pairwise(present))


def _vocabulary_faults(vectoriser: object) -> Iterator[str]:
    """Check vectorisers of text and dicts, whose column indices are not checked later."""
    held = _sklearn_attributes(vectoriser)
    if isinstance(vectoriser, (FeatureHasher, HashingVectorizer)):
        n_features = held["n_features"]
        if not isinstance(n_features, int) or not 0 < n_features < 1 << 31:
            yield "a vectoriser hashes into 0 columns"
    if isinstance(vectoriser, TfidfTransformer) and "idf_" in held:
        weights = np.asarray(held["idf_"])
        if weights.ndim != 1 or not _is_count(held.get("n_features_in_"), len(weights)):
            yield "a vocabulary does not have one weight for each word"
    if not isinstance(vectoriser, (CountVectorizer, DictVectorizer)) or "vocabulary_" not in held:
        return
    columns = list(held["vocabulary_"].values())
    if not all(isinstance(column, (int, np.integer)) for column in columns) or (
        sorted(columns) != list(range(len(columns)))
    ):
        yield "a vocabulary does not have one column for each word"


def _are_indices(codes: ArrayLike, bound: int) -> bool:
    """Return whether codes are a list of integers in [0, bound)."""
    values = np.asarray(codes)
    return values.ndim == 1 and values.dtype.kind in "iu" and _are_within(values, bound)


def _are_labels(values: Array) -> bool:
    """Return whether there are labels, without duplicates."""
    return values.ndim == 1 and len(values) > 0 and len(np.unique(values)) == len(values)


def _is_count(value: object, expected: int) -> bool:
    """Return whether a value in a model is this integer; a masked array is equal to anything."""
    return isinstance(value, (int, np.integer)) and bool(value == expected)


def _are_within(codes: Array, bound: int) -> bool:
    return bool(((codes >= 0) & (codes < bound)).all())


def _is_valid_unicode(labels: NDArray[np.str_]) -> bool:
    """Return whether all characters are valid Unicode code points, without surrogates."""
    letters = np.ascontiguousarray(labels, labels.dtype.newbyteorder("=")).view(np.uint32)
    return _are_within(letters, 0x110000) and not (letters >> 11 == 0xD800 >> 11).any()
