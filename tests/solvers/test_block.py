"""The best of several local searches on a block of costs."""

import time

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers import block as block_module
from metricdp.solvers.block import block_search
from metricdp.solvers.stopping import Deadline
from tests import naive


def problem(seed, m=12, n=15, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.random((m, n)).astype(dtype), rng.normal(1, 1, n)


def test_a_given_start_is_improved_upon():
    block, weights = problem(6, 40, 60)
    start = np.array([3, 9, 27])
    best = block_search(block, weights, 3, np.random.default_rng(0), starts=1, first_start=start)
    assert start.tolist() == [3, 9, 27]  # not overwritten
    assert best[1] <= naive.cost(block, weights, start)
    local = best[0]
    again = block_search(block, weights, 3, np.random.default_rng(9), first_start=local)
    assert sorted(again[0]) == sorted(local)  # a local optimum is where the search stays


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("starts", [1, 5, None])
def test_open_facilities_stay_open(dtype, starts):
    rng = np.random.default_rng(3)
    block, weights = rng.integers(0, 50, (11, 14)).astype(dtype), rng.normal(1, 1, 14)
    for opened in ([4], [9, 2], [1, 5, 10]):
        rng, fixed = np.random.default_rng(0), np.array(opened)
        rows, cost = block_search(block, weights, 3, rng, starts=starts, opened=fixed)
        assert rows[: len(opened)].tolist() == sorted(opened) and len(set(rows.tolist())) == 3
        assert cost == pytest.approx(naive.cost(block, weights, rows), rel=1e-6)
        if starts is None:
            best = naive.best_centers(block, weights, 3, opened=opened)[1]
            assert cost == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("k", [1, 2, 7, 30, 119])
def test_ends_in_a_local_optimum(k, signed, monkeypatch):
    monkeypatch.setattr(block_module, "_SLICE", 300)  # looks at the clock after every other swap
    rng = np.random.default_rng(k)
    block = rng.random((120, 150)).astype(np.float32)
    weights = rng.normal(1, 1, 150) if signed else rng.integers(0, 4, 150).astype(float)
    rows, cost = block_search(block, weights, k, rng, opened=np.array([5]) if k > 5 else None)
    assert len(set(rows.tolist())) == k and (k <= 5 or rows[0] == 5)
    assert cost == pytest.approx(naive.cost(block, weights, rows), rel=1e-6)
    changes = naive.swap_changes(block, weights, rows.tolist())[:, 1 if k > 5 else 0 :]
    changes[rows] = 0
    assert changes.min() > -1e-6 * abs(cost) - 1e-9


def test_a_transposed_block_and_other_types_are_read_as_they_are():
    block, weights = problem(10, 30, 40)
    options = {"weights": weights, "k": 4, "starts": 3}
    expected = block_search(block, rng=np.random.default_rng(0), **options)
    for other in (np.asfortranarray(block), block.astype(np.float64), block.astype(np.longdouble)):
        found = block_search(other, rng=np.random.default_rng(0), **options)
        assert found[0].tolist() == expected[0].tolist() and found[1] == pytest.approx(expected[1])
    whole = (block * 1000).astype(np.int32)
    rows, cost = block_search(whole, rng=np.random.default_rng(0), **options)
    assert cost == pytest.approx(naive.cost(whole, weights, rows))


def test_recombination_never_hurts_and_often_helps():
    better = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        block = mdp.EuclideanMetric(rng.random((150, 2))).distance_rows(np.arange(150))
        block = block.astype(np.float32)
        none = np.empty(0, np.int64)
        search = block_module._BlockSearch(block, np.ones(150), 25, none, rng, Deadline())
        alone = search.from_starts(8, None)
        best = [min(one[0] for one in found) for found in (alone, search.recombined(alone, 6))]
        assert best[1] <= best[0]
        better += best[1] < best[0] - 1e-9
    assert better >= 3


def test_a_time_limit_returns_the_best_so_far():
    block, weights = problem(11, 90, 110)
    rng = np.random.default_rng(4)
    rows, cost = block_search(block, weights, 8, rng, starts=500, deadline=Deadline(0.0))
    assert len(set(rows.tolist())) == 8
    assert cost == pytest.approx(naive.cost(block, weights, rows), rel=1e-6)
    begin = time.process_time()
    rng = np.random.default_rng(4)
    better = block_search(block, weights, 8, rng, starts=3000, deadline=Deadline(0.3))[1]
    assert better <= cost and time.process_time() - begin < 20
