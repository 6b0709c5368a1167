"""Ensemble selection: add members, with replacement, to maximise any score of their mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.objectives import MeanScore
from secateurs.outputs.input_checks import check_sample_weights
from secateurs.outputs.missing_answers import with_valid_first
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.store_base import PredictionsLike
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressCallback, report_progress, watch_progress
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import check_fraction, is_integer
from secateurs.search import Choice, best_prefix, greedy_repeated, ranking
from secateurs.typing import IndexArray, RandomStateLike


class EnsembleSelection(BasePruner):
    """Repeatedly add the member with which the mean of the selected members scores best [1]_.

    A member may be selected more than once. Its weight is the number of times that it was selected.
    The method works with probabilities, with votes, which count as probabilities of 0 and 1, and
    with values of regressors.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of different members: a count, or a fraction of the ensemble. Once it is
        reached, only members that are already selected can be added again. None sets no limit.
    scoring : str, callable or None, default=None
        The score to maximise: a name of ``sklearn.metrics.get_scorer_names()`` such as
        "neg_log_loss", a scorer of ``make_scorer``, or a function ``scorer(estimator, X, y)``.
        In `prune`, X contains the samples; in `fit`, the table of predictions. None for accuracy,
        or R² for regression.
    max_models : int, default=50
        Number of steps, which is the number of members in the mean, with repetitions.
    replacement : bool, default=True
        Whether a member may be selected more than once.
    best_prefix : bool, default=True
        Whether to return to the step with the best score, the earliest if there are several.
    sorted_start : int, default=0
        Number of members to start with: the members with the best scores of their own [1]_. They
        are always kept.
    n_bags : int, default=1
        Number of runs, each on a random subset of the members [1]_. Weights are averaged over the
        runs. With ``keep``, the members with the largest weights are kept. 1 is a single run on all
        members.
    bag_fraction : float in (0, 1], default=0.5
        Fraction of the members in each run, if there are several.
    random_state : int, RandomState or None, default=None
        Seed of the random subsets.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members in the order of their first selection; with several runs, by weight.
    weights_ : ndarray of shape (n_kept,)
        Their weights, with a sum of 1; `predict` uses them.
    scores_ : ndarray of shape (n_kept,)
        Score of the first 1, 2, … kept members with these weights; larger is better. NaN if the
        score is not defined on the samples for which these members have predictions.
    objective_ : float
        Score of the kept members with their weights.
    runs_ : list of Choice
        For each run, ``members``, the member added at each step, and ``scores``, the score after
        each step. Steps that ``best_prefix`` has undone are included.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    ReducedErrorPruner : Selects each member at most once, for the accuracy of the vote.

    Notes
    -----
    Steps that make the score worse are accepted too, because later steps may more than compensate
    for them. A run ends early once the score is perfect. On samples with missing predictions, the
    mean is over the selected members that have a prediction. Samples on which no selected member
    has one are left out.

    Accuracy, balanced accuracy, log loss, Brier score, areas under ROC curves (also multi-class),
    average precision, R², squared, root squared and absolute error are computed by compiled code.
    For any other score, the scorer is called once per member and step, which may take long;
    ``fit(..., callback=)`` reports the progress. R² and root squared error are compared through the
    squared error, of which they are monotonic functions. Rankings are exact: equal means tie.

    Sums over members are exact. Sums over samples are sums of floats, always in the order of the
    samples, so that batches and workers select the same members.

    References
    ----------
    .. [1] Caruana, Niculescu-Mizil, Crew and Ksikes. "Ensemble selection from libraries of
       models". ICML 2004.

    Examples
    --------
    >>> from secateurs import EnsembleSelection
    >>> members = [0.1, 0.6, 0.9, 0.4, 0.8], [0.4, 0.2, 0.6, 0.7, 0.3], [0.7, 0.1, 0.8, 0.9, 0.6]
    >>> probabilities = [[[1 - p, p] for p in row] for row in zip(*members)]
    >>> pruner = EnsembleSelection(scoring="neg_log_loss", max_models=6)
    >>> pruner.fit(probabilities, [0, 0, 1, 1, 1]).member_indices_, pruner.weights_
    (array([2, 0]), array([0.6, 0.4]))
    """

    def __init__(  # noqa: PLR0917
        self,
        keep: int | float | None = None,
        scoring: str | Callable[..., Any] | None = None,
        max_models: int = 50,
        replacement: bool = True,
        best_prefix: bool = True,
        sorted_start: int = 0,
        n_bags: int = 1,
        bag_fraction: float = 0.5,
        random_state: RandomStateLike = None,
    ) -> None:
        self.keep = keep
        self.scoring = scoring
        self.max_models = max_models
        self.replacement = replacement
        self.best_prefix = best_prefix
        self.sorted_start = sorted_start
        self.n_bags = n_bags
        self.bag_fraction = bag_fraction
        self.random_state = random_state

    def fit(
        self,
        votes: PredictionsLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: ProgressCallback | None = None,
    ) -> Self:
        """Select the members to keep.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members), Votes, VoteStore or Predictions
            The label or value that each member predicts for each sample, or probabilities of shape
            (n_samples, n_members, n_classes). Masked entries of a NumPy masked array are missing.
        y : array-like of shape (n_samples,)
            The true labels or values. Not needed if ``votes`` contains them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the score.
        callback : callable(done, total, best), optional
            Progress callback, see `prune`.

        Returns
        -------
        self
        """
        with watch_progress(callback):
            return self._fit_encoded(self._encode_predictions(votes, y, reset=True), sample_weight)

    def _check_parameters(self, votes: Votes | Predictions) -> None:
        check_fraction("bag_fraction", self.bag_fraction, zero=False)
        for name, smallest in (("max_models", 1), ("n_bags", 1), ("sorted_start", 0)):
            value = getattr(self, name)
            if not is_integer(value) or value < smallest:
                raise InputError(
                    f"{{{name}}} is not a valid number. Pass {smallest} or more.", **{name: value}
                )

    def _select(
        self,
        votes: Votes | Predictions,
        n_keep: int | None,
        rng: np.random.RandomState,
        sample_weight: ArrayLike | None = None,
    ) -> Choice:
        objective = MeanScore.for_predictions(
            votes,
            Scoring.from_scorer(self.scoring, votes.classes),
            check_sample_weights(sample_weight, votes.n_samples),
        )
        n_most = votes.n_members if n_keep is None else n_keep
        progress = _BagProgress(self.max_models, self.n_bags)
        self.runs_: list[Choice] = []
        counted: list[Sequence[int]] = []  # the members of the steps that count, by run
        for bag in self._draw_bags(votes.n_members, rng):
            run, n_steps = self._run_bag(objective.for_members(bag), n_most, progress)
            self.runs_.append(Choice(bag[run.members].tolist(), run.scores))
            counted.append(self.runs_[-1].members[:n_steps])
        # Every run has the same weight. Whole numbers keep tied predictions tied in the scores.
        common = math.lcm(*map(len, counted))
        weights = np.zeros(votes.n_members)
        for members in counted:
            repeats = np.bincount(members, minlength=len(weights))
            weights += float(common // len(members)) * repeats
        if self.n_bags == 1:
            members = list(dict.fromkeys(counted[0]))
        else:
            members = [m for m in ranking(weights).tolist() if weights[m] > 0]
            members = with_valid_first(members, votes)[:n_most]
        self.weights_ = weights[members] / weights[members].sum()
        scores = objective.prefix_scores(members, weights[members])
        self.objective_ = scores[-1]
        return Choice(members, scores)

    def _draw_bags(self, n_members: int, rng: np.random.RandomState) -> list[IndexArray]:
        """Draw the members of each run; a single run has all members."""
        if self.n_bags == 1:
            return [np.arange(n_members)]
        size = max(1, round(self.bag_fraction * n_members))
        return [np.sort(rng.permutation(n_members)[:size]) for _ in range(self.n_bags)]

    def _run_bag(
        self, objective: MeanScore, n_most: int, progress: _BagProgress
    ) -> tuple[Choice, int]:
        """Return all steps of a run with their scores, and the number of steps that count."""
        n_most = min(n_most, objective.n_members)
        n_start = min(self.sorted_start, n_most, self.max_models)
        start = ranking(objective.gains())[:n_start].tolist() if n_start else []
        members, values = greedy_repeated(
            objective,
            self.max_models,
            n_most,
            start=start,
            replacement=self.replacement,
            progress=lambda value: progress.report_step(objective.as_score(value)),
        )
        progress.end_run()
        n_fixed = max(0, n_start - 1)  # the sorted start is kept, so that no shorter prefix counts
        n_steps = n_fixed + best_prefix(values[n_fixed:]) if self.best_prefix else len(values)
        return Choice(members, [objective.as_score(value) for value in values]), n_steps


class _BagProgress:
    """Reports the number of steps of all runs, their total, and the best score so far."""

    def __init__(self, n_steps: int, n_runs: int) -> None:
        self._n_steps, self._n_steps_total = n_steps, n_steps * n_runs
        self._n_steps_done, self._best_score = 0, -np.inf

    def report_step(self, score: float) -> None:
        """Report a step with its score."""
        self._best_score = max(self._best_score, score)
        self._report_done(self._n_steps_done + 1)

    def end_run(self) -> None:
        """Report the remaining steps of a run that has ended early."""
        if self._n_steps_done % self._n_steps:
            self._report_done(
                self._n_steps_done + self._n_steps - self._n_steps_done % self._n_steps
            )

    def _report_done(self, done: int) -> None:
        self._n_steps_done = done
        report_progress(done, self._n_steps_total, self._best_score)
