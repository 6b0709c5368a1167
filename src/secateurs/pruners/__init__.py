"""Pruning methods, one per file; the registry ``secateurs._methods`` lists them."""

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from secateurs._methods import METHODS, MethodTraits, UserMethod
from secateurs.exceptions import InputError, suggest_similar
from secateurs.pruners.base import BasePruner as BasePruner
from secateurs.pruners.parameters import check_option
from secateurs.pruners.selector import SelectorPruner as SelectorPruner
from secateurs.text_format import format_list

if TYPE_CHECKING:  # for editors and type checkers only; methods are imported on first use
    from secateurs.pruners._best_members import BestMembersPruner as BestMembersPruner
    from secateurs.pruners._boosting import BoostingPruner as BoostingPruner
    from secateurs.pruners._cluster import ClusterPruner as ClusterPruner
    from secateurs.pruners._comep import COMEP as COMEP
    from secateurs.pruners._complementarity import ComplementarityPruner as ComplementarityPruner
    from secateurs.pruners._contribution import ContributionPruner as ContributionPruner
    from secateurs.pruners._drep import DREP as DREP
    from secateurs.pruners._early_stopping import EarlyStoppingPruner as EarlyStoppingPruner
    from secateurs.pruners._ensemble_selection import EnsembleSelection as EnsembleSelection
    from secateurs.pruners._joint_error import JointErrorPruner as JointErrorPruner
    from secateurs.pruners._kappa import KappaPruner as KappaPruner
    from secateurs.pruners._kl import KLDivergencePruner as KLDivergencePruner
    from secateurs.pruners._margin_distance import MarginDistancePruner as MarginDistancePruner
    from secateurs.pruners._oep import OEP as OEP
    from secateurs.pruners._orientation import (
        OrientationOrderingPruner as OrientationOrderingPruner,
    )
    from secateurs.pruners._pareto_comep import ParetoCOMEP as ParetoCOMEP
    from secateurs.pruners._pep import PEP as PEP
    from secateurs.pruners._random import RandomPruner as RandomPruner
    from secateurs.pruners._reduced_error import ReducedErrorPruner as ReducedErrorPruner
    from secateurs.pruners._sep import SEP as SEP
    from secateurs.pruners._uncertainty_weighted import (
        UncertaintyWeightedPruner as UncertaintyWeightedPruner,
    )


def all_pruners() -> dict[str, type[BasePruner]]:
    """Return the classes of all pruners by their short names.

    Returns
    -------
    dict of str to class
        The short names are those of the paper, in lower case.

    See Also
    --------
    make_pruner : Create a pruner by its short name.

    Examples
    --------
    >>> from secateurs import all_pruners
    >>> list(all_pruners())[:5]
    ['comep', 'domep', 'kl', 'kp', 'oo']
    """
    return {name: method.load() for name, method in METHODS.items()}


def make_pruner(name: str, **parameters: Any) -> BasePruner:
    """Create a pruner by its short name.

    Parameters
    ----------
    name : str
        A key of `all_pruners`, in upper or lower case.
    **parameters
        Parameters of the pruner.

    Returns
    -------
    BasePruner

    See Also
    --------
    all_pruners : The names and classes.

    Examples
    --------
    >>> from secateurs import make_pruner
    >>> make_pruner("kp", keep=20)
    KappaPruner(keep=20)
    """
    key = name.lower() if isinstance(name, str) else name
    check_option("pruner", key, METHODS)
    pruner_class: type[BasePruner] = METHODS[key].load()
    allowed = pruner_class._get_param_names()
    for parameter in parameters:
        if parameter not in allowed:
            raise InputError(
                f"{{pruner}} takes no parameter {parameter!r}."
                f"{suggest_similar(parameter, allowed)} It takes: {format_list(allowed)}.",
                pruner=key,
            )
    return pruner_class(**parameters)


def register(name: str, pruner: type[BasePruner], *, summary: str = "") -> type[BasePruner]:
    """Register your own pruner under a short name, for the current process.

    `prune`, `compare`, `benchmark` and `make_pruner` then accept the name, tables and figures show
    it, and `all_pruners` and ``methods="all"`` include it. A method that is used only once need not
    be registered, and other estimators with ``fit(votes, y)`` and ``get_support()`` cannot be,
    because a short name creates a pruner from its parameters: pass the class or an object instead.

    Parameters
    ----------
    name : str
        The short name, in lower case. A method of the package cannot be replaced.
    pruner : class
        A subclass of `BasePruner` whose class attributes describe the method.
    summary : str, optional
        A description of the method in one line.

    Returns
    -------
    class
        The class itself.

    See Also
    --------
    unregister : Remove the short name again.
    all_pruners : The names and classes.

    Examples
    --------
    >>> from secateurs import make_pruner, register, unregister
    >>> from secateurs.pruners import BasePruner
    >>> from secateurs.search import Choice
    >>> class Firsts(BasePruner):
    ...     is_nested = True
    ...
    ...     def __init__(self, keep=0.1):
    ...         self.keep = keep
    ...
    ...     def _select(self, votes, n_keep, rng):
    ...         return Choice(list(range(n_keep)), [0.0] * n_keep)
    >>> _ = register("firsts", Firsts)
    >>> make_pruner("firsts", keep=2).fit([[0, 1, 0], [1, 1, 0]], [0, 1]).member_indices_
    array([0, 1])
    >>> unregister("firsts")
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise InputError(
            "{name} is not a valid short name. Use lower-case letters, digits, - and _.", name=name
        )
    if not isinstance(pruner, type) or not issubclass(pruner, BasePruner):
        raise InputError(
            "{pruner} is not a subclass of secateurs.pruners.BasePruner. A short name creates a "
            "pruner from keep and other parameters, which other estimators need not have. Pass "
            "the class or an object as the method, without a short name.",
            pruner=pruner,
        )
    if name in METHODS and not isinstance(METHODS[name], UserMethod):
        raise InputError("{name} is a method of the package. Use another name.", name=name)
    declared = {item.name: getattr(pruner, item.name) for item in fields(MethodTraits)}
    # A property depends on parameters, which a class does not have: the default applies.
    traits = MethodTraits(**{n: v for n, v in declared.items() if not isinstance(v, property)})
    size_rule = "what it decides" if pruner.may_decide_size is True else None
    descriptions = (summary or f"{pruner.__name__}, of your own", "your own", "not known")
    METHODS[name] = UserMethod(
        name, "", None, *descriptions, traits, size_rule, report_rank=None, pruner_class=pruner
    )
    return pruner


def unregister(name: str) -> None:
    """Remove a short name that was registered with `register`.

    Parameters
    ----------
    name : str
        The short name. A method of the package cannot be removed.

    See Also
    --------
    register : Register your own pruner under a short name.

    Examples
    --------
    >>> from secateurs import unregister
    >>> unregister("comep")
    Traceback (most recent call last):
    secateurs.exceptions.InputError: name='comep' is a method of the package. Only methods that were
    registered can be removed.
    """
    own = [key for key, method in METHODS.items() if isinstance(method, UserMethod)]
    if name in METHODS and name not in own:
        raise InputError(
            "{name} is a method of the package. Only methods that were registered can be removed.",
            name=name,
        )
    if name not in own:
        known = f"Registered are: {', '.join(own)}." if own else "None is registered."
        raise InputError(f"{{name}} is not registered. {known}", name=name)
    del METHODS[name]


def __getattr__(name: str) -> Any:
    if name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return next(method for method in METHODS.values() if method.class_name == name).load()


def __dir__() -> list[str]:
    methods = [m.class_name for m in METHODS.values() if m.module_name.startswith(f"{__name__}.")]
    return sorted([*globals(), *methods])
