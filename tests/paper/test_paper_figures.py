"""Figures: the numbers that they show, and that they can be drawn, again and again the same."""

import struct
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from made_up_results import (
    combinations,
    frame_of,
    growth,
    noise,
    noisy,
    plan_of,
    race,
    row_of,
    timed,
)
from matplotlib.figure import Figure
from scipy import stats

from secateurs import _methods
from secateurs.exceptions import MissingExtraError
from secateurs.paper._drawing import method_line, render, style_of
from secateurs.paper._figures import make_pictures
from secateurs.paper._paper import METHODS
from secateurs.paper._series import (
    WeightCurve,
    correlations,
    epfd_pairs,
    size_curves,
    speed_ups,
    timings,
    weight_curves,
)
from secateurs.paper._tables import make_table
from secateurs.statistics import aggregated_ranks, average_ranks

MEASURES = {
    "figure-epfd": noisy,
    "figure-speedup": race,
    "figure-objective": combinations,
    "figure-lambda": noisy,
    "figure-size": growth,
    "figure-scale": timed,
}


def small(name, **changes):
    """A plan of the package with one row, or with its own rows of drawn votes."""
    rows = None if name in ("figure-scale", "figure-speedup") else [row_of("Iono")]
    return plan_of(name, rows, **changes)


@pytest.mark.parametrize("name", MEASURES)
def test_figures_are_drawn_at_column_width_and_always_the_same(name):
    plan = small(name)
    frame = frame_of(plan, MEASURES[name])
    picture = make_pictures([plan], frame, [])[0]
    files, again = render(picture), render(picture)
    assert files == again
    assert files["png"].startswith(b"\x89PNG")
    width, height = struct.unpack(">II", files["png"][16:24])
    assert width == 700  # 3.5 inches at 200 dots each
    assert 200 < height < 1600
    assert ElementTree.fromstring(files["svg"]).tag.endswith("svg")
    assert b"<dc:date>" not in files["svg"]


def test_the_users_own_settings_of_matplotlib_have_no_say():
    import matplotlib

    plan = small("figure-lambda")
    picture = make_pictures([plan], frame_of(plan, noisy), [])[0]
    plain = render(picture)
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        assert render(picture) == plain
        assert matplotlib.rcParams["font.size"] == 20


def test_drawing_leaves_no_figure_of_pyplot_behind():
    from matplotlib._pylab_helpers import Gcf

    before = len(Gcf.get_all_fig_managers())
    plan = small("figure-scale")
    render(make_pictures([plan], frame_of(plan, timed), [])[0])
    assert len(Gcf.get_all_fig_managers()) == before


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    plan = small("figure-scale")
    picture = make_pictures([plan], frame_of(plan, timed), [])[0]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"secateurs\[plot\]"):
        render(picture)


@pytest.mark.parametrize("name", MEASURES)
def test_plans_without_results_have_no_figures(name):
    plan = small(name)
    assert make_pictures([plan], frame_of(plan, lambda _: None), []) == []


def test_methods_differ_in_more_than_colour(monkeypatch):
    unstyled = {
        f"new{i}": replace(_methods.METHODS["re"], name=f"new{i}", style=None) for i in range(20)
    }
    monkeypatch.setattr("secateurs.paper._drawing.METHODS", _methods.METHODS | unstyled)
    styles = [style_of(method) for method in _methods.METHODS | unstyled]
    assert len({style.marker for style in styles}) == len(styles)
    assert len({style.dashes for style in styles}) >= len(styles) - 1  # the paper's own are solid


def test_every_method_can_be_drawn(monkeypatch):
    new = replace(_methods.METHODS["re"], name="new", style=None)
    monkeypatch.setattr("secateurs.paper._drawing.METHODS", _methods.METHODS | {"new": new})
    axes = Figure().subplots()
    for method in (*_methods.METHODS, "new"):
        axes.plot([0, 1], [0, 1], **method_line(method))


def tables_of(names=("table-dt", "table-knn")):
    plans = [plan_of(name, ["Iono", "Liver", "Sonar"]) for name in names]
    frame = pd.concat([frame_of(plan, noisy) for plan in plans])
    return [make_table(plan, frame) for plan in plans]


def test_rank_figures_show_our_ranks_and_the_papers():
    tables = tables_of()
    pictures = {picture.name: picture for picture in make_pictures([], pd.DataFrame(), tables)}
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
    assert [row[0] for row in pictures["friedman-all"].rows] == [m.upper() for m in METHODS]


def test_rank_figures_are_drawn():
    for picture in make_pictures([], pd.DataFrame(), tables_of())[:3]:
        assert render(picture)["png"].startswith(b"\x89PNG")


def test_one_table_has_no_figures_of_all_tables():
    names = [picture.name for picture in make_pictures([], pd.DataFrame(), tables_of(["table-dt"]))]
    assert names == ["friedman-table-dt", "critical-difference-table-dt"]


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
    assert pair.difference == pytest.approx(3.5)
    assert pair.seconds == pytest.approx(3.5)  # of folds 0 to 3
    assert pair.saving == pytest.approx(7.0)
    assert pair.serial_saving == pytest.approx(3.5 / 4)
    assert pair.test.p_value == pytest.approx(stats.ttest_rel([82, 83, 84, 85], [80] * 4).pvalue)


def test_speed_up_is_comeps_time_by_domeps_and_efficiency_that_by_workers():
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    frame = frame_of(plan, lambda cell: race(cell, factor=1.5))
    races = speed_ups(plan, frame)
    assert [found.workers for found in races] == [2, 3]
    assert [found.name for found in races] == ["Liver, 10 of 100"] * 2
    assert races[0].measured == pytest.approx(1.5)
    assert races[0].possible == pytest.approx(3.0)
    assert {found.verdict() for found in races} == {"faster"}
    rows = make_pictures([plan], frame, [])[0].rows
    efficiency = [row[5] for row in rows]
    assert efficiency == pytest.approx([0.75, 0.5])


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.5, "slower"), (1.01, "neither"), (3.0, "faster")]
)
def test_a_race_is_won_only_clearly(factor, verdict):
    plan = plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,))
    races = speed_ups(plan, frame_of(plan, lambda cell: race(cell, factor)))
    assert {found.verdict() for found in races} == {verdict}


def test_correlation_within_one_fold_is_pearsons():
    plan = small("figure-objective", folds=(0,))
    for found in correlations(plan, frame_of(plan, combinations)):
        assert len(found.folds[0]) == {3: 56, 4: 70}[found.size]
        for column in (1, 2):
            test = stats.pearsonr(found.folds[0][:, 0], found.folds[0][:, column])
            assert found.pearson(column) == pytest.approx((test.statistic, test.pvalue))
            assert found.by_fold(column) == pytest.approx([test.statistic])


def test_correlation_over_folds_leaves_differences_between_folds_aside():
    # the t-test of a regression on the objective and a constant for each fold
    plan = small("figure-objective", folds=(0, 1, 2))
    found = correlations(plan, frame_of(plan, lambda cell: combinations(cell, 0.05)))[0]
    points = np.vstack(found.folds)
    fold = np.repeat(np.eye(3), [len(part) for part in found.folds], axis=0)
    design = np.column_stack([points[:, 0], fold])
    slope, residual = np.linalg.lstsq(design, points[:, 2])[:2]
    freedom = len(points) - 4
    error = np.sqrt(residual[0] / freedom * np.linalg.inv(design.T @ design)[0, 0])
    t = slope[0] / error
    r, p_value = found.pearson()
    assert p_value == pytest.approx(2 * stats.t.sf(abs(t), freedom))
    assert r == pytest.approx(t / np.sqrt(t * t + freedom))


def test_an_objective_that_never_changes_has_no_correlation():
    plan = small("figure-objective", folds=(0,))
    flat = frame_of(
        plan, lambda cell: {"size": cell.keep, "points": [[1.0, 0.5, 0.5], [1.0, 0.6, 0.6]]}
    )
    assert np.isnan(correlations(plan, flat)[0].pearson()).all()


def curve_of(accuracy, weights=(0.0, 0.5, 1.0)):
    return WeightCurve(
        "Iono", row_of("Iono"), 3, np.array(weights), np.array(accuracy, dtype=float)
    )


def test_the_best_weight_has_the_highest_mean_and_is_the_middle_of_several():
    assert curve_of([[80, 82], [84, 85], [70, 71]]).best == 0.5
    assert curve_of([[80], [80], [80]]).best == 0.5
    assert curve_of([[80, 82], [70, 71], [70, 71]]).best == 0.0


def test_a_curve_is_flat_when_best_and_worst_cannot_be_told_apart():
    assert curve_of([[80, 90, 70], [81, 88, 72], [79, 91, 70]]).is_flat
    assert not curve_of([[80, 90, 70], [70, 80.1, 60], [75, 85, 66]]).is_flat
    assert curve_of([[80], [90], [70]]).is_flat


def test_weight_curves_hold_what_was_measured():
    plan = small("figure-lambda", keep=(3, 5), diversity_weight=(0.0, 0.5, 1.0), folds=(0, 1))
    frame = frame_of(plan, lambda c: 0.1 * c.fold + 0.2 * c.diversity_weight + 0.01 * c.keep)
    three, five = weight_curves(plan, frame.sample(frac=1, random_state=0))
    assert (three.keep, five.keep) == (3, 5)
    np.testing.assert_allclose(three.accuracy, [[3, 13], [13, 23], [23, 33]])
    np.testing.assert_allclose(five.at(0.5), [15, 25])
    assert five.at(0.3) is None


def test_folds_that_lack_a_weight_are_left_out_of_its_curve():
    plan = small("figure-lambda", keep=(3,), diversity_weight=(0.0, 0.5, 1.0), folds=(0, 1))
    frame = frame_of(plan, lambda c: None if c.fold and c.diversity_weight == 1 else 0.5)
    assert weight_curves(plan, frame)[0].accuracy.shape == (3, 1)


def test_size_curves_are_means_over_folds():
    plan = small("figure-size", methods=("re",), n_members=(6,), folds=(0, 1))
    frame = frame_of(plan, growth)
    (curve,) = size_curves(plan, frame)
    assert curve.sizes.tolist() == [1, 2, 3, 4, 5, 6]
    tops = [0.9 + 0.02 * noise(cell.key) for cell in plan.cells()]
    assert curve.accuracy[1] == pytest.approx(100 * (np.mean(tops) - 0.1))


def test_timings_come_in_the_order_of_methods_rows_and_members():
    plan = plan_of("figure-scale", methods=("re", "comep"), n_members=(50, 100))
    found = timings(plan, frame_of(plan, timed).sample(frac=1, random_state=1))
    keys = [(t.method, t.d, t.n) for t in found]
    ordered = [(m, d, n) for m in ("re", "comep") for d in (500, 5000, 50000) for n in (50, 100)]
    assert keys == ordered
    assert found[0].seconds == pytest.approx(1e-6 * 50 * 500)
