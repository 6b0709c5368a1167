"""DOMEP against COMEP in time: races, and the claim on them."""

import numpy as np
import pytest
from made_up_results import claims_of, frame_of, pictures_of, plan_of, race, row_of
from scipy import stats

from secateurs.paper._figure_speedup import speedup_races


def test_speed_up_is_comeps_time_by_domeps_and_efficiency_that_by_workers():
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    frame = frame_of(plan, lambda cell: race(cell, factor=1.5))
    races = speedup_races(plan, frame)
    assert [found.n_workers for found in races] == [2, 3]
    assert [found.setting_name for found in races] == ["Liver, 10 of 100"] * 2
    assert races[0].measured_speedup == pytest.approx(1.5, rel=0.03)
    assert races[0].possible_speedup == pytest.approx(3.0, rel=0.03)
    assert {found.speed_verdict() for found in races} == {"faster"}
    rows = pictures_of(plan, frame)[0].rows
    efficiency = [row[5] for row in rows]
    assert efficiency == pytest.approx([0.75, 0.5], rel=0.03)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.5, "slower"), (1.01, "neither"), (3.0, "faster")]
)
def test_a_race_is_won_only_clearly(factor, verdict):
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    races = speedup_races(plan, frame_of(plan, lambda cell: race(cell, factor)))
    assert {found.speed_verdict() for found in races} == {verdict}


@pytest.mark.parametrize(
    ("factor", "verdict"), [(2.0, "holds"), (0.5, "does not hold"), (1.001, "cannot be told")]
)
def test_domep_is_faster_when_races_say_so(factor, verdict):
    rows = [row_of(name, "svm-rbf") for name in ("Liver", "Wilt", "Iono")]
    claims = claims_of("figure-speedup", lambda cell: race(cell, factor), rows=rows)
    claim = claims["faster"]
    assert claim.verdict == verdict
    assert claim.numbers["settings"] == len(claim.numbers["races"])
    for found in claim.numbers["races"]:
        assert found["low"] < found["speed_up"] < found["high"]
        assert found["speed_up"] == pytest.approx(factor, rel=0.03)
    bare = claims["faster-bare"]
    assert bare.verdict == ("cannot be told" if factor == 0.5 else "holds")  # twice as fast
    assert claims["faster-large"].verdict == "cannot be told"


def test_the_interval_of_a_speed_up_is_that_of_logarithms_of_runs_in_turn():
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    (found, _) = speedup_races(plan, frame_of(plan, lambda cell: race(cell, 1.5)))
    test = stats.ttest_1samp(
        np.log(np.array(found.comep_seconds) / np.array(found.domep_seconds)), 0
    )
    interval = test.confidence_interval()
    assert found.speedup_with_interval()[1:] == pytest.approx(
        (np.exp(interval.low), np.exp(interval.high))
    )


def test_few_of_very_many_members_are_judged_apart():
    rows = [row_of("Many", "synthetic", "multiclass", dataset=f"synthetic-{n}") for n in (5, 6)]
    large = {"rows": rows, "n_members": (100, 2000, 4000), "keep": (0.01, 0.02, 0.2)}

    def measure(cell):
        return race(cell, 2.5 if cell.n_members >= 2000 else 0.4)

    claims = claims_of("figure-speedup", measure, **large)
    assert claims["faster"].verdict == claims["faster-bare"].verdict == "does not hold"
    assert claims["faster-large"].verdict == claims["faster-large-bare"].verdict == "holds"
    assert (
        claims["faster-large"].numbers["settings"] == 2 * 2 * 2 * 2
    )  # rows, sizes, rates, workers
    assert claims["super-linear"].verdict == "holds"  # 2.5 with two workers, of the large ones
    assert len(claims["super-linear"].numbers["super_linear"]) == 2 * 2 * 3


@pytest.mark.parametrize(("factor", "verdict"), [(4.0, "does not hold"), (1.5, "does not hold")])
def test_super_linear_is_a_minority_or_nothing(factor, verdict):
    rows = [row_of(f"Set {n}", "svm-rbf") for n in range(5)]
    claims = claims_of("figure-speedup", lambda cell: race(cell, factor), rows=rows)
    assert claims["super-linear"].numbers["races"] >= 20
    assert claims["super-linear"].verdict == verdict
