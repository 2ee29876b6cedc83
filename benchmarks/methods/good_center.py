"""GOOD-CENTER: a center of many records, given the radius of their ball (Nissim, Stemmer & Vadhan,
PODS 2016, Algorithm 2).

1. Project onto q public random directions, cut into randomly shifted intervals. Select one box
   among all shifts by the number of records in it.
2. If q < d: in a random basis of R^d, select an interval on each axis. With its two neighbors it
   bounds the records.
3. The noisy average of the records in that region, clipped at a ball around it.

Half of the budget pays for the box, a quarter for the axes, a quarter for the average.

**Privacy.** Each step is a `PeeledQuery` or `PeeledSums` about the records left
(`metricdp.privacy.balls`); directions and regions follow from public coins and earlier releases.
Adaptive composition.

Differences from the paper: boxes are a finite public list, so one exponential mechanism replaces
the stable histogram and AboveThreshold; constants are for data and not for a proof
(`benchmarks/coreset.md`); the average divides by a lower bound of the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.grid import Grid
from benchmarks.methods.peeling import PartScores, Peeled, PeeledQuery, PeeledSums, Removed
from benchmarks.methods.slabs import Slabs, directions, half_diagonal, middles, offsets
from metricdp.accounting import Cost
from metricdp.accounting.cost import gaussian_scale, laplace_scale
from metricdp.methods.asking import Ask, Select
from metricdp.releases import Neighboring

Array = NDArray[np.float64]

WIDTH = 1.0
"""Of an interval, in radii: half the diagonal of the cube of cells that GOOD-RADIUS found."""
SHIFTS = 4
"""Tried at once."""
BITS = 12
"""Of the integers in which offsets are summed."""
BOX, AXES, AVERAGE = Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)
"""Of a center's budget."""


@dataclass(frozen=True)
class Prices:
    """Shares of the budget that the steps of one center cost."""

    box: Fraction
    axis: Fraction
    average: Fraction

    @classmethod
    def of(cls, share: Fraction, times: int, axes: int) -> Prices:
        """Of each of so many centers that have a share together."""
        each = share / times
        average = AVERAGE if axes else AVERAGE + AXES
        return cls(each * BOX, each * AXES / max(axes, 1), each * average)


def check_average(
    price: Cost, share: Fraction, dimension: int, neighboring: Neighboring, max_contributions: int
) -> None:
    """Refuse a price of which a share, for each average, is too small for its noise."""
    if price.in_rho:
        square = PeeledSums.square_of(BITS, neighboring, max_contributions)
        gaussian_scale(square, (price.rho or Fraction(0)) * share * AVERAGE)
    else:
        sums = PeeledSums.sensitivity_of(dimension, BITS, neighboring, max_contributions)
        laplace_scale(sums, price.epsilon * share * AVERAGE)


def peeled(grid: Grid, removed: Removed, scores: Any, share: Fraction) -> Select:
    """The selection of a candidate by scores of what is left."""
    return Select(PeeledQuery(Peeled(grid, tuple(removed)), scores), share)


class GoodCenter:
    """Centers of good balls on a grid, one after another."""

    def __init__(self, grid: Grid, images: int, records: int, seed: int, prices: Prices) -> None:
        self.grid = grid
        self.points: list[Array] = []
        self._d = grid.universe.dimension
        self._images = images
        self._records = records
        self._seed = seed
        self._prices = prices

    def next(self, radius: int, removed: Removed) -> Generator[Any, Any, int]:
        """The cell of the next center."""
        coins = np.random.default_rng([self._seed, 31, len(self.points)])
        width = WIDTH * float(np.linalg.norm((radius + 0.5) * self.grid.side))
        cells, center, reach = yield from self._box(coins, width, removed)
        if self._images < self._d:
            cells, center, reach = yield from self._axes(coins, width, cells, removed)
        point = yield from self._mean(cells, center, reach, removed)
        self.points.append(point)
        return int(self.grid.encode(point[None])[0])

    def _box(
        self, coins: np.random.Generator, width: float, removed: Removed
    ) -> Generator[Select, int, tuple[NDArray[np.int64], Array, float]]:
        """Cells of the box with most records; its center and half diagonal in R^q, as if in R^d."""
        along = directions(self._d, self._images, coins)
        stretched = along * math.sqrt(self._d / self._images)
        tried = [Slabs(stretched, width, coins.random(self._images)) for _ in range(SHIFTS)]
        boxes = [slabs.boxes(self.grid) for slabs in tried]
        labels, places = zip(*boxes)
        sizes = tuple(map(len, places))
        scores = PartScores(self.grid.shape, labels, sizes, "box of images")
        found = yield peeled(self.grid, removed, scores, self._prices.box)
        which = int(np.searchsorted(np.cumsum(sizes), found, side="right"))
        box = found - sum(sizes[:which])
        center = tried[which].middle(places[which][box]) @ along
        return np.flatnonzero(labels[which] == box), center, half_diagonal(width, self._d)

    def _axes(
        self, coins: np.random.Generator, width: float, cells: NDArray[np.int64], removed: Removed
    ) -> Generator[Select, int, tuple[NDArray[np.int64], Array, float]]:
        """Cells within three intervals on every axis; their region's center and half diagonal."""
        spread = math.log(max(self._records, 2) * self._d) / self._d
        width *= math.sqrt(self._images * min(spread, 1.0))
        basis = directions(self._d, self._d, coins)
        slabs = Slabs(basis, width, coins.random(self._d))
        places = slabs.places(middles(self.grid, cells))
        kept = np.ones(len(cells), bool)
        chosen = np.zeros(self._d, np.int64)
        for axis, place in enumerate(places.T):
            low = int(place.min())
            labels = np.full(self.grid.n_parts, -1, np.int64)
            labels[cells] = place - low
            sizes = (int(place.max()) - low + 1,)
            scores = PartScores(self.grid.shape, (labels,), sizes, "interval of an axis")
            chosen[axis] = low + (yield peeled(self.grid, removed, scores, self._prices.axis))
            kept &= np.abs(place - chosen[axis]) <= 1
        return cells[kept], slabs.middle(chosen) @ basis, half_diagonal(3 * width, self._d)

    def _mean(
        self, cells: NDArray[np.int64], center: Array, reach: float, removed: Removed
    ) -> Generator[Ask, Any, Array]:
        """The noisy average of the records in the cells, clipped at the ball around the region."""
        space = self.grid.universe
        center = space.clip(center[None])[0]
        farthest = np.maximum(center - space.lower, space.upper - center)
        reach = min(reach, float(np.linalg.norm(farthest)))
        steps = offsets(middles(self.grid, cells), center, reach, BITS)
        query = PeeledSums(Peeled(self.grid, tuple(removed)), cells, steps, BITS)
        release = yield Ask(query, self._prices.average)
        number, *sums = release.values.astype(np.float64)
        away = np.array(sums) / max(number, 2.0**BITS)
        away /= max(1.0, float(np.linalg.norm(away)))
        return np.asarray(space.clip((center + away * reach)[None])[0], np.float64)
