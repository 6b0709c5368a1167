"""Numbers of classes at which the type of codes or the packing changes; reused buffers."""

import contextlib
import inspect
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from secateurs import (
    COMEP,
    PEP,
    ReducedErrorPruner,
    Votes,
    VoteStore,
    all_pruners,
    make_pruner,
    measures,
)
from secateurs.exceptions import InputError
from secateurs.measures import _ensemble_measures, information
from secateurs.measures.member_errors import member_errors
from secateurs.measures.pairwise_measures import kappa_with_truth
from secateurs.objectives import TDAS, VoteError, _tdas

pytestmark = pytest.mark.filterwarnings("ignore:.*(chance would|no distributions)")

EDGES = (1, 2, 15, 16, 17, 127, 128, 129, 254, 255, 256, 257)
WIDEST = (65_535, 65_536)


def table(n_classes, missing, n_samples=None, n_members=4):
    """Votes in which every class occurs, right in half of all cases, with a mask."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(n_samples or 2 * n_classes + 3) % n_classes
    votes = rng.integers(0, n_classes, (len(y), n_members))
    votes = np.where(rng.random(votes.shape) < 0.5, y[:, None], votes)
    mask = rng.random(votes.shape) < 0.3 if missing else np.zeros(votes.shape, dtype=bool)
    mask[:n_classes, 0] = False
    return np.ma.array(votes, mask=mask) if missing else votes, mask, y


def counted(first, second, present, n_classes):
    """Count pairs of labels, one sample after another."""
    counts = np.zeros((n_classes, n_classes), dtype=int)
    for a, b, there in zip(first, second, present, strict=True):
        counts[a, b] += there
    return counts.tolist()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", EDGES)
def test_counts_are_right_at_every_edge(n_classes, missing):
    votes, mask, y = table(n_classes, missing)
    held, labels = Votes.encode(votes, y), np.ma.getdata(votes)
    assert held.n_classes == n_classes
    for member in range(labels.shape[1]):
        known = counted(labels[:, member], y, ~mask[:, member], n_classes)
        assert held.truth_counts[member].tolist() == known
    both = ~mask[:, 0] & ~mask[:, 1]
    known = counted(labels[:, 0], labels[:, 1], both, n_classes)
    assert held.joint_counts([0], [1])[0, 0].tolist() == known
    assert held.n_voted.tolist() == (~mask).sum(axis=0).tolist()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", EDGES)
def test_every_constructor_gives_the_same_votes(tmp_path, n_classes, missing):
    votes, mask, y = table(n_classes, missing)
    held = Votes.encode(votes, y)
    expected = np.where(mask, n_classes, np.ma.getdata(votes)).T.tolist()
    coded = Votes.from_codes(np.ma.getdata(votes).T, held.classes, y, mask.T if missing else None)
    stored = VoteStore.from_table(tmp_path / "votes", votes, y)
    halves = Votes.encode(votes[: len(y) // 2], y[: len(y) // 2])
    halves = halves.append(votes[len(y) // 2 :], y[len(y) // 2 :])
    for way in (held, coded, stored.load(), halves):
        assert way.codes(range(way.n_members)).tolist() == expected
        assert way.truth.tolist() == y.tolist()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [254, 255, 256, 257])
def test_selections_do_not_depend_on_the_names_of_labels(n_classes, missing):
    votes, mask, y = table(n_classes, missing, n_members=6)
    spread = Votes.encode(np.ma.array(np.ma.getdata(votes) * 1000, mask=mask), y * 1000)
    for pruner in (COMEP(keep=3), ReducedErrorPruner(keep=3)):
        plain = pruner.fit(votes, y).member_indices_.tolist()
        assert pruner.fit(spread).member_indices_.tolist() == plain


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", WIDEST)
def test_codes_of_two_bytes_hold_as_many_classes_as_they_can(n_classes, missing):
    votes, mask, y = table(n_classes, missing, n_samples=700, n_members=100)
    flat = np.ma.getdata(votes).reshape(-1)
    flat[:n_classes] = np.arange(n_classes)  # every class, in some place
    mask[:] &= np.arange(mask.size).reshape(mask.shape) >= n_classes
    votes = np.ma.array(flat.reshape(votes.shape), mask=mask) if missing else votes
    if missing and n_classes == 65_536:
        with pytest.raises(ValueError, match="65536 distinct labels and missing votes"):
            Votes.encode(votes, y)
        return
    held = Votes.encode(votes, y)
    expected = np.where(mask, n_classes, np.ma.getdata(votes)).T
    assert np.array_equal(held.codes(range(100)), expected)
    right = (np.ma.getdata(votes)[:, 3] == y) & ~mask[:, 3]
    assert held.is_right([3])[~mask[:, 3]].tolist() == right[~mask[:, 3]].tolist()


def test_more_classes_than_two_bytes_hold_are_refused():
    with pytest.raises(ValueError, match="65537 distinct labels; at most 65536 are allowed"):
        Votes.encode(np.arange(65_537)[:, None])


def test_codes_that_are_not_class_indices_are_rejected():
    classes = np.arange(20)
    for wrong in (-1, 20, 300):
        codes = np.full((2, 5), 3)
        codes[1, 2] = wrong
        with pytest.raises(ValueError, match=f"codes contain {wrong}, which is not an index"):
            Votes.from_codes(codes, classes)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8, np.int16, np.int64, np.float64, "U1"])
def test_a_buffer_may_be_reused_by_the_caller(kind):
    rng = np.random.default_rng(0)
    batches = [(rng.integers(0, 2, (70, 5)).astype(kind), rng.integers(0, 2, 70)) for _ in range(4)]
    batches = [(votes, y.astype(kind)) for votes, y in batches]
    votes_buffer, y_buffer = np.empty_like(batches[0][0]), np.empty_like(batches[0][1])
    pruner, votes = COMEP(keep=3), None
    for batch, y in batches:
        votes_buffer[...], y_buffer[...] = batch, y
        pruner.partial_fit(votes_buffer, y_buffer)
        more = Votes.encode(votes_buffer).with_labels(y_buffer)
        votes = more if votes is None else votes.append(votes_buffer, y_buffer)
    everything = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
    whole = COMEP(keep=3).fit(*everything)
    assert pruner.member_indices_.tolist() == whole.member_indices_.tolist()
    assert pruner.scores_.tolist() == whole.scores_.tolist()
    assert votes.truth.tolist() == Votes.encode(*everything).truth.tolist()
    assert y_buffer.flags.writeable  # ours are frozen, the caller's are not
    assert votes_buffer.flags.writeable


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64])
def test_stores_and_votes_keep_copies(tmp_path, kind):
    rng = np.random.default_rng(1)
    votes, y = rng.integers(0, 2, (65, 4)).astype(kind), rng.integers(0, 2, 65).astype(kind)
    known = y.astype(int).tolist()
    held = Votes.encode(votes, y)
    store = VoteStore.from_table(tmp_path / "votes", votes)
    labelled = store.with_labels(y)
    codes = held.codes(range(4)).tolist()
    votes[...], y[...] = 0, 1
    assert held.truth.tolist() == known
    assert labelled.truth.tolist() == known
    assert held.codes(range(4)).tolist() == codes == labelled.load().codes(range(4)).tolist()


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64])
def test_read_only_arrays_and_memory_maps_are_accepted(tmp_path, kind):
    rng = np.random.default_rng(2)
    votes, y = rng.integers(0, 2, (65, 4)).astype(kind), rng.integers(0, 2, 65).astype(kind)
    np.save(tmp_path / "votes.npy", votes)
    np.save(tmp_path / "y.npy", y)
    maps = [np.load(tmp_path / name, mmap_mode="r") for name in ("votes.npy", "y.npy")]
    frozen = [votes.copy(), y.copy()]
    for array in frozen:
        array.flags.writeable = False
    expected = COMEP(keep=2).fit(votes, y).member_indices_.tolist()
    for given in (maps, frozen):
        assert COMEP(keep=2).fit(*given).member_indices_.tolist() == expected
        assert COMEP(keep=2).partial_fit(*given).member_indices_.tolist() == expected


def test_a_masked_y_is_refused():
    with pytest.raises(ValueError, match="y has masked entries"):
        Votes.encode([[0], [1]], np.ma.array([0, 1], mask=[True, False]))


@pytest.mark.parametrize("other", [np.uint64, np.float64])
def test_labels_beyond_the_exact_floats_are_never_merged(other):
    votes = np.array([[2**53 + 1], [2**53]], dtype=np.int64)
    y = np.array([2**53, 2**53 + 2], dtype=np.int64).astype(other)
    with pytest.raises(ValueError, match=r"Labels beyond 2\*\*53"):
        Votes.encode(votes, y)


def test_a_sample_without_votes_gets_the_first_class():
    votes, y = np.array([["b", "c"], ["c", "c"], ["b", "b"], ["d", "d"]]), ["b", "c", "b", "d"]
    pruner = ReducedErrorPruner(keep=1).fit(votes, y)
    asked = np.ma.array([["x", "d"], ["c", "x"]], mask=[[True, False], [False, True]])
    both = pruner.predict(asked).tolist()
    assert both == [pruner.predict(asked[:1])[0], pruner.predict(asked[1:])[0]] == ["b", "c"]


def test_a_score_needs_as_many_labels_as_samples():
    pruner = ReducedErrorPruner(keep=1).fit([[0, 1], [1, 1]], [0, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        pruner.score([[0, 1], [1, 1]], [0])


def test_bytes_are_rejected_with_advice():
    with pytest.raises(ValueError, match=r"y holds bytes, such as b'a'\. Decode"):
        Votes.encode([["a"], ["b"]], np.array([b"a", b"b"], dtype=object))
    with pytest.raises(ValueError, match=r"votes holds bytes that are not ASCII\. Decode"):
        Votes.encode(np.array([["é".encode()], [b"a"]]), ["a", "b"])


@pytest.mark.parametrize("missing", [False, True])
def test_pareto_pruning_accepts_many_classes_and_members(missing):
    votes, _, y = table(41, missing, n_members=41)
    front = PEP(n_iterations=20, random_state=0).fit(votes, y).pareto_front_
    assert all(0 <= rate <= 1 for rate, _ in front)


def test_masked_columns_are_measured_on_common_samples():
    first = np.ma.array([0, 1, 0, 1, 0], mask=[0, 0, 1, 0, 0])
    second = np.ma.array([0, 1, 1, 0, 1], mask=[0, 0, 0, 1, 1])
    for measure in (measures.kappa, measures.disagreement, measures.nvi):
        table_of_both = np.ma.stack([first, second], axis=1)
        assert measure(first, second) == measure.matrix(table_of_both)[0, 1]
        assert measure(first, second) == measure([0, 1], [0, 1])


def test_sums_of_squares_beyond_64_bits_are_exact(monkeypatch):
    """The counts of 4e9 votes are given directly, because the votes would not fit into memory."""
    counts = {"sizes": np.array([[3_500_000_000, 500_000_000]]), "n_samples": 2_000_000_000}
    made_up = SimpleNamespace(**counts, n_members=2, tally=lambda: np.array([[1, 1]]))
    monkeypatch.setattr(_ensemble_measures, "as_complete_votes", lambda votes: made_up)
    by_chance = (3.5**2 + 0.5**2) / 4**2
    agreed = (2 / 2_000_000_000 - 2) / 2
    assert measures.fleiss_kappa(None) == pytest.approx((agreed - by_chance) / (1 - by_chance))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [3, 40, 300])
def test_pairs_without_tables_have_the_same_distances(monkeypatch, n_classes, missing):
    votes, _, y = table(n_classes, missing, n_samples=500, n_members=7)
    voted = Votes.encode(votes, y)
    expected = TDAS(voted, 0.3)
    matrix, rows = expected.matrix(), expected.matrix_rows([2, 5])
    for module in (_tdas, information):
        monkeypatch.setattr(module, "MOST_TABLE_CLASSES", 1)
    found = TDAS(Votes.encode(votes, y), 0.3)
    if missing:
        np.testing.assert_allclose(found.matrix(), matrix, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.matrix_rows([2, 5]), rows, rtol=0, atol=1e-12)
    else:  # sums in the same order
        monkeypatch.setattr(found, "profile", expected.profile)
        assert (found.matrix() == matrix).all()
        assert (found.matrix_rows([2, 5]) == rows).all()
    np.testing.assert_allclose(found.relevance, expected.relevance, rtol=0, atol=1e-12)


def test_relevance_in_blocks_of_members_is_equal_to_the_bit(monkeypatch):
    for n_members in (2, 3, 4, 5, 9):
        voted = Votes.encode(*table(20, False, 300, n_members)[::2])
        expected = measures.nmi.of_counts(labels=voted.truth_counts)
        for n_cells in (1, 2 * 400, 4 * 400):
            monkeypatch.setattr(information, "_MOST_TRUTH_CELLS", n_cells)
            assert (information.relevance_to_truth(voted) == expected).all()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [3, 40])
def test_kappa_with_the_truth_is_that_of_the_tables(n_classes, missing):
    voted = Votes.encode(*table(n_classes, missing)[::2])
    tables = voted.truth_counts
    expected = measures.kappa.of_counts(
        n_common=tables.sum(axis=(1, 2)),
        n_agreed=np.trace(tables, axis1=1, axis2=2),
        by_chance=(tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1),
    )
    assert (kappa_with_truth(voted) == expected).all()


@pytest.mark.parametrize("missing", ["no", "ignore", "wrong"])
@pytest.mark.parametrize("n_classes", [3, 40, 300])
def test_agreement_is_that_of_the_tables(n_classes, missing):
    votes, _, y = table(n_classes, missing != "no", n_members=5)
    voted = Votes.encode(votes, y, missing="wrong" if missing == "wrong" else "ignore")
    tables = voted.joint_counts([4, 1], slice(1, 4))
    found = voted.agreement_counts(voted.take([4, 1]), slice(1, 4), by_chance=True)
    assert found["n_common"].tolist() == tables.sum(axis=(2, 3)).tolist()
    assert found["n_agreed"].tolist() == np.trace(tables, axis1=2, axis2=3).tolist()
    by_chance = (tables.sum(axis=2) * tables.sum(axis=3)).sum(axis=2)
    assert found["by_chance"].tolist() == by_chance.tolist()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", all_pruners())
def test_memory_does_not_grow_with_the_square_of_the_classes(name, missing):
    """Tables of 30 members × 3,000² classes would take 2.2 GB."""
    if missing and not all_pruners()[name].takes_missing:
        pytest.skip("does not accept missing votes")
    votes, _, y = table(3000, missing, n_members=30)
    quickest = {"start": "relevance", "n_iterations": 2, "random_state": 0}
    known = inspect.signature(all_pruners()[name]).parameters
    options = {key: value for key, value in quickest.items() if key in known}
    pruner = make_pruner(name, keep=3, **options)
    pruner.fit(votes[:, :3], y)  # compiles
    tracemalloc.start()
    try:
        pruner.fit(votes, y)
        most = 600_000_000 if name == "caruana" else 400_000_000
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", all_pruners())
def test_as_many_samples_as_classes_need_little_memory_or_are_rejected(name):
    """Votes by sample and class would take 17 GB."""
    y = np.arange(65_534)
    votes = Votes.encode(np.stack([y, y[::-1]], axis=1), y)
    options = {"n_groups": 1} if name == "domep" else {}
    tracemalloc.start()
    try:
        with contextlib.suppress(InputError):
            make_pruner(name, keep=1, **options).fit(votes)
        assert tracemalloc.get_traced_memory()[1] < 400_000_000
    finally:
        tracemalloc.stop()


def test_a_table_of_votes_that_is_too_large_is_rejected_with_its_size():
    y = np.arange(65_534)
    with pytest.raises(InputError, match=r"need 17\.2 GB here \(65,534 samples, 65,534 classes\)"):
        make_pruner("re", keep=1).fit(np.stack([y, y], axis=1), y)


def test_error_rates_of_thousands_of_tied_classes_are_right():
    """The units of errors are integers of more than 64 bits, also for a vote without errors."""
    votes, _, y = table(3000, True, n_members=3)
    objective = VoteError(Votes.encode(votes, y), ties="shared")
    expected = [0.0, 0.5, 1.0]
    values = [0, -objective.units_per_error * len(y) // 2, -objective.units_per_error * len(y)]
    assert [float(objective.error_rates(value)) for value in values] == expected
    assert objective.error_rates(values).tolist() == expected


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [5, 40])
def test_error_products_of_many_classes_are_right(n_classes, missing):
    votes, mask, y = table(n_classes, missing, n_members=3)
    onehot = np.eye(n_classes)
    errors = onehot[np.ma.getdata(votes)] - onehot[y][:, None]
    errors[mask] = 0
    products = np.einsum("nic,njc->ij", errors, errors)
    common = (~mask).astype(int).T @ (~mask).astype(int)
    found = member_errors(Votes.encode(votes, y))
    sums, counts = found.pair_products(found.member_predictions([2, 0]), slice(1, 3))
    assert (sums == products[[2, 0], 1:]).all()
    assert (counts == common[[2, 0], 1:]).all()


def test_tables_that_would_not_fit_are_refused_with_their_size():
    votes, _, y = table(65_534, False, n_samples=65_534, n_members=2)
    voted = Votes.encode(votes, y)
    for count in (lambda: voted.truth_counts, lambda: measures.nvi.matrix(voted)):
        with pytest.raises(
            InputError, match=r"pairs of 65,534 classes need \d+(\.\d)? GB"
        ) as caught:
            count()
        assert "\n" not in str(caught.value)
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="cannot be distributed"):
        COMEP(keep=1).fit(voted, executor=pool)
    assert COMEP(keep=1).fit(voted).upper_bound_ == 0.0
