"""The pruning problem: an ensemble, its validation and test samples, and how it is evaluated."""

from secateurs.problem._inputs import costs_by_name
from secateurs.problem._problem import Problem

__all__ = ["Problem", "costs_by_name"]
