"""Private steps of Lloyd's or Weiszfeld's method from given centers, by sums of clipped offsets.

A record x of a cluster with center c and clipping radius r adds ``(x - c) / max(|x - c|, r)``, of
length at most 1. The center moves by r times the sum of these vectors, divided by a *weight*:

- *Means.* The weight is the number of records: the center moves to the mean of the clipped records.
- *Medians.* The weight is the curvature of the smoothed sum of distances: one step of Weiszfeld's
  or of Newton's method.

A sum of length s is multiplied by ``max(0, 1 - (margin · noise / s)²)`` (James and Stein), so that
noise alone hardly moves a center. It is also divided by ``1 + (margin · noise / r)²``, as a better
place is expected about a radius away: noise of that length halves the move.

`lloyd_step` first reads a histogram of shells around each center, which gives radius and weight:

- *Means.* Clipping removes about as much as noise adds: with noise of length v, the radius is the
  (n - v)-th distance (Huang, Liang & Yi).
- *Medians.* The curvature is estimated from the shells. Noise scales with the cluster's effective
  diameter instead of the box's, as in Haghifam, Steinke & Ullman.

**Privacy.** A descent is one `SumsQuery`: a record adds one vector of length at most 2^12 to its
own cluster's sum. Before it, a record is in one shell of one cluster (`HistogramQuery`). Clusters,
radii and weights follow from public facts and earlier releases. Shares of epsilon with discrete
Laplace noise, or of rho with discrete Gaussian noise.

References
----------
M. Haghifam, T. Steinke, J. Ullman, "Private geometric median", NeurIPS 2024. Z. Huang, Y. Liang, K.
Yi, "Instance-optimal mean estimation under differential privacy", NeurIPS 2021.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Image, Terms, clipped_sums, deviation, least_radius
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import Scaled, Shells, VoronoiCells, WholeBox
from metricdp.privacy.queries import HistogramQuery
from metricdp.protocols import Partition
from metricdp.releases import Release
from metricdp.solvers.lloyd import distinct

N_SHELLS = 30
RATIO = 2.0**-0.5
"""Shells of each cluster, and the radius of each over that of the next larger; the last is a ball.
"""
THRESHOLD = 3.0
"""Standard deviations of noise above which a count is taken for records."""
ALWAYS_CLIPPED = 0.002
"""Share of a cluster that may always be clipped: both distances and noise have long tails."""
N_SHELLS_TOGETHER = 48
RATIO_TOGETHER = 2.0 ** (-1 / 3)
THRESHOLD_TOGETHER = 4.0
LONG_TAILS = 1.5
"""The same for the shells of all clusters together, where one false count would set all radii; the
last: by what factor Laplace noise counts as larger than Gaussian.
"""


@dataclass(frozen=True, eq=False)
class ShellCounts:
    """Noisy `counts` of every cluster's shells, shape (k, n_shells), the standard deviation of
    their `noise`, and the shells' `outer` radii, the largest first.
    """

    counts: Floats
    noise: float
    outer: Floats

    @cached_property
    def above_noise(self) -> Floats:
        """Counts above the noise threshold, else 0, shape (k, n_shells). A cluster with less than
        half of its weight there has the counts of all clusters together.
        """
        own = np.where(self.counts > THRESHOLD * self.noise, self.counts, 0.0)
        weak = own.sum(axis=1) <= np.maximum(self.weight, 0.0) / 2
        return np.where(weak[:, None], self.totals, own)

    @cached_property
    def totals(self) -> Floats:
        """Sums over all clusters above the noise threshold, else 0, shape (n_shells,)."""
        total = self.counts.sum(axis=0)
        return np.where(total > THRESHOLD * self.noise * np.sqrt(len(self.counts)), total, 0.0)

    @cached_property
    def weight(self) -> Floats:
        """Estimated records of each cluster, shape (k,): the sum from the first to the last shell
        with a total above the noise, and one more on both sides; 0 below its own noise.
        """
        at = np.flatnonzero(self.totals > 0)
        near = self.counts[:, :0]
        if len(at):
            near = self.counts[:, max(at[0] - 1, 0) : at[-1] + 2]
        total = near.sum(axis=1)
        return np.where(total > self.noise * np.sqrt(near.shape[1]), total, 0.0)

    def quantile(self, share: float) -> Floats:
        """Quantile of each cluster's distances, shape (k,): its shell's outer radius."""
        weight = np.cumsum(self.above_noise[:, ::-1], axis=1)
        at = (weight < share * weight[:, -1:]).sum(axis=1).clip(max=len(self.outer) - 1)
        found: Floats = np.where(weight[:, -1] > 0, self.outer[::-1][at], self.outer[0])
        return found

    def reach(self, clipped: float) -> Floats:
        """Radius (k,) beyond which a cluster has at most `clipped` records, or their noise."""
        counts = np.where(self.weight[:, None] > 0, self.counts, self.totals)
        beyond = np.cumsum(counts, axis=1) - counts
        noise = self.noise * np.sqrt(np.arange(counts.shape[1]))
        most = np.maximum(np.maximum(clipped, noise), ALWAYS_CLIPPED * self.weight[:, None])
        last = len(self.outer) - 1 - np.argmax((beyond <= most)[:, ::-1], axis=1)
        found: Floats = np.where(self.above_noise.sum(axis=1) > 0, self.outer[last], self.outer[0])
        return found

    def curvature(self, radii: Floats, dimension: int) -> Floats:
        """Second derivative of the smoothed sum of distances, times the smoothing radius, (k,)."""
        middle = self.outer * (1 + RATIO) / 2
        far = np.maximum(0.5, 1 - 1 / dimension) * radii[:, None] / middle
        held = self.above_noise
        share = held / np.maximum(held.sum(axis=1, keepdims=True), 1e-300)
        found: Floats = self.weight * (
            share * np.where(self.outer <= radii[:, None], 1.0, far)
        ).sum(axis=1)
        return found


@dataclass(frozen=True, eq=False)
class DistancesTogether:
    """Noisy `counts` of shells that all clusters share, shape (n_shells,), the standard deviation
    of their `noise`, the shells' `outer` radii, the largest first, and the `least` clipping radius.
    """

    counts: Floats
    noise: float
    outer: Floats
    least: float

    @property
    def _above_noise(self) -> Floats:
        return np.where(self.counts > THRESHOLD_TOGETHER * self.noise, self.counts, 0.0)

    @cached_property
    def _shares(self) -> Floats:
        """Share of each shell in the counts above the noise. Where none is, all of it is in the
        shell whose count, with half of its two neighbors', is largest.
        """
        counts = self._above_noise
        if not counts.any():
            counts[np.argmax(np.convolve(self.counts, (0.5, 1.0, 0.5), "same"))] = 1.0
        shares: Floats = counts / counts.sum()
        return shares

    def quantile(self, share: float) -> float:
        """Quantile of the distances: its shell's outer radius."""
        weight = np.cumsum(self._shares[::-1])
        return float(self.outer[::-1][np.searchsorted(weight, share * weight[-1])])

    def drawn(self, n: int, rng: np.random.Generator) -> Floats:
        """Distances drawn from the released distribution by public coins, shape (n,)."""
        shell = rng.choice(len(self.outer), n, p=self._shares)
        return self.outer[shell] * rng.uniform(RATIO_TOGETHER, 1.0, n)

    def clipping(self, share: float) -> float:
        """The quantile as a clipping radius: at least the least one."""
        return max(self.quantile(share), self.least)

    def clipping_factor(self, radius: float) -> float:
        """Mean of min(1, radius / distance), the factor by which clipping shortens an offset."""
        counts = self._above_noise
        middle = self.outer * RATIO_TOGETHER**0.5
        return float(counts @ (radius / np.maximum(middle, radius)) / max(counts.sum(), 1.0))


def measured_distances(
    cells: Partition, centers: Floats, share: Fraction
) -> Generator[Ask, Release, ShellCounts]:
    """Release the counts of every cluster's shells for a share of the budget."""
    shells = Shells(cells, centers, N_SHELLS, RATIO)
    release = yield Ask(HistogramQuery(shells), share)
    counts = release.values.astype(np.float64).reshape(len(centers), N_SHELLS)
    return ShellCounts(counts, deviation(release), shells.outer)


def shells_together(space: EuclideanSpace, centers: Floats) -> Shells:
    """Shells shared by all clusters: a record is in the shell of its nearest center's distance."""
    cells = VoronoiCells(space, centers)
    return Shells(cells, centers, N_SHELLS_TOGETHER, RATIO_TOGETHER, together=True)


def measured_together(
    image: Image, centers: Floats | None, share: Fraction
) -> Generator[Ask, Release, DistancesTogether]:
    """Release the counts of `shells_together`, by default around the origin, for a share."""
    space = image.universe
    around = np.zeros((1, space.dimension)) if centers is None else centers
    shells = shells_together(space, around)
    release = yield Ask(HistogramQuery(shells), share, image)
    counts = release.values.astype(np.float64)
    # half as much again for Laplace noise, whose tails are longer: an outer shell above the
    # threshold by chance would make the clipping ball as wide as the box
    tails = LONG_TAILS if release.receipt.mechanisms[0].rho is None else 1.0
    noise = deviation(release) * tails
    return DistancesTogether(counts, noise, shells.outer, least_radius(space))


@dataclass(frozen=True, eq=False)
class Step:
    """Public parameters of a step for k clusters: clipping `radii` and divisors `weight`, both
    (k,); `margin`, lengths of noise in the shrinkage; `farthest`, the longest moves (k,), if
    bounded; `together`, whether a common vector moves all centers first; `scaled`, the coordinates
    in which sums are taken.
    """

    radii: Floats
    weight: Floats
    margin: float
    farthest: Floats | None = None
    together: bool = False
    scaled: Scaled | None = None


def descended(
    cells: Partition, centers: Floats, step: Step, share: Fraction, image: Image | None = None
) -> Generator[Ask, Release, Floats]:
    """The centers (k, d) after one private step. They may lie outside of the box, or coincide."""
    scales = np.ones(centers.shape[1]) if step.scaled is None else step.scaled.scales
    origin = centers if step.scaled is None else step.scaled.encode(centers)
    query = clipped_sums(cells, origin, step.radii)
    release = yield Ask(query, share, image)
    sums = release.values.reshape(centers.shape) * query.steps[:, None] * scales
    noise = step.margin * deviation(release) * query.steps * float(np.linalg.norm(scales))
    moving = step.weight > 0
    weight = np.where(moving, step.weight, 1.0)
    shift = np.zeros(centers.shape[1])
    if step.together:
        weight = np.maximum(weight, 1.0)
        total = max(float(step.weight[moving].sum()), 1.0)
        shift = sums.sum(axis=0) / total
        common = float(np.sqrt((noise**2).sum())) / total
        shift = shift * shrinkage(float(np.linalg.norm(shift)), common, step.radii.max())
    own = sums / weight[:, None] - shift
    own *= (moving * shrinkage(np.linalg.norm(own, axis=1), noise / weight, step.radii))[:, None]
    moves = shift + own
    if step.farthest is not None:
        length = np.linalg.norm(moves / scales, axis=1)
        moves *= (step.farthest / np.maximum(length, np.maximum(step.farthest, 1e-300)))[:, None]
    return centers + moves


def shrinkage(length: Any, noise: Any, radius: Any = np.inf) -> Any:
    """Factor from 0 to 1 for a noisy vector of a length, with noise of a length, where vectors not
    much longer than a radius are expected.
    """
    left = np.maximum(1 - (noise / np.maximum(length, 1e-300)) ** 2, 0.0)
    return left / (1 + (noise / np.maximum(radius, 1e-300)) ** 2)


def distinct_in(space: EuclideanSpace, centers: Floats) -> Floats:
    """The centers clipped to the box; points of a net replace repeated ones."""
    inside = space.clip(centers)
    if len(np.unique(inside, axis=0)) == len(inside):
        return inside
    return distinct(inside, space.net(2 * len(inside)).points)


SHELL_SHARE = Fraction(1, 5)
"""Of a step's budget, for the shells."""
MARGIN = 1.5
"""Lengths of noise below which a step is not taken."""
SMOOTHED = 0.1
"""Quantile of the distances below which medians are smoothed."""
BULK = 0.9
"""Quantile of the distances at which means are clipped before the last step."""
MOST_STEPS = 100  # more leave no budget for any


def least_of_steps(space: EuclideanSpace, shares: Sequence[Fraction]) -> Ask:
    """The read with the smallest share in steps of these shares."""
    least = min(shares) * min(SHELL_SHARE, 1 - SHELL_SHARE)
    return Ask(clipped_sums(WholeBox(space)), least)


def lloyd_step(
    terms: Terms,
    cells: Partition,
    centers: Floats,
    share: Fraction,
    *,
    power: int,
    radius: float | None = None,
    last: bool = False,
) -> Generator[Any, Any, Floats]:
    """The centers (k, d) after one private step, as the module's text says; clipped at a public
    `radius`, if one is given.
    """
    space = cells.universe
    d = centers.shape[1]
    distances = yield from measured_distances(cells, centers, share * SHELL_SHARE)
    rest = share * (1 - SHELL_SHARE)
    if radius is not None:
        radii = np.full(len(centers), radius)
    elif power == 1:
        radii = distances.quantile(SMOOTHED)
    elif last:
        radii = distances.reach(terms.deviation_of_sums(space, rest) * np.sqrt(d))
    else:
        radii = distances.quantile(BULK)
    step = _step(distances, radii, power, d)
    found: Floats = space.clip((yield from descended(cells, centers, step, rest)))
    return found


def _step(distances: ShellCounts, radii: Floats, power: int, dimension: int) -> Step:
    if power == 2:
        return Step(radii, distances.weight, MARGIN, farthest=radii)
    weight = distances.curvature(radii, dimension)
    return Step(radii, weight, MARGIN, farthest=distances.quantile(1.0))


def lloyd_steps(
    terms: Terms,
    space: EuclideanSpace,
    centers: Floats,
    shares: Sequence[Fraction],
    *,
    power: int,
    radius: float | None = None,
) -> Generator[Any, Any, Floats]:
    """The centers (k, d) after private steps, one for each share: distinct points of the box."""
    for i, share in enumerate(shares):
        at = distinct_in(space, centers)
        cells = VoronoiCells(space, at)
        last = i == len(shares) - 1
        centers = yield from lloyd_step(
            terms, cells, at, share, power=power, radius=radius, last=last
        )
    return distinct_in(space, centers)
