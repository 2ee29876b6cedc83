"""`RowMetric`: the base class of metrics that are given by rows of distances."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from metricdp.arguments import Floats, Ints, chunks
from metricdp.errors import InputError
from metricdp.metrics.base import Metric, checked_extent, public_grid
from metricdp.metrics.searches import SiteBalls
from metricdp.metrics.structures import Searches


class RowMetric(Metric):
    """Base of metrics that are given by rows of distances: everything else follows from `ids` and
    `distance_rows`.

    A subclass has `ids` and `distance_rows`. It may have a better `diameter_bound`, a `unit` of its
    own, `coordinates`, a `name`, and faster versions of other methods. It may be a dataclass,
    frozen or not. ``docs/your-own-metric.md`` is a tutorial; `metricdp.testing` checks it.

    Notes
    -----
    Distances must be a pure function of a pair of points: finite, symmetric, 0 from a point to
    itself, not negative. A sample is checked when the first demand is made (`Metric.check`). The
    privacy of sums over records does not depend on it: entries are corrected where they are read
    (`metricdp.protocols.sound_rows`). The triangle inequality is the author's promise: the
    quality of centers depends on it, privacy does not.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Words(RowMetric):
    ...     ids: list[str]
    ...
    ...     def distance_rows(self, sources, targets=None):
    ...         sizes = np.array([float(len(word)) for word in self.ids])
    ...         there = sizes if targets is None else sizes[targets]
    ...         return np.abs(sizes[sources][:, None] - there)
    >>> words = Words(["a", "bread", "milk"])
    >>> words.distances(["a"])
    array([[0., 4., 3.]])
    >>> words.grid_rows(np.array([0])) * words.unit
    array([[0., 4., 3.]])
    """

    @cached_property
    def unit(self) -> float:  # type: ignore[override]
        """Step of the grid: a power of two, some 2**40 times smaller than the diameter."""
        return public_grid(checked_extent(self.diameter_bound()), len(self))

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        """Name of the universe in messages."""
        return f"{len(self):,} points"

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances rounded up to the grid: a metric, since ceil(a + b) <= ceil(a) + ceil(b)."""
        return np.ceil(self.distance_rows(sources, targets) / self.unit).astype(np.int64)

    def diameter_bound(self) -> float:
        """Twice the largest distance from the first point: O(n) once."""
        return self._twice_eccentricity

    @cached_property
    def _twice_eccentricity(self) -> float:
        return 2.0 * float(np.max(self.distance_rows(np.zeros(1, np.int64))))

    def nearest_to(self, centers: Ints) -> tuple[Ints, Floats]:
        """Nearest center of every point, by blocks of rows: O(n · k) time, O(n) memory."""
        centers = np.asarray(centers, np.int64)
        if len(centers) == 0:
            raise InputError("at least one center is needed")
        label = np.zeros(len(self), np.int64)
        best = np.full(len(self), np.inf)
        for part in chunks(len(centers), len(self)):
            rows = self.distance_rows(centers[part])
            at = rows.argmin(axis=0)
            nearest = rows[at, np.arange(len(self))]
            closer = nearest < best
            label[closer], best[closer] = at[closer] + part.start, nearest[closer]
        return label, best

    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Ints, Ints, Floats]:
        """k-median++ (Arthur & Vassilvitskii 2007), one row of distances a center: O(n · k)."""
        weight = np.maximum(weights, 0.0)
        label = np.zeros(len(self), np.int64)
        best = np.full(len(self), np.inf)
        centers = np.empty(k, np.int64)
        free = np.ones(len(self), bool)
        for i in range(k):
            density = np.cumsum(weight if i == 0 else weight * best**power)
            pick = min(
                int(np.searchsorted(density, rng.random() * density[-1], side="right")),
                len(self) - 1,
            )
            if density[-1] <= 0 or not free[pick]:
                pick = int(np.argmax(np.where(free, np.minimum(best, np.finfo(float).max), -1.0)))
            centers[i] = pick
            free[pick] = False
            row = self.distance_rows(np.array([pick]))[0]
            closer = row < best
            label[closer], best[closer] = i, row[closer]
            label[pick] = i  # also if another center is at distance 0
        return centers, label, best


class RowCosts(RowMetric):
    """Base of costs between sites and points that are not a metric."""

    directed = True
    _largest: float

    def diameter_bound(self) -> float:
        """The largest cost."""
        return self._largest

    def searches(self, points: Ints) -> Searches:
        """Not available.

        Raises
        ------
        InputError
            Always: private scores of swaps need a metric.
        """
        raise InputError(f"searches need a metric, and {self.name} is a table of costs")

    def balls(self, steps: int, candidates: Ints | None = None) -> SiteBalls:
        """Balls of a site: the points that it serves within a cost."""
        return SiteBalls(self, steps, candidates)
