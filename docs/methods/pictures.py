"""Illustrations of the methods on one small problem, included by ``{picture} comep``.

The problem has two features, thirty trees and 200 validation samples. Each function is named after
a method and draws one figure; all plotted values are computed by the library itself.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from drawing import (
    BLUE,
    DARK,
    GREY,
    KEEP,
    ORANGE,
    draw_candidates,
    draw_groups,
    draw_samples,
    example_problem,
    fitted_pruner,
    is_correct,
    majority_vote,
    make_axes,
    mean_to_selected,
)

from secateurs import EPFD, ReducedErrorPruner, make_pruner, measures
from secateurs.evaluation.auto_method import CANDIDATES, benchmark_prior
from secateurs.measures import double_fault, kappa, nmi, nvi
from secateurs.objectives import VoteError
from secateurs.outputs.votes import Votes
from secateurs.pruners._kl import _Divergence


def comep():
    """Draw distance to the selected members against relevance, with lines of equal gain."""
    _, votes, y, _ = example_problem()
    order = fitted_pruner("comep").member_indices_
    members, following = order[:4], order[4]
    distance = mean_to_selected(nvi.matrix(votes), members)
    relevance = np.array([nmi(votes[:, member], y) for member in range(votes.shape[1])])
    ax = make_axes(
        "mean distance (NVI) to selected members", "relevance (NMI with the true labels)"
    )
    draw_candidates(ax, distance, relevance, members, following)
    ends = np.array([distance.min(), distance.max()])
    for gain in np.linspace(0.3, 0.7, 9):  # gain = ½ x + ½ (y + mean y of selected) / 2
        line = 4 * gain - 2 * ends - relevance[members].mean()
        ax.plot(ends, line, color="0.85", linewidth=0.8, zorder=0)
    ax.set_ylim(relevance.min() - 0.02, relevance.max() + 0.05)
    ax.legend(fontsize="small")


def domep():
    """Draw the groups, the members selected in each, and the members kept at the end."""
    draw_groups(fitted_pruner("domep", n_groups=3, random_state=0))


def epfd():
    """Draw the same figure as for DOMEP, with reduced-error pruning in the groups."""
    _, votes, y, _ = example_problem()
    draw_groups(EPFD(ReducedErrorPruner(KEEP), n_groups=3, random_state=0).fit(votes, y))


def kl():
    """Draw how often members predict class 1, the only input of the divergence."""
    _, votes, _, _ = example_problem()
    with warnings.catch_warnings(action="ignore"):  # label frequencies are used instead of weights
        order = fitted_pruner("kl").member_indices_
    frequency = votes.mean(axis=0)
    distributions = np.column_stack([1 - frequency, frequency])
    objective = _Divergence(distributions, symmetric=False)
    for member in order[:2]:
        objective.add(int(member))
    ax = make_axes("fraction of samples predicted as class 1", "J with this member added, in nats")
    draw_candidates(ax, frequency, objective.gains(), order[:2], order[2])
    ax.legend(fontsize="small")


def kp():
    """Draw a histogram of the agreement of all pairs, and mark the selected pairs."""
    _, votes, _, _ = example_problem()
    pruner = fitted_pruner("kp")
    values = kappa.matrix(votes)
    pairs = values[np.triu_indices_from(values, 1)]
    ax = make_axes("Cohen's κ of a pair of members", "pairs")
    ax.hist(pairs, bins=40, color=GREY, label="all pairs")
    for index, value in enumerate(np.unique(pruner.scores_)):
        label = None if index else "selected pairs"
        ax.axvline(value, color=BLUE, ymax=0.35, linewidth=2, label=label)
    ax.legend(fontsize="small")


def oo():
    """Draw the reference direction on the samples, and the angles of members to it."""
    signature = 2.0 * is_correct() - 1
    ensemble = signature.mean(axis=1)
    reference = 1 - ensemble.sum() / (ensemble**2).sum() * ensemble
    pruner = fitted_pruner("oo", keep=None)
    left, other = make_axes(columns=2, size=(8, 3.6))
    strength = np.clip(reference, 0, None)
    sizes = 8 + 45 * strength / strength.max()
    draw_samples(
        left, sizes, np.where(reference > 0, ORANGE, GREY), "samples that the reference points to"
    )
    angles = np.degrees(pruner.angles_)
    order = np.argsort(angles)
    is_kept = np.isin(order, pruner.member_indices_)
    other.scatter(np.arange(len(angles)), angles[order], c=np.where(is_kept, BLUE, GREY), s=25)
    other.axhline(90, color=DARK, linewidth=1)
    other.set(xlabel="members, sorted by angle", ylabel="angle to the reference, in degrees")


def re():
    """Draw the errors of the vote with every candidate, step by step."""
    _, votes, y, _ = example_problem()
    order = fitted_pruner("re").member_indices_.tolist()
    objective = VoteError(Votes.encode(votes, y), ties="lowest")
    ax = make_axes("step", "errors of the vote with the candidate, %")
    for step, member in enumerate(order, 1):
        rates = 100 * objective.error_rates(objective.gains())
        remaining = np.setdiff1d(np.arange(len(rates)), order[: step - 1])
        ax.scatter(np.full(len(remaining), step), rates[remaining], color=GREY, s=12)
        ax.scatter(step, rates[member], color=BLUE, s=45, zorder=3)
        objective.add(member)
    ax.scatter([], [], color=GREY, s=12, label="candidates")
    ax.scatter([], [], color=BLUE, s=45, label="added candidate")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")


def oep():
    """Draw the errors along the order of all members, and where the order is cut."""
    full, cut = fitted_pruner("oep", keep=30), fitted_pruner("oep", keep=None)
    ax = make_axes("members, in order of selection", "errors of the vote, %")
    ax.plot(np.arange(1, 31), 100 * full.scores_, color=GREY, marker="o", markersize=4)
    n_kept = len(cut.member_indices_)
    ax.plot(np.arange(1, n_kept + 1), 100 * cut.scores_, color=BLUE, marker="o", label="kept")
    ax.axvline(n_kept + 0.5, color=DARK, linestyle=":", label="cut at the first minimum")
    ax.legend(fontsize="small")


def drep():
    """Draw agreement with the selected members against errors, and shade what is considered."""
    _, votes, y, _ = example_problem()
    order = fitted_pruner("drep").member_indices_.tolist()
    members, following = order[:3], order[3]
    objective = VoteError(Votes.encode(votes, y), ties="lowest")
    for member in members:
        objective.add(member)
    agreement = 1 - measures.disagreement.matrix(votes)[members].mean(axis=0)
    errors = 100 * objective.error_rates(objective.gains())
    remaining = np.setdiff1d(np.arange(len(errors)), members)
    considered = np.sort(agreement[remaining])[: int(np.ceil(0.3 * len(remaining)))]
    ax = make_axes("mean agreement with selected members", "errors of the vote with the member, %")
    others = remaining[remaining != following]
    ax.scatter(agreement[others], errors[others], color=GREY, s=25, label="other members")
    star = {"color": ORANGE, "s": 70, "marker": "*", "zorder": 3}
    ax.scatter(agreement[following], errors[following], **star, label="selected next")
    shade = {"color": BLUE, "alpha": 0.12, "zorder": 0, "label": "considered: the fraction ρ"}
    ax.axvspan(agreement[remaining].min() - 0.01, considered[-1] + 0.002, **shade)
    ax.legend(fontsize="small")


def sep():
    """Draw the errors and the size of the current set, by round."""
    rounds = np.unique(np.geomspace(1, 3000, 25).astype(int))
    pruners = [fitted_pruner("sep", None, n_iterations=int(n), random_state=0) for n in rounds]
    ax = make_axes("rounds", "errors of the vote, %")
    ax.plot(rounds, [100 * pruner.objective_ for pruner in pruners], color=BLUE, label="errors")
    ax.set(xscale="log")
    ax.xaxis.set_major_formatter("{x:g}")
    size = ax.twinx()
    sizes = [len(pruner.member_indices_) for pruner in pruners]
    size.plot(rounds, sizes, color=ORANGE, linestyle="--", label="members")
    size.set(ylabel="members in the set", ylim=(0, 30))
    handles = [ax.get_lines()[0], size.get_lines()[0]]
    ax.legend(handles, ["errors (left)", "members (right)"], fontsize="small")


def pep():
    """Draw the archive, whose sets do not dominate each other, and random sets."""
    pruner = fitted_pruner("pep", None, random_state=0)
    sizes = [len(members) for _, members in pruner.pareto_front_]
    rates = [100 * rate for rate, _ in pruner.pareto_front_]
    rng = np.random.default_rng(0)
    objective = VoteError(Votes.encode(*example_problem()[1:3]), ties="shared")
    ax = make_axes("members", "errors of the vote, %")
    for index in range(300):
        members = rng.permutation(30)[: rng.integers(1, 16)]
        objective.reset(members)
        rate = 100 * objective.error_rates(objective.value)
        ax.plot(len(members), rate, ".", color=GREY, label=None if index else "random sets")
    ax.step(sizes, rates, where="post", color=BLUE, linewidth=1)
    ax.plot(sizes, rates, "o", color=BLUE, label="the archive")
    ax.plot(sizes[-1], rates[-1], "*", color=ORANGE, markersize=11, label="kept")
    ax.legend(fontsize="small")


def joint():
    """Draw own error against error shared with the selected members, with lines of equal sum."""
    order = fitted_pruner("joint").member_indices_
    members, following = order[:3], order[3]
    wrong = (~is_correct()).astype(float)
    shared = 2 * wrong.T @ wrong / len(wrong)  # with two classes, both predict the same wrong label
    own, with_selected = np.diag(shared), mean_to_selected(shared, members)
    ax = make_axes("own squared error G(t, t)", "mean of G(t, s) with selected members")
    draw_candidates(ax, own, with_selected, members, following)
    ends = np.array([own.min(), own.max()])
    for level in np.linspace(0.5, 3.5, 13):  # G(t, t) + 2 · 3 · mean
        ax.plot(ends, (level - ends) / 6, color="0.85", linewidth=0.8, zorder=0)
    ax.set_ylim(with_selected.min() - 0.02, with_selected.max() + 0.02)
    ax.legend(fontsize="small", loc="upper left")


def boost():
    """Draw the weights of samples after the first, third and sixth member."""
    pruner = fitted_pruner("boost")
    panels = make_axes(columns=3, size=(9, 3.2))
    wrong, weights = ~is_correct(), np.ones(200)
    for step, member in enumerate(pruner.member_indices_[:6], 1):
        error = pruner.scores_[step - 1]
        failed = wrong[:, member]
        weights = weights * np.where(failed, 1 / (2 * error), 1 / (2 * (1 - error)))
        weights /= weights.mean()
        if step in {1, 3, 6}:
            ax = panels[(1, 3, 6).index(step)]
            colours = np.where(weights > 1, ORANGE, GREY)
            draw_samples(ax, np.clip(14 * weights, 2, 250), colours, f"weights after step {step}")


def cluster():
    """Draw the distances between all members, sorted by cluster."""
    _, votes, y, _ = example_problem()
    pruner = fitted_pruner("cluster", 5)
    order = np.argsort(pruner.labels_, kind="stable")
    distances = 1 - double_fault.matrix(votes, y)
    np.fill_diagonal(distances, np.nan)
    ax = make_axes("members, sorted by cluster; ticks mark kept members", size=(5.2, 4.4))
    image = ax.imshow(distances[np.ix_(order, order)], cmap="cividis")
    plt.colorbar(image, ax=ax, label="1 − fraction of samples that both get wrong")
    edges = np.cumsum(np.bincount(pruner.labels_)) - 0.5
    for first, last in zip([-0.5, *edges[:-1]], edges, strict=True):
        box = plt.Rectangle(
            (first, first), last - first, last - first, fill=False, edgecolor=ORANGE
        )
        ax.add_patch(box)
    ticks = np.flatnonzero(np.isin(order, pruner.member_indices_))
    ax.set_xticks(ticks, labels=[""] * len(ticks))
    ax.set_yticks(ticks, labels=[""] * len(ticks))
    ax.tick_params(color=BLUE, length=6, width=2)


def pcomep():
    """Draw the front of relevance and diversity, and the set on it that is kept."""
    pruner = fitted_pruner("pcomep", random_state=0)
    front = pruner.pareto_front_
    _, votes, y, _ = example_problem()
    distances = nvi.matrix(votes)
    relevance = np.array([nmi(votes[:, member], y) for member in range(30)])
    rng = np.random.default_rng(0)
    sets = np.array([rng.permutation(30)[:KEEP] for _ in range(400)])
    diversity = [distances[np.ix_(s, s)][np.triu_indices(KEEP, 1)].sum() for s in sets]
    ax = make_axes("diversity: sum of NVI over pairs", "relevance: sum of NMI")
    ax.plot(diversity, relevance[sets].sum(axis=1), ".", color=GREY, label="random sets of 7")
    ax.plot(
        front["diversity"], front["relevance"], "o", color=BLUE, markersize=4, label="the front"
    )
    kept = front[pruner.front_index_]
    ax.plot(kept["diversity"], kept["relevance"], "*", color=ORANGE, markersize=13, label="kept")
    ax.legend(fontsize="small")


def mdm():
    """Draw the margins with the selected members, and the target of the last step."""
    pruner = fitted_pruner("mdm")
    signature = 2.0 * is_correct() - 1
    margins = signature[:, pruner.member_indices_].sum(axis=1) / 30
    first = signature[:, :KEEP].sum(axis=1) / 30
    target = 2 * np.sqrt(2 * KEEP) / 30
    bins = (np.arange(-KEEP - 1, KEEP + 2, 2) + 0.0) / 30
    ax = make_axes("margin of a sample: (right − wrong votes) / n", "samples")
    ax.hist(first, bins=bins, color=GREY, label=f"the first {KEEP} members")
    ax.hist(
        margins, bins=bins, histtype="step", color=BLUE, linewidth=2, label="7 selected members"
    )
    ax.axvline(target, color=ORANGE, linestyle="--", label="target")
    ax.axvline(0, color=DARK, linewidth=0.8)
    ax.legend(fontsize="small", loc="upper left")


def comp():
    """Draw samples that the vote gets wrong, and which of them the next member gets right."""
    _, _, y, _ = example_problem()
    order = fitted_pruner("comp").member_indices_
    members, following = order[:4], order[4]
    failed = majority_vote(members) != y
    helped = failed & is_correct()[:, following]
    panels = make_axes(columns=2, size=(8, 3.6))
    sizes = np.where(failed, 45, 10)
    draw_samples(
        panels[0], sizes, np.where(failed, ORANGE, GREY), "samples that the vote of 4 gets wrong"
    )
    draw_samples(panels[1], sizes, np.where(helped, BLUE, np.where(failed, ORANGE, GREY)),
          "blue: next member is right")  # fmt: skip


def uwa():
    """Draw how split the selected members are on each sample."""
    _, _, y, _ = example_problem()
    order = fitted_pruner("uwa").member_indices_
    members, following = order[:6], order[6]
    fraction = is_correct()[:, members].mean(axis=1)
    weights = np.where(majority_vote(members) == y, 1 - fraction, fraction)
    helped = is_correct()[:, following]
    panels = make_axes(columns=2, size=(8, 3.6))
    sizes = 8 + 110 * weights
    draw_samples(
        panels[0], sizes, np.where(weights > 0, ORANGE, GREY), "weight: where 6 members are split"
    )
    colours = np.where(weights == 0, GREY, np.where(helped, BLUE, ORANGE))
    draw_samples(panels[1], sizes, colours, "blue: next member is right")


def epic():
    """Draw the contribution of a correct vote on each sample, and those of all members."""
    pruner = fitted_pruner("epic")
    n_right = is_correct().sum(axis=1)
    panels = make_axes(columns=2, size=(8, 3.6))
    contribution = np.where(2 * n_right > 30, 30 - n_right, 2 * (30 - n_right) - n_right)
    sizes = 6 + 1.6 * contribution
    draw_samples(
        panels[0], sizes, np.where(2 * n_right > 30, GREY, ORANGE), "contribution of a correct vote"
    )
    order = np.argsort(-pruner.contributions_)
    is_kept = np.isin(order, pruner.member_indices_)
    colours = np.where(is_kept, BLUE, GREY)
    panels[1].bar(np.arange(30), pruner.contributions_[order], color=colours)
    panels[1].set(xlabel="members, sorted by contribution", ylabel="contribution, in votes")


def caruana():
    """Draw the score after each addition, and the resulting weights."""
    _, _, y, probabilities = example_problem()
    pruner = make_pruner("caruana", scoring="neg_brier_score", max_models=30)
    pruner.fit(probabilities, y)
    run = pruner.runs_[0]
    left, other = make_axes("step", "Brier score on validation samples", columns=2, size=(8, 3.6))
    steps = np.arange(1, len(run.scores) + 1)
    left.plot(steps, -np.asarray(run.scores), color=GREY, marker="o", markersize=4)
    best = int(np.argmax(run.scores))
    left.plot(best + 1, -run.scores[best], "*", color=ORANGE, markersize=12, label="best step")
    left.legend(fontsize="small")
    names = [f"member {member}" for member in pruner.member_indices_]
    other.barh(names[::-1], pruner.weights_[::-1], color=BLUE)
    other.set(xlabel="weight")


def es():
    """Draw the accuracy of the vote of the first members."""
    _, _, y, _ = example_problem()
    accuracy = [(majority_vote(range(size)) == y).mean() for size in range(1, 31)]
    ax = make_axes("members, in order of training", "accuracy of the vote so far")
    ax.plot(np.arange(1, 31), accuracy, color=GREY, marker="o", markersize=4)
    kept = fitted_pruner("es").member_indices_ + 1
    ax.plot(kept, np.take(accuracy, kept - 1), "o-", color=BLUE, label="kept")
    ax.legend(fontsize="small")


def best():
    """Draw members sorted by their own accuracy, and mark those kept."""
    accuracy = is_correct().mean(axis=0)
    order = np.argsort(-accuracy, kind="stable")
    is_kept = np.isin(order, fitted_pruner("best").member_indices_)
    ax = make_axes("members, sorted by accuracy", "accuracy of the member alone")
    ax.scatter(np.arange(30), accuracy[order], c=np.where(is_kept, BLUE, GREY), s=35)
    ax.scatter([], [], color=BLUE, label="kept")
    ax.legend(fontsize="small")


def random():
    """Draw the accuracy of many random sets, and that of a selected set."""
    _, votes, y, _ = example_problem()
    accuracies = [
        make_pruner("random", keep=KEEP, random_state=seed).fit(votes, y).score(votes, y)
        for seed in range(400)
    ]
    ax = make_axes("accuracy of the vote of 7 members", "random sets")
    ax.hist(accuracies, bins=np.arange(min(accuracies), max(accuracies) + 0.01, 0.01), color=GREY)
    value = fitted_pruner("joint").score(votes, y)
    ax.axvline(value, color=BLUE, label="7 selected by joint, on the same samples")
    ax.legend(fontsize="small")


def auto():
    """Draw benchmark results by kind of ensemble, as points ahead of the median method."""
    kinds = {"alike": "equally good members", "mixed": "better and worse members"}
    panels = make_axes(columns=2, size=(8, 3.6), sharey=True)
    names = None
    for ax, (kind, title) in zip(panels, kinds.items(), strict=True):
        points = {name: benchmark_prior()[kind]["labels"][name] for name in CANDIDATES}
        names = names or sorted(points, key=points.get)
        values = [points[name] for name in names]
        first = max(points, key=points.get)
        colours = [BLUE if name == first else GREY for name in names]
        ax.barh(names, values, color=colours)
        ax.axvline(0, color=DARK, linewidth=0.8)
        ax.set(xlabel="points ahead of the median method")
        ax.set_title(title, fontsize="medium")
