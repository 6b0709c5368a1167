"""Compiled loops that score panels: all of them in Gray-code order, or changes of one panel."""

from secateurs.outputs.compiling import inlined, kernel


@inlined
def add_margins(state, margins, sign):
    """Add a member's margins to the state of a panel, or subtract them with sign −1."""
    for row in range(state.shape[0]):
        for sample in range(state.shape[1]):
            state[row, sample] += sign * margins[row, sample]


@inlined
def correct_weight(state, sample_weights, lowest):
    """Return the total weight of the samples without a negative row; ``lowest`` is memory."""
    for sample in range(state.shape[1]):
        lowest[sample] = state[0, sample]
    for row in range(1, state.shape[0]):
        for sample in range(state.shape[1]):
            lowest[sample] = min(lowest[sample], state[row, sample])
    total = 0
    for sample in range(state.shape[1]):
        total += sample_weights[sample] if lowest[sample] >= 0 else 0
    return total


@kernel
def score_all_panels(margins, state, sample_weights, lowest, scores):
    """Fill in the total weight of the samples that each panel predicts correctly.

    ``margins`` (members, rows, samples) is what a member adds to the rows of a sample. The vote is
    correct where no row of ``state`` is negative; it is passed as the state without members.
    ``scores`` has a cell for each bit mask of members. Successive panels differ by one member, so
    that each takes one addition per row and sample.
    """
    panel = 0
    for step in range(1, scores.size):
        member = 0
        while not step >> member & 1:
            member += 1
        panel ^= 1 << member
        add_margins(state, margins[member], 1 if panel >> member & 1 else -1)
        scores[panel] = correct_weight(state, sample_weights, lowest)


@kernel
def score_changed_panels(  # noqa: PLR0917
    margins, state, sample_weights, lowest, added, dropped, scores
):
    """Fill in the scores of panels that differ from one panel, whose ``state`` is given.

    An index of −1 stands for no member added, or no member dropped.
    """
    for index in range(scores.size):
        if added[index] >= 0:
            add_margins(state, margins[added[index]], 1)
        if dropped[index] >= 0:
            add_margins(state, margins[dropped[index]], -1)
        scores[index] = correct_weight(state, sample_weights, lowest)
        if added[index] >= 0:
            add_margins(state, margins[added[index]], -1)
        if dropped[index] >= 0:
            add_margins(state, margins[dropped[index]], 1)


@kernel
def sum_all_panels(products, sums):
    """Fill in the sum of the products of all pairs of members of each panel, by its bit mask.

    ``sums`` is passed as zeros. A panel adds its last member to a panel with a lower bit mask.
    """
    for panel in range(1, sums.size):
        last = 0
        while panel >> last > 1:
            last += 1
        rest = panel ^ (1 << last)
        total = products[last, last]
        for member in range(last):
            if rest >> member & 1:
                total += 2 * products[last, member]
        sums[panel] = sums[rest] + total
