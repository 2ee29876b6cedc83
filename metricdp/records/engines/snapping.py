"""The nearest point of a universe, for coordinates, in other processes."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from metricdp.metrics.base import Metric, finite_points

_BUILT: dict[str, cKDTree] = {}
"""The tree of the universe that this process asked last."""


class Snapper:
    """What `Metric.snap` needs of a universe: its coordinates, without its edges. Every process
    builds the search tree once, the same one.

    Parameters
    ----------
    universe : Metric

    Raises
    ------
    InputError
        The universe has no coordinates.

    Examples
    --------
    >>> from metricdp.metrics import EuclideanMetric
    >>> Snapper(EuclideanMetric([[0.0, 0], [9, 0]]))(np.array([[8.0, 1]])).tolist()
    [1]
    """

    def __init__(self, universe: Metric) -> None:
        self._located: NDArray[np.int64] | None = None
        self._stretch, self._power, self._name = (
            np.ones(1),
            getattr(universe, "_minkowski", 2),
            uuid4().hex,
        )
        points = getattr(universe, "points", None)
        if points is None:
            if universe.coordinates is None:
                universe.snap(np.empty((0, 2)))  # says what is missing
            points, self._stretch = np.asarray(universe.coordinates), universe._stretch()
            self._located = np.flatnonzero(np.isfinite(points).all(axis=1))
            points = points[self._located] * self._stretch
        self._points: NDArray[np.float64] = points

    @property
    def dimension(self) -> int:
        """Coordinates of a point."""
        return int(self._points.shape[1])

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Position of the nearest point of the universe, shape (n,)."""
        if self._name not in _BUILT:
            tree = cKDTree(self._points)
            _BUILT.clear()
            _BUILT[self._name] = tree
        at = _BUILT[self._name].query(
            finite_points(points, self.dimension) * self._stretch, p=self._power
        )[1]
        return (at if self._located is None else self._located[at]).astype(np.int64)
