"""How a choice is said: as options of the command line, and as code."""

import inspect
from typing import Any

from secateurs._methods import short_name
from secateurs.problem import Problem
from secateurs.pruners import COMEP, BasePruner, make_pruner
from secateurs.pruners._parameters import is_number

_SAYABLE = {"keep", "diversity_weight", "random_state", "scoring"}  # by options of the command line


def diversity_weight(pruner: BasePruner) -> float | None:
    """Return a method's parameter λ; None without one, or if it is not a number."""
    weight: Any = getattr(pruner, "diversity_weight", None)
    return float(weight) if is_number(weight) else None


def seed_of(pruner: BasePruner) -> int | None:
    """Return the seed of a method that draws; None for 0, with which the command line draws."""
    seed = getattr(pruner, "random_state", None)
    draws = not (isinstance(pruner, COMEP) and pruner.start != "random")
    return seed if isinstance(seed, int) and seed != 0 and draws else None


def named_in_commands(pruner: BasePruner) -> str | None:
    """Return the name of a method on the command line; None where that would be another one."""
    name = short_name(pruner)
    if name is None:
        return None
    given, usual = (one.get_params(deep=False) for one in (pruner, make_pruner(name)))
    same = all(repr(given[key]) == repr(usual[key]) for key in usual if key not in _SAYABLE)
    return name if same else None


def options_of(problem: Problem) -> list[str] | None:
    """Return the options that say what is special of a problem; None if they cannot."""
    scoring = problem.scoring
    usual = scoring.name in ("accuracy", "r2")
    if problem.sample_weight is not None or not (usual or isinstance(scoring.given, str)):
        return None
    options = [] if usual else ["--scoring", scoring.name]
    options += ["--oob"] * problem.oob + ["--refit"] * (problem.refitted is not None)
    weights = {None: [], True: ["--weights"], False: ["--no-weights"]}
    return options + weights[problem.weighing]


def arguments_of(problem: Problem) -> str:
    """Return the arguments of `secateurs.prune` that say what is special of a problem."""
    scoring, told = problem.scoring, {}
    if scoring.name not in ("accuracy", "r2"):
        told["scoring"] = repr(scoring.name) if isinstance(scoring.given, str) else "scoring"
    if problem.sample_weight is not None:
        told["sample_weight"] = "sample_weight"
    flags = {"oob": problem.oob, "refit": problem.refitted is not None, "weights": problem.weighing}
    told |= {name: "True" for name, value in flags.items() if value}
    if problem.weighing is False:
        told["weights"] = "False"
    return "".join(f", {name}={value}" for name, value in told.items())


def call_of(pruner: BasePruner, keep: str | None = None) -> str:
    """Return the code that makes a pruner; with this text for its keep, if there is one."""
    usual = inspect.signature(type(pruner)).parameters
    named = [
        f"{name}={call_of(value) if isinstance(value, BasePruner) else repr(value)}"
        for name, value in pruner.get_params(deep=False).items()
        if repr(value) != repr(usual[name].default) and (keep is None or name != "keep")
    ]
    named = [f"keep={keep}"] * (keep is not None) + named
    return f"{type(pruner).__name__}({', '.join(named)})"
