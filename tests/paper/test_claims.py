"""Claims: the rule that they share, and that all of them are judged."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from made_up_results import claims_of, noisy
from scipy import stats

from secateurs.paper._reproduce import make_contents
from secateurs.paper.claims import Statistic, mean_over_data_sets


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.6, 0.9, "holds"),
        (0.1, 0.4, "does not hold"),
        (0.4, 0.6, "cannot be told"),
        (0.5, 0.9, "cannot be told"),
        (float("-inf"), float("inf"), "cannot be told"),
    ],
)
def test_the_verdict_follows_from_the_interval_alone(low, high, verdict):
    statistic = Statistic("share", (low + high) / 2, low, high, holds_above=0.5)
    assert statistic.verdict == verdict


def test_a_margin_separates_no_worse_from_worse():
    # A loss within the margin does not count as worse, unless it is certain that it is a loss.
    for low, high, verdict in [
        (-0.5, 0.2, "holds"),
        (-0.5, -0.1, "does not hold"),
        (-2.0, 0.2, "cannot be told"),
    ]:
        statistic = Statistic("lead", 0.0, low, high, holds_above=-1.0, fails_below=0.0)
        assert statistic.verdict == verdict
        assert statistic.rule == (
            "The claim does not hold if the 95 % interval is below 0; otherwise, it holds if the "
            "interval is above −1."
        )


@pytest.mark.parametrize(
    ("low", "high", "limit", "text"),
    [
        (0.5, 0.7, 0.0, "x: 0.60 (0.50 to 0.70)"),
        (0.0, 0.23, 0.0, "x: 0.12 (0.00 to 0.23)"),  # cannot be told
        (0.0018, 0.34, 0.0, "x: 0.171 (0.002 to 0.340)"),  # holds
        (1.004, 1.5, 1.0, "x: 1.252 (1.004 to 1.500)"),
        (-0.5, -0.0004, 0.0, "x: −0.2502 (−0.5000 to −0.0004)"),  # does not hold
    ],
)
def test_the_verdict_can_be_read_from_the_printed_interval(low, high, limit, text):
    statistic = Statistic("x", (low + high) / 2, low, high, holds_above=limit)
    assert str(statistic) == text


def test_a_data_set_counts_once_however_many_rows_it_has():
    once = {"a": [1.0], "b": [2.0], "c": [4.5]}
    often = {"a": [1.0] * 9, "b": [1.0, 3.0], "c": [4.5]}
    assert mean_over_data_sets(often) == pytest.approx(mean_over_data_sets(once))
    interval = stats.ttest_1samp([1.0, 2.0, 4.5], 0).confidence_interval()
    assert mean_over_data_sets(once)[1:] == pytest.approx((interval.low, interval.high))
    assert np.isnan(mean_over_data_sets({"a": [1.0], "b": [2.0]})[1:]).all()


def test_intervals_of_several_comparisons_hold_together():
    values = {str(index): [value] for index, value in enumerate([1.0, 2.0, 4.5, 3.0])}
    interval = stats.ttest_1samp([1.0, 2.0, 4.5, 3.0], 0).confidence_interval(0.99)
    assert mean_over_data_sets(values, 5)[1:] == pytest.approx((interval.low, interval.high))


def test_every_claim_is_judged_even_without_results():
    claims = make_contents([], pd.DataFrame()).claims
    assert [claim.name for claim in claims] == [
        *("not-worse", "best-ranks", "superior", "faster", "faster-bare", "faster-counted"),
        *("faster-literal", "faster-large", "faster-large-bare", "super-linear"),
        *("epfd-accuracy", "epfd-time", "epfd-time-large", "epfd-pep"),
        *("objective", "objective-test", "mix", "mix-alone", "weight", "tuned", "sizes"),
    ]
    assert {claim.verdict for claim in claims} == {"not measured"}
    assert all("The quantity is" in claim.rule for claim in claims)
    assert all(claim.told for claim in claims)


def test_claims_are_plain_values_with_the_statistic_that_they_rest_on():
    found = [*claims_of("figure-epfd", noisy).values(), *claims_of("table-dt", noisy).values()]
    told = [claim for claim in found if claim.statistic]
    assert [claim.name for claim in told] == [
        *("epfd-accuracy", "epfd-time", "epfd-time-large", "epfd-pep"),
        *("not-worse", "best-ranks", "superior"),
    ]
    for claim in told:
        if claim.check is None:  # random members are as good as any here, and fail no check
            assert claim.verdict == claim.statistic.verdict
        else:
            assert claim.verdict == "cannot be told"
        assert claim.statistic.rule in claim.rule
        assert claim.statistic.low <= claim.statistic.value <= claim.statistic.high
    for claim in found:
        assert json.loads(json.dumps(asdict(claim)))["verdict"] == claim.verdict
