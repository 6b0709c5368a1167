"""Methods and their distributed versions: pairs, and the claims on accuracy and time."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_results import claims_of, frame_of, key_of, noise, row_of, small
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
            fields["group_wins"] = cell.fold % 2
            return fields if cell.method == "oo" else None
        return {"accuracy": 0.8, "seconds": 2.0 + cell.fold}

    (pair,) = epfd_pairs(plan, frame_of(plan, measure))
    assert (pair.row, pair.method, len(pair.accuracy)) == ("Iono", "oo", 4)
    assert pair.epfd_accuracy == pytest.approx((82, 83, 84, 85))
    assert pair.accuracy_difference == pytest.approx(3.5)
    assert pair.seconds == pytest.approx(3.5)  # of folds 0 to 3
    # Student's interval of the logarithms of the ratios, by scipy.
    logs = np.log(np.array([2.0, 3.0, 4.0, 5.0]) / 0.5)
    interval = stats.t.interval(0.95, 3, np.mean(logs), stats.sem(logs))
    assert pair.speedup_interval == pytest.approx(np.exp(interval))
    assert pair.parallel_speedup == pytest.approx(7.0)
    assert pair.serial_speedup == pytest.approx(3.5 / 4)
    assert pair.group_wins == (0, 1, 0, 1)


SETS = ("Iono", "Liver", "Sonar", "Spam")


def epfd(cell, gain=0.0, saving=2.0, pep=3.0, random=-9.0):
    """A distributed version that gains points and saves time; random members lose points."""
    jitter = 0.002 * noise(cell.dataset, cell.method, cell.fold)
    lost = random / 100 if cell.method == "random" else 0.0
    if cell.variant == "library":
        return {"accuracy": 0.8 + jitter + lost, "seconds": 1.0}
    factor = (pep if cell.method == "pep" else saving) * (1 + 0.1 * noise(cell.dataset))
    accuracy = 0.8 + jitter + gain / 100 + 0.001 * noise(key_of(cell))
    times = {"seconds": 2.0, "path_seconds": 1.0 / factor}
    return {"accuracy": accuracy, **times, "group_wins": int(cell.method == "oep")}


def judge_epfd(measure=epfd, **changes):
    """Claims about four data sets, and about the drawn votes of very many members."""
    rows = [row_of(name) for name in SETS]
    drawn = [row for row in load_plan("figure-epfd").rows if row.learner == "synthetic"]
    return claims_of("figure-epfd", measure, rows=[*rows, *drawn], **changes)


def test_epfd_claims_hold_when_accuracy_stays_and_time_falls():
    claims = judge_epfd()
    names = ("epfd-accuracy", "epfd-time", "epfd-time-large", "epfd-pep")
    assert [claims[name].verdict for name in names] == ["holds"] * 4
    assert "on one machine, median 0.50" in claims["epfd-time"].told
    assert "RE 0 of 20" in claims["epfd-accuracy"].told
    assert "OEP 20 of 20" in claims["epfd-accuracy"].told


def test_the_change_of_accuracy_is_relative_to_the_error_with_one_value_per_data_set():
    claim = judge_epfd(lambda cell: epfd(cell, -1.0))["epfd-accuracy"]
    plan = load_plan("figure-epfd")
    shares = []
    for name in SETS:
        rows = [row_of(name)]
        one = replace(plan, rows=tuple(rows))
        pairs = epfd_pairs(one, frame_of(one, lambda cell: epfd(cell, -1.0)))
        mine = [pair for pair in pairs if pair.method != "random"]
        shares.append(
            np.mean([pair.accuracy_difference / (100 - np.mean(pair.accuracy)) for pair in mine])
        )
    interval = stats.ttest_1samp(shares, 0).confidence_interval()
    assert claim.statistic.value == pytest.approx(np.mean(shares))
    assert (claim.statistic.low, claim.statistic.high) == pytest.approx(
        (interval.low, interval.high)
    )
    assert claim.verdict == "holds"  # 1 of 20 points of error


def test_epfd_that_loses_accuracy_is_found_out():
    claim = judge_epfd(lambda cell: epfd(cell, -3.0))["epfd-accuracy"]
    assert claim.verdict == "does not hold"
    assert claim.statistic.high < -0.1


def test_without_a_loss_by_random_members_nothing_can_be_told():
    claim = judge_epfd(lambda cell: epfd(cell, random=-1.0))["epfd-accuracy"]
    assert (claim.verdict, claim.statistic.verdict) == ("cannot be told", "holds")
    assert claim.check.value == pytest.approx(-1 / 20, abs=0.01)
    assert "the test cannot tell a loss" in claim.told


def test_without_random_members_nothing_can_be_told():
    claim = judge_epfd(lambda cell: None if cell.method == "random" else epfd(cell))[
        "epfd-accuracy"
    ]
    assert (claim.verdict, claim.statistic.verdict) == ("cannot be told", "holds")
    assert claim.told.endswith("Check with random members: not measured.")


def test_data_sets_that_vary_too_much_do_not_tell_whether_accuracy_stays():
    swings = dict(zip(("iono", "liver", "sonar", "spam"), (-8.0, 3.0, -5.0, 2.0), strict=True))
    claim = judge_epfd(lambda cell: epfd(cell, swings.get(cell.dataset, 0.0)))["epfd-accuracy"]
    assert claim.verdict == "cannot be told"
    assert claim.statistic.low < -0.1 < claim.statistic.high


def test_epfd_that_takes_longer_is_found_out():
    claims = judge_epfd(lambda cell: epfd(cell, saving=0.5, pep=0.4))
    assert claims["epfd-time"].verdict == claims["epfd-pep"].verdict == "does not hold"


def test_very_many_members_are_judged_apart_and_only_for_time():
    def measure(cell):
        large = cell.n_members == 2000
        shift = 1 + 0.1 * noise(cell.method)
        return epfd(cell, gain=-9.0 if large else 0.0, saving=shift * (0.5 if large else 2.0))

    claims = judge_epfd(measure)
    assert claims["epfd-accuracy"].verdict == "holds"
    assert claims["epfd-time"].verdict == "holds"
    assert claims["epfd-time-large"].verdict == "does not hold"


def test_claims_use_all_rows_of_the_tables():
    rows = load_plan("figure-epfd").rows
    for name in ("table-dt", "table-svm", "table-knn"):
        for row in load_plan(name).rows:
            same = [(r.dataset, r.reading, r.learner) for r in rows]
            assert same.count((row.dataset, row.reading, row.learner)) == 1
