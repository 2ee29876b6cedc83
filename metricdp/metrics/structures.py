"""Structures that a metric may have, for algorithms that use more than rows of distances."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints
from metricdp.kernels.elimination import Elimination


class Network(Protocol):
    """A network: `csr` arcs with int64 lengths in grid steps of `unit`, the lengths of their
    reverses (`back`), and the inner `order` with its inverse `rank`.
    """

    csr: tuple[Ints, NDArray[np.int32], Ints]
    back: Ints
    order: Ints
    rank: Ints
    unit: float

    @property
    def elimination(self) -> Elimination | None:
        """The order of elimination of a road network's vertices; None where it is too long."""

    def __len__(self) -> int: ...

    def quotient(self, centers: Ints, label: Ints, distance: Floats) -> Any:
        """The network of the centers' Voronoi cells, joined by paths."""


class Vectors(NamedTuple):
    """Points whose Minkowski distances are the metric's.

    `points` (n_points, d); `power`: city block, Euclidean or Chebyshev.
    """

    points: Floats
    power: float


class Lattice(NamedTuple):
    """Points of integer coordinates whose Minkowski distances, rounded up, are the metric's grid
    distances.

    `points` (n_points, d): integers; `power`: city block or Euclidean.
    """

    points: Floats
    power: int


Take = Callable[[int, NDArray[Any], Ints], None]
"""Takes (i, numbers, distances)."""


class Searches(Protocol):
    """Repeated bounded searches from some points."""

    def each(self, which: Ints, bounds: Ints, take: Take) -> None:
        """Call `take` for every i of `which`, in any order, with points within ``bounds[i]``."""


class BallSums(Protocol):
    """Closed balls of one radius around some candidates."""

    def members(self, center: int) -> Ints:
        """Positions of all points in the ball of a position."""

    def add(self, total: Ints, points: Ints, amounts: Ints) -> None:
        """Add ``amounts[i]`` to ``total[c]`` for every candidate whose ball holds ``points[i]``."""
