"""Labels of all levels of a 2-HST by least-element lists, on any number of threads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.spatial import cKDTree

from metricdp.arrays import Ints, chunks
from metricdp.kernels.least_elements import (
    Labeling,
    Workspace,
    graph_entries,
    keep_entries,
    no_levels,
    over_boxes,
    vector_entries,
    workspace,
)
from metricdp.kernels.shortest_paths import FAR
from metricdp.metrics.base import Metric
from metricdp.metrics.structures import Lattice, Network
from metricdp.progress import progress
from metricdp.threads import in_threads

# a batch is one twelfth of the sources before it: some 5 % of the entries found are dropped again
_GROWTH = 12
# on graphs, up to two threads leave the first n / 4 sources to one of them: that saves the lists of
# entries
_ALONE = 4
_CHUNKS = 16  # of a batch, for the threads to share
_WORTH_THREADS = 20_000  # fewer entries cost less than starting threads
_MOST_WORKERS = 8  # each holds a copy of the distances

Entries = tuple[NDArray[np.int32], NDArray[Any], Ints]
"""Points, distances, and where the entries of each source end."""


class LevelLabels(NamedTuple):
    """Labels of all levels (n_points, n_levels), in row `order`; `radii` fall to 0."""

    order: Ints
    labels: NDArray[np.int32]
    radii: Ints


def level_labels(metric: Metric, permutation: Ints, beta: float) -> LevelLabels:
    """For every level and point the first point of a permutation within the level's radius, exact
    on the grid and equal on any number of threads. About ln n entries a vertex.
    """
    searches = _searches(metric, _workers())
    rank = np.empty(len(metric), np.int32)
    rank[searches.order] = np.arange(len(metric), dtype=np.int32)
    sources = rank[permutation]
    entries = _batch_entries(searches, sources[:1])
    if _row(entries, len(metric)).min() < 0 and metric.network is not None:  # too far for int32
        searches = _NetworkSearches(metric.network, searches.workers, np.int64)
        entries = _batch_entries(searches, sources[:1])
    radii = grid_radii(2 * int(_row(entries, len(metric)).max()), beta)
    labels = np.full(
        (len(metric), len(radii)), len(metric), np.int32, order="F"
    )  # entries that are near change near numbers
    _keep(searches, np.zeros(1, np.int32), entries, radii, labels)
    done = 1 + searches.label_alone(sources[1 : 1 + len(metric) // _ALONE], radii, labels)
    with progress(total=len(metric), label="tree", unit="point") as bar:
        while done < len(metric):
            by_place = done + np.argsort(sources[done : done + max(2, done // _GROWTH)]).astype(
                np.int32
            )
            _keep(searches, by_place, _batch_entries(searches, sources[by_place]), radii, labels)
            done += len(by_place)
            bar.update(len(by_place))
    return LevelLabels(searches.order, labels, radii)


def grid_radii(diameter: int, beta: float) -> Ints:
    """Radii ``beta · diameter / 2**(i + 1)`` rounded down, exactly, up to the first that is 0."""
    scaled = int(beta * 2**52) * diameter
    radii = [scaled >> 53]
    while radii[-1] > 0:
        radii.append(scaled >> (53 + len(radii)))
    return np.array(radii, np.int64)


def _workers() -> int:
    return min(os.cpu_count() or 1, _MOST_WORKERS)


class _Searches(ABC):
    """Finds the points closer to a source than `known`, in rows."""

    order: Ints

    def __init__(self, n: int, workers: int, dtype: DTypeLike = np.int64, copies: int = 0) -> None:
        self.workers = workers
        far = FAR if dtype is np.int64 else 2**30
        self.known = np.full(n, far, dtype)
        self.trials = np.full((copies, n), far, dtype)
        self._spaces = [workspace(n + 1024, dtype) for _ in range(workers)]

    def refresh(self) -> None:  # noqa: B027  nothing to do for most
        """Called before each batch: `known` has changed."""

    def label_alone(
        self, sources: NDArray[np.int32], radii: Ints, labels: NDArray[np.int32]
    ) -> int:
        """Label by later sources one after the other, if that is better; returns how many."""
        return 0

    @abstractmethod
    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        """Entries of some sources of a batch."""

    def _with_room(
        self, sources: NDArray[np.int32], worker: int, kernel: Callable[[int, Workspace, Ints], int]
    ) -> Entries:
        """Call a kernel until it has done all sources, with more room where needed."""
        parts = []
        ends = np.empty(len(sources), np.int64)
        begin = 0
        while begin < len(sources):
            space = self._spaces[worker]
            stop = kernel(begin, space, ends)
            if stop == begin:
                self._spaces[worker] = workspace(2 * len(space.points), self.known.dtype)
                continue
            size = ends[stop - 1]
            parts.append(
                (space.points[:size].copy(), space.distances[:size].copy(), ends[begin:stop])
            )
            begin = stop
        return parts[0] if len(parts) == 1 else _joined(parts)


class _NetworkSearches(_Searches):
    """int32 distances, where they reach, save time and memory."""

    def __init__(self, metric: Network, workers: int, dtype: DTypeLike = np.int32) -> None:
        super().__init__(len(metric), workers, dtype, copies=workers)
        indptr, indices, lengths = metric.csr
        small = np.int32 if len(indices) < 2**31 else np.int64
        self.order = metric.order
        within = np.minimum(lengths, self.known[0]).astype(dtype)
        self._csr = indptr.astype(small), indices, within
        positive = lengths[lengths > 0]
        self._shift = int(np.median(positive)).bit_length() - 1 if len(positive) else 0

    def label_alone(
        self, sources: NDArray[np.int32], radii: Ints, labels: NDArray[np.int32]
    ) -> int:
        """Label directly: lists of early sources pay on many threads only. Returns how many."""
        if self.workers > 2:
            return 0
        known = self.known
        before = self.known.copy()
        ends = np.empty(len(sources), np.int64)
        filled = np.zeros(len(known), np.uint8)
        for radius in radii:
            filled += known <= radius
        levels = Labeling(1, radii.astype(known.dtype), filled, labels)
        done = graph_entries(
            self._csr, self._shift, sources, 0, known, known, self._spaces[0], ends, levels
        )
        if done < len(sources):  # no room, which hardly ever happens: as if nothing had been done
            known[:] = before
            labels[labels > 0] = len(labels)
            done = 0
        self.trials[:] = known
        return done

    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        none = no_levels(self.known.dtype)

        def kernel(begin: int, space: Workspace, ends: Ints) -> int:
            return graph_entries(
                self._csr,
                self._shift,
                sources,
                begin,
                self.known,
                self.trials[worker],
                space,
                ends,
                none,
            )

        return self._with_room(sources, worker, kernel)


class _LatticeSearches(_Searches):
    """Boxes around points prune what is too far."""

    def __init__(self, lattice: Lattice, workers: int) -> None:
        on_grid = lattice.points
        super().__init__(len(on_grid), workers)
        self.order = cKDTree(
            on_grid, leafsize=16, balanced_tree=True, compact_nodes=False
        ).indices.astype(np.int64)
        self._points = np.ascontiguousarray(on_grid[self.order])
        low = over_boxes(np.minimum, self._points, np.inf)
        self._corners = low, over_boxes(np.maximum, self._points, -np.inf)
        self._euclidean = lattice.power == 2

    def refresh(self) -> None:
        self._boxes = *self._corners, over_boxes(np.maximum, self.known, 0)

    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        return self._with_room(
            sources,
            worker,
            lambda begin, space, ends: vector_entries(
                self._points, self._boxes, self._euclidean, sources, begin, self.known, space, ends
            ),
        )


class _RowSearches(_Searches):
    """Any other metric: whole rows of distances, some at a time."""

    def __init__(self, metric: Metric, workers: int) -> None:
        super().__init__(len(metric), workers)
        self.order = np.arange(len(metric))
        self._metric = metric

    def entries(self, sources: NDArray[np.int32], worker: int) -> Entries:
        parts = []
        for some in chunks(len(sources), len(self.known)):
            rows = self._metric.grid_rows(sources[some].astype(np.int64))
            source, points = np.nonzero(rows < self.known)
            parts.append(
                (
                    points.astype(np.int32),
                    rows[source, points],
                    np.cumsum(np.bincount(source, minlength=len(rows))),
                )
            )
        return _joined(parts)


def _searches(metric: Metric, workers: int) -> _Searches:
    if metric.network is not None:
        return _NetworkSearches(metric.network, workers)
    if metric.lattice is not None:
        return _LatticeSearches(metric.lattice, workers)
    return _RowSearches(metric, workers)


def _batch_entries(searches: _Searches, sources: NDArray[np.int32]) -> Entries:
    """Entries of a batch against what was known before it."""
    searches.refresh()
    chunks = np.array_split(sources, min(len(sources), _CHUNKS))
    found: dict[int, Entries] = {}
    tickets = count()

    def work(worker: int) -> None:
        while (i := next(tickets)) < len(chunks):
            found[i] = searches.entries(chunks[i], worker)

    in_threads(work, range(min(searches.workers, len(chunks))))
    return _joined([found[i] for i in range(len(chunks))])


def _joined(parts: list[Entries]) -> Entries:
    """The entries of some sources after those of others."""
    before = np.cumsum([0, *(len(points) for points, _, _ in parts)])
    ends = [ends + offset for (_, _, ends), offset in zip(parts, before)]
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate(ends),
    )


def _row(entries: Entries, n: int) -> Ints:
    """Distance from the only source to every point, -1 where it did not reach."""
    row = np.full(n, -1)
    row[entries[0]] = entries[1]
    return row


def _keep(
    searches: _Searches,
    numbers: NDArray[np.int32],
    entries: Entries,
    radii: Ints,
    labels: NDArray[np.int32],
) -> None:
    """Take the entries of a batch, whose sources have these numbers."""
    shares = 1 << (searches.workers.bit_length() - 1) if len(entries[0]) > _WORTH_THREADS else 1

    def work(share: int) -> None:
        keep_entries(
            entries,
            numbers,
            share,
            shares,
            radii.astype(searches.known.dtype),
            searches.known,
            searches.trials,
            labels,
        )

    in_threads(work, range(shares))
