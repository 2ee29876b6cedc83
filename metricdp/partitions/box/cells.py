"""Public partitions of a box that a few points, or a plane, determine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.projections import projected, squares_from
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
