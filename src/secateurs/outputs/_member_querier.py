"""Predictions of single members of a fitted ensemble, and the samples they were trained on."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import copy_context

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble, GradientBoosted
from secateurs.exceptions import InputError
from secateurs.outputs._prediction_cells import PredictionFiller
from secateurs.outputs.label_coding import check_class_count, code_dtype
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions, leaf_votes
from secateurs.progress import open_stage
from secateurs.text_format import format_count
from secateurs.typing import Array, BoolArray, Samples


class MemberQuerier:
    """Evaluates members on samples that are checked and converted once."""

    def __init__(self, ensemble: Ensemble, X: Samples, n_jobs: int | None) -> None:
        check_class_count(ensemble.classes)
        self._ensemble, self._n_jobs = ensemble, n_jobs
        self.prepared_samples = ensemble.prepare_input(X)
        self._tree_walk = TreeWalk(ensemble, self.prepared_samples)
        self.n_samples = _num_samples(self.prepared_samples)

    def query_codes(self, members: Sequence[int]) -> Array:
        """Return the votes of some members as codes: (members, samples)."""
        ensemble = self._ensemble
        shape = (len(members), self.n_samples)
        codes = np.empty(shape, dtype=code_dtype(len(ensemble.classes)))

        def query_member(member: int, row: Array) -> None:
            if member in self._tree_walk:
                self._tree_walk.fill_from_leaves(
                    member, leaf_votes(ensemble, member, codes.dtype), row
                )
            else:
                row[:] = ensemble.predicted_codes(self.prepared_samples, member)
            steps.step()

        with open_stage("collecting votes", len(members)) as steps:
            if isinstance(ensemble, GradientBoosted):
                stages = ensemble.sequential_predictions(self.prepared_samples, scores=False)
                for row, votes in zip(codes, stages, strict=True):
                    row[:] = votes
                    steps.step()
                return codes
            Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(copy_context().run)(query_member, member, row)
                for member, row in zip(members, codes, strict=True)
            )
        return codes

    def query_predictions(
        self, members: Sequence[int], mask: BoolArray | None = None
    ) -> PredictionFiller:
        """Return the probabilities or values of some members; ``mask`` is (members, samples)."""
        ensemble = self._ensemble
        filler = PredictionFiller(len(members), self.n_samples, ensemble.classes)

        def query_member(index: int, member: int) -> None:
            missing = None if mask is None else mask[index]
            if member in self._tree_walk:
                by_leaf = leaf_predictions(ensemble, member)
                filler.fill_member(index, by_leaf, missing, self._tree_walk.leaf_indices(member))
            elif ensemble.is_regression:
                filler.fill_member(
                    index, ensemble.predicted_values(self.prepared_samples, member), missing
                )
            else:
                filler.fill_member(
                    index, ensemble.predicted_probabilities(self.prepared_samples, member), missing
                )
            steps.step()

        with open_stage("collecting predictions", len(members)) as steps:
            if isinstance(ensemble, GradientBoosted):
                stages = ensemble.sequential_predictions(self.prepared_samples, scores=True)
                for index, predicted in enumerate(stages):
                    filler.fill_member(index, predicted)
                    steps.step()
                return filler
            Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(copy_context().run)(query_member, index, member)
                for index, member in enumerate(members)
            )
        return filler


def in_bag_mask(
    ensemble: Ensemble, n_samples: int, members: Sequence[int] | None = None
) -> BoolArray:
    """Return the mask of the samples that members were trained on: (members, samples)."""
    selected = range(ensemble.n_members) if members is None else members
    row_of_member = {member: row for row, member in enumerate(selected)}
    mask = np.zeros((len(row_of_member), n_samples), dtype=bool)
    n_trained = getattr(ensemble.model, "_n_samples", n_samples)
    if n_trained != n_samples:
        raise InputError(
            f"Out-of-bag votes need the {n_trained} samples that the ensemble was trained on; X "
            f"has {format_count(n_samples, 'sample')}. Pass the training samples in their order."
        )
    for member, samples in enumerate(ensemble.in_bag_samples()):
        if member in row_of_member:
            mask[row_of_member[member], samples] = True
    return mask
