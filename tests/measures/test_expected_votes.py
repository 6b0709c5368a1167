"""Expected accuracy of the vote of k members, compared with the mean over all sets of k members."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from secateurs import Votes, prune
from secateurs.exceptions import InputError
from secateurs.measures.expected_votes import expected_votes


@st.composite
def tables(draw):
    n_members, n_classes = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    n_samples = draw(st.integers(1, 6))
    label = st.integers(0, n_classes)  # the last is a missing vote
    rows = st.lists(label, min_size=n_members, max_size=n_members)
    votes = np.array(draw(st.lists(rows, min_size=n_samples, max_size=n_samples)))
    truth = st.lists(st.integers(0, n_classes - 1), min_size=n_samples, max_size=n_samples)
    return np.ma.masked_equal(votes, n_classes), np.array(draw(truth)), n_classes


@given(tables(), st.booleans())
def test_the_expected_accuracy_is_the_mean_over_all_sets_of_members(drawn, is_weighted):
    votes, y, n_classes = drawn
    assume(not np.ma.getmaskarray(votes).all())
    weight = np.arange(1.0, len(y) + 1) if is_weighted else np.ones(len(y))
    found = expected_votes(Votes.encode(votes, y), weight if is_weighted else None)
    for size, value in zip(found.sizes, found.values, strict=True):
        total = 0
        for members in combinations(range(votes.shape[1]), int(size)):
            for row, label, share in zip(votes[:, members].tolist(), y, weight, strict=True):
                counts = [row.count(one) for one in range(n_classes)]
                total += share * (any(counts) and counts.index(max(counts)) == label)
        assert value == pytest.approx(total / comb(votes.shape[1], int(size)) / weight.sum())


def test_two_classes_follow_the_hypergeometric_distribution():
    rng = np.random.default_rng(0)
    y = np.ones(50, dtype=int)  # a tie goes to class 0, which is wrong
    votes = (rng.random((50, 101)) < rng.uniform(0.3, 0.9, size=(50, 1))).astype(int)
    votes[0, 0] = 0  # both classes occur
    found = expected_votes(Votes.encode(votes, y))
    for size in (1, 2, 7, 50, 100, 101):
        shares = hypergeom.sf(size // 2, 101, votes.sum(axis=1), size)
        assert found.values[size - 1] == pytest.approx(shares.mean())
        error = shares.std() / np.sqrt(50)
        assert found.standard_errors[size - 1] == pytest.approx(error)


def sampled_answers(n_samples=300, n_members=40):
    """Answers of one model: easy, fair and hard questions, with four choices."""
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=n_samples)
    chance = rng.choice([0.95, 0.55, 0.2], size=(n_samples, 1), p=[0.5, 0.3, 0.2])
    right = rng.random((n_samples, n_members)) < chance
    return np.where(right, y[:, None], rng.integers(4, size=right.shape)), y


def test_prune_returns_the_first_members_and_their_number_follows_the_curve():
    votes, y = sampled_answers()
    pruning = prune(votes, y=y, exchangeable=True, tolerance=0.01)
    curve = expected_votes(Votes.encode(votes, y)).values
    size = len(pruning.member_indices)
    assert pruning.member_indices.tolist() == list(range(size))
    reference = curve.max()
    end = int(curve.argmax())
    assert curve[size - 1] >= reference - 0.01
    later = curve[size - 1 : end + 1] >= reference - 0.01
    assert later.mean() >= 0.9
    assert size < 40
    assert f"{curve[size - 1]:.4f}" in pruning.size_reason
    assert any("expected accuracy" in remark for remark in pruning.summary().attrs["remarks"])
    assert pruning.expected_votes.values.tolist() == curve.tolist()


def test_the_fewest_members_are_kept_although_an_even_number_has_more_tied_votes():
    rng = np.random.default_rng(0)
    votes = (rng.random((6, 6)) < rng.choice([0.9, 0.6], (6, 1))).astype(int)
    y = np.array([0, 1, 1, 1, 1, 1])
    pruning = prune(votes, y=y, exchangeable=True, tolerance=0.1)
    values = pruning.expected_votes.values
    assert values.max() == values[4] == pytest.approx(0.75)
    assert values[2] == pytest.approx(0.65)
    assert values[3] < 0.65  # four members tie more often than three
    assert len(pruning.member_indices) == 3


def test_the_order_of_the_members_does_not_change_their_number():
    votes, y = sampled_answers()
    sizes = {
        len(prune(votes[:, order], y=y, exchangeable=True).member_indices)
        for order in (np.arange(40), np.arange(40)[::-1], np.random.default_rng(0).permutation(40))
    }
    assert len(sizes) == 1


def test_a_number_of_members_is_kept_with_its_expected_accuracy():
    votes, y = sampled_answers()
    pruning = prune(votes, y=y, exchangeable=True, keep=5)
    assert pruning.member_indices.tolist() == [0, 1, 2, 3, 4]
    assert "any 5 members" in pruning.size_reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pruner": "re"}, "exchangeable members are not selected"),
        ({"scoring": "f1_macro"}, "exchangeable=True needs accuracy"),
        ({"cost": [1] * 40, "max_cost": 3}, "exchangeable=True cannot be combined with max_cost"),
        ({"max_bytes": 100}, "exchangeable=True cannot be combined with max_bytes"),
    ],
)
def test_options_without_meaning_are_rejected_in_one_line(options, message):
    votes, y = sampled_answers()
    with pytest.raises(InputError, match=message):
        prune(votes, y=y, exchangeable=True, **options)


def test_probabilities_are_rejected():
    table = np.random.default_rng(0).dirichlet([1, 1], size=(20, 5))
    with pytest.raises(InputError, match="exchangeable=True needs labels"):
        prune(table, y=np.arange(20) % 2, exchangeable=True)
