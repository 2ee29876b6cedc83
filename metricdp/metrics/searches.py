"""Searches around points. Their work space depends on the points, so it is as private as these."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, chunks
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.scores import add_balls, add_covered
from metricdp.kernels.shortest_paths import Workspace, bounded_search, workspace
from metricdp.metrics.structures import Network, Take
from metricdp.protocols import Rows, sound_rows, trusted
from metricdp.threads import in_threads

_KEPT_ROWS = 1 << 25
"""Rows of distances are cached between searches if they have at most so many entries: 256 MB."""


@dataclass(frozen=True, eq=False)
class ServedPositions:
    """A table of the nearest center of every position, and of its distance."""

    label: Ints
    distance: Floats

    def __call__(self, records: NDArray[Any]) -> tuple[Ints, Floats]:
        """Nearest center of each record, and its distance."""
        return self.label[records], self.distance[records]


@dataclass(frozen=True, eq=False)
class ServedPoints:
    """Nearest centers of points of a box, and their distances."""

    centers: Floats

    def __call__(self, records: NDArray[Any]) -> tuple[Ints, Floats]:
        """Nearest center of each record, and its distance."""
        label, square = nearest_centers(records, self.centers)
        return label, np.sqrt(square)


@trusted
class RowSearches:
    """Repeated bounded searches from some points, each by a row of distances."""

    def __init__(self, metric: Rows, points: Ints) -> None:
        self._metric, self._points = metric, points
        self._rows: Ints | None = None

    def each(self, which: Ints, bounds: Ints, take: Take) -> None:
        """Call `take` for every i of `which`, in any order, with points within ``bounds[i]``."""
        for i, row in self._each_row(which):
            near = np.flatnonzero(row < bounds[i])
            take(i, near, row[near])

    def _each_row(self, which: Ints) -> Iterator[tuple[int, Ints]]:
        n = len(self._metric)
        if self._rows is None and len(self._points) * n <= _KEPT_ROWS:
            self._rows = sound_rows(self._metric, self._points)
        if self._rows is not None:
            yield from ((i, self._rows[i]) for i in which.tolist())
            return
        for part in chunks(len(which), n):
            some = which[part]
            yield from zip(some.tolist(), sound_rows(self._metric, self._points[some]))


@trusted
class RowBalls:
    """Closed balls of one radius around candidates, by rows of distances. Rows are those of the
    points, so that `members` and `add` agree.
    """

    def __init__(self, metric: Rows, steps: int, candidates: Ints | None = None) -> None:
        self._metric, self._steps, self._candidates = metric, steps, candidates

    def members(self, center: int) -> Ints:
        """Positions of all points in the ball of a position."""
        everyone = np.arange(len(self._metric))
        one = np.array([center])
        return np.flatnonzero(sound_rows(self._metric, everyone, one)[:, 0] <= self._steps)

    def add(self, total: Ints, points: Ints, amounts: Ints) -> None:
        """Add ``amounts[i]`` to ``total[c]`` for every candidate whose ball holds ``points[i]``."""
        for part in chunks(len(points), len(total)):
            rows = sound_rows(self._metric, points[part], self._candidates)
            add_covered(rows, amounts[part], self._steps, total)


@trusted
class SiteBalls(RowBalls):
    """Balls of sites that are not points: one row of costs a site."""

    def members(self, center: int) -> Ints:
        """Positions of the points in the ball of a site."""
        return np.flatnonzero(sound_rows(self._metric, np.array([center]))[0] <= self._steps)

    def add(self, total: Ints, points: Ints, amounts: Ints) -> None:
        """See `RowBalls`."""
        everywhere = np.arange(len(total)) if self._candidates is None else self._candidates
        for part in chunks(len(total), len(points)):
            rows = sound_rows(self._metric, everywhere[part], points)
            total[part] += (rows <= self._steps) @ amounts


@trusted
class EdgeSearches:
    """Bounded searches along edges, in parallel. O(n_points) work space a processor."""

    def __init__(self, metric: Network, points: Ints) -> None:
        self._metric, self._at = metric, metric.rank[points]
        self._spaces: list[tuple[Workspace, Ints]] = []

    def each(self, which: Ints, bounds: Ints, take: Take) -> None:
        """See `RowSearches`."""
        queue = iter(which.tolist())
        lock = Lock()
        against = (*self._metric.csr[:2], self._metric.back)
        workers = min(os.cpu_count() or 1, max(len(which), 1))
        while len(self._spaces) < workers:
            n = len(self._metric)
            self._spaces.append((workspace(n, len(against[1])), np.empty(n, np.int64)))

        def work(part: int) -> None:
            space, reached = self._spaces[part]
            while (i := next(queue, None)) is not None:
                within = bounds[i] - 1
                count = 0
                if within >= 0:
                    count = bounded_search(against, self._at[i], within, reached, space)
                with lock:
                    take(i, space.touched[:count], reached[:count])

        in_threads(work, range(workers))


@trusted
class EdgeBalls:
    """Closed balls in a network: one bounded search each. O(n_points + n_arcs) memory."""

    def __init__(self, metric: Network, steps: int, candidates: Ints | None = None) -> None:
        self._metric, self._steps = metric, steps
        self._read = metric.rank if candidates is None else metric.rank[candidates]
        self._nothing = np.zeros(len(metric), np.int64)

    @cached_property
    def _space(self) -> Workspace:
        return workspace(len(self._metric), len(self._metric.csr[1]))

    def members(self, center: int) -> Ints:
        """See `RowBalls`."""
        here = np.array([center])
        inside = self._search(self._metric.csr, here, np.zeros(1, np.int64), self._nothing)
        return self._metric.order[self._space.touched[:inside]]

    def add(self, total: Ints, points: Ints, amounts: Ints) -> None:
        """See `RowBalls`."""
        inner = np.zeros(len(self._metric), np.int64)
        against = (*self._metric.csr[:2], self._metric.back)
        self._search(against, points, amounts, inner)
        total += inner[self._read]

    def _search(
        self, csr: tuple[NDArray[Any], ...], points: Ints, amounts: Ints, total: Ints
    ) -> int:
        """Add amounts to all points of each ball; return the size of the last point's ball, whose
        members are then in the work space.
        """
        metric = self._metric
        return int(add_balls(csr, metric.rank[points], amounts, self._steps, total, self._space))
