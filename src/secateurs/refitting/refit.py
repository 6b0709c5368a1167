"""Refit the leaves of the kept trees so that they imitate the label-corrected full ensemble."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from secateurs.ensembles import Bagging, Ensemble, Forest
from secateurs.ensembles.decision_trees import DecisionTree, is_tree, with_node_values
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.progress import open_stage
from secateurs.refitting._imitation import ImitatedSamples, collect_samples, make_imitation
from secateurs.refitting._leaf_fit import LeafFit, fit_leaves
from secateurs.refitting.refit_kernels import subtract_values
from secateurs.refitting.teacher import LabelledSamples, Teacher, make_teacher
from secateurs.typing import Array, BoolArray, FloatArray, IndexArray, RandomStateLike, Samples

# Weight of the initial leaf values: 1 to 20 made little difference (docs/decisions/0022).
# Validation samples are fewer than training samples, so that most leaves contain synthetic samples
# of one or two of them only and should stay close to their initial values.
_PRIOR = 5.0
# Returns the members that are selected on some of the labelled samples.
SelectMembers: TypeAlias = Callable[[IndexArray], Sequence[int]]
# Training and held-out samples of each fold, among all samples that were passed.
Folds: TypeAlias = Sequence[tuple[IndexArray, IndexArray]]

_N_FOLDS = 3  # of the estimated gain; more would take longer than refitting itself


@dataclass(frozen=True)
class LeafRefit:
    """Parameters of refitting: the kept trees imitate the label-corrected full ensemble.

    First, the full ensemble is corrected: each leaf moves by the mean residual of labelled samples
    that its tree was not trained on, as long as the leave-one-out loss falls. Then the leaf values
    of the kept trees are fitted to the corrected predictions, on synthetic samples near the given
    ones. Splits do not change. If the trees were trained on weighted or resampled classes, labels
    have the class weights that the predictions of the ensemble imply, so that it keeps its balance.

    Parameters
    ----------
    synthetic_ratio : float, default=10
        Number of synthetic samples, as a multiple of the samples; at most 100,000, and fewer if
        there are hundreds of features. Each of them takes each feature from a sample or from a near
        neighbour of it, with probability ½.
    n_steps : int, default=8
        Maximum number of correction steps of the full ensemble. With 0, labels are not used for
        the targets.
    shrinkage : float, default=1
        Number of samples without residual that are added to each leaf in a correction step.
    prior : float or None, default=None
        Weight of a leaf's initial value, in samples. None uses 5; if there are only held-out
        samples, 5 for each synthetic sample of a sample.
    n_sweeps : int, default=8
        Maximum number of sweeps over the kept trees.

    See Also
    --------
    prune : Prune an ensemble; ``refit`` accepts these parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import LeafRefit, prune
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> refit = LeafRefit(synthetic_ratio=20)
    >>> pruning = prune(forest, X, y, "joint", keep=5, oob=True, refit=refit, random_state=0)
    >>> pruning.provenance()["refitted"]
    True
    """

    synthetic_ratio: float = 10.0
    n_steps: int = 8
    shrinkage: float = 1.0
    prior: float | None = None
    n_sweeps: int = 8

    def check(self) -> None:
        """Raise an error for a parameter that is not valid."""
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if name == "prior" and value is None:
                continue
            is_count = name in {"n_steps", "n_sweeps"}
            is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            least = 1 if name == "n_sweeps" else 0
            is_valid = is_number and math.isfinite(value) and value >= least
            if is_valid and is_count:
                is_valid = float(value).is_integer()
            if is_valid and name in {"shrinkage", "prior"}:
                is_valid = value > 0
            if not is_valid:
                kind = "a whole number" if is_count else "a finite number"
                bound = "above 0" if name in {"shrinkage", "prior"} else f"of at least {least}"
                raise InputError(f"{{{name}}} is not valid. Pass {kind} {bound}.", **{name: value})


@dataclass(frozen=True, eq=False)
class RefitGain:
    """Honest estimate of the loss of the kept trees, before and after refitting.

    The loss is the Brier score of a classifier or the squared error of a regressor. With held-out
    samples, it is cross-validated, including the selection of the members. Training samples do not
    allow that, because the trees have seen them: the loss is then the leave-one-out loss of the
    imitated ensemble, plus the mean squared distance of the kept trees to it on synthetic samples
    that were not fitted.
    """

    loss_before: float
    loss_after: float

    @property
    def helps(self) -> bool:
        """Whether the estimated loss is lower after refitting."""
        return self.loss_after < self.loss_before


@dataclass(frozen=True, eq=False)
class RefitTask:
    """The kept trees, the samples to refit them on, and the label-corrected full ensemble."""

    ensemble: Ensemble
    members: Sequence[int]
    refit: LeafRefit
    samples: ImitatedSamples
    teacher: Teacher
    indices: IndexArray  # the labelled samples, among those passed: their labels are known

    @classmethod
    def from_input(  # noqa: PLR0917
        cls,
        ensemble: Ensemble,
        members: Sequence[int],
        samples: LabelledSamples,
        X_unlabelled: Samples = None,
        refit: LeafRefit | None = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> RefitTask:
        """Check the input, generate synthetic samples and correct the full ensemble."""
        check_refittable(ensemble)
        refit = LeafRefit() if refit is None else refit
        refit.check()
        if samples.oob and refit.synthetic_ratio == 0 and X_unlabelled is None:
            raise InputError(
                "{synthetic_ratio} leaves no samples to refit on: training samples themselves "
                "cannot be used. Pass more than 0, or {X_unlabelled}.",
                synthetic_ratio=refit.synthetic_ratio,
                X_unlabelled=...,
            )
        rng = check_random_state(random_state)
        samples = samples.with_known_labels(ensemble, rng)
        with open_stage("predicting with all members", 2 * ensemble.n_members):
            collected = collect_samples(
                ensemble, samples, X_unlabelled, refit.synthetic_ratio, rng, n_jobs
            )
        teacher = make_teacher(ensemble, collected.labelled, refit.shrinkage, int(refit.n_steps))
        return cls(ensemble, list(members), refit, collected, teacher, samples.indices)

    @property
    def prior(self) -> float:
        """The weight of a leaf's initial value, in samples."""
        if self.refit.prior is not None:
            return self.refit.prior
        return _PRIOR if self.samples.has_training_samples else _held_out_prior(self.refit)

    @cached_property
    def values(self) -> list[FloatArray]:
        """The refitted values of the nodes of the kept trees."""
        with open_stage("refitting", int(self.refit.n_sweeps)):
            return self._fit(self.teacher, self.members)

    def _fit(
        self, teacher: Teacher, members: Sequence[int], used: BoolArray | None = None
    ) -> list[FloatArray]:
        """Return the values of members that imitate a teacher, on all or some samples."""
        if len(members) == self.ensemble.n_members and teacher.correction.n_steps == 0:
            return self._original_values(members)  # the full ensemble imitates itself best
        imitation = make_imitation(teacher, members, self.samples, used)
        if len(members) == self.ensemble.n_members and all(
            limits.are_free for limits in imitation.limits
        ):
            return [teacher.correction.values[member] for member in members]
        start = [values.copy() for values in imitation.start]
        fit = LeafFit(
            list(imitation.leaves),
            start,
            imitation.target,
            imitation.weights,
            self.prior,
            imitation.limits,
        )
        fit_leaves(fit, int(self.refit.n_sweeps))
        return fit.values

    def refitted_ensemble(self) -> Ensemble:
        """Return a copy of the ensemble in which the kept trees are refitted."""
        return with_leaf_values(self.ensemble, self.members, self.values)

    def estimate_gain(
        self, select: SelectMembers | None = None, folds: Folds | None = None
    ) -> RefitGain:
        """Return an honest estimate of the loss before and after refitting.

        ``select`` returns the members that would be selected on some of the labelled samples;
        without it, members are taken as selected without these labels. ``folds`` has the training
        and held-out samples of the user's folds; by default, three random folds are used.
        """
        if self.oob:
            return self._leave_one_out_gain()
        return self._cross_validated_gain(select, folds)

    @property
    def oob(self) -> bool:
        """Whether the labelled samples are training samples."""
        return self.samples.oob

    def distance(self, members: Sequence[int], values: Sequence[FloatArray]) -> float:
        """Return the mean squared distance of trees to the teacher on samples not fitted."""
        leaves = self._checked_leaves
        return mean_loss(values, leaves[list(members)], self._checked_target)

    @cached_property
    def _checked_leaves(self) -> NDArray[np.int32]:
        """Leaves of samples that are not fitted; of all samples if none are synthetic."""
        is_checked = self.samples.is_checked
        return self.samples.leaves[:, is_checked] if is_checked.any() else self.samples.leaves

    @cached_property
    def _checked_target(self) -> FloatArray:
        return self.teacher.predict(self._checked_leaves)

    def _leave_one_out_gain(self) -> RefitGain:
        losses, leaves = self.teacher.correction.losses, self._checked_leaves
        full = self.teacher.predict_uncorrected(leaves)
        before = mean_loss(self._original_values(self.members), leaves[self.members], full)
        after = self.distance(self.members, self.values)
        return RefitGain(losses[0] + before, losses[-1] + after)

    def _fold_masks(self, folds: Folds | None) -> list[tuple[BoolArray, BoolArray]]:
        """Return masks of the training and held-out samples, among the labelled samples."""
        if folds is not None:
            pairs = [(np.isin(self.indices, one), np.isin(self.indices, two)) for one, two in folds]
            return [pair for pair in pairs if pair[0].any() and pair[1].any()]
        n_labelled = len(self.samples.labelled.targets)
        number = np.random.RandomState(0).permutation(n_labelled) % min(_N_FOLDS, n_labelled)
        return [(number != fold, number == fold) for fold in range(number.max() + 1)]

    def _cross_validated_gain(self, select: SelectMembers | None, folds: Folds | None) -> RefitGain:
        """Select and refit without a fold, and score on the fold, for each fold."""
        labelled, sources = self.samples.labelled, self.samples.sources
        masks = self._fold_masks(folds)
        total_weight = labelled.sample_weight.sum()
        if folds is not None:  # samples may be held out never or several times
            total_weight = sum(labelled.sample_weight[held_out].sum() for _, held_out in masks)
        before = after = 0.0
        for others, held_out in masks:
            members = self.members if select is None else list(select(self.indices[others]))
            teacher = make_teacher(
                self.ensemble,
                labelled.on_samples(others),
                self.refit.shrinkage,
                int(self.refit.n_steps),
            )
            used = (sources < 0) | others[sources]
            values = self._fit(teacher, members, used)
            scored = labelled.on_samples(held_out)
            weight = scored.sample_weight / total_weight
            leaves, original = scored.leaves[members], self._original_values(members)
            before += total_loss(original, leaves, scored.targets, weight)
            after += total_loss(values, leaves, scored.targets, weight)
        return RefitGain(before, after)

    def _original_values(self, members: Sequence[int]) -> list[FloatArray]:
        return [self.teacher.tree_values[member] for member in members]


def total_loss(
    values: Sequence[FloatArray], leaves: Array, target: FloatArray, weight: FloatArray
) -> float:
    """Return the weighted sum of the squared distance of the trees' average to a target."""
    residuals = len(values) * target
    for tree_leaves, tree_values in zip(leaves, values, strict=True):
        subtract_values(tree_leaves, tree_values, residuals)
    return float(weight @ np.square(residuals / len(values)).sum(axis=1))


def mean_loss(values: Sequence[FloatArray], leaves: Array, target: FloatArray) -> float:
    """Return the mean squared distance of the trees' average to a target; 0 without samples."""
    return total_loss(values, leaves, target, np.full(len(target), 1 / max(1, len(target))))


def _held_out_prior(refit: LeafRefit) -> float:
    return _PRIOR * max(1.0, refit.synthetic_ratio)


def check_refittable(ensemble: Ensemble) -> None:
    """Raise an error if the leaves of an ensemble cannot be refitted."""
    name = type(ensemble.model).__name__
    if not isinstance(ensemble, (Forest, Bagging)):
        raise UnsupportedEnsembleError(
            f"{name} cannot be refitted: only the trees of a RandomForest, ExtraTrees or Bagging "
            "ensemble have leaves whose average is its prediction. Leave out {refit}.",
            refit=True,
        )
    no_tree = next((m for m, member in enumerate(ensemble.members) if not is_tree(member)), None)
    if no_tree is not None:
        raise UnsupportedEnsembleError(
            f"Member {no_tree} of {name}, a {type(ensemble.members[no_tree]).__name__}, has no "
            "leaves to refit: it is not a decision tree. Leave out {refit}.",
            refit=True,
        )


def is_refittable(ensemble: Ensemble) -> bool:
    """Return whether the leaves of an ensemble can be refitted by squared error."""
    try:
        check_refittable(ensemble)
    except UnsupportedEnsembleError:
        return False
    # Leaves with medians are not means, so that the squared error is not what they minimise.
    return all(tree.criterion != "absolute_error" for tree in ensemble.members)


def with_leaf_values(
    ensemble: Ensemble, members: Sequence[int], values: Sequence[FloatArray]
) -> Ensemble:
    """Return the ensemble with these values in the nodes of some trees, and without weights."""
    changed_members = list(ensemble.members)
    for member, member_values in zip(members, values, strict=True):
        changed_members[member] = _with_values(ensemble, member, member_values)
    changed = copy.copy(ensemble)
    changed.members, changed.weights = changed_members, None
    return changed


def _with_values(ensemble: Ensemble, member: int, values: FloatArray) -> DecisionTree:
    own = values if ensemble.is_regression else values[:, ensemble.member_class_indices(member)]
    return with_node_values(ensemble.members[member], own)
