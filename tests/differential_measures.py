"""Every public measure against its formula, on random votes and probabilities."""

import numpy as np

import naive
from secateurs import measures

PAIRS = ("kappa", "disagreement", "mutual_information", "nmi", "nvi")
ORACLES = (
    *("correlation", "double_fault", "oracle_disagreement"),
    *("oracle_kappa", "q_statistic", "same_fault"),
)
OF_LABELS = ("label_kohavi_wolpert", "fleiss_kappa", "vote_entropy", "label_ambiguity")
OF_RIGHTS = (
    *("kohavi_wolpert", "interrater_agreement", "kuncheva_entropy", "difficulty"),
    *("generalised_diversity", "coincident_failure", "disagreement_error_ratio", "c_bound"),
    *("loss_ambiguity", "multi_information", "pairwise_interaction"),
)
SOFT = ("krogh_vedelsby", "correlation_penalty", "loss_correlation")
NAMES = (*PAIRS, *ORACLES, *OF_LABELS, *OF_RIGHTS, *SOFT, "entropy")
N_TRIED = 6  # measures of a case


def differing(rng, case, votes, y):
    """Return what is wrong with some measures of votes, or None."""
    for name in rng.choice(NAMES, N_TRIED, replace=False):
        found, expected = _compared(rng, str(name), case, votes, y)
        if not _close(found, expected):
            return f"{name} is {found}, not {expected}"
    return None


def _compared(rng, name, case, votes, y):
    """Return a measure's values, and those of its formula."""
    measure, twin = getattr(measures, name), getattr(naive, name)
    if name in PAIRS or name in ORACLES:
        return _of_pairs(rng, name, case, votes, y)
    if name in OF_LABELS:
        return measure(votes), twin(case.votes)
    if name in OF_RIGHTS:
        return measure(votes, y), twin(case.votes, case.y)
    if name in SOFT:
        return _of_outputs(rng, measure, twin)
    return measure(y), twin(case.y)


def _of_pairs(rng, name, case, votes, y):
    """Measure a pair by itself and in the matrix of all, and the mean of all."""
    measure, twin = getattr(measures, name), getattr(naive, name)
    i, j = (int(place) for place in rng.integers(case.n_members, size=2))
    truth, plain = ((y,), {"y": case.y}) if name in ORACLES else ((), {})
    first, second = (np.ma.asanyarray(votes)[:, t] for t in (i, j))
    expected = twin(naive.column(case.votes, i), naive.column(case.votes, j), **plain)
    found = [measure(first, second, *truth), measure.matrix(votes, *truth)[i, j]]
    expected = [expected, expected]
    if case.n_members > 1:
        found.append(measure.mean(votes, *truth))
        expected.append(naive.mean_over_pairs(twin, case.votes, *plain.values()))
    return found, expected


def _of_outputs(rng, measure, twin):
    n_samples, n_members, n_outputs = (int(size) for size in rng.integers([1, 2, 2], 6))
    values = rng.dirichlet(np.ones(n_outputs), (n_samples, n_members))
    given = ()
    if measure is measures.krogh_vedelsby:
        given = (rng.random((n_samples, n_outputs)),)
    elif measure is measures.loss_correlation:
        given = (rng.integers(n_outputs, size=n_samples),)
    return measure(values, *given), twin(values.tolist(), *(part.tolist() for part in given))


def _close(found, expected):
    """Whether numbers, or several of them, agree; None only with None."""
    if found is None or expected is None:
        return found is expected
    if np.ndim(expected) or np.ndim(found):
        same_length = len(found) == len(expected)
        return same_length and all(_close(*pair) for pair in zip(found, expected))
    return bool(np.isclose(float(found), float(expected), rtol=1e-9, atol=1e-9, equal_nan=True))
