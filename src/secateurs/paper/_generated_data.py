"""Generators of data sets with a published definition: ringnorm, waveform, waveform_noise."""

import numpy as np
from numpy.typing import NDArray

Drawn = tuple[NDArray[np.float64], NDArray[np.str_]]

_PEAKS = {"0": (7, 15), "1": (7, 11), "2": (15, 11)}  # positions of the two peaks of each class


def ringnorm(n_rows: int, rng: np.random.Generator) -> Drawn:
    """Draw samples of two overlapping normal distributions in 20 dimensions [1]_.

    Class 1 has mean 0 and covariance 4·I, class −1 mean (a, …, a), a = 2/√20, and covariance I;
    both classes are equally likely.

    References
    ----------
    .. [1] Breiman. "Bias, variance, and arcing classifiers". 1996; as drawn for DELVE.
    """
    inner = rng.random(n_rows) < 0.5
    noise = rng.standard_normal((n_rows, 20))
    X = np.where(inner[:, None], noise + 2 / np.sqrt(20), 2 * noise)
    return X, np.where(inner, "-1", "1")


def waveform(n_rows: int, rng: np.random.Generator) -> Drawn:
    """Draw mixtures of two out of three triangular waves, at 21 points, with unit noise [1]_.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen and Stone. "Classification and regression trees". 1984.
    """
    waves = {peak: np.maximum(6 - abs(np.arange(1, 22) - peak), 0) for peak in (7, 11, 15)}
    y = rng.integers(3, size=n_rows).astype(str)
    mix = rng.random(n_rows)[:, None]
    first, second = (np.stack([waves[_PEAKS[label][i]] for label in y]) for i in (0, 1))
    X = mix * first + (1 - mix) * second + rng.standard_normal((n_rows, 21))
    return X, y


def waveform_noise(n_rows: int, rng: np.random.Generator) -> Drawn:
    """Draw waveform samples with 19 additional features of pure noise."""
    X, y = waveform(n_rows, rng)
    return np.hstack([X, rng.standard_normal((n_rows, 19))]), y


GENERATORS = {draw.__name__: draw for draw in (ringnorm, waveform, waveform_noise)}
GENERATORS["waveform_small"] = waveform  # a stand-in of 300 samples
