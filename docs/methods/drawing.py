"""The example problem and the helper functions of the illustrations of methods."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from secateurs import collect_predictions, collect_votes, make_pruner

BLUE, ORANGE, GREY, DARK = "#0072b2", "#d55e00", "0.72", "0.25"
KEEP = 7


@cache
def example_problem():
    """Return validation samples, votes (samples × members), true labels and probabilities."""
    X, y = make_moons(320, noise=0.32, random_state=1)
    tree = DecisionTreeClassifier(max_depth=3)
    trees = BaggingClassifier(tree, 30, max_samples=0.3, random_state=0).fit(X[:120], y[:120])
    return X[120:], collect_votes(trees, X[120:]), y[120:], collect_predictions(trees, X[120:])


def fitted_pruner(name, keep=KEEP, **parameters):
    """Return a pruner that is fitted on the votes of the example problem."""
    _, votes, y, _ = example_problem()
    return make_pruner(name, keep=keep, **parameters).fit(votes, y)


def is_correct():
    """Return a boolean array (samples × members) of correct predictions."""
    _, votes, y, _ = example_problem()
    return votes == y[:, None]


def majority_vote(members):
    """Return the majority vote of the given members; ties go to the lowest class."""
    _, votes, _, _ = example_problem()
    return (2 * votes[:, members].sum(axis=1) > len(members)).astype(int)


def make_axes(xlabel="", ylabel="", columns=1, size=(6, 3.8), **shared):
    """Create a figure and return its axes."""
    _, created = plt.subplots(1, columns, figsize=size, layout="constrained", **shared)
    first = created if columns == 1 else created[0]
    first.set(xlabel=xlabel, ylabel=ylabel)
    return created


def draw_samples(ax, sizes, colours, title):
    """Draw the samples, with a marker for each true class."""
    X, _, y, _ = example_problem()
    for label, marker in enumerate("os"):
        in_class = y == label
        style = {"marker": marker, "linewidths": 0, "alpha": 0.85}
        ax.scatter(*X[in_class].T, s=sizes[in_class], c=colours[in_class], **style)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize="medium")


def draw_candidates(ax, x, y, members, following):
    """Draw all members; number the selected members by step and mark the next one."""
    others = np.setdiff1d(np.arange(len(x)), [*members, following])
    ax.scatter(x[others], y[others], color=GREY, s=25, label="other members")
    ax.scatter(x[members], y[members], color=BLUE, s=40, label="selected so far")
    ax.scatter(x[following], y[following], color=ORANGE, s=70, marker="*", label="selected next")
    for step, member in enumerate(members):
        offset = {"xytext": (5, 3), "textcoords": "offset points"}
        ax.annotate(str(step + 1), (x[member], y[member]), **offset, color=BLUE, fontsize="small")


def mean_to_selected(pairs, members):
    """Return the mean of each member's pairs with the selected members, itself excluded."""
    off_diagonal = np.array(pairs)
    np.fill_diagonal(off_diagonal, 0)
    n_pairs = len(members) - np.isin(np.arange(len(off_diagonal)), members)
    return off_diagonal[members].sum(axis=0) / n_pairs


def draw_groups(pruner):
    """Draw members by group; mark those selected in their group and those kept at the end."""
    accuracy = is_correct().mean(axis=0)
    ax = make_axes("accuracy of the member alone", "")
    for row, group in enumerate(pruner.groups_):
        is_selected = np.isin(group, pruner.candidates_[row])
        is_kept = np.isin(group, pruner.member_indices_)
        ax.scatter(accuracy[group], np.full(len(group), row), color=GREY, s=40)
        ax.scatter(accuracy[group[is_selected]], np.full(is_selected.sum(), row), color=BLUE, s=40)
        ring = {"s": 130, "facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.5}
        ax.scatter(accuracy[group[is_kept]], np.full(is_kept.sum(), row), **ring)
    for colour, label in ((GREY, "in the group"), (BLUE, "selected in the group")):
        ax.scatter([], [], color=colour, label=label)
    ax.scatter([], [], facecolors="none", edgecolors=ORANGE, label="kept at the end")
    ax.set_yticks(range(3), labels=[f"group {row + 1}" for row in range(3)])
    ax.set_ylim(-0.9, 2.5)
    ax.legend(fontsize="small", ncols=3, loc="lower center")
