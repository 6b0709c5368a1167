"""What tests of all pruners share."""

import inspect

import sklearn

from secateurs import all_pruners, make_pruner

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def quick(name, **parameters):
    """Make a pruner that is repeatable and does not take long."""
    known = inspect.signature(all_pruners()[name]).parameters
    settled = {"random_state": 0, "n_iterations": 30}
    settled = {key: value for key, value in settled.items() if key in known}
    return make_pruner(name, **{**settled, **parameters})


def broken_checks(estimator):
    """Checks of an old scikit-learn that fail for all estimators with categorical input."""
    if VERSION >= (1, 7):
        return {}
    return {"check_positive_only_tag_during_fit": "subtracts a float from categorical integers"}
