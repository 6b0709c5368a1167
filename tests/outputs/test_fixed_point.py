"""Weights as whole numbers, so that sums of fixed-point predictions are exact."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from secateurs.outputs.fixed_point import whole_number_weights


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12).filter(any), st.floats(1e-3, 1e3))
def test_weights_that_are_multiples_of_a_unit_become_whole_numbers(counts, scale):
    weights = np.array(counts) * scale / sum(counts)
    whole = whole_number_weights(weights)
    divisor = math.gcd(*counts)
    assert whole.tolist() == [count // divisor for count in counts]


def test_other_weights_stay_as_they_are():
    weights = np.array([0.1, np.pi, np.e])
    assert whole_number_weights(weights).tolist() == weights.tolist()
    assert whole_number_weights(np.zeros(3)).tolist() == [0, 0, 0]
