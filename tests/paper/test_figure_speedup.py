"""DOMEP against COMEP in time: races, and the claim on them."""

import pytest
from made_up_results import claims_of, frame_of, pictures_of, plan_of, race, row_of

from secateurs.paper._figure_speedup import speed_ups


def test_speed_up_is_comeps_time_by_domeps_and_efficiency_that_by_workers():
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    frame = frame_of(plan, lambda cell: race(cell, factor=1.5))
    races = speed_ups(plan, frame)
    assert [found.workers for found in races] == [2, 3]
    assert [found.name for found in races] == ["Liver, 10 of 100"] * 2
    assert races[0].measured == pytest.approx(1.5)
    assert races[0].possible == pytest.approx(3.0)
    assert {found.verdict() for found in races} == {"faster"}
    rows = pictures_of(plan, frame)[0].rows
    efficiency = [row[5] for row in rows]
    assert efficiency == pytest.approx([0.75, 0.5])


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.5, "slower"), (1.01, "neither"), (3.0, "faster")]
)
def test_a_race_is_won_only_clearly(factor, verdict):
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    races = speed_ups(plan, frame_of(plan, lambda cell: race(cell, factor)))
    assert {found.verdict() for found in races} == {verdict}


@pytest.mark.parametrize(
    ("factor", "verdict"), [(2.0, "holds"), (0.5, "does not hold"), (1.001, "cannot be told")]
)
def test_domep_is_faster_when_races_say_so(factor, verdict):
    claim = claims_of("figure-speedup", lambda cell: race(cell, factor))["faster"]
    assert claim.verdict == verdict
    assert f"median {factor:.2f}" in claim.told
    assert claim.numbers["settings"] == len(claim.numbers["races"])
