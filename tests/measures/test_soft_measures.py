"""Measures of probabilities and values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from secateurs import measures

# P(class 1) of four members on five samples, and the true classes.
CLASS_1 = np.array(
    [
        [0.1, 0.6, 0.9, 0.4, 0.8],
        [0.4, 0.2, 0.6, 0.7, 0.3],
        [0.7, 0.1, 0.8, 0.9, 0.6],
        [0.2, 0.7, 0.3, 0.8, 0.9],
    ]
)
E3 = np.stack([1 - CLASS_1, CLASS_1], axis=2).transpose(1, 0, 2)
E3_Y = [0, 0, 1, 1, 1]


@st.composite
def outputs(draw):
    n_samples, n_members = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    n_outputs = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.dirichlet(np.ones(n_outputs), (n_samples, n_members)), rng


@given(outputs())
def test_krogh_and_vedelsby_equal_the_formula(drawn):
    values, rng = drawn
    targets = rng.random((values.shape[0], values.shape[2]))
    parts = measures.krogh_vedelsby(values, targets)
    expected = naive.krogh_vedelsby(values.tolist(), targets.tolist())
    assert tuple(parts) == pytest.approx([float(part) for part in expected], abs=1e-12)
    assert parts.ensemble_error == pytest.approx(parts.member_error - parts.ambiguity, abs=1e-12)


def test_krogh_and_vedelsby_computed_by_hand():
    parts = measures.krogh_vedelsby(E3, np.eye(2)[E3_Y])
    assert tuple(parts) == pytest.approx((0.247, 0.350, 0.103))


def test_single_outputs_need_no_last_axis():
    assert measures.krogh_vedelsby(CLASS_1.T, E3_Y) == measures.krogh_vedelsby(
        CLASS_1.T[:, :, None], np.array(E3_Y)[:, None]
    )


@given(outputs())
def test_the_correlation_penalty_equals_the_formula(drawn):
    values, _ = drawn
    got = measures.correlation_penalty(values)
    assert got == pytest.approx([float(v) for v in naive.correlation_penalty(values.tolist())])
    ambiguity = measures.krogh_vedelsby(values, np.zeros(values.shape[::2])).ambiguity
    assert -got.mean() == pytest.approx(ambiguity, abs=1e-12)


@given(outputs())
def test_loss_correlation_equals_the_formula(drawn):
    values, rng = drawn
    y = rng.integers(values.shape[2], size=len(values))
    if values.shape[1] > 1:
        expected = naive.loss_correlation(values.tolist(), y.tolist())
        assert measures.loss_correlation(values, y) == pytest.approx(expected, abs=1e-9)


def test_outputs_of_a_wrong_shape_are_rejected():
    with pytest.raises(ValueError, match=r"outputs has shape \(3,\)"):
        measures.correlation_penalty([0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="as many targets as outputs"):
        measures.krogh_vedelsby(E3, E3_Y)
