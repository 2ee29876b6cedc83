"""Gaussian mixtures in the unit ball, on which peers of private k-means are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gaussian_mixture(
    n: int = 100_000, d: int = 2, k: int = 8, std: float = 0.05, seed: int = 7, radius: float = 0.8
) -> NDArray[np.float64]:
    """Rows of k Gaussians of unequal weight, moved into the unit ball where they lie outside.

    Parameters
    ----------
    n, d, k : int
        Rows, columns, Gaussians.
    std : float
        Standard deviation of every coordinate: 0.05 separates them mostly ("gm"), 0.15 lets them
        overlap ("gw").
    seed : int
    radius : float
        Of the ball in which their centers are drawn uniformly.

    Returns
    -------
    ndarray of float64, shape (n, d)

    Examples
    --------
    >>> points = gaussian_mixture(1000, d=3)
    >>> points.shape, bool((np.linalg.norm(points, axis=1) <= 1 + 1e-12).all())
    ((1000, 3), True)
    """
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    centers *= radius * rng.random((k, 1)) ** (1 / d)
    which = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 5.0)))
    points = centers[which] + std * rng.normal(size=(n, d))
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]
