"""DREP: diversity regularised ensemble pruning."""

import math

import numpy as np

from secateurs.measures.pair_measure import safe_divide
from secateurs.objectives import VoteError
from secateurs.outputs.votes import Votes
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import check_fraction, check_option
from secateurs.search import Choice, best_prefix, greedy_forward, ranking
from secateurs.typing import Array, BoolArray

STOPS = ("best_prefix", "nonincrease", "strict")


class DREP(BasePruner):
    """Add the member that most improves the vote, among the members that differ most [1]_.

    Starts from the member with the fewest errors. Each step considers only the fraction ρ of the
    remaining members that agree least with the selected members, on average. Of these it adds the
    member with which the vote has the fewest errors.

    Parameters
    ----------
    keep : int, float or None, default=None
        Number of members to keep: a count, or a fraction of the ensemble. None lets ``stop``
        decide.
    rho : float in (0, 1], default=0.3
        Fraction of the members that each step considers (ρ): small values favour diversity, 1 is
        reduced-error pruning. The paper uses 0.2 to 0.5.
    stop : {"best_prefix", "nonincrease", "strict"}, default="best_prefix"
        Where to stop without ``keep``: order all members and cut where the vote has the fewest
        errors; stop before the errors rise; or stop as soon as they do not fall. The last is the
        wording of the paper, but nearly always keeps one member, since the vote of two members is
        rarely better than one member.

    Attributes
    ----------
    scores_ : ndarray of shape (n_kept,)
        Error rate of the vote after each step.
    objective_ : float
        Error rate of the kept members' vote.
    member_indices_, support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    ReducedErrorPruner : Considers all members in each step.

    Notes
    -----
    A tied vote goes to the lowest class. A sample without any vote counts as an error.

    References
    ----------
    .. [1] Li, Yu and Zhou. "Diversity regularized ensemble pruning". ECML PKDD 2012.

    Examples
    --------
    >>> from secateurs import DREP
    >>> votes = [[0, 0, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0]]
    >>> DREP(rho=0.5).fit(votes, [0, 1, 0, 1]).member_indices_
    array([0])
    """

    def __init__(
        self, keep: int | float | None = None, rho: float = 0.3, stop: str = "best_prefix"
    ) -> None:
        self.keep = keep
        self.rho = rho
        self.stop = stop

    def _check_parameters(self, votes: Votes) -> None:
        check_fraction("rho", self.rho, zero=False)
        check_option("stop", self.stop, STOPS)

    def _select(self, votes: Votes, n_keep: int | None, rng: np.random.RandomState) -> Choice:
        objective = VoteError(votes, ties="lowest")
        agreement = _AgreementShortlist(votes, self.rho)
        members, values = greedy_forward(
            objective, n_keep or votes.n_members, shortlist=agreement.least_agreeing
        )
        if n_keep is None:
            n_keep = self._stopping_size(values)
        rates = objective.error_rates(values[:n_keep])
        self.objective_ = float(rates[-1])
        return Choice(members[:n_keep], rates)

    def _stopping_size(self, values: list[int]) -> int:
        """Return the number of members to keep, from the objective (minus errors) of each step."""
        if self.stop == "best_prefix":
            return best_prefix(values)
        least_gain = 1 if self.stop == "strict" else 0
        for n_chosen in range(1, len(values)):
            if values[n_chosen] - values[n_chosen - 1] < least_gain:
                return n_chosen
        return len(values)


class _AgreementShortlist:
    """Counts how often each member agrees with the selected members."""

    def __init__(self, votes: Votes, rho: float) -> None:
        self._votes = votes
        self._rho = rho
        self._agreement_sums: Array = np.zeros(votes.n_members, dtype=np.int64)

    def least_agreeing(self, chosen: list[int], free: BoolArray) -> BoolArray:
        """Return a mask of the fraction ρ of free members that agree least; ties go by index."""
        if not chosen:
            return free
        pairs = self._votes.agreement_counts(self._votes.take(chosen[-1:]), slice(None))
        agreed: Array = pairs["n_agreed"][0]
        if self._votes.leaves_out_missing:  # fraction of the common samples, 0 without any
            agreed = safe_divide(agreed, pairs["n_common"][0], 0.0)
        self._agreement_sums = self._agreement_sums + agreed
        remaining = np.flatnonzero(free)
        # 1e-9 absorbs rounding: 0.55 · 100 = 55.00000000000001 must not become 56 members.
        n_least = max(1, math.ceil(self._rho * len(remaining) - 1e-9))
        order = ranking(-self._agreement_sums[remaining])
        shortlist = np.zeros_like(free)
        shortlist[remaining[order[:n_least]]] = True
        return shortlist
