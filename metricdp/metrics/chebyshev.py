"""ChebyshevMetric: points under the largest difference of a coordinate."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from metricdp.arrays import Ints
from metricdp.metrics.vectors import VectorMetric


class ChebyshevMetric(VectorMetric):
    """A finite universe of points in R^d with the Chebyshev (L-infinity, chessboard) distance: the
    largest difference of a coordinate. Cranes and plotters move so, whose axes have a motor each.

    Parameters
    ----------
    points : array_like, shape (n_points, d)
        The public universe; finite numbers.
    ids : sequence of hashable, optional
        Names of the points; 0..n_points-1 by default.

    Raises
    ------
    InputError
        No points, not finite, or distances out of range.

    Notes
    -----
    Trees compare whole rows of distances, O(n_points²) in all.

    Examples
    --------
    >>> ChebyshevMetric([[0.0, 0.0], [3.0, 4.0]], ids=["home", "away"]).distances(["home"])
    array([[0., 4.]])
    """

    _scipy_name = "chebyshev"
    _minkowski = np.inf

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances of the points snapped to the grid: exact integers."""
        there = self._on_grid if targets is None else self._on_grid[targets]
        return cdist(self._on_grid[sources], there, self._scipy_name).astype(np.int64)
