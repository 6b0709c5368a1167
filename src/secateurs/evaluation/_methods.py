"""Methods to compare: made by their names, and named by what they are."""

import inspect
from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from secateurs.pruners import BasePruner, all_pruners, make_pruner
from secateurs.pruners._base import check_option, is_number
from secateurs.pruners._random_search import resolve_iterations
from secateurs.pruners._selector import as_pruner
from secateurs.pruning import Pruning

FLOOR = "random"
# Rounds of the searches that would otherwise take longer than all other methods together.
MOST_ROUNDS = {"sep": 2000, "pep": 50}
_UNSEEN = ("keep", "random_state", "n_jobs")


def short_name(pruner: BasePruner) -> str | None:
    """Give the name by which `make_pruner` knows a method; None if it does not."""
    known = {kind: name for name, kind in all_pruners().items()}
    return known.get(type(pruner))


def label_of(pruner: BasePruner) -> str:
    """Name a method shortly: its short name, λ where it has one, and what else is not as usual."""
    usual = inspect.signature(type(pruner)).parameters
    words = [short_name(pruner) or type(pruner).__name__]
    for name, value in pruner.get_params(deep=False).items():
        if name == "diversity_weight":
            words.append(f"λ={value:g}" if is_number(value) else f"λ={value}")
        elif name not in _UNSEEN and repr(value) != repr(usual[name].default):
            told = label_of(value) if isinstance(value, BasePruner) else value
            words += f"{name}={told}".split()
    return " ".join(words)


def named_pruners(
    methods: str | Iterable[str | BasePruner], known: Pruning, diversity_weight: Any, seed: int
) -> tuple[dict[str, BasePruner], list[str]]:
    """Make the methods to compare, by their labels, and say what was cut short or left out."""
    everything = isinstance(methods, str)
    if everything:
        check_option("methods", methods, ("all",))
    pruners: dict[str, BasePruner] = {}
    notes = []
    for method in [*(all_pruners() if everything else methods), FLOOR]:
        if isinstance(method, str):
            pruner, note = _named(method, known.ensemble.n_members, diversity_weight)
            pruner.seed(seed)
            notes += note
        else:
            pruner = clone(as_pruner(method))
        if everything and known.votes.has_missing and not pruner.takes_missing:
            notes.append(f"{method} is left out: it cannot work with missing votes.")
            continue
        pruners.setdefault(label_of(pruner), pruner)
    return pruners, list(dict.fromkeys(notes))


def _named(name: str, n_members: int, diversity_weight: Any) -> tuple[BasePruner, list[str]]:
    pruner = make_pruner(name)
    if hasattr(pruner, "diversity_weight"):
        pruner.set_params(diversity_weight=diversity_weight)
    rounds = resolve_iterations("auto", n_members)
    most = MOST_ROUNDS.get(name.lower(), rounds)
    if rounds <= most or not hasattr(pruner, "n_iterations"):
        return pruner, []
    pruner.set_params(n_iterations=most)
    return pruner, [
        f"{name.lower()} made {most:,} rounds of the {rounds:,} it makes by itself; more may "
        "find better sets."
    ]
