"""Default folds: stratified, and independent of the names and the order of the classes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from secateurs import compare, frontier, prune
from secateurs.measures.score_curve import JackknifeBlocks
from secateurs.measures.scoring import Scoring
from secateurs.outputs.stratified_folds import stratified_fold_indices

LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=40)


def folds(y, groups=None):
    split = stratified_fold_indices(np.asarray(y), np.random.RandomState(0), 3, groups)
    return [held_out.tolist() for _, held_out in split]


@given(LABELS, st.permutations(range(5)), st.data())
def test_folds_do_not_depend_on_the_names_of_the_classes(labels, order, data):
    y = np.array(labels)
    renamed = np.array(order)[y]
    assert folds(renamed) == folds(y)
    assert folds(np.array(list("qwert"))[renamed]) == folds(y)
    ids = data.draw(st.lists(st.integers(0, 6), min_size=len(y), max_size=len(y)))
    groups = np.unique(ids, return_inverse=True)[1]
    assert folds(renamed, groups) == folds(y, groups)


@given(LABELS)
def test_each_fold_has_its_share_of_each_class(labels):
    y = np.array(labels)
    for label in set(labels):
        counts = [int((y[held_out] == label).sum()) for held_out in folds(y)]
        assert max(counts) - min(counts) <= 1


@given(LABELS, st.permutations(range(5)))
def test_blocks_of_standard_errors_do_not_depend_on_the_names_of_the_classes(labels, order):
    scoring = Scoring.from_scorer("accuracy", np.arange(5))
    y = np.array(labels)
    blocks = [JackknifeBlocks(scoring, one, None)._block_indices for one in (y, np.array(order)[y])]
    assert blocks[0].tolist() == blocks[1].tolist()


def test_nothing_that_is_cross_validated_depends_on_the_order_of_the_classes():
    """Probabilities without ties, with gaps; the order of the classes is reversed."""
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=90)
    shares = 0.5 * rng.dirichlet(np.ones(3), size=(90, 6))
    skill = rng.uniform(0.3, 0.9, size=6)
    guess = np.where(rng.random((90, 6)) < skill, y[:, None], rng.integers(3, size=(90, 6)))
    shares += 0.5 * np.eye(3)[guess]
    shares[rng.random((90, 6)) < 0.15] = np.nan
    options = {"cv": 3, "random_state": 0, "classes": ["a", "b", "c"]}
    cost = rng.uniform(1, 3, size=6)
    results = []
    for names in (np.array(["a", "b", "c"]), np.array(["c", "b", "a"])):
        table = shares if names[0] == "a" else shares[:, :, ::-1]
        found = frontier(table, y=names[y], cost=cost, **options).table()
        board = compare(table, y=names[y], methods=["joint"], keep=[2, 4], **options).leaderboard()
        board = board[~board["method"].isin(["majority class"])]
        budget = prune(table, y=names[y], pruner="joint", tolerance=0.02, **options)
        results.append(
            (
                prune(table, y=names[y], **options).member_indices.tolist(),
                budget.member_indices.tolist(),
                found[["cost", "accuracy", "standard_error"]].round(9).to_numpy().tolist(),
                board[["accuracy", "standard_error", "change"]].round(9).to_numpy().tolist(),
            )
        )
    assert results[0] == results[1]
