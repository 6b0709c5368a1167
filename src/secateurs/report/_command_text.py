"""Write the command-line options and the Python code that repeat a pruning."""

import inspect
from typing import NamedTuple

from secateurs._methods import short_name
from secateurs.distributed import EPFD
from secateurs.problem import Problem
from secateurs.pruners import COMEP, BasePruner, make_pruner
from secateurs.pruners.parameters import is_number

# Parameters that have a command-line option, or that do not change which members are selected.
_EXPRESSIBLE_PARAMETERS = {
    "keep",
    "diversity_weight",
    "random_state",
    "scoring",
    "n_groups",
    "n_jobs",
}


def numeric_diversity_weight(pruner: BasePruner) -> float | None:
    """Return a method's parameter λ; None if it has none, or if it is not a number."""
    weight = getattr(pruner, "diversity_weight", None)
    return float(weight) if is_number(weight) else None


class CliMethod(NamedTuple):
    """A method as options of the command line."""

    name: str  # value of --pruner
    options: list[str]  # further options, without the number of members
    is_plain: bool  # whether name, number of members and λ describe the method completely


def cli_method(pruner: BasePruner) -> CliMethod | None:
    """Return the command-line options of a method; None if they cannot express it."""
    if type(pruner) is EPFD and pruner.criterion == "accuracy":
        inner = cli_method(pruner.pruner) if isinstance(pruner.pruner, BasePruner) else None
        # The command line turns comep with --n-groups into DOMEP.
        if inner is None or inner.name == "comep":
            return None
        return CliMethod(inner.name, [*inner.options, *_random_options(pruner)], is_plain=False)
    name = short_name(pruner)
    if name is None:
        return None
    values, defaults = (p.get_params(deep=False) for p in (pruner, make_pruner(name)))
    if any(
        repr(values[key]) != repr(defaults[key])
        for key in defaults
        if key not in _EXPRESSIBLE_PARAMETERS
    ):
        return None
    weight, random_options = values.get("diversity_weight"), _random_options(pruner)
    text = weight if isinstance(weight, str) else f"{weight:g}" if weight is not None else None
    weight_options = [] if text is None else ["--diversity-weight", text]
    return CliMethod(name, weight_options + random_options, is_plain=not random_options)


def _random_options(pruner: BasePruner) -> list[str]:
    """Return the options for the number of groups and the seed; 0 is the default seed."""
    n_groups, seed = getattr(pruner, "n_groups", None), _effective_seed(pruner)
    words = ["--n-groups", str(n_groups)] if isinstance(n_groups, int) else []
    return words if seed in (None, 0) else [*words, "--random-state", str(seed)]


def _effective_seed(pruner: BasePruner) -> int | None:
    """Return the seed of a random method: its parameter, or the seed that was drawn for it."""
    if isinstance(pruner, COMEP) and pruner.start != "random":
        return None
    seed = getattr(pruner, "random_state", None)
    if seed is None and hasattr(pruner, "random_state"):
        seed = pruner._drawn_seed
    return seed if isinstance(seed, int) else None


def is_missing_rule_given(problem: Problem) -> bool:
    """Return whether missing predictions have another meaning than by default."""
    default = "wrong" if problem.has_only_predictions else "ignore"
    return problem.predictions.has_missing and problem.missing_rule != default


def problem_options(problem: Problem, names_weights: bool) -> list[str] | None:
    """Return the options for everything but the method; None if they cannot express it.

    Sample weights are a column of a file, so they can be expressed only if the command names it.
    """
    scoring = problem.scoring
    is_default = scoring.name in ("accuracy", "r2")
    if (problem.sample_weight is not None) != names_weights:
        return None
    if not (is_default or isinstance(scoring.given_scorer, str)):
        return None
    options = [] if is_default else ["--scoring", scoring.name]
    options += ["--oob"] * problem.oob + ["--refit"] * (problem.refitted is not None)
    if is_missing_rule_given(problem):
        options += ["--missing", problem.missing_rule]
    weights = {None: [], True: ["--weights"], False: ["--no-weights"]}
    return options + weights[problem.weighing]


def problem_arguments(problem: Problem) -> str:
    """Return the arguments of `secateurs.prune` that differ from its defaults, as code."""
    scoring, arguments = problem.scoring, {}
    if scoring.name not in ("accuracy", "r2"):
        is_named = isinstance(scoring.given_scorer, str)
        arguments["scoring"] = repr(scoring.name) if is_named else "scoring"
    if problem.sample_weight is not None:
        arguments["sample_weight"] = "sample_weight"
    flags = {"oob": problem.oob, "refit": problem.refitted is not None, "weights": problem.weighing}
    arguments |= {name: "True" for name, value in flags.items() if value}
    if problem.weighing is False:
        arguments["weights"] = "False"
    if is_missing_rule_given(problem):
        arguments["missing"] = repr(problem.missing_rule)
    return "".join(f", {name}={value}" for name, value in arguments.items())


def constructor_call(pruner: BasePruner, keep: str | None = None) -> str:
    """Return the code that creates a pruner; ``keep`` replaces the value of its ``keep``."""
    defaults = inspect.signature(type(pruner)).parameters
    values = pruner.get_params(deep=False)
    if "random_state" in values and values["random_state"] is None:
        values["random_state"] = _effective_seed(pruner)
    arguments = [
        f"{name}={constructor_call(value) if isinstance(value, BasePruner) else repr(value)}"
        for name, value in values.items()
        if repr(value) != repr(defaults[name].default) and (keep is None or name != "keep")
    ]
    arguments = [f"keep={keep}"] * (keep is not None) + arguments
    return f"{type(pruner).__name__}({', '.join(arguments)})"
