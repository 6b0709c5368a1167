"""Tables: the paper's figures as data, what becomes of results, and how it is written."""

import csv
import io
import math
import re
import statistics

import numpy as np
import pandas as pd
import pytest
from made_up_results import frame_of, noise, noisy, plan_of, row_of
from scipy import stats

from secateurs.paper import load_plan
from secateurs.paper._listings import authors_listing, settings_listing
from secateurs.paper._mismatches import mismatches, n_compared
from secateurs.paper._paper import (
    FLOORS,
    METHODS,
    TABLES,
    label,
    printed,
    reason_for,
    reasons,
)
from secateurs.paper._selection import row_names, settings_of
from secateurs.paper._table_text import as_csv, as_latex, as_markdown, as_text
from secateurs.paper._tables import make_table

# The last rows of the paper's three tables.
PRINTED_RANKS = {
    "table-dt": [7.15, 7.20, 4.80, 4.60, 8.40, 5.55, 5.20, 4.75, 4.40, 2.95],
    "table-svm": [5.20, 5.60, 4.60, 5.50, 7.05, 5.50, 6.60, 4.55, 4.65, 5.75],
    "table-knn": [5.82, 7.45, 3.77, 5.27, 8.95, 5.09, 5.77, 6.55, 3.05, 3.27],
}
PRINTED_COUNTS = {
    "table-dt": "0/10/0 1/9/0 0/10/0 1/9/0 2/8/0 2/8/0 0/10/0 0/10/0 0/10/0",
    "table-svm": "0/10/0 0/9/1 0/9/1 0/10/0 1/9/0 1/9/0 0/10/0 0/10/0 0/10/0",
    "table-knn": "0/11/0 0/11/0 0/11/0 0/11/0 1/10/0 0/11/0 0/11/0 1/10/0 1/10/0",
}
# Rows of a test part, where few: the paper's readings of small data sets.
SMALL = {
    "table-dt": {"Iono": 70, "Liver": 69, "Ecoli": 66},
    "table-knn": {"Sonar": 41, "Ecoli": 66},
    "table-svm": {"Liver": 69},
}


def as_printed(name):
    """Results on two folds that have the mean and standard deviation of the paper's figures."""
    plan = plan_of(name, folds=(0, 1), methods=METHODS)
    names = {row.dataset: row.paper_name for row in plan.rows}

    def measure(cell):
        figure = printed(name)[names[cell.dataset]][cell.method]
        half = figure.std / math.sqrt(2)
        return (figure.mean + (half if cell.fold else -half)) / 100

    return plan, frame_of(plan, measure)


@pytest.mark.parametrize("name", TABLES)
def test_the_paper_has_ten_methods_on_every_data_set(name):
    assert all(tuple(entries) == METHODS for entries in printed(name).values())


@pytest.mark.parametrize(
    ("name", "n_rows"), [("table-dt", 10), ("table-svm", 10), ("table-knn", 11)]
)
def test_plans_have_the_rows_of_the_paper_in_its_order(name, n_rows):
    names = [row.paper_name for row in load_plan(name).rows]
    assert names == list(printed(name))
    assert len(names) == n_rows


def is_possible(figure, n_test, divisor):
    """Whether whole numbers of right answers in five folds can give the printed figures."""
    low, high = ((figure.mean + side) * 5 * n_test / 100 for side in (-0.00501, 0.00501))
    for total in range(math.ceil(low), math.floor(high) + 1):
        # The sum of squares is whole, and as odd or even as the sum.
        ends = (max(0, figure.std + side) / 100 * n_test for side in (-0.00501, 0.00501))
        least, most = (divisor * end**2 + total**2 / 5 for end in ends)
        squares = range(math.ceil(least - 1e-9), math.floor(most + 1e-9) + 1)
        if any((square - total) % 2 == 0 for square in squares):
            return True
    return False


def test_printed_deviations_are_those_of_samples():
    figures = [
        (figure, n_test)
        for name, sets in SMALL.items()
        for dataset, n_test in sets.items()
        for figure in printed(name)[dataset].values()
    ]
    assert len(figures) == 60
    assert all(is_possible(figure, n_test, 4) for figure, n_test in figures)
    assert sum(is_possible(figure, n_test, 5) for figure, n_test in figures) < 5


@pytest.mark.parametrize("name", TABLES)
def test_the_printed_means_give_the_printed_ranks(name):
    table = make_table(plan_of(name), frame_of(plan_of(name), lambda _: None))
    assert list(np.round(list(table.paper_ranks.values()), 2)) == PRINTED_RANKS[name]


@pytest.mark.parametrize("name", TABLES)
def test_the_printed_marks_give_the_printed_counts(name):
    table = make_table(plan_of(name), frame_of(plan_of(name), lambda _: None))
    counts = [str(table.paper_win_tie_loss(method)) for method in METHODS[:-1]]
    assert counts == PRINTED_COUNTS[name].split()


@pytest.mark.parametrize("name", TABLES)
def test_results_like_the_papers_give_its_table(name):
    plan, frame = as_printed(name)
    table = make_table(plan, frame)
    assert list(np.round(list(table.ranks.values()), 2)) == PRINTED_RANKS[name]
    for row in table.rows:
        for method in METHODS:
            entry, figure = row.entries[method], printed(name)[row.source.paper_name][method]
            assert entry.mean == pytest.approx(figure.mean)
            assert entry.std == pytest.approx(figure.std, abs=1e-9)
            assert entry.bold == figure.bold, (row.name, method)
            assert row.deviations(method) == pytest.approx(0, abs=1e-9)
    assert mismatches(table) == []
    assert n_compared(table) == len(plan.rows)
    assert table.notes() == []


def test_means_and_deviations_are_those_of_folds():
    plan = plan_of("table-dt", ["Iono"])
    frame = frame_of(plan, noisy)
    table = make_table(plan, frame)
    for method in plan.methods:
        folds = [100 * noisy(cell)["accuracy"] for cell in plan.cells() if cell.method == method]
        entry = table.rows[0].entries[method]
        assert entry.mean == pytest.approx(statistics.mean(folds))
        assert entry.std == pytest.approx(statistics.stdev(folds))


def test_marks_are_those_of_scipys_paired_t_test():
    plan = plan_of("table-dt", ["Iono", "Liver", "Spam", "Wisconsin"])
    shift = {"kl": -0.05, "oo": 0.05, "re": -0.02}
    frame = frame_of(plan, lambda c: noisy(c)["accuracy"] + shift.get(c.method, 0.0))
    table = make_table(plan, frame)
    seen = []
    for row in table.rows:
        for method in (*METHODS[:-1], *FLOORS):
            entry = row.entries[method]
            test = stats.ttest_rel(
                list(row.entries["domep"].folds.values()), list(entry.folds.values())
            )
            expected = "" if test.pvalue >= 0.05 else "‡" if test.statistic > 0 else "†"
            assert entry.mark == expected
            seen.append(expected)
        assert row.entries["domep"].test is None
    assert {"", "‡", "†"} == set(seen)
    for method in METHODS[:-1]:
        marks = [row.entries[method].mark for row in table.rows]
        expected = f"{marks.count('‡')}/{marks.count('')}/{marks.count('†')}"
        assert str(table.win_tie_loss(method)) == expected


def test_floors_and_ceiling_take_no_part_in_ranks():
    plan = plan_of("table-dt", ["Iono", "Liver"])
    plain = make_table(plan, frame_of(plan, noisy))
    lifted = make_table(
        plan, frame_of(plan, lambda c: 1.0 if c.method in FLOORS else noisy(c)["accuracy"])
    )
    assert plain.ranks == lifted.ranks
    assert sum(plain.ranks.values()) == pytest.approx(55)
    assert not any(row.entries[floor].bold for row in lifted.rows for floor in FLOORS)


def test_no_method_is_best_when_all_have_the_same_mean():
    plan = plan_of("table-dt", ["Credit"])
    table = make_table(plan, frame_of(plan, lambda cell: 0.9 + 0.01 * cell.fold))
    assert not any(entry.bold for entry in table.rows[0].entries.values())
    assert set(table.ranks.values()) == {5.5}


def test_means_that_are_printed_alike_share_their_ranks():
    plan = plan_of("table-dt", ["Iono"])
    means = {method: 0.80001 + 0.000001 * place for place, method in enumerate(METHODS)}
    table = make_table(plan, frame_of(plan, lambda c: means.get(c.method, 0.5) + 0.01 * c.fold))
    assert set(table.ranks.values()) == {5.5}


def test_seeds_of_a_fold_are_averaged():
    plan = plan_of("table-dt", ["Iono"], folds=(0, 1))
    first = frame_of(plan, lambda cell: 0.8, seed=0)
    second = frame_of(plan, lambda cell: 0.9 if cell.fold else 0.6, seed=1)
    table = make_table(plan, pd.concat([first, second]))
    assert table.rows[0].entries["kl"].folds == pytest.approx({0: 70.0, 1: 85.0})


def test_results_of_other_settings_are_left_aside():
    plan = plan_of("table-dt", ["Iono"])
    others = plan_of("table-dt", ["Iono"], n_members=(31,), keep=(0.1, 0.4))
    weights = plan_of("table-dt", ["Iono"], diversity_weight=(0.1,))
    kinds = plan_of("table-dt", ["Iono"], kind="size")
    frames = [frame_of(p, lambda cell: 0.1) for p in (others, weights, kinds)]
    frame = pd.concat([frames[0], frame_of(plan, lambda cell: 0.8), *frames[1:]])
    assert make_table(plan, frame).rows[0].entries["kl"].mean == pytest.approx(80)
    fewer = make_table(plan_of("table-dt", ["Iono"], folds=(1, 3)), frame)
    assert list(fewer.rows[0].entries["kl"].folds) == [1, 3]


def test_a_deviation_printed_as_zero_counts_as_the_smallest_step():
    # Landsat with SVMs is printed as 65.24 ± 0.00; five test parts of 1286 rows: steps of 1/6430
    plan = plan_of("table-svm", ["Landsat"], folds=(0,))
    frame = frame_of(plan, lambda cell: {"accuracy": 0.6524 + 3 / 6430, "n_test": 1286})
    row = make_table(plan, frame).rows[0]
    assert row.deviations("kl") == pytest.approx(3.0)


def test_rows_far_from_the_paper_are_listed_with_their_reason():
    plan, frame = as_printed("table-dt")
    is_credit, is_spam = (frame["dataset"] == name for name in ("credit", "spam"))
    frame.loc[is_credit, "accuracy"] -= 0.19
    frame.loc[is_spam & (frame["method"] == "kp"), "accuracy"] += 0.0279  # 3 × 0.93 points
    found = mismatches(make_table(plan, frame))
    assert [item.row for item in found] == ["Spam", "Credit"]
    assert found[0].methods == ("KP",)
    assert found[0].furthest == pytest.approx(3.0)
    assert found[0].difference == pytest.approx(0.279)
    assert found[0].reason == reason_for("table-dt", "Spam", ["kp"])
    assert found[1].methods == tuple(label(method) for method in METHODS)
    assert found[1].difference == pytest.approx(-19)
    assert "label column" in found[1].reason
    assert not found[1].established


def test_two_deviations_are_within():
    plan, frame = as_printed("table-dt")
    frame.loc[(frame["dataset"] == "spam") & (frame["method"] == "kp"), "accuracy"] -= 0.0185
    assert mismatches(make_table(plan, frame)) == []


def test_reasons_speak_of_rows_and_methods_that_there_are():
    for reason in reasons():
        assert reason.row in printed(reason.table)
        assert set(reason.methods) <= set(METHODS)
        assert reason.text


def test_reasons_of_other_methods_are_not_given():
    assert reason_for("table-dt", "Credit", ["kl"]) == reason_for("table-dt", "Credit", METHODS)
    for reason in reasons():
        others = set(METHODS) - set(reason.methods)
        if reason.methods:
            assert reason.text not in reason_for(reason.table, reason.row, others)
            assert reason.text in reason_for(reason.table, reason.row, reason.methods)


def test_rows_with_folds_missing_are_not_compared_with_the_paper():
    plan, frame = as_printed("table-dt")
    frame["accuracy"] -= 0.5
    table = make_table(plan, frame[(frame["dataset"] != "spam") | (frame["fold"] == 0)])
    assert "Spam" not in [item.row for item in mismatches(table)]
    assert len(mismatches(table)) == n_compared(table) == 9
    assert table.notes() == ["Spam: 1 of 2 folds."]


def test_incomplete_rows_say_so_and_are_not_ranked():
    plan = plan_of("table-dt", ["Iono", "Liver", "Spam"])

    def measure(cell):
        if cell.dataset == "spam" or (cell.dataset == "liver" and cell.method == "pep"):
            return None
        if cell.dataset == "iono" and cell.method == "random" and cell.fold > 2:
            return None
        return noisy(cell)

    table = make_table(plan, frame_of(plan, measure))
    assert [row.is_ranked for row in table.rows] == [True, False, False]
    assert table.scores.index.tolist() == ["Iono"]
    assert table.notes() == [
        "Iono: incomplete, folds of 5: Random 3.",
        "Liver: incomplete, folds of 5: PEP 0. It takes no part in ranks.",
        "Spam: no results.",
    ]
    for text in (as_text(table), as_markdown(table), as_latex(table)):
        assert "Spam: no results." in text


def test_methods_on_different_folds_are_not_ranked_but_tested_on_those_they_share():
    plan = plan_of("table-dt", ["Iono"])
    keep = {"kl": {0, 1, 2}, "domep": {1, 2, 3, 4}}
    frame = frame_of(plan, lambda c: noisy(c) if c.fold in keep.get(c.method, range(5)) else None)
    row = make_table(plan, frame).rows[0]
    assert not row.is_ranked
    assert not any(entry.bold for entry in row.entries.values())
    pair = ([row.entries[method].folds[fold] for fold in (1, 2)] for method in ("domep", "kl"))
    assert row.entries["kl"].test.p_value == pytest.approx(stats.ttest_rel(*pair).pvalue)


def test_a_table_without_any_results_can_be_written():
    plan = plan_of("table-knn")
    table = make_table(plan, frame_of(plan, lambda _: None))
    assert table.ranks == {}
    assert "Ames: no results. Not publicly available" in as_text(table)
    assert "KL" in as_latex(table)
    assert len(table.notes()) == 11


def test_one_fold_has_no_deviation_and_no_marks():
    plan = plan_of("table-dt", ["Iono"], folds=(0,))
    table = make_table(plan, frame_of(plan, noisy))
    assert math.isnan(table.rows[0].entries["kl"].std)
    assert all(entry.test is None for entry in table.rows[0].entries.values())
    assert sum(entry.bold for entry in table.rows[0].entries.values()) == 1
    assert "±–" in as_text(table)


@pytest.mark.parametrize("write", [as_text, as_csv, as_markdown, as_latex])
def test_the_order_of_results_does_not_matter(write):
    plan = plan_of("table-dt", ["Iono", "Liver", "Spam"])
    frame = frame_of(plan, noisy)
    shuffled = frame.sample(frac=1, random_state=3)
    assert write(make_table(plan, frame)) == write(make_table(plan, shuffled))


def test_csv_can_be_read_back_to_every_figure():
    plan, frame = as_printed("table-svm")
    table = make_table(plan, frame)
    lines = list(csv.DictReader(io.StringIO(as_csv(table))))
    assert len(lines) == len(table.rows) * len(table.columns)
    for line in lines:
        figure = printed("table-svm")[line["row"]][line["method"].lower()]
        assert float(line["mean"]) == pytest.approx(figure.mean, abs=1e-6)
        assert (float(line["paper_mean"]), float(line["paper_std"])) == (figure.mean, figure.std)
        assert line["paper_mark"] == figure.mark
        assert line["best"] == str(int(figure.bold))


def test_markdown_has_as_many_cells_in_every_line_of_a_table():
    plan, frame = as_printed("table-dt")
    text = as_markdown(make_table(plan, frame))
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 2
    for block in blocks:
        assert len({line.count("|") for line in block}) == 1
    assert "**91.71±3.41**" in text
    assert "| Average rank | 7.15 | 7.20 |" in text


def test_latex_has_bold_marks_rules_and_nothing_unescaped():
    plan = plan_of("table-dt", [row_of("50 % & a_b #1 {x} ~^\\")])
    lift = {"oo": 0.1, "kl": -0.1}
    frame = frame_of(plan, lambda c: 0.8 + 0.001 * noise(c.key) + lift.get(c.method, 0.0))
    text = as_latex(make_table(plan, frame))
    assert r"50 \% \& a\_b \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{}" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert text.count("{") == text.count("}")
    assert r"\textbf{90.0" in text
    assert r"}$\dagger$" in text
    assert re.search(r"& 70\.0\d\$\\pm\$0\.0\d\$\\ddagger\$ &", text)
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    cells = {line.replace(r"\&", "").count("&") for line in body}
    assert cells == {len(METHODS) + len(FLOORS)}


def test_text_shows_ours_the_papers_the_difference_and_the_distance():
    plan, frame = as_printed("table-dt")
    frame["accuracy"] -= 0.01
    frame.loc[frame["method"] == "domep", "accuracy"] -= 0.2  # last everywhere
    lines = as_text(make_table(plan, frame)).splitlines()
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


def test_rows_are_named_apart_where_they_share_a_name():
    rows = [
        row_of("Iono"),
        row_of("Iono", "knn"),
        row_of("Wave"),
        row_of("Wave", reading="multiclass"),
    ]
    assert row_names(plan_of("table-dt", rows)) == [
        "Iono, trees",
        "Iono, nearest neighbours",
        "Wave, two classes",
        "Wave, all classes",
    ]


def test_settings_are_listed_with_ranks_and_verdicts():
    plan = plan_of("settings", ["Iono", "Liver", "Sonar"], n_members=(31, 100), keep=(0.1, 0.2))
    assert [(s.n_members, s.keep) for s in settings_of(plan)] == [
        (31, 3),
        (31, 6),
        (100, 10),
        (100, 20),
    ]
    frame = frame_of(plan, noisy)
    part = frame[~((frame["n_members"] == 100) & (frame["keep"] == 20))]
    listing = settings_listing(plan, part)
    lines = list(csv.DictReader(io.StringIO(listing.csv)))
    assert [(line["Members"], line["Kept"]) for line in lines] == [
        ("31", "3"),
        ("31", "6"),
        ("100", "10"),
    ]
    table = make_table(plan, frame, settings_of(plan)[1])
    for method in METHODS:
        assert float(lines[1][label(method)]) == pytest.approx(table.ranks[method], abs=1e-6)
    wins, ties, losses = map(int, lines[1]["W/T/L"].split("/"))
    assert wins + ties + losses == 3 * 9
    assert lines[1]["Not worse"] == "cannot be told"
    assert len(listing.grid.lines) == 3


def test_settings_without_results_are_not_listed():
    plan = plan_of("settings", ["Iono"])
    assert settings_listing(plan, frame_of(plan, lambda _: None)) is None


def test_the_authors_settings_are_listed_beside_paper_and_library():
    rows = [row_of("Iono"), row_of("Sonar", "knn-distance"), row_of("Iris")]
    plan = plan_of("authors", rows)
    library = plan_of("authors", rows, variants=("library",))
    frame = pd.concat([frame_of(plan, lambda _: 0.9), frame_of(library, lambda _: 0.8)])
    listing = authors_listing(plan, frame)
    lines = {
        (line["row"], line["method"]): line for line in csv.DictReader(io.StringIO(listing.csv))
    }
    sep = lines["Sonar", "SEP"]  # printed as 81.46 ± 5.87
    assert (float(sep["paper_mean"]), float(sep["paper_std"])) == (81.46, 5.87)
    assert (float(sep["library_mean"]), float(sep["authors_mean"])) == (80.0, 90.0)
    assert float(sep["library_deviations"]) == pytest.approx((80 - 81.46) / 5.87, abs=1e-6)
    assert float(sep["authors_deviations"]) == pytest.approx((90 - 81.46) / 5.87, abs=1e-6)
    assert lines["Iris", "SEP"]["paper_mean"] == ""
    assert [line[1] for line in listing.grid.lines if line[0] == "Iris"] == ["library"]
    assert listing.grid.rules == {5, 10}


def test_the_authors_settings_without_results_are_not_listed():
    plan = plan_of("authors", [row_of("Iono")])
    assert authors_listing(plan, frame_of(plan, lambda _: None)) is None
