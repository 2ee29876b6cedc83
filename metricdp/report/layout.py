"""A public drawing of a metric without coordinates: pivot multidimensional scaling.

Everything here reads the public metric only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.options import Coins, coins


def pivot_distances(metric: Any, n_pivots: int = 50, seed: int = 0) -> tuple[Ints, Floats]:
    """Pivots, farthest first (Gonzalez 1985), and their distances to every point."""
    n = len(metric)
    start = int(np.random.default_rng(seed).integers(n))
    nearest = _row(metric, start)
    pivots, rows = list[int](), list[Floats]()
    while len(pivots) < min(n_pivots, n) and (not pivots or nearest.max() > 0):
        pivots.append(int(nearest.argmax()))
        rows.append(_row(metric, pivots[-1]))
        nearest = rows[0].copy() if len(rows) == 1 else np.minimum(nearest, rows[-1])
    return np.array(pivots, dtype=np.int64), np.vstack(rows)


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
    Complexity: `n_pivots` + 1 rows of the metric, then O(p² n_points) time; memory O(p · n_points)
    for p pivots.

    References
    ----------
    Brandes, U. & Pich, C. (2007). Eigensolver methods for progressive multidimensional scaling of
    large data. Graph Drawing 2006, LNCS 4372.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> from metricdp.report import pivot_layout
    >>> pivot_layout(metric).shape
    (9, 2)
    """
    seed = coins(seed, rng)
    if len(metric) < 3:
        gap = float(_row(metric, 0)[-1])
        return np.array([[-gap / 2, 0.0], [gap / 2, 0.0]])[: len(metric)]
    pivots, distances = pivot_distances(metric, n_pivots, seed)
    placed = _to_scale(_pivot_mds(distances), pivots, distances)
    if metric.graph is not None:
        placed += _apart(placed, 0.03 * float(distances.mean()), seed)
    placed -= placed.mean(axis=0)
    return np.asarray(placed @ _principal_axes(placed))


def _row(metric: Any, position: int) -> Floats:
    return np.asarray(metric.distance_rows(np.array([position]))[0], dtype=np.float64)


def _pivot_mds(distances: Floats) -> Floats:
    """Two columns of C·V, C the doubly centered squared distances (Brandes & Pich 2007)."""
    squares = distances**2
    row = squares.mean(axis=1, keepdims=True)
    column = squares.mean(axis=0, keepdims=True)
    centered = -0.5 * (squares - row - column + squares.mean())
    _, vectors = np.linalg.eigh(centered @ centered.T)
    placed = np.zeros((distances.shape[1], 2))
    top = vectors[:, ::-1][:, :2]
    placed[:, : top.shape[1]] = (top.T @ centered).T
    return placed / (np.abs(placed).max() or 1.0)


def _to_scale(placed: Floats, pivots: Ints, distances: Floats) -> Floats:
    """Map the drawing linearly so that drawn squared distances to the pivots fit the true ones
    best.

    The columns of C·V carry the pivots' own spread; with this they recover points of the plane
    exactly.
    """
    some = slice(None, None, max(1, placed.shape[0] * len(pivots) // 200_000))
    step = (placed[None, some] - placed[pivots][:, None]).reshape(-1, 2)
    terms = np.column_stack([step[:, 0] ** 2, 2 * step[:, 0] * step[:, 1], step[:, 1] ** 2])
    (xx, xy, yy), *_ = np.linalg.lstsq(terms, distances[:, some].ravel() ** 2, rcond=None)
    values, axes = np.linalg.eigh(np.array([[xx, xy], [xy, yy]]))
    return np.asarray(placed @ axes * np.sqrt(np.maximum(values, 0.05 * max(values[-1], 0.0))))


def _apart(placed: Floats, wide: float, seed: int) -> Floats:
    """How vertices that look alike from every pivot, such as leaves of a star, are moved apart."""
    _, at, times = np.unique(
        np.round(placed / (wide or 1.0), 1), axis=0, return_inverse=True, return_counts=True
    )
    spread = wide * np.random.default_rng(seed).normal(size=placed.shape)
    return np.where(times[at.ravel()][:, None] > 1, spread, 0.0)


def _principal_axes(placed: Floats) -> Floats:
    """Orthogonal (2, 2) map to principal axes, longer one horizontal, with fixed signs."""
    _, axes = np.linalg.eigh(placed.T @ placed)
    axes = axes[:, ::-1]
    turned = placed @ axes
    largest = np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)[0]
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))
