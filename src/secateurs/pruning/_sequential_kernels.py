"""Compiled loops that find the order in which the members of a panel are asked."""

from secateurs.outputs.compiling import inlined, kernel


@inlined
def is_decided(state, sample, remaining, margin):
    """Return whether the remaining weight cannot change the winner of a sample.

    A rival that can draw level loses the tie if it is a higher class. With a positive ``margin``,
    for weights with rounding errors, it must not even come that close.
    """
    winner = 0
    for label in range(1, state.shape[0]):
        if state[label, sample] > state[winner, sample]:
            winner = label
    for label in range(state.shape[0]):
        if label != winner:
            lead = state[winner, sample] - state[label, sample] - margin
            if lead < remaining or (lead == remaining and (margin > 0 or label < winner)):
                return False
    return True


@kernel
def count_undecided(votes, weights, sample_counts, margin, state, counts):  # noqa: PLR0917
    """Fill in the number of undecided samples after each set of members, by its bit mask.

    ``votes`` (members, classes, samples) are weighted; ``state`` (classes, samples) is passed as
    zeros. Successive sets differ by one member.
    """
    n_members, n_classes, n_samples = votes.shape
    remaining = 0.0
    for member in range(n_members):
        remaining += weights[member]
    asked = 0
    for step in range(counts.size):
        if step > 0:
            member = 0
            while not step >> member & 1:
                member += 1
            asked ^= 1 << member
            sign = 1.0 if asked >> member & 1 else -1.0
            remaining -= sign * weights[member]
            for label in range(n_classes):
                for sample in range(n_samples):
                    state[label, sample] += sign * votes[member, label, sample]
        total = 0
        if asked != counts.size - 1:
            for sample in range(n_samples):
                if not is_decided(state, sample, remaining, margin):
                    total += sample_counts[sample]
        counts[asked] = total


@kernel
def find_best_order(undecided, costs, least, last, order):
    """Fill in the order of asking all members that has the least total cost.

    ``undecided`` is the number of undecided samples after each set of members. ``least`` (the least
    cost of asking a set) and ``last`` (its last member then) are passed as zeros.
    """
    for asked in range(1, undecided.size):
        best = -1.0
        for member in range(costs.size):
            if asked >> member & 1:
                rest = asked ^ (1 << member)
                total = least[rest] + costs[member] * undecided[rest]
                if best < 0.0 or total < best:
                    best = total
                    last[asked] = member
        least[asked] = best
    asked = undecided.size - 1
    for position in range(costs.size - 1, -1, -1):
        order[position] = last[asked]
        asked ^= 1 << order[position]
