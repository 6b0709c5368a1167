"""Questions to the members of a fitted ensemble: what they predict for some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from secateurs.ensembles import Ensemble, GradientBoosted
from secateurs.exceptions import InputError
from secateurs.outputs._prediction_cells import PredictionFiller
from secateurs.outputs.label_coding import check_class_count, code_dtype
from secateurs.outputs.tree_walk import TreeWalk, leaf_predictions, leaf_votes
from secateurs.progress import open_stage
from secateurs.text_format import format_count
from secateurs.typing import Array


class MemberQuerier:
    """Rows that members are asked about, checked and converted once."""

    def __init__(self, ensemble: Ensemble, X: Any, n_jobs: int | None) -> None:
        check_class_count(ensemble.classes)
        self._ensemble, self._n_jobs = ensemble, n_jobs
        self.prepared_samples = ensemble.prepare_input(X)
        self._tree_walk = TreeWalk(ensemble, self.prepared_samples)
        self.n_samples = _num_samples(self.prepared_samples)

    def query_codes(self, members: Sequence[int]) -> Array:
        """Return the votes of some members: (members, samples)."""
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
                answers = ensemble.sequential_predictions(self.prepared_samples, scores=False)
                for row, answer in zip(codes, answers, strict=True):
                    row[:] = answer
                    steps.step()
                return codes
            Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(query_member)(member, row)
                for member, row in zip(members, codes, strict=True)
            )
        return codes

    def query_predictions(
        self, members: Sequence[int], mask: NDArray[np.bool_] | None = None
    ) -> PredictionFiller:
        """Return the scores of some members; masked on some rows (members, samples)."""
        ensemble = self._ensemble
        scores = PredictionFiller(len(members), self.n_samples, ensemble.classes)

        def query_member(place: int, member: int) -> None:
            missing = None if mask is None else mask[place]
            if member in self._tree_walk:
                answers = leaf_predictions(ensemble, member)
                scores.fill_member(place, answers, missing, self._tree_walk.leaf_indices(member))
            elif ensemble.is_regression:
                scores.fill_member(
                    place, ensemble.predicted_values(self.prepared_samples, member), missing
                )
            else:
                scores.fill_member(
                    place, ensemble.predicted_probabilities(self.prepared_samples, member), missing
                )
            steps.step()

        with open_stage("collecting scores", len(members)) as steps:
            if isinstance(ensemble, GradientBoosted):
                for place, answers in enumerate(
                    ensemble.sequential_predictions(self.prepared_samples, scores=True)
                ):
                    scores.fill_member(place, answers)
                    steps.step()
                return scores
            Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(query_member)(place, member) for place, member in enumerate(members)
            )
        return scores


def in_bag_mask(
    ensemble: Ensemble, n_samples: int, members: Sequence[int] | None = None
) -> NDArray[np.bool_]:
    """Mark the rows that members were trained on: (members, samples)."""
    wanted = range(ensemble.n_members) if members is None else members
    places = {member: place for place, member in enumerate(wanted)}
    mask = np.zeros((len(places), n_samples), dtype=bool)
    n_trained = getattr(ensemble.model, "_n_samples", n_samples)
    if n_trained != n_samples:
        raise InputError(
            f"Out-of-bag votes need the {n_trained} rows that the ensemble was trained on; X has "
            f"{format_count(n_samples, 'row')}. Give the training rows, in their order."
        )
    for member, rows in enumerate(ensemble.in_bag_samples()):
        if member in places:
            mask[places[member], rows] = True
    return mask
