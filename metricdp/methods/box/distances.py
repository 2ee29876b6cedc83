"""Quantiles of the records' distances from the centers of their clusters, from noisy counts of
concentric shells (`metricdp.partitions.box.cells.Shells`). They set clipping radii.

**Privacy.** One `HistogramQuery` of shells that follow from public facts and earlier releases.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Image, deviation, least_radius
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import Shells, VoronoiCells
from metricdp.privacy.queries import HistogramQuery
from metricdp.protocols import Partition
from metricdp.releases import Release

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
    return DistancesTogether(counts, noise_of_shells(release), shells.outer, least_radius(space))


def noise_of_shells(release: Release) -> float:
    """Standard deviation of the noise of shared shells; half as much again for Laplace noise, whose
    tails are longer. An outer shell above the threshold by chance would make the clipping ball as
    wide as the box.
    """
    in_rho = release.receipt.mechanisms[0].rho is not None
    return deviation(release) * (1.0 if in_rho else LONG_TAILS)
