"""Compiled loop that counts the sets of members whose vote is correct."""

from secateurs.outputs.compiling import kernel


@kernel
def count_plurality_wins(patterns, n_classes, binomials, work, wins):
    """Fill in the number of sets of each size whose vote is correct, for each pattern of votes.

    If the true class has ``n_own`` of the drawn votes, lower classes must have fewer and higher
    classes at most as many. The numbers of such sets by size are the coefficients of a product of
    polynomials, one for each class. ``work`` is memory for two polynomials.
    """
    n_cells = work.shape[1]
    for index in range(patterns.shape[0]):
        pattern = patterns[index]
        for n_own in range(1, pattern[0] + 1):
            for size in range(n_cells):
                work[0, size] = 0.0
            work[0, n_own] = binomials[pattern[0], n_own]
            degree = n_own
            for column in range(1, pattern.size):
                count = pattern[column]
                most = count
                if column <= n_classes:
                    most = min(count, n_own - 1)
                elif column <= 2 * n_classes:
                    most = min(count, n_own)
                if count > 0:
                    for size in range(degree + most + 1):
                        total = 0.0
                        for drawn in range(max(0, size - degree), min(most, size) + 1):
                            total += work[0, size - drawn] * binomials[count, drawn]
                        work[1, size] = total
                    degree += most
                    for size in range(degree + 1):
                        work[0, size] = work[1, size]
            for size in range(degree + 1):
                wins[index, size] += work[0, size]
