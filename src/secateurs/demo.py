"""A forest, pruned by every method: what is gained and what is lost.

Run it by ``make demo`` or ``python -m secateurs.demo``.
"""

import pickle
import time
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from secateurs import COMEP, Votes, all_pruners, make_pruner
from secateurs.collect import votes_of
from secateurs.ensembles import as_ensemble

N_TREES, N_KEEP, SEED = 300, 30, 0
_PEP_ROUNDS = 500  # of 50,000: enough to show, in a few seconds


class Outcome(NamedTuple):
    """What a method made of the forest."""

    name: str
    n_members: int
    accuracy: float
    n_bytes: int
    seconds: float


class Data(NamedTuple):
    """A forest, and votes on rows to choose on and rows to test on."""

    forest: Any
    choose: Votes
    test: Votes


def prepare() -> Data:
    """Train a forest on handwritten digits; half the rows for that, a quarter each for the rest."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=SEED)
    halves = train_test_split(X_rest, y_rest, test_size=0.5, random_state=SEED)
    X_choose, X_test, y_choose, y_test = halves
    forest = RandomForestClassifier(N_TREES, random_state=SEED).fit(X_train, y_train)
    known = as_ensemble(forest)
    return Data(forest, votes_of(known, X_choose, y_choose), votes_of(known, X_test, y_test))


def outcomes(data: Data) -> Iterable[Outcome]:
    """Measure the whole forest, then every method's part of it."""
    yield _outcome("all trees", data, range(N_TREES), 0.0)
    pruners = {name: make_pruner(name, keep=N_KEEP) for name in all_pruners()}
    pruners["pep"].set_params(n_iterations=_PEP_ROUNDS)
    pruners["comep, λ=0.2"] = COMEP(keep=N_KEEP, diversity_weight=0.2)
    for name, pruner in pruners.items():
        pruner.seed(SEED)
        start = time.perf_counter()
        pruner.fit(data.choose)
        seconds = time.perf_counter() - start
        yield _outcome(name, data, pruner.member_indices_, seconds)


def _outcome(name: str, data: Data, members: Iterable[int], seconds: float) -> Outcome:
    kept = [int(member) for member in members]
    right = data.test.is_right(kept)
    n_bytes = len(pickle.dumps([data.forest.estimators_[member] for member in kept]))
    return Outcome(name, len(kept), float(right.mean()), n_bytes, seconds)


def main() -> None:
    """Print what each method keeps of the forest."""
    console = Console()
    data = prepare()
    console.print(
        f"A random forest of {N_TREES} trees on handwritten digits (10 classes): trained on 898 "
        f"rows, pruned to {N_KEEP} trees on {data.choose.n_samples}, tested on "
        f"{data.test.n_samples} others.\n"
    )
    table = Table("method", title="Before and after", title_justify="left")
    for heading in ("trees", "test accuracy", "change", "size", "time to choose"):
        table.add_column(heading, justify="right")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the baselines' weak spots, told in their docstrings
        rows = list(outcomes(data))
    whole = rows[0]
    for row in rows:
        first = row is whole
        table.add_row(
            row.name,
            str(row.n_members),
            f"{row.accuracy:.4f}",
            "" if first else f"{row.accuracy - whole.accuracy:+.4f}",
            f"{row.n_bytes / 1e6:.2f} MB",
            "" if first else f"{row.seconds * 1e3:,.1f} ms",
            end_section=first,
        )
    console.print(table)
    comep = COMEP(keep=N_KEEP).fit(data.choose)
    share = comep.objective_ / comep.upper_bound_
    console.print(
        f"\nCOMEP's {N_KEEP} trees reach at least {share:.1%} of the best value that any "
        f"{N_KEEP} trees can have of what it maximises."
    )
    console.print(
        f"sep and pep keep at most {N_KEEP} trees; pep made {_PEP_ROUNDS} of its 50,000 rounds. "
        "One data set and one split prove nothing: methods differ from set to set."
    )
    console.print("\nNext: prune a model of your own, as the README and examples/ show.")


if __name__ == "__main__":
    main()
