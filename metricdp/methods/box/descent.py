"""One private descent step of centers in a box, by noisy sums of clipped offsets.

A record x of a cluster with center c and clipping radius r adds ``(x - c) / max(|x - c|, r)``, of
length at most 1. The center moves by r times the sum of these vectors, divided by a *weight*:

- *Means.* The weight is the number of records: the center moves to the mean of the clipped records.
- *Medians.* The weight is the curvature of the smoothed sum of distances: one step of Weiszfeld's
  or of Newton's method.

A sum of length s is multiplied by ``max(0, 1 - (margin · noise / s)²)`` (James and Stein), so that
noise alone hardly moves a center. It is also divided by ``1 + (margin · noise / r)²``, as a better
place is expected about a radius away: noise of that length halves the move.

**Privacy.** A step is one `SumsQuery`: a record adds one vector of length at most 2^12 to its own
cluster's sum. Clusters, radii and weights follow from public facts and earlier releases.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Image, clipped_sums, deviation
from metricdp.metrics.space import EuclideanSpace
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
