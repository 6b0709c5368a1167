"""Tables of accuracy: what becomes of results."""

import math
import statistics

import numpy as np
import pandas as pd
import pytest
from made_up_results import PRINTED_RANKS, as_printed, frame_of, noisy, plan_of
from scipy import stats

from secateurs.benchmarking.table_text import as_latex, as_markdown, as_text
from secateurs.paper._accuracy_sheets import accuracy_sheet
from secateurs.paper._accuracy_tables import make_accuracy_table
from secateurs.paper._printed_tables import BASELINES, PAPER_METHODS, TABLES, printed_accuracies


@pytest.mark.parametrize("name", TABLES)
def test_results_like_the_papers_give_its_table(name):
    plan, frame = as_printed(name)
    table = make_accuracy_table(plan, frame)
    assert list(np.round(list(table.ranks.values()), 2)) == PRINTED_RANKS[name]
    for row in table.rows:
        for method in PAPER_METHODS:
            entry, figure = (
                row.entries[method],
                printed_accuracies(name)[row.source.paper_name][method],
            )
            assert entry.mean == pytest.approx(figure.mean)
            assert entry.std == pytest.approx(figure.std, abs=1e-9)
            assert entry.bold == figure.bold, (row.name, method)
            assert row.deviations_from_paper(method) == pytest.approx(0, abs=1e-9)
    assert table.paper_mismatches() == []
    assert len(table.comparable_rows) == len(plan.rows)
    assert table.missing_notes() == []


def test_means_and_deviations_are_those_of_folds():
    plan = plan_of("table-dt", ["Iono"])
    frame = frame_of(plan, noisy)
    table = make_accuracy_table(plan, frame)
    for method in plan.methods:
        folds = [100 * noisy(cell)["accuracy"] for cell in plan.cells() if cell.method == method]
        entry = table.rows[0].entries[method]
        assert entry.mean == pytest.approx(statistics.mean(folds))
        assert entry.std == pytest.approx(statistics.stdev(folds))


def test_marks_are_those_of_scipys_paired_t_test():
    plan = plan_of("table-dt", ["Iono", "Liver", "Spam", "Wisconsin"])
    shift = {"kl": -0.05, "oo": 0.05, "re": -0.02}
    frame = frame_of(plan, lambda c: noisy(c)["accuracy"] + shift.get(c.method, 0.0))
    table = make_accuracy_table(plan, frame)
    seen = []
    for row in table.rows:
        for method in (*PAPER_METHODS[:-1], *BASELINES):
            entry = row.entries[method]
            test = stats.ttest_rel(
                list(row.entries["domep"].folds.values()), list(entry.folds.values())
            )
            expected = "" if test.pvalue >= 0.05 else "‡" if test.statistic > 0 else "†"
            assert entry.mark == expected
            seen.append(expected)
        assert row.entries["domep"].test is None
    assert {"", "‡", "†"} == set(seen)
    for method in PAPER_METHODS[:-1]:
        marks = [row.entries[method].mark for row in table.rows]
        expected = f"{marks.count('‡')}/{marks.count('')}/{marks.count('†')}"
        assert str(table.win_tie_loss(method)) == expected


def test_floors_and_ceiling_take_no_part_in_ranks():
    plan = plan_of("table-dt", ["Iono", "Liver"])
    plain = make_accuracy_table(plan, frame_of(plan, noisy))
    lifted = make_accuracy_table(
        plan, frame_of(plan, lambda c: 1.0 if c.method in BASELINES else noisy(c)["accuracy"])
    )
    assert plain.ranks == lifted.ranks
    assert sum(plain.ranks.values()) == pytest.approx(55)
    assert not any(row.entries[floor].bold for row in lifted.rows for floor in BASELINES)


def test_no_method_is_best_when_all_have_the_same_mean():
    plan = plan_of("table-dt", ["Credit"])
    table = make_accuracy_table(plan, frame_of(plan, lambda cell: 0.9 + 0.01 * cell.fold))
    assert not any(entry.bold for entry in table.rows[0].entries.values())
    assert set(table.ranks.values()) == {5.5}


def test_means_that_are_printed_alike_share_their_ranks():
    plan = plan_of("table-dt", ["Iono"])
    means = {method: 0.80001 + 0.000001 * place for place, method in enumerate(PAPER_METHODS)}
    table = make_accuracy_table(
        plan, frame_of(plan, lambda c: means.get(c.method, 0.5) + 0.01 * c.fold)
    )
    assert set(table.ranks.values()) == {5.5}


def test_seeds_of_a_fold_are_averaged():
    plan = plan_of("table-dt", ["Iono"], folds=(0, 1))
    first = frame_of(plan, lambda cell: 0.8, seed=0)
    second = frame_of(plan, lambda cell: 0.9 if cell.fold else 0.6, seed=1)
    table = make_accuracy_table(plan, pd.concat([first, second]))
    assert table.rows[0].entries["kl"].folds == pytest.approx({0: 70.0, 1: 85.0})


def test_results_of_other_settings_are_left_aside():
    plan = plan_of("table-dt", ["Iono"])
    others = plan_of("table-dt", ["Iono"], n_members=(31,), keep=(0.1, 0.4))
    weights = plan_of("table-dt", ["Iono"], diversity_weight=(0.1,))
    kinds = plan_of("table-dt", ["Iono"], kind="size")
    frames = [frame_of(p, lambda cell: 0.1) for p in (others, weights, kinds)]
    frame = pd.concat([frames[0], frame_of(plan, lambda cell: 0.8), *frames[1:]])
    assert make_accuracy_table(plan, frame).rows[0].entries["kl"].mean == pytest.approx(80)
    fewer = make_accuracy_table(plan_of("table-dt", ["Iono"], folds=(1, 3)), frame)
    assert list(fewer.rows[0].entries["kl"].folds) == [1, 3]


def test_a_deviation_printed_as_zero_counts_as_the_smallest_step():
    # Landsat with SVMs is printed as 65.24 ± 0.00; five test parts of 1286 rows: steps of 1/6430
    plan = plan_of("table-svm", ["Landsat"], folds=(0,))
    frame = frame_of(plan, lambda cell: {"accuracy": 0.6524 + 3 / 6430, "n_test": 1286})
    row = make_accuracy_table(plan, frame).rows[0]
    assert row.deviations_from_paper("kl") == pytest.approx(3.0)


def test_incomplete_rows_say_so_and_are_not_ranked():
    plan = plan_of("table-dt", ["Iono", "Liver", "Spam"])

    def measure(cell):
        if cell.dataset == "spam" or (cell.dataset == "liver" and cell.method == "pep"):
            return None
        if cell.dataset == "iono" and cell.method == "random" and cell.fold > 2:
            return None
        return noisy(cell)

    table = make_accuracy_table(plan, frame_of(plan, measure))
    assert [row.is_ranked for row in table.rows] == [True, False, False]
    assert table.scores.index.tolist() == ["Iono"]
    assert table.missing_notes() == [
        "Iono: incomplete, folds of 5: Random 3.",
        "Liver: incomplete, folds of 5: PEP 0. It is not ranked.",
        "Spam: no results.",
    ]
    for text in (
        as_text(accuracy_sheet(table)),
        as_markdown(accuracy_sheet(table)),
        as_latex(accuracy_sheet(table)),
    ):
        assert "Spam: no results." in text


def test_methods_on_different_folds_are_not_ranked_but_tested_on_those_they_share():
    plan = plan_of("table-dt", ["Iono"])
    keep = {"kl": {0, 1, 2}, "domep": {1, 2, 3, 4}}
    frame = frame_of(plan, lambda c: noisy(c) if c.fold in keep.get(c.method, range(5)) else None)
    row = make_accuracy_table(plan, frame).rows[0]
    assert not row.is_ranked
    assert not any(entry.bold for entry in row.entries.values())
    pair = ([row.entries[method].folds[fold] for fold in (1, 2)] for method in ("domep", "kl"))
    assert row.entries["kl"].test.p_value == pytest.approx(stats.ttest_rel(*pair).pvalue)


def test_a_table_without_any_results_can_be_written():
    plan = plan_of("table-knn")
    table = make_accuracy_table(plan, frame_of(plan, lambda _: None))
    assert table.ranks == {}
    text = as_text(accuracy_sheet(table))
    assert "Ames: no results. The data set is not publicly available" in text
    assert "KL" in as_latex(accuracy_sheet(table))
    assert len(table.missing_notes()) == 11


def test_one_fold_has_no_deviation_and_no_marks():
    plan = plan_of("table-dt", ["Iono"], folds=(0,))
    table = make_accuracy_table(plan, frame_of(plan, noisy))
    assert math.isnan(table.rows[0].entries["kl"].std)
    assert all(entry.test is None for entry in table.rows[0].entries.values())
    assert sum(entry.bold for entry in table.rows[0].entries.values()) == 1
    assert "±–" in as_text(accuracy_sheet(table))
