"""The small problem that pictures of methods are drawn from, and what they share."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from secateurs import collect_scores, collect_votes, make_pruner

BLUE, ORANGE, GREY, DARK = "#0072b2", "#d55e00", "0.72", "0.25"
KEEP = 7


@cache
def problem():
    """Return rows, votes (samples × members), true labels, and probabilities."""
    X, y = make_moons(320, noise=0.32, random_state=1)
    tree = DecisionTreeClassifier(max_depth=3)
    trees = BaggingClassifier(tree, 30, max_samples=0.3, random_state=0).fit(X[:120], y[:120])
    return X[120:], collect_votes(trees, X[120:]), y[120:], collect_scores(trees, X[120:])


def chosen(name, keep=KEEP, **parameters):
    """Return a fitted pruner."""
    _, votes, y, _ = problem()
    return make_pruner(name, keep=keep, **parameters).fit(votes, y)


def right():
    """Return where members are right: samples × members."""
    _, votes, y, _ = problem()
    return votes == y[:, None]


def vote_of(members):
    """Return the vote of some members; ties go to the lowest class."""
    _, votes, _, _ = problem()
    return (2 * votes[:, members].sum(axis=1) > len(members)).astype(int)


def axes(xlabel="", ylabel="", columns=1, size=(6, 3.8), **shared):
    """Return axes to draw on."""
    _, found = plt.subplots(1, columns, figsize=size, layout="constrained", **shared)
    first = found if columns == 1 else found[0]
    first.set(xlabel=xlabel, ylabel=ylabel)
    return found


def plane(ax, sizes, colours, title):
    """Draw the rows in the plane, by their true class."""
    X, _, y, _ = problem()
    for label, marker in enumerate("os"):
        of = y == label
        ax.scatter(*X[of].T, s=sizes[of], c=colours[of], marker=marker, linewidths=0, alpha=0.85)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize="medium")


def candidates(ax, x, y, members, following):
    """Draw all members, those chosen with their step, and the next one."""
    others = np.setdiff1d(np.arange(len(x)), [*members, following])
    ax.scatter(x[others], y[others], color=GREY, s=25, label="other members")
    ax.scatter(x[members], y[members], color=BLUE, s=40, label="chosen so far")
    ax.scatter(x[following], y[following], color=ORANGE, s=70, marker="*", label="chosen next")
    for step, member in enumerate(members):
        offset = {"xytext": (5, 3), "textcoords": "offset points"}
        ax.annotate(str(step + 1), (x[member], y[member]), **offset, color=BLUE, fontsize="small")


def mean_with(pairs, members):
    """Return the mean over the chosen members, of a chosen one over the others."""
    apart = np.array(pairs)
    np.fill_diagonal(apart, 0)
    return apart[members].sum(axis=0) / (len(members) - np.isin(np.arange(len(apart)), members))


def groups(pruner):
    """Draw members in groups, those that groups keep, and those kept in the end."""
    share = right().mean(axis=0)
    ax = axes("accuracy of the member alone", "")
    for row, group in enumerate(pruner.groups_):
        kept = np.isin(group, pruner.candidates_[row])
        taken = np.isin(group, pruner.member_indices_)
        ax.scatter(share[group], np.full(len(group), row), color=GREY, s=40)
        ax.scatter(share[group[kept]], np.full(kept.sum(), row), color=BLUE, s=40)
        ring = {"s": 130, "facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.5}
        ax.scatter(share[group[taken]], np.full(taken.sum(), row), **ring)
    for colour, label in ((GREY, "in the group"), (BLUE, "kept by the group")):
        ax.scatter([], [], color=colour, label=label)
    ax.scatter([], [], facecolors="none", edgecolors=ORANGE, label="kept in the end")
    ax.set_yticks(range(3), labels=[f"group {row + 1}" for row in range(3)])
    ax.set_ylim(-0.9, 2.5)
    ax.legend(fontsize="small", ncols=3, loc="lower center")
