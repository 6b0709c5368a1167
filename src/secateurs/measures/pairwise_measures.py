"""Pairwise diversity measures, computed from count tables of two members' votes.

The table of correct and wrong votes has four counts: a samples on which both members are correct, b
only the first, c only the second, d both wrong. A similarity of 0/0 is 1 if the two members are
correct on the same samples and 0 otherwise, so that identical members are always least diverse.
"""

import numpy as np

from secateurs.measures.pair_measure import Counts, Floats, PairMeasure, safe_divide
from secateurs.outputs.votes import Votes


def _n_samples(table: Counts) -> Counts:
    return table.sum(axis=(-2, -1))


def _fraction_of_samples(count: Counts, n_samples: Counts) -> Floats:
    """Return counts as fractions of the common samples; 0 if missing votes leave none."""
    return safe_divide(count, n_samples, 0.0)


def _oracle_cells(oracle: Counts) -> tuple[Counts, Counts, Counts, Counts]:
    return oracle[..., 0, 0], oracle[..., 0, 1], oracle[..., 1, 0], oracle[..., 1, 1]


def _undefined_value(oracle: Counts) -> Floats:
    _, only_first, only_second, _ = _oracle_cells(oracle)
    return np.where(only_first + only_second == 0, 1.0, 0.0)


@PairMeasure
def disagreement(n_common: Counts, n_agreed: Counts) -> Floats:
    """Fraction of samples on which two members predict different labels.

    Larger is more diverse. For two classes it equals `oracle_disagreement`.

    See Also
    --------
    oracle_disagreement : Fraction of samples on which exactly one member is correct.
    kappa : Agreement beyond chance.
    double_fault : Fraction of samples on which both members are wrong.

    Examples
    --------
    >>> from secateurs.measures import disagreement
    >>> disagreement([0, 1, 2, 0], [0, 1, 1, 1])
    0.5
    """
    return _fraction_of_samples(n_common - n_agreed, n_common)


@PairMeasure
def oracle_disagreement(oracle: Counts) -> Floats:
    """Fraction of samples on which exactly one of two members is correct: (b + c) / N [1]_.

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
    """Yule's Q of correct votes: (ad − bc) / (ad + bc); smaller is more diverse.

    It is 0/0 whenever one of the two members is correct on all samples or wrong on all samples.

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
    """Correlation (φ) of correct votes: (ad − bc) / √((a+b)(c+d)(a+c)(b+d)); smaller: more diverse.

    Examples
    --------
    >>> from secateurs.measures import correlation
    >>> correlation([1, 1, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1])
    0.5773502691896258
    """
    a, b, c, d = _oracle_cells(oracle)
    # Floats before the last product, which can exceed 64 bits.
    scale = np.sqrt(((a + b) * (c + d)).astype(float) * ((a + c) * (b + d)).astype(float))
    return safe_divide(a * d - b * c, scale, _undefined_value(oracle))


@PairMeasure
def double_fault(oracle: Counts) -> Floats:
    """Fraction of samples on which both members are wrong: d / N; smaller is more diverse [1]_.

    See Also
    --------
    same_fault : Only samples on which both predict the same wrong label.

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
def same_fault(n_common: Counts, n_agreed: Counts, oracle: Counts) -> Floats:
    """Fraction of samples on which both members predict the same wrong label.

    Smaller is more diverse. It is at most `double_fault`, and equal to it for two classes.

    See Also
    --------
    double_fault : All samples on which both members are wrong.

    Examples
    --------
    >>> from secateurs.measures import same_fault
    >>> same_fault([0, 1, 2, 1], [0, 1, 1, 1], [0, 1, 0, 0])
    0.25
    """
    return _fraction_of_samples(n_agreed - _oracle_cells(oracle)[0], n_common)


def kappa_with_truth(votes: Votes) -> Floats:
    """Compute each member's κ with the true labels, without tables of labels × labels."""
    truth_sizes = np.bincount(votes.truth, minlength=votes.n_labels)
    if votes.leaves_out_missing:
        present = (votes.codes([member])[0] < votes.n_classes for member in range(votes.n_members))
        truth_sizes = np.stack(
            [np.bincount(votes.truth[has_vote], minlength=votes.n_classes) for has_vote in present]
        )
    by_chance = (votes.sizes * truth_sizes).sum(axis=1)
    return kappa.of_counts(n_common=votes.n_voted, n_agreed=votes.n_right, by_chance=by_chance)


@PairMeasure
def kappa(n_common: Counts, n_agreed: Counts, by_chance: Counts) -> Floats:
    """Cohen's κ of two members' labels, for any number of classes [1]_.

    Agreement beyond chance: (Θ₁ − Θ₂) / (1 − Θ₂), where Θ₁ is the fraction of equal labels, and Θ₂
    the fraction expected from how often each member predicts each label. Smaller values mean more
    diversity. Two members that always predict the same single label have κ = 1.

    See Also
    --------
    oracle_kappa : Agreement of correct and wrong votes.
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
    # Numerator and denominator are exact integers, so that equal values are equal floats.
    return safe_divide(n_common * n_agreed - by_chance, n_common**2 - by_chance, 1.0)


@PairMeasure
def oracle_kappa(oracle: Counts) -> Floats:
    """Cohen's κ of correct votes: 2(ad − bc) / ((a+b)(b+d) + (a+c)(c+d)) [1]_.

    See Also
    --------
    kappa : Agreement of the labels.
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
