"""Errors of members, and sums of their products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_scores
from score_cases import score_cases
from secateurs import Predictions
from secateurs.measures.member_errors import ErrorProducts, member_errors


@given(score_cases())
def test_products_of_all_pairs_equal_the_formula(case):
    errors = member_errors(case.given)
    found = np.ldexp(errors.pair_products(case.given).mean_products(), errors.product_exponent)
    expected = naive_scores.error_matrix(case.outputs, case.truth)
    assert found == pytest.approx(np.array(expected, dtype=float), rel=1e-12, abs=1e-300)
    own = np.ldexp(errors.self_products().mean_products(), errors.product_exponent)
    assert own.tolist() == np.diag(found).tolist()


@given(score_cases(), st.data())
def test_products_add_up_over_samples(case, data):
    cut = data.draw(st.integers(1, len(case.y)))
    whole = member_errors(case.given)
    parts = []
    for run in (np.arange(cut), np.arange(cut, len(case.y))):
        if len(run):
            part = case.given.rows(run)
            parts.append(member_errors(part, whole.binary_places).pair_products(part))
    added = parts[0] if len(parts) == 1 else parts[0].combined_with(parts[1])
    expected = whole.pair_products(case.given)
    assert added.sums.tolist() == expected.sums.tolist()
    assert added.counts.tolist() == expected.counts.tolist()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n_samples", [3, 1000])
def test_products_of_values_are_within_the_error_bound(offset, spread, n_samples):
    rng = np.random.default_rng(1)
    y = offset + rng.normal(size=n_samples)
    table = y[:, None] + spread * rng.standard_cauchy((n_samples, 4))
    errors = member_errors(Predictions.encode(table, y))
    off = table - y[:, None]
    n_bits = (62 - int(np.ceil(np.log2(n_samples)))) // 2
    step = max(
        2.0**-29 * max(np.abs(table).max(), np.abs(y).max()),
        2.0 ** (1 - n_bits) * np.abs(off).max(),
    )
    assert 2.0**-errors.binary_places <= step * (1 + 1e-6)
    mean_off = np.abs(off).mean(axis=0)
    within = step * (mean_off[:, None] + mean_off) + step**2
    exact = off.T @ off / n_samples
    found = np.ldexp(
        errors.pair_products(Predictions.encode(table)).mean_products(), errors.product_exponent
    )
    assert (np.abs(found - exact) <= within * (1 + 1e-6) + 1e-12 * np.abs(exact)).all()


def test_products_of_probabilities_are_within_the_error_bound():
    rng = np.random.default_rng(2)
    for n_classes in (2, 5):
        table = rng.dirichlet(np.ones(n_classes), (500, 6))
        y = rng.integers(n_classes, size=500)
        errors = member_errors(Predictions.encode(table, y))
        off = (table - np.eye(n_classes)[y][:, None]).transpose(1, 0, 2).reshape(6, -1)
        mean_off = np.abs(off).sum(axis=1) / 500
        within = 2.0**-15 * (mean_off[:, None] + mean_off) + n_classes * 2.0**-30
        found = np.ldexp(
            errors.pair_products(Predictions.encode(table)).mean_products(), errors.product_exponent
        )
        assert (np.abs(found - off @ off.T / 500) <= within + 1e-12).all()


@pytest.mark.parametrize("n_samples", [1, 2, 63, 4096, 5000])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-1e30, 1e-30), (1e149, 1.01e149)])
def test_sums_never_exceed_62_bits(n_samples, low, high):
    table = np.array([[low, high]] * n_samples)
    errors = member_errors(Predictions.encode(table, [high] * n_samples))
    found = errors.pair_products(Predictions.encode(table)).sums
    assert (np.abs(found) <= 2**62).all()
    steps = int(np.ldexp(low, errors.binary_places) // 1) - int(
        np.ldexp(high, errors.binary_places) // 1
    )
    assert found[0, 0] == n_samples * steps**2
    assert found[1, 1] == 0


def test_members_without_a_common_sample_have_no_products():
    sums = ErrorProducts(np.array([[3, 0]]), np.array([[2, 0]]))
    assert sums.mean_products().tolist() == [[1.5, 0.0]]
