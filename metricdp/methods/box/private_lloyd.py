"""Private steps of Lloyd's or Weiszfeld's method from given centers.

A step reads the demand twice. A histogram of shells around each center gives the clipping radius
and the divisor. Then each cluster's sum of clipped offsets moves its center
(`metricdp.methods.box.descent`).

- *Means.* Clipping removes about as much as noise adds: with noise of length v, the radius is the
  (n - v)-th distance (Huang, Liang & Yi).
- *Medians.* The sum of ``(x - c) / max(|x - c|, r)`` is minus the gradient of the smoothed cost,
  and one record changes it by at most 1. It is divided by the curvature, estimated from the shells.
  Noise scales with the cluster's effective diameter instead of the box's, as in Haghifam, Steinke &
  Ullman.

**Privacy.** A record is in one shell of one cluster (`HistogramQuery`) and adds one vector of
length at most 2^12 to one sum (`SumsQuery`). All else follows from public facts and earlier
releases. Shares of epsilon with discrete Laplace noise, or of rho with discrete Gaussian noise.

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

from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Terms, clipped_sums
from metricdp.methods.box.descent import Step, descended, distinct_in
from metricdp.methods.box.distances import ShellCounts, measured_distances
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import VoronoiCells, WholeBox
from metricdp.protocols import Partition

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
