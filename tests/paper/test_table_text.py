"""Tables as text, CSV, Markdown and LaTeX."""

import csv
import io
import re

import pytest
from made_up_results import (
    PRINTED_COUNTS,
    PRINTED_RANKS,
    as_printed,
    frame_of,
    key_of,
    noise,
    noisy,
    plan_of,
    row_of,
)

from secateurs.benchmarking.table_text import as_latex, as_markdown, as_text
from secateurs.paper._accuracy_sheets import accuracy_sheet
from secateurs.paper._accuracy_tables import make_accuracy_table
from secateurs.paper._printed_tables import BASELINES, PAPER_METHODS, printed_accuracies


def sheet_of(plan, frame):
    return accuracy_sheet(make_accuracy_table(plan, frame))


def as_csv(sheet):
    return sheet.csv


@pytest.mark.parametrize("write", [as_text, as_csv, as_markdown, as_latex])
def test_the_order_of_results_does_not_matter(write):
    plan = plan_of("table-dt", ["Iono", "Liver", "Spam"])
    frame = frame_of(plan, noisy)
    shuffled = frame.sample(frac=1, random_state=3)
    assert write(sheet_of(plan, frame)) == write(sheet_of(plan, shuffled))


def test_csv_can_be_read_back_to_every_figure():
    plan, frame = as_printed("table-svm")
    table = make_accuracy_table(plan, frame)
    lines = list(csv.DictReader(io.StringIO(accuracy_sheet(table).csv)))
    assert len(lines) == len(table.rows) * len(table.columns)
    for line in lines:
        figure = printed_accuracies("table-svm")[line["row"]][line["method"].lower()]
        assert float(line["mean"]) == pytest.approx(figure.mean, abs=1e-6)
        assert (float(line["paper_mean"]), float(line["paper_std"])) == (figure.mean, figure.std)
        assert line["paper_mark"] == figure.mark
        assert line["best"] == str(int(figure.bold))


def test_markdown_has_as_many_cells_in_every_line_of_a_table():
    plan, frame = as_printed("table-dt")
    text = as_markdown(sheet_of(plan, frame))
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 2
    for block in blocks:
        assert len({line.count("|") for line in block}) == 1
    assert "**91.71±3.41**" in text
    assert "| Average rank | 7.15 | 7.20 |" in text


def test_latex_has_bold_marks_rules_and_nothing_unescaped():
    plan = plan_of("table-dt", [row_of("50 % & a_b #1 {x} ~^\\")])
    lift = {"oo": 0.1, "kl": -0.1}
    frame = frame_of(plan, lambda c: 0.8 + 0.001 * noise(key_of(c)) + lift.get(c.method, 0.0))
    text = as_latex(sheet_of(plan, frame))
    assert r"50 \% \& a\_b \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{}" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert text.count("{") == text.count("}")
    assert r"\textbf{90.0" in text
    assert r"}$\dagger$" in text
    assert re.search(r"& 70\.0\d\$\\pm\$0\.0\d\$\\ddagger\$ &", text)
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    cells = {line.replace(r"\&", "").count("&") for line in body}
    assert cells == {len(PAPER_METHODS) + len(BASELINES)}


def test_text_shows_ours_the_papers_the_difference_and_the_distance():
    plan, frame = as_printed("table-dt")
    frame["accuracy"] -= 0.01
    frame.loc[frame["method"] == "domep", "accuracy"] -= 0.2  # last everywhere
    lines = as_text(sheet_of(plan, frame)).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("Iono") and " ours " in line)
    assert lines[start].split()[2].startswith("88.43±3.44")
    assert lines[start + 1].split()[1] == "89.43±3.44"
    assert lines[start + 2].split()[1] == "−1.00"
    assert lines[start + 3].split()[3] == "−0.3"
    ranks = next(
        n for n, line in enumerate(lines) if line.startswith("Average rank  ") and "ours" in line
    )
    assert lines[ranks].split()[-1] == "10.00"
    assert lines[ranks + 1].split()[1:] == [f"{rank:.2f}" for rank in PRINTED_RANKS["table-dt"]]
    assert lines[ranks - 1].split()[1:-1] == PRINTED_COUNTS["table-dt"].split()
