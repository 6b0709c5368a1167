"""Use a scikit-learn selector, a class or a function as a pruner."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from secateurs._methods import short_name
from secateurs.exceptions import InputError
from secateurs.outputs.store_base import EncodedPredictions
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import DOC_PAGE, BasePruner, DistributedPruner, check_selected_members
from secateurs.pruners.parameters import is_number
from secateurs.search import Choice
from secateurs.text_format import format_count, format_list, to_one_line
from secateurs.typing import Array, ExecutorLike, IndexArray

_UNLABELLED = ("keep", "random_state", "n_jobs")  # parameters that labels do not show

_METHODS = (
    "Pass a pruner, an object with fit(votes, y) and get_support(), its class, or a function "
    "choose(votes, y, keep) that returns members."
)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class SelectorPruner(BasePruner):
    """Wrap any scikit-learn selector as a pruner.

    `prune`, `compare` and `EPFD` wrap selectors automatically.

    Parameters
    ----------
    selector : object
        An object with ``fit(votes, y)``, which receives the table of labels (samples × members)
        and the true labels, and with ``member_indices_`` or ``get_support()`` after `fit`. If it
        has the attributes ``keep`` and ``random_state``, they are set to the number of members to
        keep and to a seed. A selector without ``keep`` decides how many members it keeps.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the selector.
    scores_ : ndarray of shape (n_kept,)
        Accuracy of each kept member.
    objective_ : float
        The selector's ``objective_``, if it has one; larger is better.
    selector_ : object
        The fitted selector.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest, chi2
    >>> from secateurs.pruners import SelectorPruner
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> SelectorPruner(SelectKBest(chi2, k=1)).fit(votes, [0, 0, 1, 1]).member_indices_
    array([0])
    """

    _doc_link_template = DOC_PAGE.replace("{", "pruners.{")
    takes_missing = False
    may_decide_size = True
    larger_is_better = True

    def __init__(self, selector: Any) -> None:
        self.selector = selector

    @property
    def keep(self) -> int | float | None:
        """The selector's own ``keep``, if it has one."""
        return getattr(self.selector, "keep", None)

    def with_keep(self, keep: int | float | str | None) -> Self:
        """Return an unfitted copy with this ``keep``."""
        if keep is not None and not hasattr(self.selector, "keep"):
            raise InputError(
                f"{{keep}}, but {self._selector_name} has no such attribute: it decides how many "
                "members it keeps. Leave it out.",
                keep=keep,
            )
        return self._with_attributes(**({} if keep is None else {"keep": keep}))

    def seed(self, seed: int) -> Self:
        """Set the selector's ``random_state``, if it has one, and return the pruner itself."""
        if hasattr(self.selector, "random_state"):
            self.selector = self._with_attributes(random_state=int(seed)).selector
        return self

    def _with_attributes(self, **attributes: object) -> Self:
        """Return a copy whose selector has these attributes."""
        copy = clone(self)
        for name, value in attributes.items():
            setattr(copy.selector, name, value)
        return copy

    @property
    def _selector_name(self) -> str:
        is_function = isinstance(self.selector, FunctionSelector)
        return repr(self.selector) if is_function else type(self.selector).__name__

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        selector = self.with_keep(n_keep).selector
        selector.fit(votes.classes[votes.packed.decode()].T, votes.classes[votes.truth])
        members = self._selected_members(selector, votes.n_members)
        if n_keep is not None and len(members) != n_keep:
            raise InputError(
                f"{self._selector_name} kept {format_count(len(members), 'member')}, not {n_keep}. "
                "It must keep as many members as its attribute keep."
            )
        self.selector_ = selector
        if hasattr(selector, "objective_"):
            self.objective_ = float(selector.objective_)
        return Choice(members.tolist(), votes.n_right[members] / votes.n_samples)

    def _selected_members(self, selector: Any, n_members: int) -> IndexArray:
        """Return the indices of the members that a fitted selector keeps, checked."""
        if hasattr(selector, "member_indices_"):
            members = np.asarray(selector.member_indices_)
        elif hasattr(selector, "get_support"):
            mask = np.asarray(selector.get_support())
            if mask.shape != (n_members,) or mask.dtype != bool:
                raise InputError(
                    f"{self._selector_name} has get_support() of type {mask.dtype} and shape "
                    f"{mask.shape}. It must return a mask of the {n_members} members."
                )
            members = np.flatnonzero(mask)
        else:
            raise InputError(
                f"{self._selector_name} has neither member_indices_ nor get_support() after fit. "
                "Pass a selector."
            )
        return check_selected_members(members, n_members, self._selector_name)


def as_pruner(pruner: object) -> BasePruner:
    """Return a pruner unchanged, and a selector wrapped as a pruner."""
    if isinstance(pruner, BasePruner):
        return pruner
    if isinstance(pruner, type) or not callable(getattr(pruner, "fit", None)):
        raise InputError(
            "{pruner} is not a valid pruner. Pass a name such as 'comep', a pruner such as "
            "COMEP(keep=20), or an object with fit(votes, y) and get_support().",
            pruner=pruner,
        )
    return SelectorPruner(pruner)


def pruner_from_method(method: Any) -> BasePruner:
    """Return an unfitted pruner for a pruner, a selector, a class of either kind or a function.

    A function either selects members, ``choose(votes, y, keep)``, or has no parameters and returns
    a pruner or selector.
    """
    is_object = not callable(method) or callable(getattr(method, "fit", None))
    if is_object and not isinstance(method, type):
        return clone(as_pruner(method))
    name = getattr(method, "__name__", repr(method))
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):  # some compiled functions have no signature
        parameters = []
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in _VARIABLE]
    if not required:
        returned = method()
        if isinstance(returned, type) or not callable(getattr(returned, "fit", None)):
            raise InputError(
                f"{name}() returned {returned!r}, which has no fit(votes, y). {_METHODS}"
            )
        return as_pruner(returned)
    if isinstance(method, type):
        raise InputError(
            f"{name} cannot be made without {format_list(required)}. Pass an object: {name}(…)."
        )
    if len(required) != len(("votes", "y", "keep")):
        raise InputError(f"{name} takes {format_list(required)}. {_METHODS}")
    return SelectorPruner(FunctionSelector(method))


class FunctionSelector(BaseEstimator):
    """A selector that calls a function ``choose(votes, y, keep)``.

    The function returns the indices of the members to keep, or a mask.
    """

    def __init__(
        self, function: Callable[..., Iterable[int] | Array], keep: int | None = None
    ) -> None:
        self.function = function
        self.keep = keep

    def fit(self, votes: Array, y: Array) -> Self:
        """Call the function and store the members that it returns."""
        returned = self.function(votes, y, self.keep)
        is_iterator = isinstance(returned, Iterable) and not hasattr(returned, "__len__")
        members = np.asarray(list(returned) if is_iterator else returned)
        is_mask = members.dtype == bool and members.shape == (votes.shape[1],)
        self.member_indices_ = np.flatnonzero(members) if is_mask else members
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def can_use_sample_weight(pruner: BasePruner) -> bool:
    """Return whether a method uses sample weights when it selects members."""
    return bool(has_fit_parameter(pruner, "sample_weight"))


def fit_pruner(
    pruner: BasePruner,
    outputs: EncodedPredictions,
    *,
    executor: ExecutorLike | None = None,
    **optional: Any,
) -> BasePruner:
    """Fit a pruner on the executor, with the optional arguments that its ``fit`` accepts."""
    accepted = {name: value for name, value in optional.items() if has_fit_parameter(pruner, name)}
    name = type(pruner).__name__
    if isinstance(pruner, DistributedPruner):
        fitted = pruner.fit(outputs, executor=executor, **accepted)
    elif executor is None:
        fitted = pruner.fit(outputs, **accepted)
    else:
        raise InputError(
            f"{name} works in one process. Pass pruner=EPFD({name}(…)), which distributes the "
            "work, or leave out the executor."
        )
    # Also for classes of users whose own ``fit`` replaces that of `BasePruner`.
    fitted.member_indices_ = check_selected_members(fitted.member_indices_, outputs.n_members, name)
    return fitted


def pruner_label(pruner: BasePruner) -> str:
    """Return the short name, λ and non-default parameters, such as "re backfit=True"."""
    if hasattr(pruner, "selector"):  # the wrapped selector is more informative
        selector_class = type(pruner.selector)
        class_repr: object = selector_class.__repr__
        has_own_repr = class_repr is not object.__repr__
        return to_one_line(repr(pruner.selector)) if has_own_repr else selector_class.__name__
    parameters = inspect.signature(type(pruner)).parameters
    words = [short_name(pruner) or type(pruner).__name__]
    for name, value in pruner.get_params(deep=False).items():
        if name == "diversity_weight":
            words.append(f"λ={value:g}" if is_number(value) else f"λ={value}")
        elif name not in _UNLABELLED and repr(value) != repr(parameters[name].default):
            text = pruner_label(value) if isinstance(value, BasePruner) else value
            words += f"{name}={text}".split()
    return " ".join(words)
