"""Critical-difference diagram: positions of names, and bars that join methods."""

import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from secateurs.displays.critical_difference import CriticalDifferenceDisplay
from secateurs.exceptions import InputError, MissingExtraError
from secateurs.statistics import nemenyi

NAMES = ["low", "mid", "top", "last"]


@pytest.fixture
def axes():
    figure = Figure(figsize=(3.5, 2.4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


def scores(n_sets=9):
    """Ranks 3, 2, 1 and 4, by construction."""
    import pandas as pd

    return pd.DataFrame([[2, 3, 4, 1]] * n_sets, columns=NAMES)


def bars(axes):
    """Ends of the thick lines, which join methods."""
    thick = [line for line in axes.lines if line.get_linewidth() > 2]
    return [tuple(np.round(line.get_xdata(), 6)) for line in thick]


def test_methods_are_drawn_at_their_ranks_with_names_and_numbers(axes):
    display = CriticalDifferenceDisplay.from_scores(scores(), ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is axes.figure
    texts = [text.get_text().split() for text in axes.texts]
    for name, rank in {"top": "1.00", "mid": "2.00", "low": "3.00", "last": "4.00"}.items():
        assert [name, rank] in texts or [rank, name] in texts
    paths = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert [line.get_xdata()[0] for line in paths] == [1, 2, 3, 4]
    first, second, third, fourth = (line.get_ydata()[1] for line in paths)
    assert first == fourth > second == third  # outer names on top, so that lines do not cross


def test_bars_join_methods_that_do_not_differ(axes):
    # on 9 sets the critical difference of 4 methods is 1.56: neighbours are joined
    display = CriticalDifferenceDisplay.from_scores(scores(), ax=axes)
    assert display.pairs.critical_difference == pytest.approx(1.56, abs=0.01)
    assert bars(axes) == [(0.96, 2.04), (1.96, 3.04), (2.96, 4.04)]
    depths = [line.get_ydata()[0] for line in axes.lines if line.get_linewidth() > 2]
    assert len(set(depths)) > 1  # bars that would touch lie on different levels


def test_methods_that_all_differ_have_no_bars(axes):
    CriticalDifferenceDisplay.from_scores(scores(60), ax=axes)
    assert bars(axes) == []


def test_the_title_has_test_level_and_number_of_data_sets(axes):
    CriticalDifferenceDisplay.from_scores(scores(), alpha=0.1, ax=axes)
    assert axes.get_title() == "Nemenyi, α = 0.1, 9 data sets"
    assert any("critical difference 1.39" in text.get_text() for text in axes.texts)


def test_wilcoxon_holm_has_no_critical_difference(axes):
    CriticalDifferenceDisplay.from_scores(scores(), test="wilcoxon-holm", ax=axes)
    assert axes.get_title().startswith("Wilcoxon–Holm")
    assert not any("critical" in text.get_text() for text in axes.texts)
    assert bars(axes) == []  # always the same order: all pairs differ


def test_a_display_draws_a_computed_result(axes):
    display = CriticalDifferenceDisplay(nemenyi(scores()))
    assert display.plot(ax=axes) is display
    axes.figure.draw_without_rendering()


def test_all_names_lie_inside_the_figure(axes):
    CriticalDifferenceDisplay.from_scores(scores(), ax=axes)
    axes.figure.draw_without_rendering()
    width, height = axes.figure.bbox.width, axes.figure.bbox.height
    for text in axes.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= width
        assert box.y0 >= 0
        assert box.y1 <= height


def test_an_unknown_test_is_rejected(axes):
    with pytest.raises(InputError, match="test='t'"):
        CriticalDifferenceDisplay.from_scores(scores(), test="t", ax=axes)


def test_without_axes_a_new_figure_is_created():
    import matplotlib.pyplot as plt

    display = CriticalDifferenceDisplay.from_scores(scores())
    try:
        assert display.figure_.number in plt.get_fignums()
    finally:
        plt.close(display.figure_)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"secateurs\[plot\]"):
        CriticalDifferenceDisplay.from_scores(scores())


def texts_of(figure):
    """All texts of a drawn figure, with their boxes in pixels."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    shown = [text for axes in figure.axes for text in (*axes.texts, axes.title)]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


def assert_readable(figure):
    """Every text is inside the figure, and no two texts overlap."""
    width, height = figure.get_size_inches() * figure.dpi
    found = texts_of(figure)
    for text, box in found:
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
    for place, (text, box) in enumerate(found):
        for other, another in found[place + 1 :]:
            assert not box.overlaps(another), (text, other)


def long_scores(n_methods, n_sets=12):
    import pandas as pd

    rng = np.random.default_rng(n_methods)
    names = [f"a rather long name of the method number {n}" for n in range(n_methods)]
    return pd.DataFrame(rng.random((n_sets, n_methods)) + np.arange(n_methods) / 10, columns=names)


@pytest.mark.parametrize("n_methods", [2, 4, 10, 20])
@pytest.mark.parametrize("test", ["nemenyi", "wilcoxon"])
def test_long_names_are_not_clipped_and_do_not_overlap(n_methods, test):
    import matplotlib.pyplot as plt

    display = CriticalDifferenceDisplay.from_scores(long_scores(n_methods), test=test)
    assert_readable(display.figure_)
    assert {text.get_fontsize() for text in display.ax_.texts} == {8.33}
    plt.close(display.figure_)


@pytest.mark.parametrize("n_methods", [4, 10, 20])
def test_on_given_axes_letters_get_smaller(axes, n_methods):
    CriticalDifferenceDisplay.from_scores(long_scores(n_methods), ax=axes)
    assert_readable(axes.figure)


def test_a_critical_difference_longer_than_the_axis_is_written_and_not_drawn(axes):
    display = CriticalDifferenceDisplay.from_scores(long_scores(4, n_sets=2), ax=axes)
    assert display.pairs.critical_difference > 3
    assert_readable(axes.figure)
    assert any("critical difference 3.32" in text.get_text() for text in axes.texts)
    assert max(max(line.get_ydata()) for line in axes.lines) < 0.4  # where the bar would be


def test_dollar_signs_in_names_are_not_formulas(axes):
    table = scores().rename(columns={"top": "$best$"})
    CriticalDifferenceDisplay.from_scores(table, ax=axes)
    axes.figure.canvas.draw()
    assert any("$best$" in text.get_text() and not text.get_parse_math() for text in axes.texts)


def test_wilcoxon_is_another_name_of_wilcoxon_holm(axes):
    display = CriticalDifferenceDisplay.from_scores(scores(), test="wilcoxon", ax=axes)
    other = CriticalDifferenceDisplay.from_scores(scores(), test="wilcoxon-holm", ax=axes)
    assert display.pairs.test == other.pairs.test == "Wilcoxon–Holm"
