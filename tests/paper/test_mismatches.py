"""Rows that are not like the paper's, and why."""

import pytest
from made_up_results import as_printed

from secateurs.paper._accuracy_tables import make_accuracy_table
from secateurs.paper._printed_tables import PAPER_METHODS, method_label, mismatch_reason


def test_rows_far_from_the_paper_are_listed_with_their_reason():
    plan, frame = as_printed("table-dt")
    is_credit, is_spam = (frame["dataset"] == name for name in ("credit", "spam"))
    frame.loc[is_credit, "accuracy"] -= 0.19
    frame.loc[is_spam & (frame["method"] == "kp"), "accuracy"] += 0.0279  # 3 × 0.93 points
    found = make_accuracy_table(plan, frame).paper_mismatches()
    assert [item.row for item in found] == ["Spam", "Credit"]
    assert found[0].methods == ("KP",)
    assert found[0].furthest_deviation == pytest.approx(3.0)
    assert found[0].difference == pytest.approx(0.279)
    assert found[0].reason == mismatch_reason("table-dt", "Spam", ["kp"])
    assert found[1].methods == tuple(method_label(method) for method in PAPER_METHODS)
    assert found[1].difference == pytest.approx(-19)
    assert "label column" in found[1].reason
    assert not found[1].established


def test_two_deviations_are_within():
    plan, frame = as_printed("table-dt")
    frame.loc[(frame["dataset"] == "spam") & (frame["method"] == "kp"), "accuracy"] -= 0.0185
    assert make_accuracy_table(plan, frame).paper_mismatches() == []


def test_rows_with_folds_missing_are_not_compared_with_the_paper():
    plan, frame = as_printed("table-dt")
    frame["accuracy"] -= 0.5
    table = make_accuracy_table(plan, frame[(frame["dataset"] != "spam") | (frame["fold"] == 0)])
    assert "Spam" not in [item.row for item in table.paper_mismatches()]
    assert len(table.paper_mismatches()) == len(table.comparable_rows) == 9
    assert table.missing_notes() == ["Spam: 1 of 2 folds."]
