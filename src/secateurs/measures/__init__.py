"""How alike, how different, how good together: measures of members and ensembles.

Measures of two members are called with two columns of labels, ``kappa(first, second)``, and give
the values of all pairs at once by ``kappa.matrix(votes)`` and their mean by ``kappa.mean(votes)``;
those that ask who is right take the true labels as well: ``double_fault.matrix(votes, y)``.
Measures of an ensemble take the votes (samples × members) and, where they need them, the true
labels. Wherever votes are asked for, a `secateurs.Votes` will do.
"""

from secateurs.measures._ensemble import (
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
from secateurs.measures._information import (
    MultiInformation,
    entropy,
    multi_information,
    mutual_information,
    nmi,
    nvi,
    pairwise_interaction,
)
from secateurs.measures._pairwise import (
    PairMeasure,
    correlation,
    disagreement,
    double_fault,
    kappa,
    oracle_disagreement,
    oracle_kappa,
    q_statistic,
    same_fault,
)
from secateurs.measures._soft import (
    AmbiguityDecomposition,
    correlation_penalty,
    krogh_vedelsby,
    loss_correlation,
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
