"""How many centers each of several independent parts gets: the cheapest way to share them out."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Floats


def shared_out(costs: list[Floats], k: int) -> tuple[float, list[int]]:
    """The cheapest way to share out k centers, by what each part costs with 0, 1, ...: its cost,
    and the centers of each part. Of no way the cost is infinite.
    """
    ahead = [np.zeros(1)]
    for part in costs:
        ahead.append(_joined(ahead[-1], part, k))
    value = float(ahead[-1][k]) if len(ahead[-1]) > k else np.inf
    if value == np.inf:
        return value, []
    shares: list[int] = []
    left = k
    for before, own in zip(ahead[-2::-1], reversed(costs)):
        q = np.arange(max(0, left - len(before) + 1), min(left, len(own) - 1) + 1)
        best = int(q[np.argmin(own[q] + before[left - q])])
        shares.append(best)
        left -= best
    return value, shares[::-1]


def room(costs: list[Floats], i: int, k: int, target: float) -> Floats:
    """The most that part i may cost with 0, 1, ... centers to stay within the target."""
    others = np.zeros(1)
    for j, part in enumerate(costs):
        if j != i:
            others = _joined(others, part, k)
    left = k - np.arange(len(costs[i]))
    there = (left >= 0) & (left < len(others))
    return np.where(there, target - others[np.where(there, left, 0)], -np.inf)


def _joined(first: Floats, second: Floats, k: int) -> Floats:
    """Least sums by the number of centers of both together, up to k."""
    if len(first) < len(second):
        first, second = second, first
    size = min(len(first) + len(second) - 1, k + 1)
    least = np.full(size, np.inf)
    for q in np.flatnonzero(np.isfinite(second[:size])):
        part = first[: size - q]
        least[q : q + len(part)] = np.minimum(least[q : q + len(part)], part + second[q])
    return least
