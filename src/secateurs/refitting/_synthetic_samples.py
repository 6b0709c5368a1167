"""Rows made from given ones: features exchanged between near neighbours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

N_NEIGHBOURS = 5
_MOST_REFERENCES = 20_000  # rows among which neighbours are looked for


def synthetic_samples(
    X: Any, numeric: NDArray[Any], n_made: int, rng: np.random.RandomState
) -> Any:
    """Make rows: each takes each column, by a coin, from a near neighbour of a given row [1]_.

    Columns are exchanged whole, so that categories and missing values stay what they are.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_columns)
        The rows given, as the ensemble takes them.
    numeric : ndarray of shape (n_rows, n_features)
        The same rows as numbers, by which neighbours are found.
    n_made : int
        Number of rows to make.
    rng : RandomState
        Draws rows, neighbours and columns.

    References
    ----------
    .. [1] Buciluǎ, Caruana and Niculescu-Mizil. "Model compression". KDD 2006.
    """
    n_rows = _num_samples(X)
    first = rng.randint(n_rows, size=n_made)
    if n_rows == 1:
        return _safe_indexing(X, first)
    near = _nearest_neighbours(numeric, rng)
    second = near[first, rng.randint(near.shape[1], size=n_made)]
    mine, other = _safe_indexing(X, first), _safe_indexing(X, second)
    if hasattr(mine, "iloc"):
        made = mine.reset_index(drop=True)
        other = other.reset_index(drop=True)
        for place, name in enumerate(made.columns):
            taken = rng.randint(2, size=n_made).astype(bool)
            made.isetitem(place, made[name].where(~taken, other[name]))
        return made
    mine, other = np.asarray(mine), np.asarray(other)
    taken = rng.randint(2, size=mine.shape).astype(bool)
    return np.where(taken, other, mine)


def _nearest_neighbours(numeric: NDArray[Any], rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return the nearest rows of each, by standardised features; missing values are means."""
    values = np.array(numeric, dtype=float)
    with np.errstate(all="ignore"):
        means = np.nan_to_num(np.nanmean(values, axis=0))
        values = np.where(np.isfinite(values), values, means) - means
        spread = values.std(axis=0)
    values = (values / np.where(spread > 0, spread, 1.0)).astype(np.float32)
    places = np.arange(len(values))
    if len(values) > _MOST_REFERENCES:
        places = np.sort(rng.choice(len(values), _MOST_REFERENCES, replace=False))
    n_near = min(N_NEIGHBOURS + 1, len(places))
    found = NearestNeighbors(n_neighbors=n_near).fit(values[places])
    near = places[found.kneighbors(values, return_distance=False)]
    own = near == np.arange(len(values))[:, None]
    own[~own.any(axis=1), -1] = True  # one is always left out: the row itself, or the farthest
    own &= np.cumsum(own, axis=1) == 1
    return near[~own].reshape(len(values), n_near - 1)
