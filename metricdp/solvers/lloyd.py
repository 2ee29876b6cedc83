"""k-means and k-median of weighted points in R^d: Lloyd's or Weiszfeld's steps, and swaps."""

import numpy as np

from metricdp.arguments import Floats
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.seeds import seeds, swaps
from metricdp.solvers.stopping import NEVER, Deadline

TRIALS = 3
"""Points drawn for each center of a seeding, of which the best is taken; one more for every factor
e of k.
"""
SWAPS = 60
SWAPS_A_CENTER = 4
PASSES = 4
"""Swaps tried after the best seeding: so many, or so many for each center if these are more, in
each pass.
"""
MOST_STEPS = 60
TOLERANCE = 1e-4
"""Steps end when no center moves by more than this fraction of the extent of the points."""
COINCIDES = 1e-3
"""A center nearer to a point than this fraction of that threshold stands on it."""


def lloyd(
    points: Floats,
    weights: Floats,
    k: int,
    *,
    power: int = 2,
    seed: int = 0,
    starts: int = 8,
    smooth: float | Floats = 0.0,
    deadline: Deadline = NEVER,
) -> Floats:
    """k centers of low weighted sum of (squared) distances: the best of several seedings after
    Lloyd's steps, or Weiszfeld's for k-median, then swaps. O(starts · steps · n · k · d).

    Weiszfeld's steps treat distances below `smooth` as that long. Weights are not negative; centers
    may repeat where fewer than k points have weight.
    """
    rng = np.random.default_rng(seed)
    best = points[:k]
    least = np.inf
    for start in range(starts):
        if start and deadline.over:
            break
        centers = converged(
            points, weights, seeding(points, weights, k, rng, power), power=power, smooth=smooth
        )
        total = float(weights @ nearest_centers(points, centers)[1] ** (power / 2))
        if total < least:
            best = centers
            least = total
    tries = max(SWAPS, SWAPS_A_CENTER * k)
    for _ in range(PASSES):
        if deadline.over:
            break
        better = swapped(points, weights, best, rng, power=power, tries=tries)
        if better is best:
            break
        best = converged(points, weights, better, power=power, smooth=smooth)
    return best


def swapped(
    points: Floats,
    weights: Floats,
    centers: Floats,
    rng: np.random.Generator,
    *,
    power: int = 2,
    tries: int = SWAPS,
) -> Floats:
    """The centers after swaps for points drawn by weight · distance^power (Lattanzi & Sohler, ICML
    2019): a point replaces the center whose removal then costs least, if the cost falls. The same
    array if none does. O(tries · n · d + n · k · d) for each swap.
    """
    found = centers.copy()
    coins = rng.random(tries if len(centers) < len(points) else 0)
    return found if swaps(points, weights, found, coins, power, TOLERANCE) else centers


def seeding(
    points: Floats, weights: Floats, k: int, rng: np.random.Generator, power: int = 2
) -> Floats:
    """Greedy k-means++ [1]_: each center the best of a few points drawn by weight and distance to
    the power.

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """
    coins = rng.random((k, TRIALS + int(np.log(k))))
    return points[seeds(points, weights, coins, power)]


def converged(
    points: Floats,
    weights: Floats,
    centers: Floats,
    *,
    power: int = 2,
    smooth: float | Floats = 0.0,
    steps: int = MOST_STEPS,
) -> Floats:
    """Centers after Lloyd's (Weiszfeld's) steps. Weights may be negative: a center whose cell has
    no positive total stays.

    A center that stands on a point, where Weiszfeld's step is not defined, leaves it by Vardi and
    Zhang's [1]_ if that lowers its cost: with R the pull of its other points, unit vectors times
    weights, and w the weight it stands on, by the part ``1 - w / |R|`` of the way.

    References
    ----------
    .. [1] Y. Vardi, C.-H. Zhang, "The multivariate L1-median and associated data depth", PNAS
       97(4), 2000, equation 2.6.
    """
    low = points.min(axis=0)
    high = points.max(axis=0)
    columns = np.ascontiguousarray(points.T)
    threshold = TOLERANCE * float((high - low).max())
    for _ in range(steps):
        label, square = nearest_centers(points, centers)
        force = weights
        on = np.zeros(len(weights), bool)
        if power == 1:
            distance = np.maximum(np.sqrt(square), smooth)
            on = distance <= COINCIDES * threshold
            force = np.where(on, 0.0, weights / np.where(on, 1.0, distance))
        total = np.bincount(label, force, len(centers))
        sums = np.stack(
            [np.bincount(label, force * column, len(centers)) for column in columns], axis=1
        )
        moves = (total > 0) & (np.bincount(label, weights, len(centers)) > 0)
        way = np.where(moves[:, None], sums / np.where(moves, total, 1.0)[:, None] - centers, 0.0)
        if on.any():
            held = np.bincount(label, weights * on, len(centers))
            pull = total * np.linalg.norm(way, axis=1)
            way *= np.clip(1 - held / np.where(pull > 0, pull, np.inf), 0.0, 1.0)[:, None]
        moved = (centers + way).clip(low, high)
        shift = float(np.abs(moved - centers).max())
        centers = moved
        if shift <= threshold:
            break
    return centers


def condensed(points: Floats, weights: Floats, number: int) -> tuple[Floats, Floats]:
    """At most `number` weighted points for those of positive weight: the cells of a `seeding`."""
    held = weights > 0
    points, weights = points[held], weights[held]
    if number >= len(points):
        return points, weights
    drawn = seeding(points, weights, number, np.random.default_rng(0), power=1)
    label = np.unique(nearest_centers(points, drawn)[0], return_inverse=True)[1]
    total = np.bincount(label, weights).astype(np.float64)
    means = [np.bincount(label, weights * column) / total for column in points.T]
    return np.stack(means, axis=1), total


def distinct(centers: Floats, spare: Floats) -> Floats:
    """The centers, repeated ones replaced by points of `spare` as far as these suffice."""
    kept = np.sort(np.unique(centers, axis=0, return_index=True)[1])
    missing = len(centers) - len(kept)
    if not missing:
        return centers
    taken = {tuple(center) for center in centers[kept].tolist()}
    others = [point for point in np.unique(spare, axis=0).tolist() if tuple(point) not in taken][
        :missing
    ]
    found = centers.copy()
    repeated = np.setdiff1d(np.arange(len(centers)), kept)[: len(others)]
    found[repeated] = np.reshape(others, (-1, centers.shape[1]))
    return found
