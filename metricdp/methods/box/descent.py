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

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Image, Terms, clipped_sums, deviation
from metricdp.methods.box.distances import ShellCounts, measured_distances
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import VoronoiCells, WholeBox
from metricdp.partitions.box.images import Scaled
from metricdp.protocols import Partition
from metricdp.releases import Release
from metricdp.solvers.lloyd import distinct


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
