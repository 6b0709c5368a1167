"""Refit the leaves of the kept trees so that they imitate the label-corrected full ensemble."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from sklearn.utils import check_random_state

from secateurs.ensembles import Bagging, Ensemble, Forest
from secateurs.ensembles.decision_trees import DecisionTree, is_tree, with_node_values
from secateurs.exceptions import InputError, UnsupportedEnsembleError
from secateurs.progress import open_stage
from secateurs.refitting._correction import LabelledLeaves, correct_leaves
from secateurs.refitting._imitation import Imitation, make_imitation
from secateurs.refitting._leaf_fit import LeafFit, fit_leaves
from secateurs.refitting._teacher import LabelledSamples, make_teacher
from secateurs.typing import FloatArray, RandomStateLike, Samples


@dataclass(frozen=True)
class LeafRefit:
    """Parameters of refitting: the kept trees imitate the label-corrected full ensemble.

    First, the full ensemble is corrected: each leaf moves by the mean residual of labelled samples
    that its tree was not trained on, as long as the leave-one-out loss falls. Then the leaf values
    of the kept trees are fitted to the corrected predictions, on synthetic samples near the given
    ones. Splits do not change.

    Parameters
    ----------
    synthetic_ratio : float, default=10
        Number of synthetic samples, as a multiple of the samples; at most a million. Each of them
        takes each feature from a sample or from a near neighbour of it, with probability ½.
    n_steps : int, default=8
        Maximum number of correction steps of the full ensemble. With 0, labels are not used for
        the targets.
    shrinkage : float, default=1
        Number of samples without residual that are added to each leaf in a correction step.
    prior : float, default=1
        Weight of a leaf's initial value, in samples.
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
    prior: float = 1.0
    n_sweeps: int = 8

    def check(self) -> None:
        """Raise an error for a parameter that is not valid."""
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
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
class Refitted:
    """A refitted ensemble, with honest estimates of the loss of the kept trees.

    The loss is the Brier score or the squared error. It is estimated as the leave-one-out loss of
    the imitated ensemble plus the mean squared distance of the kept trees to it, on synthetic
    samples that were not fitted.
    """

    ensemble: Ensemble  # in which the kept trees are refitted
    loss_before: float
    loss_after: float
    n_steps: int  # correction steps of the full ensemble

    @property
    def helps(self) -> bool:
        """Whether the estimated loss is lower after refitting."""
        return self.loss_after < self.loss_before


def refit_ensemble(
    ensemble: Ensemble,
    members: Sequence[int],
    samples: LabelledSamples,
    X_unlabelled: Samples = None,
    refit: LeafRefit = LeafRefit(),  # noqa: B008 (it is immutable)
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
) -> Refitted:
    """Return the ensemble with refitted leaves of these members, and the estimated gain."""
    imitation = imitate(ensemble, members, samples, X_unlabelled, refit, random_state, n_jobs)
    return refit_by_imitation(ensemble, members, imitation, refit)


def imitate(
    ensemble: Ensemble,
    members: Sequence[int],
    samples: LabelledSamples,
    X_unlabelled: Samples,
    refit: LeafRefit,
    random_state: RandomStateLike,
    n_jobs: int | None = None,
) -> Imitation:
    """Return the task of imitating the label-corrected full ensemble."""
    check_refittable(ensemble)
    refit.check()
    if samples.oob and refit.synthetic_ratio == 0 and X_unlabelled is None:
        raise InputError(
            "{synthetic_ratio} leaves no samples to refit on: training samples themselves cannot "
            "be used. Pass more than 0, or {X_unlabelled}.",
            synthetic_ratio=refit.synthetic_ratio,
            X_unlabelled=...,
        )
    rng = check_random_state(random_state)
    with open_stage("correcting the full ensemble", ensemble.n_members):
        teacher = make_teacher(ensemble, samples, rng, refit.shrinkage, refit.n_steps, n_jobs)
    return make_imitation(
        teacher, members, samples, X_unlabelled, refit.synthetic_ratio, rng, n_jobs
    )


def refit_by_imitation(
    ensemble: Ensemble, members: Sequence[int], imitation: Imitation, refit: LeafRefit
) -> Refitted:
    """Return the ensemble whose kept trees imitate the teacher."""
    fit = LeafFit(
        imitation.leaves,
        [values.copy() for values in imitation.start],
        imitation.target,
        imitation.weights,
        refit.prior,
        imitation.limits,
    )
    with open_stage("refitting", refit.n_sweeps):
        fit_leaves(fit, refit.n_sweeps)
    teacher = imitation.teacher
    original = [teacher.tree_values[member] for member in members]
    losses = teacher.correction.losses
    return Refitted(
        with_leaf_values(ensemble, members, fit.values),
        losses[0] + imitation.distance(original, imitation.checked_original),
        losses[-1] + imitation.distance(fit.values),
        teacher.correction.n_steps,
    )


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
