"""EPFD: any pruning method, in two rounds over groups of members."""

from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from secateurs.distributed._grouped import GroupedPruner
from secateurs.engines._transport import Members
from secateurs.outputs._votes import Votes
from secateurs.pruners._base import BasePruner
from secateurs.pruners._selector import as_pruner


class EPFD(GroupedPruner):
    """Ensemble pruning framework in a distributed setting: Algorithm 3 of the paper [1]_.

    Deals the members at random into groups, lets the pruner choose in each group, then among all
    that were chosen, and takes the best of these results. The groups are independent of each
    other, so they can be pruned at the same time; all chance is drawn beforehand, so how many at
    a time never changes the result.

    Parameters
    ----------
    pruner : pruner
        Any method with its parameters, also a selector of one's own (`SelectorPruner`); its
        ``keep`` is meant for the whole ensemble.
    n_groups : int or "auto", default="auto"
        Number of groups (m). "auto" is √(n/k) for n members and k to keep, which makes the two
        rounds about equally long; a tenth of the members stands for k where the pruner decides.
    criterion : {"accuracy", "objective"} or callable, default="accuracy"
        What the best result is best at: accuracy of its vote, the pruner's own objective, or
        ``criterion(votes, members)``, larger being better. The result of the second round stays
        unless a group's is strictly better; only results of the size wanted compete.
    n_jobs : int or None, default=None
        Groups pruned at the same time, by joblib under its ``parallel_config``.
    random_state : int, RandomState or None, default=None
        Draws the groups, and a seed for the pruner in each.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order they were chosen.
    scores_ : ndarray of shape (n_kept,)
        What the pruner says of each step.
    objective_ : float
        The pruner's objective, where it has one.
    groups_ : list of ndarray
        The members of each group.
    candidates_ : list of ndarray
        What was chosen in each group, and last the result of the second round.
    candidate_scores_ : ndarray of shape (n_groups + 1,)
        What the criterion says of each of them; −∞ for one that does not compete.
    winner_ : int
        Which of them was taken.
    support_ : ndarray of shape (n_members,)
        Mask of the kept members.
    classes_ : ndarray of shape (n_classes,)
        The labels found.
    n_features_in_ : int
        Number of members.

    Notes
    -----
    With one group it is the pruner itself, with the pruner's own random state.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import EPFD, ReducedErrorPruner
    >>> votes = [[0, 0, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]]
    >>> pruner = EPFD(ReducedErrorPruner(keep=1), n_groups=2, random_state=0)
    >>> pruner.fit(votes, [0, 1, 0, 1]).member_indices_
    array([0])
    """

    def __init__(
        self,
        pruner: Any,
        n_groups: Any = "auto",
        criterion: Any = "accuracy",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.pruner = pruner
        self.n_groups = n_groups
        self.criterion = criterion
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def keep(self) -> Any:
        """The pruner's own ``keep``."""
        return self._inner.keep

    @property
    def _inner(self) -> BasePruner:
        return as_pruner(self.pruner)

    @property
    def _criterion(self) -> str | Callable[[Votes, Members], float]:
        return self.criterion

    def with_keep(self, keep: Any) -> "EPFD":
        """Give a copy that keeps so many."""
        return clone(self).set_params(pruner=self._inner.with_keep(keep))

    def for_members(self, members: Members) -> "EPFD":
        """Give a copy for some of the members."""
        return clone(self).set_params(pruner=self._inner.for_members(members))
