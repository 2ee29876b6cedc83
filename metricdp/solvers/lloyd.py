"""Centers that may stand anywhere in R^d, moved to the means or medians of the weighted points they serve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

STEPS, _SETTLED = 30, 1e-4


def settled_centers(
    points: NDArray[np.float64], weights: NDArray[np.float64], centers: NDArray[np.float64], *, power: int = 1, steps: int = STEPS
) -> NDArray[np.float64]:
    """Lloyd's method for squared distances, Weiszfeld's steps for distances.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, d)
    weights : ndarray of float64, shape (n_points,)
        Negative ones count as 0.
    centers : ndarray of float64, shape (k, d)
        Where to begin.
    power : {1, 2}
        Sum of distances or of squared distances.
    steps : int
        At most; it ends before when a step gains less than a 10,000th.

    Returns
    -------
    ndarray of float64, shape (k, d)
        Of no larger cost, in the convex hull of `points` and `centers`. One that serves no weight stays where it is.

    Notes
    -----
    O(n · k · d) time a step, O(n · k) memory. Each step lowers the cost (Lloyd 1982; Weiszfeld 1937, whose step minimizes a quadratic that
    lies above the cost).

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> settled_centers(points, np.ones(4), points[[0, 3]], power=2).ravel().tolist()
    [0.5, 8.5]
    """
    held = weights > 0
    points, weights, best, least = points[held], weights[held], centers, np.inf
    for _ in range(steps if len(points) else 0):
        distance = cdist(points, centers)
        label = distance.argmin(axis=1)
        nearest = distance[np.arange(len(points)), label]
        cost = float((weights * nearest**power).sum())
        if cost >= least * (1 - _SETTLED):
            return centers if cost < least else best
        best, least = centers, cost
        pull = weights if power == 2 else weights / np.maximum(nearest, 1e-6 * max(nearest.max(), 1e-300))
        mass = np.bincount(label, pull, len(centers))
        sums = np.stack([np.bincount(label, pull * column, len(centers)) for column in points.T], axis=1)
        centers = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centers)
    return best
