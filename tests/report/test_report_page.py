"""The page: complete, escaped and rendered from its data alone; the data as a file."""

import base64
import copy
import hashlib
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markupsafe import Markup
from report_pages import HOSTILE, make_data

from secateurs import prune
from secateurs.exceptions import InputError
from secateurs.report import load_run, render, report_data, write_report, write_run
from secateurs.report._report_page import script_names
from secateurs.report._schema import check_shape
from secateurs.report.html_templates import HtmlTable, format_cell, read_resource, render_document
from secateurs.report.sections import _distances, _kappa_error, _score_size, _steps, sections_for
from secateurs.text_format import format_signed

NAMES = ["score-size", "before-after", "what-if", "kappa-error", "distances", "steps"]
NAMES += ["weights", "confusion", "losses", "reproduce"]


class Parsed(HTMLParser):
    """Elements, attributes and text of a page, as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.scripts = [], [], [], []
        self._inside = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        self._inside = tag
        if tag == "script":
            self.scripts.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, text):
        if self._inside == "script":
            self.scripts[-1][1] += text
        else:
            self.text.append(text)


@pytest.fixture(scope="module")
def data():
    return make_data(["noisy"] * 10 + ["constant", "copy"], 3)


@pytest.fixture(scope="module")
def hostile():
    return make_data(["noisy"] * len(HOSTILE), len(HOSTILE), names=HOSTILE)


def test_every_section_is_there_and_linked(data):
    page = Parsed(render(data))
    ids = [value for tag, name, value in page.attributes if (tag, name) == ("section", "id")]
    assert ids == NAMES
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert links == [f"#{name}" for name in NAMES]


def test_the_page_asks_for_nothing_from_anywhere(data):
    page = Parsed(render(data))
    loads = ("src", "srcset", "action", "data", "poster", "ping", "background")
    assert not [pair for pair in page.attributes if pair[1] in loads]
    assert not {"link", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", render(data).replace("url(#$", "url(#"))
    assert "://" not in re.sub(r"http://www\.w3\.org/2000/svg", "", render(data))


def test_only_the_pages_own_scripts_may_run(data):
    page = Parsed(render(data))
    (policy,) = [v for tag, name, v in page.attributes if name == "content" and "script-src" in v]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "script-src 'unsafe-inline'" not in policy
    running = [text for attributes, text in page.scripts if not attributes.get("type")]
    for text in running:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert len(running) == policy.count("sha256-") == 2


def test_the_data_stand_in_the_page_as_they_are(data):
    (text,) = [text for attributes, text in Parsed(render(data)).scripts if attributes.get("type")]
    assert json.loads(text) == data


def test_hostile_names_are_text_and_nothing_else(hostile, data):
    page, harmless = Parsed(render(hostile)), Parsed(render(data))
    assert set(page.tags) == set(harmless.tags)
    assert len(page.scripts) == len(harmless.scripts)
    assert {name for _, name, _ in page.attributes} == {name for _, name, _ in harmless.attributes}
    shown_text = "".join(page.text)
    for name in HOSTILE:
        if "\x00" not in name:
            assert name in shown_text
    (text,) = [text for attributes, text in page.scripts if attributes.get("type")]
    assert json.loads(text) == hostile
    assert not {"<", ">", "&", "\u2028", "\u2029"} & set(text)


def every_text(value, change):
    """A run with every text changed but those that are looked up."""
    if isinstance(value, dict):
        fixed = ("schema", "base64", "figure")
        return {k: v if k in fixed else every_text(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [every_text(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


def test_hostile_texts_anywhere_in_a_run_are_escaped(data, tmp_path):
    path = write_run(
        every_text(data, lambda text: f"{text}<svg onload=x()>'\""), tmp_path / "run.json"
    )
    page, harmless = Parsed(render(load_run(path))), Parsed(render(data))
    assert page.tags == harmless.tags
    assert [pair[:2] for pair in page.attributes] == [pair[:2] for pair in harmless.attributes]


def test_tables_name_members_and_pairs(data):
    named = copy.deepcopy(data)
    named["ensemble"]["names"] = [f"<{n}>" for n in range(12)]
    pairs = _kappa_error.template_values(named).__html__()
    for first, second in named["kappa_error"]["front_pairs"]:
        assert f"&lt;{first}&gt; and &lt;{second}&gt;" in pairs
    steps = re.findall(r"&lt;(\d+)&gt;", _steps.template_values(named).__html__())
    assert [int(member) for member in steps] == data["chosen"]["members"]
    distances = _distances.template_values(named).__html__()
    assert distances.count("●") == len(data["chosen"]["members"])


def test_scripts_never_write_html():
    script = "".join(map(read_resource, ["theme.js", *script_names()]))
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert forbidden not in script
    assert "</" not in re.sub(r"//[^\n]*", "", script)


def test_tables_are_there_for_readers_without_scripts(data):
    text = render(data)
    assert text.count("<summary>Show numbers</summary>") == 6
    assert text.count("<table") >= 12
    (drawing,) = re.findall(r"<noscript><figure>(<svg.*?</svg>)", text, re.DOTALL)
    assert drawing.count("<polyline") == 2
    assert "NaN" not in drawing


def test_the_curve_is_drawn_where_the_numbers_are(data):
    points = _score_size.curve_drawing(data)["held_out"].split()
    heights = [float(point.split(",")[1]) for point in points]
    course, keep = data["courses"][0], data["chosen"]["keep"]
    right = [
        count
        for size, count in zip(course["sizes"], course["held_out"]["right"], strict=True)
        if size >= keep / 3
    ]
    assert len(heights) == len(right)
    by_height = sorted(range(len(right)), key=lambda place: (heights[place], place))
    assert [right[place] for place in by_height] == sorted(right, reverse=True)


def test_sections_are_made_once(data, monkeypatch):
    made = []

    def counted(section):
        def view(given):
            made.append(section.name)
            return section.template_values(given)

        return replace(section, template_values=view)

    expected = render(data)
    sections = sections_for("labels")
    monkeypatch.setattr(
        "secateurs.report._report_page.sections_for",
        lambda kind: [counted(one) for one in sections],
    )
    assert render(data) == expected
    assert made == [section.name for section in sections]


def test_before_and_after_shows_the_spread_of_timings_and_sizes_of_files(data):
    def line(name, before, after, timings=None):
        change = None if before is None else after - before
        told = {"figure": name, "before": before, "after": after, "change": change}
        return told | {"low": None, "high": None, "timings": timings}

    spread = {"before": {"low": 12.9, "high": 1400, "all": [12.9, 20, 1400]}}
    spread |= {"after": {"low": 0.0621, "high": 0.99, "all": [0.0621, 0.5, 0.99]}}
    lines = [line("megabytes", 72.5, 7.25), line("megabytes as .onnx", None, 4.2)]
    lines += [line("ms for 1 row", 20, 0.5, spread)]
    page = render(data | {"before_after": lines})
    table = page[page.index('<section id="before-after">') :]
    rows = [Parsed(row).text for row in re.findall(r"<tr>(.*?)</tr>", table)[1:5]]
    assert rows == [
        ["MB as pickle", "72.5", "7.25", "−90 %"],
        ["MB as .onnx", "–", "4.20", "–"],
        ["ms for 1 row", "20.0", "0.500", "40.0× faster"],
        ["5–95 % of 3 timings", "12.9–1,400.0", "0.062–0.990"],
    ]
    assert "A dash means that the full ensemble is too large to be written" in page
    assert "both ensembles are timed alternately" in page
    for text in ("A dash", "alternately"):
        assert text not in render(data)  # predictions have neither files nor timings


def test_a_comparison_shows_its_leaderboard(data):
    line = {"method": "<b>re</b>", "keep": 3, "members": 3, "score": 0.9123, "pareto": True}
    line |= {"standard_error": 0.01, "change": -0.02, "low": -0.05, "high": 0.01}
    line |= {"bytes": 1234567, "ms": None, "seconds": 0.25}
    text = render(data | {"leaderboard": [line]})
    assert 'id="leaderboard"' in text
    for shown_text in ("&lt;b&gt;re", "0.9123 ± 0.0100", "−0.0200", "1.235", "−0.0500 to +0.0100"):
        assert shown_text in text


def test_pages_of_votes_in_a_sample_say_so(data):
    sampled = copy.deepcopy(data)
    sampled["choosing"]["n_all"] = 100_000
    assert (
        "counts votes on a stratified selection of 120 of 100,000 and 90 of 90 samples"
        in render(sampled)
    )
    assert "counts votes on a stratified selection" not in render(data)


def test_tables_escape_and_align():
    drawn = HtmlTable(["<h>", "n"], [["<a>", 1234], ["b", None]], caption="<c>").__html__()
    assert "&lt;h&gt;" in drawn
    assert "&lt;a&gt;" in drawn
    assert "<caption>&lt;c&gt;</caption>" in drawn
    assert '<td class="number">1,234</td>' in drawn
    assert '<td class="number">–</td>' in drawn
    assert 'class="number" scope' in drawn.split("</th>")[1]
    aligned = HtmlTable(["a", "b"], [["x", "1.0"]], numeric=(1,)).__html__()
    assert aligned.count('class="number"') == 2
    assert HtmlTable(["a"], []).__html__().count("<tr>") == 1
    assert "<td><b>1</b></td>" in HtmlTable(["", "bold"], [["", Markup("<b>1</b>")]]).__html__()
    with pytest.raises(ValueError, match="need 2 cells each"):
        HtmlTable(["a", "b"], [["x"]])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (True, "yes"),
        (1234, "1,234"),
        (0.5, "0.5000"),
        (2.0, "2.0000"),
        ("<", "<"),
    ],
)
def test_values_are_shown(value, text):
    assert format_cell(value) == text


def test_signs():
    assert [format_signed(v, 1) for v in (-1.25, 0.04, -0.04, 2, None)] == [
        "−1.2",
        "0.0",
        "0.0",
        "+2.0",
        "–",
    ]


def test_documents_refuse_scripts_that_end_themselves():
    with pytest.raises(ValueError, match="</script"):
        render_document("document.html", "title", body="", script="x = '</script>'")


def test_a_report_is_written_whole_or_not_at_all(tmp_path, data):
    path = write_report(data, tmp_path / "page.html")
    assert path.read_text("utf-8") == render(data)
    with pytest.raises(InputError, match="force=True to overwrite"):
        write_report(data, path)
    broken = copy.deepcopy(data)
    broken["score_size"]["curves"] = []
    with pytest.raises(IndexError):
        write_report(broken, path, force=True)
    assert path.read_text("utf-8") == render(data)
    with pytest.raises(InputError, match="is not a folder"):
        write_report(data, tmp_path / "nowhere" / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_pruning_writes_the_page_of_its_data(tmp_path):
    votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]] * 10
    pruning = prune(votes, y=[0, 0, 1, 1] * 10, keep=2, random_state=0)
    path = pruning.report(tmp_path / "page.html")
    expected = render(report_data(pruning))
    same = re.compile(r'"when":"[^"]*"|Created</dt><dd>[^<]*')
    assert same.sub("", path.read_text("utf-8")) == same.sub("", expected)
    with pytest.raises(InputError, match="exists"):
        pruning.report(path)


def test_a_run_goes_to_a_file_and_comes_back(tmp_path, data, hostile):
    for run in (data, hostile):
        path = write_run(run, tmp_path / "run.json", force=True)
        assert load_run(path) == run


def test_a_changed_digit_of_a_run_is_detected(tmp_path, data):
    path = write_run(data, tmp_path / "run.json")
    content = path.read_bytes()
    places = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    for place in random.Random(0).sample(places, 40):
        digit = str((content[place] - 48 + 1) % 10).encode()
        path.write_bytes(content[:place] + digit + content[place + 1 :])
        with pytest.raises(InputError, match=r"run\.json "):
            load_run(path)


def test_a_run_of_an_earlier_version_is_read_with_a_note(tmp_path, data):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data), "utf-8")
    with pytest.warns(UserWarning, match=r"run\.json comes from an earlier version"):
        assert load_run(path) == data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
        (b"[1, 2", "is not valid JSON"),
        (b"[" * 100_000, "nested too deeply|is not valid JSON"),
        (b"[]", "is not a run of this version"),
        (b'{"schema": "secateurs-run/1"}', "is not a run of this version"),
        (b'{"schema": "secateurs-run/3"}', "lacks made"),
        (b'{"schema": NaN}', "NaN is not a number of JSON"),
    ],
)
def test_files_that_are_no_run_are_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_run(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "spec", "message"),
    [
        (True, float, "has True at the top, where a number belongs"),
        (1.0, int, "has 1.0 at the top, where a whole number belongs"),
        (float("inf"), float, "has inf at the top, where a number belongs"),
        ([1, "x"], [int], r"has 'x' at \[1\], where a whole number belongs"),
        ("a" * 50, int, "has '" + "a" * 36 + "…' at the top, where a whole number belongs"),
        ({"a": {}}, {"a": {"b": str}}, r"lacks a\.b"),
        ({"a": 3}, {"a": [str]}, "has 3 at a, where a list belongs"),
        ({"a": None}, {"a": bool}, "has None at a, where true or false belongs"),
        ({"a": 3}, {...: str}, "has 3 at a, where text belongs"),
    ],
)
def test_what_is_not_as_described_is_named(value, spec, message):
    with pytest.raises(InputError, match=message):
        check_shape(value, spec)


def test_missing_files_and_folders_are_no_runs(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_run(tmp_path / "run.json")
    with pytest.raises(InputError, match="is not a file"):
        load_run(tmp_path)


def mutate(value, rng):
    """Change one place of a run, some levels down."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value))
        return value | {key: mutate(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [*value[:place], mutate(value[place], rng), *value[place + 1 :]]
    others = [None, True, -1, 0, 10**9, 1.5, 1e308, "", "x", "<script>", [], [[]], {}, {"a": 1}]
    return rng.choice(others)


@pytest.mark.filterwarnings("ignore:.* comes from an earlier version")
def test_damaged_runs_are_drawn_or_refused_and_nothing_else(tmp_path, data):
    rng = random.Random(0)
    path = tmp_path / "run.json"
    refusals = []
    for _ in range(300):
        path.write_text(json.dumps(mutate(data, rng)))
        try:
            Parsed(render(load_run(path)))
        except InputError as error:
            refusals.append(str(error))
    assert 150 < len(refusals) < 300
    assert not any("\n" in message for message in refusals)
