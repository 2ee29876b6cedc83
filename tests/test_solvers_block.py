"""The best of several local searches on a block of costs."""

import numpy as np
import pytest

from metricdp.solvers.block import block_search
from tests import naive


def problem(seed, m=12, n=15, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.random((m, n)).astype(dtype), rng.normal(1, 1, n)


@pytest.mark.parametrize("k", [1, 2, 3, 11, 12])
@pytest.mark.parametrize("seed", range(3))
def test_near_the_best_of_all(k, seed):
    block, weights = problem(seed)
    rows, cost = block_search(block, weights, k, np.random.default_rng(0), starts=8)
    assert len(set(rows.tolist())) == k
    assert cost == pytest.approx(naive.cost(block, weights, rows), rel=1e-6)
    best = naive.best_centers(block, weights, k)[1]
    assert best - 1e-6 <= cost <= best + 0.02 * abs(best) + 1e-6


def test_more_starts_never_hurt():
    block, weights = problem(5, 60, 80)
    costs = [block_search(block, weights, 6, np.random.default_rng(1), starts=s)[1] for s in (1, 2, 4, 8)]
    assert costs == sorted(costs, reverse=True)


def test_a_given_start_is_improved_upon():
    block, weights = problem(6, 40, 60)
    start = np.array([3, 9, 27])
    best = block_search(block, weights, 3, np.random.default_rng(0), starts=1, first_start=start)
    assert start.tolist() == [3, 9, 27]  # not overwritten
    assert best[1] <= naive.cost(block, weights, start)
    local = best[0]
    again = block_search(block, weights, 3, np.random.default_rng(9), first_start=local)
    assert sorted(again[0]) == sorted(local)  # a local optimum is where the search stays


def test_repeatable():
    block, weights = problem(7, 60, 80)
    once, again = (block_search(block, weights, 9, np.random.default_rng(3), starts=2) for _ in range(2))
    assert once[0].tolist() == again[0].tolist() and once[1] == again[1]


@pytest.mark.parametrize("weights", [np.zeros(15), -np.ones(15)], ids=["nothing", "all negative"])
def test_strange_weights(weights):
    block, _ = problem(8)
    rows, cost = block_search(block, weights, 4, np.random.default_rng(0), starts=2)
    assert len(set(rows.tolist())) == 4
    assert cost == pytest.approx(naive.cost(block, weights, rows), rel=1e-6)
