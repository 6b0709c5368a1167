"""Generate synthetic samples by exchanging features between near neighbours."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.typing import Array, IndexArray, Samples

# Other numbers of neighbours made no difference on seven data sets (docs/decisions/0019).
N_NEIGHBOURS = 5
# Samples searched for neighbours: bounds the time of the search. Sparse samples are compared with
# all of them, without an index.
_MOST_REFERENCES, _MOST_SPARSE_REFERENCES = 20_000, 5_000


def synthetic_samples(
    X: Samples, numeric: Samples, n_synthetic: int, rng: np.random.RandomState
) -> tuple[Samples, IndexArray]:
    """Return samples that take each column, with probability ½, from a near neighbour [1]_.

    The second result is the sample that each synthetic sample comes from.

    ``numeric`` holds the same samples as floats, to find neighbours. Values are exchanged
    unchanged, so that categories and missing values stay valid.

    References
    ----------
    .. [1] Buciluǎ, Caruana and Niculescu-Mizil. "Model compression". KDD 2006.
    """
    n_samples = _num_samples(X)
    first = rng.randint(n_samples, size=n_synthetic)
    if n_samples == 1:
        return _safe_indexing(X, first), first
    neighbours = _nearest_neighbours(numeric, rng)
    second = neighbours[first, rng.randint(neighbours.shape[1], size=n_synthetic)]
    samples, neighbour_samples = _safe_indexing(X, first), _safe_indexing(X, second)
    if issparse(samples):
        return _exchange_sparse(samples, neighbour_samples, rng), first
    if hasattr(samples, "iloc"):
        synthetic = samples.reset_index(drop=True)
        neighbour_samples = neighbour_samples.reset_index(drop=True)
        for index, name in enumerate(synthetic.columns):
            exchanged = rng.randint(2, size=n_synthetic).astype(bool)
            synthetic.isetitem(index, synthetic[name].where(~exchanged, neighbour_samples[name]))
        return synthetic, first
    if hasattr(samples, "with_columns"):  # polars
        for name in samples.columns:
            column = samples[name]
            kept = type(column)(rng.randint(2, size=n_synthetic).astype(bool))
            samples = samples.with_columns(column.zip_with(kept, neighbour_samples[name]))
        return samples, first
    samples, neighbour_samples = np.asarray(samples), np.asarray(neighbour_samples)
    exchanged = rng.randint(2, size=samples.shape).astype(bool)
    return np.where(exchanged, neighbour_samples, samples), first


def _exchange_sparse(
    samples: csr_matrix, neighbour_samples: csr_matrix, rng: np.random.RandomState
) -> csr_matrix:
    """Return sparse samples that take each stored entry from one of two rows."""
    samples, neighbour_samples = samples.tocsr(), neighbour_samples.tocsr()
    stored = (samples != 0) + (neighbour_samples != 0)  # entries that are not zero in both
    exchanged = stored.copy().astype(samples.dtype)
    exchanged.data = rng.randint(2, size=exchanged.nnz).astype(samples.dtype)
    kept = stored.astype(samples.dtype) - exchanged
    mixed = samples.multiply(kept) + neighbour_samples.multiply(exchanged)
    return mixed.tocsr()


def _nearest_neighbours(numeric: Samples, rng: np.random.RandomState) -> IndexArray:
    """Return each sample's nearest neighbours by standardised features."""
    if issparse(numeric):
        values: Samples = MaxAbsScaler().fit_transform(numeric.tocsr().astype(np.float32))
        most = _MOST_SPARSE_REFERENCES
    else:
        values, most = _standardised(numeric), _MOST_REFERENCES
    n_samples = values.shape[0]
    references = np.arange(n_samples)
    if n_samples > most:
        references = np.sort(rng.choice(n_samples, most, replace=False))
    n_nearest = min(N_NEIGHBOURS + 1, len(references))
    search = NearestNeighbors(n_neighbors=n_nearest).fit(values[references])
    nearest = references[search.kneighbors(values, return_distance=False)]
    # One neighbour is removed from every row: the sample itself, or else the farthest. The sample
    # may be missing among its neighbours if others are equal to it, or if it is not a reference.
    removed = nearest == np.arange(n_samples)[:, None]
    removed[~removed.any(axis=1), -1] = True
    removed &= np.cumsum(removed, axis=1) == 1
    return nearest[~removed].reshape(n_samples, n_nearest - 1)


def _standardised(numeric: Array) -> NDArray[np.float32]:
    """Return features with mean 0 and deviation 1; missing values are replaced by the mean."""
    values = np.array(numeric, dtype=float)
    with np.errstate(all="ignore"):
        means = np.nan_to_num(np.nanmean(values, axis=0))
        values = np.where(np.isfinite(values), values, means) - means
        deviations = values.std(axis=0)
    return (values / np.where(deviations > 0, deviations, 1.0)).astype(np.float32)
