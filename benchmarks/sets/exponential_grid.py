"""The private coreset that paper 3 compares with in its Figure 7: noisy counts on exponential grids
around rough centers, after Feldman, Fiat, Kaplan & Nissim, *Private coresets* (STOC 2009).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from metricdp.kernels.points import nearest_centers
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import HistogramQuery, measure

CELLS = 8
"""Along a side of every ring's box; the inner half of it belongs to the ring below."""
RINGS = 8
"""Boxes of halved sides, from the whole square down to 1/128 of it."""

Array = NDArray[np.float64]


class ExponentialGrid:
    """A square cut around each of a few centers into cells that grow with the distance: a public
    partition, once the centers are public.

    Parameters
    ----------
    space : EuclideanSpace
        Of two dimensions.
    centers : ndarray of float64, shape (k, 2)

    Examples
    --------
    >>> grid = ExponentialGrid(EuclideanSpace([0, 0], [1, 1]), np.array([[0.5, 0.5]]))
    >>> grid.encode(grid.middles()).tolist() == list(range(grid.n_parts))
    True
    """

    def __init__(self, space: EuclideanSpace, centers: Array) -> None:
        self.universe = space
        self.centers = np.ascontiguousarray(centers)
        self.reach = float(space.diameter_bound()) * 0.5 ** np.arange(RINGS)[::-1]
        side = np.arange(CELLS)
        inner = (side >= CELLS // 4) & (side < 3 * CELLS // 4)
        outer = ~(inner[:, None] & inner[None, :])
        kept = np.concatenate([np.ones(CELLS**2, bool), np.tile(outer.ravel(), RINGS - 1)])
        self._kept = np.flatnonzero(kept)
        self._number = np.cumsum(kept) - 1
        self.n_parts = len(self.centers) * len(self._kept)

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Cell of each point, shape (n,)."""
        label = nearest_centers(records, self.centers)[0]
        offset = records - self.centers[label]
        ring = np.searchsorted(self.reach, np.abs(offset).max(axis=1)).clip(0, RINGS - 1)
        half = CELLS // 2
        away = np.floor(np.abs(offset) * (half / self.reach[ring])[:, None]).astype(np.int64)
        away = away.clip(0, half - 1)
        cell = np.where(offset >= 0, half + away, half - 1 - away)
        flat = (ring * CELLS + cell[:, 0]) * CELLS + cell[:, 1]
        return label * len(self._kept) + self._number[flat]

    def middles(self) -> Array:
        """The middle of each cell, shape (n_parts, 2); in the box where the cell reaches beyond."""
        ring, row, column = np.unravel_index(self._kept, (RINGS, CELLS, CELLS))
        at = (np.stack([row, column], axis=1) + 0.5) * (2 / CELLS) - 1
        shift = at * self.reach[ring][:, None]
        return (self.centers[:, None, :] + shift[None]).reshape(-1, 2)


def coreset(
    space: EuclideanSpace, demand: mdp.PrivateDemand, k: int, epsilon: Any, ledger: mdp.Ledger
) -> tuple[Array, Array]:
    """Points and weights, negative ones among them: half of epsilon for rough centers, half for the
    counts.

    **Privacy.** epsilon-DP for the ledger's relation: a release of its own (`method="coreset"`) by
    sequential composition with one histogram (`HistogramQuery`) on cells that are a function of
    those centers.

    Returns
    -------
    points : ndarray of float64, shape (n_cells, 2)
    weights : ndarray of float64, shape (n_cells,)
    """
    half = mdp.privacy.exact(epsilon) * Fraction(1, 2)
    rough = mdp.k_means(space, demand, k, epsilon=half, ledger=ledger, method="coreset").centers
    grid = ExponentialGrid(space, rough)
    budget = ledger.charge(half, purpose="cells of the exponential grids")
    release = measure(demand, HistogramQuery(grid), half, budget)
    points = grid.middles()
    box = np.clip(points, space.lower, space.upper)
    there = np.abs(points - box).max(axis=1) <= np.tile(
        np.repeat(grid.reach / CELLS, np.bincount(grid._kept // CELLS**2)), len(rough)
    )
    return box[there], release.values[there].astype(np.float64)
