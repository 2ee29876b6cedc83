"""Allocation of k centers to independent parts, by dynamic programming."""

from __future__ import annotations

import numpy as np

from metricdp.arguments import Floats


def allocate(costs: list[Floats], k: int) -> tuple[float, list[int]]:
    """The cheapest way to allocate k centers to parts that cost ``costs[i][q]`` with q centers
    each: its cost, infinite if there is none, and the centers of each part.
    """
    prefixes = [np.zeros(1)]
    for part in costs:
        prefixes.append(_min_plus(prefixes[-1], part, k))
    value = float(prefixes[-1][k]) if len(prefixes[-1]) > k else np.inf
    if value == np.inf:
        return value, []
    shares: list[int] = []
    left = k
    for before, own in zip(prefixes[-2::-1], reversed(costs)):
        q = np.arange(max(0, left - len(before) + 1), min(left, len(own) - 1) + 1)
        best = int(q[np.argmin(own[q] + before[left - q])])
        shares.append(best)
        left -= best
    return value, shares[::-1]


def budgets(costs: list[Floats], i: int, k: int, target: float) -> Floats:
    """The most that part i may cost with 0, 1, ... centers if all parts stay within the target."""
    others = np.zeros(1)
    for j, part in enumerate(costs):
        if j != i:
            others = _min_plus(others, part, k)
    left = k - np.arange(len(costs[i]))
    feasible = (left >= 0) & (left < len(others))
    return np.where(feasible, target - others[np.where(feasible, left, 0)], -np.inf)


def _min_plus(first: Floats, second: Floats, k: int) -> Floats:
    """Min-plus convolution up to k: least cost of two parts together by number of centers."""
    if len(first) < len(second):
        first, second = second, first
    size = min(len(first) + len(second) - 1, k + 1)
    least = np.full(size, np.inf)
    for q in np.flatnonzero(np.isfinite(second[:size])):
        part = first[: size - q]
        least[q : q + len(part)] = np.minimum(least[q : q + len(part)], part + second[q])
    return least
