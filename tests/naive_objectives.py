"""Reference implementations of the objectives, from their definitions: all choices are tried."""

from bisect import bisect_left
from itertools import combinations, product

import numpy as np

from metricdp.solvers import objectives as o


def sums(costs, weights, power, limit=None):
    """Weighted sum of distances to the power; ten times the cost at the limit beyond it."""
    near = costs.min(axis=0)
    cost = near**power
    if limit is not None:
        cost = np.where(near > limit * (1 + 1e-9), 10 * limit**power, cost)
    return float(weights @ cost)


def farthest(costs, weights, threshold=0.0):
    """Largest distance of a point of more weight than the threshold, or else of any demand."""
    at = weights > (threshold if (weights > threshold).any() else 0)
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


def within_room(costs, weights, loads, room, limit=None):
    """Cheapest service within the rows' room, by linear programming; None if there is none."""
    if limit is None:
        return service(costs * weights, None, loads, room)
    costs = np.where(costs > limit * (1 + 1e-9), 30 * limit, costs)
    return service(costs * weights, 10 * limit * weights, loads, room)


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


def least(costs, loads, room, k, fixed, spare=None):
    """The least sum of costs of single sources, by all choices of sites and all services from
    them.
    """
    limit = None if spare is None else spare[0] / 10
    values = []
    for rows in combinations(range(len(costs)), k):
        if set(fixed.tolist()) <= set(rows):
            at = list(rows)
            values.append(within_room_whole(costs[at], np.ones(len(loads)), loads, room[at], limit))
    return min((value for value in values if value is not None), default=np.inf)


def equal_distance(costs, weights, kappa):
    """Kolm and Pollak's equally distributed equivalent."""
    near, counted = costs.min(axis=0)[weights > 0], weights[weights > 0]
    terms = counted @ np.exp(kappa * (near - near.max())) / counted.sum()
    return float(near.max() + np.log(terms) / kappa)


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
    filled_at_most = np.asarray(room) * (1 + 1e-9)
    rules = LinearConstraint(once, 1.0, 1.0), LinearConstraint(filled, least, filled_at_most)
    bounds, integral = Bounds(0.0, np.r_[np.ones(m * n), none]), np.full(len(c), int(whole))
    found = milp(c, constraints=rules, integrality=integral, bounds=bounds)
    return None if found.x is None else float(found.fun)


def covered_within_room(costs, weights, loads, room, limit, whole=False):
    """Most weight within the limit that is served within the rows' room."""
    cost = np.where(costs > limit, 2 * weights, 0.0)
    return float(weights.sum() - service(cost, weights, loads, room, whole=whole))


def farthest_within_room(costs, loads, room, whole=False):
    """Least distance within which the rows can serve all; None if there is none."""
    radii, ones = np.unique(costs), np.ones(costs.shape[1])

    def enough(radius):
        return service(np.where(costs > radius, 2.0, 0.0), ones, loads, room, whole=whole) < 1e-7

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


def definitions(k, limit, total, threshold=2.5):
    """Of every objective, for k sites and about so much demand: what makes it, and the value of
    some rows of costs; None where they cannot serve.
    """
    reach, price = limit * (1 + 1e-9), 0.1 * total * limit
    room = 0.9 * total / max(k, 1) + 0.2 * total  # one site alone has room for all
    small, least = 0.6 * room, 0.35 * total / max(k, 1)

    def rooms(costs):
        return np.full(len(costs), room)

    def served(value, alone=lambda c, w: sums(c, w, 1)):
        """The value of more sites than one, and of one; points without demand need none."""

        def of_sites(costs, weights):
            held = weights > 0
            return (alone if len(costs) == 1 else value)(costs[:, held], weights[held])

        return of_sites

    def of_sizes(costs, weights):
        sizes = [(small, 0.0, k), (room, price, max(k - 1, 1))]
        return sized(lambda own: service(costs * weights, None, weights, own), len(costs), sizes)

    return {
        "k-median": (lambda: o.KMedian(k), lambda c, w: sums(c, w, 1)),
        "k-means": (lambda: o.KMeans(k), lambda c, w: sums(c, w, 2)),
        "kz": (lambda: o.KZ(k, z=3.5), lambda c, w: sums(c, w, 3.5)),
        "limit": (lambda: o.KMedian(k, limit=limit), lambda c, w: sums(c, w, 1, limit)),
        "p-center": (lambda: o.PCenter(k), farthest),
        "threshold": (
            lambda: o.PCenter(k, threshold=threshold),
            lambda c, w: farthest(c, w, threshold),
        ),
        "p-dispersion": (lambda: o.PDispersion(k), lambda c, w: least_distance(c)),
        "max-coverage": (lambda: o.MaxCoverage(k, limit), lambda c, w: covered(c, w, reach)),
        "backup-coverage": (
            lambda: o.BackupCoverage(k, limit, first=0.7),
            lambda c, w: covered(c, w, reach, (0.7, 0.3)),
        ),
        "set-cover": (
            lambda: o.SetCover(limit),
            lambda c, w: float(len(c)) if (c <= reach).any(axis=0)[w > 0].all() else np.inf,
        ),
        "facility-location": (
            lambda: o.FacilityLocation(price),
            lambda c, w: sums(c, w, 1) + price * len(c),
        ),
        "capacitated": (
            lambda: o.Capacitated(k, room),
            served(lambda c, w: within_room(c, w, w, rooms(c))),
        ),
        "single source": (
            lambda: o.Capacitated(k, room, single_source=True),
            served(lambda c, w: within_room_whole(c, w, w, rooms(c))),
        ),
        "minimum": (
            lambda: o.Capacitated(k, room, minimum=least),
            served(lambda c, w: service(c * w, None, w, rooms(c), least)),
        ),
        "sizes": (
            lambda: o.Capacitated(k, [o.Size(small), o.Size(room, price, max(k - 1, 1))]),
            served(of_sizes, lambda c, w: sums(c, w, 1) + price * (w.sum() > small)),
        ),
        "full coverage": (
            lambda: o.MaxCoverage(k, limit, capacities=room / 2),
            served(
                lambda c, w: covered_within_room(c, w, w, rooms(c) / 2, reach),
                lambda c, w: min(covered(c, w, reach), room / 2),
            ),
        ),
        "full center": (
            lambda: o.PCenter(k, capacities=room),
            served(lambda c, w: farthest_within_room(c, w, rooms(c)), farthest),
        ),
        "equity": (
            lambda: o.Equity(k, kappa=1 / limit),
            lambda c, w: equal_distance(c, w, 1 / limit),
        ),
        "nested": (lambda: o.Nested([k]), lambda c, w: sums(c, w, 1)),
    }


OBJECTIVES = sorted(definitions(1, 1.0, 1.0))
