"""Generate synthetic samples by exchanging features between near neighbours."""

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from secateurs.typing import Array, IndexArray, Samples

# Other numbers of neighbours made no difference on seven data sets (docs/decisions/0019).
N_NEIGHBOURS = 5
_MOST_REFERENCES = 20_000  # samples searched for neighbours: bounds the time of the search


def synthetic_samples(
    X: Samples, numeric: Array, n_synthetic: int, rng: np.random.RandomState
) -> Samples:
    """Return samples that take each column, with probability ½, from a near neighbour [1]_.

    ``numeric`` holds the same samples as floats, to find neighbours. Values are exchanged
    unchanged, so that categories and missing values stay valid.

    References
    ----------
    .. [1] Buciluǎ, Caruana and Niculescu-Mizil. "Model compression". KDD 2006.
    """
    n_samples = _num_samples(X)
    first = rng.randint(n_samples, size=n_synthetic)
    if n_samples == 1:
        return _safe_indexing(X, first)
    neighbours = _nearest_neighbours(numeric, rng)
    second = neighbours[first, rng.randint(neighbours.shape[1], size=n_synthetic)]
    samples, neighbour_samples = _safe_indexing(X, first), _safe_indexing(X, second)
    if hasattr(samples, "iloc"):
        synthetic = samples.reset_index(drop=True)
        neighbour_samples = neighbour_samples.reset_index(drop=True)
        for index, name in enumerate(synthetic.columns):
            exchanged = rng.randint(2, size=n_synthetic).astype(bool)
            synthetic.isetitem(index, synthetic[name].where(~exchanged, neighbour_samples[name]))
        return synthetic
    samples, neighbour_samples = np.asarray(samples), np.asarray(neighbour_samples)
    exchanged = rng.randint(2, size=samples.shape).astype(bool)
    return np.where(exchanged, neighbour_samples, samples)


def _nearest_neighbours(numeric: Array, rng: np.random.RandomState) -> IndexArray:
    """Return each sample's nearest neighbours by standardised features, gaps filled with means."""
    values = np.array(numeric, dtype=float)
    with np.errstate(all="ignore"):
        means = np.nan_to_num(np.nanmean(values, axis=0))
        values = np.where(np.isfinite(values), values, means) - means
        deviations = values.std(axis=0)
    values = (values / np.where(deviations > 0, deviations, 1.0)).astype(np.float32)
    references = np.arange(len(values))
    if len(values) > _MOST_REFERENCES:
        references = np.sort(rng.choice(len(values), _MOST_REFERENCES, replace=False))
    n_nearest = min(N_NEIGHBOURS + 1, len(references))
    search = NearestNeighbors(n_neighbors=n_nearest).fit(values[references])
    nearest = references[search.kneighbors(values, return_distance=False)]
    # One neighbour is removed from every row: the sample itself, or else the farthest. The sample
    # may be missing among its neighbours if others are equal to it, or if it is not a reference.
    removed = nearest == np.arange(len(values))[:, None]
    removed[~removed.any(axis=1), -1] = True
    removed &= np.cumsum(removed, axis=1) == 1
    return nearest[~removed].reshape(len(values), n_nearest - 1)
