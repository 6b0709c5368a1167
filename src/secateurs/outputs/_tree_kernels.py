"""The compiled loop that sends rows down a decision tree."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def walk_tree(  # noqa: PLR0917
    values, n_features, features, thresholds, children, leaf_codes, codes
):
    """Send rows down a tree and fill codes with the codes of the leaves they end in.

    ``values`` are the rows one after the other; a row goes to ``children[2·node]`` where its value
    is at most the threshold, else to the next one; a leaf's children are itself. Some rows walk
    side by side, so that one waits for memory while others go on, and nothing is guessed;
    unsigned indices spare the check for negative ones.
    """
    side = 16
    nodes = np.zeros(side, dtype=np.uintp)
    starts = np.zeros(side, dtype=np.uintp)
    for first in range(0, codes.size, side):
        n_rows = min(side, codes.size - first)
        for row in range(n_rows):
            nodes[row] = np.uintp(0)
            starts[row] = np.uintp((first + row) * n_features)
        moved = np.uintp(1)
        while moved != np.uintp(0):
            moved = np.uintp(0)
            for row in range(n_rows):
                node = nodes[row]
                value = values[starts[row] + np.uintp(features[node])]
                step = np.uintp(0) if value <= thresholds[node] else np.uintp(1)
                child = np.uintp(children[(node << np.uintp(1)) + step])
                moved |= child ^ node
                nodes[row] = child
        for row in range(n_rows):
            codes[first + row] = leaf_codes[nodes[row]]
