"""Methods that decide their own size: what they keep, and the claim on it."""

import csv
import io

import numpy as np
import pytest
from made_up_results import claims_of, frame_of, plan_of
from scipy import stats

from secateurs.paper._kept_sizes import kept_sizes, kept_sizes_sheet

FREE = ("oo", "drep", "sep", "oep", "pep")
ROWS = ("Iono", "Liver", "Spam")


def keeps(cell, **kept):
    """A method that keeps about this number of members, ± 3 depending on the data set."""
    about = kept.get(cell.method, 20) + {"iono": -3, "liver": 0, "spam": 3}[cell.dataset]
    return {"accuracy": 0.8, "n_kept": about + cell.fold % 2}


def test_sizes_are_those_of_methods_that_decide():
    plan = plan_of("table-dt", ROWS)
    sizes = kept_sizes([plan], frame_of(plan, lambda cell: keeps(cell, oo=48)))
    assert [item.method for item in sizes] == list(FREE)
    assert {item.fixed_size for item in sizes} == {20}
    assert len(sizes[0].sizes_by_row["Bagged decision trees: Iono"]) == 5
    sheet = kept_sizes_sheet(sizes)
    line = next(csv.DictReader(io.StringIO(sheet.csv)))
    assert float(line["OO"]) == pytest.approx(np.mean(sizes[0].sizes_by_row[line["Data set"]]))
    mean, fewest, most = sheet.grid.lines[-3:]
    kept = [n for numbers in sizes[0].sizes_by_row.values() for n in numbers]
    assert (fewest[1], most[1]) == (str(min(kept)), str(max(kept)))
    assert float(mean[1]) == pytest.approx(np.mean(kept), abs=0.05)
    assert set(sizes[0].data_sets.values()) == set(ROWS)


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ({"oo": 48, "sep": 42, "drep": 9, "pep": 9, "oep": 31}, "holds"),
        ({}, "does not hold"),
    ],
)
def test_sizes_are_judged_by_the_ratio_of_largest_and_smallest(kept, verdict):
    def measure(cell):
        return keeps(cell, **kept) if kept else {"accuracy": 0.8, "n_kept": 20 + cell.fold % 2}

    claim = claims_of("table-dt", measure, rows=ROWS)["sizes"]
    assert claim.verdict == verdict, claim.told
    if kept:
        means = np.array([[n + shift + 0.4 for n in kept.values()] for shift in (-3, 0, 3)])
        logs = np.log(means.max(axis=1) / means.min(axis=1))
        interval = stats.ttest_1samp(logs, 0).confidence_interval()
        assert claim.statistic.low == pytest.approx(np.exp(interval.low))


def test_without_results_there_are_no_sizes():
    assert kept_sizes_sheet([]) is None
