"""Accuracy counts and size curves on held-out samples."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import cases
from secateurs import Votes, compare
from secateurs.evaluation.evaluation_plan import VotedSamples
from secateurs.evaluation.score_table import AccuracyCounts, count_correct
from secateurs.measures import vote_counts


def ballots_of(case):
    (ballots,) = VotedSamples(Votes.encode(*case)).vote_blocks()
    return ballots


def test_scores_by_hand():
    case = cases.Case([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]], [0, 1, 0, 1])
    counted, voted = count_correct(ballots_of(case), [[0], [0, 1], [2]], own=False, wanted=[1])
    assert (counted.n_samples, counted.n_right_full) == (4, 2)  # all members: 1, 1, 0, 0
    assert counted.n_right.tolist() == [4, 3, 1]
    assert counted.n_lost.tolist() == [0, 0, 1]
    assert counted.n_won.tolist() == [2, 1, 0]
    assert voted[1].tolist() == [0, 1, 0, 0]
    assert list(voted) == [1]


def test_scores_add_up_and_have_the_interval_of_paired_rows():
    first = AccuracyCounts(60, 50, np.array([48]), np.array([5]), np.array([3]))
    both = first + AccuracyCounts(40, 30, np.array([33]), np.array([1]), np.array([4]))
    assert both.accuracy.tolist() == [0.81]
    assert both.full_accuracy == 0.8
    differences = np.array([-1] * 6 + [1] * 7 + [0] * 87)
    assert both.change == pytest.approx([differences.mean()])
    assert both.half_width == pytest.approx([1.959964 * differences.std() / 10])


def test_blocks_of_samples_give_the_same_result(monkeypatch):
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
    forest = RandomForestClassifier(8, min_samples_leaf=5, random_state=0).fit(X[:150], y[:150])
    given = {"methods": ["re"], "keep": [2, 5], "random_state": 0}

    def figures(**rows):
        found = compare(forest, X[150:250], y[150:250], **given, **rows)
        return found.leaderboard().drop(columns=["ms", "seconds"]), found.curves[
            "re"
        ].predicted_codes

    for rows in ({}, {"X_test": X[250:], "y_test": y[250:]}):
        board, predicted = figures(**rows)
        with monkeypatch.context() as patched:
            patched.setattr(vote_counts, "_MAX_CONTRIBUTIONS", 8 * 3 * 7)  # seven rows at once
            again, predicted_again = figures(**rows)
        assert board.equals(again)
        assert all((predicted[size] == predicted_again[size]).all() for size in (2, 5))
