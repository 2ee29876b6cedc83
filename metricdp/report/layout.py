"""A public drawing of a metric without coordinates: landmark multidimensional scaling.

Everything here reads the public metric only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.metrics.landmarks import landmarks
from metricdp.options import Coins, coins


def pivot_layout(
    metric: Any, *, n_pivots: int = 50, seed: int = 0, rng: Coins | None = None
) -> Floats:
    """Place every point of a metric in the plane so that drawn distances resemble true ones.

    Returns
    -------
    ndarray of float64, shape (n_points, 2)
        Centered at the origin, in the metric's units of length.

    Notes
    -----
    Complexity: twice `n_pivots` rows of the metric, then O(p² n_points) time; memory O(p ·
    n_points) for p pivots.

    References
    ----------
    de Silva, V. & Tenenbaum, J. B. (2004). Sparse multidimensional scaling using landmark points.
    Stanford University.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> from metricdp.report import pivot_layout
    >>> pivot_layout(metric).shape
    (9, 2)
    """
    seed = coins(seed, rng)
    if len(metric) < 3:
        gap = float(metric.distance_rows(np.array([0]))[0, -1])
        return np.array([[-gap / 2, 0.0], [gap / 2, 0.0]])[: len(metric)]
    pivots = landmarks(metric, n_pivots, seed).positions
    distances = metric.distance_rows(pivots).astype(np.float64)
    placed = _placed(distances, pivots)
    if metric.graph is not None:
        placed += _apart(placed, 0.03 * float(distances.mean()), seed)
    placed -= placed.mean(axis=0)
    axes = np.linalg.svd(placed, full_matrices=False)[2]  # the longer one horizontal
    return np.asarray(placed @ axes.T)


def _placed(distances: Floats, pivots: Ints) -> Floats:
    """The pivots by classical scaling, all others by their squared distances from these."""
    squares = distances**2
    mean = squares[:, pivots].mean(axis=1)
    center = np.eye(len(pivots)) - 1 / len(pivots)
    values, vectors = np.linalg.eigh(-0.5 * center @ squares[:, pivots] @ center)
    placed = np.zeros((distances.shape[1], 2))
    for axis, value in enumerate(values[:-3:-1]):
        if value > 1e-9 * values[-1]:
            along = vectors[:, -1 - axis] / np.sqrt(value)
            placed[:, axis] = -0.5 * along @ (squares - mean[:, None])
    return placed


def _apart(placed: Floats, wide: float, seed: int) -> Floats:
    """How vertices that look alike from every pivot, such as leaves of a star, are moved apart."""
    _, at, times = np.unique(
        np.round(placed / (wide or 1.0), 1), axis=0, return_inverse=True, return_counts=True
    )
    spread = wide * np.random.default_rng(seed).normal(size=placed.shape)
    return np.where(times[at.ravel()][:, None] > 1, spread, 0.0)
