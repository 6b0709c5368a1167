"""Tables that the paper lacks: settings, and those of the authors."""

import csv
import io

import pandas as pd
import pytest
from made_up_results import frame_of, noisy, plan_of, row_of

from secateurs.paper import load_plan
from secateurs.paper._accuracy_tables import tables_by_setting
from secateurs.paper._extra_sheets import (
    authors_sheet,
    credit_sheet,
    measured_sheet,
    settings_sheet,
)
from secateurs.paper._printed_tables import PAPER_METHODS, method_label


def test_settings_are_listed_with_ranks():
    plan = plan_of("settings", ["Iono", "Liver", "Sonar"], n_members=(31, 100), keep=(0.1, 0.2))
    assert [(s.n_members, s.keep) for s in plan.settings] == [
        (31, 3),
        (31, 6),
        (100, 10),
        (100, 20),
    ]
    frame = frame_of(plan, noisy)
    part = frame[~((frame["n_members"] == 100) & (frame["keep"] == 20))]
    sheet = settings_sheet(tables_by_setting(plan, part))
    lines = list(csv.DictReader(io.StringIO(sheet.csv)))
    assert [(line["Members"], line["Kept"]) for line in lines] == [
        ("31", "3"),
        ("31", "6"),
        ("100", "10"),
    ]
    table = tables_by_setting(plan, frame)[plan.settings[1]]
    for method in PAPER_METHODS:
        assert float(lines[1][method_label(method)]) == pytest.approx(table.ranks[method], abs=1e-6)
    wins, ties, losses = map(int, lines[1]["W/T/L"].split("/"))
    assert wins + ties + losses == 3 * 9
    assert len(sheet.grid.lines) == 3


def test_settings_without_results_are_not_listed():
    plan = plan_of("settings", ["Iono"])
    assert settings_sheet(tables_by_setting(plan, frame_of(plan, lambda _: None))) is None


def test_the_authors_settings_are_listed_beside_paper_and_library():
    rows = [row_of("Iono"), row_of("Sonar", "knn-distance"), row_of("Iris")]
    plan = plan_of("authors", rows)
    library = plan_of("authors", rows, variants=("library",))
    frame = pd.concat([frame_of(plan, lambda _: 0.9), frame_of(library, lambda _: 0.8)])
    sheet = authors_sheet(plan, frame)
    lines = {(line["row"], line["method"]): line for line in csv.DictReader(io.StringIO(sheet.csv))}
    sep = lines["Sonar", "SEP"]  # printed as 81.46 ± 5.87
    assert (float(sep["paper_mean"]), float(sep["paper_std"])) == (81.46, 5.87)
    assert (float(sep["library_mean"]), float(sep["authors_mean"])) == (80.0, 90.0)
    assert float(sep["library_deviations"]) == pytest.approx((80 - 81.46) / 5.87, abs=1e-6)
    assert float(sep["authors_deviations"]) == pytest.approx((90 - 81.46) / 5.87, abs=1e-6)
    assert lines["Iris", "SEP"]["paper_mean"] == ""
    assert [line[1] for line in sheet.grid.lines if line[0] == "Iris"] == ["library"]
    assert sheet.grid.rules == {5, 10}


def test_the_authors_settings_without_results_are_not_listed():
    plan = plan_of("authors", [row_of("Iono")])
    assert authors_sheet(plan, frame_of(plan, lambda _: None)) is None


def test_learners_of_the_text_have_a_table_of_their_own():
    rows = [row_of("Iono", learner) for learner in ("nb", "lm", "lm-sgd-l1", "svm-linear")]
    plan = plan_of("learners", rows)
    sheet = measured_sheet(tables_by_setting(plan, frame_of(plan, noisy)))
    assert sheet.name == "learners"
    assert [line[0] for line in sheet.grid.lines[:2]] == [
        "Iono, naive Bayes",
        "Iono, linear models (ridge)",
    ]
    assert measured_sheet(tables_by_setting(plan, frame_of(plan, lambda _: None))) is None


def test_variants_of_credit_are_listed_with_their_seeds():
    plan = load_plan("credit")
    lift = {"binary": 0.0, "binary+01": 0.001, "binary+pm1": 0.003}

    def measure(cell):
        return 0.77 + lift[cell.reading] + 0.0001 * cell.seed + 0.0002 * (cell.fold - 2)

    assert credit_sheet(plan, frame_of(plan, lambda _: None)) is None
    sheet = credit_sheet(plan, frame_of(plan, measure))
    lines = list(csv.DictReader(io.StringIO(sheet.csv)))
    assert [line["Label among the features"] for line in lines[:3]] == [
        *("absent", "as 0 and 1", "as −1 and 1"),
    ]
    assert [line["Bags"] for line in lines[2:4]] == ["from all samples", "class by class"]
    assert float(lines[1]["Mean"]) == pytest.approx(77.1 + 0.01 * 4.5)
    assert float(lines[1]["Lowest seed"]) == pytest.approx(77.1)
    assert float(lines[1]["Highest seed"]) == pytest.approx(77.19)
    assert "printed mean is 78.01" in sheet.caption
