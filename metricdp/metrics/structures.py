"""What a metric may say it is made of, for those who can do more with it than with rows of
distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Network(Protocol):
    """Edges, along which searches go: distances are lengths of shortest paths.

    Attributes
    ----------
    csr : tuple of (indptr, indices, lengths)
        The arcs of number i in the metric's inner order are entries ``indptr[i]`` to ``indptr[i +
        1]``, along which a center there serves; every arc has its reverse; lengths are int64, in
        steps of the grid.
    back : ndarray of int64, shape (n_arcs,)
        Length of each arc's reverse: `lengths` itself where distances are symmetric.
    order : ndarray of int64, shape (n_points,)
        Position of each inner number.
    rank : ndarray of int64, shape (n_points,)
        Inner number of each position.
    unit : float
        Length of a step of the grid.
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

    Attributes
    ----------
    points : ndarray of float64, shape (n_points, d)
    power : {1, 2, inf}
        City block, Euclidean or Chebyshev.
    """

    points: NDArray[np.float64]
    power: float


class Lattice(NamedTuple):
    """Points of integer coordinates whose Minkowski distances, rounded up, are the metric's grid
    distances.

    Attributes
    ----------
    points : ndarray of float64, shape (n_points, d)
        Integers.
    power : {1, 2}
        City block or Euclidean.
    """

    points: NDArray[np.float64]
    power: int
