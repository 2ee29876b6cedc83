"""Slow, obvious reference implementations: reverse greedy by trying every removal, badly cut
centers by asking every cell, clipped sums record by record.
"""

import math

from tests.naive_quadtree import BITS, cut, mixed, root_key


def reverse_greedy(points, weights, k, power):
    """Remove the center whose loss costs least, computing every cost from scratch."""
    left = list(range(len(points)))

    def cost(chosen):
        pairs = zip(points, weights)
        return sum(
            max(w, 0.0) * min(math.dist(p, points[c]) ** power for c in chosen) for p, w in pairs
        )

    while len(left) > k:
        left.remove(min(left, key=lambda j: cost([c for c in left if c != j])))
    return left


def badly_cut(lower, upper, axes, seed, center, chance, d):
    """Whether for some i the ball of radius 2^i is cut above level i + log2(d · levels / chance):
    the definition, i by i.
    """
    key, low, size = root_key(seed), [0] * d, [2**BITS] * d
    unit = [(b - a) / 2**BITS for a, b in zip(lower, upper)]
    grid = [
        min(int((x - a) / (b - a) * 2**BITS), 2**BITS - 1) for x, a, b in zip(center, lower, upper)
    ]
    slack = math.log2(d * max(len(axes) / d, 1.0) / chance)
    for j in axes:
        level = math.ceil(
            math.log2(math.sqrt(sum((s * u) ** 2 for s, u in zip(size, unit))) / math.sqrt(d))
        )
        at = cut(key, low[j], size[j])
        away = max(abs(grid[j] - at), 1) * unit[j]
        for i in range(-80, 80):
            if 2.0**i >= away and level > i + slack:
                return True
        upper_half = grid[j] >= at
        low[j], size[j] = (at, low[j] + size[j] - at) if upper_half else (low[j], at - low[j])
        key = mixed(key + (upper_half + 1) * 0x9E3779B97F4A7C15 & (2**64 - 1))
    return False


def smoothed_gradient(points, center, radius):
    """Sum of (x - c) / max(|x - c|, r)."""
    total = [0.0] * len(center)
    for x in points:
        away = math.dist(x, center)
        for i, (a, b) in enumerate(zip(x, center)):
            total[i] += (a - b) / max(away, radius)
    return total
