"""Check the trees and other indices of a loaded model before anything can call `predict`.

scikit-learn's compiled code follows the indices of a fitted model unchecked: a child, a feature or
a class out of range crashes the process or reads memory beside the array.
"""

from collections.abc import Iterator
from itertools import pairwise
from numbers import Number
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.ensemble._forest import BaseForest
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

_LEAF = -1
_TWISTER_LENGTH = 624  # words of state in NumPy's Mersenne twister

_ATOMS = (str, bytes, int, float, complex, np.generic, np.dtype, type(None))
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)


def reachable_objects(root: object) -> list[Any]:
    """Return all that an object holds, itself first, each object once; cycles do no harm.

    Attributes, lists, tuples, sets, dicts and arrays of objects are followed. Numbers, strings,
    functions and classes are left out.

    Examples
    --------
    >>> from secateurs.persistence._model_faults import reachable_objects
    >>> ring = {"name": "ring", "parts": []}
    >>> ring["parts"].append(ring)
    >>> len(reachable_objects(ring))
    2
    """
    seen: dict[int, Any] = {}  # keeps objects alive, so that no id is reused
    stack = [root]
    while stack:
        thing = stack.pop()
        if isinstance(thing, (*_ATOMS, *_CODE)) or id(thing) in seen:
            continue
        seen[id(thing)] = thing
        stack.extend(_child_objects(thing))
    return list(seen.values())


def find_fault(model: object) -> str | None:
    """Return the first fault in a model, or a container of models; None if it is sound.

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
    things = reachable_objects(model)
    # Each check stops at its first fault: what follows may rely on there being none.
    checks = (_tree_faults, _estimator_faults, _neighbour_faults, _svm_faults, _generator_faults)
    ensembles = (_feature_faults, _output_faults, _class_faults)
    # Boosting comes last: checking it asks a member to predict, which must be safe by then.
    for check in (*checks, _encoder_faults, _vocabulary_faults, *ensembles, _boosting_faults):
        for thing in things:
            for fault in check(thing):
                return fault
    return None


def _child_objects(thing: Any) -> list[Any]:
    parts = list(_instance_attributes(thing).values())
    if isinstance(thing, dict):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts += thing
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        parts += np.asarray(thing).ravel().tolist()
    return parts


def _instance_attributes(thing: Any) -> dict[str, Any]:
    """Return the attributes stored in an object itself."""
    return vars(thing) if hasattr(thing, "__dict__") else {}


def _sklearn_attributes(thing: Any) -> dict[str, Any]:
    """Return the attributes of scikit-learn's own classes; others may use the names freely."""
    return _instance_attributes(thing) if type(thing).__module__.startswith("sklearn.") else {}


def _tree_faults(tree: Any) -> Iterator[str]:
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
        yield "a tree is not as deep as it says"  # decision_path allocates by max_depth


def _estimator_faults(owner: Any) -> Iterator[str]:
    """Compare an estimator with its tree, and check that no attribute hides a method."""
    held = _sklearn_attributes(owner)
    if any(callable(getattr(type(owner), name, None)) for name in held):
        yield "an attribute takes the place of a method"
    tree = held.get("tree_")
    if not isinstance(tree, Tree):
        if isinstance(owner, BaseDecisionTree) and "tree_" in held:
            yield "a tree's estimator holds no tree"
        return
    if not _is_count(held.get("n_features_in_"), tree.n_features):
        yield "a tree has other features than its estimator"
    if not _is_count(held.get("n_outputs_"), tree.n_outputs):
        yield "a tree has other outputs than its estimator"
    if "classes_" in held:
        classes = held["classes_"] if tree.n_outputs > 1 else [held["classes_"]]
        said = np.atleast_1d(held["n_classes_"])
        if not [len(some) for some in classes] == said.tolist() == tree.n_classes.tolist():
            yield "a tree has other classes than its estimator"
    elif (tree.n_classes != 1).any():
        yield "a tree of numbers has classes"


def _feature_faults(ensemble: Any) -> Iterator[str]:
    """Check what the members of an ensemble see of its features."""
    held = _sklearn_attributes(ensemble)
    members, n_features = held.get("estimators_"), held.get("n_features_in_", 0)
    if not isinstance(members, list):
        return
    views = held.get("estimators_features_", [None] * len(members))
    if not members or len(views) != len(members):
        yield "an ensemble has no members, or other lists of features than members"
    for member, view in zip(members, views, strict=True):
        if not hasattr(member, "predict"):
            yield "a member is not a model"
        if isinstance(ensemble, BaseForest) and not isinstance(member, BaseDecisionTree):
            yield "a member of a forest is not a tree"
        if isinstance(member, BaseDecisionTree) and "tree_" not in _sklearn_attributes(member):
            yield "a member was not fitted"
        own = _sklearn_attributes(member).get("n_features_in_")
        if view is not None:
            columns = np.asarray(view)
            if columns.ndim != 1 or columns.dtype.kind not in "iu":
                yield "a member's list of features does not hold places"
            # Pipelines and searches store no number: their first step has it, and checks it.
            has_others = own is not None and not _is_count(own, len(columns))
            if has_others or not _are_within(columns, n_features):
                yield "a member sees features that the ensemble does not have"
        elif isinstance(member, BaseDecisionTree) and own != held.get("n_features_in_", own):
            yield "a member has other features than the ensemble"


def _output_faults(ensemble: Any) -> Iterator[str]:
    """Check that members predict what their ensemble does: as many outputs, labels or numbers."""
    held = _sklearn_attributes(ensemble)
    if not isinstance(held.get("estimators_"), list):
        return
    for member in held["estimators_"]:
        own = _sklearn_attributes(member).get("n_outputs_", 1)
        if isinstance(member, BaseDecisionTree) and not _is_count(held.get("n_outputs_", own), own):
            yield "a member has other outputs than the ensemble"
        if isinstance(ensemble, RegressorMixin) and "classes_" in _sklearn_attributes(member):
            yield "a member predicts labels, and its ensemble numbers"


def _class_faults(ensemble: Any) -> Iterator[str]:
    """Check that members know no classes but those of their ensemble."""
    held = _sklearn_attributes(ensemble)
    labels = held["le_"].classes_ if "le_" in held else held.get("classes_")
    if not isinstance(held.get("estimators_"), list) or labels is None:
        return
    known = np.asarray(labels)
    if known.dtype.kind == "U" and not _is_valid_unicode(known):
        yield "labels of an ensemble are not text"
    if held.get("n_outputs_", 1) != 1:
        return
    if not _are_labels(known):
        yield "the classes of an ensemble are not distinct labels"
    if "n_classes_" in held and not _is_count(held["n_classes_"], len(known)):
        yield "an ensemble has other classes than it says"
    n_members = len(held["estimators_"])
    for name in ("estimator_weights_", "estimator_errors_"):
        values = np.asarray(held.get(name, np.zeros(n_members)))
        if values.ndim != 1 or values.dtype.kind not in "fiu" or len(values) < n_members:
            yield "an ensemble has fewer weights or errors than members"
    # Members of AdaBoost answer with labels, those of all others with places among them; in a soft
    # vote, which takes their probabilities as they come, labels in the same order do as well.
    places = known if "estimator_weights_" in held else np.arange(len(known))
    for member in held["estimators_"]:
        answers = np.asarray(getattr(member, "classes_", places))
        if held.get("voting") == "soft" and np.array_equal(answers, known):
            continue
        is_index = np.can_cast(answers.dtype, np.int64) and answers.dtype.kind != "b"
        # Bagging and Voting index with them; trees of a forest have them as floats.
        is_index |= "estimators_features_" not in held and "le_" not in held
        is_distinct = answers.ndim == 1 and len(np.unique(answers)) == len(answers)
        if not is_distinct or not is_index or not np.isin(answers, places).all():
            yield "a member knows classes that the ensemble does not have"


def _boosting_faults(booster: Any) -> Iterator[str]:
    """Check gradient boosting, which uses its trees without their estimators."""
    held = _sklearn_attributes(booster)
    stages = held.get("estimators_")
    if not (isinstance(stages, np.ndarray) and hasattr(booster, "_raw_predict_init")):
        return
    members = stages.ravel().tolist()
    trees: list[Any] = [_sklearn_attributes(member).get("tree_") for member in members]
    if not all(isinstance(member, BaseDecisionTree) for member in members) or not all(
        isinstance(tree, Tree) for tree in trees
    ):
        yield "a stage of boosting is not a fitted tree"
    n_features = trees[0].n_features
    if any(tree.n_features != n_features or tree.value.shape[1:] != (1, 1) for tree in trees):
        yield "the trees of boosting do not fit together"
    start = booster._raw_predict_init(np.zeros((1, n_features), dtype=np.float32))
    if start.shape != (1, stages.shape[1]):
        yield "the stages of boosting have other outputs than their start"
    labels = np.asarray(held.get("classes_", [0, 1]))
    if not _are_labels(labels) or stages.shape[1:] != (1 if len(labels) == 2 else len(labels),):
        yield "the stages of boosting have other outputs than classes"


def _neighbour_faults(model: Any) -> Iterator[str]:
    """Check the stored samples of nearest neighbours, and the codes of their classes."""
    held = _sklearn_attributes(model)
    samples = held.get("_fit_X")
    if not isinstance(samples, np.ndarray):
        return
    if samples.ndim != 2 or not _is_count(held.get("n_features_in_"), samples.shape[1]):
        yield "stored neighbours have other features than their estimator"
    codes = np.asarray(held.get("_y"))
    if codes.ndim and len(codes) != len(samples):
        yield "stored neighbours and their classes or numbers differ in number"
    if "classes_" not in held or codes.ndim != 1:
        return
    if codes.dtype.kind not in "iu" or not _are_within(codes, len(held["classes_"])):
        yield "a stored neighbour is of an unknown class"


def _svm_faults(machine: Any) -> Iterator[str]:
    """Check support vector machines, whose counts libsvm trusts."""
    held = _sklearn_attributes(machine)
    if "_n_support" not in held:
        return
    if held["_sparse"] or callable(held["kernel"]) or "_impl" in held:
        yield "a support vector machine is of a kind that cannot be checked"
    counts, support = np.asarray(held["_n_support"]), np.asarray(held["support_"])
    n_pairs = len(counts) * (len(counts) - 1) // 2
    vectors = (0 if held["kernel"] == "precomputed" else len(support), held["n_features_in_"])
    fits = (
        len(counts) > 1
        and held["_dual_coef_"].shape == (len(counts) - 1, len(support))
        and (held["support_vectors_"].shape == vectors or vectors[0] == 0)
        and held["_intercept_"].shape == (n_pairs,)
        and held["_probA"].shape == held["_probB"].shape
        and held["_probA"].size in (0, n_pairs)
    )
    if machine._impl in ("c_svc", "nu_svc"):
        fits = fits and counts.sum() == len(support)
    if not fits or (counts < 0).any() or not _are_within(support, held["shape_fit_"][0]):
        yield "a support vector machine counts its vectors wrongly"


def _generator_faults(generator: Any) -> Iterator[str]:
    if not isinstance(generator, np.random.RandomState):
        return
    state = generator.get_state(legacy=False)["state"]
    if not 0 <= state.get("pos", 0) <= _TWISTER_LENGTH:
        yield "a random generator points outside its state"


def _encoder_faults(encoder: Any) -> Iterator[str]:
    """Check one-hot encoders: a code beyond their columns is written beside the sparse table."""
    held = _sklearn_attributes(encoder)
    if not isinstance(encoder, OneHotEncoder) or "categories_" not in held:
        return
    categories = held["categories_"]
    if not _is_count(held.get("n_features_in_"), len(categories)):
        yield "an encoder has other features than lists of categories"
    if not all(_are_categories(some) for some in categories):
        yield "the categories of an encoder are not in order"
    grouped = held["_infrequent_enabled"]
    groups = held["_infrequent_indices"] if grouped else [None] * len(categories)
    maps = held["_default_to_infrequent_mappings"] if grouped else groups
    dropped = held["_drop_idx_after_grouping"]
    dropped = [None] * len(categories) if dropped is None else dropped
    for some, group, codes, drop in zip(categories, groups, maps, dropped, strict=True):
        n_codes = len(some)
        if (group is None) != (codes is None):
            yield "an encoder groups categories without saying how"
        if group is not None:
            n_codes += 1 - len(group)
            if len(codes) != len(some) or not _are_indices(codes, n_codes):
                yield "an encoder has codes for other categories than its own"
            if not len(group) or not _are_indices(group, len(some)):
                yield "an encoder groups categories that it does not have"
        if drop is not None and not _are_indices([drop], n_codes):
            yield "an encoder drops a category that it does not have"
    if list(held["_n_features_outs"]) != encoder._compute_n_features_outs():
        yield "an encoder has other columns than categories"


def _are_categories(values: Any) -> bool:
    """Whether numbers rise, a missing one last: they are looked up by bisection; text is not."""
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return False
    known = (values.view(np.int64) if values.dtype.kind in "mM" else values).tolist()
    known = known[:-1] if known and known[-1] != known[-1] else known
    if not all(isinstance(value, (Number, np.bool_)) for value in known):
        return True
    return all(low < high for low, high in pairwise(known))


def _vocabulary_faults(vectoriser: Any) -> Iterator[str]:
    """Check vectorisers of text and of dicts, whose places go into a sparse table unchecked."""
    held = _sklearn_attributes(vectoriser)
    if isinstance(vectoriser, (FeatureHasher, HashingVectorizer)):
        n_features = held["n_features"]
        if not isinstance(n_features, int) or not 0 < n_features < 1 << 31:
            yield "a vectoriser hashes into no columns"
    if isinstance(vectoriser, TfidfTransformer) and "idf_" in held:
        weights = np.asarray(held["idf_"])
        if weights.ndim != 1 or not _is_count(held.get("n_features_in_"), len(weights)):
            yield "the words of a vocabulary do not have a weight each"
    if not isinstance(vectoriser, (CountVectorizer, DictVectorizer)) or "vocabulary_" not in held:
        return
    places = list(held["vocabulary_"].values())
    if not all(isinstance(place, (int, np.integer)) for place in places) or (
        sorted(places) != list(range(len(places)))
    ):
        yield "the words of a vocabulary do not have a column each"


def _are_indices(codes: Any, bound: int) -> bool:
    """Whether codes are a list of integers below a bound."""
    values = np.asarray(codes)
    return values.ndim == 1 and values.dtype.kind in "iu" and _are_within(values, bound)


def _are_labels(values: NDArray[Any]) -> bool:
    """Whether there are labels, each of them once."""
    return values.ndim == 1 and len(values) > 0 and len(np.unique(values)) == len(values)


def _is_count(value: Any, expected: int) -> bool:
    """Whether a plain integer has the value expected; a masked array would equal anything."""
    return isinstance(value, (int, np.integer)) and bool(value == expected)


def _are_within(codes: NDArray[Any], bound: int) -> bool:
    return bool(((codes >= 0) & (codes < bound)).all())


def _is_valid_unicode(labels: NDArray[np.str_]) -> bool:
    """Whether all letters are letters of Unicode, not halves of one."""
    letters = np.ascontiguousarray(labels, labels.dtype.newbyteorder("=")).view(np.uint32)
    return _are_within(letters, 0x110000) and not (letters >> 11 == 0xD800 >> 11).any()
