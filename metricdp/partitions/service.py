"""Assignment of records to public centers: a record's *territory* (nearest center), *band*
(distance between public edges), *area* and *amounts* (distance as integers to be summed).
`metricdp.running.evaluation` asks for their counts and sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, listed
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import Served, is_trusted, trusted

BITS = 20
"""Amounts are integers of up to 2**BITS: a finer resolution than any noise has."""


class Service:
    """The nearest public center of every place; no distance is larger than `farthest`."""

    def __init__(self, universe: Metric | EuclideanSpace, centers: Any) -> None:
        chosen = listed(centers, "centers")
        if not chosen:
            raise InputError("there must be at least one center")
        self.universe, self.k = universe, len(chosen)
        self._served: Served
        self._served, self.farthest = universe.served_by(chosen)

    def served(self, records: NDArray[Any]) -> tuple[Ints, Floats]:
        """Number of the nearest center of every record, and the distance to it, shape (n,) each."""
        return self._served(records)


@trusted
class Nearest:
    """The partition of a universe by nearest center."""

    def __init__(self, service: Service) -> None:
        self.universe, self.n_parts = service.universe, service.k
        self._service = service

    def encode(self, records: NDArray[Any]) -> Ints:
        """Number of the nearest center of each record, shape (n,)."""
        return self._service.served(records)[0]


@trusted
class DistanceBands:
    """The partition by distance to the nearest center: part i ends at ``edges[i]``, included; the
    last part is what lies beyond. `bounds`: the edges with 0 and the largest distance.
    """

    def __init__(self, service: Service, edges: Sequence[float]) -> None:
        self.universe = service.universe
        self._service = service
        self.edges = np.array(edges, np.float64)
        if len(self.edges) and not (
            np.isfinite(self.edges).all() and self.edges[0] > 0 and (np.diff(self.edges) > 0).all()
        ):
            raise InputError("edges of distance bands must be positive, finite and rising")
        self.n_parts = len(self.edges) + 1
        last = max(service.farthest, float(self.edges.max(initial=0.0)))
        self.bounds = np.r_[0.0, self.edges, last]

    def encode(self, records: NDArray[Any]) -> Ints:
        """Band of each record, shape (n,)."""
        return np.searchsorted(self.edges, self._service.served(records)[1], side="left")


@trusted
class ClippedDistances:
    """A record's clipped distance as two amounts (B - t, t), with B = 2**BITS and t = B · min(d,
    clip) / clip rounded down. Their sums give the number of records and the sum of distances, at
    the sensitivity of one count.
    """

    n_values = 2

    def __init__(self, service: Service, clip: float) -> None:
        self.universe = service.universe
        self.clip = clip
        self._service = service

    def amounts(self, records: NDArray[Any]) -> Ints:
        """The pairs (B - t, t), shape (n, 2)."""
        return near_and_far(self._service.served(records)[1] / self.clip)


@trusted
class DistanceDifferences:
    """A record's distance to one set of centers less that to another, as an integer amount.

    `reach`: a bound of all differences, represented by 2**BITS.
    """

    n_values = 1

    def __init__(self, service: Service, other: Service) -> None:
        self.universe = service.universe
        self._services = (service, other)
        self.reach = max(service.farthest, other.farthest)

    def amounts(self, records: NDArray[Any]) -> Ints:
        """Differences in units of reach / 2**BITS, rounded down, shape (n, 1)."""
        mine, theirs = (service.served(records)[1] for service in self._services)
        return whole((mine - theirs) / (self.reach or 1.0))[:, None]


def near_and_far(share: Floats) -> Ints:
    """Amounts (B - t, t), t = B · share rounded down, shape (n, 2), for shares of shape (n,)."""
    far = whole(share)
    return np.stack([2**BITS - far, far], axis=1)


def whole(share: Floats) -> Ints:
    """Shares of 2**BITS as integers, rounded down and clipped to -2**BITS … 2**BITS."""
    return np.floor(np.clip(share, -1.0, 1.0) * 2.0**BITS).astype(np.int64)


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
