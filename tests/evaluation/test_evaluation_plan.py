"""Votes of groups of members on blocks of samples."""

import numpy as np

import cases
import naive
from secateurs import Votes
from secateurs.evaluation.evaluation_plan import VoteBlock, VotedSamples


def ballots_of(case):
    (ballots,) = VotedSamples(Votes.encode(*case)).vote_blocks()
    return ballots


def with_contributions(shares, y):
    """Ballots in which members add up contributions: (members, rows, classes)."""
    shares = np.array(shares, dtype=float)
    codes = shares.argmax(axis=2)
    votes = Votes.from_codes(codes, np.arange(shares.shape[2]), y)
    return VoteBlock(np.arange(len(y)), votes, shares, np.arange(shares.shape[2]))


def test_groups_vote_as_the_formula_says_whatever_their_order():
    case = cases.make(0, 65, 3, cases.KINDS)
    groups = [[0], [0, 1], [0, 1, 2], [5, 2], [5], [5, 3, 1], range(7)]
    for group, winner in zip(groups, ballots_of(case).winning_codes(groups, own=False)):
        expected = [naive.vote(case.votes, list(group), n) for n in range(65)]
        assert winner.tolist() == expected


def test_contributions_are_added_up():
    shares = [[[0.6, 0.4], [0.4, 0.6]], [[0.1, 0.9], [0.5, 0.5]]]
    ballots = with_contributions(shares, [0, 1])
    voted = [winner.tolist() for winner in ballots.winning_codes([[0], [0, 1], [1]], own=True)]
    assert voted == [[0, 1], [1, 1], [1, 0]]
    counted = [winner.tolist() for winner in ballots.winning_codes([[0, 1]], own=False)]
    assert counted == [[0, 0]]


def test_near_ties_round_as_in_the_model():
    sums = ((value, np.nextafter(value, 2)) for value in np.linspace(1.75, 1.99, 100))
    less, more = next((less, more) for less, more in sums if less / 7 == more / 7)
    assert less < more
    shares = np.zeros((7, 1, 2))
    shares[0, 0] = less, more
    (winner,) = with_contributions(shares, [0]).winning_codes([range(7)], own=True)
    assert winner.tolist() == [0]
