"""Figures can be drawn, again and again the same, at column width."""

import itertools
import struct
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from made_up_results import combinations, frame_of, growth, noisy, pictures_of, race, small, timed
from matplotlib.figure import Figure

from secateurs import _methods
from secateurs.benchmarking.pictures import render_picture
from secateurs.exceptions import MissingExtraError
from secateurs.paper._figure_base import method_line_style, method_style

MEASURES = {
    "figure-epfd": noisy,
    "figure-speedup": race,
    "figure-objective": combinations,
    "figure-lambda": noisy,
    "figure-size": growth,
    "figure-scale": timed,
}


@pytest.mark.parametrize("name", MEASURES)
def test_figures_are_drawn_at_column_width_and_always_the_same(name):
    plan = small(name)
    frame = frame_of(plan, MEASURES[name])
    picture = pictures_of(plan, frame)[0]
    files, again = render_picture(picture), render_picture(picture)
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
    picture = pictures_of(plan, frame_of(plan, noisy))[0]
    plain = render_picture(picture)
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        assert render_picture(picture) == plain
        assert matplotlib.rcParams["font.size"] == 20


def test_drawing_leaves_no_figure_of_pyplot_behind():
    from matplotlib._pylab_helpers import Gcf

    before = len(Gcf.get_all_fig_managers())
    plan = small("figure-scale")
    render_picture(pictures_of(plan, frame_of(plan, timed))[0])
    assert len(Gcf.get_all_fig_managers()) == before


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    plan = small("figure-scale")
    picture = pictures_of(plan, frame_of(plan, timed))[0]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"secateurs\[plot\]"):
        render_picture(picture)


@pytest.mark.parametrize("name", MEASURES)
def test_plans_without_results_have_no_figures(name):
    plan = small(name)
    assert pictures_of(plan, frame_of(plan, lambda _: None)) == []


def test_methods_differ_in_more_than_colour(monkeypatch):
    unstyled = {
        f"new{i}": replace(_methods.METHODS["re"], name=f"new{i}", style=None) for i in range(20)
    }
    monkeypatch.setattr("secateurs.paper._figure_base.METHODS", {**_methods.METHODS} | unstyled)
    styles = [method_style(method) for method in {**_methods.METHODS} | unstyled]
    assert len({style.marker for style in styles}) == len(styles)
    assert len({style.dashes for style in styles}) >= len(styles) - 1  # the paper's own are solid


def test_every_method_can_be_drawn(monkeypatch):
    new = replace(_methods.METHODS["re"], name="new", style=None)
    monkeypatch.setattr("secateurs.paper._figure_base.METHODS", {**_methods.METHODS} | {"new": new})
    axes = Figure().subplots()
    for method in (*_methods.METHODS, "new"):
        axes.plot([0, 1], [0, 1], **method_line_style(method))


ALIKE = {"seconds": 0.1, "path_seconds": 0.1, "group_wins": 0, "accuracy": 0.8}
ALIKE |= {"n_classes": 2, "n_groups": 2}
ALIKE |= {"sizes": list(range(1, 101)), "accuracies": [0.9 - 0.2 / n for n in range(1, 101)]}
ALIKE |= {f"seconds_{side}": [0.1] * 5 for side in ("comep", "domep", "comep_cpu", "path_cpu")}


def alike(cell):
    """The same numbers for every method, size, weight and number of workers."""
    place = {"workers": int(cell.variant[0])} if cell.kind == "speedup" else {}
    place |= {"d": int(cell.dataset.split("-")[1])} if cell.kind == "scale" else {}
    return ALIKE | {"n": cell.n_members} | place


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "figure-objective"])
def test_no_marker_lies_on_another(name):
    plan = small(name)
    picture = pictures_of(plan, frame_of(plan, alike))[0]
    figure = Figure(figsize=(picture.width, picture.height), layout="constrained")
    picture.draw(figure)
    figure.draw_without_rendering()
    for panel in figure.axes:
        centres = []
        for line in panel.lines:
            if line.get_marker() not in ("None", "") and line.get_markerfacecolor() != "none":
                every = line.get_markevery()
                start, step = every if every else (0, 1)
                points = panel.transData.transform(line.get_xydata()[start::step])
                centres.append(points * 72 / figure.dpi)
        for one, other in itertools.combinations(centres, 2):
            gaps = np.linalg.norm(one[:, None] - other[None], axis=2)
            assert gaps.min() >= 1, "two markers are less than a point apart"
