"""Prune branches of the kept trees, so that the ensemble fits into a number of nodes.

The average of the trees shall stay close to a target, as in refitting. With the other trees fixed,
the loss is a sum over the leaves of one tree. The best pruning of the tree, together with its leaf
values, is therefore found exactly in one pass from the leaves to the root: a node becomes a leaf if
that costs less than its two subtrees and the price of the split. The price rises until the nodes
meet the budget. Splits that were removed can come back while other trees change.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from sklearn.tree._tree import Tree

from secateurs.ensembles import Ensemble
from secateurs.ensembles.decision_trees import with_pruned_branches
from secateurs.progress import open_stage
from secateurs.refitting._imitation import Imitation, make_imitation
from secateurs.refitting.refit import RefitTask
from secateurs.refitting.refit_kernels import (
    add_children,
    add_leaf_sums,
    best_splits,
    pruned_leaves,
    subtract_values,
)
from secateurs.typing import BoolArray, FloatArray, IndexArray

Price: TypeAlias = Literal["nodes", "steps"]

# The price rises by this factor, with this many sweeps over the trees at each price. Far above the
# budget, it rises by the square of the factor.
_FACTOR, _N_SWEEPS = 1.5, 2
_FAR = 3.0
_N_BISECTIONS = 3
_N_FINAL_SWEEPS = 6
# The first price is 1 % of the loss of a constant prediction, divided by the number of splits: it
# removes few splits that matter.
_FIRST_SHARE = 0.01
# A step of a sample costs time wherever it is taken, so that with a limit on the latency, a split
# that all samples pass costs 51 times as much as one that almost none pass.
_STEP_PRICE = 50.0
# Numbers of trees that are tried. With leaves that are distributions, few nodes in many trees make
# the average too timid: on eight data sets, 40 trees were best with 10 % of the nodes of 200 trees,
# 20 with 5 %, and 10 with 2.5 % and 1 % (docs/decisions/0022).
N_TREES = (5, 10, 20, 40)
LEAST_NODES = 3  # of a tree with a split


@dataclass
class PrunedTree:
    """A tree with pruned branches, by the nodes of the original tree."""

    is_split: BoolArray  # for each node; splits below a leaf of the pruned tree do not count
    leaf_of: IndexArray  # the leaf of the pruned tree above each node; inner nodes are their own
    values: FloatArray  # for each node, the value of that leaf: (n_nodes, n_outputs)
    n_nodes: int


class BranchPruner:
    """Prunes the branches of trees against the objective of refitting."""

    def __init__(
        self, trees: Sequence[Tree], imitation: Imitation, prior: float, price: Price = "nodes"
    ) -> None:
        self._imitation, self._prior = imitation, prior
        self._structure = [(tree.children_left, tree.children_right) for tree in trees]
        # k · target minus the sum of the trees' predictions, kept up to date.
        self._residuals = len(trees) * imitation.target
        self._weights, self._prices, self._shares = [], [], []
        self.trees: list[PrunedTree] = []
        for (left, right), leaves, start in zip(
            self._structure, imitation.leaves, imitation.start, strict=True
        ):
            weights = np.bincount(leaves, imitation.weights, len(start))
            add_children(left, right, weights, np.zeros((len(start), 1)))
            self._weights.append(weights)
            counts = np.bincount(leaves, minlength=len(start)).astype(float)
            add_children(left, right, counts, np.zeros((len(start), 1)))
            share = counts / max(counts[0], 1.0)
            self._shares.append(share)
            self._prices.append(1 + _STEP_PRICE * share if price == "steps" else np.ones(len(left)))
            is_split = left >= 0
            leaf_of = np.empty(len(left), dtype=np.intp)
            n_nodes = pruned_leaves(left, right, is_split, leaf_of)
            self.trees.append(PrunedTree(is_split, leaf_of, start.copy(), n_nodes))
            subtract_values(leaves, start, self._residuals)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees; trees without a split are left out."""
        counts = [tree.n_nodes for tree in self.trees]
        return sum(count for count in counts if count > 1) or 1

    @property
    def n_steps(self) -> float:
        """Mean number of splits that a sample passes in all trees together."""
        return sum(
            float(share[tree.is_split & (tree.leaf_of == np.arange(len(share)))].sum())
            for tree, share in zip(self.trees, self._shares, strict=True)
        )

    def objective(self, price: float) -> float:
        """Return k² times the objective of refitting, plus the price of all splits."""
        total = float(self._imitation.weights @ np.square(self._residuals).sum(axis=1))
        for tree, start, prices in zip(
            self.trees, self._imitation.start, self._prices, strict=True
        ):
            own = tree.leaf_of == np.arange(len(tree.leaf_of))
            is_leaf = own & ~tree.is_split
            total += self._prior * float(np.square(tree.values - start)[is_leaf].sum())
            total += price * float(prices[own & tree.is_split].sum())
        return total

    def sweep(self, price: float) -> None:
        """Find the best pruning of each tree in turn, with the other trees fixed."""
        for index in range(len(self.trees)):
            self._prune_tree(index, price)

    def _prune_tree(self, index: int, price: float | None) -> None:
        """Find the best pruning and leaf values of a tree; without a price, values only."""
        (left, right), old = self._structure[index], self.trees[index]
        leaves, start = self._imitation.leaves[index], self._imitation.start[index]
        weights = self._weights[index][:, None]
        sums = np.zeros_like(start)
        add_leaf_sums(leaves, self._imitation.weights, self._residuals, sums)
        sums += np.where((left < 0)[:, None], weights * old.values, 0.0)
        add_children(left, right, np.zeros(len(left)), sums)
        wanted, total = sums + self._prior * start, weights + self._prior
        values = self._imitation.limits[index].nearest(wanted / total)
        is_split, leaf_of, n_nodes = old.is_split, old.leaf_of, old.n_nodes
        if price is not None:
            # The loss of a leaf, without the part that is the same for all prunings.
            costs = (total * values**2 - 2 * values * wanted + self._prior * start**2).sum(axis=1)
            is_split, leaf_of = np.empty_like(is_split), np.empty_like(leaf_of)
            best_splits(
                left, right, costs, price * self._prices[index], is_split, np.empty(len(left))
            )
            n_nodes = pruned_leaves(left, right, is_split, leaf_of)
        expanded = values[leaf_of]
        subtract_values(leaves, expanded - old.values, self._residuals)
        self.trees[index] = PrunedTree(is_split, leaf_of, expanded, n_nodes)

    def fit_budget(self, max_nodes: float, max_steps: float = np.inf) -> None:
        """Raise the price of splits until the trees are within limits of nodes and steps."""
        n_splits = sum(int((tree.n_nodes - 1) / 2) for tree in self.trees)
        spread = self._imitation.target - self._imitation.target.mean(axis=0)
        constant_loss = float(
            self._imitation.weights @ np.square(len(self.trees) * spread).sum(axis=1)
        )
        price = _FIRST_SHARE * constant_loss / max(1, n_splits)
        price = max(price, np.finfo(float).tiny)
        low = 0.0
        while (excess := self._sweep_at(price, max_nodes, max_steps)) > 1:
            low = price
            price *= _FACTOR ** (2 if excess > _FAR else 1)
            if self.n_nodes == 1:  # no split is left, so that no higher price helps
                break
        best, high = self._state(), price
        for _ in range(_N_BISECTIONS if low else 0):
            price = (low * high) ** 0.5
            if self._sweep_at(price, max_nodes, max_steps) <= 1:
                best, high = self._state(), price
            else:
                low = price
        self.trees, self._residuals = best
        for _ in range(_N_FINAL_SWEEPS):
            for index in range(len(self.trees)):
                self._prune_tree(index, None)

    def _sweep_at(self, price: float, max_nodes: float, max_steps: float) -> float:
        """Sweep at a price; return the size as a multiple of what is allowed."""
        for _ in range(_N_SWEEPS):
            self.sweep(price)
        return max(self.n_nodes / max_nodes, self.n_steps / max_steps)

    def _state(self) -> tuple[list[PrunedTree], FloatArray]:
        return list(self.trees), self._residuals.copy()

    def folded_trees(self) -> dict[int, PrunedTree]:
        """Return the trees that have a split; the others are added to the values of these."""
        split = [index for index, tree in enumerate(self.trees) if tree.n_nodes > 1]
        if not split:
            split = [0]
        n_trees, n_kept = len(self.trees), len(split)
        rest = sum(
            (tree.values[0] for index, tree in enumerate(self.trees) if index not in split),
            np.zeros(self._imitation.target.shape[1]),
        )
        folded = {}
        for index in split:
            tree = self.trees[index]
            values = (n_kept * tree.values + rest) / n_trees
            if self._imitation.limits[index].classes is not None:
                values = np.clip(values, 0.0, 1.0)  # removes rounding
            folded[index] = PrunedTree(tree.is_split, tree.leaf_of, values, tree.n_nodes)
        return folded


@dataclass(frozen=True, eq=False)
class PrunedBranches:
    """Trees with pruned branches, and their mean squared distance to the imitated ensemble."""

    members: list[int]  # of the original ensemble; trees without a split are left out
    trees: list[PrunedTree]
    distance: float  # on synthetic samples that were not fitted

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(tree.n_nodes for tree in self.trees)

    def apply_to(self, ensemble: Ensemble) -> Ensemble:
        """Return a copy of the ensemble in which these trees are replaced."""
        members = list(ensemble.members)
        for member, tree in zip(self.members, self.trees, strict=True):
            values = tree.values
            if not ensemble.is_regression:
                values = values[:, ensemble.member_class_indices(member)]
            members[member] = with_pruned_branches(members[member], tree.is_split, values)
        changed = copy.copy(ensemble)
        changed.members, changed.weights = members, None
        return changed


@dataclass(frozen=True)
class BranchLimits:
    """The limits of trees with pruned branches, by the number of trees."""

    max_nodes: Callable[[int], float]
    # Mean number of splits that a sample passes in all trees together, if the latency is limited.
    max_steps: Callable[[int], float] | None = None
    counts: Sequence[int] = (1, *N_TREES)  # numbers of trees that are tried

    @property
    def price(self) -> Price:
        """What makes a split expensive."""
        return "nodes" if self.max_steps is None else "steps"

    def for_trees(self, n_trees: int) -> tuple[float, float]:
        """Return the nodes and the steps that a number of trees may have."""
        return self.max_nodes(n_trees), self.max_steps(n_trees) if self.max_steps else np.inf


def prune_branches(
    task: RefitTask, order: Sequence[int], limits: BranchLimits
) -> PrunedBranches | None:
    """Return the trees with pruned branches that are within limits and imitate the teacher best.

    ``order`` are the members in the order of selection, of which the first ones are tried. None if
    no trees with a split each are within the limits.
    """
    counts = sorted({min(n_trees, len(order)) for n_trees in limits.counts})
    allowed = []
    for n_trees in counts:
        n_nodes, n_steps = limits.for_trees(n_trees)
        if n_nodes >= LEAST_NODES * n_trees and n_steps >= n_trees:
            allowed.append(n_trees)
    candidates = []
    with open_stage("pruning branches", len(allowed)) as stage:
        for n_trees in allowed:
            candidates.append(_prune_first(task, order[:n_trees], limits))
            stage.step()
    return min(candidates, key=lambda pruned: pruned.distance, default=None)


def _prune_first(task: RefitTask, members: Sequence[int], limits: BranchLimits) -> PrunedBranches:
    imitation = make_imitation(task.teacher, members, task.samples)
    trees = [task.ensemble.members[member].tree_ for member in members]
    pruner = BranchPruner(trees, imitation, task.prior, limits.price)
    pruner.fit_budget(*limits.for_trees(len(members)))
    folded = pruner.folded_trees()
    kept = [members[index] for index in folded]
    values = [tree.values for tree in folded.values()]
    return PrunedBranches(kept, list(folded.values()), task.distance(kept, values))


def pruned_node_count(
    ensemble: Ensemble, refitted: Ensemble | None, members: Sequence[int]
) -> int | None:
    """Return the number of nodes of trees with pruned branches; None if they were not pruned."""
    if refitted is None:
        return None
    before, after = (
        sum(changed.members[member].tree_.node_count for member in members)
        for changed in (ensemble, refitted)
    )
    return after if after < before else None
