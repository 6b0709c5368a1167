"""compare() with methods of one's own: their names, and what is a method."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel

from secateurs import COMEP, ReducedErrorPruner, compare
from secateurs.exceptions import InputError


@pytest.fixture(scope="module")
def forest():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(9, max_depth=2, random_state=0).fit(X[::2], y[::2])
    return model, X[1::2], y[1::2]


class Firsts:
    """A method of one's own: keep the first members."""

    def __init__(self, keep=1):
        self.keep = keep

    def fit(self, votes, y):
        self.n_members = np.asarray(votes).shape[1]
        return self

    def get_support(self):
        return np.arange(self.n_members) < self.keep


def lasts(votes, y, keep):
    """Keep the last members."""
    mask = np.zeros(votes.shape[1], dtype=bool)
    mask[-keep:] = True
    return mask


def test_methods_have_the_names_they_are_given(forest, tmp_path):
    model, X, y = forest
    given = {
        **{"my class": Firsts, "my object": Firsts(2), "my function": lasts},
        **{"made anew": lambda: Firsts(3), "Reduced error": "re", "low λ": COMEP(4, 0.1)},
    }
    found = compare(model, X, y, given, keep=[2, 3], random_state=0)
    board = found.leaderboard()
    baselines = {"es", "random", "single best", "majority class"}
    assert set(board["method"]) == {*given, *baselines, "all members"}
    for name in ("my class", "my object", "made anew"):
        assert found.members(name, 3) == found.members("es", 3) == [0, 1, 2]
    n_members = found.problem.n_members
    assert found.members("my function", 2) == [n_members - 2, n_members - 1]
    plain = compare(model, X, y, ["re", COMEP(4, 0.1)], keep=[2, 3], random_state=0)
    assert found.members("Reduced error", 3) == plain.members("re", 3)
    assert found.members("low λ", 3) == plain.members("comep λ=0.1", 3)
    assert found.best[0] in given
    assert f"use {found.best[0]} with" in found.advice
    assert type(found.pruning("Reduced error", 3).pruner) is ReducedErrorPruner
    page = found.report(tmp_path / "page.html").read_text("utf-8")
    assert all(name in page for name in given)
    assert "SelectorPruner selector=" not in page
    assert "my function" in found._repr_html_()


def test_methods_without_a_name_are_called_by_what_they_are(forest):
    model, X, y = forest
    found = compare(model, X, y, [Firsts(), lasts], keep=2, random_state=0)
    assert list(found.curves)[:2] == ["Firsts", "lasts"]
    with pytest.raises(InputError, match=r"methods has two methods called Firsts\. Pass"):
        compare(model, X, y, [Firsts(), Firsts()], keep=2)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"": "re"}, "methods has the name ''. Pass names that can be printed"),
        ({3: "re"}, "methods has the name 3. Pass names that can be printed"),
        ({"all members": "re"}, "methods has the name 'all members', which has another meaning"),
        ({"a": lambda votes, y: [0]}, "takes votes, y. Pass a pruner, an object with fit"),
        ({"a": lambda: 3}, r"returned 3, which has no fit\(votes, y\)"),
        ({"a": SelectFromModel}, "SelectFromModel cannot be made without estimator. Pass an obj"),
        ({"a": lambda votes, y, keep: [0, 0]}, r"has member_indices_=\[0, 0\], which are not dis"),
    ],
)
def test_methods_that_are_none_get_one_line(forest, methods, message):
    model, X, y = forest
    with pytest.raises(InputError, match=message) as caught:
        compare(model, X, y, methods, keep=2)
    assert "\n" not in str(caught.value)
