"""Pruning methods, one file each; the registry in ``secateurs._methods`` lists them."""

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from secateurs._methods import METHODS, MethodTraits, UserMethod
from secateurs.exceptions import InputError, suggest_similar
from secateurs.pruners.base import BasePruner as BasePruner
from secateurs.pruners.parameters import check_option
from secateurs.pruners.selector import SelectorPruner as SelectorPruner
from secateurs.text_format import format_list

if TYPE_CHECKING:  # for editors; a method that is missing here has no types, and nothing else
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
    """Return all pruners by their short names, as the paper has them, in lower case.

    Returns
    -------
    dict of str to class

    See Also
    --------
    make_pruner : Make one of them.

    Examples
    --------
    >>> from secateurs import all_pruners
    >>> list(all_pruners())[:5]
    ['comep', 'domep', 'kl', 'kp', 'oo']
    """
    return {name: method.load() for name, method in METHODS.items()}


def make_pruner(name: str, **parameters: Any) -> BasePruner:
    """Make a pruner by its short name.

    Parameters
    ----------
    name : str
        One of `all_pruners`, in any case.
    **parameters
        Parameters of that pruner.

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
    kind = METHODS[key].load()
    takes = kind._get_param_names()
    for wrong in parameters:
        if wrong not in takes:
            raise InputError(
                f"{{pruner}} takes no parameter {wrong!r}.{suggest_similar(wrong, takes)} It takes: "
                f"{format_list(takes)}.",
                pruner=key,
            )
    return kind(**parameters)


def register(name: str, pruner: type[BasePruner], *, summary: str = "") -> type[BasePruner]:
    """Let a pruner of your own be known by a short name, in this process.

    `prune`, `compare`, `benchmark` and `make_pruner` then take the name, tables and figures show
    it, and `all_pruners` and ``methods="all"`` include it. A method that is used once need not be
    registered: give its class or an object.

    Parameters
    ----------
    name : str
        The short name, in lower case. A method of the package cannot be replaced.
    pruner : class
        A subclass of `BasePruner` that says by its attributes what it does.
    summary : str, optional
        What it does, in a line.

    Returns
    -------
    class
        The class itself.

    See Also
    --------
    all_pruners : The names and classes.

    Examples
    --------
    >>> from secateurs import make_pruner, register
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

    To forget it again:

    >>> from secateurs._methods import METHODS
    >>> del METHODS["firsts"]
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise InputError(
            "{name} is not a valid short name. Give small letters, digits, - and _.", name=name
        )
    if not isinstance(pruner, type) or not issubclass(pruner, BasePruner):
        raise InputError(
            "{pruner} is not a subclass of BasePruner. Others need no short name: give their class "
            "or an object where a method is asked for.",
            pruner=pruner,
        )
    if name in METHODS and not isinstance(METHODS[name], UserMethod):
        raise InputError("{name} is a method of the package. Give another name.", name=name)
    declared = {item.name: getattr(pruner, item.name) for item in fields(MethodTraits)}
    facts = MethodTraits(**{n: v for n, v in declared.items() if not isinstance(v, property)})
    decides = "what it decides" if pruner.may_decide_size is True else None
    told = (summary or f"{pruner.__name__}, of your own", "your own", "not known")
    METHODS[name] = UserMethod(
        name, "", None, *told, facts, decides, report_rank=None, pruner_class=pruner
    )
    return pruner


def __getattr__(name: str) -> Any:
    if name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return next(method for method in METHODS.values() if method.class_name == name).load()


def __dir__() -> list[str]:
    methods = [m.class_name for m in METHODS.values() if m.module_name.startswith(f"{__name__}.")]
    return sorted([*globals(), *methods])
