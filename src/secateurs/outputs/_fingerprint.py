"""A hash of what votes follow from: the rows, and the fitted state of the members."""

from collections.abc import Iterator, Mapping
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn.tree._tree import Tree

from secateurs.ensembles import Ensemble

_TREE_ARRAYS = (
    *("children_left", "children_right", "feature", "threshold"),
    *("missing_go_to_left", "value"),
)


def ensemble_fingerprint(ensemble: Ensemble, rows: Any) -> str:
    """Return a hash of the rows and of all data that the members hold.

    A model that was written to a file and read again has the fingerprint it had. Functions inside
    members are left out: their data may change from call to call.
    """
    known = [(ensemble.classes, ensemble.member_features(i)) for i in range(ensemble.n_members)]
    parts = [joblib.hash(part) for part in _hashable_parts((known, list(ensemble.members)), set())]
    table = np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows
    return joblib.hash([joblib.hash(table), *parts])


def _hashable_parts(value: Any, above: set[int]) -> Iterator[Any]:
    """Yield the arrays, numbers and text inside of a value, in a fixed order."""
    if id(value) in above:
        return
    above = above | {id(value)}
    if isinstance(value, Tree):
        yield from (np.ascontiguousarray(getattr(value, name)) for name in _TREE_ARRAYS)
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray)):
        yield value
    elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        yield np.ascontiguousarray(value)  # hashes depend on how an array lies in memory
    elif hasattr(value, "iloc") or issparse(value) or isinstance(value, memoryview):
        yield value
    elif isinstance(value, Mapping):
        for name, inside in value.items():
            yield str(name)
            yield from _hashable_parts(inside, above)
    elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        inner = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        yield len(value)
        for inside in inner:
            yield from _hashable_parts(inside, above)
    elif hasattr(value, "get_arrays"):  # trees of neighbours, which also count their calls
        yield from (np.asarray(array) for array in value.get_arrays())
    elif not callable(value) or hasattr(value, "predict"):
        yield type(value).__qualname__
        state = value.__getstate__()  # its attributes, or what it is pickled by
        yield from _hashable_parts(
            getattr(value, "__dict__", None) if state is None else state, above
        )
