"""DOMEP: COMEP in two rounds over groups of members."""

from typing import Any

from secateurs.distributed._grouped import GroupedPruner
from secateurs.pruners._comep import COMEP


class DOMEP(GroupedPruner):
    """Distributed objection maximisation for ensemble pruning: Algorithm 2 of the paper [1]_.

    `COMEP` in each of some random groups of members, then among all that were chosen; of these
    results, the one with the largest TDAS. It is `EPFD` around `COMEP` with TDAS as the last
    criterion: at least a quarter of the optimum with high probability, in practice nearly what
    COMEP reaches.

    Parameters
    ----------
    keep : int or float, default=0.1
        How many members to keep (k): a count, or a fraction of the ensemble.
    n_groups : int or "auto", default="auto"
        Number of groups (m). "auto" is √(n/k) for n members and k to keep.
    diversity_weight : float in [0, 1] or "auto", default=0.5
        Weight of diversity against relevance (λ), as for `COMEP`.
    start : {"spread", "relevance", "random", "every"}, default="spread"
        The first member in each group, as for `COMEP`.
    n_jobs : int or None, default=None
        Groups pruned at the same time, by joblib under its ``parallel_config``.
    random_state : int, RandomState or None, default=None
        Draws the groups, and a seed for each.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order they were chosen.
    scores_ : ndarray of shape (n_kept,)
        TDAS of the first 1, 2, … members.
    objective_ : float
        TDAS of the kept members.
    groups_ : list of ndarray
        The members of each group.
    candidates_ : list of ndarray
        What was chosen in each group, and last the result of the second round.
    candidate_scores_ : ndarray of shape (n_groups + 1,)
        TDAS of each of them; −∞ for one that does not compete.
    winner_ : int
        Which of them was taken.
    support_ : ndarray of shape (n_members,)
        Mask of the kept members.
    classes_ : ndarray of shape (n_classes,)
        The labels found.
    n_features_in_ : int
        Number of members.

    References
    ----------
    .. [1] Bian et al. "Ensemble pruning based on objection maximization with a general
       distributed framework". TNNLS 2020.

    Examples
    --------
    >>> from secateurs import DOMEP
    >>> votes = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    >>> DOMEP(keep=2, n_groups=1, diversity_weight=0.3).fit(votes, [0, 0, 1, 1]).member_indices_
    array([0, 2])
    """

    def __init__(  # noqa: PLR0917
        self,
        keep: int | float = 0.1,
        n_groups: Any = "auto",
        diversity_weight: Any = 0.5,
        start: Any = "spread",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.keep = keep
        self.n_groups = n_groups
        self.diversity_weight = diversity_weight
        self.start = start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _inner(self) -> COMEP:
        return COMEP(self.keep, self.diversity_weight, self.start, random_state=self.random_state)

    @property
    def _criterion(self) -> str:
        return "objective"
