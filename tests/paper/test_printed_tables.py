"""The paper's tables as data: they agree with themselves and with the plans."""

import math

import numpy as np
import pytest
from made_up_results import PRINTED_COUNTS, PRINTED_RANKS, frame_of, plan_of

from secateurs.paper import load_plan
from secateurs.paper._accuracy_tables import make_accuracy_table
from secateurs.paper._printed_tables import (
    PAPER_METHODS,
    REASONS,
    TABLES,
    mismatch_reason,
    printed_accuracies,
)

# Rows of a test part, where few: the paper's readings of small data sets.
SMALL = {
    "table-dt": {"Iono": 70, "Liver": 69, "Ecoli": 66},
    "table-knn": {"Sonar": 41, "Ecoli": 66},
    "table-svm": {"Liver": 69},
}


@pytest.mark.parametrize("name", TABLES)
def test_the_paper_has_ten_methods_on_every_data_set(name):
    assert all(tuple(entries) == PAPER_METHODS for entries in printed_accuracies(name).values())


@pytest.mark.parametrize(
    ("name", "n_rows"), [("table-dt", 10), ("table-svm", 10), ("table-knn", 11)]
)
def test_plans_have_the_rows_of_the_paper_in_its_order(name, n_rows):
    names = [row.paper_name for row in load_plan(name).rows]
    assert names == list(printed_accuracies(name))
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
        for figure in printed_accuracies(name)[dataset].values()
    ]
    assert len(figures) == 60
    assert all(is_possible(figure, n_test, 4) for figure, n_test in figures)
    assert sum(is_possible(figure, n_test, 5) for figure, n_test in figures) < 5


@pytest.mark.parametrize("name", TABLES)
def test_the_printed_means_give_the_printed_ranks(name):
    table = make_accuracy_table(plan_of(name), frame_of(plan_of(name), lambda _: None))
    assert list(np.round(list(table.paper_ranks.values()), 2)) == PRINTED_RANKS[name]


@pytest.mark.parametrize("name", TABLES)
def test_the_printed_marks_give_the_printed_counts(name):
    table = make_accuracy_table(plan_of(name), frame_of(plan_of(name), lambda _: None))
    counts = [str(table.paper_win_tie_loss(method)) for method in PAPER_METHODS[:-1]]
    assert counts == PRINTED_COUNTS[name].split()


def test_reasons_speak_of_rows_and_methods_that_there_are():
    for line in REASONS:
        assert line["row"] in printed_accuracies(line["table"])
        assert set(line["methods"].split()) <= set(PAPER_METHODS)
        assert line["reason"]


def test_reasons_of_other_methods_are_not_given():
    assert mismatch_reason("table-dt", "Credit", ["kl"]) == mismatch_reason(
        "table-dt", "Credit", PAPER_METHODS
    )
    for line in REASONS:
        methods = line["methods"].split()
        others = set(PAPER_METHODS) - set(methods)
        if methods:
            assert line["reason"] not in mismatch_reason(line["table"], line["row"], others)
            assert line["reason"] in mismatch_reason(line["table"], line["row"], methods)
