"""Any scikit-learn selector as a pruner."""

import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from secateurs.exceptions import InputError
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import DOC_PAGE, BasePruner, DistributedPruner
from secateurs.search import Choice
from secateurs.text_format import format_count, format_list

_METHODS = (
    "Give a pruner, an object with fit(votes, y) and get_support(), its class, or a function "
    "choose(votes, y, keep) that returns members."
)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class SelectorPruner(BasePruner):
    """Wrap any scikit-learn selector as a pruner.

    `prune`, `compare` and `EPFD` wrap a selector that they are given by themselves.

    Parameters
    ----------
    selector : object
        Has ``fit(votes, y)``, which gets the table of labels (samples × members) and the true
        labels, and then ``member_indices_`` or ``get_support()``. Its attribute ``keep`` is set to
        the number of members to keep, ``random_state`` to a seed, if it has them; without
        ``keep`` it decides how many it keeps.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of the selector.
    scores_ : ndarray of shape (n_kept,)
        Accuracy of each of them.
    objective_ : float
        The selector's objective, if it has one; larger is better.
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
    def keep(self) -> Any:
        """The selector's own ``keep``, if it has one."""
        return getattr(self.selector, "keep", None)

    def with_keep(self, keep: Any) -> Self:
        """Return an unfitted copy with this ``keep``."""
        if keep is not None and not hasattr(self.selector, "keep"):
            raise InputError(
                f"{{keep}}, but {self._selector_name} has no such attribute: it decides how many members it "
                "keeps. Leave it out.",
                keep=keep,
            )
        return self._with_attributes(**({} if keep is None else {"keep": keep}))

    def seed(self, seed: int) -> Self:
        """Set the random state, if there is one, and return the pruner itself."""
        if hasattr(self.selector, "random_state"):
            self.selector = self._with_attributes(random_state=int(seed)).selector
        return self

    def _with_attributes(self, **attributes: Any) -> Self:
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
                f"{self._selector_name} kept {format_count(len(members), 'member')}, not {n_keep}. Let it keep "
                "as many as "
                "its attribute keep says."
            )
        self.selector_ = selector
        if hasattr(selector, "objective_"):
            self.objective_ = float(selector.objective_)
        return Choice(members.tolist(), votes.n_right[members] / votes.n_samples)

    def _selected_members(self, selector: Any, n_members: int) -> NDArray[np.intp]:
        """Return the members that a fitted selector has chosen."""
        if hasattr(selector, "member_indices_"):
            members = np.asarray(selector.member_indices_)
        elif hasattr(selector, "get_support"):
            members = np.flatnonzero(selector.get_support())
        else:
            raise InputError(
                f"{self._selector_name} has neither member_indices_ nor get_support() after fit. Give a "
                "selector."
            )
        if (
            members.ndim != 1
            or members.dtype.kind not in "iu"
            or not len(members)
            or len(np.unique(members)) < len(members)
            or not 0 <= members.min() <= members.max() < n_members
        ):
            raise InputError(
                f"{self._selector_name} has member_indices_={members.tolist()!r}, which are not distinct "
                f"members of the {n_members}. Let it choose indices from 0 to {n_members - 1}."
            )
        return members.astype(np.intp)


def as_pruner(pruner: Any) -> BasePruner:
    """Return a pruner as it is, and a selector wrapped as a pruner."""
    if isinstance(pruner, BasePruner):
        return pruner
    if isinstance(pruner, type) or not callable(getattr(pruner, "fit", None)):
        raise InputError(
            "{pruner} is not a valid pruner. Give a name such as 'comep', a pruner such as "
            "COMEP(keep=20), or an object with fit(votes, y) and get_support().",
            pruner=pruner,
        )
    return SelectorPruner(pruner)


def pruner_from_method(given: Any) -> BasePruner:
    """Return a copy of anything that is a method as a pruner.

    Besides what `as_pruner` takes, that is a class of either kind, a function
    ``choose(votes, y, keep)``, or a function without parameters that returns one of all these.

    Examples
    --------
    >>> from secateurs import COMEP
    >>> from secateurs.pruners.selector import pruner_from_method
    >>> pruner_from_method(COMEP)
    COMEP()
    >>> def first(votes, y, keep):
    ...     return range(keep)
    >>> pruner_from_method(first).with_keep(2).fit([[0, 1, 0], [1, 1, 0]], [0, 1]).member_indices_
    array([0, 1])
    """
    is_object = not callable(given) or callable(getattr(given, "fit", None))
    if is_object and not isinstance(given, type):
        return clone(as_pruner(given))
    name = getattr(given, "__name__", repr(given))
    try:
        parameters = list(inspect.signature(given).parameters.values())
    except (TypeError, ValueError):  # of compiled functions
        parameters = []
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in _VARIABLE]
    if not needed:
        made = given()
        if isinstance(made, type) or not callable(getattr(made, "fit", None)):
            raise InputError(f"{name}() returned {made!r}, which has no fit(votes, y). {_METHODS}")
        return as_pruner(made)
    if isinstance(given, type):
        raise InputError(
            f"{name} cannot be made without {format_list(needed)}. Give an object: {name}(…)."
        )
    if len(needed) != len(("votes", "y", "keep")):
        raise InputError(f"{name} takes {format_list(needed)}. {_METHODS}")
    return SelectorPruner(FunctionSelector(given))


class FunctionSelector(BaseEstimator):
    """A function ``choose(votes, y, keep)`` as a selector.

    Parameters
    ----------
    function : callable
        Returns the indices of the members to keep, or a mask.
    keep : int, optional
        Number of members to keep.
    """

    def __init__(self, function: Callable[..., Any], keep: int | None = None) -> None:
        self.function = function
        self.keep = keep

    def fit(self, votes: Any, y: Any) -> Self:
        """Call the function."""
        chosen = self.function(votes, y, self.keep)
        chosen = np.asarray(chosen if hasattr(chosen, "__len__") else list(chosen))
        self.member_indices_ = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def can_use_sample_weight(pruner: BasePruner) -> bool:
    """Tell whether a method looks at weights of rows when it chooses."""
    return bool(has_fit_parameter(pruner, "sample_weight"))


def fit_pruner(
    pruner: BasePruner, outputs: Any, *, executor: Any = None, **asked: Any
) -> BasePruner:
    """Fit a pruner, on the executor if there is one, with what else its ``fit`` takes."""
    taken = {name: value for name, value in asked.items() if has_fit_parameter(pruner, name)}
    if isinstance(pruner, DistributedPruner):
        return pruner.fit(outputs, executor=executor, **taken)
    if executor is not None:
        name = type(pruner).__name__
        raise InputError(
            f"{name} works in one process. Give pruner=EPFD({name}(…)), which spreads the work, or "
            "leave out the executor."
        )
    return pruner.fit(outputs, **taken)
