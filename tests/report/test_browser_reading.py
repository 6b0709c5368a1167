"""The page in a real browser, as readers use it: values, sorting, any width, light, dark, print."""

import numpy as np
import pytest

from secateurs import compare
from secateurs.report import report_data

# Shapes drawn beyond the axes of their plot, by the plot's place.
BEYOND = """[...document.querySelectorAll('[id^=plot-] svg[role=img]')].flatMap((root) => {
  const layer = root.querySelector('g[clip-path]');
  const edge = root.querySelector('clipPath rect').getBBox();
  return [...layer.querySelectorAll('path, circle, line')].filter((shape) => {
    const box = shape.getBBox();
    return box.x < edge.x - 1 || box.y < edge.y - 1
      || box.x + box.width > edge.x + edge.width + 1
      || box.y + box.height > edge.y + edge.height + 1;
  }).map((shape) => `${root.closest('[id^=plot-]').id}: ${shape.outerHTML}`);
})"""
# What the main line spans of the axis, from 0 to 1.
SPAN = """(() => {
  const root = document.querySelector('#plot-score svg');
  const main = root.querySelector('path.line.strong').getBBox();
  return main.width / root.querySelector('clipPath rect').getBBox().width;
})()"""


def probabilities(seed, n_rows, n_members=24):
    """Probabilities of three classes from members that err on their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    evidence = rng.normal(size=(n_rows, n_members, 3)) + 1.2 * np.eye(3)[y][:, None]
    shares = np.exp(evidence)
    return shares / shares.sum(axis=2, keepdims=True), y


def made(scoring=None):
    chosen_on, y = probabilities(0, 150)
    X_test, y_test = probabilities(1, 120)
    methods = ["re", "comep", "kp", "best", "caruana", "sep", "joint"]
    given = {"X_test": X_test, "y_test": y_test, "scoring": scoring, "random_state": 0}
    return report_data(compare(chosen_on, None, y, methods, [4, 9], **given))


@pytest.fixture(scope="module")
def data():
    return made()


def read(page, plot):
    """Return what a plot tells: its title, and values by label."""
    box = page.locator(f"#{plot} .reading:visible").first
    lines = box.locator("div").all()
    values = {one.locator("span").text_content(): one.locator("em").text_content() for one in lines}
    return box.locator("b").text_content(), values


# Playwright's wait_for_function would evaluate text in the page while it waits, which the page's
# content security policy forbids.
DRAWN_AGAIN = """() => new Promise((done, fail) => {
    const end = Date.now() + 60000;
    const check = () => {
        const svg = document.querySelector("#plot-score svg");
        if (svg.getAttribute("width") == plotWidth()) done();
        else if (Date.now() > end) fail(new Error("the plot does not have the width of the page"));
        else setTimeout(check, 20);
    };
    check();
})"""


def test_it_fits_every_width_in_light_and_dark(open_page, data):
    page = open_page(data, viewport={"width": 1280, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (1280, 768, 375):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate(DRAWN_AGAIN)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(BEYOND) == []
            assert page.evaluate(SPAN) > 0.97
        changes = page.locator("#before-after td:last-child").all()
        assert len(changes) > 4
        for cell in changes:  # without scrolling the table
            box = cell.bounding_box()
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
    page.locator("#legend button", has_text="more").click()
    page.locator("#legend button", has_text="Draw all").click()
    page.click("#show-choosing")
    assert page.evaluate(BEYOND) == []
    n_lines = sum(curve["is_nested"] for curve in data["score_size"]["curves"])
    assert page.locator("#plot-score path.line").count() == n_lines + 1
    assert page.locator("svg path[d*='NaN'], svg [cx='NaN'], svg [x1='NaN']").count() == 0


def test_values_are_told_under_the_pointer_and_by_keys(open_page, data):
    page = open_page(data)
    own, chosen = data["score_size"], data["chosen"]
    names = [own["curves"][place]["label"] for place in own["shown"]]

    def told_of(size):
        title, values = read(page, "plot-score")
        assert title == ("1 member" if size == 1 else f"{size} members")
        assert next(iter(values)) == names[0]
        for place, name in zip(own["shown"], names, strict=True):
            curve = own["curves"][place]
            expected = curve["values"][curve["sizes"].index(size)]
            assert float(values[name]) == pytest.approx(expected, abs=5e-5)

    page.locator("nav a").last.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.querySelector('#plot-score svg')")
    told_of(chosen["keep"])
    page.keyboard.press("ArrowRight")
    told_of(chosen["keep"] + 1)
    page.keyboard.press("End")
    told_of(24)
    page.keyboard.press("Escape")
    assert page.locator("#plot-score .reading").is_hidden()
    drawing = page.locator("#plot-score svg")
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 16, box["y"] + box["height"] / 2)
    told_of(24)
    for plot in page.locator("[id^=plot-] svg[tabindex]").all():
        plot.hover()
        holder = plot.locator("xpath=ancestor::*[starts-with(@id, 'plot-')]").get_attribute("id")
        title, values = read(page, holder)
        assert values
        assert not any(word in f"{title}{values}" for word in ("NaN", "undefined", "null"))
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(2, 2)
    assert page.locator(".reading:visible").count() == 0
    page.locator("#plot-distances canvas").focus()
    page.keyboard.press("ArrowRight")
    assert " and " in page.locator("#plot-distances .note").text_content()


def test_the_leaderboard_is_sorted_by_click_and_by_key(open_page, data):
    page = open_page(data)
    table = page.locator("#leaderboard table")

    def column(place):
        return [row.nth(place).text_content() for row in cells]

    def sorted_heads():
        orders = [head.get_attribute("aria-sort") for head in heads]
        return [(place, order) for place, order in enumerate(orders) if order]

    heads = table.locator("thead th").all()
    cells = [row.locator("th, td") for row in table.locator("tbody tr").all()]
    assert sorted_heads() == [(2, "descending")]
    members = sorted((line["members"] for line in data["leaderboard"]), reverse=True)
    heads[1].locator("button").click()
    assert [int(text) for text in column(1)] == members
    assert sorted_heads() == [(1, "descending")]
    heads[1].locator("button").focus()
    page.keyboard.press("Enter")
    assert [int(text) for text in column(1)] == members[::-1]
    assert sorted_heads() == [(1, "ascending")]
    heads[0].locator("button").click()
    assert column(0) == sorted(column(0), key=str.lower)
    heads[4].locator("button").click()  # some have no interval
    lows = [line["low"] for line in data["leaderboard"] if (line["low"], line["high"]) != (0, 0)]
    shown = [text.split(" to ")[0].replace("−", "-") for text in column(4) if text]
    assert [float(text) for text in shown] == pytest.approx(sorted(lows)[::-1], abs=6e-5)
    marked = table.locator("tr.marked")
    assert marked.count() == 1
    assert marked.locator("th").text_content() == data["chosen"]["label"]


def test_the_page_speaks_of_the_score_asked_for(open_page):
    scored = made("neg_log_loss")
    page = open_page(scored)
    for plot in ("plot-score", "plot-what-if", "plot-weights"):
        assert "log loss" in page.locator(f"#{plot} text.axis").all_text_contents()
    first = page.locator("#figures > div").first
    curve = scored["score_size"]["curves"][scored["chosen"]["course"]]
    kept = curve["values"][curve["sizes"].index(scored["chosen"]["keep"])]
    assert first.locator("dt").text_content() == "log loss, held out"
    assert float(first.locator("dd").text_content()) == pytest.approx(kept, abs=5e-5)
    page.fill("#tolerance", "0.1")
    whole = scored["score_size"]["whole"]
    enough = [s for s, v in zip(curve["sizes"], curve["values"], strict=True) if v <= whole + 0.1]
    assert page.locator("#smallest").text_content().endswith(f": {enough[0]}")
    assert page.evaluate(BEYOND) == []
    for told in ("Log loss against size", "Best log loss first"):
        assert told in page.evaluate("document.body.innerText")


def test_votes_counted_otherwise_are_said_to_be(open_page, data):
    page = open_page(data)
    label = page.locator("#show-choosing").text_content()
    assert label == f"{data['chosen']['label']}, validation set"  # by the same vote
    otherwise = (
        "choosingLabel({ ...secateurs.data, score_size: { ...secateurs.data.score_size,"
        " choosing: { values: [], counts_labels: true } } })"
    )
    assert page.evaluate(otherwise).endswith("validation set, counting labels")
    assert page.locator("#plot-what-if path[stroke-dasharray]").count() == 0
    tiles = page.locator("#figures dt").all_text_contents()
    assert "validation set, counting labels" in tiles
    assert "held out, counting labels" in tiles


def test_print_keeps_words_and_matrices_together(open_page, data):
    page = open_page(data)
    page.emulate_media(media="print")
    style = "(where) => document.querySelector(where).computedStyleMap()"
    for where, name, expected in (
        (".matrices > div", "break-inside", "avoid"),
        ("#before-after", "break-inside", "avoid"),
        (".sortable tbody th", "overflow-wrap", "break-word"),
        ("#reproduce tbody th", "overflow-wrap", "break-word"),
    ):
        assert page.evaluate(f"({style})('{where}').get('{name}').value") == expected
    assert page.locator("#legend button[aria-pressed=true]").first.is_visible()
    assert page.locator("#legend button[aria-pressed=false]").first.is_hidden()
    assert page.locator("#legend .more").first.is_hidden()
