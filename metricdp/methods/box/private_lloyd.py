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

The sum moves the center as `metricdp.methods.box.descent` says, if it is 1.5 times as long as its
noise.

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

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.methods.asking import Ask
from metricdp.methods.box.descent import Step, descended, distinct_in
from metricdp.methods.box.distances import Distances, measured_distances
from metricdp.methods.shares import Terms, clipped_sums
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import VoronoiCells, WholeBox
from metricdp.protocols import Partition

SHELL_SHARE = Fraction(1, 5)
"""Of a step's budget, for the shells."""
MARGIN = 1.5
"""Lengths of noise below which a step is not believed."""
SMOOTHED = 0.1
"""Quantile of the distances below which medians are smoothed."""
BULK = 0.9
"""Quantile of the distances at which means are clipped before the last step."""
MOST_STEPS = 100  # more leave no budget for any

Array = NDArray[np.float64]


def least_of_steps(space: EuclideanSpace, shares: Sequence[Fraction]) -> Ask:
    """The smallest share that steps of these shares ask for."""
    least = min(shares) * min(SHELL_SHARE, 1 - SHELL_SHARE)
    return Ask(clipped_sums(WholeBox(space)), least)


def lloyd_step(
    terms: Terms,
    cells: Partition,
    centers: Array,
    share: Fraction,
    *,
    power: int,
    radius: float | None = None,
    last: bool = False,
) -> Generator[Any, Any, Array]:
    """The centers after one private step; see the module's text."""
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
    found: Array = space.clip((yield from descended(cells, centers, step, rest)))
    return found


def _step(distances: Distances, radii: Array, power: int, dimension: int) -> Step:
    if power == 2:
        return Step(radii, distances.mass, MARGIN, farthest=radii)
    mass = distances.curvature(radii, dimension)
    return Step(radii, mass, MARGIN, farthest=distances.quantile(1.0))


def lloyd_steps(
    terms: Terms,
    space: EuclideanSpace,
    centers: Array,
    shares: Sequence[Fraction],
    *,
    power: int,
    radius: float | None = None,
) -> Generator[Any, Any, Array]:
    """Private steps, one a share, each with the Voronoi cells of the centers before it: k distinct
    points of the box, shape (k, d).
    """
    for i, share in enumerate(shares):
        at = distinct_in(space, centers)
        cells = VoronoiCells(space, at)
        last = i == len(shares) - 1
        centers = yield from lloyd_step(
            terms, cells, at, share, power=power, radius=radius, last=last
        )
    return distinct_in(space, centers)
