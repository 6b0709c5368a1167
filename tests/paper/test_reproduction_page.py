"""The results page and all other files: whole, safe, repeatable, and honest about gaps."""

import base64
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from made_up_results import combinations, frame_of, growth, noisy, plan_of, race, row_of, timed

from secateurs.paper._plan_runner import MissingDataset
from secateurs.paper._reproduce import make_contents, write_outputs
from secateurs.paper._reproduction_page import make_reproduction_page

TITLE_LINES = """(() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector("h1"));
    return [...range.getClientRects()].map(line => ({right: line.right, top: line.top}));
})()"""
CELL_WIDTHS = "[...document.querySelectorAll('.verdicts td')].map(cell => cell.clientWidth)"
SNEAKY = '<script>alert("&")</script>'


def small_plans():
    """Every plan with few rows, members and folds."""
    sets = ["Iono", "Liver", "Ecoli"]
    folds = {"folds": (0, 1, 2)}
    own = [plan_of(name, sets, **folds) for name in ("table-dt", "table-knn")]
    one = [row_of("Iono")]
    return [
        *own,
        plan_of("figure-epfd", one, methods=("oo", "pep"), **folds),
        plan_of("figure-speedup", [row_of("Liver", "svm-rbf")], keep=(0.1,)),
        plan_of("figure-objective", one, keep=(3,), folds=(0, 1)),
        plan_of("figure-lambda", one, keep=(3, 5), **folds),
        plan_of("figure-size", one, methods=("re", "comep"), n_members=(9,), folds=(0, 1)),
        plan_of("figure-scale", methods=("re", "comep"), n_members=(50, 100)),
        plan_of("settings", one, n_members=(31,), keep=(0.1, 0.2), **folds),
        plan_of("authors", one, **folds),
    ]


MEASURES = {
    "prune": noisy,
    "combination": combinations,
    "speedup": race,
    "size": growth,
    "scale": timed,
}


def results_of(plans):
    frames = [frame_of(plan, MEASURES[plan.kind]) for plan in plans]
    keys = ["kind", "dataset", "learner", "n_members", "keep", "diversity_weight", "method"]
    keys += ["variant", "fold", "seed", "reading"]
    return pd.concat(frames, ignore_index=True).drop_duplicates(keys)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    plans = small_plans()
    missing = [MissingDataset("ames", ("Ames",), ("table-knn",), "Not publicly available.")]
    paths = write_outputs(folder, make_contents(plans, results_of(plans), missing))
    return folder, paths


class Page(HTMLParser):
    """What a test wants to know of a page."""

    VOID = ("meta", "img", "br", "input", "link", "hr")

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.images, self.texts, self.ids, self.alts = [], [], [], [], [], []
        self.headings = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [found["href"]] if "href" in found else []
        self.ids += [found["id"]] if "id" in found else []
        if tag == "img":
            self.images.append(found["src"])
            self.alts.append(found["alt"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.texts.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def page_of(folder):
    return Page((folder / "index.html").read_text("utf-8"))


def test_every_file_is_written_and_named(written):
    folder, paths = written
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {path.relative_to(folder).as_posix() for path in paths}
    tables = {"table-dt", "table-knn", "settings", "authors"}
    assert {f"tables/{t}.{kind}" for t in tables for kind in ("txt", "csv", "md", "tex")} <= found
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert {
        "friedman-all",
        "aggregated-ranks",
        "speedup",
        "scale",
        "size-iono-binary-dt",
    } <= figures
    assert {f"figures/{name}.{kind}" for name in figures for kind in ("png", "svg", "csv")} <= found
    assert {"claims.json", "index.html"} <= found


def test_the_page_is_whole_and_needs_nothing_else(written):
    page = page_of(written[0])
    assert page.open == []
    assert page.images
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.images)
    assert {link.lstrip("#") for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert all(page.alts)
    assert len(set(page.ids)) == len(page.ids)


def test_the_page_shows_the_very_figures_that_are_files(written):
    folder, _ = written
    shown = {base64.b64decode(source.partition(",")[2]) for source in page_of(folder).images}
    assert shown == {path.read_bytes() for path in (folder / "figures").glob("*.svg")}
    for picture in shown:
        assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_verdicts_come_first_and_every_section_is_there(written):
    page = page_of(written[0])
    assert page.headings[:2] == ["Verdicts", "All tables together (Figure 2 of the paper)"]
    titles = [plan.heading for plan in small_plans()]
    assert set(titles) <= set(page.headings)
    assert page.headings[-2:] == ["Settings", "Missing data and results"]


def test_tables_and_figures_name_what_they_repeat_of_the_paper(written):
    folder, _ = written
    page = page_of(folder)
    numbers = ["Table I", "Table III", "Figures 4–7", "Figure 3", "Figures 8–10", "Figures 11–13"]
    for number in numbers:
        assert any(heading.endswith(f"({number} of the paper)") for heading in page.headings)
    text = " ".join(page.texts)
    assert "Repeats Figure 2 (a) of the paper." in text
    assert "Repeats Figure 2 (b) of the paper." in text
    for kind in ("txt", "md", "tex"):
        table = (folder / "tables" / f"table-knn.{kind}").read_text("utf-8")
        assert "Repeats Table III of the paper." in table
        assert "Not in the paper." in (folder / "tables" / f"settings.{kind}").read_text("utf-8")


def test_every_figure_says_what_it_repeats():
    pictures = make_contents(small_plans(), results_of(small_plans())).pictures
    reference = r"(Repeats Figures? \d+|Like Figure 2 \(a\)|Not in the paper\.)"
    assert [p.name for p in pictures if not re.match(reference, p.caption)] == []


def test_the_page_names_missing_data_with_reasons(written):
    text = " ".join(page_of(written[0]).texts)
    assert "Not publicly available." in text
    assert "ames" in text


def test_the_page_lists_rows_that_are_not_like_the_papers(written):
    text = " ".join(page_of(written[0]).texts)
    assert re.search(r"In \d of 3 rows that can be compared, all ten methods are within two", text)
    assert "Rows that differ from the paper" in text


def test_nothing_is_escaped_twice(written):
    text = (written[0] / "index.html").read_text("utf-8")
    assert not re.search(r"&amp;(#|amp|lt|gt|quot)", text)


def test_best_figures_are_bold_and_nothing_is_left_of_the_marks(written):
    text = (written[0] / "index.html").read_text("utf-8")
    assert re.search(r"<b>\d\d\.\d\d±\d+\.\d\d</b>", text)
    assert "\x02" not in text
    assert "\x03" not in text


def test_claims_are_written_with_verdicts_rules_and_numbers(written):
    record = json.loads((written[0] / "claims.json").read_text("utf-8"))
    assert len(record["claims"]) == 21
    assert {claim["verdict"] for claim in record["claims"]} <= {
        "holds",
        "does not hold",
        "cannot be told",
    }
    assert all(claim["rule"] and claim["told"] and claim["claim"] for claim in record["claims"])


def test_foreign_names_are_only_text(tmp_path):
    rows = [row_of(f"Set {SNEAKY} {n}", dataset=f"set{n}") for n in range(3)]
    plan = replace(plan_of("table-dt", rows), title=f"Trees {SNEAKY}", reproduces=SNEAKY)
    missing = [MissingDataset(SNEAKY, (SNEAKY,), (SNEAKY,), SNEAKY)]
    write_outputs(tmp_path, make_contents([plan], frame_of(plan, noisy), missing))
    text = (tmp_path / "index.html").read_text("utf-8")
    assert SNEAKY not in text
    assert "&lt;script&gt;alert" in text
    assert page_of(tmp_path).open == []
    assert "<script>" not in (tmp_path / "tables" / "table-dt.md").read_text("utf-8")


def test_files_do_not_depend_on_the_order_of_results(tmp_path):
    chosen = ("table-dt", "figure-lambda", "settings")
    plans = [plan for plan in small_plans() if plan.name in chosen]
    frame = results_of(plans)
    first = write_outputs(tmp_path / "first", make_contents(plans, frame))
    write_outputs(tmp_path / "second", make_contents(plans, frame.sample(frac=1, random_state=5)))
    for path in first:
        same = tmp_path / "second" / path.relative_to(tmp_path / "first")
        assert same.read_bytes() == path.read_bytes(), path.name


def test_results_that_stop_half_way_give_tables_that_say_so(tmp_path):
    plans = small_plans()[:1]
    frame = results_of(plans)
    cut = frame[~((frame["dataset"] == "liver") & (frame["fold"] == 2))]
    cut = cut[cut["dataset"] != "ecoli"]
    write_outputs(tmp_path, make_contents(plans, cut))
    text = (tmp_path / "tables" / "table-dt.txt").read_text("utf-8")
    assert "Liver: 2 of 3 folds." in text
    assert "Ecoli: no results." in text
    assert "Ecoli: no results." in " ".join(page_of(tmp_path).texts)


def test_no_results_at_all_give_a_page_without_verdicts(tmp_path):
    plans = small_plans()
    write_outputs(tmp_path, make_contents(plans, frame_of(plans[0], lambda _: None)))
    page = page_of(tmp_path)
    text = " ".join(page.texts)
    assert text.count("? cannot be told") == 21
    assert "Not measured yet" not in text
    assert "Effect of the diversity weight: no results." in text
    assert page.images == []


def test_the_short_form_says_so(tmp_path):
    plan = replace(plan_of("table-dt", ["Iono"]), quick=True)
    write_outputs(tmp_path, make_contents([plan], frame_of(plan, noisy)))
    text = " ".join(page_of(tmp_path).texts)
    assert "This is the short form" in text
    assert "Its data sets are the paper's." in text
    assert "more than two of the paper's" not in text


@pytest.mark.parametrize("dataset", ["iono", "wine"])
def test_a_short_form_shows_what_was_measured_and_judges_nothing(dataset):
    row = row_of("Set", dataset=dataset)
    names = ("table-dt", "figure-epfd", "figure-objective", "settings")
    plans = [replace(p, rows=(row,), quick=True) for p in small_plans() if p.name in names]
    contents = make_contents(plans, results_of(plans))
    verdicts = {claim.verdict for claim in contents.claims}
    assert verdicts == {"not judged", "not measured"}  # there is no race
    page = Page(
        make_reproduction_page(contents, dict.fromkeys((p.name for p in contents.pictures), b""))
    )
    text = " ".join(page.texts)
    assert page.headings[0] == "Claims of the paper, not judged"
    assert not re.search(r"[✓✗]|\d support the claim|Not worse", text)
    assert "DOMEP wins" in text
    assert ("In place of data sets of the paper" in text) == (dataset == "wine")
    assert ("Stand-in data." in text) == (dataset == "wine")


def test_stand_ins_of_a_whole_plan_are_shown_and_do_not_count():
    rows = [row_of("Waveform", dataset="waveform"), row_of("SAheart", dataset="saheart")]
    plan = plan_of("figure-objective", rows, folds=(0, 1, 2))
    contents = make_contents([plan], frame_of(plan, combinations))
    claim = next(claim for claim in contents.claims if claim.name == "objective")
    assert set(claim.numbers["correlations"]) == {"Waveform"}
    assert len(contents.pictures) == 2


def test_numbers_that_json_has_not_are_null(tmp_path):
    # two data sets have no interval
    plan = plan_of("table-dt", ["Iono", "Liver"])
    write_outputs(tmp_path, make_contents([plan], frame_of(plan, noisy)))
    text = (tmp_path / "claims.json").read_text("utf-8")
    claim = next(c for c in json.loads(text)["claims"] if c["name"] == "superior")
    assert claim["statistic"] is None
    assert claim["numbers"]["printed"]["low"] is not None
    assert "NaN" not in text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")
def test_a_browser_shows_the_page_without_complaint(written):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        complaints, requests = [], []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((written[0] / "index.html").as_uri())
        widths = page.evaluate("[...document.images].map(image => image.naturalWidth)")
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        page.set_viewport_size({"width": 390, "height": 800})
        narrow_overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        button = page.locator("#theme").bounding_box()
        title = page.evaluate(TITLE_LINES)
        cells = page.evaluate(
            "[...document.querySelectorAll('.verdicts td')].map(c => c.clientWidth)"
        )
        browser.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert np.all(np.array(widths) > 100)
    assert overflow <= 0
    # on a phone: no word is broken in the table of verdicts, and the button covers no title
    assert narrow_overflow <= 0
    assert min(cells) > 300
    assert all(
        line["right"] < button["x"] or line["top"] > button["y"] + button["height"]
        for line in title
    )
