"""Exact costs of centers of points, and references without privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.points import nearest_centers
from metricdp.solvers.lloyd import converged, seeding

Points = NDArray[np.float64]
SMOOTH = 1e-3
"""Weiszfeld's steps count distances below this part of the points' extent as so much."""


def cost(points: Points, centers: Points, power: int) -> float:
    """Sum over the points of the distance to the nearest center, or of its square: O(n · k · d)."""
    return float((nearest_centers(points, np.ascontiguousarray(centers))[1] ** (power / 2)).sum())


def improved(points: Points, centers: Points, power: int, steps: int) -> Points:
    """Centers after so many of Lloyd's (Weiszfeld's) steps without privacy."""
    smooth = SMOOTH * float(np.ptp(points, axis=0).max())
    return converged(points, np.ones(len(points)), centers, power=power, smooth=smooth, steps=steps)


def best_known(
    points: Points, k: int, power: int, seed: int, starts: int, steps: int = 100
) -> Points:
    """The best of some greedy seedings with many steps each, without privacy."""
    rng = np.random.default_rng([seed, 43])
    ones = np.ones(len(points))
    found = [
        improved(points, seeding(points, ones, k, rng, power), power, steps) for _ in range(starts)
    ]
    return min(found, key=lambda centers: cost(points, centers, power))
