"""Describe the results of the tests in a paragraph that can be pasted into a text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from secateurs.statistics._pairwise_tests import Pairwise, nemenyi, smallest_p_value, wilcoxon_holm
from secateurs.statistics._ranks import Friedman, as_score_frame, average_ranks, friedman
from secateurs.text_format import format_count, format_list


def describe(scores: ArrayLike, control: Hashable = None, alpha: float = 0.05) -> str:
    """Return a paragraph that describes which methods differ, and by which tests.

    Friedman's test comes first. Pairs are compared by Nemenyi's test only if Friedman's test finds
    that the methods differ. A control is always compared with each other method by Wilcoxon's test,
    because that comparison was planned beforehand.

    Parameters
    ----------
    scores : DataFrame or array of shape (n_sets, n_methods)
        Higher is better.
    control : hashable, optional
        Method to compare with all other methods.
    alpha : float, default=0.05
        Significance level of all tests.

    Returns
    -------
    str
        The tests, the significance level, the number of data sets, and which methods differ.

    Examples
    --------
    >>> from secateurs.statistics import describe
    >>> print(describe([[0.9, 0.8, 0.7], [0.7, 0.9, 0.8]]))
    Friedman's test with Iman and Davenport's correction, 3 methods on 2 data sets: F(2, 2) = 0.33,
    p = 0.75. At α = 0.05 no difference is found: the methods may well rank alike. Average ranks,
    best first: 1 1.50, 0 2.00, 2 2.50.
    """
    table = as_score_frame(scores)
    n_sets, n_methods = table.shape
    if n_sets < 2 or n_methods < 2:
        return (
            f"There is nothing to test with {format_count(n_methods, 'method')} on "
            f"{format_count(n_sets, 'data set')}: tests need two or more of both."
        )
    sentences = []
    if n_methods > 2:
        test = friedman(table)
        sentences += [_describe_friedman(test, alpha), _describe_ranks(table)]
        if test.f_p_value < alpha:
            sentences.append(_describe_nemenyi(nemenyi(table, alpha)))
    if control is not None or n_methods == 2:
        reference = table.columns[0] if control is None else control
        sentences.append(_describe_control(wilcoxon_holm(table, reference, alpha), reference))
    return " ".join(sentences)


def format_p(p_value: float) -> str:
    """Format a p-value with three significant digits, and a very small one as a bound.

    Parameters
    ----------
    p_value : float
        P-value of a test.

    Returns
    -------
    str
        The text, such as ``p = 0.0313``.

    Examples
    --------
    >>> from secateurs.statistics import format_p
    >>> format_p(0.03127), format_p(1e-9)
    ('p = 0.0313', 'p < 0.0001')
    """
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.3g}"


def _describe_friedman(test: Friedman, alpha: float) -> str:
    first, second = test.degrees
    verdict = (
        f"At α = {alpha:g} the methods do not all rank alike."
        if test.f_p_value < alpha
        else f"At α = {alpha:g} no difference is found: the methods may well rank alike."
    )
    return (
        f"Friedman's test with Iman and Davenport's correction, {test.n_methods} methods on "
        f"{format_count(test.n_sets, 'data set')}: F({first}, {second}) = {test.f_statistic:.2f}, "
        f"{format_p(test.f_p_value)}. {verdict}"
    )


def _describe_ranks(table: pd.DataFrame) -> str:
    ranks = average_ranks(table).sort_values(kind="stable")
    names_and_ranks = format_list(f"{name} {rank:.2f}" for name, rank in ranks.items())
    return f"Average ranks, best first: {names_and_ranks}."


def _describe_nemenyi(pairs: Pairwise) -> str:
    worse_methods = ((method, pairs.worse_than(method)) for method in pairs.order)
    differing = [
        f"{method} ranks before {format_list(worse, last=' and ')}"
        for method, worse in worse_methods
        if worse
    ]
    start = (
        f"By Nemenyi's test (critical difference of ranks {pairs.critical_difference:.2f} at "
        f"α = {pairs.alpha:g})"
    )
    if not differing:
        return f"{start} no two methods differ significantly."
    return f"{start} {'; '.join(differing)}; no other two differ significantly."


def _describe_control(pairs: Pairwise, control: Any) -> str:
    others = [method for method in pairs.order if method != control]
    start = (
        f"By Wilcoxon's signed ranks with Holm's correction (α = {pairs.alpha:g}, "
        f"{format_count(pairs.n_sets, 'data set')}), {control} against "
        f"{'the other' if len(others) == 1 else f'each of the {len(others)} others'}:"
    )
    if smallest_p_value(pairs.n_sets, len(others)) >= pairs.alpha:
        return f"{start} no result, because so few data sets cannot reach this level."
    better, worse = pairs.worse_than(control), pairs.better_than(control)

    def list_with_p_values(methods: Sequence[Any]) -> str:
        with_p = (f"{name} ({format_p(pairs.p_values.loc[control, name])})" for name in methods)
        return format_list(with_p, last=" and ")

    n_similar = len(others) - len(better) - len(worse)
    return (
        f"{start} better than {list_with_p_values(better)}, worse than "
        f"{list_with_p_values(worse)}; "
        f"{format_count(n_similar, 'method')} not significantly different."
    )
