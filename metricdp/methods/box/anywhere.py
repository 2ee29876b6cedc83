"""Public search for centers anywhere in a box, for the released weights of points."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import Floats
from metricdp.kernels.seeds import blurred
from metricdp.methods.box.descent import distinct_in
from metricdp.solvers.lloyd import lloyd
from metricdp.solvers.stopping import NEVER, Deadline

MOST_STARTS = 12
FEW_CENTERS = 100
"""Seedings for up to `FEW_CENTERS` centers; for more centers, fewer: down to one."""
MOST_PIECES = 4096
"""Cells are searched as 2^d pieces, halves along each side, as long as these are so few. A single
point in the middle would cost a center there nothing, and a wide cell could not be shared.
"""
MOST_DIMENSIONS = 3
NARROW = 1e-9
WIDTH = 0.3
STEEP = 2.0
"""A cell's pieces share its weight in proportion to a power `STEEP` of the local density, smoothed
by a kernel of `WIDTH` sides: demand is rarely even in a wide cell, there is more of it beside
denser neighbors. With a lower power, centers of small clusters move to their cells' middles
(benchmarks/euclidean.md). `NARROW`: least side in the kernel, as a share of the widest.
"""


def anywhere(
    find: Callable[[Any, int, int, int, Deadline], Floats],
) -> Callable[[Any, Any], Floats]:
    """A release's search by a function of the release, k, power, seed and deadline to points (k,
    d).

    The points found are clipped to the box and made distinct.
    """

    @wraps(find)
    def search(release: Any, question: Any) -> Floats:
        with Deadline(question.time_limit) as deadline:
            found = find(release, question.k, question.power, question.seed, deadline)
        return distinct_in(release.space, found)

    return search


class Pieces(NamedTuple):
    """Pieces of cells: their middles (n, d), weights (n,) and sides (n, d)."""

    points: Floats
    weights: Floats
    sides: Floats

    def joined(self, number: int) -> Pieces:
        """A `number` of cells again, each at the weighted mean of its pieces."""
        weights = self.weights.reshape(number, -1) + 1e-300
        total = weights.sum(axis=1)
        places = self.points.reshape(*weights.shape, -1)
        means = (weights[:, :, None] * places).sum(axis=1) / total[:, None]
        return Pieces(means, total, self.sides[:: weights.shape[1]] * 2)


def in_halves(points: Floats, weights: Floats, sides: Floats) -> Pieces:
    """Cells halved along each side: 2^d consecutive pieces of each, with equal weights."""
    halves = np.array(list(product((-0.25, 0.25), repeat=points.shape[1])))
    n = len(halves)
    middles = (points[:, None] + halves * sides[:, None]).reshape(-1, points.shape[1])
    return Pieces(middles, np.repeat(weights / n, n), np.repeat(sides / 2, n, axis=0))


def by_density(points: Floats, weights: Floats, sides: Floats) -> Pieces:
    """Cells halved along each side, with more of the weight for pieces where the density of the 3^d
    nearest cells, smoothed, is higher; beyond three dimensions in equal parts. O(m · 6^d) for m
    cells.
    """
    from scipy.spatial import cKDTree

    m, d = points.shape
    middles, _, halves = in_halves(points, weights, sides)
    number = min(3**d, m) if d <= MOST_DIMENSIONS else 1
    near = cKDTree(points).query(points, k=np.arange(1, number + 1))[1]
    unit = float(sides.max()) or 1.0
    widths = np.maximum(sides / unit, NARROW)
    places = middles.reshape(m, -1, d) / unit
    density = blurred(places, points / unit, weights, widths, near, WIDTH)
    share = (density / density.max(axis=1, keepdims=True)) ** STEEP
    share *= (weights / share.sum(axis=1))[:, None]
    return Pieces(middles, share.ravel(), halves)


@anywhere
def on_points(release: Any, k: int, power: int, seed: int, deadline: Deadline) -> Floats:
    """k points of low cost for the released weights, shrunk where they may be noise
    (`Release.sure`); points of a public net where there are more centers than points.
    """
    points = release.universe.points
    n = min(k, len(points))
    weights = getattr(release, "sure", release.weights)
    if (weights > 0).sum() < n:
        weights = release.weights
    kept = weights > 0 if (weights > 0).sum() >= n else np.ones(len(points), bool)
    sides = getattr(release, "sides", None)
    points, weights, smooth = points[kept], weights[kept], 0.0
    if sides is not None:
        pieces = by_density(points, weights, sides[kept])
        if len(pieces.points) > MOST_PIECES:
            pieces = pieces.joined(len(points))
        points, weights, sides = pieces
        smooth = np.linalg.norm(sides, axis=1) / 4
    found = searched(points, weights, n, power=power, seed=seed, deadline=deadline, smooth=smooth)
    return found if n == k else np.concatenate([found, release.space.net(k).points[: k - n]])


def searched(
    points: Floats,
    weights: Floats,
    k: int,
    *,
    power: int,
    seed: int,
    deadline: Deadline = NEVER,
    smooth: float | Floats = 0.0,
) -> Floats:
    """k centers (k, d) of low cost for released weights, by Lloyd's or Weiszfeld's method from
    several seedings. `smooth`: typical distance of the demand from the point that represents it.
    """
    return lloyd(
        points,
        weights,
        k,
        power=power,
        seed=seed,
        starts=starts_for(k),
        smooth=smooth,
        deadline=deadline,
    )


def starts_for(k: int) -> int:
    """Number of seedings for k centers."""
    return int(np.clip(MOST_STARTS * FEW_CENTERS // k, 1, MOST_STARTS))
