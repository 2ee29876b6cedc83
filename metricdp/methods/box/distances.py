"""How far records lie from the centers of their clusters: radii for clipping, read off noisy counts
of shells (`metricdp.partitions.box.cells.Shells`).

**Privacy.** One `HistogramQuery` of shells that follow from public facts and earlier releases.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from metricdp.arrays import Floats
from metricdp.methods.asking import Ask, Image
from metricdp.methods.shares import deviation, least_radius
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import Shells, VoronoiCells
from metricdp.privacy.queries import HistogramQuery
from metricdp.protocols import Partition
from metricdp.releases import Release

N_SHELLS = 30
RATIO = 2.0**-0.5
"""Shells of each cluster: each this fraction of the next; the last is a ball."""
STANDS_OUT = 3.0
"""Standard deviations of noise above which a count is taken for records."""
FEW = 0.002
"""Share of a cluster that may always be clipped: tails are long, and noise of counts is."""
N_SHELLS_TOGETHER = 48
RATIO_TOGETHER = 2.0 ** (-1 / 3)
STANDS_OUT_TOGETHER = 4.0
LONG_TAILS = 1.5
"""The same for all clusters together, where one false shell would set all radii."""


@dataclass(frozen=True, eq=False)
class ShellCounts:
    """Noisy counts of every cluster's shells."""

    counts: Floats
    noise: float
    outer: Floats

    @cached_property
    def held(self) -> Floats:
        """Counts above the noise, else 0 (k, n_shells); in weak clusters those of all."""
        own = np.where(self.counts > STANDS_OUT * self.noise, self.counts, 0.0)
        few = own.sum(axis=1) <= np.maximum(self.weight, 0.0) / 2
        return np.where(few[:, None], self.of_all, own)

    @cached_property
    def of_all(self) -> Floats:
        """Counts of all clusters that stand out of the noise, else 0, shape (n_shells,)."""
        total = self.counts.sum(axis=0)
        return np.where(total > STANDS_OUT * self.noise * np.sqrt(len(self.counts)), total, 0.0)

    @cached_property
    def weight(self) -> Floats:
        """Records in each cluster (k,): of the shells around those above the noise."""
        at = np.flatnonzero(self.of_all > 0)
        near = self.counts[:, :0]
        if len(at):
            near = self.counts[:, max(at[0] - 1, 0) : at[-1] + 2]
        total = near.sum(axis=1)
        return np.where(total > self.noise * np.sqrt(near.shape[1]), total, 0.0)

    def quantile(self, share: float) -> Floats:
        """Outer radius of the shell with the quantile of each cluster's distances, shape (k,)."""
        weight = np.cumsum(self.held[:, ::-1], axis=1)
        at = (weight < share * weight[:, -1:]).sum(axis=1).clip(max=len(self.outer) - 1)
        found: Floats = np.where(weight[:, -1] > 0, self.outer[::-1][at], self.outer[0])
        return found

    def reach(self, spare: float) -> Floats:
        """Radius (k,) beyond which a cluster has no more records than `spare`, or noise."""
        counts = np.where(self.weight[:, None] > 0, self.counts, self.of_all)
        beyond = np.cumsum(counts, axis=1) - counts
        noise = self.noise * np.sqrt(np.arange(counts.shape[1]))
        fits = beyond <= np.maximum(np.maximum(spare, noise), FEW * self.weight[:, None])
        last = len(self.outer) - 1 - np.argmax(fits[:, ::-1], axis=1)
        found: Floats = np.where(self.held.sum(axis=1) > 0, self.outer[last], self.outer[0])
        return found

    def curvature(self, radii: Floats, dimension: int) -> Floats:
        """Of the smoothed sum of distances around each center, in 1 / radius, shape (k,)."""
        middle = self.outer * (1 + RATIO) / 2
        far = np.maximum(0.5, 1 - 1 / dimension) * radii[:, None] / middle
        share = self.held / np.maximum(self.held.sum(axis=1, keepdims=True), 1e-300)
        found: Floats = self.weight * (
            share * np.where(self.outer <= radii[:, None], 1.0, far)
        ).sum(axis=1)
        return found


@dataclass(frozen=True, eq=False)
class DistancesTogether:
    """Noisy counts of all clusters' shells together, outer radii, and the least radius."""

    counts: Floats
    noise: float
    outer: Floats
    least: float

    @property
    def _above_noise(self) -> Floats:
        return np.where(self.counts > STANDS_OUT_TOGETHER * self.noise, self.counts, 0.0)

    @cached_property
    def _shares(self) -> Floats:
        """Of each shell in the counts above the noise; without any, the one shell that holds most
        together with its two neighbors.
        """
        kept = self._above_noise
        if not kept.any():
            kept[np.argmax(np.convolve(self.counts, (0.5, 1.0, 0.5), "same"))] = 1.0
        shares: Floats = kept / kept.sum()
        return shares

    def quantile(self, share: float) -> float:
        """Outer radius of the shell with the quantile."""
        weight = np.cumsum(self._shares[::-1])
        return float(self.outer[::-1][np.searchsorted(weight, share * weight[-1])])

    def drawn(self, n: int, rng: np.random.Generator) -> Floats:
        """Distances like those of the records, shape (n,), by public coins."""
        shell = rng.choice(len(self.outer), n, p=self._shares)
        drawn: Floats = self.outer[shell] * rng.uniform(RATIO_TOGETHER, 1.0, n)
        return drawn

    def clipping(self, share: float) -> float:
        """That quantile, or the least radius at which a sum can be clipped."""
        return max(self.quantile(share), self.least)

    def force(self, radius: float) -> float:
        """Mean of min(1, radius / distance): what clipping leaves of the vectors."""
        kept = self._above_noise
        middle = self.outer * RATIO_TOGETHER**0.5
        return float(kept @ (radius / np.maximum(middle, radius)) / max(kept.sum(), 1.0))


def measured_distances(
    cells: Partition, centers: Floats, share: Fraction
) -> Generator[Ask, Release, ShellCounts]:
    """Shells of every cluster, paid with a share."""
    shells = Shells(cells, centers, N_SHELLS, RATIO)
    release = yield Ask(HistogramQuery(shells), share)
    counts = release.values.astype(np.float64).reshape(len(centers), N_SHELLS)
    return ShellCounts(counts, deviation(release), shells.outer)


def shells_together(space: EuclideanSpace, centers: Floats) -> Shells:
    """Shells around the nearest of a few centers."""
    cells = VoronoiCells(space, centers)
    return Shells(cells, centers, N_SHELLS_TOGETHER, RATIO_TOGETHER, together=True)


def measured_together(
    image: Image, centers: Floats | None, share: Fraction
) -> Generator[Ask, Release, DistancesTogether]:
    """Shells around the nearest of a few centers, the origin by default, paid with a share."""
    space = image.universe
    around = np.zeros((1, space.dimension)) if centers is None else centers
    shells = shells_together(space, around)
    release = yield Ask(HistogramQuery(shells), share, image)
    counts = release.values.astype(np.float64)
    return DistancesTogether(counts, noise_of_shells(release), shells.outer, least_radius(space))


def noise_of_shells(release: Release) -> float:
    """Standard deviation of the noise of shells taken together; half as much again of Laplace
    noise, whose tails are longer: a shell far out that is large by chance would make a loose box's
    ball as wide as the box.
    """
    in_rho = release.receipt.mechanisms[0].rho is not None
    return deviation(release) * (1.0 if in_rho else LONG_TAILS)
