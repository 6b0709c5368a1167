"""A hash of everything that votes depend on: the samples, and the fitted state of the members."""

from collections.abc import Iterator, Mapping

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn.tree._tree import Tree

from secateurs.ensembles import Ensemble
from secateurs.typing import Samples

_TREE_ARRAYS = (
    *("children_left", "children_right", "feature", "threshold"),
    *("missing_go_to_left", "value"),
)


def ensemble_fingerprint(ensemble: Ensemble, samples: Samples) -> str:
    """Return a hash of the samples and of all data that the members hold.

    A model that was written to a file and read again keeps its fingerprint. Functions inside
    members are left out, because their data may change from call to call.
    """
    views = [(ensemble.classes, ensemble.member_features(i)) for i in range(ensemble.n_members)]
    parts = [joblib.hash(part) for part in _hashable_parts((views, list(ensemble.members)), set())]
    table = np.ascontiguousarray(samples) if isinstance(samples, np.ndarray) else samples
    return joblib.hash([joblib.hash(table), *parts])


def _hashable_parts(value: object, enclosing: set[int]) -> Iterator[object]:
    """Yield the arrays, numbers and text inside a value, in a fixed order."""
    if id(value) in enclosing:  # a reference back to an enclosing object
        return
    enclosing = enclosing | {id(value)}
    if isinstance(value, Tree):
        yield from (np.ascontiguousarray(getattr(value, name)) for name in _TREE_ARRAYS)
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray)):
        yield value
    elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        yield np.ascontiguousarray(value)  # joblib's hash depends on the memory layout
    elif hasattr(value, "iloc") or issparse(value) or isinstance(value, memoryview):
        yield value
    elif isinstance(value, Mapping):
        for name, element in value.items():
            yield str(name)
            yield from _hashable_parts(element, enclosing)
    elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        elements = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        yield len(value)
        for element in elements:
            yield from _hashable_parts(element, enclosing)
    elif hasattr(value, "get_arrays"):  # KDTree and BallTree, whose state counts their calls
        yield from (np.asarray(array) for array in value.get_arrays())
    elif not callable(value) or hasattr(value, "predict"):
        yield type(value).__qualname__
        state = value.__getstate__()  # its attributes, or the state that it is pickled with
        yield from _hashable_parts(
            getattr(value, "__dict__", None) if state is None else state, enclosing
        )
