"""Points under Minkowski distances, places on Earth under the great-circle distance, an explicit
distance matrix, and a universe without geometry.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from metricdp.arguments import Floats, Ints, floats, listed
from metricdp.errors import InputError
from metricdp.metrics.base import checked_extent, checked_ids, public_grid
from metricdp.metrics.by_rows import RowMetric
from metricdp.metrics.snapping import Snapper, finite_points
from metricdp.metrics.structures import Lattice, Vectors
from metricdp.universe.crs import EARTH_RADIUS, WGS84

_TREE_DIMENSIONS = 12  # beyond, k-d trees visit nearly all points


class VectorMetric(RowMetric):
    """Points in R^d under one of SciPy's Minkowski distances."""

    _scipy_name: str
    _minkowski: float

    def __init__(self, points: ArrayLike, ids: Sequence[Hashable] | None = None) -> None:
        self.points = finite_points(points)
        self.ids = checked_ids(ids, len(self.points))
        self.name = f"{len(self.points):,} points"
        if self.points.shape[1] == 2:
            self.coordinates = self.points
            self.coordinate_system = "xy"
        self.unit, self._on_grid = _snapped(self.points)
        self.vectors = Vectors(self.points, self._minkowski)
        if self._minkowski in (1, 2):
            self.lattice = Lattice(self._on_grid, int(self._minkowski))

    @cached_property
    def grid_error(self) -> float:  # type: ignore[override]
        """Largest change of a distance by rounding points to the grid; 0 if they lie on it."""
        shifted = self.points - self.points.min(axis=0)
        d = self.points.shape[1]
        if np.array_equal(shifted, self._on_grid * self.unit):
            return 0.0
        return self.unit * float(np.linalg.norm(np.ones(d), self._minkowski)) * (1 + 1e-9)

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Distances between positions (n_sources, n_targets), O(n_sources · n_targets · d)."""
        there = self.points if targets is None else self.points[targets]
        return cdist(self.points[sources], there, self._scipy_name)

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances of the points snapped to the grid, rounded up: exact integers and a metric,
        since ceil(a + b) <= ceil(a) + ceil(b).

        Snapping moves a point by at most unit · √d / 2. All sums stay below 2**53, so SciPy's
        floating-point sums are exact.
        """
        there = self._on_grid if targets is None else self._on_grid[targets]
        if self._minkowski != 2:
            return cdist(self._on_grid[sources], there, self._scipy_name).astype(np.int64)
        squares = cdist(self._on_grid[sources], there, "sqeuclidean").astype(np.int64)
        root = np.ceil(np.sqrt(squares)).astype(np.int64)
        return root + (root * root < squares)

    def nearest_to(self, centers: Ints) -> tuple[Ints, Floats]:
        """Nearest center of every point: a k-d tree up to 12 dimensions, rows beyond."""
        if self.points.shape[1] > _TREE_DIMENSIONS or len(centers) < 8:
            return super().nearest_to(centers)
        distance, label = cKDTree(self.points[centers]).query(self.points, p=self._minkowski)
        return label.astype(np.int64), distance

    def snapper(self) -> Snapper:
        """A map to the nearest point in this metric."""
        return Snapper(self.points, self._minkowski)

    def duplicates(self, positions: Ints) -> Ints:
        """Groups of equal coordinates, by sorting."""
        there = self.points[positions] + 0.0  # -0.0 is 0.0
        return np.unique(there, axis=0, return_inverse=True)[1].ravel()

    def structure(self) -> Iterator[NDArray[Any]]:
        """The coordinates."""
        yield self.points + 0.0

    def check(self) -> None:
        """Nothing: distances of integer coordinates have all properties."""

    def diameter_bound(self) -> float:
        """Diameter of the bounding box: at most √d (Euclidean) or d (L1) times the true one."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0), ord=self._minkowski))


class EuclideanMetric(VectorMetric):
    """A finite universe of points in R^d with the Euclidean distance.

    Parameters
    ----------
    points : array_like, shape (n_points, d)
        The public universe; finite numbers.
    ids : sequence of hashable, optional
        Names of the points; 0..n_points-1 by default.

    Examples
    --------
    >>> metric = EuclideanMetric([[0.0, 0.0], [3.0, 4.0]], ids=["home", "away"])
    >>> metric.distances(["home"], ["away"])
    array([[5.]])
    """

    _scipy_name = "euclidean"
    _minkowski = 2


class ManhattanMetric(VectorMetric):
    """A finite universe of points in R^d with the L1 (city block) distance; parameters as
    `EuclideanMetric`.

    Examples
    --------
    >>> ManhattanMetric([[0.0, 0.0], [3.0, 4.0]]).distances([0])
    array([[0., 7.]])
    """

    _scipy_name = "cityblock"
    _minkowski = 1


class ChebyshevMetric(VectorMetric):
    """A finite universe of points in R^d with the Chebyshev (L-infinity, chessboard) distance: the
    largest difference in a coordinate. It is the time of cranes and plotters, whose axes move at
    once.

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


class PrecomputedMetric(RowMetric):
    """A finite universe given by its matrix of distances.

    Parameters
    ----------
    matrix : array_like, shape (n_points, n_points)
        Symmetric, zero on the diagonal, non-negative and finite. The triangle inequality is the
        caller's promise: the quality of centers depends on it, privacy does not.
    ids : sequence of hashable, optional
        Names of the points; 0..n_points-1 by default, or those that a data frame of pandas has for
        its rows or columns, alike if it has both. Given in another order, these reorder it.

    Raises
    ------
    InputError
        One of these rules is broken.

    Examples
    --------
    >>> PrecomputedMetric([[0, 2], [2, 0]], ids=["a", "b"]).nearest(["b"])
    (array([0, 0]), array([2., 0.]))
    """

    def __init__(self, matrix: ArrayLike, ids: Sequence[Hashable] | None = None) -> None:
        frame: Any = matrix
        if hasattr(frame, "columns") and hasattr(frame, "index"):
            rows, columns = list(frame.index), list(frame.columns)
            plain = list(range(len(rows)))
            if ids is None:
                ids = columns if rows == plain else rows
                if columns not in (ids, list(range(len(columns)))):
                    raise InputError(
                        "a distance matrix must name its rows and columns alike, or ids="
                    )
            elif rows == columns != plain and frame.index.is_unique:
                ids = listed(ids, "ids")
                if sorted(map(repr, ids)) == sorted(map(repr, rows)):
                    matrix = frame.reindex(index=ids, columns=ids)  # found, not named anew
        self.matrix = m = floats(matrix, "a distance matrix must hold numbers")
        if m.ndim != 2 or m.shape[0] != m.shape[1] or m.shape[0] == 0:
            raise InputError(f"a distance matrix must be square and not empty, got shape {m.shape}")
        if not np.isfinite(m).all() or (m < 0).any():
            raise InputError("distances must be finite and non-negative")
        if (np.diagonal(m) != 0).any():
            raise InputError("a distance matrix must be zero on its diagonal")
        if not np.array_equal(m, m.T):
            raise InputError(
                "a distance matrix must be symmetric; (M + M.T) / 2 or np.minimum(M, M.T) makes one"
            )
        self.ids = checked_ids(ids, len(m))
        self.name = f"{len(m):,} points"
        self._diameter = float(m.max())  # a pass over the matrix: asked for often
        self.unit = public_grid(checked_extent(self._diameter), len(m))

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Rows of the matrix, shape (n_sources, n_targets)."""
        return self.matrix[sources] if targets is None else self.matrix[np.ix_(sources, targets)]

    def check(self) -> None:
        """Nothing: the whole matrix was checked when it was given."""

    def diameter_bound(self) -> float:
        """The largest entry: the exact diameter."""
        return self._diameter


def _snapped(points: Floats) -> tuple[float, Floats]:
    """(grid step, integer-valued coordinates from 0): the step is 1 for integer data that allow it,
    else a power of two.

    Coordinates use at most (53 - log2 d) / 2 bits, so that squared distances stay below 2**53.
    """
    with np.errstate(over="ignore"):
        span = checked_extent(float(np.ptp(points, axis=0).max()))
        d = points.shape[1]
    cells = 2.0 ** int((53 - np.log2(d)) // 2)
    shifted = points - points.min(axis=0)
    if span < cells and (shifted == np.rint(shifted)).all():
        return 1.0, shifted
    unit = 2.0 ** int(np.ceil(np.log2(span / cells)) + 1)
    return unit, np.rint(shifted / unit)


class GroundSet(RowMetric):
    """A universe without geometry: distinct ids, any two of them at distance 1.

    Parameters
    ----------
    ids : sequence of hashable

    Examples
    --------
    >>> GroundSet(["bread", "milk"]).distances(["bread"])
    array([[0., 1.]])
    """

    unit = 1.0
    on_grid = True

    def __init__(self, ids: Sequence[Hashable]) -> None:
        known = listed(ids, "ids")
        self.ids = checked_ids(known, len(known))
        self.name = f"{len(self.ids):,} elements"

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """0 to itself, 1 to all others."""
        return self.grid_rows(sources, targets).astype(np.float64)

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """The same as integers."""
        there = np.arange(len(self)) if targets is None else np.asarray(targets)
        return (np.asarray(sources)[:, None] != there).astype(np.int64)

    def diameter_bound(self) -> float:
        """1, or 0 for a single point."""
        return float(len(self) > 1)


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
        self.ids = checked_ids(ids, len(self.points))
        _check_ranges(self.points)
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
