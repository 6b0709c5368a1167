"""Counts against chance, differences and correlations with intervals, against SciPy."""

import math

import numpy as np
import pytest
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.statistics import (
    Difference,
    binomial_test,
    correlation_interval,
    equivalence_test,
    mean_correlation,
    mean_difference,
    paired_difference,
)

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(80, 2, 12), RNG.normal(79, 2, 12)


@pytest.mark.parametrize(
    ("count", "total", "chance"), [(0, 7, 0.5), (7, 7, 0.5), (3, 9, 0.025), (12, 279, 0.025)]
)
def test_the_binomial_test_equals_scipy(count, total, chance):
    found = binomial_test(count, total, chance)
    more, fewer = (
        stats.binomtest(count, total, chance, alternative=side) for side in ("greater", "less")
    )
    assert (found.more, found.fewer) == pytest.approx((more.pvalue, fewer.pvalue))
    interval = stats.binomtest(count, total, chance).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.share == count / total


def test_impossible_shares_are_rejected():
    for count, total in ((3, 2), (-1, 4), (0, 0)):
        with pytest.raises(InputError, match=f"{count} of {total} is not a share"):
            binomial_test(count, total)


def test_interval_and_p_values_of_a_difference_equal_the_paired_t_test():
    found = paired_difference(FIRST, SECOND)
    test = stats.ttest_rel(FIRST, SECOND)
    for level in (0.9, 0.95):
        interval = test.confidence_interval(level)
        assert found.interval(level) == pytest.approx((interval.low, interval.high))
    assert found.p_value == pytest.approx(test.pvalue)
    for value in (-1.0, 0.0, 2.0):
        above = stats.ttest_1samp(FIRST - SECOND, value, alternative="greater").pvalue
        assert found.p_above(value) == pytest.approx(above)
        assert found.p_below(value) == pytest.approx(1 - above)


def test_repeated_splits_have_nadeau_and_bengios_larger_error():
    values = FIRST - SECOND
    expected = math.sqrt((1 / 12 + 1 / 3) * np.var(values, ddof=1))
    assert paired_difference(FIRST, SECOND, overlap=1 / 3).error == pytest.approx(expected)


def test_a_constant_difference_has_no_error():
    found = paired_difference([3, 4, 5], [1, 2, 3])
    assert found.interval() == (2, 2)
    assert (found.p_above(), found.p_below(), found.p_value) == (0, 1, 0)
    assert paired_difference([1, 2], [1, 2]).p_value == 1


@pytest.mark.parametrize(("first", "second"), [([1], [1]), ([1, 2], [1]), ([1, np.nan], [1, 2])])
def test_invalid_pairs_are_rejected(first, second):
    with pytest.raises(InputError, match=r"two or more pairs|missing"):
        paired_difference(first, second)


def test_the_mean_of_two_differences_is_welchs():
    """Half the difference of two means: Welch's test has the same error and freedom."""
    one, other = RNG.normal(0, 1, 8), RNG.normal(1, 3, 5)
    parts = [paired_difference(one, np.zeros(8)), paired_difference(np.zeros(5), other)]
    test = stats.ttest_ind(one, other, equal_var=False)
    found = mean_difference(parts)
    assert found.mean == pytest.approx((one.mean() - other.mean()) / 2)
    assert found.freedom == pytest.approx(test.df)
    assert found.p_value == pytest.approx(test.pvalue)


def test_the_mean_of_constant_differences_has_no_error():
    found = mean_difference([Difference(1.0, 0.0, 4), Difference(2.0, 0.0, 4)])
    assert (found.mean, found.error) == (1.5, 0.0)
    with pytest.raises(InputError, match="no differences"):
        mean_difference([])


@pytest.mark.parametrize(
    ("mean", "error", "verdict", "no_worse"),
    [
        (0.0, 0.1, "equivalent", True),
        (0.9, 0.1, "neither", True),
        (3.0, 0.1, "better", True),
        (-0.9, 0.1, "neither", False),
        (-3.0, 0.1, "worse", False),
        (0.0, 5.0, "neither", False),
    ],
)
def test_equivalence_is_two_one_sided_tests(mean, error, verdict, no_worse):
    values = mean + error * math.sqrt(10) * stats.zscore(RNG.normal(size=10), ddof=1)
    found = equivalence_test(paired_difference(values, np.zeros(10)), margin=1.0)
    sides = (
        stats.ttest_1samp(values, -1, alternative="greater").pvalue,
        stats.ttest_1samp(values, 1, alternative="less").pvalue,
    )
    assert found.p_value == pytest.approx(max(sides), abs=1e-9)
    assert (found.verdict == "equivalent") == (max(sides) < 0.05)
    assert (found.verdict, found.is_no_worse) == (verdict, no_worse)
    with pytest.raises(InputError, match="margin=0"):
        equivalence_test(found.difference, margin=0)


@pytest.mark.parametrize("r", [-0.9, 0.0, 0.4])
def test_the_interval_of_a_correlation_is_scipys(r):
    x = stats.zscore(RNG.normal(size=20))
    noise = stats.zscore(
        np.linalg.qr(np.column_stack([np.ones(20), x, RNG.normal(size=20)]))[0][:, 2]
    )
    test = stats.pearsonr(x, r * x + math.sqrt(1 - r * r) * noise)
    interval = test.confidence_interval(0.95)
    assert correlation_interval(test.statistic, 20) == pytest.approx((interval.low, interval.high))
    with pytest.raises(InputError, match="of 3 points"):
        correlation_interval(r, 3)


def test_correlations_of_folds_are_averaged_as_z():
    values = [0.2, 0.5, np.nan, 0.7]
    z = np.arctanh([0.2, 0.5, 0.7])
    interval = stats.ttest_1samp(z, 0).confidence_interval()
    expected = np.tanh([z.mean(), interval.low, interval.high])
    assert mean_correlation(values) == pytest.approx(expected)
    assert np.isnan(mean_correlation([np.nan])).all()
    assert np.isnan(mean_correlation([0.3])[1:]).all()
