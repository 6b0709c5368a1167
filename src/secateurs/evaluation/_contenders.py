"""The methods of a comparison: made by their names, and their parameters in plain values."""

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from secateurs._methods import METHODS, floor
from secateurs.outputs._votes import Votes
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners._base import check_option, label_of
from secateurs.pruners._random_search import resolve_iterations
from secateurs.pruners._selector import as_pruner


def named_pruners(
    methods: str | Iterable[str | BasePruner],
    votes: Votes,
    diversity_weight: Any,
    seed: int,
) -> tuple[dict[str, BasePruner], list[str]]:
    """Return the methods to compare by their labels, with the floor, and notes.

    λ and the seed are for methods given by name. With few members the rounds of random searches
    are limited; where votes are missing, "all" leaves out methods that need every vote.
    """
    everything = isinstance(methods, str)
    if everything:
        check_option("methods", methods, ("all",))
    pruners: dict[str, BasePruner] = {}
    notes = []
    for method in [*(METHODS if everything else methods), floor()]:
        if isinstance(method, str):
            pruner, note = _named(method, votes.n_members, diversity_weight)
            pruner.seed(seed)
            notes += note
        else:
            pruner = clone(as_pruner(method))
        if everything and votes.has_missing and not pruner.takes_missing:
            notes.append(f"{method} is left out: it cannot work with missing votes.")
            continue
        pruners.setdefault(label_of(pruner), pruner)
    return pruners, list(dict.fromkeys(notes))


def parameters_of(pruner: BasePruner) -> dict[str, Any]:
    """Return a pruner's parameters in plain values; what is not plain as Python writes it."""
    return {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
        for name, value in pruner.get_params(deep=False).items()
    }


def _named(name: str, n_members: int, diversity_weight: Any) -> tuple[BasePruner, list[str]]:
    pruner = make_pruner(name)
    if hasattr(pruner, "diversity_weight"):
        pruner.set_params(diversity_weight=diversity_weight)
    rounds, most = resolve_iterations("auto", n_members), pruner.most_rounds
    if most is None or rounds <= most:
        return pruner, []
    pruner.set_params(n_iterations=most)
    return pruner, [
        f"{name.lower()} made {most:,} rounds of the {rounds:,} it makes by itself; more may "
        "find better sets."
    ]
