"""Slow, obvious reference implementations of the shifted quadtree: Python integers, recursion, all
assignments of centers.
"""

from fractions import Fraction
from itertools import combinations

MASK, BITS = 2**64 - 1, 48


def mixed(x: int) -> int:
    """The finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def root_key(seed: int) -> int:
    """Key of the root."""
    key = 0
    while True:
        key = mixed((key ^ (seed & MASK)) + 0x9E3779B97F4A7C15 & MASK)
        seed >>= 64
        if not seed:
            return key


def cut(key: int, low: int, size: int) -> int:
    """The cell is cut at one of the places that leave both sides a third, by the upper half of a
    hash.
    """
    third = -(-size // 3)
    places = size - 2 * third + 1
    coin = mixed(key ^ 0xD1B54A32D192ED03) >> 32
    coins = (places >> 16) * coin // 2**16 + (places & 0xFFFF) * coin // 2**32
    return low + third + min(coins, places - 1)


def axes(lower, upper, depth: int) -> list[int]:
    """The coordinate of the longest side, all cut in the middle, at each depth."""
    sides, found = [Fraction(float(b - a)) for a, b in zip(lower, upper)], []
    used = [0] * len(sides)
    for _ in range(depth):
        j = max((j for j in range(len(sides)) if used[j] < 30), key=lambda j: (sides[j], -j))
        sides[j] /= 2
        used[j] += 1
        found.append(j)
    return found


def path(grid: list[int], order: list[int], seed: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """(key, [(low, size) of each side]) of the cells that hold a point, from the root down."""
    key, sides = root_key(seed), [(0, 2**BITS)] * len(grid)
    found = [(key, list(sides))]
    for j in order:
        low, size = sides[j]
        at = cut(key, low, size)
        upper = grid[j] >= at
        sides[j] = (at, low + size - at) if upper else (low, at - low)
        key = mixed(key + (upper + 1) * 0x9E3779B97F4A7C15 & MASK)
        found.append((key, list(sides)))
    return found


def tree_cost(parent, weight, away, leaves, chosen) -> float:
    """What centers in the chosen leaves cost: a cell with none below it pays at the highest such
    cell.
    """
    held = set()
    for v in chosen:
        while v >= 0:
            held.add(v)
            v = parent[v]
    held_below = [v for v in range(1, len(parent)) if v not in held and parent[v] in held]
    return sum(weight[v] * away[v] for v in held_below)


def tree_optimum(parent, weight, away, k: int) -> float:
    """The least such cost over all choices of k leaves."""
    leaves = sorted(set(range(len(parent))) - set(parent))
    return min(
        tree_cost(parent, weight, away, leaves, chosen) for chosen in combinations(leaves, k)
    )
