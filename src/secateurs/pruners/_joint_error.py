"""Joint error: greedy minimisation of the squared error of the members' average."""

from __future__ import annotations

import numpy as np

from secateurs.engines.sharded_objectives import ShardedJointError
from secateurs.engines.sharding import open_objective
from secateurs.objectives import JointError
from secateurs.objectives.bounds import upper_bound
from secateurs.outputs.store_base import EncodedPredictions, load_into_memory
from secateurs.pruners.base import DistributedPruner
from secateurs.pruners.parameters import check_fraction, check_option
from secateurs.search import Choice, best_member, greedy_forward, swap_search
from secateurs.typing import ExecutorLike


class JointErrorPruner(DistributedPruner):
    """Add members one at a time so that their average has the smallest squared error [1]_.

    The squared error of the average of k members is the mean of G(i, j) over all pairs (i, j) of
    these members, including i = j. G(i, j) is the mean product of two members' errors over the
    samples for which both have predictions. The method starts with the member with the smallest
    error, then adds the member that keeps the sum of G smallest. Errors that members have in common
    increase the sum, so that one number measures accuracy and diversity.

    The method works with probabilities, where the squared error is the Brier score, summed over
    the classes; with values of regressors; and with labels, which count as probabilities of 1. For
    labels, G(i, j) is the fraction of samples that both members get wrong, the tandem loss [2]_,
    plus the fraction on which they predict the same wrong label.

    Parameters
    ----------
    keep : int or float, default=0.1
        Number of members to keep: a count, or a fraction of the ensemble.
    shrink : float in [0, 1], default=0.0
        How far G(i, j) of different members is moved towards row mean + column mean − mean, which
        reduces the effect of chance on few samples. If it is above 0, all n² pairs are computed
        once; otherwise only the pairs with selected members.
    refine : bool, default=False
        Improve the greedy set by the best swap of one member until no swap helps. On few samples
        this often overfits.
    shard : {"auto", "members", "rows"}, default="auto"
        How predictions are distributed over an executor's workers: by members or by rows. "auto"
        uses the way that sends less. The result is the same.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members, in the order of selection.
    scores_ : ndarray of shape (n_kept,)
        Squared error of the average of the first 1, 2, … members.
    objective_ : float
        Squared error of the average of the kept members. With missing predictions, the mean of
        G(i, j) over their pairs.
    lower_bound_ : float
        Lower bound of the ``objective_`` of any set of the same size. Computed on first access,
        from all pairs, in the same way as ``upper_bound_`` of `COMEP`.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    COMEP : Weights diversity against relevance.
    ReducedErrorPruner : Minimises the errors of the vote.

    Notes
    -----
    Errors are stored as integers, and their products are added up in 64 bits, so that batches,
    shards and machines select the same members. The error of a probability is off by at most 2⁻¹⁵.
    The error of a value is off by less than 2⁻²⁹ of the largest absolute value, predicted or true,
    or by 2^(1−b) of the largest absolute error if that is more, with b = ⌊(62 − ⌈log₂ N⌉)/2⌋ for N
    samples (2⁻²¹ for 100,000 samples). With errors off by at most ε, G(i, j) is off by at most
    ε·(a + a′) + q·ε², where a and a′ are the mean absolute errors of the two members, summed over
    the q classes (q = 1 for regression).

    Two members without a sample in common have G = 0.

    References
    ----------
    .. [1] Zhou, Wu and Tang. "Ensembling neural networks: many could be better than all".
       Artificial Intelligence 2002.
    .. [2] Masegosa et al. "Second order PAC-Bayesian bounds for the weighted majority vote".
       NeurIPS 2020.

    Examples
    --------
    >>> from secateurs import JointErrorPruner
    >>> predictions = [[2.0, 3.0, 0.5], [1.0, 2.5, 0.0], [4.5, 4.0, 2.0]]
    >>> pruner = JointErrorPruner(keep=2).fit(predictions, [1.5, 1.0, 3.5])
    >>> pruner.member_indices_, round(pruner.objective_, 3)
    (array([0, 2]), 0.125)
    """

    def __init__(
        self,
        keep: int | float = 0.1,
        shrink: float = 0.0,
        refine: bool = False,
        shard: str = "auto",
    ) -> None:
        self.keep = keep
        self.shrink = shrink
        self.refine = refine
        self.shard = shard

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        """Whether the members for a smaller ``keep`` are a prefix of those for a larger one."""
        return not self.refine

    @property
    def lower_bound_(self) -> float:
        """Lower bound of the squared error of any set of the same size."""
        if "_lower_bound" not in self.__dict__:
            n_keep = len(self.member_indices_)
            objective = JointError(load_into_memory(self._predictions))
            value = objective.error_to_value(self.objective_, n_keep)
            largest_value = upper_bound(objective, n_keep, value)
            self._lower_bound = max(0.0, float(objective.value_to_error(largest_value, n_keep)))
        return self._lower_bound

    def _check_parameters(self, votes: EncodedPredictions) -> None:
        check_fraction("shrink", self.shrink, zero=True)
        check_option("shard", self.shard, ("auto", "members", "rows"))

    def _select(
        self,
        votes: EncodedPredictions,
        n_keep: int,
        rng: np.random.RandomState,
        executor: ExecutorLike | None = None,
    ) -> Choice:
        with open_objective(
            ShardedJointError, votes, self.shrink, executor, self.shard
        ) as objective:
            members, values = _select_greedily(objective, n_keep)
            if self.refine:
                members = swap_search(objective, members)
                values = objective.prefix_values(members)
            objective.clear_checkpoint()
        scores = objective.prefix_errors(values)
        self.__dict__.pop("_lower_bound", None)
        self.objective_ = float(scores[-1])
        return Choice(members, scores)


def _select_greedily(objective: JointError, n_keep: int) -> Choice:
    """Add members one at a time, starting with the member with the smallest error."""

    def average_error(chosen: list[int]) -> float:
        return float(objective.value_to_error(objective.value, len(chosen)))

    start = objective.resume_selection(best_member(objective.member_values))[:n_keep]
    return greedy_forward(objective, n_keep, start, worth=average_error)
