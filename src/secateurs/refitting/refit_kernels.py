"""Compiled kernels of refitting: sums over the samples in each leaf, and pruned branches."""

from secateurs.outputs.compiling import kernel


@kernel
def correction_step(  # noqa: PLR0917
    leaves,
    honest,
    offsets,
    residuals,
    sample_weight,
    tree_weights,
    counts,
    shrinkage,
    sums,
    changes,
):
    """Add up residuals per leaf, and the changes of each sample's leave-one-out prediction."""
    n_outputs = residuals.shape[1]
    for tree in range(leaves.shape[0]):
        for sample in range(leaves.shape[1]):
            if honest[tree, sample]:
                node = offsets[tree] + leaves[tree, sample]
                for output in range(n_outputs):
                    sums[node, output] += sample_weight[sample] * residuals[sample, output]
        for sample in range(leaves.shape[1]):
            if honest[tree, sample]:
                node = offsets[tree] + leaves[tree, sample]
                own = sample_weight[sample]
                others = counts[node] - own
                # Not max(), which Numba compiles as a function of its own.
                others = (0.0 if others < 0.0 else others) + shrinkage
                for output in range(n_outputs):
                    rest = sums[node, output] - own * residuals[sample, output]
                    changes[sample, output] += tree_weights[tree] * rest / others


@kernel
def add_leaf_sums(leaves, weights, residuals, sums):
    """Add the weighted residuals of the samples to the sums of their leaves."""
    for sample in range(leaves.size):
        for output in range(residuals.shape[1]):
            sums[leaves[sample], output] += weights[sample] * residuals[sample, output]


@kernel
def subtract_values(leaves, values, residuals):
    """Subtract from each sample's residual the value of its leaf."""
    for sample in range(leaves.size):
        for output in range(residuals.shape[1]):
            residuals[sample, output] -= values[leaves[sample], output]


@kernel
def add_children(left, right, counts, sums):
    """Replace the counts and sums of inner nodes by those of their children."""
    # Children follow their parents, so that the reverse order completes them first.
    for node in range(left.size - 1, -1, -1):
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
            for output in range(sums.shape[1]):
                sums[node, output] = sums[left[node], output] + sums[right[node], output]


@kernel
def best_splits(left, right, leaf_costs, prices, is_split, node_costs):  # noqa: PLR0917
    """Mark the splits of the cheapest pruning of a tree, and fill in the cost of each subtree.

    A node is a leaf with its own cost, or a split with its price and the costs of its children,
    whichever is cheaper; on a tie, a leaf. Children follow their parents.
    """
    for node in range(left.size - 1, -1, -1):
        node_costs[node] = leaf_costs[node]
        is_split[node] = False
        if left[node] >= 0:
            split_cost = node_costs[left[node]] + node_costs[right[node]] + prices[node]
            if split_cost < node_costs[node]:
                node_costs[node] = split_cost
                is_split[node] = True


@kernel
def pruned_leaves(left, right, is_split, leaf_of):
    """Fill in the leaf of the pruned tree above each node; inner nodes are their own; return n."""
    n_nodes = 0
    leaf_of[0] = 0
    for node in range(left.size):
        above = leaf_of[node]
        if above == node:
            n_nodes += 1
        if left[node] >= 0:
            keeps = above == node and is_split[node]
            leaf_of[left[node]] = left[node] if keeps else above
            leaf_of[right[node]] = right[node] if keeps else above
    return n_nodes
