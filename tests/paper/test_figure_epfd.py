"""Methods and their distributed versions: pairs, and the claims on accuracy and time."""

import numpy as np
import pytest
from made_up_results import claims_of, frame_of, key_of, noise, small
from scipy import stats

from secateurs.paper import load_plan
from secateurs.paper._figure_epfd import epfd_pairs


def test_epfd_is_compared_on_the_folds_that_both_have():
    plan = small("figure-epfd", methods=("oo", "pep"))

    def measure(cell):
        if cell.method == "oo" and cell.variant == "library" and cell.fold == 4:
            return None
        if cell.variant == "epfd":
            fields = {"accuracy": 0.82 + 0.01 * cell.fold, "seconds": 4.0, "path_seconds": 0.5}
            return fields if cell.method == "oo" else None
        return {"accuracy": 0.8, "seconds": 2.0 + cell.fold}

    (pair,) = epfd_pairs(plan, frame_of(plan, measure))
    assert (pair.row, pair.method, len(pair.accuracy)) == ("Iono", "oo", 4)
    assert pair.epfd_accuracy == pytest.approx((82, 83, 84, 85))
    assert pair.accuracy_difference == pytest.approx(3.5)
    assert pair.seconds == pytest.approx(3.5)  # of folds 0 to 3
    assert pair.parallel_speedup == pytest.approx(7.0)
    assert pair.serial_speedup == pytest.approx(3.5 / 4)
    assert pair.paired_test.p_value == pytest.approx(
        stats.ttest_rel([82, 83, 84, 85], [80] * 4).pvalue
    )


def epfd(cell, gain=0.0, saving=2.0, pep=3.0):
    """A distributed version that gains points and saves time by factors."""
    jitter = 0.002 * noise(cell.dataset, cell.method, cell.fold)
    if cell.variant == "library":
        return {"accuracy": 0.8 + jitter, "seconds": 1.0}
    factor = pep if cell.method == "pep" else saving
    accuracy = 0.8 + jitter + gain / 100 + 0.001 * noise(key_of(cell))
    return {"accuracy": accuracy, "seconds": 2.0, "path_seconds": 1.0 / factor}


def test_epfd_claims_hold_when_accuracy_stays_and_time_falls():
    claims = claims_of("figure-epfd", epfd)
    assert [claims[n].verdict for n in ("epfd-accuracy", "epfd-time", "epfd-pep")] == ["holds"] * 3
    assert claims["epfd-time"].numbers["for"] == 4 * 9
    assert (claims["epfd-time-large"].verdict, claims["epfd-time-large"].numbers["for"]) == (
        "holds",
        7,
    )
    assert "on one machine median 0.50" in claims["epfd-time"].told


def test_epfd_that_loses_accuracy_is_found_out():
    claim = claims_of("figure-epfd", lambda cell: epfd(cell, -3.0))["epfd-accuracy"]
    assert claim.verdict == "does not hold"
    assert claim.numbers["against"] == 36
    assert claim.statistic.high < -1


def test_a_loss_that_is_always_there_but_less_than_a_point_does_not_matter():
    claim = claims_of("figure-epfd", lambda cell: epfd(cell, -0.3))["epfd-accuracy"]
    assert claim.verdict == "holds"
    assert -1 < claim.statistic.low < claim.statistic.value < claim.statistic.high < 0


def test_folds_that_vary_too_much_do_not_tell_whether_accuracy_stays():
    swings = (-5.0, 1.0, -5.0, 1.0, -1.0)  # 1.8 points on average
    claim = claims_of("figure-epfd", lambda cell: epfd(cell, swings[cell.fold]))["epfd-accuracy"]
    assert claim.verdict == "cannot be told"
    assert (claim.numbers["for"], claim.numbers["against"]) == (0, 0)
    assert claim.statistic.low < -1 < claim.statistic.high


def test_equivalence_over_all_is_that_of_the_means_over_methods():
    claim = claims_of("figure-epfd", epfd)["epfd-accuracy"]
    plan = load_plan("figure-epfd")
    pairs = [p for p in epfd_pairs(plan, frame_of(plan, epfd)) if p.source.learner != "synthetic"]
    found = []
    for row in dict.fromkeys(pair.row for pair in pairs):
        mine = [pair for pair in pairs if pair.row == row]
        gains = np.mean([np.subtract(p.epfd_accuracy, p.accuracy) for p in mine], axis=0)
        found.append((gains.mean(), np.var(gains, ddof=1) * (1 / 5 + 1 / 3)))
    means, variances = np.transpose(found)
    freedom = variances.sum() ** 2 / (variances**2 / 4).sum()
    half = stats.t.ppf(0.95, freedom) * np.sqrt(variances.sum()) / 4
    assert claim.statistic.value == pytest.approx(means.mean())
    assert claim.statistic.low == pytest.approx(means.mean() - half)


def test_epfd_that_takes_longer_is_found_out():
    claims = claims_of("figure-epfd", lambda cell: epfd(cell, saving=0.5, pep=0.4))
    assert claims["epfd-time"].verdict == "does not hold"
    assert claims["epfd-pep"].verdict == "does not hold"
    same = claims_of("figure-epfd", lambda cell: epfd(cell, saving=1.05))["epfd-time"]
    assert same.verdict == "cannot be told"


def test_two_folds_do_not_tell_whether_accuracy_stays():
    claim = claims_of("figure-epfd", epfd, folds=(0, 1))["epfd-accuracy"]
    assert claim.verdict == "cannot be told"


def test_very_many_members_are_judged_apart_and_only_for_time():
    def measure(cell):
        large = cell.n_members == 2000
        return epfd(cell, gain=-9.0 if large else 0.0, saving=0.5 if large else 2.0)

    claims = claims_of("figure-epfd", measure)
    assert claims["epfd-accuracy"].verdict == "holds"
    assert claims["epfd-time"].verdict == "holds"
    assert claims["epfd-time-large"].verdict == "does not hold"
    assert claims["epfd-time-large"].numbers["against"] == 7
