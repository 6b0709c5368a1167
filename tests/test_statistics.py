"""Tests of methods over data sets, against other libraries, published figures and plain counts."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from scipy import stats

from secateurs.exceptions import InputError
from secateurs.statistics import (
    PairedTest,
    aggregated_ranks,
    average_ranks,
    critical_difference,
    describe,
    friedman,
    nemenyi,
    paired_t_test,
    smallest_p_value,
    wilcoxon_holm,
    win_tie_loss,
)

# Table 6 of Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
# The last but one row has 0.975 twice there, ranked 2 and 3: equal only to the digits printed.
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)
# Table 5a there, for 2 to 10 methods; its last digits are not all rounded right.
DEMSAR_Q = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]


def scores_of(seed, n_sets=12, n_methods=5, step=0.0):
    """Draw scores, better to the right; rounded to a step, they tie."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_sets, n_methods)) + 0.4 * np.arange(n_methods)
    values = np.round(values / step) * step if step else values
    return pd.DataFrame(values, columns=list("abcdefghij")[:n_methods])


@pytest.mark.parametrize("seed", range(5))
def test_the_paired_t_test_equals_scipy(seed):
    first, second = np.random.default_rng(seed).normal(loc=[[0.8], [0.0]], size=(2, 5))
    ours, theirs = paired_t_test(first, second), stats.ttest_rel(first, second)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx(first.mean() - second.mean())


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        # differences 2, 4, 6, 8, 10: mean 6, standard error √2, t = 4.24; 2.78 is enough
        ([12, 14, 16, 18, 20], [10] * 5, "win"),
        ([10] * 5, [12, 14, 16, 18, 20], "loss"),
        # differences 2, -1, 2, -1, 3: mean 1, standard error 0.84, t = 1.20
        ([12, 9, 12, 9, 13], [10] * 5, "tie"),
        ([0.9, 0.8, 0.7], [0.9, 0.8, 0.7], "tie"),
        ([0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], "tie"),  # rounding errors do not count
        ([0.9, 0.8, 0.7], [0.8, 0.7, 0.6], "win"),  # the same difference on every fold
    ],
)
def test_a_difference_counts_only_when_it_is_significant(first, second, verdict):
    assert paired_t_test(first, second).verdict == verdict


def test_equal_scores_have_the_p_value_one():
    assert paired_t_test([0.5, 0.7], [0.5, 0.7]) == PairedTest(0.0, 0.0, 1.0, "tie")


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1, 2, 3]), ([1], [2])])
def test_scores_without_pairs_are_rejected(first, second):
    with pytest.raises(InputError, match=f"have {len(first)} and {len(second)} scores"):
        paired_t_test(first, second)


def test_missing_folds_are_rejected():
    with pytest.raises(InputError, match="missing"):
        paired_t_test([0.5, np.nan], [0.5, 0.6])


def test_verdicts_are_counted_in_the_order_win_tie_loss():
    verdicts = ["win", "tie", "tie", "loss", "loss", "loss"]
    assert str(win_tie_loss(PairedTest(0, 0, 0, verdict) for verdict in verdicts)) == "1/2/3"


def test_ranks_equal_those_of_demsar():
    assert average_ranks(DEMSAR).round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    assert average_ranks(DEMSAR).index.tolist() == list(DEMSAR)


def test_aggregated_ranks_add_up_over_data_sets():
    assert aggregated_ranks(DEMSAR).tolist() == [44.0, 28.0, 40.5, 27.5]


def test_rounding_errors_do_not_break_shared_ranks():
    assert average_ranks([[0.1 + 0.2, 0.3, 0.1]]).tolist() == [1.5, 1.5, 3.0]


@pytest.mark.parametrize("step", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_friedman_equals_scipy(seed, step):
    scores = scores_of(seed, step=step)
    ours, theirs = friedman(scores), stats.friedmanchisquare(*scores.to_numpy().T)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_friedman_and_iman_davenport_equal_demsar_except_for_shared_ranks():
    # Demšar: χ² = 9.28. Shared ranks (three pairs, one of four) divide it by 1 - 78 / 840.
    test = friedman(DEMSAR)
    chi_squared = 9.28 / (1 - 78 / 840)
    assert test.statistic == pytest.approx(chi_squared, abs=0.01)
    assert test.f_statistic == pytest.approx(13 * chi_squared / (42 - chi_squared), abs=0.01)
    assert test.degrees == (3, 39)
    assert test.f_p_value == pytest.approx(stats.f.sf(test.f_statistic, 3, 39))


def test_methods_that_share_all_ranks_do_not_differ():
    test = friedman(np.ones((4, 3)))
    assert (test.statistic, test.p_value, test.f_statistic, test.f_p_value) == (0, 1, 0, 1)


def test_the_same_order_on_all_data_sets_has_the_largest_statistic():
    test = friedman([[3, 2, 1]] * 6)
    assert (test.statistic, test.f_statistic, test.f_p_value) == (12, np.inf, 0)


@pytest.mark.parametrize("shape", [(1, 4), (5, 2)])
def test_friedman_rejects_too_few_data_sets_or_methods(shape):
    data_sets = "1 data set" if shape[0] == 1 else f"{shape[0]} data sets"
    with pytest.raises(InputError, match=f"{data_sets} and {shape[1]} methods"):
        friedman(np.arange(np.prod(shape)).reshape(shape))


@pytest.mark.parametrize(("n_methods", "q"), enumerate(DEMSAR_Q, start=2))
def test_critical_differences_equal_those_of_demsar(n_methods, q):
    error = np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14) == pytest.approx(q * error, abs=0.001 * error)


def test_a_critical_difference_needs_something_to_compare():
    with pytest.raises(InputError, match="n_methods=1"):
        critical_difference(1, 5)


@pytest.mark.parametrize("step", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_nemenyi_equals_scikit_posthocs(seed, step):
    scores = scores_of(seed, step=step)
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(scores.to_numpy())
    np.testing.assert_allclose(nemenyi(scores).p_values, theirs, atol=1e-9)


def test_nemenyi_finds_the_differences_of_demsar():
    # At 5 % the largest difference, 1.18, is below 1.25; at 10 % the limit is 1.12.
    assert [nemenyi(DEMSAR).worse_than(method) for method in DEMSAR] == [[], [], [], []]
    at_ten = nemenyi(DEMSAR, alpha=0.1)
    assert at_ten.critical_difference == pytest.approx(1.12, abs=0.005)
    assert at_ten.worse_than("C4.5+m+cf") == at_ten.worse_than("C4.5+m") == ["C4.5"]
    assert at_ten.better_than("C4.5") == ["C4.5+m+cf", "C4.5+m"]


def test_nemenyi_p_values_agree_with_the_critical_difference():
    scores = scores_of(7, n_sets=30)
    pairs = nemenyi(scores)
    distances = np.abs(np.subtract.outer(pairs.ranks.to_numpy(), pairs.ranks.to_numpy()))
    assert ((pairs.p_values < 0.05) == (distances > pairs.critical_difference)).all(axis=None)


@pytest.mark.parametrize("seed", range(3))
def test_wilcoxon_holm_equals_scikit_posthocs(seed):
    scores = scores_of(seed)
    values = scores.to_numpy().T
    theirs = scikit_posthocs.posthoc_wilcoxon(values, p_adjust="holm")
    np.testing.assert_allclose(wilcoxon_holm(scores).p_values, theirs, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_wilcoxon_is_exact_with_ties_and_zeros(seed):
    differences = np.random.default_rng(seed).integers(-2, 4, size=9) / 10
    pairs = wilcoxon_holm(pd.DataFrame({"a": 0.5 + differences, "b": 0.5}))
    assert pairs.p_values.loc["a", "b"] == pytest.approx(naive_signed_rank(differences))


def naive_signed_rank(differences):
    """Share of all sign combinations whose smaller rank sum is as small; zeros split evenly."""
    ranks = stats.rankdata(np.abs(differences))
    halves = ranks[differences == 0].sum() / 2
    others = ranks[differences != 0]

    def smaller(signs):
        up = halves + sum(rank for rank, sign in zip(others, signs) if sign > 0)
        down = halves + sum(rank for rank, sign in zip(others, signs) if sign < 0)
        return min(up, down)

    seen = smaller(np.sign(differences[differences != 0]))
    every = [smaller(signs) for signs in product([-1, 1], repeat=len(others))]
    return np.mean([value <= seen + 1e-9 for value in every])


def test_methods_that_always_tie_have_the_p_value_one():
    pairs = wilcoxon_holm(pd.DataFrame({"a": [0.5] * 8, "b": [0.5] * 8}))
    assert pairs.p_values.loc["a", "b"] == 1
    assert pairs.leads.loc["a", "b"] == 0


def test_a_control_is_corrected_for_its_own_comparisons_only():
    scores = scores_of(3, n_sets=15, n_methods=4)
    pairs = wilcoxon_holm(scores, control="b")
    raw = {name: stats.wilcoxon(scores["b"], scores[name]).pvalue for name in "acd"}
    order = sorted(raw, key=raw.get)
    stepped = [raw[name] * factor for name, factor in zip(order, (3, 2, 1))]
    for place, name in enumerate(order):
        assert pairs.p_values.loc["b", name] == pytest.approx(min(1, max(stepped[: place + 1])))
    assert np.isnan(pairs.p_values.loc["a", "c"])


def test_wilcoxon_uses_sizes_of_differences_and_ranks_only_their_order():
    # b is ahead on seven sets by a hair, a on five by far
    scores = pd.DataFrame(
        {"a": [0.5] * 12, "b": [0.501 + 0.0001 * i for i in range(7)] + [0.1] * 5}
    )
    assert average_ranks(scores)["b"] < average_ranks(scores)["a"]
    assert wilcoxon_holm(scores).leads.loc["a", "b"] > 0


def test_an_unknown_control_is_rejected():
    with pytest.raises(InputError, match="control='z'"):
        wilcoxon_holm(scores_of(0), control="z")


@pytest.mark.parametrize("n_sets", [4, 5, 6, 9])
def test_the_smallest_p_value_is_reached(n_sets):
    scores = pd.DataFrame({"a": np.linspace(0.6, 0.9, n_sets), "b": 0.5, "c": 0.4})
    pairs = wilcoxon_holm(scores, control="a")
    assert pairs.p_values.loc["a", "b"] == pytest.approx(smallest_p_value(n_sets, 2))


def test_runs_of_methods_that_do_not_differ_are_maximal():
    # ranks 1 to 5, by construction; on 20 sets the critical difference is 1.36
    pairs = nemenyi(pd.DataFrame([[5, 4, 3, 2, 1]] * 20, columns=list("abcde")))
    assert pairs.critical_difference == pytest.approx(1.36, abs=0.01)
    assert pairs.alike() == [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]
    assert nemenyi([[1, 1, 1]] * 3).alike() == [[0, 1, 2]]
    few = nemenyi(pd.DataFrame([[5, 4, 3, 2, 1]] * 9, columns=list("abcde")))
    assert few.critical_difference == pytest.approx(2.03, abs=0.01)
    assert few.alike() == [["a", "b", "c"], ["b", "c", "d"], ["c", "d", "e"]]


def test_methods_that_all_differ_have_no_runs():
    assert nemenyi([[3, 2, 1]] * 40).alike() == []


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.5, np.nan, 0.2], [0.1, 0.2, 0.3]], r"some methods on \[0\]"),
        (np.empty((0, 3)), "shape"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "all of different names"),
    ],
)
def test_invalid_score_tables_are_rejected(scores, message):
    with pytest.raises(InputError, match=message):
        average_ranks(scores)


def test_the_paragraph_names_tests_level_and_differences():
    scores = pd.DataFrame([[5, 4, 3, 2, 1]] * 20, columns=list("abcde"))
    text = describe(scores, control="b")
    assert "5 methods on 20 data sets" in text
    assert "the methods do not all rank alike" in text
    assert "a ranks before c, d and e; b ranks before d and e; c ranks before e; no other" in text
    assert "b against each of the 4 others: better than c (p < 0.0001), d" in text
    assert "worse than a (p < 0.0001); 0 methods not significantly different" in text


def test_the_paragraph_has_no_pairs_if_friedman_finds_no_difference():
    text = describe([[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 3]])
    assert "no difference is found" in text
    assert "Nemenyi" not in text


def test_the_paragraph_reports_that_no_pair_differs():
    # Friedman's test sees a difference in Demšar's table that Nemenyi's cannot place
    assert "no two methods differ significantly" in describe(DEMSAR)


def test_the_paragraph_reports_too_few_data_sets():
    assert describe([[1, 2, 3]]).startswith("There is nothing to test with 3 methods on 1 data set")
    text = describe([[3, 2, 1]] * 5, control=0)
    assert "so few data sets cannot reach this level" in text


def test_two_methods_are_compared_by_wilcoxon_alone():
    text = describe(pd.DataFrame({"new": [2] * 9, "old": [1] * 9}))
    assert "new against the other: better than old (p = 0.00391), worse than none" in text
    assert "Friedman" not in text
