"""HaversineMetric: longitude and latitude under the great-circle distance."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.metrics.base import checked_extent, checked_ids, public_grid
from metricdp.metrics.by_rows import RowMetric
from metricdp.metrics.snapping import Snapper, finite_points
from metricdp.universe.crs import EARTH_RADIUS, WGS84

_FINEST = 2.0**-10
"""Step of the grid, about a millimeter, unless a universe has more than 2^27 points."""
_NOISE = 1e-7
"""Meters: at least three times the rounding error of a distance (1e-15 radians)."""
_FEW = 8
"""Below so many centers, rows find the nearest faster than a k-d tree."""


class HaversineMetric(RowMetric):
    """A finite universe of places on Earth with the great-circle distance, in meters.

    Parameters
    ----------
    lonlat : array_like, shape (n_points, 2)
        Longitude (-180 to 180) and latitude (-90 to 90) in degrees, in this order.
    ids : sequence of hashable, optional
        Names of the points; 0..n_points-1 by default.

    Attributes
    ----------
    unit : float
        2**-10 m. Grid distances are rounded up after adding 1e-7 m (except at distance 0), more
        than rounding errors can be, so that they are exactly a metric.

    Raises
    ------
    InputError
        No points, not finite, or out of range.

    Notes
    -----
    The Earth is a sphere of its mean radius: distances differ from the ellipsoid's geodesics by up
    to 0.56 %. Two points as unit vectors a, b are ``2 atan2(|a - b|, |a + b|)`` radians apart [1]_,
    exact to 1e-15 for near and for antipodal points (the haversine formula is not for the latter).
    Coordinates snap to the nearest point by the same distance, also across the date line and at the
    poles.

    References
    ----------
    .. [1] W. Kahan, "How futile are mindless assessments of roundoff in floating-point
       computation?", 2006, section 12.

    Examples
    --------
    >>> places = HaversineMetric([[-0.1276, 51.5072], [2.3522, 48.8566]], ids=["London", "Paris"])
    >>> places.distances(["London"], ["Paris"]).round(-3)
    array([[344000.]])
    >>> places.snap([[0.0, 52.0]])
    array([0])
    """

    measured_in = "m"
    triangular = True

    def __init__(self, lonlat: ArrayLike, ids: Sequence[Hashable] | None = None) -> None:
        self.points = finite_points(lonlat, 2)
        if len(self.points) == 0:
            raise InputError("the universe has no points")
        _check_ranges(self.points)
        self.ids = checked_ids(ids, len(self.points))
        self.name = f"{len(self.points):,} places"
        self.coordinates = self.points
        self.coordinate_system = "lonlat"
        self.crs = WGS84
        self._vectors = _vectors(self.points)
        self.unit = max(_FINEST, public_grid(np.pi * EARTH_RADIUS, len(self.points)))

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Distances between positions in meters, shape (n_sources, n_targets)."""
        there = self._vectors if targets is None else self._vectors[targets]
        here = self._vectors[sources]
        return _meters(cdist(here, there), cdist(here, -there))

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances in steps of the grid, rounded up after adding 1e-7 m, except at distance 0.

        Let d' = d + e be the computed distance, \\|e\\| <= h, and s >= 3h what is added. Then
        ``d'(x, z) + s <= d(x, y) + d(y, z) + h + s <= (d'(x, y) + s) + (d'(y, z) + s)``: the sums
        obey the triangle inequality, and so do they rounded up.
        """
        meters = self.distance_rows(sources, targets)
        return np.ceil((meters + _NOISE * (meters > 0)) / self.unit).astype(np.int64)

    def nearest_to(self, centers: Ints) -> tuple[Ints, Floats]:
        """Nearest center of every point by a k-d tree: longer arcs have longer chords."""
        if len(centers) < _FEW:
            return super().nearest_to(centers)
        there = self._vectors[centers]
        label = cKDTree(there).query(self._vectors)[1].astype(np.int64)
        nearest = there[label]
        chord = np.linalg.norm(self._vectors - nearest, axis=1)
        return label, _meters(chord, np.linalg.norm(self._vectors + nearest, axis=1))

    def snapper(self) -> Snapper:
        """The nearest point on the sphere."""
        return Snapper(self._vectors, project=_checked_vectors, dimension=2)

    def snap_radius(self, meters: float) -> float:
        """The chord of an arc on the unit sphere."""
        return float(2 * np.sin(min(meters / (2 * EARTH_RADIUS), np.pi / 2)))

    def structure(self) -> Iterator[NDArray[Any]]:
        """The coordinates."""
        yield self.points + 0.0

    def diameter_bound(self) -> float:
        """Twice the largest distance from the points' mean direction, at most half the Earth's
        circumference; O(n).
        """
        return self._bound

    @cached_property
    def _bound(self) -> float:
        most = np.pi * EARTH_RADIUS
        middle = self._vectors.mean(axis=0)
        size = np.linalg.norm(middle)
        if size > 1e-6:
            middle = middle[None, :] / size
            there = _meters(cdist(middle, self._vectors), cdist(middle, -self._vectors))
            most = min(most, 2 * float(there.max()))
        return checked_extent(most + 2 * _NOISE if len(self) > 1 else 0.0)


def _meters(chord: Floats, opposite: Floats) -> Floats:
    """Length of the arc, from the lengths of a - b and of a + b."""
    return 2 * EARTH_RADIUS * np.arctan2(chord, opposite)


def _vectors(lonlat: Floats) -> Floats:
    """Unit vectors, shape (n, 3); equal for two notations of one place."""
    longitude, latitude = lonlat.T
    # 180 degrees east is 180 degrees west, and a pole has any longitude
    east = np.radians(np.where(longitude == -180.0, 180.0, longitude))
    north = np.radians(latitude)
    level = np.where(np.abs(latitude) == 90.0, 0.0, np.cos(north))
    return np.column_stack([level * np.cos(east), level * np.sin(east), np.sin(north)])


def _checked_vectors(lonlat: Floats) -> Floats:
    """Unit vectors of points that may be private: no message quotes a value."""
    if (np.abs(lonlat) > (180.0, 90.0)).any():
        raise InputError(
            "points must be longitude (-180 to 180) and latitude (-90 to 90) in degrees"
        )
    return _vectors(lonlat)


def _check_ranges(lonlat: Floats) -> None:
    for axis, name, most in ((1, "latitude", 90), (0, "longitude", 180)):
        outside = lonlat[np.abs(lonlat[:, axis]) > most]
        if len(outside):
            swapped = axis == 1 and (np.abs(lonlat[:, 0]) <= 90).all()
            raise InputError(
                f"{name} must lie between -{most} and {most} degrees, got {outside[0, axis]:g}"
                + ("; are the columns swapped? longitude comes first" if swapped else "")
            )
