"""Labels of all levels of a 2-HST by least-element lists, on any metric and any number of threads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.spatial import cKDTree

from metricdp.kernels.least_elements import (
    Workspace,
    boxes,
    farthest_known,
    graph_entries,
    keep_entries,
    vector_entries,
    workspace,
)
from metricdp.kernels.shortest_paths import FAR
from metricdp.metrics.base import Metric
from metricdp.metrics.graph import GraphMetric, in_threads
from metricdp.metrics.vectors import EuclideanMetric, ManhattanMetric
from metricdp.progress import progress

_GROWTH = 12  # a batch is one twelfth of the sources before it: some 5 % of the entries found are dropped again
_CHUNKS = 16  # of a batch, for the threads to share
_WORTH_THREADS = 20_000
_ROW_ENTRIES = 4_000_000
_MOST_WORKERS = 8

Entries = tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]
"""Points, distances, and where the entries of each source end."""


class BatchEntries(NamedTuple):
    """Points and distances, and where the entries of each source start and stop."""

    points: NDArray[np.int32]
    distances: NDArray[Any]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


class Levels(NamedTuple):
    """Labels of all levels.

    Attributes
    ----------
    order : ndarray of int64, shape (n_points,)
        Position of each row; near rows are near points.
    labels : ndarray of int32, shape (n_points, n_levels)
        Row of the first point of the permutation within the level's radius.
    radii : ndarray of int64, shape (n_levels,)
        In units of the metric's grid, rounded down; the last is 0.
    """

    order: NDArray[np.int64]
    labels: NDArray[np.int32]
    radii: NDArray[np.int64]


def level_labels(metric: Metric, permutation: NDArray[np.int64], beta: float) -> Levels:
    """For every level and point the first point of a permutation within the level's radius.

    Parameters
    ----------
    metric : Metric
    permutation : ndarray of int64, shape (n_points,)
        Of positions.
    beta : float
        In [1, 2). The radius of level i is ``beta · Δ / 2**(i + 1)``, Δ twice the largest distance from the permutation's first point.

    Notes
    -----
    All comparisons are of integers on the metric's grid. Sources are searched from in batches, those of a batch at the same time; the
    result does not depend on how many threads there are. On graphs ln n entries a vertex, each one step of a Dijkstra search.
    """
    searches, rank = _searches(metric, _workers()), np.empty(len(metric), np.int32)
    rank[searches.order] = np.arange(len(metric), dtype=np.int32)
    sources = rank[permutation]
    entries = _batch_entries(searches, sources[:2])
    if _first_row(entries, len(metric)).min() < 0 and isinstance(metric, GraphMetric):  # too far for int32
        searches = _GraphSearches(metric, searches.workers, np.int64)
        entries = _batch_entries(searches, sources[:2])
    radii = grid_radii(2 * int(_first_row(entries, len(metric)).max()), beta)
    labels, filled, done = np.empty((len(metric), len(radii)), np.int32), np.zeros(len(metric), np.uint8), 0
    with progress(total=len(metric), label="tree", unit="point") as bar:
        while done < len(metric):
            batch = sources[done : done + max(2, done // _GROWTH)]
            _keep(searches, batch, entries if done == 0 else _batch_entries(searches, batch), radii, filled, labels)
            done += len(batch)
            bar.update(len(batch))
    return Levels(searches.order, labels, radii)


def grid_radii(diameter: int, beta: float) -> NDArray[np.int64]:
    """Radii ``beta · diameter / 2**(i + 1)`` rounded down, exactly, up to the first that is 0.

    Examples
    --------
    >>> grid_radii(10, 1.5)
    array([7, 3, 1, 0])
    """
    scaled = int(beta * 2**52) * diameter
    radii = [scaled >> 53]
    while radii[-1] > 0:
        radii.append(scaled >> (53 + len(radii)))
    return np.array(radii, np.int64)


def _workers() -> int:
    return min(os.cpu_count() or 1, _MOST_WORKERS)


class _Searches(ABC):
    """Finds the points closer to a source than `known`; rows are arranged as `order` says, sources and points are rows."""

    order: NDArray[np.int64]

    def __init__(self, n: int, workers: int, dtype: DTypeLike = np.int64, copies: int = 0) -> None:
        self.workers = workers
        far = FAR if dtype is np.int64 else 2**30
        self.known = np.full(n, far, dtype)
        self.trials = np.full((copies, n), far, dtype)
        self._spaces = [workspace(n + 1024, dtype) for _ in range(workers)]

    def refresh(self) -> None:  # noqa: B027  nothing to do for most
        """Called before each batch: `known` has changed."""

    @abstractmethod
    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        """Entries of some sources of a batch."""

    def _with_room(self, sources: NDArray[np.int32], worker: int, kernel: Callable[[int, Workspace, NDArray[np.int64]], int]) -> Entries:
        """Call a kernel from where it stopped until it has done all sources, with more room where it needs it."""
        ends, found, begin, total = np.empty(len(sources), np.int64), [], 0, 0
        while begin < len(sources):
            space = self._spaces[worker]
            stop = kernel(begin, space, ends)
            if stop == begin:
                self._spaces[worker] = workspace(2 * len(space.points), self.known.dtype)
                continue
            size = ends[stop - 1]
            found.append((space.points[:size].copy(), space.distances[:size].copy()))
            ends[begin:stop] += total
            begin, total = stop, total + size
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found]), ends


class _GraphSearches(_Searches):
    """int32 distances, where they reach, save time and memory."""

    def __init__(self, metric: GraphMetric, workers: int, dtype: DTypeLike = np.int32) -> None:
        super().__init__(len(metric), workers, dtype, copies=workers)
        indptr, indices, lengths = metric.csr
        self.order, self._csr = metric.order, (indptr, indices, np.minimum(lengths, self.known[0]).astype(dtype))
        positive = lengths[lengths > 0]
        self._shift = int(np.median(positive)).bit_length() - 1 if len(positive) else 0

    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        return self._with_room(
            sources, worker,
            lambda begin, space, ends: graph_entries(
                *self._csr, self._shift, sources, begin, self.known, self.trials[worker], space, ends
            ),
        )  # fmt: skip


class _VectorSearches(_Searches):
    def __init__(self, metric: EuclideanMetric | ManhattanMetric, workers: int) -> None:
        super().__init__(len(metric), workers)
        on_grid = metric._on_grid
        self.order = cKDTree(on_grid, leafsize=16, balanced_tree=True, compact_nodes=False).indices.astype(np.int64)
        self._points = np.ascontiguousarray(on_grid[self.order])
        self._boxes = boxes(self._points)
        self._farthest = np.empty(len(self._boxes[0]))
        self._euclidean = isinstance(metric, EuclideanMetric)

    def refresh(self) -> None:
        farthest_known(self.known, self._farthest)

    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        return self._with_room(
            sources, worker,
            lambda begin, space, ends: vector_entries(
                self._points, *self._boxes, self._farthest, self._euclidean, sources, begin, self.known, space, ends
            ),
        )  # fmt: skip


class _RowSearches(_Searches):
    """Any other metric: whole rows of distances, some at a time."""

    def __init__(self, metric: Metric, workers: int) -> None:
        super().__init__(len(metric), workers)
        self.order, self._metric = np.arange(len(metric)), metric

    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        found, sizes, step = [], [], max(1, _ROW_ENTRIES // len(self.known))
        for start in range(0, len(sources), step):
            rows = self._metric.grid_rows(sources[start : start + step].astype(np.int64))
            source, points = np.nonzero(rows < self.known)
            found.append((points.astype(np.int32), rows[source, points]))
            sizes.append(np.bincount(source, minlength=len(rows)))
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found]), np.cumsum(np.concatenate(sizes))


def _searches(metric: Metric, workers: int) -> _Searches:
    if isinstance(metric, GraphMetric):
        return _GraphSearches(metric, workers)
    if isinstance(metric, EuclideanMetric | ManhattanMetric):
        return _VectorSearches(metric, workers)
    return _RowSearches(metric, workers)


def _batch_entries(searches: _Searches, batch: NDArray[np.int32]) -> BatchEntries:
    """Entries of a batch against what was known before it. Searches run in order of place, which keeps the cache warm."""
    searches.refresh()
    by_place = np.argsort(batch, kind="stable")
    chunks = np.array_split(by_place, min(len(batch), _CHUNKS))
    found: dict[int, Entries] = {}
    tickets = count()

    def work(worker: int) -> None:
        while (i := next(tickets)) < len(chunks):
            found[i] = searches.entries(batch[chunks[i]], worker)

    in_threads(work, range(min(searches.workers, len(chunks))))
    starts, stops = np.empty(len(batch), np.int64), np.empty(len(batch), np.int64)
    total = 0
    for i, chunk in enumerate(chunks):
        ends = found[i][2]
        starts[chunk], stops[chunk] = np.r_[0, ends[:-1]] + total, ends + total
        total += ends[-1]
    points, distances = (np.concatenate([found[i][part] for i in range(len(chunks))]) for part in (0, 1))
    return BatchEntries(points, distances, starts, stops)


def _first_row(entries: BatchEntries, n: int) -> NDArray[np.int64]:
    """Distance from the first source to every point, -1 where it did not reach; of repeated points the last entry counts."""
    row, run = np.full(n, -1), slice(entries.starts[0], entries.stops[0])
    row[entries.points[run]] = entries.distances[run]
    return row


def _keep(
    searches: _Searches,
    batch: NDArray[np.int32],
    entries: BatchEntries,
    radii: NDArray[np.int64],
    filled: NDArray[np.uint8],
    labels: NDArray[np.int32],
) -> None:
    """Sift the entries of a batch, and fill levels."""
    shares = searches.workers if len(entries.points) > _WORTH_THREADS else 1

    def work(share: int) -> None:
        keep_entries(*entries, batch, share, shares, radii, searches.known, searches.trials, filled, labels)

    in_threads(work, range(shares))
