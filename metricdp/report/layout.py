"""A public drawing of a metric without coordinates: pivot multidimensional scaling, refined by
sparse stress.

Everything here reads the public metric only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from metricdp.arrays import Floats, Ints
from metricdp.options import Coins, coins

_REFINEMENT_WORK = 60_000_000
"""Vertex pairs looked at in all: bounds the seconds spent on large universes."""


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
    metric: Any, *, n_pivots: int = 50, seed: int = 0, rng: Coins | None = None, refine: bool = True
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
    large data. Graph Drawing 2006, LNCS 4372. Ortmann, M., Klimenta, M. & Brandes, U. (2017). A
    sparse stress model. JGAA 21(5).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> from metricdp.report import pivot_layout
    >>> pivot_layout(metric, refine=False).shape
    (9, 2)
    """
    seed = coins(seed, rng)
    if len(metric) < 3:
        gap = float(_row(metric, 0)[-1])
        return np.array([[-gap / 2, 0.0], [gap / 2, 0.0]])[: len(metric)]
    pivots, distances = pivot_distances(metric, n_pivots, seed)
    placed = _to_scale(_pivot_mds(distances), pivots, distances)
    graph = metric.graph
    if refine and graph is not None:
        placed = _refined(placed, pivots, distances, graph, seed)
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


def _refined(placed: Floats, pivots: Ints, distances: Floats, graph: Any, seed: int) -> Floats:
    """Rounds of localized stress majorization over (point, pivot) pairs and edges, weights 1/d²."""
    n, p = len(placed), len(pivots)
    rounds = min(60, _REFINEMENT_WORK // max(1, n * p + len(graph.indices)))
    if rounds < 3:
        return placed
    scale = distances.mean() or 1.0
    floor = 1e-3 * scale  # points at distance 0 or nearly: no infinite weights
    spread = np.random.default_rng(seed).normal(size=placed.shape)
    placed = placed + 0.02 * scale * spread
    tails, heads, lengths, mean, degree = _edge_system(graph, floor)
    for _ in range(rounds):
        target = np.zeros_like(placed)
        weight = np.zeros(n)
        for pivot, true in zip(pivots, np.maximum(distances, floor)):
            w = 1.0 / true**2
            w[pivot] = 0.0
            target += _wanted(placed, placed[pivot], true) * w[:, None]
            weight += w
        # a pivot stands for many points, an edge for one: balance the two sums per point
        target = target / p + mean @ _wanted(placed[tails], placed[heads], lengths)
        weight = weight / p + degree
        placed = target / np.maximum(weight, 1e-300)[:, None]
    return placed


def _wanted(here: Floats, there: Floats, true: Floats) -> Floats:
    """Where each point would have to be for its drawn distance to `there` to be the true one."""
    step = here - there
    length = np.sqrt(np.einsum("ij,ij->i", step, step))
    return there + step * (true / np.maximum(length, 1e-12))[:, None]


def _edge_system(graph: Any, floor: float) -> tuple[Any, ...]:
    """Arcs with lengths, and the matrix that averages over arcs with weights 1/d²."""
    n = len(graph.indptr) - 1
    degree = np.diff(graph.indptr)
    tails = np.repeat(np.arange(n), degree)
    lengths = np.maximum(graph.lengths, floor)
    weights = 1.0 / lengths**2 / np.maximum(degree, 1)[tails]
    mean = csr_array((weights, (tails, np.arange(len(tails)))), shape=(n, len(tails)))
    return tails, graph.indices, lengths, mean, np.asarray(mean.sum(axis=1)).ravel()


def _principal_axes(placed: Floats) -> Floats:
    """Orthogonal (2, 2) map to principal axes, longer one horizontal, with fixed signs."""
    _, axes = np.linalg.eigh(placed.T @ placed)
    axes = axes[:, ::-1]
    turned = placed @ axes
    largest = np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)[0]
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))
