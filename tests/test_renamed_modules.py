"""Old names: of public objects and parameters, and inside files of earlier versions."""

import pickle
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

import secateurs
from fitted_models import CHOOSE, X, Y
from secateurs import COMEP, LeafRefit, Predictions, ReducedErrorPruner, Votes, load, prune
from secateurs._renamed_modules import _MOVED, _RENAMED

FILES = Path(__file__).parent / "persistence" / "version_0_1"
LABELS = np.array(["ash", "fir"])

# The files were written by version 0.1 before the renames, from this table.
RNG = np.random.RandomState(0)
TRUTH = LABELS[RNG.randint(2, size=40)]
VOTES = np.where(RNG.rand(40, 6) < 0.7, TRUTH[:, None], LABELS[RNG.randint(2, size=(40, 6))])
PROBABILITIES = np.round(RNG.dirichlet([1, 1], size=(40, 6)), 4)
PROBABILITIES[..., 1] = 1 - PROBABILITIES[..., 0]


def unpickled(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return pickle.loads((FILES / name).read_bytes())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Scores", "Predictions"),
        ("ScoreStore", "PredictionStore"),
        ("collect_scores", "collect_predictions"),
    ],
)
def test_old_public_names_work_with_a_warning(old, new):
    with pytest.warns(FutureWarning, match=f"secateurs.{old} was renamed to {new}"):
        assert getattr(secateurs, old) is getattr(secateurs, new)
    assert old not in secateurs.__all__


@pytest.mark.parametrize("outputs", [Votes.encode(VOTES), Predictions.encode(PROBABILITIES)])
def test_the_old_name_of_is_sequential_works_with_a_warning(outputs):
    with pytest.warns(FutureWarning, match="staged was renamed to is_sequential"):
        assert outputs.staged is False


def test_the_old_name_of_the_synthetic_ratio_works_with_a_warning(forest):
    options = {"pruner": "best", "keep": 3, "refit": True, "random_state": 0}
    with pytest.warns(FutureWarning, match="The parameter n_made of prune"):
        old = prune(forest, X[CHOOSE], Y[CHOOSE], n_made=1, **options)
    new = prune(forest, X[CHOOSE], Y[CHOOSE], **{**options, "refit": LeafRefit(1)})
    assert (old.estimator.predict_proba(X) == new.estimator.predict_proba(X)).all()


@pytest.mark.parametrize("old", _MOVED)
def test_moved_modules_are_imported_by_their_old_names(old):
    alias = import_module(f"secateurs.{old}")
    moved = import_module(f"secateurs.{_MOVED[old]}")
    assert alias is not moved
    for path, name in _RENAMED.items():
        if path.rpartition(".")[0] == old:
            assert getattr(alias, path.rpartition(".")[2]) is getattr(moved, name)
    del sys.modules[f"secateurs.{old}"]


def test_other_missing_modules_are_still_missing():
    with pytest.raises(ModuleNotFoundError, match=r"secateurs\.outputs\._nothing"):
        import_module("secateurs.outputs._nothing")


def test_pickled_pruners_of_earlier_versions_load():
    pruner = unpickled("comep.pkl")
    expected = COMEP(3, random_state=0).fit(VOTES, TRUTH)
    assert pruner.member_indices_.tolist() == expected.member_indices_.tolist()
    assert (pruner.predict(VOTES) == expected.predict(VOTES)).all()
    assert vars(pruner).keys() == vars(expected).keys()
    groups = unpickled("epfd.pkl")
    expected = secateurs.EPFD(ReducedErrorPruner(2), 2, random_state=0).fit(VOTES, TRUTH)
    assert groups.member_indices_.tolist() == expected.member_indices_.tolist()
    assert vars(groups).keys() == vars(expected).keys()


def test_skops_files_of_earlier_versions_load():
    names = ["outputs._packing.Planes", "outputs._votes.Votes", "pruners._comep.COMEP"]
    pruner = load(FILES / "comep.skops", trust_types=[f"secateurs.{name}" for name in names])
    expected = COMEP(3, random_state=0).fit(VOTES, TRUTH)
    assert pruner.member_indices_.tolist() == expected.member_indices_.tolist()


def test_pickled_votes_and_probabilities_of_earlier_versions_load():
    votes, expected = unpickled("votes.pkl"), Votes.encode(VOTES, TRUTH)
    assert (votes.y == expected.y).all()
    assert (votes.packed.cells == expected.packed.cells).all()
    assert votes.is_sequential is False
    again = COMEP(3, random_state=0).fit(votes)
    assert again.member_indices_.tolist() == COMEP(3).fit(VOTES, TRUTH).member_indices_.tolist()
    scores = unpickled("scores.pkl")
    expected = Predictions.encode(PROBABILITIES, TRUTH, LABELS)
    assert (scores.cells == expected.cells).all()
    assert scores.is_sequential is False


def test_pickled_results_of_earlier_versions_load():
    pruning = unpickled("pruning.pkl")
    expected = prune(VOTES, None, TRUTH, "re", 3, random_state=0)
    assert pruning.member_indices.tolist() == expected.member_indices.tolist()
    assert pruning.summary().to_string() == expected.summary().to_string()
    comparison = unpickled("comparison.pkl")
    expected = secateurs.compare(VOTES, None, TRUTH, ["comep", "best"], [2, 3], random_state=0)
    assert comparison.members("comep", 3) == expected.members("comep", 3)
    assert repr(comparison) == repr(expected)
