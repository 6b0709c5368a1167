"""The page in a real browser: plots, exact counts, keyboard use, hostile names."""

import json
import re
import warnings

import numpy as np
import pytest
from report_pages import HOSTILE, make_data

import cases
import fitted_regressors as regressors
import naive
from secateurs import COMEP, Votes, prune
from secateurs.report import render, report_data

PLOTS = ["plot-what-if", "plot-score", "plot-kappa", "plot-distances", "plot-steps", "plot-weights"]


@pytest.fixture(scope="module")
def data():
    return make_data(["noisy"] * 20 + ["constant", "copy"], 3)


def figures(page):
    """The figures of "What if?", by their names."""
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#figures > div')].map((one) =>"
        " [one.querySelector('dt').textContent, one.querySelector('dd').textContent]))"
    )


def set_range(page, name, value):
    page.evaluate(
        "([name, value]) => { const input = document.getElementById(name); input.value = value;"
        " input.dispatchEvent(new Event('input')); }",
        [name, value],
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_section_is_drawn_in_light_and_dark(open_page, data, scheme):
    page = open_page(data, color_scheme=scheme)
    for plot in PLOTS:
        shape = page.locator(f"#{plot} :is(svg, canvas)").first
        box = shape.bounding_box()
        assert box is not None, plot
        assert box["width"] > 200, plot
        assert box["height"] > 5, plot
    assert page.locator("svg path[d*='NaN'], svg [cx='NaN'], svg [x1='NaN']").count() == 0
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]


def test_the_switch_changes_light_to_dark_and_back(open_page, data):
    page = open_page(data, color_scheme="light")
    grounds = []
    for _ in range(3):
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.click("#theme")
    assert grounds[0] == grounds[2] != grounds[1]


def test_controls_change_the_figures(open_page, data):
    page = open_page(data)
    before = figures(page)
    assert before["members"] == "5"
    drawing = page.locator("#plot-what-if").inner_html()
    set_range(page, "keep", 0)
    one = figures(page)
    assert one["members"] == "1"
    assert one["accuracy, held out"] != before["accuracy, held out"]
    assert page.locator("#plot-what-if").inner_html() != drawing
    assert "--keep 1 --diversity-weight 0.5" in page.locator("#command").text_content()
    set_range(page, "weight", 20)
    assert page.locator("#weight-shown").text_content() == "1"
    assert "--diversity-weight 1" in page.locator("#command").text_content()
    page.select_option("#method", "re")
    assert page.locator("#weight").is_disabled()
    assert page.locator("#python").text_content() == (
        'secateurs.prune(predictions, None, y, "re", keep=1)'
    )
    page.fill("#tolerance", "1")
    assert "Smallest within tolerance: 1" in page.locator("#smallest").text_content()


@pytest.mark.parametrize("pruner", ["joint", "auto", "es"])
def test_every_method_can_be_looked_at_whichever_pruned(open_page, pruner):
    page = open_page(make_data(["noisy"] * 12, 3, pruner=pruner))
    methods = page.locator("#method option").all()
    assert len(methods) > 5
    for value in [method.get_attribute("value") for method in methods]:
        page.select_option("#method", value)
        assert figures(page)["members"]


def test_the_smallest_within_tolerance_is_found(open_page, data):
    page = open_page(data)
    whole, right = data["whole"], data["courses"][0]["held_out"]["right"]
    for tolerance in (0.0, 0.02, 0.1):
        page.fill("#tolerance", str(tolerance))
        page.click("#smallest")
        enough = whole["held_out"] - tolerance * whole["n_rows"]
        expected = next(n for n, count in enumerate(right, 1) if count >= enough - 1e-9)
        assert figures(page)["members"] == str(expected)


def test_costs_move_the_axis_of_both_plots(open_page):
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier

    X, y = make_classification(240, 6, random_state=0)
    forest = RandomForestClassifier(12, random_state=0).fit(X[::3], y[::3])
    made = report_data(prune(forest, X[1::3], y[1::3], pruner="comep", keep=4), X[2::3], y[2::3])
    page = open_page(made)
    for axis, label in (("bytes", "megabytes"), ("ms", "milliseconds per row")):
        page.select_option("#cost", axis)
        for plot in ("plot-what-if", "plot-score"):
            assert label in page.locator(f"#{plot} text.axis").all_text_contents()
    assert set(figures(page)) >= {"megabytes", "ms per row", "held out, counting labels"}
    cost = made["costs"]["bytes"]
    expected = cost["base"] + sum(cost["each"][m] for m in made["chosen"]["members"])
    assert float(figures(page)["megabytes"]) == pytest.approx(expected / 1e6, rel=0.01)
    line = np.array(made["costs"]["ms"])  # fitted to timings
    for size in (4, 12):
        set_range(page, "keep", size - 1)
        expected = np.interp(size, *line.T)
        assert float(figures(page)["ms per row"]) == pytest.approx(expected, rel=0.01)


def test_methods_are_hidden_and_shown_by_the_legend(open_page, data):
    page = open_page(data)
    lines = page.locator("#plot-score path.line")
    assert lines.count() == 3  # the choice, its rival, and random members
    button = page.locator("#legend button", has_text="kp")
    assert button.is_hidden()
    page.locator("#legend button", has_text="more").click()
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert lines.count() == 4
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert lines.count() == 3
    page.locator("#legend button", has_text="Draw all").click()
    n_lines = sum(curve["is_nested"] for curve in data["score_size"]["curves"])
    assert lines.count() == n_lines > 8
    page.click("#show-choosing")
    assert lines.count() == n_lines + 1


AGREEMENT = {
    "two classes": {"kinds": ["noisy"] * 14, "n_classes": 2},
    "ten classes": {"kinds": ["noisy"] * 14, "n_classes": 10},
    "equal, constant, perfect and wrong members": {"kinds": cases.KINDS * 2, "n_classes": 3},
    "ties everywhere": {
        "kinds": ["random"] * 6 + ["copy"] * 6,
        "n_classes": 2,
        "n_rows": 12,
        "n_test": 9,
    },
    "constants only": {"kinds": ["constant"] * 6, "n_classes": 4, "n_rows": 30},
    "twenty classes, cross-validated": {"kinds": ["noisy"] * 8, "n_classes": 20, "n_test": None},
}


@pytest.mark.parametrize("name", AGREEMENT)
def test_the_page_chooses_and_counts_as_python_does(open_page, name):
    given = dict(AGREEMENT[name], seed=7)
    made = make_data(**given)
    page = open_page(made)
    kinds, n_classes = given["kinds"], given["n_classes"]
    case = cases.make(7, given.get("n_rows", 120), n_classes, kinds)
    n_test = given.get("n_test", 90)
    test = None if n_test is None else cases.make(8, n_test, n_classes, kinds)
    found = page.evaluate(
        "secateurs.data.weights.grid.map((weight) => secateurs.courses.get('comep', weight))"
    )
    assert len(found) == 21
    for place, course in enumerate(found):
        weight = made["weights"]["grid"][place]
        order = course["order"]
        if place % 5 == 0:  # the slow twin, for some weights
            expected = naive.comep(case.votes, case.y, len(kinds), weight, "spread")
            assert order == expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            votes = Votes.encode(*case)
            assert order == COMEP(len(kinds), weight).fit(votes).member_indices_.tolist()
        for keep in (1, 2, 3, len(kinds)):
            wrong = naive.errors(case.votes, case.y, order[:keep])
            assert course["onChoosing"][keep - 1] == len(case.y) - wrong
            if test is not None:
                wrong = naive.errors(test.votes, test.y, order[:keep])
                right = len(test.y) - wrong
                assert course["onTesting"][keep - 1] == right
                assert course["held_out"]["right"][keep - 1] == right
    assert found[0]["onTesting"] is None or test is not None


def test_other_methods_are_counted_again_as_python_counts_them(open_page, data):
    page = open_page(data)
    for course in data["courses"][1:]:
        found = page.evaluate("(label) => secateurs.courses.get(label)", course["label"])
        assert found["onChoosing"] == course["choosing"]
        assert found["onTesting"] == course["held_out_labels"] == course["held_out"]["right"]


def test_missing_votes_and_more_than_256_classes_are_counted(open_page):
    rng = np.random.default_rng(0)
    y = np.arange(520) % 260
    votes = np.where(rng.random((520, 3)) < 0.6, y[:, None], rng.integers(260, size=(520, 3)))
    masked = np.ma.array(votes, mask=rng.random((520, 3)) < 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = report_data(prune(masked, y=y, pruner="comep", keep=2))
    assert made["choosing"]["votes"]["bits"] == 16
    page = open_page(made)
    for course in made["courses"][1:]:
        found = page.evaluate("(label) => secateurs.courses.get(label)", course["label"])
        assert found["onChoosing"] == course["choosing"]


def test_the_state_is_in_the_address_and_comes_back(open_page, data):
    page = open_page(data)
    set_range(page, "weight", 6)
    set_range(page, "keep", 8)
    page.fill("#tolerance", "0.02")
    seen = figures(page), page.locator("#command").text_content()
    page.wait_for_url(re.compile("keep=9&lambda=0.3.*tolerance=0.02"))
    fragment = page.evaluate("location.hash")
    again = open_page(data, fragment=fragment)
    assert (figures(again), again.locator("#command").text_content()) == seen
    assert again.locator("#tolerance").input_value() == "0.02"


@pytest.mark.parametrize(
    "fragment",
    ["#method=nobody&keep=-3&lambda=x&tolerance=9&cost=gold", "#method=", "#%", "#what-if", "#=&&"],
)
def test_an_address_that_makes_no_sense_changes_nothing(open_page, data, fragment):
    page = open_page(data, fragment=fragment)
    assert figures(page)["members"] == "5"
    assert page.locator("#method").input_value() == "comep"
    assert page.locator("#tolerance").input_value() == "0.005"


def test_it_can_be_used_by_keyboard(open_page, data):
    page = open_page(data)
    page.focus("#keep")
    page.keyboard.press("ArrowRight")
    assert figures(page)["members"] == "6"
    page.keyboard.press("Home")
    assert figures(page)["members"] == "1"
    assert page.locator("#keep").get_attribute("aria-valuetext") == "1 member"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "weight"
    page.keyboard.press("End")
    assert page.locator("#weight-shown").text_content() == "1"
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"cost", "tolerance", "smallest", "copy", "SUMMARY", "normalised"} <= reached
    page.locator("#score-size summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#score-size details table").is_visible()


@pytest.mark.parametrize("names", [None, HOSTILE])
def test_a_small_screen_need_not_scroll_sideways(open_page, names):
    made = make_data(["noisy"] * 9, 9, names=names)
    page = open_page(made, viewport={"width": 375, "height": 700})
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 375


def test_before_and_after_can_be_read_on_a_small_screen(open_page, data):
    spread = {"low": 101.12, "high": 140.34, "all": [101.12, 120.0, 140.34]}
    line = {"figure": "ms for 1000 rows", "before": 120.0, "after": 12.0, "change": -108.0}
    line |= {"low": None, "high": None, "timings": {"before": spread, "after": spread}}
    lines = [*data["before_after"], line]
    page = open_page(data | {"before_after": lines}, viewport={"width": 375, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    shown = page.locator("#before-after td", has_text="101.1–140.3")
    assert shown.count() == 2
    for cell in shown.all():  # all members and kept, without scrolling the table
        box = cell.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375


def test_hostile_names_do_nothing_and_are_shown(open_page):
    made = make_data(["noisy"] * len(HOSTILE), len(HOSTILE), names=HOSTILE)
    page = open_page(made)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.hover("#plot-distances canvas")
    set_range(page, "weight", 3)
    page.wait_for_timeout(100)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("body img").count() == 0
    text = page.evaluate("document.body.textContent")
    for name in HOSTILE:
        assert name.replace("\x00", "") in text.replace("\x00", "")
    shown = page.locator("#what-if-members").text_content()
    order = page.evaluate("secateurs.whatIf.course.order")
    assert shown == ", ".join(made["ensemble"]["names"][member] for member in order[:5])


def test_the_numbers_can_be_downloaded(open_page, data):
    page = open_page(data)
    with page.expect_download() as download:
        page.click("#download")
    assert json.loads(download.value.path().read_text("utf-8")) == data


def test_the_command_is_copied(open_page, data):
    page = open_page(data)
    page.click("#copy")
    page.locator("#copy", has_text=re.compile("Copied|Selected")).wait_for()
    selected = page.evaluate("getSelection().toString()")
    assert selected in ("", page.locator("#command").text_content())


def test_without_scripts_tables_and_the_curve_are_there(open_page, data):
    page = open_page(data, java_script_enabled=False)
    assert page.locator("noscript svg polyline").count() == 2
    assert page.locator("noscript svg").first.bounding_box()["height"] > 100
    assert not page.locator("#what-if-tool").is_visible()
    assert not page.locator("#theme").is_visible()
    assert page.locator("#before-after table").is_visible()
    page.locator("#score-size summary").click()
    assert page.locator("#score-size details table").is_visible()
    assert page.locator("figure.drawn").first.is_hidden()


def test_print_is_light_and_without_controls(open_page, data):
    page = open_page(data, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    for hidden in ("#theme", "#what-if", "nav"):
        assert page.locator(hidden).is_hidden()
    assert page.locator("#plot-score svg").is_visible()


def test_a_hundred_members_and_four_thousand_rows_are_small_and_quick(open_page):
    votes, y = cases.make(1, 2000, 3, ["noisy"] * 100)
    test_votes, test_y = cases.make(2, 2000, 3, ["noisy"] * 100)
    made = report_data(prune(votes, y=y, pruner="comep", keep=10), test_votes, test_y)
    assert len(render(made).encode()) < 1_000_000
    page = open_page(made)
    spent = []
    for place in range(21):
        set_range(page, "weight", place)
        spent.append(page.evaluate("secateurs.whatIf.milliseconds"))
    assert np.median(spent) < 500  # a step takes some 10 ms; this only tells a blunder
    assert made["choosing"]["votes"]["deflated"]


def test_very_many_members_are_drawn_without_weights(monkeypatch, open_page):
    monkeypatch.setattr("secateurs.report.sections._section.MOST_LIVE", 20)
    monkeypatch.setattr("secateurs.evaluation.selections._MAX_ORDER", 20)
    monkeypatch.setattr("secateurs.report.member_diagnostics.MOST_IN_HEATMAP", 20)
    votes, y = cases.plain(60, 60)
    page = open_page(report_data(prune(votes, y=y, pruner="comep", keep=5)))
    assert page.locator("#weights").count() == 0
    assert page.locator("#weight").is_disabled()
    assert page.locator("#plot-distances canvas").get_attribute("width") == "20"
    set_range(page, "keep", 2)
    assert figures(page)["members"] == "3"


@pytest.mark.parametrize("width", [1200, 390])
def test_reports_of_numbers_are_drawn_too(open_page, width):
    rows, truth = regressors.X[regressors.CHOOSE], regressors.Y[regressors.CHOOSE]
    pruning = prune(regressors.fitted_regressors()["forest"], rows, truth, keep=4)
    test = regressors.X[regressors.TEST], regressors.Y[regressors.TEST]
    page = open_page(report_data(pruning, *test), viewport={"width": width, "height": 900})
    for plot in ("plot-score", "plot-correlation", "plot-residuals"):
        box = page.locator(f"#{plot} svg").first.bounding_box()
        assert box is not None, plot
        assert 200 < box["width"] <= width, plot
    assert page.locator("svg path[d*='NaN'], svg [cx='NaN'], svg [x1='NaN']").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
    n_lines = page.locator("#plot-score path.line").count()
    page.locator("#legend button", has_text="random").click()
    assert page.locator("#plot-score path.line").count() == n_lines - 1
