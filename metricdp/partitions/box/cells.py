"""Public partitions of a box that a few points, a plane, a net or a hash determine, and public maps
that map each point by itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.points import nearest_centers, projected, squares_from
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted


@trusted
class WholeBox:
    """A box, or any other universe, in one part."""

    n_parts = 1

    def __init__(self, space: Any) -> None:
        self.universe = space

    def encode(self, records: Floats) -> Ints:
        """Part of each point, shape (n,)."""
        return np.zeros(len(records), np.int64)


@trusted
class VoronoiCells:
    """A box cut into the Voronoi cells of a few centers: a point belongs to its nearest one."""

    def __init__(self, space: EuclideanSpace, centers: Floats) -> None:
        self.universe = space
        self.centers = centers
        self.n_parts = len(centers)

    def encode(self, records: Floats) -> Ints:
        """Cell of each point, shape (n,)."""
        return nearest_centers(records, self.centers)[0]


@trusted
class HalfSpaces:
    """A box cut in two by a plane: part 0 is the side to which its normal points."""

    n_parts = 2

    def __init__(self, space: EuclideanSpace, point: Floats, normal: Floats) -> None:
        self.universe = space
        self.at = np.flatnonzero(normal)
        self.point = point[self.at]
        self.normal = normal[None, self.at]

    def encode(self, records: Floats) -> Ints:
        """Side of each point, shape (n,)."""
        seen = records
        if len(self.at) < records.shape[1]:
            seen = np.ascontiguousarray(records[:, self.at])
        return (projected(seen, self.point, self.normal)[:, 0] < 0).astype(np.int64)


@trusted
class PartsOfImages:
    """The pullback of a partition under a map: a point belongs to the part of its image.

    `universe`: the box of the points; `image`: the map, from points (n, d) to points of the
    universe of `parts`; it maps each point by itself.
    """

    def __init__(
        self, universe: EuclideanSpace, image: Callable[[Floats], Floats], parts: Any
    ) -> None:
        self.universe = universe
        self.n_parts = parts.n_parts
        self._image = image
        self._parts = parts

    def encode(self, records: Floats) -> Ints:
        """Part of each point's image, shape (n,)."""
        return self._parts.encode(self._image(records))


@trusted
class Shells:
    """Clusters of a box cut into concentric shells around their centers. The outer radii are the
    box's diagonal times powers of `ratio`; the innermost shell is a ball. Part ``j * n_shells + s``
    is shell s of cluster j, 0 the outermost; if all clusters are taken `together`, part s.
    """

    def __init__(
        self, cells: Any, centers: Floats, n_shells: int, ratio: float, *, together: bool = False
    ) -> None:
        self.universe: EuclideanSpace = cells.universe
        self.centers = centers
        self.outer = self.universe.diameter_bound() * ratio ** np.arange(n_shells)
        self.n_parts = n_shells * (1 if together else len(centers))
        self._cells = cells
        self._together = together

    def encode(self, records: Floats) -> Ints:
        """Part of each point, shape (n,)."""
        label = self._cells.encode(records)
        distance = np.sqrt(squares_from(records, label, self.centers))
        shell = np.searchsorted(-self.outer[1:], -distance, side="right")
        return shell if self._together else label * len(self.outer) + shell


BUCKETS = 512
PROJECTIONS = 5
WIDTH = 4.0
"""Buckets of a hash; its projections; the width of its slabs, in units of radius / √d."""


@trusted
class HashBuckets:
    """Locality-sensitive hash of a box: slabs along a few random directions cut it into cells, and
    the cells are hashed into a fixed number of buckets. All coins are public.

    `radius`: of the balls whose points should mostly share a bucket.
    """

    def __init__(self, space: EuclideanSpace, radius: float, seed: int) -> None:
        rng = np.random.default_rng([seed, round(radius / space.diameter_bound() * 2**40)])
        self.universe = space
        self.radius = radius
        self.n_parts = BUCKETS
        directions = rng.normal(size=(space.dimension, min(PROJECTIONS, space.dimension)))
        self._directions = (
            directions
            / np.linalg.norm(directions, axis=0)
            * (np.sqrt(space.dimension) / (WIDTH * radius))
        )
        self._shift = np.asarray(rng.random(directions.shape[1]))
        self._key = rng.integers(1, 2**63, directions.shape[1], dtype=np.uint64) | np.uint64(1)

    def encode(self, records: Floats) -> Ints:
        """Bucket of each point, shape (n,)."""
        place = np.tile(self._shift, (len(records), 1))
        # not a matrix product: its rounding of one row may depend on the other rows
        for coordinate, direction in zip(records.T, self._directions):
            place += coordinate[:, None] * direction
        slab = np.floor(place).astype(np.int64).astype(np.uint64)
        mixed = (slab * self._key).sum(axis=1, dtype=np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(40)).astype(np.int64) % self.n_parts


@trusted
class Scaled:
    """The map x ↦ (x - point) / scales of a box; `space`: the box of the images."""

    def __init__(self, universe: EuclideanSpace, point: Floats, scales: Floats) -> None:
        self.universe = universe
        self.point = point
        self.scales = scales
        self.space = EuclideanSpace(
            (universe.lower - point) / scales, (universe.upper - point) / scales
        )

    def encode(self, records: Floats) -> Floats:
        """Images of points, shape (n, d)."""
        images = records - self.point
        images /= self.scales
        return images

    def back(self, images: Floats) -> Floats:
        """Points of images, shape (n, d)."""
        return images * self.scales + self.point


@trusted
class NetCells:
    """A partition of a box: a point belongs to the part of its nearest net point.

    `tree`: a partition of the net, which is a finite universe of points of the box.
    """

    def __init__(self, space: EuclideanSpace, tree: Any) -> None:
        self.universe = space
        self._net = tree.universe
        self._parts = tree.encode(np.arange(len(self._net)))
        self.n_parts = tree.n_parts

    def encode(self, records: Floats) -> Ints:
        """Part of each point, shape (n,)."""
        return self._parts[self._net.snap(records)]


@trusted
class Subspace:
    """The subspace through a `point` (d,) along orthonormal `axes` (q, d), with an `ellipsoid`
    around the point, whose semi-axes are rows (q, q). Without axes it is the box itself. `space`:
    the box of the images.
    """

    def __init__(
        self, universe: EuclideanSpace, point: Floats, axes: Floats | None, ellipsoid: Floats
    ) -> None:
        self.universe = universe
        self.point = point
        self.axes = axes
        self.ellipsoid = ellipsoid
        self.space = universe
        self.middle = point
        if axes is not None:
            reach = np.abs(axes) @ np.maximum(universe.upper - point, point - universe.lower)
            self.space = EuclideanSpace(-reach, reach)
            self.middle = np.zeros(len(axes))

    @property
    def is_whole(self) -> bool:
        """Whether it has as many dimensions as the box."""
        return len(self.middle) == self.universe.dimension

    def encode(self, records: Floats) -> Floats:
        """Coordinates of points, shape (n, q)."""
        return records if self.axes is None else projected(records, self.point, self.axes)

    def outside(self, places: Floats) -> Floats:
        """Points of the box (n, d) from coordinates (n, q), clipped to it."""
        return places if self.axes is None else self.universe.clip(self.point + places @ self.axes)

    def cloud(self, distances: Floats, typical: float, rng: np.random.Generator) -> Floats:
        """Points of the box distributed as the records are, by what is released: two at each of the
        `distances` (n,) from the point, on opposite sides, shape (2n, d).

        Their directions are Gaussian: the ellipsoid's in the subspace, and isotropic beyond it,
        with what the `typical` distance squared has more than the ellipsoid.
        """
        q, d = len(self.middle), self.universe.dimension
        away = rng.normal(size=(len(distances), q)) @ self.ellipsoid / np.sqrt(q + 2)
        if self.axes is not None:
            rest = max(typical**2 - float((self.ellipsoid**2).sum()) / (q + 2), 0.0)
            beyond = rng.normal(size=(len(distances), d)) * np.sqrt(rest / max(d - q, 1))
            away = away @ self.axes + beyond - beyond @ self.axes.T @ self.axes
        length = np.linalg.norm(away, axis=1)
        away *= (distances / np.maximum(length, 1e-300))[:, None]
        return self.universe.clip(self.point + np.concatenate([away, -away]))

    def drawn(self, n: int, rng: np.random.Generator, reach: float = 1.0) -> Floats:
        """Uniform points of the ellipsoid, shape (n, q), every other one of an ellipsoid `reach`
        times as large; clipped.
        """
        wide = np.where(np.arange(n) % 2, reach, 1.0)[:, None]
        return self.space.clip(
            self.middle + wide * ball(n, len(self.ellipsoid), rng) @ self.ellipsoid
        )


def ball(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Uniform points of the unit ball, shape (n, d)."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
