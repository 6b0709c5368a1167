"""Measures of how similar, diverse and accurate members and ensembles are.

A pairwise measure is called with two columns of labels, ``kappa(first, second)``.
``kappa.matrix(votes)`` returns the values of all pairs, and ``kappa.mean(votes)`` their mean.
Measures of correct and wrong votes also need the true labels: ``double_fault.matrix(votes, y)``. A
measure of an ensemble takes the votes (samples × members) and, if it needs them, the true labels.
Every function that takes votes also accepts a `secateurs.Votes`.
"""

from secateurs.measures._ensemble_measures import (
    LossAmbiguity,
    c_bound,
    coincident_failure,
    difficulty,
    disagreement_error_ratio,
    fleiss_kappa,
    generalised_diversity,
    interrater_agreement,
    kohavi_wolpert,
    kuncheva_entropy,
    label_ambiguity,
    label_kohavi_wolpert,
    loss_ambiguity,
    vote_entropy,
)
from secateurs.measures._soft_measures import (
    AmbiguityDecomposition,
    correlation_penalty,
    krogh_vedelsby,
    loss_correlation,
)
from secateurs.measures.information import (
    MultiInformation,
    entropy,
    multi_information,
    mutual_information,
    nmi,
    nvi,
    pairwise_interaction,
)
from secateurs.measures.pair_measure import PairMeasure
from secateurs.measures.pairwise_measures import (
    correlation,
    disagreement,
    double_fault,
    kappa,
    oracle_disagreement,
    oracle_kappa,
    q_statistic,
    same_fault,
)

__all__ = [
    "AmbiguityDecomposition",
    "LossAmbiguity",
    "MultiInformation",
    "PairMeasure",
    "c_bound",
    "coincident_failure",
    "correlation",
    "correlation_penalty",
    "difficulty",
    "disagreement",
    "disagreement_error_ratio",
    "double_fault",
    "entropy",
    "fleiss_kappa",
    "generalised_diversity",
    "interrater_agreement",
    "kappa",
    "kohavi_wolpert",
    "krogh_vedelsby",
    "kuncheva_entropy",
    "label_ambiguity",
    "label_kohavi_wolpert",
    "loss_ambiguity",
    "loss_correlation",
    "multi_information",
    "mutual_information",
    "nmi",
    "nvi",
    "oracle_disagreement",
    "oracle_kappa",
    "pairwise_interaction",
    "q_statistic",
    "same_fault",
    "vote_entropy",
]
