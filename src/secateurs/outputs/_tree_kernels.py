"""The compiled loop that sends rows down a decision tree."""

import numpy as np

from secateurs.outputs.compiling import kernel


@kernel
def walk_tree(values, n_features, features, thresholds, children, leaves):  # noqa: PLR0917
    """Send rows down a tree and fill in the leaves they end in.

    ``values`` are the rows one after the other; a row goes to ``children[2·node]`` where its value
    is at most the threshold, else to the next one; a leaf's children are itself. Some rows walk
    side by side, so that one waits for memory while others go on, and nothing is guessed;
    unsigned indices spare the check for negative ones.
    """
    side = 16
    width = np.uintp(n_features)
    for first in range(0, leaves.size, side):
        last = min(leaves.size, first + side)
        for row in range(first, last):
            leaves[row] = 0
        moved = np.uintp(1)
        while moved != np.uintp(0):
            moved = np.uintp(0)
            for row in range(first, last):
                place = np.uintp(row)
                node = np.uintp(leaves[place])
                value = values[place * width + np.uintp(features[node])]
                step = np.uintp(0) if value <= thresholds[node] else np.uintp(1)
                child = np.uintp(children[(node << np.uintp(1)) + step])
                moved |= child ^ node
                leaves[place] = child
