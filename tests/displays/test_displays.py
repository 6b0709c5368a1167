"""Display classes: they store correct values, draw them, and draw again without computing."""

import sys
import warnings

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import cases
import fitted_regressors as regressors
import naive
from secateurs import COMEP, collect_votes, compare, displays, frontier, prune
from secateurs.exceptions import InputError, MissingExtraError
from secateurs.report import report_data

X, Y = make_classification(
    500, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=2
)
FIT, CHOOSE, TEST = slice(0, 200), slice(200, 350), slice(350, 500)
CLASSES = [
    displays.AccuracySizeDisplay,
    displays.KappaErrorDisplay,
    displays.PairwiseHeatmapDisplay,
    displays.SelectionOrderDisplay,
    displays.DiversityWeightDisplay,
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(12, min_samples_leaf=3, random_state=0).fit(X[FIT], Y[FIT])


@pytest.fixture(scope="module")
def pruning(forest):
    return prune(forest, X[CHOOSE], Y[CHOOSE], pruner="comep", keep=4, random_state=0)


@pytest.fixture(scope="module")
def data(pruning):
    return report_data(pruning, X[TEST], Y[TEST])


def drawn(figure):
    """The pixels of a figure."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


@pytest.mark.parametrize("display", CLASSES)
def test_displays_from_estimator_predictions_and_result_are_equal(display, forest):
    test = {"X_test": X[TEST], "y_test": Y[TEST]}
    given = (forest, X[CHOOSE], Y[CHOOSE])
    by_model = display.from_estimator(*given, keep=4, diversity_weight=0.2, **test)
    result = prune(*given, COMEP(keep=4, diversity_weight=0.2))
    by_result = display.from_result(result, X[TEST], Y[TEST])
    assert (drawn(by_model.figure_) == drawn(by_result.figure_)).all()
    votes = collect_votes(forest, X[CHOOSE])
    by_votes = display.from_predictions(votes, Y[CHOOSE], keep=4, diversity_weight=0.2)
    for made in (by_model, by_result, by_votes):
        assert isinstance(made, display)
        assert made.ax_.figure is made.figure_
        assert made.ax_.get_xlabel()


@pytest.mark.parametrize("display", CLASSES)
def test_a_display_is_drawn_again_on_other_axes_without_computing(display, pruning):
    made = display.from_result(pruning, X[TEST], Y[TEST])
    before = drawn(made.figure_)
    bare = display.__new__(display)
    kept = {name: value for name, value in vars(made).items() if not name.endswith("_")}
    vars(bare).update(kept)
    assert bare.plot() is bare
    assert (drawn(bare.figure_) == before).all()
    figure = Figure()
    axes = figure.subplots()
    assert bare.plot(ax=axes).ax_ is axes
    assert bare.figure_ is figure


@pytest.mark.parametrize("display", CLASSES)
def test_a_comparison_is_drawn(display, forest):
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["re", "comep", "sep"], [2, 4], random_state=0)
    made = display.from_result(found)
    assert len(made.figure_.axes) >= 1
    drawn(made.figure_)


def test_accuracies_equal_those_of_the_models_and_the_report(pruning, data):
    made = displays.AccuracySizeDisplay.from_result(pruning, X[TEST], Y[TEST])
    (curve,) = made.curves.values()
    course = data["courses"][0]
    assert curve.sizes.tolist() == course["sizes"]
    assert curve.held_out == pytest.approx(np.array(course["held_out"]["right"]) / 150)
    assert curve.choosing == pytest.approx(np.array(course["choosing"]) / 150)
    assert curve.held_out[3] == pytest.approx(pruning.estimator.score(X[TEST], Y[TEST]))
    assert made.whole == pytest.approx(pruning.ensemble.model.score(X[TEST], Y[TEST]))
    line = made.ax_.get_lines()[0]
    assert line.get_xdata().tolist() == curve.sizes.tolist()
    assert line.get_ydata() == pytest.approx(curve.held_out)


def test_pairs_equal_the_formula_and_the_report(forest, pruning, data):
    made = displays.KappaErrorDisplay.from_result(pruning)
    votes = collect_votes(forest, X[CHOOSE]).tolist()
    columns = cases.transpose(votes)
    assert made.pairs.kappa[0] == pytest.approx(float(naive.kappa(columns[0], columns[1])))
    others, kept = made.ax_.collections
    assert len(kept.get_offsets()) == 6
    shown, reported = sorted(kept.get_offsets().tolist()), sorted(data["kappa_error"]["kept"])
    assert np.array(shown) == pytest.approx(np.array(reported), abs=1e-4)
    assert len(others.get_offsets()) == 12 * 11 / 2 - 6


def test_the_heatmap_shows_distances_ordered_by_cluster(forest, pruning, data):
    made = displays.PairwiseHeatmapDisplay.from_result(pruning)
    columns = cases.transpose(collect_votes(forest, X[CHOOSE]).tolist())
    (image,) = made.ax_.get_images()
    order = data["distances"]["order"]
    shown = image.get_array()
    assert shown[0, 1] == pytest.approx(naive.nvi(columns[order[0]], columns[order[1]]))
    assert np.ma.is_masked(shown[3, 3]) or np.isnan(shown[3, 3])
    ticks = made.ax_.get_xticks()
    assert {order[int(tick)] for tick in ticks} == set(pruning.member_indices.tolist())
    assert image.get_clim() == (data["distances"]["low"], data["distances"]["high"])


def test_steps_equal_those_of_the_selection(forest, pruning):
    made = displays.SelectionOrderDisplay.from_result(pruning)
    votes, y = collect_votes(forest, X[CHOOSE]).tolist(), Y[CHOOSE].tolist()
    after, alone = made.ax_.get_lines()
    for n, member in enumerate(pruning.member_indices):
        wrong = naive.errors(votes, y, pruning.member_indices[: n + 1].tolist())
        assert after.get_ydata()[n] == pytest.approx(1 - wrong / len(y))
        assert alone.get_ydata()[n] == naive.n_correct(votes, y, member) / len(y)


def test_diversity_weights_equal_those_of_the_report(pruning, data):
    made = displays.DiversityWeightDisplay.from_result(pruning, X[TEST], Y[TEST])
    assert made.curve.weights == data["weights"]["grid"]
    assert made.curve.accuracy.tolist() == data["weights"]["at_keep"]
    assert made.curve.overlap.tolist() == data["weights"]["overlap"]
    assert made.overlap_ax_.get_lines()[0].get_ydata().max() == 1


def test_one_member_and_one_pair_can_be_drawn():
    votes, y = cases.plain(2, 40)
    for display in CLASSES:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            drawn(display.from_predictions(votes, y, keep=1).figure_)


@pytest.mark.parametrize("display", CLASSES)
def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch, display, pruning):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r'pip install "secateurs\[plot\]"'):
        display.from_result(pruning)


@pytest.mark.parametrize("display", CLASSES)
def test_displays_reject_results_of_another_kind(display, pruning):
    votes, y = [[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]] * 5, [0, 0, 1, 1] * 5
    found = frontier(votes, y=y, cost=[3, 1, 2], random_state=0)
    with pytest.raises(InputError, match="cannot show a Frontier"):
        display.from_result(found)
    with pytest.raises(InputError, match="cannot show a Pruning"):
        displays.CostFrontierDisplay.from_result(pruning)


def test_importing_displays_does_not_load_matplotlib():
    import subprocess

    code = "import sys, secateurs.displays; print('matplotlib' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert told.stdout.strip() == "False"


def test_regression_is_drawn_by_its_score():
    rows, truth = regressors.X[regressors.CHOOSE], regressors.Y[regressors.CHOOSE]
    forest = regressors.fitted_regressors()["forest"]
    given = {"scoring": "neg_mean_absolute_error", "refit": False}
    pruning = prune(forest, rows, truth, keep=4, **given)
    test = regressors.X[regressors.TEST], regressors.Y[regressors.TEST]
    display = displays.AccuracySizeDisplay.from_result(pruning, *test)
    off = np.abs(forest.predict(test[0]) - test[1]).mean()
    assert display.whole == pytest.approx(off)
    curve = display.curves["joint"]
    kept = np.abs(pruning.estimator.predict(test[0]) - test[1]).mean()
    assert curve.held_out[3] == pytest.approx(kept)
    assert curve.choosing[3] == pytest.approx(
        np.abs(pruning.estimator.predict(rows) - truth).mean()
    )
    assert display.ax_.get_ylabel() == "mean absolute error on held-out samples"
    again = displays.AccuracySizeDisplay.from_predictions(regressors.table(), truth, keep=3)
    assert again.score == "R²"


@pytest.mark.parametrize("kind", CLASSES[1:])
def test_displays_of_classes_reject_regression(kind):
    truth = regressors.Y[regressors.CHOOSE]
    with pytest.raises(InputError, match=rf"{kind.__name__} needs classes.*AccuracySizeDisplay"):
        kind.from_predictions(regressors.table(), truth, keep=3)
