"""What a metric may say it is made of, for those who can do more with it than with rows of
distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Network(Protocol):
    """Edges, along which searches go: distances are lengths of shortest paths.

    `csr`: the arcs of number i in the metric's inner order are entries ``indptr[i]`` to ``indptr[i
    + 1]``, along which a center there serves; every arc has its reverse; lengths are int64, in
    steps of the grid; `back` (n_arcs,): length of each arc's reverse: `lengths` itself where
    distances are symmetric; `order` (n_points,): position of each inner number; `rank` (n_points,):
    inner number of each position; `unit`: length of a step of the grid.
    """

    csr: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]
    back: NDArray[np.int64]
    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    unit: float

    def __len__(self) -> int: ...

    def quotient(
        self, centers: NDArray[np.int64], label: NDArray[np.int64], distance: NDArray[np.float64]
    ) -> Any:
        """The metric, of a network again and on the same grid, of the Voronoi cells of some
        centers, whose edges are paths between centers.
        """


class Vectors(NamedTuple):
    """Points whose Minkowski distances are the metric's.

    `points` (n_points, d); `power`: city block, Euclidean or Chebyshev.
    """

    points: NDArray[np.float64]
    power: float


class Lattice(NamedTuple):
    """Points of integer coordinates whose Minkowski distances, rounded up, are the metric's grid
    distances.

    `points` (n_points, d): integers; `power`: city block or Euclidean.
    """

    points: NDArray[np.float64]
    power: int
