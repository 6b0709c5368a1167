"""What each method looks at, drawn from one small problem: ``{picture} comep``.

Thirty trees on two columns and 200 rows to choose on. Every function is named by a method and draws
one figure; all numbers come from the library itself.
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
    axes,
    candidates,
    chosen,
    groups,
    mean_with,
    plane,
    problem,
    right,
    vote_of,
)

from secateurs import EPFD, ReducedErrorPruner, make_pruner, measures
from secateurs.evaluation._auto import CANDIDATES, prior
from secateurs.measures import double_fault, kappa, nmi, nvi
from secateurs.objectives import VoteError
from secateurs.outputs._votes import Votes
from secateurs.pruners._kl import _Divergence


def comep():
    """Distance to those chosen against relevance; lines of equal gain."""
    _, votes, y, _ = problem()
    order = chosen("comep").member_indices_
    members, following = order[:4], order[4]
    apart = mean_with(nvi.matrix(votes), members)
    relevance = np.array([nmi(votes[:, member], y) for member in range(votes.shape[1])])
    ax = axes("mean distance (NVI) to those chosen", "relevance (NMI with the true labels)")
    candidates(ax, apart, relevance, members, following)
    ends = np.array([apart.min(), apart.max()])
    for gain in np.linspace(0.3, 0.7, 9):  # ½ x + ½ (y + mean of those chosen) / 2 is the same
        line = 4 * gain - 2 * ends - relevance[members].mean()
        ax.plot(ends, line, color="0.85", linewidth=0.8, zorder=0)
    ax.set_ylim(relevance.min() - 0.02, relevance.max() + 0.05)
    ax.legend(fontsize="small")


def domep():
    """Members in groups, what each group keeps, and what is kept of the union."""
    groups(chosen("domep", n_groups=3, random_state=0))


def epfd():
    """As DOMEP, around another method."""
    _, votes, y, _ = problem()
    groups(EPFD(ReducedErrorPruner(KEEP), n_groups=3, random_state=0).fit(votes, y))


def kl():
    """How often members say class 1, all that the divergence sees."""
    _, votes, _, _ = problem()
    with warnings.catch_warnings(action="ignore"):  # that label frequencies say little
        order = chosen("kl").member_indices_
    share = votes.mean(axis=0)
    ones = np.column_stack([1 - share, share])
    objective = _Divergence(ones, symmetric=False)
    for member in order[:2]:
        objective.add(int(member))
    ax = axes("share of rows that a member calls class 1", "J after it has joined, in nats")
    candidates(ax, share, objective.gains(), order[:2], order[2])
    ax.legend(fontsize="small")


def kp():
    """Agreement of all pairs; those that brought members in."""
    _, votes, _, _ = problem()
    pruner = chosen("kp")
    values = kappa.matrix(votes)
    pairs = values[np.triu_indices_from(values, 1)]
    ax = axes("Cohen's κ of a pair of members", "pairs")
    ax.hist(pairs, bins=40, color=GREY, label="all pairs")
    for place, value in enumerate(np.unique(pruner.scores_)):
        label = None if place else "pairs that members are taken from"
        ax.axvline(value, color=BLUE, ymax=0.35, linewidth=2, label=label)
    ax.legend(fontsize="small")


def oo():
    """The reference direction, row by row, and the angles of members to it."""
    signature = 2.0 * right() - 1
    ensemble = signature.mean(axis=1)
    reference = 1 - ensemble.sum() / (ensemble**2).sum() * ensemble
    pruner = chosen("oo", keep=None)
    left, other = axes(columns=2, size=(8, 3.6))
    strength = np.clip(reference, 0, None)
    sizes = 8 + 45 * strength / strength.max()
    plane(left, sizes, np.where(reference > 0, ORANGE, GREY), "rows that the reference points to")
    angles = np.degrees(pruner.angles_)
    places = np.argsort(angles)
    kept = np.isin(places, pruner.member_indices_)
    other.scatter(np.arange(len(angles)), angles[places], c=np.where(kept, BLUE, GREY), s=25)
    other.axhline(90, color=DARK, linewidth=1)
    other.set(xlabel="members, by angle", ylabel="angle to the reference, in degrees")


def re():
    """Errors of the vote with every candidate, step by step."""
    _, votes, y, _ = problem()
    order = chosen("re").member_indices_.tolist()
    objective = VoteError(Votes.encode(votes, y), ties="lowest")
    ax = axes("step", "errors of the vote with the candidate, %")
    for step, member in enumerate(order, 1):
        rates = 100 * objective.rates(objective.gains())
        free = np.setdiff1d(np.arange(len(rates)), order[: step - 1])
        ax.scatter(np.full(len(free), step), rates[free], color=GREY, s=12)
        ax.scatter(step, rates[member], color=BLUE, s=45, zorder=3)
        objective.add(member)
    ax.scatter([], [], color=GREY, s=12, label="a candidate")
    ax.scatter([], [], color=BLUE, s=45, label="the one that is added")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")


def oep():
    """The order through all members, and where it is cut."""
    full, cut = chosen("oep", keep=30), chosen("oep", keep=None)
    ax = axes("members in the order of choice", "errors of the vote, %")
    ax.plot(np.arange(1, 31), 100 * full.scores_, color=GREY, marker="o", markersize=4)
    n_kept = len(cut.member_indices_)
    ax.plot(np.arange(1, n_kept + 1), 100 * cut.scores_, color=BLUE, marker="o", label="kept")
    ax.axvline(n_kept + 0.5, color=DARK, linestyle=":", label="cut: the fewest errors, first")
    ax.legend(fontsize="small")


def drep():
    """Agreement with those chosen against errors; only the left share is looked at."""
    _, votes, y, _ = problem()
    order = chosen("drep").member_indices_.tolist()
    members, following = order[:3], order[3]
    objective = VoteError(Votes.encode(votes, y), ties="lowest")
    for member in members:
        objective.add(member)
    agreement = 1 - measures.disagreement.matrix(votes)[members].mean(axis=0)
    errors = 100 * objective.rates(objective.gains())
    free = np.setdiff1d(np.arange(len(errors)), members)
    listed = np.sort(agreement[free])[: int(np.ceil(0.3 * len(free)))]
    ax = axes("mean agreement with those chosen", "errors of the vote with it, %")
    others = free[free != following]
    ax.scatter(agreement[others], errors[others], color=GREY, s=25, label="other members")
    star = {"color": ORANGE, "s": 70, "marker": "*", "zorder": 3}
    ax.scatter(agreement[following], errors[following], **star, label="chosen next")
    ax.axvspan(agreement[free].min() - 0.01, listed[-1] + 0.002, color=BLUE, alpha=0.12, zorder=0,
               label="looked at: the fraction ρ")  # fmt: skip
    ax.legend(fontsize="small")


def sep():
    """Errors and size of the set it holds, as rounds go by."""
    rounds = np.unique(np.geomspace(1, 3000, 25).astype(int))
    found = [chosen("sep", None, n_iterations=int(n), random_state=0) for n in rounds]
    ax = axes("rounds", "errors of the vote, %")
    ax.plot(rounds, [100 * pruner.objective_ for pruner in found], color=BLUE, label="errors")
    ax.set(xscale="log")
    ax.xaxis.set_major_formatter("{x:g}")
    size = ax.twinx()
    sizes = [len(pruner.member_indices_) for pruner in found]
    size.plot(rounds, sizes, color=ORANGE, linestyle="--", label="members")
    size.set(ylabel="members in the set", ylim=(0, 30))
    handles = [ax.get_lines()[0], size.get_lines()[0]]
    ax.legend(handles, ["errors (left)", "members (right)"], fontsize="small")


def pep():
    """The archive: no set has fewer errors and fewer members."""
    pruner = chosen("pep", None, random_state=0)
    sizes = [len(members) for _, members in pruner.pareto_front_]
    rates = [100 * rate for rate, _ in pruner.pareto_front_]
    rng = np.random.default_rng(0)
    objective = VoteError(Votes.encode(*problem()[1:3]), ties="shared")
    ax = axes("members", "errors of the vote, %")
    for place in range(300):
        some = rng.permutation(30)[: rng.integers(1, 16)]
        objective.reset(some)
        rate = 100 * objective.rates(objective.value)
        ax.plot(len(some), rate, ".", color=GREY, label=None if place else "random sets")
    ax.step(sizes, rates, where="post", color=BLUE, linewidth=1)
    ax.plot(sizes, rates, "o", color=BLUE, label="the archive")
    ax.plot(sizes[-1], rates[-1], "*", color=ORANGE, markersize=11, label="kept")
    ax.legend(fontsize="small")


def joint():
    """Own error against the error shared with those chosen; lines of equal gain."""
    order = chosen("joint").member_indices_
    members, following = order[:3], order[3]
    wrong = (~right()).astype(float)
    shared = 2 * wrong.T @ wrong / len(wrong)  # two classes: same wrong label where both are wrong
    own, with_chosen = np.diag(shared), mean_with(shared, members)
    ax = axes("own squared error G(t, t)", "mean of G(t, s) with those chosen")
    candidates(ax, own, with_chosen, members, following)
    ends = np.array([own.min(), own.max()])
    for level in np.linspace(0.5, 3.5, 13):  # G(t, t) + 2 · 3 · mean
        ax.plot(ends, (level - ends) / 6, color="0.85", linewidth=0.8, zorder=0)
    ax.set_ylim(with_chosen.min() - 0.02, with_chosen.max() + 0.02)
    ax.legend(fontsize="small", loc="upper left")


def boost():
    """Weights of rows after the first, third and sixth member."""
    pruner = chosen("boost")
    found = axes(columns=3, size=(9, 3.2))
    wrong, weights = ~right(), np.ones(200)
    for step, member in enumerate(pruner.member_indices_[:6], 1):
        error = pruner.scores_[step - 1]
        failed = wrong[:, member]
        weights = weights * np.where(failed, 1 / (2 * error), 1 / (2 * (1 - error)))
        weights /= weights.mean()
        if step in {1, 3, 6}:
            ax = found[(1, 3, 6).index(step)]
            colours = np.where(weights > 1, ORANGE, GREY)
            plane(ax, np.clip(14 * weights, 2, 250), colours, f"weights after step {step}")


def cluster():
    """Distances of all members, in the order of clusters."""
    _, votes, y, _ = problem()
    pruner = chosen("cluster", 5)
    order = np.argsort(pruner.labels_, kind="stable")
    distances = 1 - double_fault.matrix(votes, y)
    np.fill_diagonal(distances, np.nan)
    ax = axes("members, by cluster; kept ones are marked", size=(5.2, 4.4))
    image = ax.imshow(distances[np.ix_(order, order)], cmap="cividis")
    plt.colorbar(image, ax=ax, label="1 − share of rows that both get wrong")
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
    """The front of relevance and diversity, and the set of it that is kept."""
    pruner = chosen("pcomep", random_state=0)
    front = pruner.pareto_front_
    _, votes, y, _ = problem()
    apart = nvi.matrix(votes)
    relevance = np.array([nmi(votes[:, member], y) for member in range(30)])
    rng = np.random.default_rng(0)
    some = np.array([rng.permutation(30)[:KEEP] for _ in range(400)])
    spread = [apart[np.ix_(s, s)][np.triu_indices(KEEP, 1)].sum() for s in some]
    ax = axes("diversity: sum of NVI over pairs", "relevance: sum of NMI")
    ax.plot(spread, relevance[some].sum(axis=1), ".", color=GREY, label="random sets of 7")
    ax.plot(
        front["diversity"], front["relevance"], "o", color=BLUE, markersize=4, label="the front"
    )
    taken = front[pruner.front_index_]
    ax.plot(taken["diversity"], taken["relevance"], "*", color=ORANGE, markersize=13, label="kept")
    ax.legend(fontsize="small")


def mdm():
    """Margins of the members chosen, and the target of the last step."""
    pruner = chosen("mdm")
    signature = 2.0 * right() - 1
    margins = signature[:, pruner.member_indices_].sum(axis=1) / 30
    first = signature[:, :KEEP].sum(axis=1) / 30
    target = 2 * np.sqrt(2 * KEEP) / 30
    bins = (np.arange(-KEEP - 1, KEEP + 2, 2) + 0.0) / 30
    ax = axes("margin of a row: (right − wrong votes) / n", "rows")
    ax.hist(first, bins=bins, color=GREY, label=f"the first {KEEP} members")
    ax.hist(margins, bins=bins, histtype="step", color=BLUE, linewidth=2, label="the chosen 7")
    ax.axvline(target, color=ORANGE, linestyle="--", label="target")
    ax.axvline(0, color=DARK, linewidth=0.8)
    ax.legend(fontsize="small", loc="upper left")


def comp():
    """Rows that the vote of those chosen gets wrong, and which of them the next gets right."""
    _, _, y, _ = problem()
    order = chosen("comp").member_indices_
    members, following = order[:4], order[4]
    failed = vote_of(members) != y
    helped = failed & right()[:, following]
    found = axes(columns=2, size=(8, 3.6))
    sizes = np.where(failed, 45, 10)
    plane(found[0], sizes, np.where(failed, ORANGE, GREY), "rows that the vote of 4 gets wrong")
    plane(found[1], sizes, np.where(helped, BLUE, np.where(failed, ORANGE, GREY)),
          "of these, the next member gets the blue right")  # fmt: skip


def uwa():
    """How split the chosen members are, row by row."""
    _, _, y, _ = problem()
    order = chosen("uwa").member_indices_
    members, following = order[:6], order[6]
    share = right()[:, members].mean(axis=1)
    weights = np.where(vote_of(members) == y, 1 - share, share)
    helped = right()[:, following]
    found = axes(columns=2, size=(8, 3.6))
    sizes = 8 + 110 * weights
    plane(found[0], sizes, np.where(weights > 0, ORANGE, GREY), "weight: where 6 members are split")
    colours = np.where(weights == 0, GREY, np.where(helped, BLUE, ORANGE))
    plane(found[1], sizes, colours, "the next member gets the blue right")


def epic():
    """What a right vote contributes, by how many members are right."""
    pruner = chosen("epic")
    n_right = right().sum(axis=1)
    found = axes(columns=2, size=(8, 3.6))
    worth = np.where(2 * n_right > 30, 30 - n_right, 2 * (30 - n_right) - n_right)
    sizes = 6 + 1.6 * worth
    plane(
        found[0], sizes, np.where(2 * n_right > 30, GREY, ORANGE), "what a right vote contributes"
    )
    places = np.argsort(-pruner.contributions_)
    kept = np.isin(places, pruner.member_indices_)
    colours = np.where(kept, BLUE, GREY)
    found[1].bar(np.arange(30), pruner.contributions_[places], color=colours)
    found[1].set(xlabel="members, by contribution", ylabel="contribution, in votes")


def caruana():
    """The score after each addition, and the weights that come out."""
    _, _, y, probabilities = problem()
    pruner = make_pruner("caruana", scoring="neg_brier_score", max_models=30)
    pruner.fit(probabilities, y)
    run = pruner.runs_[0]
    left, other = axes("step", "Brier score on the rows", columns=2, size=(8, 3.6))
    steps = np.arange(1, len(run.scores) + 1)
    left.plot(steps, -np.asarray(run.scores), color=GREY, marker="o", markersize=4)
    best = int(np.argmax(run.scores))
    left.plot(best + 1, -run.scores[best], "*", color=ORANGE, markersize=12, label="taken back to")
    left.legend(fontsize="small")
    names = [f"member {member}" for member in pruner.member_indices_]
    other.barh(names[::-1], pruner.weights_[::-1], color=BLUE)
    other.set(xlabel="weight")


def es():
    """The vote of the first members."""
    _, _, y, _ = problem()
    accuracy = [(vote_of(range(size)) == y).mean() for size in range(1, 31)]
    ax = axes("members, in the order they were trained", "accuracy of the vote so far")
    ax.plot(np.arange(1, 31), accuracy, color=GREY, marker="o", markersize=4)
    kept = chosen("es").member_indices_ + 1
    ax.plot(kept, np.take(accuracy, kept - 1), "o-", color=BLUE, label="kept: the first")
    ax.legend(fontsize="small")


def best():
    """Members by their own accuracy; the first are kept."""
    share = right().mean(axis=0)
    places = np.argsort(-share, kind="stable")
    kept = np.isin(places, chosen("best").member_indices_)
    ax = axes("members, by accuracy", "accuracy of the member alone")
    ax.scatter(np.arange(30), share[places], c=np.where(kept, BLUE, GREY), s=35)
    ax.scatter([], [], color=BLUE, label="kept")
    ax.legend(fontsize="small")


def random():
    """Accuracy of many random sets, next to one that was chosen."""
    _, votes, y, _ = problem()
    found = [
        make_pruner("random", keep=KEEP, random_state=seed).fit(votes, y).score(votes, y)
        for seed in range(400)
    ]
    ax = axes("accuracy of the vote of 7 members", "random sets")
    ax.hist(found, bins=np.arange(min(found), max(found) + 0.01, 0.01), color=GREY)
    value = chosen("joint").score(votes, y)
    ax.axvline(value, color=BLUE, label="7 chosen by joint, on the same rows")
    ax.legend(fontsize="small")


def auto():
    """What was measured before: points ahead of the median method, by kind of ensemble."""
    kinds = {"alike": "equally good members", "mixed": "better and worse members"}
    found = axes(columns=2, size=(8, 3.6), sharey=True)
    names = None
    for ax, (kind, title) in zip(found, kinds.items(), strict=True):
        points = {name: prior()[kind]["labels"][name] for name in CANDIDATES}
        names = names or sorted(points, key=points.get)
        values = [points[name] for name in names]
        first = max(points, key=points.get)
        colours = [BLUE if name == first else GREY for name in names]
        ax.barh(names, values, color=colours)
        ax.axvline(0, color=DARK, linewidth=0.8)
        ax.set(xlabel="points ahead of the median method")
        ax.set_title(title, fontsize="medium")
