"""Seedings and swaps against a reference implementation with all distances, from the same coins."""

import numpy as np
import pytest

from metricdp.kernels.seeds import seeds, swaps


def scene(seed, n=60, k=7, d=2):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.random(n) * (rng.random(n) < 0.7), k, rng


def distances(points, power):
    return np.linalg.norm(points[:, None] - points, axis=2) ** power


def drawn(weight, coin):
    total = np.cumsum(weight)
    return min(np.searchsorted(total, coin * total[-1], side="right"), len(weight) - 1)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_seeds_are_the_best_of_those_drawn(seed, power):
    points, weights, k, rng = scene(seed)
    coins = rng.random((k, 4))
    away = distances(points, power)
    chosen = [drawn(weights, coins[0, 0])]
    for row in coins[1:]:
        near = away[:, chosen].min(axis=1)
        tries = [drawn(weights * near, coin) for coin in row]
        costs = [weights @ np.minimum(near, away[:, at]) for at in tries]
        chosen.append(tries[int(np.argmin(costs))])
    assert seeds(points, weights, coins, power).tolist() == chosen


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_swaps_are_taken_where_the_cost_falls(seed, power):
    points, weights, k, rng = scene(seed, d=3)
    coins = rng.random(40)
    away = distances(points, power)
    held = rng.choice(len(points), k, replace=False).tolist()
    found = points[held]
    taken = 0
    for coin in coins:
        cost = weights @ away[:, held].min(axis=1)
        at = drawn(weights * away[:, held].min(axis=1), coin)
        others = [[*held[:j], at, *held[j + 1 :]] for j in range(k)]
        costs = [weights @ away[:, other].min(axis=1) for other in others]
        if cost - min(costs) > 1e-3 * cost:
            held = others[int(np.argmin(costs))]
            taken += 1
    assert swaps(points, weights, found, coins, power, 1e-3) == taken > 0
    np.testing.assert_array_equal(found, points[held])


def test_where_nothing_has_weight_points_are_taken_in_order():
    points = np.arange(6.0)[:, None]
    coins = np.full((3, 2), 0.5)
    assert len(seeds(points, np.zeros(6), coins, 2)) == 3
    centers = points[:2].copy()
    assert swaps(points, np.zeros(6), centers, coins[0], 2, 1e-4) == 0
