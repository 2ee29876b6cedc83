"""A layout of a metric without coordinates, by landmark multidimensional scaling.

Only the public metric is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.metrics.landmarks import landmarks
from metricdp.options import Coins, coins


def pivot_layout(
    metric: Any, *, n_pivots: int = 50, seed: int = 0, rng: Coins | None = None
) -> Floats:
    """Coordinates in the plane for all points, such that drawn distances approximate the metric's.

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
    # the axis of largest variance is horizontal
    axes = np.linalg.svd(placed, full_matrices=False)[2]
    return np.asarray(placed @ axes.T)


def _placed(distances: Floats, pivots: Ints) -> Floats:
    """Pivots by classical scaling, all other points by their squared distances to the pivots."""
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
    """Random offsets for points that coincide, such as the leaves of a star, and 0 for others."""
    _, at, times = np.unique(
        np.round(placed / (wide or 1.0), 1), axis=0, return_inverse=True, return_counts=True
    )
    spread = wide * np.random.default_rng(seed).normal(size=placed.shape)
    return np.where(times[at.ravel()][:, None] > 1, spread, 0.0)
