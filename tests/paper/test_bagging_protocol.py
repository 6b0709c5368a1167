"""The paper's protocol: folds by class, bagging, votes, and chance that comes from names."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from secateurs.benchmarking.splits_and_seeds import seed_sequence, small_seed, split_samples
from secateurs.paper import _bagging_protocol
from secateurs.paper._bagging_protocol import SYNTHETIC, cast_votes
from secateurs.paper._plan import Bag
from secateurs.paper._printed_tables import LEARNER_NAMES
from secateurs.paper.datasets import DATASETS, binarise, load

# Test rows of a fold that the paper's printed figures tell.
N_TEST = [
    ("iono", "multiclass", 70),
    ("liver", "multiclass", 69),
    ("spam", "multiclass", 919),
    ("sonar", "multiclass", 41),
    ("wisconsin", "multiclass", 135),
    ("wilt", "multiclass", 967),
    ("card", "multiclass", 137),
    ("ecoli", "binary", 66),
    ("ecoli", "multiclass", 65),
    ("landsat", "binary", 1286),
    ("landsat", "multiclass", 1284),
    ("page", "binary", 1094),
    ("page", "multiclass", 1092),
    ("sensor_readings_24", "multiclass", 1090),
    ("sensor_readings_24", "binary", 1091),
    ("waveform_binary", "multiclass", 999),
    ("waveform_noise", "multiclass", 999),
    ("waveform_noise", "binary", 999),
]

labels = st.lists(st.sampled_from("abc"), min_size=1, max_size=60)
seeds = st.integers(0, 2**32 - 1)


def parts_of(y, seed):
    return [split_samples(y, fold, np.random.default_rng(seed)) for fold in range(5)]


@given(labels, seeds)
def test_three_parts_hold_every_row_once(y, seed):
    for parts in parts_of(y, seed):
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
        assert all((np.diff(rows) > 0).all() for rows in parts)


@given(labels, seeds)
def test_a_fifth_of_each_class_tests_and_as_many_validate(y, seed):
    for parts in parts_of(y, seed):
        for label in set(y):
            for rows in (parts.test, parts.validation):
                assert [y[row] for row in rows].count(label) == y.count(label) // 5


@given(labels, seeds)
def test_each_part_validates_the_fold_before_it_tests(y, seed):
    folds = parts_of(y, seed)
    for fold, parts in enumerate(folds):
        assert parts.validation.tolist() == folds[(fold + 1) % 5].test.tolist()


@given(labels, seeds)
def test_no_row_tests_twice_and_rows_left_over_always_train(y, seed):
    folds = parts_of(y, seed)
    tested = np.concatenate([parts.test for parts in folds])
    assert len(set(tested.tolist())) == len(tested)
    left = set(range(len(y))) - set(tested.tolist())
    assert len(left) == sum(y.count(label) % 5 for label in set(y))
    assert all(left <= set(parts.train.tolist()) for parts in folds)


@pytest.mark.parametrize(("name", "reading", "expected"), N_TEST)
def test_folds_are_as_large_as_the_printed_figures_tell(name, reading, expected):
    y = np.repeat(*zip(*DATASETS[name].class_counts.items()))
    y = binarise(y) if reading == "binary" else y
    assert len(split_samples(y, 2, np.random.default_rng(0)).test) == expected


def by_hand(bag, learner):
    """Votes on the validation part by scikit-learn alone."""
    data = load(bag.dataset, None, bag.reading)
    rng = np.random.default_rng(seed_sequence(bag.seed, bag.dataset, bag.reading, "folds"))
    parts = split_samples(data.y, bag.fold, rng)
    seed = small_seed(bag.seed, bag.dataset, bag.reading, bag.learner, bag.fold, "train")
    model = BaggingClassifier(learner, n_estimators=bag.n_members, random_state=seed)
    model.fit(data.X[parts.train], data.y[parts.train])
    votes = [
        model.classes_[member.predict(data.X[parts.validation]).astype(int)]
        for member in model.estimators_
    ]
    return np.array(votes), data.y[parts.validation]


@pytest.mark.parametrize("reading", ["multiclass", "binary"])
@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("dt", DecisionTreeClassifier()),
        ("knn", KNeighborsClassifier(5)),
        ("knn-distance", KNeighborsClassifier(5, weights="distance")),
        ("svm-rbf", SVC(C=1.0, gamma=1 / 13)),  # 13 features, raw values
    ],
)
def test_votes_are_those_of_bagged_members(name, learner, reading):
    bag = Bag("wine", reading, name, 6, 1, 3)
    voted = cast_votes(bag)
    votes, y = by_hand(bag, learner)
    given_votes = voted.validation.classes[voted.validation.codes(range(6))]
    assert given_votes.tolist() == votes.tolist()
    assert voted.validation.classes[voted.validation.truth].tolist() == y.tolist()
    assert (voted.n_train, voted.n_classes) == (
        178 - 2 * len(y),
        3 if reading == "multiclass" else 2,
    )


@pytest.mark.parametrize("learner", sorted(set(LEARNER_NAMES) - {SYNTHETIC}))
def test_every_learner_votes_better_than_chance(learner):
    voted = cast_votes(Bag("iris", "multiclass", learner, 7, 0, 0))
    assert voted.test.is_right().mean() > 0.6
    assert voted.train_seconds > 0


def test_stratified_bags_have_as_many_rows_of_each_class_as_there_are(monkeypatch):
    seen = []
    original = DecisionTreeClassifier.fit

    def fit(self, X, y):
        seen.append(Counter(y.tolist()))
        return original(self, X, y)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit)
    cast_votes(Bag("wine", "multiclass", "dt-stratified", 4, 0, 0))
    data = load("wine", None, "multiclass")
    in_block = {label: n // 5 for label, n in Counter(data.y.tolist()).items()}
    expected = {label: n - 2 * in_block[label] for label, n in Counter(data.y.tolist()).items()}
    assert seen == [expected] * 4


def test_drawn_votes_of_many_classes_are_wrong_in_all_ways():
    voted = cast_votes(Bag("synthetic-2000", "multiclass", SYNTHETIC, 3, 0, 0))
    assert (voted.n_classes, voted.validation.n_classes) == (5, 5)
    codes, truth = voted.validation.codes(range(3)), voted.validation.truth
    shares = [np.mean((codes - truth.astype(int)) % 5 == step) for step in range(5)]
    assert 0.6 < shares[0] < 0.9
    assert shares[1:] == pytest.approx([np.mean(shares[1:])] * 4, rel=0.2)


def test_a_linear_svm_on_raw_values_trains_without_a_warning():
    assert cast_votes(Bag("wine", "multiclass", "svm-linear", 3, 0, 0)).test.n_members == 3


def test_what_a_bag_is_decides_its_votes():
    bag = Bag("wine", "multiclass", "dt", 4, 0, 0)
    others = [
        bag,
        Bag("wine", "multiclass", "dt", 4, 1, 0),
        Bag("wine", "multiclass", "dt", 4, 0, 1),
        Bag("wine", "multiclass", "knn", 4, 0, 0),
        Bag("wine", "binary", "dt", 4, 0, 0),
    ]
    votes = [cast_votes(other).validation.codes(range(4)).tolist() for other in others]
    again = [cast_votes(other).validation.codes(range(4)).tolist() for other in reversed(others)]
    assert votes == again[::-1]
    assert all(other != votes[0] for other in votes[1:])


def test_a_larger_ensemble_begins_with_the_smaller_one():
    small, large = (cast_votes(Bag("wine", "multiclass", "dt", n, 0, 0)) for n in (3, 8))
    assert small.test.codes(range(3)).tolist() == large.test.codes(range(3)).tolist()


def test_another_process_casts_the_same_votes():
    code = (
        "from secateurs.paper._plan import Bag\n"
        "from secateurs.paper._bagging_protocol import cast_votes\n"
        "voted = cast_votes(Bag('wine', 'multiclass', 'dt', 4, 0, 0))\n"
        "print(voted.validation.codes(range(4)).tolist())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    here = cast_votes(Bag("wine", "multiclass", "dt", 4, 0, 0)).validation.codes(range(4))
    assert found.stdout.strip() == str(here.tolist())


def test_chance_is_told_apart_by_every_part_of_a_name():
    names = [(0, "ab", "c"), (0, "a", "bc"), (1, "ab", "c"), (0, "ab", "c", ""), ("0ab", "c")]
    drawn = {tuple(seed_sequence(*name).generate_state(4)) for name in names}
    assert len(drawn) == len(names)
    assert all(0 <= small_seed(*name) < 2**31 for name in names)


def test_drawn_votes_are_of_the_size_and_skill_asked_for():
    voted = cast_votes(Bag("synthetic-3000", "binary", "synthetic", 40, 0, 0))
    assert (voted.validation.n_samples, voted.validation.n_members) == (3000, 40)
    accuracy = voted.validation.n_right / 3000
    assert accuracy.min() > 0.55
    assert accuracy.max() < 0.95
    assert np.corrcoef(accuracy, voted.test.n_right)[0, 1] > 0.8


def test_svm_bags_drawn_class_by_class_vote_as_those_of_scikit_learn():
    bag = Bag("waveform_small", "binary", "svm-rbf-stratified", 5, 0, 3)
    votes = cast_votes(bag).validation
    data = load("waveform_small", reading="binary")
    rng = np.random.default_rng(seed_sequence(3, "waveform_small", "binary", "folds"))
    parts = split_samples(data.y, 0, rng)
    X, y = data.X[parts.train], data.y[parts.train]
    draw = np.random.RandomState(
        small_seed(3, "waveform_small", "binary", "svm-rbf-stratified", 0, "train")
    )
    for member in range(5):
        samples = []
        for label in np.unique(y):
            mine = np.flatnonzero(y == label)
            samples += draw.choice(mine, size=len(mine)).tolist()
        draw.randint(2**31 - 1)
        expected = SVC(gamma="auto").fit(X[samples], y[samples]).predict(data.X[parts.validation])
        assert votes.classes[votes.codes([member])[0]].tolist() == expected.tolist()


@pytest.mark.parametrize(("reading", "first"), [("binary+01", 0.0), ("binary+pm1", -1.0)])
def test_the_label_can_be_a_feature(reading, first, monkeypatch):
    seen = []
    train = _bagging_protocol._train_ensemble

    def spy(bag, X, y):
        seen.append((X, y))
        return train(bag, X, y)

    monkeypatch.setattr(_bagging_protocol, "_train_ensemble", spy)
    coded = cast_votes(Bag("breast_cancer", reading, "dt", 3, 0, 0))
    plain = cast_votes(Bag("breast_cancer", "binary", "dt", 3, 0, 0))
    (X, y), (X_plain, y_plain) = seen
    assert X[:, :-1].tolist() == X_plain.tolist()  # the same folds
    assert y.tolist() == y_plain.tolist()
    assert X[:, -1].tolist() == [1.0 if label == "1" else first for label in y]
    assert coded.test.accuracy(range(3)) == 1 > plain.test.accuracy(range(3))
