"""Clusters of members, and who stands for them."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

import naive
from cases import D1, D2, E1, E2, cases, cases_with_keep, plain
from score_cases import make_scores, score_cases
from secateurs import EPFD, ClusterPruner, Predictions, measures, prune

pytestmark = pytest.mark.filterwarnings("ignore:.*1 member")

REPRESENTATIONS = ("double_fault", "disagreement", "nvi", "onehot", "oracle")
LINKAGES = ("average", "single", "complete")
REPRESENTATIVES = ("accuracy", "distant", "medoid")
SETTINGS = st.tuples(*map(st.sampled_from, (REPRESENTATIONS, LINKAGES, REPRESENTATIVES)))


def clusters_of(pruner):
    return [np.flatnonzero(pruner.labels_ == c).tolist() for c in range(len(pruner.scores_))]


@given(cases_with_keep(most_samples=30), SETTINGS)
def test_clusters_and_chooses_as_specified(drawn, chosen):
    case, keep = drawn
    pruner = ClusterPruner(keep, *chosen).fit(case.votes, case.y)
    members, clusters = naive.cluster_pruning(case.votes, case.y, keep, chosen)
    assert clusters_of(pruner) == clusters
    assert pruner.member_indices_.tolist() == members
    assert pruner.scores_.tolist() == [len(cluster) for cluster in clusters]


def soft_twin(case, keep, linkage, representative):
    proba = [[[float(p) for p in vector] for vector in row] for row in case.outputs]
    votes = [[vector.index(max(vector)) for vector in row] for row in proba]
    how = ("proba", linkage, representative)
    return naive.cluster_pruning(votes, case.y, keep, how, proba)


soft = score_cases(kinds=("probabilities",))


@given(soft, st.sampled_from(LINKAGES), st.sampled_from(REPRESENTATIVES), st.data())
def test_probabilities_are_compared_by_their_distance(case, linkage, representative, data):
    keep = data.draw(st.one_of(st.none(), st.integers(1, case.n_members)))
    pruner = ClusterPruner(keep, "proba", linkage, representative).fit(case.given)
    if not case.given.has_missing:
        members, clusters = soft_twin(case, keep, linkage, representative)
        assert clusters_of(pruner) == clusters
        assert pruner.member_indices_.tolist() == members
    cut = data.draw(st.integers(0, len(case.y)))
    batches = [case.given.rows(slice(cut)), case.given.rows(slice(cut, None))]
    if all(batch.n_samples and batch.n_voted.all() for batch in batches):
        batched = ClusterPruner(keep, "proba", linkage, representative)
        for batch in batches:
            batched.partial_fit(batch)
        assert batched.member_indices_.tolist() == pruner.member_indices_.tolist()


def test_probabilities_are_compared_where_both_members_have_them():
    rng = np.random.default_rng(0)
    table, mask = rng.dirichlet(np.ones(3), size=(40, 6)), rng.random((40, 6)) < 0.3
    scores = Predictions.encode(
        np.ma.array(table, mask=np.repeat(mask[..., None], 3, 2)), [0, 1] * 20
    )
    apart = np.zeros((6, 6))
    for i, j in permutations(range(6), 2):
        squares = ((table[:, i] - table[:, j]) ** 2).sum(axis=1)
        apart[i, j] = np.sqrt(squares[~mask[:, i] & ~mask[:, j]].mean())
    expected = cut_tree(linkage(squareform(apart), "average"), 3).ravel()
    labels = ClusterPruner(3, "proba").fit(scores).labels_
    assert (labels[:, None] == labels).tolist() == (expected[:, None] == expected).tolist()


def test_soft_members_are_clustered_otherwise_than_their_labels():
    case = make_scores(1, "probabilities", 12, 60, 3)
    by_shares = ClusterPruner(4, "proba").fit(case.table, case.y)
    hard = ClusterPruner(4, "proba").fit(case.given.votes)
    assert clusters_of(by_shares) != clusters_of(hard)
    assert clusters_of(hard) == clusters_of(ClusterPruner(4, "onehot").fit(case.given.votes))
    assert clusters_of(hard) == clusters_of(ClusterPruner(4, "onehot").fit(case.given))
    pruned = prune(case.table, None, case.y, ClusterPruner(4, "proba"))
    assert pruned.member_indices.tolist() == by_shares.member_indices_.tolist()
    grouped = EPFD(ClusterPruner(4, "proba"), 2, random_state=0).fit(case.given)
    assert len(grouped.member_indices_) == 4


@given(cases(most_members=6, most_samples=30), SETTINGS)
def test_decides_for_the_fewest_members_that_vote_best(case, chosen):
    pruner = ClusterPruner(None, *chosen).fit(case.votes, case.y)
    expected, clusters = naive.cluster_pruning(case.votes, case.y, None, chosen)
    assert pruner.member_indices_.tolist() == expected
    assert clusters_of(pruner) == clusters


@pytest.mark.parametrize(
    ("case", "representative", "members", "clusters"),
    [
        (E1, "accuracy", [4, 1, 3], [[0, 4], [1, 2], [3, 5]]),
        (E1, "distant", [4, 1, 3], [[0, 4], [1, 2], [3, 5]]),
        (E1, "medoid", [0, 1, 3], [[0, 4], [1, 2], [3, 5]]),
        (E2, "accuracy", [3, 1, 2], [[0, 3], [1], [2, 4]]),
        (E2, "distant", [0, 1, 2], [[0, 3], [1], [2, 4]]),
    ],
)
def test_values_worked_out_by_hand(case, representative, members, clusters):
    pruner = ClusterPruner(3, representative=representative).fit(case.votes, case.y)
    assert pruner.member_indices_.tolist() == members
    assert clusters_of(pruner) == clusters


@pytest.mark.parametrize("case", [D1, D2])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_equal_members_are_merged_from_the_first_on(case, representation):
    pruner = ClusterPruner(2, representation).fit(case.votes, case.y)
    assert clusters_of(pruner) == [[0, 1], [2]]
    assert ClusterPruner(None, representation).fit(*case).member_indices_.tolist() == [0]


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("keep", [2, 7, 31])
def test_clusters_are_those_of_scipy_where_no_distances_tie(method, keep):
    case = plain(40, 3001, 3)
    distances = measures.nvi.matrix(case.votes)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances), method)
    expected = cut_tree(tree, keep).ravel()
    pruner = ClusterPruner(keep, "nvi", method).fit(*case)
    assert (pruner.labels_[:, None] == pruner.labels_).tolist() == (
        expected[:, None] == expected
    ).tolist()


@pytest.mark.parametrize("name", ["representation", "linkage", "representative"])
def test_unknown_settings_are_refused(name):
    with pytest.raises(ValueError, match=rf"{name}='medoids' is unknown\. .*Pass one of: "):
        ClusterPruner(1, **{name: "medoids"}).fit(*E1)


def test_missing_votes_compare_members_where_both_have_one():
    votes = np.ma.array([[0, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]])
    votes[0, 1] = votes[3, 2] = np.ma.masked
    pruner = ClusterPruner(2, "disagreement").fit(votes, [0, 0, 1, 0])
    # Members 0 and 1 differ on 1 of 3 samples, 1 and 2 on 0 of 2, 0 and 2 on 2 of 3.
    assert clusters_of(pruner) == [[0], [1, 2]]
    assert pruner.member_indices_.tolist() == [0, 1]  # right on 2 of 3 where it votes, 2 on 1 of 3


@pytest.mark.parametrize("representation", ["double_fault", "onehot", "oracle", "proba"])
def test_distances_of_labels_need_the_memory_of_one_matrix(representation):
    case = plain(1000, 40, 2, 0)
    pruner = ClusterPruner(5, representation).fit(*case)  # compiled
    tracemalloc.start()
    try:
        pruner.fit(*case)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * 1000**2 * 8
