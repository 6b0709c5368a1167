"""Search for votes on which COMEP and DOMEP are far from the optimum: how tight ½ and ¼ are.

Small tables of votes are drawn at random and changed one entry at a time; a change is kept if the
ratio of the reached value to the optimum (over all sets) does not rise. The start of COMEP and the
number of members are changed too, and for DOMEP two groups and a start in each group. The search is
independent of the package's implementation; only the distances come from the package.
"""

import argparse
import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from secateurs import COMEP, Votes
from secateurs.objectives import TDAS


@dataclass(frozen=True, eq=False)
class Table:
    """Votes (samples × members), labels, λ, number of members to keep, groups (0 or 1) and starts.

    Starts are indices of members, modulo their number: COMEP uses the first start; DOMEP uses the
    first two for its groups and the third for their union.
    """

    votes: np.ndarray
    y: np.ndarray
    weight: float
    keep: int
    groups: np.ndarray
    starts: tuple[int, int, int]

    @property
    def distances(self) -> np.ndarray:
        """TDAC of all pairs."""
        return TDAS(Votes.encode(self.votes, self.y), self.weight).matrix()


def worth(distances: np.ndarray, members: list[int]) -> float:
    """TDAS of a set."""
    return float(distances[np.ix_(members, members)].sum()) / 2


def optimum(distances: np.ndarray, keep: int) -> float:
    """The largest TDAS of any ``keep`` members."""
    return max(worth(distances, list(s)) for s in combinations(range(len(distances)), keep))


def greedy(distances: np.ndarray, members: list[int], keep: int, start: int) -> list[int]:
    """Return members selected greedily by distance; the lowest index wins ties."""
    chosen = [members[start % len(members)]]
    while len(chosen) < min(keep, len(members)):
        sums = distances[:, chosen].sum(axis=1)
        rest = [t for t in members if t not in chosen]
        most = max(sums[rest])
        chosen.append(next(t for t in rest if sums[t] >= most - 1e-12))
    return chosen


def ratio_of_comep(found: Table) -> float:
    """Return the value that greedy search reaches, as a share of the optimum."""
    distances = found.distances
    best = optimum(distances, found.keep)
    members = list(range(len(distances)))
    reached = worth(distances, greedy(distances, members, found.keep, found.starts[0]))
    return reached / best if best > 1e-12 else 1.0


def ratio_of_domep(found: Table) -> float:
    """Return the same share for two groups and their union; the best of the three counts."""
    distances = found.distances
    best = optimum(distances, found.keep)
    sides = [np.flatnonzero(found.groups == side).tolist() for side in (0, 1)]
    if not all(sides) or best <= 1e-12:
        return 1.0
    sets = [
        greedy(distances, side, found.keep, start)
        for side, start in zip(sides, found.starts[:2], strict=True)
    ]
    union = sorted(set(sets[0]) | set(sets[1]))
    sets.append(greedy(distances, union, found.keep, found.starts[2]))
    return max(worth(distances, s) for s in sets if len(s) == found.keep) / best


def drawn(rng: np.random.Generator) -> Table:
    """Return a random table of up to eight members, eight samples and three classes."""
    n_members, n_samples, n_classes = rng.integers(5, 9), rng.integers(2, 9), rng.integers(2, 4)
    return Table(
        rng.integers(n_classes, size=(n_samples, n_members)),
        rng.integers(n_classes, size=n_samples),
        float(rng.choice([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])),
        int(rng.integers(2, n_members - 1)),
        rng.integers(2, size=n_members),
        tuple(rng.integers(100, size=3).tolist()),
    )


def changed(found: Table, rng: np.random.Generator) -> Table:
    """Return a table with a different vote, label, group, λ or number to keep, or other starts."""
    votes, y, groups = found.votes.copy(), found.y.copy(), found.groups.copy()
    n_samples, n_members = votes.shape
    what = rng.integers(10)
    if what < 5:
        votes[rng.integers(n_samples), rng.integers(n_members)] = rng.integers(3)
    elif what == 5:
        y[rng.integers(n_samples)] = rng.integers(3)
    elif what == 6:
        groups[rng.integers(n_members)] ^= 1
    elif what == 7:
        starts = tuple(rng.integers(100, size=3).tolist())
        return replace(found, starts=starts)
    elif what == 8:
        return replace(found, weight=float(np.clip(found.weight + rng.normal(0, 0.1), 0, 1)))
    else:
        return replace(found, keep=int(rng.integers(2, n_members - 1)))
    return replace(found, votes=votes, y=y, groups=groups)


def search(ratio, asked: argparse.Namespace) -> tuple[float, float, Table]:
    """Return the lowest ratio of random tables, the lowest after local search, and its table."""
    rng = np.random.default_rng(asked.seed)
    fixed = {} if asked.weight is None else {"weight": asked.weight}
    fixed |= {} if asked.keep is None else {"keep": asked.keep}
    tables = [replace(drawn(rng), **fixed) for _ in range(10 * asked.starts)]
    scored = sorted(((ratio(t), n) for n, t in enumerate(tables)))
    lowest = (scored[0][0], tables[scored[0][1]])
    for value, number in scored[: asked.starts]:
        now, at = tables[number], value
        for _ in range(asked.steps):
            after = replace(changed(now, rng), **fixed)
            if (then := ratio(after)) <= at:
                now, at = after, then
        lowest = min(lowest, (at, now), key=lambda pair: pair[0])
    return scored[0][0], *lowest


def confirm(found: Table) -> float:
    """Return the ratio of the package's COMEP to the optimum on a table."""
    n_members = found.votes.shape[1]
    start = found.starts[0] % n_members
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about members worse than chance, and about a single class
        pruner = COMEP(found.keep, found.weight, start).fit(found.votes, found.y)
    return float(pruner.objective_) / optimum(found.distances, found.keep)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guarantees", description=__doc__)
    parser.add_argument(
        "--starts", type=int, default=40, help="number of tables that are changed (40)"
    )
    parser.add_argument("--steps", type=int, default=1000, help="changes per table (1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weight", type=float, help="λ (default: changed too)")
    parser.add_argument("--keep", type=int, help="number of kept members (default: changed too)")
    asked = parser.parse_args()
    rows, tables = [], {}
    for name, ratio, proven in (
        ("COMEP", ratio_of_comep, 1 / 2),
        ("DOMEP, two groups", ratio_of_domep, 1 / 4),
    ):
        drawn_lowest, value, found = search(ratio, asked)
        tables[name] = found
        sets = comb(found.votes.shape[1], found.keep)
        rows.append((name, f"{proven:.2f}", f"{drawn_lowest:.4f}", f"{value:.4f}", sets))
    options = " ".join(f"--{name} {v}" for name, v in vars(asked).items() if v is not None)
    print(f"Made by `python -m benchmarks.guarantees {options}`.\n")
    print("| method | proven | worst at random | worst by local search | sets tried |")
    print("|---|---|---|---|---|")
    for row in rows:
        print("|", " | ".join(map(str, row)), "|")
    print(f"\nCOMEP as the package has it, on the same votes: {confirm(tables['COMEP']):.4f}.")
    for name, found in tables.items():
        print(
            f"\n{name}: keep {found.keep}, λ = {found.weight:.3f}, starts {found.starts},", end=" "
        )
        print(f"groups {found.groups.tolist()}, y = {found.y.tolist()}, votes =")
        print(found.votes)


if __name__ == "__main__":
    main()
