"""Claims: results that speak for them, against them, or tell nothing, and the verdicts on them."""

import json
from functools import partial

import pandas as pd
import pytest
from made_up_results import combinations, frame_of, noise, plan_of, race, row_of

from secateurs.paper._claims import judge_claims
from secateurs.paper._paper import METHODS, OURS, printed
from secateurs.paper._tables import make_table
from secateurs.paper._verdicts import weigh

SETS = [f"Set {letter}" for letter in "ABCDEFGHIJKL"]


def judged(plans, frame, tables=()):
    return {claim.name: claim for claim in judge_claims(plans, frame, tables)}


def judge_table(lift, sets=SETS, folds=(0, 1, 2, 3, 4)):
    """Judge results in which methods differ by ``lift`` points, besides some noise."""
    plan = plan_of("table-dt", [row_of(name, dataset=name) for name in sets], folds=folds)

    def measure(cell):
        level = 0.7 + 0.1 * noise(cell.dataset) + 0.02 * noise(cell.dataset, cell.fold)
        return level + 0.01 * lift.get(cell.method, 0.0) + 0.002 * noise(cell.key)

    frame = frame_of(plan, measure)
    return judged([plan], frame, [make_table(plan, frame)])


def judge_plan(name, measure, **changes):
    plan = plan_of(name, **changes)
    return judged([plan], frame_of(plan, measure))


@pytest.mark.parametrize(
    ("n", "n_for", "n_against", "verdict"),
    [
        (0, 0, 0, "cannot be told"),
        (2, 2, 0, "cannot be told"),
        (3, 3, 0, "holds"),
        (4, 3, 1, "holds"),
        (8, 5, 2, "cannot be told"),
        (8, 5, 3, "does not hold"),
        (8, 0, 0, "cannot be told"),
        (3, 0, 3, "does not hold"),
    ],
)
def test_settings_are_weighed_by_quarters(n, n_for, n_against, verdict):
    assert weigh(n, n_for, n_against).verdict == verdict


def test_every_claim_is_judged_even_without_results():
    claims = judge_claims([], pd.DataFrame(), [])
    assert [claim.name for claim in claims] == [
        *("not-worse", "best-ranks", "superior", "faster", "epfd-accuracy", "epfd-time"),
        *("epfd-pep", "objective", "mix", "weight"),
    ]
    assert {claim.verdict for claim in claims} == {"cannot be told"}
    assert all("Holds if" in claim.rule for claim in claims)
    assert all(claim.told for claim in claims)


def test_methods_alike_are_not_worse_and_nobody_ranks_best():
    claims = judge_table({})
    assert claims["not-worse"].verdict == "holds"
    assert claims["not-worse"].numbers["better"] == []
    assert claims["best-ranks"].verdict == "cannot be told"
    assert claims["superior"].verdict == "does not hold"


def test_a_method_that_is_always_better_refutes_all_claims_on_ranks():
    claims = judge_table({"pep": 1.0})
    assert claims["not-worse"].verdict == "does not hold"
    assert claims["not-worse"].numbers["better"] == ["PEP"]
    assert claims["not-worse"].numbers["losses"] >= len(SETS)
    assert claims["not-worse"].numbers["mean_differences"]["PEP"] == pytest.approx(-1, abs=0.1)
    assert claims["best-ranks"].verdict == "does not hold"
    assert "better than DOMEP PEP" in claims["not-worse"].told


def test_a_small_lead_on_every_data_set_counts_as_well():
    # 0.1 points on average, up and down over folds: no t-test sees it, over twelve sets it is clear
    plan = plan_of("table-dt", [row_of(name, dataset=name) for name in SETS])
    leads = (0.5, -0.3, 0.5, -0.3, 0.1)
    frame = frame_of(plan, lambda c: 0.8 + (0.01 * leads[c.fold] if c.method == "pep" else 0.0))
    claim = judged([plan], frame, [make_table(plan, frame)])["not-worse"]
    assert claim.numbers["losses"] == 0
    assert claim.numbers["better"] == ["PEP"]
    assert claim.verdict == "does not hold"


def test_losses_on_single_data_sets_count_as_well():
    # DOMEP is far ahead on some sets and clearly behind on others: over sets nothing can be told
    plan = plan_of("table-dt", [row_of(name, dataset=name) for name in SETS])

    def measure(cell):
        sign = 1 if SETS.index(cell.dataset) % 2 else -1
        lead = 0.02 * sign * (cell.method == "domep")
        return 0.8 + lead + 0.002 * noise(cell.key)

    frame = frame_of(plan, measure)
    claim = judged([plan], frame, [make_table(plan, frame)])["not-worse"]
    assert claim.numbers["better"] == []
    assert claim.numbers["losses"] == claim.numbers["wins"] == 6 * 9
    assert claim.verdict == "does not hold"


def test_the_papers_own_methods_ahead_everywhere_make_its_claims_hold():
    claims = judge_table(dict.fromkeys(OURS, 2.0))
    assert [claims[n].verdict for n in ("not-worse", "best-ranks", "superior")] == ["holds"] * 3
    assert set(claims["superior"].numbers["behind"]) == {"COMEP", "DOMEP"}
    assert len(claims["superior"].numbers["behind"]["DOMEP"]) == 8


def test_one_of_them_alone_is_not_both():
    claims = judge_table({"domep": 2.0, "comep": -2.0})
    assert claims["best-ranks"].verdict == "does not hold"
    assert claims["superior"].verdict == "does not hold"


def test_few_data_sets_tell_nothing():
    claims = judge_table(dict.fromkeys(OURS, 2.0), sets=SETS[:7])
    assert claims["not-worse"].verdict == "cannot be told"  # 9 comparisons × 2 / 2⁷ is above 5 %
    assert claims["superior"].verdict == "cannot be told"
    assert judge_table({}, folds=(0, 1))["not-worse"].verdict == "cannot be told"


def test_the_papers_own_figures_are_judged_by_the_same_rule():
    # by hand: ranks over its 31 rows put COMEP and DOMEP 2.43 or more before KP and DREP alone
    plans = [plan_of(name) for name in ("table-dt", "table-svm", "table-knn")]
    frame = pd.concat([frame_of(p, partial(_printed, p)) for p in plans])
    tables = [make_table(plan, frame) for plan in plans]
    claims = judged(plans, frame, tables)
    found = claims["superior"].numbers
    assert found["data_sets"] == 31
    assert found["behind"] == found["behind_by_the_paper"]
    assert {name: set(found["behind"][name]) for name in ("COMEP", "DOMEP")} == {
        "COMEP": {"KP", "DREP"},
        "DOMEP": {"KP", "DREP"},
    }
    assert claims["superior"].verdict == "does not hold"
    assert claims["best-ranks"].verdict == "holds"


def _printed(plan, cell):
    """The printed mean, on every fold."""
    name = next(row.paper_name for row in plan.rows if row.dataset == cell.dataset)
    figures = printed(plan.name)[name]
    return figures[cell.method].mean / 100 if cell.method in METHODS else 0.5


@pytest.mark.parametrize(
    ("factor", "verdict"), [(2.0, "holds"), (0.5, "does not hold"), (1.001, "cannot be told")]
)
def test_domep_is_faster_when_races_say_so(factor, verdict):
    claim = judge_plan("figure-speedup", lambda cell: race(cell, factor))["faster"]
    assert claim.verdict == verdict
    assert f"median {factor:.2f}" in claim.told
    assert claim.numbers["settings"] == len(claim.numbers["races"])


def epfd(cell, gain=0.0, saving=2.0, pep=3.0):
    """A distributed version that gains points and saves time by factors."""
    jitter = 0.002 * noise(cell.dataset, cell.method, cell.fold)
    if cell.variant == "library":
        return {"accuracy": 0.8 + jitter, "seconds": 1.0}
    factor = pep if cell.method == "pep" else saving
    accuracy = 0.8 + jitter + gain / 100 + 0.001 * noise(cell.key)
    return {"accuracy": accuracy, "seconds": 2.0, "path_seconds": 1.0 / factor}


def test_epfd_claims_hold_when_accuracy_stays_and_time_falls():
    claims = judge_plan("figure-epfd", epfd)
    assert [claims[n].verdict for n in ("epfd-accuracy", "epfd-time", "epfd-pep")] == ["holds"] * 3
    assert claims["epfd-time"].numbers["for"] == 4 * 9
    assert "on one machine median 0.50" in claims["epfd-time"].told


@pytest.mark.parametrize("gain", [-3.0, -0.3])  # far below; little, but always
def test_epfd_that_loses_accuracy_is_found_out(gain):
    claim = judge_plan("figure-epfd", lambda cell: epfd(cell, gain))["epfd-accuracy"]
    assert claim.verdict == "does not hold"
    assert claim.numbers["against"] == 36


def test_epfd_that_loses_a_point_on_average_is_found_out_however_folds_vary():
    swings = (-5.0, 1.0, -5.0, 1.0, -1.0)  # 1.8 points, which no t-test over five folds sees
    claims = judge_plan("figure-epfd", lambda cell: epfd(cell, swings[cell.fold]))
    assert claims["epfd-accuracy"].numbers["against"] == 36


def test_epfd_that_takes_longer_is_found_out():
    claims = judge_plan("figure-epfd", lambda cell: epfd(cell, saving=0.5, pep=0.4))
    assert claims["epfd-time"].verdict == "does not hold"
    assert claims["epfd-pep"].verdict == "does not hold"
    same = judge_plan("figure-epfd", lambda cell: epfd(cell, saving=1.05))["epfd-time"]
    assert same.verdict == "cannot be told"


def test_two_folds_do_not_tell_whether_accuracy_stays():
    claim = judge_plan("figure-epfd", epfd, folds=(0, 1))["epfd-accuracy"]
    assert claim.verdict == "cannot be told"


@pytest.mark.parametrize(
    ("slope", "spread", "verdict"),
    [
        (1.0, 0.01, "holds"),
        (-1.0, 0.01, "does not hold"),
        (0.0, 0.05, "does not hold"),
        (0.43, 0.06, "cannot be told"),  # r of 0.4: neither high nor low
    ],
)
def test_the_objective_is_judged_by_its_correlation(slope, spread, verdict):
    rows = [row_of("Iono"), row_of("Liver")]
    measure = lambda cell: combinations(cell, slope, spread)  # noqa: E731
    claim = judge_plan("figure-objective", measure, rows=rows)["objective"]
    assert claim.verdict == verdict, claim.told


def test_a_mix_must_beat_both_ends():
    def hill(cell, peak=0.5):
        return 0.8 - 0.1 * abs(cell.diversity_weight - peak) + 0.0001 * cell.keep

    assert judge_plan("figure-lambda", hill)["mix"].verdict == "holds"
    for peak in (0.0, 1.0):
        claim = judge_plan("figure-lambda", lambda cell, p=peak: hill(cell, p))["mix"]
        assert claim.verdict == "does not hold"
    flat = judge_plan("figure-lambda", lambda cell: 0.8)["mix"]
    assert flat.verdict == "cannot be told"
    assert (flat.numbers["settings"], flat.numbers["for"], flat.numbers["against"]) == (12, 0, 0)


def test_the_best_weight_belongs_to_the_data_when_sizes_agree():
    def hill(cell, peak):
        jitter = 0.001 * noise(cell.key)
        return 0.8 - 0.1 * abs(cell.diversity_weight - peak(cell)) + jitter

    same = judge_plan("figure-lambda", lambda c: hill(c, lambda _: 0.3))["weight"]
    assert same.verdict == "holds"
    by_size = judge_plan("figure-lambda", lambda c: hill(c, lambda cell: cell.keep / 10))["weight"]
    assert by_size.verdict == "does not hold"
    flat = judge_plan("figure-lambda", lambda c: 0.8 + 0.001 * (c.fold + 1) * noise(c.key))[
        "weight"
    ]
    assert flat.numbers["against"] + flat.numbers["for"] < 3


def test_claims_are_plain_values():
    claims = judge_plan("figure-epfd", epfd)
    for claim in claims.values():
        assert json.loads(json.dumps(claim.as_dict()))["verdict"] == claim.verdict
