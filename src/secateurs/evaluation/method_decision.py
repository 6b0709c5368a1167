"""Decide between methods by benchmark results and cross-validated scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from secateurs.pruners import BasePruner
from secateurs.typing import FloatArray

# Standard errors by which another method must be better than the benchmark's best method. With two
# instead of three, replacing it cost more than it gained: the average rank was 8.8 instead of 7.9
# (docs/decisions/0019-the-plain-call.md).
MIN_STANDARD_ERRORS = 3.0


class MethodAdvice(NamedTuple):
    """The method to use and the reason for it."""

    pruner: BasePruner
    reason: str = ""  # in one line; empty if the user asked for the method


class MethodScores(NamedTuple):
    """Cross-validated scores of methods; larger is better."""

    values: FloatArray  # (n_methods,)
    # Standard errors of the differences of two methods on the same samples, (n_methods, n_methods);
    # NaN if there are too few samples.
    difference_errors: FloatArray


def decide_method(
    names: Sequence[str], scores: MethodScores, prior: Mapping[str, float]
) -> tuple[int, str]:
    """Return the index of the method to use, and the reason.

    It is the benchmark's best method, unless another method is significantly better.
    """
    default = max(range(len(names)), key=lambda index: prior.get(names[index], -np.inf))
    lead = scores.values[: len(names)] - scores.values[default]
    # A NaN standard error (too few samples) makes the comparison False: the default stays.
    limits = MIN_STANDARD_ERRORS * scores.difference_errors[default, : len(names)]
    significant = [index for index in range(len(names)) if lead[index] > limits[index]]
    best = "performed best in our benchmark on {kind}"
    if not significant:
        return default, f"{best}, and no other method is significantly better on these samples"
    index = max(significant, key=lambda candidate: lead[candidate])
    return index, (
        f"its cross-validated score is {lead[index]:.4f} better than that of {names[default]}, "
        f"which {best}"
    )
