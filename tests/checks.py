"""Checks of an old scikit-learn that fail by themselves, whatever they check."""

import sklearn

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def broken_checks(estimator):
    """For estimators over votes, whose input is categorical."""
    if VERSION >= (1, 7):
        return {}
    return {"check_positive_only_tag_during_fit": "subtracts a float from categorical integers"}
