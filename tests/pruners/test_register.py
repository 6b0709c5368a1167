"""register(): a class of one's own by a short name, wherever methods are named."""

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest

from secateurs import (
    COMEP,
    all_pruners,
    benchmark,
    compare,
    make_pruner,
    prune,
    register,
    unregister,
)
from secateurs._methods import METHODS
from secateurs.exceptions import InputError
from secateurs.pruners import BasePruner
from secateurs.search import Choice

X, Y = load_iris(return_X_y=True)


class Lasts(BasePruner):
    """Keep the last members."""

    is_nested = True

    def __init__(self, keep=0.1, random_state=None):
        self.keep = keep
        self.random_state = random_state

    def _select(self, votes, n_keep, rng):
        members = list(range(votes.n_members))[::-1][:n_keep]
        return Choice(members, [0.0] * n_keep)


@pytest.fixture
def registered():
    assert register("lasts", Lasts, summary="Keep the last members") is Lasts
    yield
    unregister("lasts")


def test_the_name_is_known_everywhere(registered):
    forest = RandomForestClassifier(8, random_state=0).fit(X[::2], Y[::2])
    rows = X[1::2], Y[1::2]
    assert all_pruners()["lasts"] is Lasts
    assert make_pruner("lasts", keep=3).keep == 3
    assert prune(forest, *rows, "lasts", keep=2).member_indices.tolist() == [7, 6]
    found = compare(forest, *rows, ["lasts"], keep=[2, 3], random_state=0)
    assert found.members("lasts", 3) == [7, 6, 5]
    sets = benchmark({"iris": load_iris}, RandomForestClassifier(8), {"mine": "lasts"}, 2, folds=3)
    assert sets.frame.query("method == 'mine'")["members"].tolist() == [[7, 6]] * 3


def test_it_may_be_registered_again_and_the_package_does_not_export_it(registered):
    import secateurs

    register("lasts", Lasts)
    assert "Lasts" not in secateurs._homes()
    with pytest.raises(InputError, match=r"takes no parameter 'kep'\. Did you mean 'keep'"):
        make_pruner("lasts", kep=3)


@pytest.mark.parametrize(
    ("name", "pruner", "message"),
    [
        ("comep", Lasts, "name='comep' is a method of the package. Use another name"),
        ("My method", Lasts, "name='My method' is not a valid short name. Use lower-case letters"),
        (
            "mine",
            COMEP(),
            "not a subclass of secateurs.pruners.BasePruner. A short name creates",
        ),
        ("mine", SelectKBest, "Pass the class or an object as the method, without a short name"),
    ],
)
def test_what_cannot_be_registered_gets_one_line(name, pruner, message):
    with pytest.raises(InputError, match=message):
        register(name, pruner)
    assert "mine" not in METHODS


def test_only_registered_names_are_removed(registered):
    register("other", Lasts)
    unregister("other")
    assert "other" not in all_pruners()
    assert "lasts" in all_pruners()
    with pytest.raises(InputError, match=r"name='other' is not registered. Registered are: lasts"):
        unregister("other")
    with pytest.raises(InputError, match="name='comep' is a method of the package"):
        unregister("comep")
