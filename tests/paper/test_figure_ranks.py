"""Ranks over data sets: ours and the paper's in figures, and claims on accuracy and ranks."""

from functools import partial

import pandas as pd
import pytest
from made_up_results import frame_of, judged, key_of, noise, noisy, plan_of, row_of
from matplotlib.figure import Figure

from secateurs.benchmarking.pictures import render_picture
from secateurs.paper._accuracy_tables import make_accuracy_table
from secateurs.paper._figure_ranks import all_rank_pictures
from secateurs.paper._printed_tables import OURS, PAPER_METHODS, printed_accuracies
from secateurs.statistics import aggregated_ranks, average_ranks

SETS = [f"Set {letter}" for letter in "ABCDEFGHIJKL"]


def tables_of(names=("table-dt", "table-knn")):
    plans = [plan_of(name, ["Iono", "Liver", "Sonar"]) for name in names]
    frame = pd.concat([frame_of(plan, noisy) for plan in plans])
    return [make_accuracy_table(plan, frame) for plan in plans]


def test_rank_figures_show_our_ranks_and_the_papers():
    tables = tables_of()
    pictures = {picture.name: picture for picture in all_rank_pictures(tables)}
    assert list(pictures) == [
        *("friedman-all", "critical-difference-all", "aggregated-ranks"),
        *("friedman-table-dt", "critical-difference-table-dt"),
        *("friedman-table-knn", "critical-difference-table-knn"),
    ]
    ours = average_ranks(pd.concat([table.scores for table in tables], keys=["a", "b"]))
    paper = average_ranks(pd.concat([table.paper_scores for table in tables], keys=["a", "b"]))
    for name, *ranks in pictures["friedman-all"].rows:
        assert ranks == pytest.approx([ours[name], paper[name]])
    sums = [aggregated_ranks(table.scores) for table in tables]
    for name, first, second, *_ in pictures["aggregated-ranks"].rows:
        assert (first, second) == pytest.approx((sums[0][name], sums[1][name]))
    assert [row[0] for row in pictures["friedman-all"].rows] == [m.upper() for m in PAPER_METHODS]


def test_rank_figures_are_drawn():
    for picture in all_rank_pictures(tables_of())[:3]:
        assert render_picture(picture)["png"].startswith(b"\x89PNG")


def test_figures_of_all_tables_count_rows_and_those_of_one_table_data_sets():
    pictures = {picture.name: picture for picture in all_rank_pictures(tables_of())}
    for table, counted in (("all", "6 rows"), ("table-dt", "3 data sets")):
        for kind in ("friedman", "critical-difference"):
            assert f"({counted} ours, " in pictures[f"{kind}-{table}"].caption
        figure = Figure()
        pictures[f"critical-difference-{table}"].draw(figure)
        assert figure.axes[0].get_title() == f"ours: Nemenyi, α = 0.05, {counted}"
    assert "data sets" not in pictures["aggregated-ranks"].caption


def test_one_table_has_no_figures_of_all_tables():
    names = [picture.name for picture in all_rank_pictures(tables_of(["table-dt"]))]
    assert names == ["friedman-table-dt", "critical-difference-table-dt"]


def judge_table(lift, sets=SETS, folds=(0, 1, 2, 3, 4)):
    """Judge results in which methods differ by ``lift`` points, besides some noise."""
    lift = {"random": -5.0} | lift
    plan = plan_of("table-dt", [row_of(name, dataset=name) for name in sets], folds=folds)

    def measure(cell):
        level = 0.7 + 0.1 * noise(cell.dataset) + 0.02 * noise(cell.dataset, cell.fold)
        return level + 0.01 * lift.get(cell.method, 0.0) + 0.002 * noise(key_of(cell))

    frame = frame_of(plan, measure)
    return judged([plan], frame)


def test_methods_alike_are_not_worse_and_nobody_ranks_best():
    claims = judge_table({})
    assert claims["not-worse"].verdict == "holds"
    assert claims["not-worse"].numbers["better"] == []
    assert claims["best-ranks"].verdict == claims["superior"].verdict == "cannot be told"


def test_without_a_loss_by_random_members_nothing_is_shown_to_be_as_good():
    # 0.5 points in 20 to 30 of error are within the margin, so that random members pass too.
    for lost, verdict in ((0.0, "cannot be told"), (-0.5, "holds")):
        claim = judge_table({"random": lost})["not-worse"]
        assert claim.verdict == verdict
        assert claim.check.verdict == ("holds" if lost == 0 else "does not hold")
        assert ("the test cannot tell a loss" in claim.told) == (lost == 0)


def test_the_lead_of_random_members_is_over_the_same_methods():
    claim = judge_table({"random": -5.0, "oep": 3.0})["not-worse"]
    assert claim.check.value == pytest.approx(-8, abs=0.1)
    assert claim.statistic.value == pytest.approx(-3, abs=0.1)
    assert claim.verdict == "does not hold"


def test_a_method_that_is_always_better_refutes_all_claims_on_ranks():
    claims = judge_table({"pep": 1.0})
    assert claims["not-worse"].verdict == "does not hold"
    assert claims["not-worse"].numbers["better"] == ["PEP"]
    assert claims["not-worse"].numbers["losses"] >= len(SETS)
    assert claims["not-worse"].numbers["mean_differences"]["PEP"] == pytest.approx(-1, abs=0.1)
    assert claims["best-ranks"].verdict == "does not hold"
    assert "finds PEP better than DOMEP" in claims["not-worse"].told


def test_a_small_lead_on_every_data_set_counts_as_well():
    # 0.1 points on average, up and down over folds: no t-test sees it, over twelve sets it is clear
    plan = plan_of("table-dt", [row_of(name, dataset=name) for name in SETS])
    leads = (0.5, -0.3, 0.5, -0.3, 0.1)
    frame = frame_of(plan, lambda c: 0.8 + (0.01 * leads[c.fold] if c.method == "pep" else 0.0))
    claim = judged([plan], frame)["not-worse"]
    assert claim.numbers["losses"] == 0
    assert claim.numbers["better"] == ["PEP"]
    assert claim.verdict == "does not hold"


def test_differences_that_vary_between_data_sets_tell_nothing():
    # DOMEP is far ahead on some sets and clearly behind on others
    plan = plan_of("table-dt", [row_of(name, dataset=name) for name in SETS])

    def measure(cell):
        sign = 1 if SETS.index(cell.dataset) % 2 else -1
        lead = 0.05 * sign * (cell.method == "domep")
        return 0.8 + lead + 0.002 * noise(key_of(cell))

    claim = judged([plan], frame_of(plan, measure))["not-worse"]
    assert claim.numbers["better"] == []
    assert claim.numbers["losses"] == claim.numbers["wins"] == 6 * 9
    assert claim.verdict == "cannot be told"


def test_rows_of_one_data_set_count_once():
    # PEP is ahead on one data set alone, which has a row in each of two tables
    plans = [plan_of(name, ["Iono", *SETS]) for name in ("table-dt", "table-knn")]

    def measure(cell):
        level = 0.8 + 0.002 * noise(key_of(cell))
        return level + 0.1 * (cell.method == "pep" and cell.dataset == "iono")

    frame = pd.concat([frame_of(plan, measure) for plan in plans])
    numbers = judged(plans, frame)["not-worse"].numbers
    assert (numbers["data_sets"], numbers["rows"]) == (13, 26)
    assert numbers["mean_differences"]["PEP"] == pytest.approx(-10 / 13, abs=0.1)


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
    claims = judge_table(dict.fromkeys(OURS, 2.0), sets=SETS[:2])
    assert claims["not-worse"].verdict == "cannot be told"
    assert claims["superior"].verdict == "cannot be told"


def test_the_papers_own_figures_are_judged_by_the_same_rule():
    # the 31 rows are of 18 data sets
    plans = [plan_of(name) for name in ("table-dt", "table-svm", "table-knn")]
    frame = pd.concat([frame_of(p, partial(_printed, p)) for p in plans])
    claims = judged(plans, frame)
    found = claims["superior"].numbers
    assert found["data_sets"] == 18
    assert found["behind"] == found["behind_by_the_paper"]
    own, printed = claims["superior"].statistic, found["printed"]
    assert (own.value, own.low, own.high) == pytest.approx(
        (printed["value"], printed["low"], printed["high"])
    )
    assert claims["superior"].verdict == claims["best-ranks"].verdict == "cannot be told"


def _printed(plan, cell):
    """The printed mean, on every fold."""
    name = next(row.paper_name for row in plan.rows if row.dataset == cell.dataset)
    figures = printed_accuracies(plan.name)[name]
    return figures[cell.method].mean / 100 if cell.method in PAPER_METHODS else 0.5
