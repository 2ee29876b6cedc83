"""The default method in a box of few dimensions: fine grids where the records are, their support,
and one private step from each center.

1. Pay 1 % for the number of records, unless it is public (replace-one) or guessed (`records_hint`),
   and 4 % for every look at where the records are (`metricdp.methods.box.zoom`): one in a box that
   they fill.
2. Cut the box into G near-cubes, G from the noise scale and that number, and into finer ones where
   the looks say so; release the histogram of the cells.
3. The *support*: cells whose 3^d box of noisy counts stands out of its noise, alone or merged with
   others (`metricdp.partitions.box.support`). A lone cell far away that is large by chance would
   buy a center; a box of them hardly is. The support's counts, negative ones as 0, are a coreset
   for any number of questions.
4. Cluster the coreset (`metricdp.solvers.lloyd`), then go on with the signed counts, whose noise
   cancels where clipped counts add up.
5. A call for k centers keeps 15 % for one more step on the records: the sum of the records of every
   center's Voronoi cell, from that center, clipped at a radius of the coreset, moves the center, if
   it stands out of its noise.

**Privacy.** Steps 1, 2 and 5 are the only reads: epsilon-DP together by sequential composition
(`privacy.queries`, `privacy.noise`), as what looks leave of epsilon is the histogram's, however
many there are. The grids, the centers and the radii are functions of public facts and of what was
released before. All else is post-processing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant
from metricdp.errors import InputError
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.zoom import planned
from metricdp.methods.demand_release import Coreset, DemandRelease
from metricdp.methods.method import Method
from metricdp.methods.question import Question
from metricdp.methods.result import Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.grid import NestedGrid
from metricdp.partitions.box.support import standing_groups
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, Query, SumsQuery, measure
from metricdp.privacy.noise import laplace_scale
from metricdp.releases import Neighboring, Receipt, Release
from metricdp.solvers.lloyd import distinct, lloyd, settled
from metricdp.solvers.stopping import Deadline

COUNT_SHARE, LOOK_SHARE, STEP_SHARE = Fraction(1, 100), Fraction(1, 25), Fraction(3, 20)
"""Of what the release gets, for the number of records and for every look; of the whole, for the
last step.
"""
MOST_DIMENSIONS = 3
"""Beyond, a box of cells around one holds too much noise, and the cells grow too wide."""
CELLS_FACTOR, LINE_FACTOR, FEWEST_CELLS, MOST_CELLS = 19.0, 5.0, 16, 1 << 17
STANDS_OUT, STANDS_OUT_FAR = 4.0, 5.5
"""A box of cells belongs to the support if its sum exceeds this many standard deviations of its
noise; where finer grids lie inside of the grid, so that a lone cell would be far from all that
matters, this many; …
"""
STEP_STANDS_OUT = 2.0
"""… and a center moves if its step is this many times as long as the noise of the step, by what is
left of it when noise is taken off.
"""
REACH = {1: 0.5, 2: 0.85}
"""Quantile of a cluster's distances, on the coreset, at which its records are clipped: for k-median
and for k-means.
"""
BITS = 12
"""Of the integers in which a record's place is summed: clipped at 2^12."""
MOST_STARTS, FEW_CENTERS = 24, 64
"""Seedings on the coreset, down to one where there are many more than so many centers."""
MOST_CENTERS = 4096
"""Centers that can be asked for in a box."""

Array = NDArray[np.float64]


class Cells:
    """A box cut into the Voronoi cells of a few centers: a point belongs to its nearest one."""

    def __init__(self, space: EuclideanSpace, centers: Array) -> None:
        self.universe, self.centers, self.n_parts = space, centers, len(centers)

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Cell of each point, shape (n,)."""
        return nearest_centers(records, self.centers)[0]


class BoxRelease(DemandRelease):
    """A private release of where the demand is in a box: weighted points for any number of
    questions, whose centers may stand anywhere.
    """

    method = "partition"
    space: EuclideanSpace
    histogram: Release

    @abstractmethod
    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        """k points of the box of low cost on the release, perhaps with repeats, shape (k, d)."""

    def centers(self, question: Question) -> Array:
        """k distinct points of the box of low cost on the release: post-processing, shape (k,
        d).
        """
        with Deadline(question.time_limit) as deadline:
            found = self._found(question.k, question.power, question.seed, deadline)
        return unequal(self.space, found)

    def answer(self, question: Question) -> Result:
        """Centers for a question that was checked already: post-processing, free."""
        return Result(self.centers(question), question.k, self.method, self.receipt, self)

    def _asked(self, k: int, power: int, **asked: Any) -> Result:
        for name in ("candidates", "opened"):
            if asked[name] is not None:
                raise InputError(f"{name} need a finite universe; centers in a box are free points")
        return self.answer(
            Question.checked(self.space.net(MOST_CENTERS), k, power, in_space=True, **asked)
        )


def unequal(space: EuclideanSpace, centers: Array) -> Array:
    """The centers, moved into the box, equal ones but the first replaced by points of a public
    net.
    """
    inside = space.clip(centers)
    return (
        inside
        if len(np.unique(inside, axis=0)) == len(inside)
        else distinct(inside, space.net(2 * len(inside)).points)
    )


class SpaceRelease(BoxRelease):
    """A private release of where the demand is in a box, good for any number of questions.

    Attributes
    ----------
    universe : EuclideanMetric
        Middles of the grid's cells.
    space : EuclideanSpace
    partition : NestedGrid
    weights : ndarray of float64, shape (n_cells,), read-only
        Noisy counts of the cells of the support, where cells stand out together only their mean,
        negative ones as 0; 0 elsewhere.
    histogram : Release
        The noisy counts themselves.
    signed : Coreset
        Cells of the support and their noisy counts as they are; the whole grid, counted alike, if
        nothing stands out.
    support : ndarray of bool, shape (n_cells,)
    receipt : Receipt
        What it cost.
    """

    def __init__(self, grid: NestedGrid, histogram: Release, receipt: Receipt) -> None:
        self.space, self.partition, self.histogram = grid.universe, grid, histogram
        noise = deviation(histogram)
        group = standing_groups(
            grid, histogram.values, (STANDS_OUT * noise, STANDS_OUT_FAR * noise)
        )[0]
        self.support = group >= 0
        mass, size = (
            np.bincount(group[self.support], what[self.support])
            for what in (histogram.values, np.ones(grid.n_parts))
        )
        self._counts = (mass / size)[group[self.support]]
        weights = np.zeros(grid.n_parts)
        weights[self.support] = np.maximum(self._counts, 0.0)
        super().__init__(EuclideanMetric(grid.centers), weights, receipt, in_space=True)

    def __repr__(self) -> str:
        return (
            f"SpaceRelease({self.space.name}, {self.partition.n_parts:,} cells, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )

    @cached_property
    def signed(self) -> Coreset:
        """Cells of the support and their noisy counts as they are; the whole grid, counted alike,
        if nothing stands out.
        """
        if self.weights.sum() <= 0:
            return Coreset(self.partition.centers, np.ones(len(self.weights)))
        return Coreset(self.partition.centers[self.support], self._counts)

    @cached_property
    def _diagonals(self) -> Array:
        """Lengths of the diagonals of `signed`'s cells."""
        diagonals = self.partition.diagonals
        return diagonals[self.support] if self.weights.sum() > 0 else diagonals

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        points, counts = self.signed
        smooth = self._diagonals / 4
        starts = starts_for(k)
        found = lloyd(
            points,
            np.maximum(counts, 0.0),
            k,
            power=power,
            seed=seed,
            starts=starts,
            smooth=smooth,
            deadline=deadline,
        )
        return settled(points, counts, found, power=power, smooth=smooth)

    def scales(self, centers: Array, power: int) -> tuple[Array, Array]:
        """For `stepped`: radius of every center, a quantile of its cells' distances, and its
        mass.
        """
        points, counts = self.signed
        label, square = nearest_centers(points, centers)
        distance, half = np.sqrt(square), self._diagonals / 2
        cells = [np.flatnonzero(label == j) for j in range(len(centers))]
        radii = np.array(
            [
                _reach(np.maximum(distance[at], half[at]), counts[at], REACH[power], half.min())
                for at in cells
            ]
        )
        force = counts if power == 2 else counts * radii[label] / np.maximum(distance, radii[label])
        return radii, np.bincount(label, force, len(centers)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class SpaceMethod(Method):
    """`space_release`, the solver on its coreset, and one private step: what the default method is
    in a box.

    **Privacy.** epsilon-DP, by the module's text; a delta would buy nothing, and is not spent.
    """

    name = "partition"
    summary = "noisy counts of a grid's cells, and one private step"
    in_space = True
    releases = True

    def check(
        self, demand: PrivateDemand, question: Question, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse an epsilon too small for the noise."""
        sensitivity = HistogramQuery.sensitivity_of(neighboring, demand.max_contributions)
        laplace_scale(sensitivity, price.epsilon * COUNT_SHARE * (1 - STEP_SHARE))
        space: Any = demand.universe
        sums = SumsQuery(HistogramQuery(Cells(space, space.lower[None])), BITS)
        laplace_scale(
            sums.sensitivity(neighboring, demand.max_contributions), price.epsilon * STEP_SHARE
        )

    def answer(self, demand: PrivateDemand, grant: Grant, question: Question) -> Result:
        """Centers, and the release they were computed from, which cost less than they did."""
        step = grant.left * STEP_SHARE
        noisy = space_release(demand, grant, grant.left - step, records_hint=self.records_hint)
        centers = noisy.centers(question)
        moved, receipt = stepped(
            demand, noisy.space, centers, *noisy.scales(centers, question.power), grant.left, grant
        )
        return Result(moved, question.k, self.name, noisy.receipt + receipt, noisy)

    def release(self, demand: PrivateDemand, grant: Grant, seed: int) -> SpaceRelease:
        """Spend the whole grant on a release alone."""
        return space_release(demand, grant, grant.left, records_hint=self.records_hint)


def space_release(
    demand: PrivateDemand, grant: Grant, epsilon: Fraction, *, records_hint: float | None = None
) -> SpaceRelease:
    """Spend `epsilon` of a grant on one release of demand in a box; see the module's text for the
    steps and the guarantee.

    Parameters
    ----------
    demand : PrivateDemand
        In an `EuclideanSpace`.
    grant : Grant
    epsilon : Fraction
    records_hint : float, optional
        A public guess of the number of records, which saves the paid count.

    Notes
    -----
    O(n·d) time for n records, and for G cells O(G·3d); noise takes 6 µs a cell.
    """
    receipts, total = list[Receipt](), records_hint
    if total is None:
        count = measure(demand, CountQuery(), epsilon * COUNT_SHARE, grant)
        receipts.append(count.receipt)
        total = float(count.values[0])

    def look(query: Query) -> tuple[Release, float]:
        release = measure(demand, query, epsilon * LOOK_SHARE, grant)
        receipts.append(release.receipt)
        return release, deviation(release)

    scale = HistogramQuery.sensitivity_of(grant.neighboring, demand.max_contributions) / float(
        epsilon
    )
    space: Any = demand.universe
    grid = planned(look, space, total, number_of_cells(total, scale, space.dimension), FEWEST_CELLS)
    rest = epsilon - sum((receipt.epsilon for receipt in receipts), Fraction(0))
    histogram = measure(demand, HistogramQuery(grid), rest, grant)
    return SpaceRelease(grid, histogram, Receipt.combined([*receipts, histogram.receipt]))


def number_of_cells(records: float, scale: float, dimension: int) -> int:
    """c = 19·√(records / scale), on a line 5·√c, where more would only split up what is sparse; 16
    to 131,072.

    Public inputs only: `records` a noisy count or a guess, `scale` the histogram's noise scale.
    """
    cells = CELLS_FACTOR * np.sqrt(max(records / scale, 0.0))
    return int(
        np.clip(cells if dimension > 1 else LINE_FACTOR * np.sqrt(cells), FEWEST_CELLS, MOST_CELLS)
    )


def stepped(
    demand: PrivateDemand,
    space: EuclideanSpace,
    centers: Array,
    radii: Array,
    mass: Array,
    price: Any,
    grant: Grant,
) -> tuple[Array, Receipt]:
    """Move every center by one private step.

    k-means: to the mean of its records, those farther than the radius r moved onto the ball of that
    radius. k-median: one step of Weiszfeld's, ``sum((x - c) / max(|x - c|, r)) / sum(1 / max(|x -
    c|, r))``, where r is smaller: the numerator is the same query, in units of r, and the
    denominator is read off the release. A step s is shortened by the factor ``max(0, 1 - (2·noise /
    |s|)²)`` (James and Stein's, with a margin): a step that its noise could have made moves
    nothing.

    Parameters
    ----------
    demand, space : PrivateDemand, EuclideanSpace
    centers : ndarray of float64, shape (k, d)
    radii : ndarray of float64, shape (k,)
    mass : ndarray of float64, shape (k,)
        What the clipped sums are divided by; a center of no positive mass stays.
    price : number or Cost
        Paid from the grant.
    grant : Grant

    Returns
    -------
    centers : ndarray of float64, shape (k, d)
        Distinct, in the box.
    receipt : Receipt
    """
    query = SumsQuery(
        HistogramQuery(Cells(space, centers)),
        BITS,
        centers,
        np.maximum(radii, space.diameter_bound() * 2.0**-19),
    )
    sums = measure(demand, query, price, grant)
    pull = sums.values.reshape(centers.shape)
    noise = deviation(sums) * np.sqrt(space.dimension)
    length = np.maximum(np.linalg.norm(pull, axis=1), 1e-300)
    trust = np.where(mass > 0, np.maximum(1 - (STEP_STANDS_OUT * noise / length) ** 2, 0.0), 0.0)
    moved = centers + pull * (trust * query.steps / np.where(mass > 0, mass, 1.0))[:, None]
    return unequal(space, moved), sums.receipt


def deviation(release: Release) -> float:
    """Standard deviation of a release's noise."""
    noise = release.receipt.mechanisms[0]
    return noise.scale if noise.rho is not None else noise.scale * math.sqrt(2.0)


def starts_for(k: int) -> int:
    """Seedings that are tried for k centers."""
    return int(np.clip(MOST_STARTS * FEW_CENTERS // k, 1, MOST_STARTS))


def _reach(distance: Array, counts: Array, share: float, least: float) -> float:
    """Quantile of noisy weighted distances, negative counts as 0; `least` where there are none."""
    order = np.argsort(distance)
    mass = np.cumsum(np.maximum(counts[order], 0.0))
    if not len(mass) or mass[-1] <= 0:
        return least
    return float(distance[order][min(np.searchsorted(mass, share * mass[-1]), len(mass) - 1)])
