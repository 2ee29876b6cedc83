"""GOOD-CENTER with its projection: a center of many records, the radius of their ball given
(Nissim, Stemmer & Vadhan 2016, after which PRIVATE-K-MEAN finds its balls).

1. Public coins draw q random orthogonal directions of the box, and cut them into intervals of a
   width in proportion to the radius, shifted at random: boxes in R^q. Several such shifts, and one
   selection among all their boxes, by how many of the records left have their image inside.
2. If q < d: in another random basis of R^d, for each of its d axes a selection among intervals, by
   how many records of the box lie in each. The one selected, with its neighbors on both sides,
   bounds the records along that axis. With q = d the box of step 1 is one of R^d already.
3. The noisy average of the records in there, clipped at a ball around that region.

Half of the budget pays for the box, a quarter for the axes, a quarter for the average, as printed;
without axes the average has their quarter.

**Privacy.** Directions, widths and shifts are public coins, what was selected before is released.
So each step is a question of the gate about the records left, `PeeledQuery` or `PeeledSums`, with
the proofs in `metricdp.privacy.balls`; they compose adaptively. The region and the ball at which
records are clipped follow from released intervals alone; the average divides by the noisy number.

Where it departs from the paper. (a) There the boxes are infinitely many, so the heaviest is taken
from a *stable histogram*, which needs a delta, and fresh shifts are tried until AboveThreshold says
that one has a heavy box. Here records are points of a public grid, as in PRIVATE-K-MEAN, so the
boxes that hold a point of it are a finite, public list, and one exponential mechanism over those
of all shifts does both: pure epsilon-DP, better while there are fewer boxes than 1/delta. (b) The
printed constants (46 ln n dimensions, intervals of 300 and 900 radii) are for a proof; the ones
below are for data (`benchmarks/coreset.md`). (c) The average's number of records and sum have noise
in one release; there the number is lowered by a bound of its noise first.

References
----------
K. Nissim, U. Stemmer, S. Vadhan, "Locating a small cluster privately", PODS 2016, Algorithm 2.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost
from metricdp.accounting.scales import gaussian_scale, laplace_scale
from metricdp.methods.asking import Ask, Select
from metricdp.methods.box.small_ball import Removed
from metricdp.partitions.box.grid import Grid
from metricdp.partitions.box.slabs import Slabs, directions, half_diagonal, middles, offsets
from metricdp.privacy.balls import PeeledQuery, PeeledSums
from metricdp.records.sums.peeling import PartScores, Peeled
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
    if price.pooled:
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

    def __init__(
        self,
        grid: Grid,
        images: int,
        records: int,
        seed: int,
        prices: Prices,
    ) -> None:
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
        self,
        coins: np.random.Generator,
        width: float,
        cells: NDArray[np.int64],
        removed: Removed,
    ) -> Generator[Select, int, tuple[NDArray[np.int64], Array, float]]:
        """Those of the cells that lie in the region of three intervals along every axis; its center
        and half diagonal.
        """
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
