"""Slow twins of the objectives, from their definitions: every choice of sites is tried."""

from bisect import bisect_left
from itertools import combinations, product

import numpy as np


def sums(costs, weights, power, limit=None):
    """Weighted sum of distances to the power; ten times the cost at the limit beyond it."""
    near = costs.min(axis=0)
    cost = near**power
    if limit is not None:
        cost = np.where(near > limit * (1 + 1e-9), 10 * limit**power, cost)
    return float(weights @ cost)


def farthest(costs, weights, threshold=0.0):
    """Largest distance of a point of more weight than the threshold, or else of any."""
    at = weights > threshold if (weights > threshold).any() else np.ones(len(weights), bool)
    return float(costs.min(axis=0)[at].max())


def covered(costs, weights, limit, shares=(1.0,)):
    """Weight within the limit of at least one site, two sites, …, each with its share."""
    times = (costs <= limit).sum(axis=0)
    return float(sum(s * weights[times > t].sum() for t, s in enumerate(shares)))


def best_of(value, costs, k, allowed, opened=(), largest=False):
    """Best value over all choices of k of the allowed rows, the opened among them; None if there is
    none.
    """
    rest = [i for i in allowed if i not in opened]
    values = [value(costs[[*opened, *more]]) for more in combinations(rest, k - len(opened))]
    values = [v for v in values if v is not None]
    if not values:
        return None
    return max(values) if largest else min(values)


def fewest(covers, allowed, opened=()):
    """Least number of rows of a 0-1 matrix, the opened among them, that cover all columns."""
    for k in range(max(len(opened), 1), len(allowed) + 1):
        found = best_of(
            lambda rows: float(rows.any(axis=0).all()), covers, k, allowed, opened, True
        )
        if found:
            return k
    return None


def with_prices(costs, weights, prices):
    """Weighted distances and what the rows cost to open."""
    return float(weights @ costs.min(axis=0)) + float(np.sum(prices))


def within_room(costs, weights, loads, room, limit=None):
    """Cheapest service within the rows' room, by linear programming; None if there is none."""
    from scipy.optimize import linprog

    cost = costs * weights
    if limit is not None:
        costs = np.where(costs > limit * (1 + 1e-9), 30 * limit, costs)
        cost = np.vstack([costs * weights, 10 * limit * weights])
        room = np.r_[room, loads.sum() + 1]
    m, n = cost.shape
    A_ub = np.kron(np.eye(m), loads)
    found = linprog(cost.ravel(), A_ub=A_ub, b_ub=room, A_eq=np.tile(np.eye(n), m), b_eq=np.ones(n))
    return None if found.status == 2 else float(found.fun)


def least_distance(costs):
    """Least distance between sites, from those to all points: two differ most at one of them."""
    pairs = combinations(costs, 2)
    return min((float(np.abs(a - b).max()) for a, b in pairs), default=None)


def within_room_whole(costs, weights, loads, room, limit=None):
    """Cheapest service within the rows' room where no client is shared; None if there is none."""
    states = {(0.0,) * len(room): 0.0}
    for far, weight, load in zip(costs.T, weights, loads):
        fresh = {}
        for used, cost in states.items():
            for i, row in enumerate(far):
                more = (*used[:i], used[i] + load, *used[i + 1 :])
                if more[i] > room[i] * (1 + 1e-9) or (limit is not None and row > limit):
                    continue
                fresh[more] = min(fresh.get(more, np.inf), cost + weight * row)
            if limit is not None:
                fresh[used] = min(fresh.get(used, np.inf), cost + 10 * limit * weight)
        states = fresh
    return min(states.values(), default=None)


def equal_distance(costs, weights, kappa):
    """Kolm and Pollak's equally distributed equivalent."""
    near = costs.min(axis=0)
    return float(np.log(weights @ np.exp(kappa * near) / weights.sum()) / kappa)


def ordered(costs, weights, share, blend):
    """Mean distance, blended with that of the share of the demand that is farthest."""
    near = costs.min(axis=0)
    mean = float(weights @ near) / weights.sum()
    left, tail = share * weights.sum(), 0.0
    for distance, amount in sorted(zip(near, weights), reverse=True):
        counted = min(amount, left)
        left -= counted
        tail += counted * distance
    tail = tail / (share * weights.sum()) if share else near[weights > 0].max()
    return (1 - blend) * mean + blend * float(tail)


def service(cost, spare, loads, room, least=0.0, whole=False):
    """Least cost of serving each client from rows that serve `least` to `room`, or leaving it out
    for `spare` (None: nobody is); None if there is no service.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    m, n = cost.shape
    none = np.full(n, 0.0 if spare is None else 1.0)
    c = np.r_[cost.ravel(), np.zeros(n) if spare is None else spare]
    once = np.hstack([np.tile(np.eye(n), m), np.eye(n)])
    filled = np.hstack([np.kron(np.eye(m), loads), np.zeros((m, n))])
    found = milp(
        c,
        constraints=[
            LinearConstraint(once, 1.0, 1.0),
            LinearConstraint(filled, least, np.asarray(room) * (1 + 1e-9)),
        ],
        integrality=np.full(len(c), int(whole)),
        bounds=Bounds(0.0, np.r_[np.ones(m * n), none]),
    )
    return None if found.x is None else float(found.fun)


def covered_within_room(costs, weights, loads, room, limit, whole=False):
    """Most weight within the limit that is served within the rows' room."""
    cost = np.where(costs > limit, 2 * weights, 0.0)
    return float(weights.sum() - service(cost, weights, loads, room, whole=whole))


def farthest_within_room(costs, loads, room, whole=False):
    """Least distance within which the rows can serve all; None if there is none."""
    radii, ones = np.unique(costs), np.ones(costs.shape[1])

    def enough(radius):
        far = np.where(costs > radius, 2.0, 0.0)
        return service(far, ones, loads, room, whole=whole) < 1e-7

    at = bisect_left(radii, True, key=enough)
    return float(radii[at]) if at < len(radii) else None


def sized(value, k, sizes):
    """Least value over all sizes, (room, cost, most), of k rows, with what they cost to open."""
    values = []
    for own in product(range(len(sizes)), repeat=k):
        if any(own.count(s) > size[2] for s, size in enumerate(sizes)):
            continue
        one = value(np.array([sizes[s][0] for s in own]))
        if one is not None:
            values.append(one + sum(sizes[s][1] for s in own))
    return min(values, default=None)
