"""Labels of all levels of a 2-HST by least-element lists (Cohen, JCSS 1997)."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from metricdp.arguments import Ints, chunks
from metricdp.kernels.hst import Labeling, graph_labels, over_boxes, row_labels, vector_labels
from metricdp.kernels.shortest_paths import FAR
from metricdp.metrics.base import Metric
from metricdp.metrics.structures import Lattice, Network
from metricdp.progress import progress

_GROWTH = 12
"""Bounding boxes are updated whenever a twelfth more sources are done: more often costs time."""


class LevelLabels(NamedTuple):
    """Labels of all levels, shape (n_points, n_levels): row i is that of position ``order[i]``.
    `radii` (n_levels,) fall to 0.
    """

    order: Ints
    labels: NDArray[np.int32]
    radii: Ints


def level_labels(metric: Metric, permutation: Ints, beta: float) -> LevelLabels:
    """For every level and point, the first point of a permutation within the level's radius, exact
    on the grid. A point's least-element list has about ln n entries.
    """
    n = len(metric)
    radii = grid_radii(2 * int(metric.grid_rows(permutation[:1]).max()), beta)
    # column by column: one search writes to nearby rows of one level
    labels = np.empty((n, len(radii)), np.int32, order="F")
    found = Labeling(radii, np.full(n, FAR), np.zeros(n, np.uint8), labels)
    searches = _searches(metric)
    rank = np.empty(n, np.int64)
    rank[searches.order] = np.arange(n)
    sources = rank[permutation]
    done = 0
    with progress(total=n, label="tree", unit="point") as bar:
        while done < n:
            some = sources[done : done + max(1, done // _GROWTH)]
            searches.label(some, done, found)
            done += len(some)
            bar.update(len(some))
    return LevelLabels(searches.order, labels, radii)


def grid_radii(diameter: int, beta: float) -> Ints:
    """Radii ``beta · diameter / 2**(i + 1)`` rounded down, exactly, up to the first that is 0."""
    scaled = int(beta * 2**52) * diameter
    radii = [scaled >> 53]
    while radii[-1] > 0:
        radii.append(scaled >> (53 + len(radii)))
    return np.array(radii, np.int64)


class _Searches(ABC):
    """Searches for the points closest to a source so far; `order`: the position of each row."""

    order: Ints

    @abstractmethod
    def label(self, sources: Ints, first: int, found: Labeling) -> None:
        """Update labels by some sources (rows), whose ranks in the permutation start at `first`."""


class _NetworkSearches(_Searches):
    """Pruned Dijkstra searches on a network."""

    def __init__(self, metric: Network) -> None:
        self.order, self._csr = metric.order, metric.csr
        size = len(self._csr[1]) + 1
        self._heap = np.empty(size, np.int64), np.empty(size, np.int64)

    def label(self, sources: Ints, first: int, found: Labeling) -> None:
        graph_labels(self._csr, sources, first, found, self._heap)


class _LatticeSearches(_Searches):
    """Searches among vectors, pruned by bounding boxes of a k-d tree."""

    def __init__(self, lattice: Lattice) -> None:
        on_grid = lattice.points
        tree = cKDTree(on_grid, leafsize=16, balanced_tree=True, compact_nodes=False)
        self.order = tree.indices.astype(np.int64)
        self._points = np.ascontiguousarray(on_grid[self.order])
        low = over_boxes(np.minimum, self._points, np.inf)
        self._corners = low, over_boxes(np.maximum, self._points, -np.inf)
        self._euclidean = lattice.power == 2

    def label(self, sources: Ints, first: int, found: Labeling) -> None:
        boxes = *self._corners, over_boxes(np.maximum, found.known, 0)
        vector_labels(self._points, boxes, self._euclidean, sources, first, found)


class _RowSearches(_Searches):
    """Whole rows of distances, a few at a time, for any other metric."""

    def __init__(self, metric: Metric) -> None:
        self.order = np.arange(len(metric))
        self._metric = metric

    def label(self, sources: Ints, first: int, found: Labeling) -> None:
        for some in chunks(len(sources), len(self.order)):
            row_labels(self._metric.grid_rows(sources[some]), first + some.start, found)


def _searches(metric: Metric) -> _Searches:
    if metric.network is not None:
        return _NetworkSearches(metric.network)
    return _RowSearches(metric) if metric.lattice is None else _LatticeSearches(metric.lattice)
