"""How a choice is said: as options of the command line, and as code."""

import inspect
from typing import Any, NamedTuple

from secateurs._methods import short_name
from secateurs.distributed import EPFD
from secateurs.problem import Problem
from secateurs.pruners import COMEP, BasePruner, make_pruner
from secateurs.pruners.parameters import is_number

# Parameters that options of the command line say, or that do not change what is chosen.
_EXPRESSIBLE_PARAMETERS = {
    "keep",
    "diversity_weight",
    "random_state",
    "scoring",
    "n_groups",
    "n_jobs",
}


def numeric_diversity_weight(pruner: BasePruner) -> float | None:
    """Return a method's parameter λ; None without one, or if it is not a number."""
    weight: Any = getattr(pruner, "diversity_weight", None)
    return float(weight) if is_number(weight) else None


class CliMethod(NamedTuple):
    """A method as the command line says it.

    Attributes
    ----------
    name : str
        What ``--pruner`` takes.
    options : list of str
        Further options, but for the number of members.
    is_plain : bool
        Whether name, number of members and λ say everything.
    """

    name: str
    options: list[str]
    is_plain: bool


def cli_method(pruner: BasePruner) -> CliMethod | None:
    """Return how the command line says a method; None if it cannot."""
    if type(pruner) is EPFD and pruner.criterion == "accuracy":
        inner = cli_method(pruner.pruner)
        if inner is None or inner.name == "comep":
            return None
        return CliMethod(inner.name, [*inner.options, *_random_options(pruner)], is_plain=False)
    name = short_name(pruner)
    if name is None:
        return None
    given, usual = (one.get_params(deep=False) for one in (pruner, make_pruner(name)))
    if any(
        repr(given[key]) != repr(usual[key]) for key in usual if key not in _EXPRESSIBLE_PARAMETERS
    ):
        return None
    weight, drawing = given.get("diversity_weight"), _random_options(pruner)
    shown = weight if isinstance(weight, str) else f"{weight:g}" if weight is not None else None
    weighted = [] if shown is None else ["--diversity-weight", shown]
    return CliMethod(name, weighted + drawing, is_plain=not drawing)


def _random_options(pruner: BasePruner) -> list[str]:
    """Return the options that say how a method draws; 0 is the seed of the command line."""
    n_groups, seed = getattr(pruner, "n_groups", None), _effective_seed(pruner)
    words = ["--n-groups", str(n_groups)] if isinstance(n_groups, int) else []
    return words if seed in (None, 0) else [*words, "--random-state", str(seed)]


def _effective_seed(pruner: BasePruner) -> int | None:
    """Return the seed of a method that draws: the one given, or the one drawn for it."""
    if isinstance(pruner, COMEP) and pruner.start != "random":
        return None
    seed = getattr(pruner, "random_state", None)
    if seed is None and hasattr(pruner, "random_state"):
        seed = pruner._drawn_seed
    return seed if isinstance(seed, int) else None


def problem_options(problem: Problem, names_weights: bool) -> list[str] | None:
    """Return the options that say what is special of a problem; None if they cannot.

    Weights of rows are a column, which the command already names or which nobody knows.
    """
    scoring = problem.scoring
    usual = scoring.name in ("accuracy", "r2")
    if (problem.sample_weight is not None) != names_weights:
        return None
    if not (usual or isinstance(scoring.given_scorer, str)):
        return None
    options = [] if usual else ["--scoring", scoring.name]
    options += ["--oob"] * problem.oob + ["--refit"] * (problem.refitted is not None)
    weights = {None: [], True: ["--weights"], False: ["--no-weights"]}
    return options + weights[problem.weighing]


def problem_arguments(problem: Problem) -> str:
    """Return the arguments of `secateurs.prune` that say what is special of a problem."""
    scoring, told = problem.scoring, {}
    if scoring.name not in ("accuracy", "r2"):
        told["scoring"] = repr(scoring.name) if isinstance(scoring.given_scorer, str) else "scoring"
    if problem.sample_weight is not None:
        told["sample_weight"] = "sample_weight"
    flags = {"oob": problem.oob, "refit": problem.refitted is not None, "weights": problem.weighing}
    told |= {name: "True" for name, value in flags.items() if value}
    if problem.weighing is False:
        told["weights"] = "False"
    return "".join(f", {name}={value}" for name, value in told.items())


def constructor_call(pruner: BasePruner, keep: str | None = None) -> str:
    """Return the code that makes a pruner; with this text for its keep, if there is one."""
    usual = inspect.signature(type(pruner)).parameters
    given = pruner.get_params(deep=False)
    if "random_state" in given and given["random_state"] is None:
        given["random_state"] = _effective_seed(pruner)
    named = [
        f"{name}={constructor_call(value) if isinstance(value, BasePruner) else repr(value)}"
        for name, value in given.items()
        if repr(value) != repr(usual[name].default) and (keep is None or name != "keep")
    ]
    named = [f"keep={keep}"] * (keep is not None) + named
    return f"{type(pruner).__name__}({', '.join(named)})"
