"""Refitting and pruned branches in plain Python, from their formulas, for tiny trees."""


def correct(  # noqa: PLR0917
    values, leaves, honest, targets, weights, shrinkage=1.0, max_steps=8
):
    """Return corrected values, losses, and the leave-one-out prediction of each sample."""
    n_trees, n_samples, n_outputs = len(values), len(targets), len(targets[0])
    values = [[list(node) for node in tree] for tree in values]
    # The leave-one-out value of each sample in each tree, followed step by step.
    own = [[list(values[t][leaves[t][i]]) for i in range(n_samples)] for t in range(n_trees)]

    def means(table):
        found = []
        for i in range(n_samples):
            rows = [table[t][i] for t in range(n_trees) if honest[t][i]]
            found.append([sum(c) / len(rows) for c in zip(*rows, strict=True)] if rows else None)
        return found

    def loss(predictions):
        total = error = 0.0
        for i, prediction in enumerate(predictions):
            if prediction is not None:
                total += weights[i]
                error += weights[i] * sum(
                    (y - p) ** 2 for y, p in zip(targets[i], prediction, strict=True)
                )
        return error / total if total else 0.0

    predictions = means(own)
    losses = [loss(predictions)]
    least = 1e-6 * sum(sum(y * y for y in row) for row in targets) / n_samples
    for _ in range(max_steps):
        residuals = [
            [0.0] * n_outputs
            if predictions[i] is None
            else [y - p for y, p in zip(targets[i], predictions[i], strict=True)]
            for i in range(n_samples)
        ]
        new_values = [[list(node) for node in tree] for tree in values]
        new_own = [[list(row) for row in tree] for tree in own]
        for t in range(n_trees):
            for leaf in range(len(values[t])):
                inside = [i for i in range(n_samples) if honest[t][i] and leaves[t][i] == leaf]
                count = sum(weights[i] for i in inside)
                for c in range(n_outputs):
                    total = sum(weights[i] * residuals[i][c] for i in inside)
                    new_values[t][leaf][c] += total / (count + shrinkage)
                    for i in inside:
                        rest = total - weights[i] * residuals[i][c]
                        new_own[t][i][c] += rest / (max(count - weights[i], 0.0) + shrinkage)
        stepped = means(new_own)
        if not loss(stepped) < losses[-1] - least:
            break
        values, own, predictions = new_values, new_own, stepped
        losses.append(loss(stepped))
    return values, losses, predictions


def class_weights(targets, predictions, weights, n_rounds=20_000):
    """Return class weights whose weighted mean prediction of each class is its share.

    Shares of the classes are moved along the predictions until they do not change any more.
    """
    n_classes = len(targets[0])
    if n_classes == 1:
        return [1.0]
    counts = [1.0] * n_classes  # of one sample that is predicted as any other class
    moved = [[float(a != b) / (n_classes - 1) for b in range(n_classes)] for a in range(n_classes)]
    for target, prediction, weight in zip(targets, predictions, weights, strict=True):
        own = target.index(1.0)
        counts[own] += weight
        for c in range(n_classes):
            moved[own][c] += weight * prediction[c]
    shares = [1 / n_classes] * n_classes
    for _ in range(n_rounds):
        new = [
            sum(shares[a] * moved[a][b] / counts[a] for a in range(n_classes))
            for b in range(n_classes)
        ]
        shares = [(old + share) / 2 for old, share in zip(shares, new, strict=True)]
    found = [share / count for share, count in zip(shares, counts, strict=True)]
    return [n_classes * weight / sum(found) for weight in found]


def prunings(left, right, node=0):
    """Yield every pruning of the tree below a node, as a set of nodes that stay split."""
    yield frozenset()
    if left[node] >= 0:
        for a in prunings(left, right, left[node]):
            for b in prunings(left, right, right[node]):
                yield a | b | {node}


def leaf_below(split, path):
    """Return the last node of a path that is not below an unsplit node."""
    for node in path:
        if node not in split:
            return node
    return path[-1]


def paths(left, right):
    """Return, for each node, the nodes from the root to it."""
    found = {0: [0]}
    for node in range(len(left)):
        if left[node] >= 0:
            for child in (left[node], right[node]):
                found[child] = [*found[node], child]
    return found
