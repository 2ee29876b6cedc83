"""Which public area a record lies in, and its distance to a center as amounts of that area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import InputError
from metricdp.partitions.service import Service, near_and_far
from metricdp.protocols import is_trusted, trusted


@trusted
@dataclass(frozen=True, eq=False)
class TabledAreas:
    """The area of a position, by a public table of shape (n_points,)."""

    table: Ints

    def __call__(self, records: NDArray[Any]) -> Ints:
        """Areas of positions, shape (n,)."""
        return self.table[records]


@trusted
@dataclass(frozen=True, eq=False)
class Inside:
    """The first polygon that contains a point; ``len(shapes)`` where none does."""

    shapes: tuple[Any, ...]

    def __call__(self, points: NDArray[Any]) -> Ints:
        """Polygons of points (n, 2), shape (n,)."""
        import shapely

        label = np.full(len(points), len(self.shapes))
        known = np.flatnonzero(np.isfinite(points).all(axis=1))
        tree = shapely.STRtree(self.shapes)
        which, polygon = tree.query(shapely.points(points[known]), predicate="intersects")
        np.minimum.at(label, known[which], polygon)
        return label


class Labeled(Protocol):
    """Areas with distinct names, of a universe."""

    @property
    def names(self) -> tuple[str, ...]:
        """All, in order of their numbers."""

    @property
    def label(self) -> TabledAreas | Inside:
        """The number of a record's area, by that record alone."""


@trusted
class AreaDistances:
    """A record's distance as two amounts of its area, 0 for all other areas.

    As `metricdp.partitions.service.ClippedDistances`; but distances are divided by the largest of
    the area, `reach` (n_areas,), so that none is clipped. In a box that is the largest of all.
    `areas`: of the same universe.
    """

    def __init__(self, service: Service, areas: Labeled) -> None:
        if not is_trusted(areas.label):
            raise InputError("areas need labels of the package's own")
        self.universe, self.names = service.universe, areas.names
        self.n_values = 2 * len(areas.names)
        self.reach = np.full(len(areas.names), service.farthest)
        self._service, self._label = service, areas.label
        if (n := self.universe.n_points) is not None:
            every = np.arange(n)
            self.reach[:] = 0.0
            np.maximum.at(self.reach, areas.label(every), service.served(every)[1])
        self.reach[self.reach == 0] = 1.0

    def amounts(self, records: NDArray[Any]) -> Ints:
        """Shape (n, 2 · n_areas): near and far of the first area, of the second, …"""
        label = self._label(records)
        found = np.zeros((len(label), len(self.names), 2), np.int64)
        share = self._service.served(records)[1] / self.reach[label]
        found[np.arange(len(label)), label] = near_and_far(share)
        return found.reshape(-1, self.n_values)
