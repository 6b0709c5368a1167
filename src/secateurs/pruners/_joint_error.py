"""Joint error: greedy minimisation of the squared error of the members' average."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateurs.engines.sharded_objectives import ShardedJointError
from secateurs.engines.sharding import open_objective
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.objectives import JointError, MeanScore
from secateurs.objectives.bounds import upper_bound
from secateurs.outputs.missing_answers import first_members, with_valid_first
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import EncodedPredictions, load_into_memory
from secateurs.pruners.base import DistributedPruner
from secateurs.pruners.parameters import check_fraction, check_option
from secateurs.search import TIE, Choice, best_member, greedy_forward, raise_if_stopped, swap_search
from secateurs.typing import BoolArray, ExecutorLike


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

    Forests of XGBoost and LightGBM average margins, and turn the mean into probabilities. The
    squared error of these probabilities is not a sum over pairs. It is computed for each candidate,
    in this process, ``lower_bound_`` is 0, and ``shrink`` is not available.

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
        if _averages_margins(self._predictions):
            return 0.0  # a bound of sums over pairs does not hold for the link function
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
        if self.shrink and _averages_margins(votes):
            raise InputError(
                "{shrink} changes sums over pairs of members, which a forest that averages margins "
                "does not have. Leave it out.",
                shrink=self.shrink,
            )

    def _select(
        self,
        votes: EncodedPredictions,
        n_keep: int,
        rng: np.random.RandomState,
        executor: ExecutorLike | None = None,
    ) -> Choice:
        if isinstance(votes, Predictions) and _averages_margins(votes):
            choice = _select_by_margins(votes, n_keep, self.refine)
            self.objective_ = float(choice.scores[-1])
            return choice
        with open_objective(
            ShardedJointError, votes, self.shrink, executor, self.shard
        ) as objective:
            # For regression only: a missing label or probability is never better than any other.
            is_regression = not len(votes.classes)
            is_start = first_members(votes) if is_regression else None
            members, values = _select_greedily(objective, n_keep, is_start)
            if self.refine:
                members = with_valid_first(swap_search(objective, members), votes)
                values = objective.prefix_values(members)
            objective.clear_checkpoint()
        scores = objective.prefix_errors(values)
        self.__dict__.pop("_lower_bound", None)
        self.objective_ = float(scores[-1])
        return Choice(members, scores)


def _select_greedily(objective: JointError, n_keep: int, is_start: BoolArray | None) -> Choice:
    """Add members one at a time, starting with the member with the smallest error."""

    def average_error(chosen: list[int]) -> float:
        return float(objective.value_to_error(objective.value, len(chosen)))

    first = best_member(objective.member_values, is_start)
    start = objective.resume_selection(first)[:n_keep]
    return greedy_forward(objective, n_keep, start, worth=average_error)


def _averages_margins(predictions: EncodedPredictions) -> bool:
    return getattr(predictions, "margin_scale", None) is not None


def _select_by_margins(predictions: Predictions, n_keep: int, refine: bool) -> Choice:
    """Select members of a forest that averages margins by the squared error of its probabilities.

    The error of the average is not a sum over pairs there, because the link function follows the
    average. It is computed for each candidate.
    """
    scoring = Scoring.from_scorer("neg_brier_score", predictions.classes)
    # scikit-learn halves the Brier score of two classes; here it is summed over the classes.
    factor = 2.0 if predictions.n_classes < 3 else 1.0

    def objective_of(members: Sequence[int]) -> tuple[MeanScore, list[float]]:
        objective, values = MeanScore.for_predictions(predictions, scoring), []
        for member in members:
            objective.add(member)
            values.append(objective.value)
        return objective, values

    members = list(greedy_forward(objective_of([])[0], n_keep).members)
    value = objective_of(members)[1][-1]
    while refine:
        raise_if_stopped()
        gains = np.full((len(members), predictions.n_members), -np.inf)
        for index in range(len(members) if len(members) > 1 else 0):
            rest = members[:index] + members[index + 1 :]
            gains[index] = objective_of(rest)[0].gains()
            gains[index, members] = -np.inf
        by_index = np.argsort(members)
        rank, entering = divmod(best_member(gains[by_index].ravel()), predictions.n_members)
        leaving = int(by_index[rank])
        if not gains[leaving, entering] > value + TIE:
            break
        members[leaving], value = entering, float(gains[leaving, entering])
    return Choice(members, -factor * np.array(objective_of(members)[1]) + 0.0)
