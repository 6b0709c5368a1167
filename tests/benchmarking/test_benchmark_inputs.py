"""Data sets, ensembles and methods of a benchmark: what is taken, and what gets one line."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from secateurs import benchmark
from secateurs.exceptions import InputError, UnsupportedEnsembleError


def forest():
    return RandomForestClassifier(12)


def untimed(found):
    return found.frame[[name for name in found.frame if not name.endswith("seconds")]]


def test_tables_of_a_folder_are_data_sets(tmp_path):
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "kind"})
    frame.to_csv(tmp_path / "iris.csv", index=False)
    frame.to_csv(tmp_path / "packed.csv.gz", index=False)
    frame.to_parquet(tmp_path / "other.parquet")
    (tmp_path / "notes.txt").write_text("nothing")
    found = benchmark(tmp_path, forest(), ["re"], 3, folds=3, target="kind")
    assert list(found.study.dataset_summaries) == ["iris", "other", "packed"]
    given = benchmark({"iris": load_iris}, forest(), ["re"], 3, folds=3)
    mine = untimed(found).query("dataset == 'iris'")
    pd.testing.assert_frame_equal(mine, untimed(given))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"datasets": {}}, "datasets={} is not valid. Pass a dict of names to"),
        ({"datasets": 3}, "datasets=3 is not valid. Pass a dict"),
        ({"datasets": "nowhere"}, "nowhere is not a folder"),
        ({"datasets": {"a": ([[1.0]], [1, 2])}}, "Data set a has 1 sample but 2 true values"),
        ({"datasets": {"a": ([1.0, 2.0], [1, 2])}}, r"has features of shape \(2,\). Pass a table"),
        ({"datasets": {"a": lambda: 3}}, "Data set a cannot be read: TypeError: .* Pass"),
        ({"datasets": {"a": ([[1.0], [2.0]], [0, 0])}}, "Data set a has 1 class. Pass two"),
        ({"datasets": {"a": ([[1.0], [2.0]], [0, 1])}}, "a has 2 samples, too few for folds=3"),
        ({"datasets": {"a": "no.csv"}}, "Data set a: no.csv is not a file"),
        ({"datasets": {"": load_iris}}, "datasets has the name ''. Pass names"),
        ({"ensembles": {}}, "ensembles=.* is not valid. Pass a dict of names to unfitted"),
        ({"ensembles": {"f": RandomForestClassifier}}, "Ensemble f is <class"),
        ({"ensembles": {"f": lambda: 3}}, "Ensemble f is 3. Pass"),
        (
            {"ensembles": {"a": forest(), "b": RandomForestRegressor()}},
            r"a \(classes\), b \(regression",
        ),
        ({"ensembles": {"t": DecisionTreeClassifier()}}, "iris, t, fold 0: .* not an ensemble"),
        ({"methods": ["kpp"]}, "pruner='kpp' is unknown. Did you mean 'kp'"),
        ({"methods": []}, "methods has no method"),
        ({"methods": {"single best": "re"}}, "has another meaning in tables"),
        ({"methods": ["re", "RE"]}, "methods has two methods called re. Pass a dict"),
        ({"methods": {"a": lambda votes: votes}}, "takes votes. Pass a pruner"),
        ({"methods": {"a": 3}}, "pruner=3 is not a valid pruner"),
        ({"methods": {"a": lambda votes, y, keep: 1 / 0}}, "fold 0: method a failed: ZeroDivision"),
        (
            {"methods": {"a": lambda votes, y, keep: [0]}},
            "method a: <lambda> kept 1 member",
        ),
        ({"keep": 0}, "keep=0 is not a valid size. Pass a count of at least 1"),
        ({"keep": []}, "has no size. Pass a count"),
        ({"keep": 13}, "iris, RandomForestClassifier, fold 0: keep=13 asks for more members"),
        ({"folds": 2}, "folds=2 is not valid. Pass 3 or more"),
        ({"repeats": 0}, "repeats=0 is not valid. Pass an integer of at least 1"),
        ({"random_state": None}, "random_state=None is not valid"),
        ({"control": "kp"}, "control='kp' is unknown. Pass one of: re"),
        ({"voting": "soft"}, "voting='soft' is unknown. Pass one of: own, labels"),
        ({"scoring": "r2"}, "scoring='r2' is a regression score"),
        ({"scoring": "accuray"}, "scoring='accuray' is unknown. Did you mean 'accuracy'"),
    ],
)
def test_bad_plans_get_one_line(changes, text, tmp_path):
    settings = {"datasets": {"iris": load_iris}, "ensembles": forest(), "methods": ["re"]}
    with pytest.raises((InputError, UnsupportedEnsembleError), match=text) as caught:
        benchmark(**settings | {"keep": 3, "folds": 3} | changes)
    assert "\n" not in str(caught.value)


def test_a_function_that_returns_other_rows_each_time_is_refused():
    rng = np.random.default_rng(0)
    text = "the function of drawn returns different data each time. Fix its random state"
    with pytest.raises(InputError, match=text):
        benchmark(
            {"drawn": lambda: (rng.random((40, 3)), rng.integers(2, size=40))},
            forest(),
            ["re"],
            3,
            folds=3,
        )
