"""The kernels, one by one; `make uncompiled` runs these as plain Python."""

import math

import numpy as np
import pytest

import naive
from secateurs.outputs import (
    bit_kernels,
    cluster_kernels,
    code_kernels,
    prediction_kernels,
    selection_kernels,
    vote_kernels,
)
from secateurs.outputs.vote_packing import BitPlanes, pack_bits
from secateurs.pruners import _pareto_comep, _pareto_kernels

rng = np.random.default_rng(7)


def packed(codes, n_classes):
    """Pack codes (samples × members) by NumPy alone."""
    return pack_bits(codes.T[:, None, :] == np.arange(n_classes - 1)[:, None])


@pytest.fixture(params=[(1, 2), (63, 2), (64, 3), (65, 3), (130, 5)], ids=str)
def coded(request):
    n_samples, n_classes = request.param
    codes = rng.integers(n_classes, size=(n_samples, 4)).astype(np.uint8)
    y = rng.integers(n_classes, size=n_samples).astype(np.uint8)
    return codes, y, n_classes


def test_popcount_counts_bits():
    words = np.array([0, 1, 2**63, 2**64 - 1, 0b1011], dtype=np.uint64)
    assert [bit_kernels.popcount(word) for word in words] == [0, 1, 1, 64, 3]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
def test_values_are_marked_and_looked_up(dtype):
    values = np.array([[3, 5], [9, 3]], dtype=dtype)
    seen = np.zeros(7, dtype=bool)
    bit_kernels.mark_present(values, 3, seen)
    assert np.flatnonzero(seen).tolist() == [0, 2, 6]
    codes = np.empty((2, 2), dtype=np.uint8)
    bit_kernels.look_up_codes(values, 3, np.arange(10, 17, dtype=np.uint8), codes)
    assert codes.tolist() == [[10, 12], [16, 10]]


def test_rows_are_packed(coded):
    codes, _, n_classes = coded
    planes = np.zeros((4, n_classes - 1, -(-len(codes) // 64)), dtype=np.uint64)
    bit_kernels.pack_rows(codes[:64], planes, 0)
    bit_kernels.pack_rows(codes[64:], planes, 1)
    assert (planes == packed(codes, n_classes)).all()


def test_the_vote_is_correct_where_the_true_class_has_the_most_votes(coded):
    codes, y, n_classes = coded
    counts = (codes[:, :, None] == np.arange(n_classes)).sum(axis=1)
    truth = packed(y[:, None], n_classes + 1)[0]  # a plane for each class
    right = np.empty(truth.shape[1], dtype=np.uint64)
    work = np.zeros((2 * 3 + 1, truth.shape[1]), dtype=np.uint64)  # 4 members have 3 digits
    vote_kernels.mark_correct_votes(packed(codes, n_classes), truth, work, right)
    bits = np.unpackbits(right.view(np.uint8), count=len(y), bitorder="little").astype(bool)
    assert (bits == (counts.argmax(axis=1) == y)).all()


@pytest.mark.parametrize("cut", [0, 1, 63, 64, 65, 129])
def test_bits_are_appended_at_any_offset(cut):
    codes = rng.integers(3, size=(130, 4))
    joined = np.zeros((4, 2, 3), dtype=np.uint64)
    bit_kernels.append_bits(packed(codes[:cut], 3), 0, joined)
    bit_kernels.append_bits(packed(codes[cut:], 3), cut, joined)
    assert (joined == packed(codes, 3)).all()


def test_joint_counts_agree_with_a_loop(coded):
    codes, _, n_classes = coded
    expected = np.zeros((2, 4, n_classes, n_classes), dtype=np.int64)
    for i, j in np.ndindex(2, 4):
        for a, b in zip(codes[:, i], codes[:, j]):
            expected[i, j, a, b] += 1
    planes = packed(codes, n_classes)
    tables = np.zeros_like(expected)
    bit_kernels.count_joint_planes(planes[:2], planes, tables)
    assert (tables[..., :-1, :-1] == expected[..., :-1, :-1]).all()
    assert (tables[..., -1] == 0).all()
    assert (tables[..., -1, :] == 0).all()  # without planes, they follow from the others
    tables[:] = 0
    members = np.ascontiguousarray(codes.T)
    bit_kernels.count_joint_codes(members[:2], members, tables)
    assert (tables == expected).all()


def test_long_planes_are_counted_tile_by_tile():
    codes = rng.integers(2, size=(64 * (bit_kernels._TILE_WORDS + 3), 2))
    planes = packed(codes, 2)
    tables = np.zeros((1, 1, 2, 2), dtype=np.int64)
    bit_kernels.count_joint_planes(planes[:1], planes[1:], tables)
    assert tables[0, 0, 0, 0] == np.count_nonzero((codes == 0).all(axis=1))


@pytest.mark.parametrize("n_planes", [4, 6, 9])
@pytest.mark.parametrize("n_words", [1, 2 * bit_kernels._FOUR_TILE_WORDS + 3])
def test_planes_are_counted_four_by_four(n_planes, n_words):
    bits = rng.integers(2, size=(n_planes, n_words, 64)).astype(bool)
    planes = pack_bits(bits.reshape(n_planes, -1))[:, :n_words]
    counts = np.full((n_planes, 2), -1)
    bit_kernels.count_four_by_four(planes, planes[:2], counts)
    expected = [[np.count_nonzero(one & other) for other in bits[:2]] for one in bits]
    assert counts.tolist() == expected


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 9])
def test_rows_are_copied_to_their_targets(n_rows):
    table = rng.integers(2**63, size=(12, 5)).astype(np.uint64)
    rows, places = rng.permutation(12)[:n_rows], rng.permutation(10)[:n_rows]
    other = np.zeros((10, 5), dtype=np.uint64)
    expected = other.copy()
    expected[places] = table[rows]
    bit_kernels.copy_rows(table, rows, other, places)
    assert (other == expected).all()


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_distances_follow_from_tables_of_label_pairs(weight):
    votes, y = rng.integers(3, size=(30, 4)).tolist(), rng.integers(3, size=30).tolist()
    columns = [[*map(list, zip(*votes))][t] for t in (0, 1, 2, 3, 0)]  # the last equals the first
    tables = np.zeros((5, 5, 3, 3), dtype=np.int64)
    for i, j in np.ndindex(5, 5):
        for pair in zip(columns[i], columns[j]):
            tables[i, j, pair[0], pair[1]] += 1
    counts = np.arange(31)
    logs = counts * np.log2(np.maximum(counts, 1))
    sides = np.array([[naive.entropy(c) for c in columns], [naive.nmi(c, y) for c in columns]])
    distances = np.empty((5, 5))
    bit_kernels.distances_of_cells(tables, logs, np.log2(30), sides, sides, weight, distances)
    planes = packed(np.array(columns).T, 3)
    sizes = np.array([[column.count(label) for label in range(3)] for column in columns])
    table, row = np.empty((3, 3), dtype=np.int64), np.empty(5)
    for i in range(5):
        bit_kernels.distances_from_member(
            i, planes, sizes, logs, np.log2(30), sides, weight, table, row
        )
        assert row.tolist() == distances[i].tolist()
    for i, j in np.ndindex(5, 5):
        diversity, relevance = naive.nvi(columns[i], columns[j]), sides[1, [i, j]].mean()
        expected = weight * diversity + (1 - weight) * relevance
        assert distances[i, j] == pytest.approx(0 if columns[i] == columns[j] else expected)


def test_outcomes_are_counted_alike_from_planes_and_codes(coded):
    codes, _, n_classes = coded
    outcomes = rng.integers(4, size=(n_classes, len(codes))).astype(np.uint8)
    expected = np.zeros((4, 4), dtype=np.int64)
    for member, sample in np.ndindex(4, len(codes)):
        expected[member, outcomes[codes[sample, member], sample]] += 1
    planes = BitPlanes(packed(codes, n_classes), len(codes))
    assert (planes.outcome_counts(outcomes, 4) == expected).all()
    counts = np.zeros((4, 4), dtype=np.int64)
    vote_kernels.code_outcomes(np.ascontiguousarray(codes.T), outcomes, counts)
    assert (counts == expected).all()


def test_weights_of_votes_are_added_up_alike_from_planes_and_codes(coded):
    codes, _, n_classes = coded
    weights = rng.integers(8, size=(n_classes, len(codes)))
    weights[-1] = 0  # which has no plane
    expected = [5 + weights[codes[:, member], np.arange(len(codes))].sum() for member in range(4)]
    digits = pack_bits((weights[:-1, None] >> np.arange(3)[:, None] & 1).astype(bool))
    totals = np.full(4, 5)
    vote_kernels.plane_weights(packed(codes, n_classes), digits, totals)
    assert totals.tolist() == expected
    totals[:] = 5
    vote_kernels.code_weights(np.ascontiguousarray(codes.T), weights, totals)
    assert totals.tolist() == expected


def test_votes_are_compared_with_the_truth(coded):
    codes, y, n_classes = coded
    agreed = (
        BitPlanes(packed(codes, n_classes), len(codes)).compare_with_truth(y, missing=False).cells
    )
    assert (agreed[:, 0] == pack_bits((codes == y[:, None]).T)).all()


def tally_of(codes, n_classes):
    return np.stack([(codes == label).sum(axis=1) for label in range(n_classes)], axis=1)


def ties_of(tally, truth):
    tied = np.flatnonzero(tally == tally.max())
    return len(tied) if truth in tied else 0


def test_votes_are_tallied_and_won_or_tied(coded):
    codes, y, n_classes = coded
    tally = np.zeros((len(codes), n_classes), dtype=np.int32)
    members = np.ascontiguousarray(codes.T)
    vote_kernels.tally_votes(members, 1, tally)
    assert (tally == tally_of(codes, n_classes)).all()
    winner = np.empty(len(codes), dtype=np.intp)
    vote_kernels.find_winners(tally, winner)
    assert (winner == tally.argmax(axis=1)).all()
    ties = np.empty(len(codes), dtype=np.intp)
    vote_kernels.ties_per_sample(tally, y, ties)
    assert ties.tolist() == [ties_of(row, truth) for row, truth in zip(tally, y)]
    counts = np.zeros(n_classes + 1, dtype=np.int64)
    vote_kernels.tie_histogram(tally, y, counts)
    assert (counts == np.bincount(ties, minlength=n_classes + 1)).all()
    vote_kernels.tally_votes(members, -1, tally)
    assert not tally.any()


def test_outcomes_of_one_vote_more_or_less_agree_with_a_recount(coded):
    codes, y, n_classes = coded
    tally = tally_of(codes, n_classes).astype(np.int32)
    shape = (n_classes, len(codes))
    lowest = np.empty(shape, dtype=np.uint8)
    added, removed = np.empty(shape, dtype=np.uint8), np.empty(shape, dtype=np.uint8)
    vote_kernels.outcomes_lowest(tally, y, lowest)
    vote_kernels.outcomes_shared(tally, y, added, removed)
    for label, sample in np.ndindex(shape):
        step = np.eye(n_classes, dtype=np.int32)[label]
        truth = y[sample]
        assert lowest[label, sample] == ((tally[sample] + step).argmax() == truth)
        assert added[label, sample] == ties_of(tally[sample] + step, truth)
        if tally[sample, label]:
            assert removed[label, sample] == ties_of(tally[sample] - step, truth)


def test_rounds_that_lower_the_score_are_undone(coded):
    codes, y, n_classes = coded
    members, weights = np.ascontiguousarray(codes.T), np.array([0] + [60] * n_classes)
    flips = rng.random((40, 4)) < 0.4
    repeats = rng.integers(1, 4, size=len(y))

    def worth(mask):
        if not 0 < mask.sum() <= 3:
            return -1
        tallies = tally_of(codes[:, mask], n_classes)
        ties = [ties_of(row, truth) for row, truth in zip(tallies, y)]
        return (repeats * weights[ties]).sum()

    start = np.array([True, False, False, False])
    expected = start.copy()
    for flip in flips:
        if worth(expected ^ flip) >= worth(expected):
            expected ^= flip
    chosen, tally = start.copy(), tally_of(codes[:, :1], n_classes).astype(np.int32)
    vote_kernels.flip_rounds(flips, members, y, repeats, weights, 3, chosen, tally)
    assert chosen.tolist() == expected.tolist()
    assert (tally == tally_of(codes[:, expected], n_classes)).all()


@pytest.mark.parametrize("n_rows", [1, 16, 33])
def test_walk_tree_finds_the_leaves_of_samples(n_rows):
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    features = np.array([0, 0, 2, 0, 0], dtype=np.uint32)  # 0 → 1 | 2; 2 → 3 | 4
    thresholds = np.array([0.1, 0, -0.2, 0, 0], dtype=np.float32)
    children = np.array([1, 2, 1, 1, 3, 4, 3, 3, 4, 4], dtype=np.uint32)
    leaves = np.empty(n_rows, dtype=np.uint32)
    vote_kernels.walk_tree(X.ravel(), 3, features, thresholds, children, leaves)
    left, below = X[:, 0] <= thresholds[0], X[:, 2] <= thresholds[2]
    assert leaves.tolist() == np.where(left, 1, np.where(below, 3, 4)).tolist()


@pytest.mark.parametrize(("kind", "largest"), [(np.int16, 2**14), (np.int32, 2**29)])
@pytest.mark.parametrize("n_samples", [1, 7, 33, 130])
def test_products_of_errors_are_added_up(kind, largest, n_samples):
    missing, shift = np.iinfo(kind).min, 0 if kind == np.int16 else 3
    cells = rng.choice([0, largest, 5, largest - 1], size=(7, 2, n_samples)).astype(kind)
    truth = rng.choice([0, largest >> shift], size=(2, n_samples)).astype(kind)
    gaps = rng.random((7, n_samples)) < 0.3
    cells[gaps[:, None].repeat(2, axis=1)] = missing
    off = np.where(gaps[:, None], 0, (cells >> shift).astype(object) - truth)
    products = np.array([[(a * b).sum() for b in off] for a in off])
    held = (cells, truth, shift, missing)
    for member in range(7):
        sums = np.zeros(7, dtype=np.int64)
        prediction_kernels.error_dots(off[member].astype(kind), *held, sums)
        assert sums.tolist() == products[member].tolist()
    sums = np.zeros(7, dtype=np.int64)
    prediction_kernels.error_squares(*held, sums)
    assert sums.tolist() == np.diag(products).tolist()
    assert prediction_kernels.largest_error(cells, truth, shift, missing) == np.abs(off).max()


def added(cells, missing, sums, counts):
    """The sums and counts of a set with a member: (components, samples) and (samples,)."""
    present = cells[0] != missing
    return sums + np.where(present, cells, 0), counts + present


@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 1024, 1100])
def test_logarithms_of_means_are_added_up(n_samples):
    one, least = 1 << 14, 2.0**-52
    cells = rng.choice([0, 0, 1, 300, one], size=(3, n_samples)).astype(np.int16)
    sums = rng.choice([0, 7, 2 * one, 3 * one], size=n_samples)
    shares = np.clip((sums + cells) / (4 * one), least, 1 - least)
    expected = [math.fsum(map(math.log, row)) for row in shares]
    totals, seen = np.empty((2, 3))
    selection_kernels.unweighted_mean_logs(cells, 1 / (4 * one), sums.astype(float), totals)
    # Shares of 1 are not clipped, which is 2**-52 off for each sample.
    np.testing.assert_allclose(totals, expected, rtol=1e-13, atol=n_samples * 2.0**-52)
    weights, counts = rng.integers(1, 4, n_samples).astype(float), np.full(n_samples, 3)
    counts[0] = sums[0] = 0
    cells[:, 0] = cells[1, -1:] = -(2**15)
    selection_kernels.mean_logs(cells, -(2**15), one, sums, counts, weights, totals, seen)
    for member in range(3):
        total, present = added(cells[member, None], -(2**15), sums, counts)
        rows = np.flatnonzero(present)
        logs = np.log(np.clip(total[0, rows] / (present[rows] * one), least, 1 - least))
        assert totals[member] == pytest.approx(math.fsum(weights[rows] * logs), rel=1e-12)
        assert seen[member] == weights[rows].sum()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_hits_and_losses_of_means_are_added_up(n_classes):
    one, missing, n_samples = 1 << 14, -(2**15), 40
    n_components = 1 if n_classes == 2 else n_classes
    shape = (4, n_components, n_samples)
    cells = rng.choice([0, one // 4, one // 2, one], size=shape).astype(np.int16)
    cells[np.repeat(rng.random((4, 1, n_samples)) < 0.3, n_components, axis=1)] = missing
    sums, counts = added(cells[0], missing, np.zeros(shape[1:], dtype=np.int64), 0)
    truth, weights = rng.integers(n_classes, size=n_samples), rng.random(n_samples)
    targets = rng.random(shape[1:])
    hits, seen = np.zeros((2, 4, n_classes))
    state = cells, missing, one, n_classes == 2, sums, counts
    selection_kernels.mean_hits(*state, truth, weights, hits, seen)
    losses, shares = np.empty((2, 4))
    state = cells, missing, 1 / one, sums, counts, targets, weights
    for squared in (True, False):
        selection_kernels.mean_losses(*state, squared, losses, shares)
        for member in range(4):
            total, present = added(cells[member], missing, sums, counts)
            rows = np.flatnonzero(present)
            mean = total[:, rows] / (present[rows] * one)
            both = np.stack([1 - mean[0], mean[0]]) if n_classes == 2 else mean
            right = both.argmax(axis=0) == truth[rows]
            for label in range(n_classes):
                of_label = weights[rows] * (truth[rows] == label)
                assert seen[member, label] == pytest.approx(of_label.sum())
                assert hits[member, label] == pytest.approx((of_label * right).sum())
            off = np.abs(mean - targets[:, rows]) ** (2 if squared else 1)
            assert losses[member] == pytest.approx((weights[rows] * off).sum())
            assert shares[member] == pytest.approx(weights[rows].sum())


@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_hits_of_means_without_weights_are_counted(n_classes, n_samples):
    one, n_components = 1 << 14, 1 if n_classes == 2 else n_classes
    shape = (4, n_components, n_samples)
    cells = rng.choice([0, one // 4, one // 2, one], size=shape).astype(np.int16)  # many ties
    sums = cells[:2].sum(axis=0, dtype=np.int32)
    truth = rng.integers(n_classes, size=n_samples)
    hits = np.zeros((4, n_classes))
    state = cells, np.int32(3 * one), n_classes == 2, sums
    selection_kernels.unweighted_mean_hits(*state, truth, hits)
    for member in range(4):
        total = sums.astype(int) + cells[member]
        both = np.stack([3 * one - total[0], total[0]]) if n_classes == 2 else total
        right = truth[both.argmax(axis=0) == truth]
        assert hits[member].tolist() == np.bincount(right, minlength=n_classes).tolist()


def test_hits_of_votes_are_added_up():
    codes = rng.integers(4, size=(5, 50)).astype(np.uint8)  # 3 stands for none
    tally = (codes[:2, :, None] == np.arange(3)).sum(axis=0).astype(np.int32)
    winner = np.where(tally.any(axis=1), tally.argmax(axis=1), -1)
    truth, weights = rng.integers(3, size=50), np.ones(50)
    hits, seen = np.zeros((2, 5, 3))
    selection_kernels.vote_hits(codes, tally, winner, truth, weights, hits, seen)
    for member in range(5):
        votes = tally + (codes[member][:, None] == np.arange(3))
        answered = votes.any(axis=1)
        right = answered & (votes.argmax(axis=1) == truth)
        for label in range(3):
            assert seen[member, label] == (answered & (truth == label)).sum()
            assert hits[member, label] == (right & (truth == label)).sum()


@pytest.mark.parametrize(
    ("n_samples", "n_rows"), [(1, 1), (31, 3), (32, 1), (33, 3), (64, 1), (200, 3), (2100, 70)]
)
@pytest.mark.parametrize("n_members", [4, 8])
def test_products_of_16_bits_are_added_up(n_samples, n_members, n_rows):
    most = 2**14
    for values in ([most], [-most], [-most, most, 0, 1, -1, 12345]):  # the largest sums there are
        errors = rng.choice(values, size=(n_rows, 2, n_samples)).astype(np.int16)
        table = rng.choice(values, size=(9, 2, n_samples)).astype(np.int16)
        members = rng.integers(9, size=n_members)
        starts = np.sort(rng.integers(n_rows, size=n_members))
        sums = np.tile(np.arange(n_members), (n_rows, 1))
        prediction_kernels.add_dot_products(errors, table, members, starts, sums)
        chosen = table[members].reshape(n_members, -1).astype(np.int64)
        expected = errors.reshape(n_rows, -1).astype(np.int64) @ chosen.T
        is_needed = np.arange(n_rows)[:, None] >= starts
        assert (sums - np.arange(n_members))[is_needed].tolist() == expected[is_needed].tolist()


def test_agreement_is_counted_on_samples_that_both_predict():
    rng = np.random.default_rng(0)
    codes, others = rng.integers(0, 6, (3, 40)), rng.integers(0, 6, (2, 40))  # 5 is missing
    agreed, common = np.empty((2, 3, 2), dtype=np.int64)
    code_kernels.count_agreed(codes, others, 5, agreed, common)
    for i in range(3):
        for j in range(2):
            both = [(a, b) for a, b in zip(codes[i], others[j]) if a < 5 and b < 5]
            assert common[i, j] == len(both)
            assert agreed[i, j] == sum(a == b for a, b in both)


@pytest.mark.parametrize("n_classes", [2, 30])
def test_sums_over_cells_are_those_of_the_table(n_classes):
    rng = np.random.default_rng(0)
    codes, others = rng.integers(0, n_classes + 1, (2, 2, 90))
    values = rng.random(91)
    values[0] = 0.0
    sums = np.empty((2, 2, 3))
    agreed, common = np.empty((2, 2, 2), dtype=np.int64)
    orders = np.argsort(codes, axis=1, kind="stable")
    code_kernels.sum_of_pair_cells(codes, orders, others, n_classes, values, sums, agreed, common)
    for i in range(2):
        for j in range(2):
            table = np.zeros((n_classes, n_classes), dtype=int)
            for a, b in zip(codes[i], others[j]):
                if a < n_classes and b < n_classes:
                    table[a, b] += 1
            in_order = [0.0, 0.0, 0.0]
            for count in table.ravel():
                in_order[0] += values[count]
            for axis in (1, 0):
                for count in table.sum(axis=axis):
                    in_order[2 - axis] += values[count]
            assert sums[i, j].tolist() == in_order
            assert (agreed[i, j], common[i, j]) == (np.trace(table), table.sum())


@pytest.mark.parametrize("linkage", range(3))
def test_clusters_are_merged_as_by_searching_the_whole_table(linkage):
    rng = np.random.default_rng(linkage)
    for n_levels in (2, 4, 1000):
        distances = np.triu(rng.integers(0, n_levels, (12, 12)) / 7.0, 1)
        between = distances + distances.T
        np.fill_diagonal(between, np.inf)
        table, sizes = between.copy(), np.ones(12)
        nearest, is_bound = between.min(axis=1), np.zeros(12, dtype=bool)
        for _ in range(11):
            pair = cluster_kernels.closest_pair(between, nearest, is_bound, 1e-12)
            lowest = np.argwhere(table <= table.min() + 1e-12 * max(1.0, table.min()))[0]
            assert pair == tuple(sorted(lowest))
            first, second = pair
            share = sizes[first] / (sizes[first] + sizes[second])
            merged = {
                0: share * table[first] + (1 - share) * table[second],
                1: np.minimum(table[first], table[second]),
                2: np.maximum(table[first], table[second]),
            }[linkage]
            sizes[first] += sizes[second]
            table[first] = table[:, first] = merged
            table[first, first] = table[second] = table[:, second] = np.inf
            cluster_kernels.merge_rows(between, nearest, is_bound, *pair, linkage, share)
            remain = np.flatnonzero(np.isfinite(nearest))
            assert np.array_equal(between[np.ix_(remain, remain)], table[np.ix_(remain, remain)])


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("n_components", [1, 3])
def test_scores_of_linked_means(n_components, is_log):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 5, (2, n_components, 20))
    factors, powers = rng.random(5) + 0.5, rng.random((n_components, 20)) + 0.5
    truth, weights, totals = rng.integers(0, max(2, n_components), 20), rng.random(20), np.empty(2)
    selection_kernels.margin_losses(cells, factors, powers, truth, weights, is_log, totals)
    for member in range(2):
        odds = powers * factors[cells[member]]
        if n_components == 1:
            odds = np.stack([odds[0], np.ones(20)])  # first class against the second
        shares = odds / odds.sum(axis=0)
        of_true = shares[truth, np.arange(20)]
        squares = (shares**2).sum(axis=0) - 2 * of_true + 1
        # scikit-learn halves the squares of two classes.
        losses = np.log(of_true) if is_log else -squares / (2 if n_components == 1 else 1)
        assert totals[member] == pytest.approx((weights * losses).sum())


def pair_distances(n_members):
    """Symmetric distances that are multiples of 1/8, so that sums are exact and ties are common."""
    half = np.triu(rng.integers(1, 9, size=(n_members, n_members)), 1)
    return (half + half.T) / 8


@pytest.mark.parametrize("first", [0, 3, 7])
def test_a_set_grows_by_the_largest_sum_of_distances(first):
    distances = pair_distances(8)
    members = np.full(6, first, dtype=np.intp)
    _pareto_kernels.grow_set(distances, 1e-12, np.zeros(8), members)
    expected = [first]
    while len(expected) < 6:
        free = [t for t in range(8) if t not in expected]
        expected.append(max(free, key=lambda t: distances[expected, t].sum()))
    assert members.tolist() == expected


def test_pairs_of_sets_are_gathered():
    distances, sets = pair_distances(9), rng.integers(9, size=(5, 4))
    pairs = np.empty((5, 4, 4))
    _pareto_kernels.gather_pairs(sets, distances, pairs)
    assert all((pairs[i] == distances[np.ix_(sets[i], sets[i])]).all() for i in range(5))


def swaps_beyond(front, sets, sums):
    """All swaps of one member that no set of the front reaches in both sums."""
    n_members = len(sums[0])
    for index, members in enumerate(sets):
        for i, out in enumerate(members):
            for entering in sorted(set(range(n_members)) - set(members.tolist())):
                new = [*members[members != out], entering]
                relevance, diversity = sums[0][new].sum(), sums[1][np.ix_(new, new)].sum() / 2
                if not any(r >= relevance and d >= diversity for r, d in front):
                    yield (index, i, entering), (relevance, diversity)


@pytest.mark.parametrize("n_front", [1, 4])
@pytest.mark.parametrize("n_members", [7, 40])  # 40: so many swaps that dominated ones are dropped
def test_swaps_beyond_the_front_are_found(n_members, n_front):
    distances, relevance = pair_distances(n_members), rng.integers(1, 64, n_members) / 64
    sets = np.sort([rng.permutation(n_members)[:5] for _ in range(3)], axis=1)
    top = relevance[sets[0]].sum(), distances[np.ix_(sets[0], sets[0])].sum() / 2
    front = np.array([(top[0] - 0.125 * i, top[1] + 0.25 * i) for i in range(n_front)])
    front_sums = front[:, 0].copy(), front[:, 1].copy()
    expected = dict(swaps_beyond(front, sets, (relevance, distances)))
    found = np.empty((3 * 5 * n_members, 3), dtype=np.intp)
    sums = np.empty((len(found), 2))
    floors = _pareto_comep._diversity_floors(*front_sums)
    work = np.empty((4, max(n_members, _pareto_kernels.N_BINS)))
    state = sets, relevance, distances, np.stack(front_sums), *floors, 1e-12, work, found, sums
    n_found = _pareto_kernels.find_improving_swaps(*state)
    swaps = [tuple(swap) for swap in found[:n_found].tolist()]
    assert {swap: tuple(pair) for swap, pair in zip(swaps, sums.tolist())}.items() <= (
        expected.items()
    )
    assert swaps == sorted(swaps)
    for swap in expected.keys() - set(swaps):  # dropped, because another swap of the set is better
        rivals = [expected[other] for other in swaps if other[0] == swap[0]]
        assert any(r > expected[swap][0] and d > expected[swap][1] for r, d in rivals)
    assert n_members == 40 or set(swaps) == expected.keys()
