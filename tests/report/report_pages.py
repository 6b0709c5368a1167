"""Pages to test on, of several kinds of votes."""

import warnings

import numpy as np
import pandas as pd

import cases
from secateurs import prune
from secateurs.report import report_data

HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=2>",
    "\"' onmouseover=window.hacked=3 x='",
    "${window.hacked=4}",
    "`+(window.hacked=5)+`",
    "line\u2028separator\u2029and <!-- comment",
    "&lt;b&gt; & <b>",
    "x" * 3000,
    "]]> \\u003c/script> \x00",
]


def make_data(kinds, n_classes, *, n_rows=120, n_test=90, seed=0, keep=5, names=None, **parameters):
    """The data of a report of votes of the given kinds; names for members and classes."""
    labels = None if names is None else names[:n_classes]
    votes, y = cases.make(seed, n_rows, n_classes, kinds, labels)
    columns = names[: len(kinds)] if names else None
    frame = pd.DataFrame(np.array(votes, dtype=object if names else int), columns=columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members worse than chance
        pruning = prune(frame, y=y, keep=keep, random_state=0, **parameters)
        if n_test is None:
            return report_data(pruning)
        test, y_test = cases.make(seed + 1, n_test, n_classes, kinds, labels)
        return report_data(pruning, np.array(test, dtype=object if names else int), y_test)
