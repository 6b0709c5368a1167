"""Ensemble selection: add members, the same ones again if they help, for any score."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.objectives import MeanScore
from secateurs.outputs.input_checks import check_sample_weights
from secateurs.outputs.predictions import Predictions
from secateurs.outputs.votes import Votes
from secateurs.progress import ProgressCallback, report_progress, watch_progress
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import check_fraction, is_integer
from secateurs.search import Choice, best_prefix, greedy_repeated, ranking


class EnsembleSelection(BasePruner):
    """Add the member with which the mean of those chosen scores best, again and again [1]_.

    Members may be chosen more than once; how often decides their weights. Works with votes, which
    count as probabilities of 0 and 1, with probabilities, and with numbers of regressors.

    Parameters
    ----------
    keep : int, float or None, default=None
        Largest number of different members: a count, or a fraction of the ensemble. Once it is
        reached, only members already chosen are chosen again. None for any number.
    scoring : str, callable or None, default=None
        What to maximise: a name of ``sklearn.metrics.get_scorer_names()`` such as
        "neg_log_loss", a scorer of ``make_scorer``, or a function ``scorer(estimator, X, y)``,
        for which X holds the numbers of the rows. None for accuracy, of numbers R².
    max_models : int, default=50
        Number of steps: of members in the mean, repeated ones counted.
    replacement : bool, default=True
        Whether a member may be chosen more than once.
    best_prefix : bool, default=True
        Whether to go back to the step with the best score, the earliest if there are several.
    sorted_start : int, default=0
        Number of members to start with: those that score best alone [1]_. They stay.
    n_bags : int, default=1
        Number of runs, each among random members [1]_; weights are means over the runs. With
        ``keep``, the members with the largest weights stay. 1 is a single run among all members.
    bag_fraction : float in (0, 1], default=0.5
        Fraction of the members in each of several runs.
    random_state : int, RandomState or None, default=None
        Draws the members of several runs.

    Attributes
    ----------
    member_indices_ : ndarray of shape (n_kept,)
        The kept members in the order they were first chosen; of several runs, by weight.
    weights_ : ndarray of shape (n_kept,)
        Their weights, with a sum of 1; `predict` uses them.
    scores_ : ndarray of shape (n_kept,)
        Score of the first 1, 2, … of them with these weights; larger is better. NaN where it is
        not defined on the rows that they have values for.
    objective_ : float
        Score of the kept members with their weights.
    runs_ : list of Choice
        Of each run, ``members``: the one added at each step; and ``scores``: the score after
        it. Also of steps that ``best_prefix`` has undone.
    support_, classes_, n_features_in_
        As for all pruners, see `BasePruner`.

    See Also
    --------
    ReducedErrorPruner : Each member at most once, for accuracy of the vote.

    Notes
    -----
    A step that makes the score worse is taken as well: later ones may more than make up for it. A
    run ends early once the score is perfect. On rows where values are missing, the mean is over
    the chosen members that have one; rows on which none has are left out.

    Accuracy, balanced accuracy, log loss, Brier score, R², squared, root squared and absolute
    error are computed by compiled code. Any other score is asked of its scorer once per member and
    step, which takes as long as it takes; ``fit(..., callback=)`` tells how far it is. R² and the
    root are compared by the squared error that they follow from.

    Sums of members' outputs are exact. What is summed over rows are floats, always in the order of
    the rows, so that batches and workers give the same members.

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
        scoring: Any = None,
        max_models: int = 50,
        replacement: bool = True,
        best_prefix: bool = True,
        sorted_start: int = 0,
        n_bags: int = 1,
        bag_fraction: float = 0.5,
        random_state: Any = None,
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
        votes: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: ProgressCallback | None = None,
    ) -> Self:
        """Choose the members to keep.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_members), Votes, VoteStore or Predictions
            The label that each member gives to each sample; or probabilities (samples × members ×
            classes), or numbers. Masked entries of a NumPy masked array are missing.
        y : array-like of shape (n_samples,)
            The true labels or numbers. Not needed with votes that hold them.
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

    def _check_parameters(self, votes: Any) -> None:
        check_fraction("bag_fraction", self.bag_fraction, zero=False)
        for name, least in (("max_models", 1), ("n_bags", 1), ("sorted_start", 0)):
            value = getattr(self, name)
            if not is_integer(value) or value < least:
                raise InputError(
                    f"{{{name}}} is not a valid number. Give {least} or more.", **{name: value}
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
        weights = np.zeros(votes.n_members)
        self.runs_: list[Choice] = []
        for bag in self._draw_bags(votes.n_members, rng):
            run, n_steps = self._run_bag(objective.for_members(bag), n_most, progress)
            self.runs_.append(Choice(bag[run.members].tolist(), run.scores))
            weights += np.bincount(bag[run.members[:n_steps]], minlength=len(weights)) / n_steps
        if self.n_bags == 1:
            members = list(dict.fromkeys(run.members[:n_steps]))
        else:
            members = [m for m in ranking(weights).tolist() if weights[m] > 0][:n_most]
        self.weights_ = weights[members] / weights[members].sum()
        scores = objective.prefix_scores(members, self.weights_)
        self.objective_ = scores[-1]
        return Choice(members, scores)

    def _draw_bags(self, n_members: int, rng: np.random.RandomState) -> list[NDArray[np.intp]]:
        """Draw the members of each run."""
        if self.n_bags == 1:
            return [np.arange(n_members)]
        size = max(1, round(self.bag_fraction * n_members))
        return [np.sort(rng.permutation(n_members)[:size]) for _ in range(self.n_bags)]

    def _run_bag(
        self, objective: MeanScore, n_most: int, progress: _BagProgress
    ) -> tuple[Choice, int]:
        """Return all steps of a run with their scores, and the number of them that count."""
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
        n_fixed = max(0, n_start - 1)
        n_steps = n_fixed + best_prefix(values[n_fixed:]) if self.best_prefix else len(values)
        return Choice(members, [objective.as_score(value) for value in values]), n_steps


class _BagProgress:
    """Tells the number of steps done, their total, and the best score so far."""

    def __init__(self, n_steps: int, n_runs: int) -> None:
        self._n_steps, self._n_steps_total = n_steps, n_steps * n_runs
        self._n_steps_done, self._best_score = 0, -np.inf

    def report_step(self, score: float) -> None:
        """Report a step."""
        self._best_score = max(self._best_score, score)
        self._report_done(self._n_steps_done + 1)

    def end_run(self) -> None:
        """Report a run that has ended, where it has taken fewer steps than it might have."""
        if self._n_steps_done % self._n_steps:
            self._report_done(
                self._n_steps_done + self._n_steps - self._n_steps_done % self._n_steps
            )

    def _report_done(self, done: int) -> None:
        self._n_steps_done = done
        report_progress(done, self._n_steps_total, self._best_score)
