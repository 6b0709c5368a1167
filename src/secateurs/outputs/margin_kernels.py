"""Compiled loop that scores the mean of margins together with each candidate member."""

import math

from secateurs.outputs.compiling import kernel
from secateurs.outputs.selection_kernels import EPSILON


@kernel
def margin_losses(cells, factors, powers, truth, weights, is_log, totals):  # noqa: PLR0917
    """Sum the weighted log or negative Brier score of the linked mean with each candidate.

    The exponential of a mean margin is the product of ``powers`` (components, samples) of the
    selected members and ``factors[cell]`` of the candidate. With a single component, the mean is
    the margin of the first of two classes against the second.
    """
    n_members, n_components, n_samples = cells.shape
    for member in range(n_members):
        total = 0.0
        for sample in range(n_samples):
            label = truth[sample]
            if n_components == 1:
                odds = powers[0, sample] * factors[cells[member, 0, sample]]
                share = 1.0 / (1.0 + odds)  # of the second class
                of_true = share if label == 1 else 1.0 - share
                loss = -(1.0 - of_true) * (1.0 - of_true)
            else:
                norm, squares, of_true = 0.0, 0.0, 0.0
                for component in range(n_components):
                    share = powers[component, sample] * factors[cells[member, component, sample]]
                    norm += share
                    squares += share * share
                    if component == label:
                        of_true = share
                of_true /= norm
                # Σ (p − 1)² over the classes, where 1 is for the true class only.
                loss = -(squares / (norm * norm) - 2.0 * of_true + 1.0)
            if is_log:
                loss = math.log(min(max(of_true, EPSILON), 1.0 - EPSILON))
            total += weights[sample] * loss
        totals[member] = total
