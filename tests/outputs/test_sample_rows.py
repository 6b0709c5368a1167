"""Samples for scorers: the form that the user passed, found again, and predicted by the model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fitted_models import FIT, TEST, X, fitted_models
from secateurs import Predictions, Votes
from secateurs.ensembles import as_ensemble
from secateurs.exceptions import InputError
from secateurs.outputs.sample_rows import SampleRows

VALUES = np.array([[1.0, 0.0], [3.0, 4.0], [1.0, 0.0], [5.0, 6.0]])
FORMS = {
    "array": VALUES,
    "list": VALUES.tolist(),
    "frame": pd.DataFrame(VALUES, columns=["a", "b"], index=list("wxyz")),
    "polars": pl.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}),
    "sparse": sparse.csr_matrix(VALUES),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_found_again_and_other_rows_are_not(form):
    rows = SampleRows(FORMS[form])
    assert rows.find(FORMS[form]).tolist() == [0, 1, 2, 3]  # equal rows keep their own index
    part = rows.take(np.array([3, 1])).X
    assert type(part) is type(FORMS[form])
    assert rows.find(part).tolist() == [3, 1]
    changed = VALUES + 0.5
    other = sparse.csr_matrix(changed) if form == "sparse" else changed
    assert rows.find(other).tolist() == [-1] * 4


def test_a_mask_takes_the_rows_of_a_frame_with_their_index():
    part = SampleRows(FORMS["frame"]).take(np.array([False, True, False, True])).X
    assert part.index.tolist() == ["x", "z"]


def test_explicit_zeros_of_a_sparse_matrix_do_not_count():
    stored = sparse.csr_matrix(([1.0, 0.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert SampleRows(sparse.csr_matrix(VALUES)).find(stored).tolist() == [0]


def test_other_samples_are_predicted_by_the_sliced_model():
    forest = fitted_models()["forest"]
    rows = SampleRows(X[FIT], as_ensemble(forest)).predicted_by([3, 0])
    mean = np.mean([forest.estimators_[m].predict_proba(X[TEST]) for m in (0, 3)], axis=0)
    np.testing.assert_allclose(rows.model.predict_proba(X[TEST]), mean)
    weighted = rows.predicted_by([3, 0, 3], [1, 1, 1])
    parts = [forest.estimators_[m].predict_proba(X[TEST]) for m in (0, 3, 3)]
    np.testing.assert_allclose(weighted.model.predict_proba(X[TEST]), np.mean(parts, axis=0))


def test_columns_of_some_members_refer_to_the_ensemble():
    forest = fitted_models()["forest"]
    rows = SampleRows(X[FIT], as_ensemble(forest)).for_columns(np.array([5, 7, 9]))
    taken = rows.for_columns(np.array([2, 0])).predicted_by([1])
    expected = forest.estimators_[5].predict_proba(X[TEST])
    np.testing.assert_allclose(taken.model.predict_proba(X[TEST]), expected)


def test_a_table_has_no_model_for_other_samples():
    rows = SampleRows.of_table(Votes.encode([["a", "b"], ["b", "b"]], ["a", "b"]))
    assert rows.X.tolist() == [["a", "b"], ["b", "b"]]
    with pytest.raises(InputError, match="there is no model to predict them"):
        rows.predicted_by([0]).model  # noqa: B018


def test_the_table_of_probabilities_has_one_row_per_sample():
    table = np.array([[[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]])
    rows = SampleRows.of_table(Predictions.encode(table, [0, 1]))
    assert rows.X.tolist() == table.tolist()
    masked = np.ma.masked_equal([[1.5, -1.0], [2.5, 0.5]], -1.0)
    rows = SampleRows.of_table(Predictions.encode(masked, [1.5, 2.5]))
    assert np.ma.getmaskarray(rows.X).tolist() == [[False, True], [False, False]]


def test_votes_and_predictions_carry_their_samples():
    for outputs in (
        Votes.encode([["a", "b"], ["b", "b"], ["a", "a"]], ["a", "b", "a"]),
        Predictions.encode([[1.5, 2.0], [2.5, 3.0], [0.5, 0.0]], [1.0, 2.0, 0.5]),
    ):
        known = replace(outputs, samples=SampleRows(VALUES[:3]))
        assert known.rows(np.array([2, 0])).samples.X.tolist() == VALUES[[2, 0]].tolist()
        assert known.take([1]).samples.columns.tolist() == [1]
