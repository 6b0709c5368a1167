"""Pairwise measures computed from tables of labels, or of right and wrong votes.

In the table of right and wrong of two members: a both right, b only the first, c only the second,
d both wrong. Where a similarity is 0/0 it is 1 for two members that are right on the same samples
and 0 otherwise, so that "identical" always means least diverse.
"""

import numpy as np

from secateurs.measures.pair_measure import Counts, Floats, PairMeasure, safe_divide


def n_agreed(labels: Counts) -> Counts:
    """Count the samples on which two members give the same label."""
    return np.trace(labels, axis1=-2, axis2=-1)


def _n_samples(table: Counts) -> Counts:
    return table.sum(axis=(-2, -1))


def _fraction_of_samples(count: Counts, n_samples: Counts) -> Floats:
    """Divide by the samples in common; members with missing votes may have none."""
    return safe_divide(count, n_samples, 0.0)


def _oracle_cells(oracle: Counts) -> tuple[Counts, Counts, Counts, Counts]:
    return oracle[..., 0, 0], oracle[..., 0, 1], oracle[..., 1, 0], oracle[..., 1, 1]


def _undefined_value(oracle: Counts) -> Floats:
    _, only_first, only_second, _ = _oracle_cells(oracle)
    return np.where(only_first + only_second == 0, 1.0, 0.0)


@PairMeasure
def disagreement(labels: Counts) -> Floats:
    """Fraction of samples on which two members give different labels; more is more diverse.

    Needs no true labels. For two classes it equals `oracle_disagreement`.

    See Also
    --------
    oracle_disagreement : Fraction of samples on which just one of the two is right.
    kappa : Agreement beyond chance.
    double_fault : Fraction of samples that both get wrong.

    Examples
    --------
    >>> from secateurs.measures import disagreement
    >>> disagreement([0, 1, 2, 0], [0, 1, 1, 1])
    0.5
    """
    n_samples = _n_samples(labels)
    return _fraction_of_samples(n_samples - n_agreed(labels), n_samples)


@PairMeasure
def oracle_disagreement(oracle: Counts) -> Floats:
    """Fraction of samples on which just one of two members is right: (b + c) / N [1]_.

    See Also
    --------
    disagreement : Fraction of samples with different labels.

    References
    ----------
    .. [1] Skalak. "The sources of increased accuracy for two proposed boosting algorithms".
       AAAI workshop 1996.

    Examples
    --------
    >>> from secateurs.measures import oracle_disagreement
    >>> oracle_disagreement([0, 1, 2, 0], [0, 1, 1, 1], [0, 1, 0, 0])
    0.25
    """
    _, only_first, only_second, _ = _oracle_cells(oracle)
    return _fraction_of_samples(only_first + only_second, _n_samples(oracle))


@PairMeasure
def q_statistic(oracle: Counts) -> Floats:
    """Yule's Q of right and wrong: (ad − bc) / (ad + bc); less is more diverse.

    0/0 whenever one of the two is right everywhere or wrong everywhere.

    Examples
    --------
    >>> from secateurs.measures import q_statistic
    >>> q_statistic([1, 1, 0, 0, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 0])
    -0.3333333333333333
    """
    a, b, c, d = _oracle_cells(oracle)
    return safe_divide(a * d - b * c, a * d + b * c, _undefined_value(oracle))


@PairMeasure
def correlation(oracle: Counts) -> Floats:
    """Correlation (φ) of being right: (ad − bc) / √((a+b)(c+d)(a+c)(b+d)); less is more diverse.

    Examples
    --------
    >>> from secateurs.measures import correlation
    >>> correlation([1, 1, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1])
    0.5773502691896258
    """
    a, b, c, d = _oracle_cells(oracle)
    spread = np.sqrt(((a + b) * (c + d)).astype(float) * ((a + c) * (b + d)).astype(float))
    return safe_divide(a * d - b * c, spread, _undefined_value(oracle))


@PairMeasure
def double_fault(oracle: Counts) -> Floats:
    """Fraction of samples that both members get wrong: d / N; less is more diverse [1]_.

    See Also
    --------
    same_fault : Only samples that both get wrong with the same label.

    References
    ----------
    .. [1] Giacinto and Roli. "Design of effective neural network ensembles for image
       classification purposes". Image and Vision Computing 2001.

    Examples
    --------
    >>> from secateurs.measures import double_fault
    >>> double_fault([0, 1, 2, 0], [0, 1, 1, 1], [0, 1, 0, 0])
    0.25
    """
    return _fraction_of_samples(_oracle_cells(oracle)[3], _n_samples(oracle))


@PairMeasure
def same_fault(labels: Counts, oracle: Counts) -> Floats:
    """Fraction of samples that both members get wrong with the same label; less is more diverse.

    For two classes it equals `double_fault`; for more classes it is at most that.

    See Also
    --------
    double_fault : All samples that both get wrong.

    Examples
    --------
    >>> from secateurs.measures import same_fault
    >>> same_fault([0, 1, 2, 1], [0, 1, 1, 1], [0, 1, 0, 0])
    0.25
    """
    return _fraction_of_samples(n_agreed(labels) - _oracle_cells(oracle)[0], _n_samples(labels))


@PairMeasure
def kappa(labels: Counts) -> Floats:
    """Cohen's κ of two members' labels, for any number of classes; less is more diverse [1]_.

    Agreement beyond chance: (Θ₁ − Θ₂) / (1 − Θ₂), with Θ₁ the fraction of equal labels and Θ₂ that
    expected from how often each member gives each label. Two members that always give the same
    one label have κ = 1.

    See Also
    --------
    oracle_kappa : The same for right and wrong votes.
    fleiss_kappa : Agreement of all members at once.
    disagreement : Without a correction for chance.

    References
    ----------
    .. [1] Margineantu and Dietterich. "Pruning adaptive boosting". ICML 1997.

    Examples
    --------
    >>> from secateurs.measures import kappa
    >>> kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    0.5
    """
    # In integers, so that equal values come out as equal floats.
    n_samples = _n_samples(labels)
    by_chance = (labels.sum(axis=-1) * labels.sum(axis=-2)).sum(axis=-1)
    return safe_divide(n_samples * n_agreed(labels) - by_chance, n_samples**2 - by_chance, 1.0)


@PairMeasure
def oracle_kappa(oracle: Counts) -> Floats:
    """Cohen's κ of being right: 2(ad − bc) / ((a+b)(b+d) + (a+c)(c+d)); less is more diverse [1]_.

    See Also
    --------
    kappa : The same for labels.
    interrater_agreement : All members at once.

    References
    ----------
    .. [1] Kuncheva and Whitaker. "Measures of diversity in classifier ensembles and their
       relationship with the ensemble accuracy". Machine Learning 2003.

    Examples
    --------
    >>> from secateurs.measures import oracle_kappa
    >>> oracle_kappa([1, 1, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1])
    0.5
    """
    a, b, c, d = _oracle_cells(oracle)
    return safe_divide(
        2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d), _undefined_value(oracle)
    )
