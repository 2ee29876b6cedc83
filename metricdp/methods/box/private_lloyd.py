"""Private steps of Lloyd's or Weiszfeld's from given centers: sums of records relative to the
current center, clipped at a released radius.

A step reads the demand twice. A histogram tells how many records of every cluster lie in each of a
few shells around its center: from it come the radius at which to clip, and what to divide by. Then
the sum of every cluster's records, seen from its center in units of the radius and clipped to
length 1, moves the center.

- *Means.* The radius is the smallest beyond which so few records lie that clipping them moves the
  sum by about as much as noise does (Huang, Liang & Yi, NeurIPS 2021): noise of length v calls for
  the (n - v)-th distance. The sum is divided by the cluster's count.
- *Medians.* The sum of unit vectors ``(x - c) / max(|x - c|, r)`` is minus the gradient of the sum
  of distances, smoothed below r, a low quantile of the distances: a record moves it by 1 at most,
  *however far it lies*. It is divided by the curvature ``sum over |x - c| < r of 1/r + (1 - 1/d) ·
  sum over others of 1/|x - c|``, read off the shells: a Newton step for a cluster that looks alike
  from all sides. From far away such a step goes as far as the records are; near them noise is
  scaled by *their* spread. So a few steps find the cluster and then err in proportion to its
  effective diameter, not to the box: what Haghifam, Steinke & Ullman's warm-up (radius first, then
  localization) and private gradient descent do, with two linear passes a step in place of all pairs
  of records.

A step s is shortened by ``max(0, 1 - (1.5 v / |s|)²)``, v the length of its noise (James and Stein,
with a margin): a step that noise could have made does not happen.

**Privacy.** Both reads are histogram-like: a record is in one shell of one cluster
(`HistogramQuery`: L1 sensitivity m, or 2m under replace-one), and adds one vector of length at most
2^12 to one cluster's sum (`SumsQuery`). Clusters, centers and radii are functions of public facts
and of what was released before, and a record's cluster depends on that record alone. So the steps
compose sequentially: shares of epsilon with discrete Laplace noise, or, where there is a delta,
shares of a pool's rho with discrete Gaussian noise (zCDP). All noise is integer. All else is
post-processing.

References
----------
M. Haghifam, T. Steinke, J. Ullman, "Private geometric median", NeurIPS 2024. Z. Huang, Y. Liang, K.
Yi, "Instance-optimal mean estimation under differential privacy", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost
from metricdp.kernels.projections import squares_from
from metricdp.methods.box.space_release import BITS, Cells, deviation, unequal
from metricdp.methods.shares import Purse, affordable
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import HistogramQuery, Partition, PrivateDemand, SumsQuery
from metricdp.releases import Neighboring

N_SHELLS, RATIO = 30, 2.0**-0.5
"""Shells around a center: the outermost ends at the diagonal of the box, each at this fraction of
the one around it; the last is a ball.
"""
SHELL_SHARE = Fraction(1, 5)
"""Of a step's budget, for the shells."""
STANDS_OUT = 3.0
"""Standard deviations of noise above which a count is told from nothing, where it says how far
records lie.
"""
MARGIN = 1.5
"""Lengths of noise below which a step is not believed."""
SMOOTHED = 0.1
"""Quantile of the distances below which medians are smoothed."""
MOST_STEPS = 100
FEW = 0.002
"""Share of a cluster that may always be clipped: tails are long, and noise of counts is."""

Array = NDArray[np.float64]


class Zones:
    """Clusters cut into shells by the distance to their centers: part ``j · N_SHELLS + s`` is shell
    s of cluster j, 0 the outermost.

    Parameters
    ----------
    cells : Partition
        Of a box into k clusters.
    centers : ndarray of float64, shape (k, d)
    """

    def __init__(self, cells: Partition, centers: Array) -> None:
        self.universe, self.cells, self.centers = cells.universe, cells, centers
        self.n_parts = len(centers) * N_SHELLS
        self.edges = self.universe.diameter_bound() * RATIO ** np.arange(1, N_SHELLS)

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Part of each point, shape (n,)."""
        label = self.cells.encode(records)
        distance = np.sqrt(squares_from(records, label, self.centers))
        return label * N_SHELLS + np.searchsorted(-self.edges, -distance, side="right")


@dataclass(frozen=True, eq=False)
class Distances:
    """What the shells told about every cluster.

    Attributes
    ----------
    counts : ndarray of float64, shape (k, n_shells)
        Noisy.
    noise : float
        Standard deviation of one count's noise.
    outer : ndarray of float64, shape (n_shells,)
        Outer radii of the shells, falling.
    """

    counts: Array
    noise: float
    outer: Array

    @cached_property
    def held(self) -> Array:
        """Counts that stand out of the noise, else 0, shape (k, n_shells); those of all clusters
        for one that hardly stands out.
        """
        own = np.where(self.counts > STANDS_OUT * self.noise, self.counts, 0.0)
        few = own.sum(axis=1) <= np.maximum(self.mass, 0.0) / 2
        return np.where(few[:, None], self.pooled, own)

    @cached_property
    def pooled(self) -> Array:
        """Counts of all clusters together that stand out of the noise, else 0, shape
        (n_shells,).
        """
        total = self.counts.sum(axis=0)
        return np.where(total > STANDS_OUT * self.noise * np.sqrt(len(self.counts)), total, 0.0)

    @cached_property
    def mass(self) -> Array:
        """Records in each cluster, shape (k,): of the shells around those where there are any, as
        the others have noise alone.
        """
        at = np.flatnonzero(self.pooled > 0)
        near = self.counts[:, max(at[0] - 1, 0) : at[-1] + 2] if len(at) else self.counts[:, :0]
        total = near.sum(axis=1)
        return np.where(total > self.noise * np.sqrt(near.shape[1]), total, 0.0)

    def quantile(self, share: float) -> Array:
        """Outer radius of the shell with the quantile of each cluster's distances, shape (k,)."""
        mass = np.cumsum(self.held[:, ::-1], axis=1)
        at = (mass < share * mass[:, -1:]).sum(axis=1)
        return np.where(
            mass[:, -1] > 0, self.outer[::-1][at.clip(max=len(self.outer) - 1)], self.outer[0]
        )

    def reach(self, spare: float) -> Array:
        """Smallest outer radius beyond which a cluster has no more records than `spare`, a few of
        all, or noise, shape (k,).
        """
        counts = np.where(self.mass[:, None] > 0, self.counts, self.pooled)
        beyond, shells = np.cumsum(counts, axis=1) - counts, np.arange(counts.shape[1])
        fits = beyond <= np.maximum(
            np.maximum(spare, self.noise * np.sqrt(shells)), FEW * self.mass[:, None]
        )
        last = len(self.outer) - 1 - np.argmax(fits[:, ::-1], axis=1)
        return np.where(self.held.sum(axis=1) > 0, self.outer[last], self.outer[0])

    def curvature(self, radii: Array, dimension: int) -> Array:
        """Of the smoothed sum of distances around each center, in units of 1 / radius, shape
        (k,).
        """
        middle = self.outer * (1 + RATIO) / 2
        far = np.maximum(0.5, 1 - 1 / dimension) * radii[:, None] / middle
        share = self.held / np.maximum(self.held.sum(axis=1, keepdims=True), 1e-300)
        return self.mass * (share * np.where(self.outer <= radii[:, None], 1.0, far)).sum(axis=1)


def checked(
    demand: PrivateDemand,
    space: EuclideanSpace,
    shares: Sequence[Fraction],
    price: Cost,
    neighboring: Neighboring,
) -> None:
    """Refuse a price of which some share is too small for the noise.

    Raises
    ------
    InputError
    """
    affordable(demand, space, price, min(shares) * min(SHELL_SHARE, 1 - SHELL_SHARE), neighboring)


def moved(
    purse: Purse,
    cells: Partition,
    centers: Array,
    share: Fraction,
    *,
    power: int,
    radius: float | None = None,
    last: bool = False,
) -> Array:
    """The centers after one private step; see the module's text.

    Parameters
    ----------
    purse : Purse
        Of demand in a box.
    cells : Partition
        The clusters: of the box, as many as centers; public, or released before.
    centers : ndarray of float64, shape (k, d)
    share : Fraction
        Of the purse's grant.
    power : {1, 2}
        Weiszfeld's, or Lloyd's.
    radius : float, optional
        Public: clip at it; by default at a released one.
    last : bool
        For means: keep the tails in; else records beyond the bulk may as well be clipped.
    """
    space, d = cells.universe, centers.shape[1]
    zones = Zones(cells, centers)
    seen = purse.ask(HistogramQuery(zones), share * SHELL_SHARE)
    outer = space.diameter_bound() * RATIO ** np.arange(N_SHELLS)
    distances = Distances(
        seen.values.astype(np.float64).reshape(len(centers), N_SHELLS), deviation(seen), outer
    )
    rest = share * (1 - SHELL_SHARE)
    if radius is not None:
        radii = np.full(len(centers), radius)
    elif power == 1:
        radii = distances.quantile(SMOOTHED)
    else:
        radii = (
            distances.reach(_length_of_noise(purse, cells, rest))
            if last
            else distances.quantile(0.9)
        )
    mass = distances.mass if power == 2 else distances.curvature(radii, d)
    query = SumsQuery(
        HistogramQuery(cells), BITS, centers, np.maximum(radii, space.diameter_bound() * 2.0**-19)
    )
    sums = purse.ask(query, rest)
    pull = sums.values.reshape(centers.shape)
    noise = MARGIN * deviation(sums) * np.sqrt(d)
    length = np.maximum(np.linalg.norm(pull, axis=1), 1e-300)
    trust = np.where(mass > 0, np.maximum(1 - (noise / length) ** 2, 0.0), 0.0)
    far = length * trust * query.steps / np.where(mass > 0, mass, 1.0)
    farthest = radii if power == 2 else distances.quantile(1.0)
    step = pull * (np.minimum(far, farthest) / length)[:, None]
    return space.clip(centers + step)


def _length_of_noise(purse: Purse, cells: Partition, share: Fraction) -> float:
    """Length that the noise of a sum paid with a share will have, in clipped records."""
    query = SumsQuery(HistogramQuery(cells), BITS)
    m, relation, d = (
        purse.demand.max_contributions,
        purse.grant.neighboring,
        cells.universe.dimension,
    )
    price = purse.price(share)
    if isinstance(price, Cost):
        scale = (
            float(query.squared_sensitivity(relation, m) / (2 * (price.rho or Fraction(1)))) ** 0.5
        )
    else:
        scale = query.sensitivity(relation, m) / float(price) * 2**0.5
    return float(scale * np.sqrt(d) / 2**BITS)


def lloyd_steps(
    purse: Purse,
    space: EuclideanSpace,
    centers: Array,
    shares: Sequence[Fraction],
    *,
    power: int,
    radius: float | None = None,
) -> Array:
    """Private steps, one a share, each with the Voronoi cells of the centers before it: k distinct
    points of the box, shape (k, d).
    """
    for i, share in enumerate(shares):
        at = unequal(space, centers)
        centers = moved(
            purse,
            Cells(space, at),
            at,
            share,
            power=power,
            radius=radius,
            last=i == len(shares) - 1,
        )
    return unequal(space, centers)
