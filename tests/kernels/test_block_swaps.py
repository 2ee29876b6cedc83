"""Local search on a block of costs: its end is a local optimum by brute force, its cost is that of
its centers.
"""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chisquare

from metricdp.kernels.block_swaps import (
    block_local_search,
    block_losses,
    block_relink,
    block_seeds,
    label_columns,
)
from tests import naive, tries


@st.composite
def problems(draw):
    """(block, weights, number of open facilities, start, order)."""
    m, n = draw(st.integers(1, 8)), draw(st.integers(1, 20))
    block = draw(arrays(np.int64, (m, n), elements=st.integers(0, 9))).astype(np.float32)
    weights = draw(arrays(np.int64, n, elements=st.integers(-2, 4))).astype(np.float64)
    start = draw(st.permutations(range(m)))[: draw(st.integers(1, m))]
    fixed = draw(st.integers(0, len(start)))
    order = draw(st.permutations(range(m)))
    return block, weights, fixed, np.array(start, np.int64), np.array(order, np.int64)


def state_of(block, weights, fixed, centers):
    labels = label_columns(block, centers)
    losses = np.empty(len(centers))
    return labels, losses, block_losses(weights, fixed, labels, losses)


@tries(150, problems(), fixed=True)
def test_labels_and_losses(problem):
    block, weights, fixed, centers, _ = problem
    labels, losses, cost = state_of(block, weights, fixed, centers)
    nearest, second = naive.two_nearest(block, centers)
    assert (labels[2] == nearest).all()
    assert (block[centers[labels[0]], np.arange(block.shape[1])] == nearest).all()
    assert cost == pytest.approx(naive.cost(block, weights, centers))
    if len(centers) > 1:
        assert (labels[3] == second).all() and (labels[0] != labels[1]).all()
        expected = naive.removal_losses(block, weights, centers)
        np.testing.assert_allclose(losses[fixed:], expected[fixed:], atol=1e-9)
    assert (losses[:fixed] == np.inf).all()


@tries(150, problems(), fixed=True)
def test_ends_in_a_local_optimum(problem):
    block, weights, fixed, centers, order = problem
    before, given_ones = naive.cost(block, weights, centers), centers[:fixed].copy()
    _, cost = block_local_search(block, weights, fixed, centers, order, 1e-9, 10_000)
    assert len(set(centers)) == len(centers) and centers[:fixed].tolist() == given_ones.tolist()
    assert cost == pytest.approx(naive.cost(block, weights, centers), abs=1e-9)
    assert cost <= before
    closed = [c for c in range(len(block)) if c not in centers]
    changes = naive.swap_changes(block, weights, centers.tolist())[closed, fixed:]
    assert (changes > -1e-6).all()


@tries(150, problems(), st.data(), fixed=True)
def test_relinking_stops_between_both_ends(problem, data):
    block, weights, fixed, start, _ = problem
    rest = data.draw(st.permutations([r for r in range(len(block)) if r not in start[:fixed]]))
    target = np.r_[start[:fixed], rest[: len(start) - fixed]].astype(np.int64)
    found = np.empty(len(start), np.int64)
    cost = block_relink(block, weights, fixed, start, target, found)
    ends = set(start), set(target)
    if len(ends[0] - ends[1]) < 2:
        assert cost == np.inf and (found == start).all()
        return
    assert cost == pytest.approx(naive.cost(block, weights, found))
    assert ends[0] & ends[1] <= set(found) <= ends[0] | ends[1]
    assert len(set(found)) == len(start) and set(found) not in ends
    assert found[:fixed].tolist() == start[:fixed].tolist()


def test_relinking_takes_the_best_stop_of_the_way():
    # {0, 1} and {2, 3} cost 6; on the way {1, 2} costs 2 and {0, 3} costs 10
    block = np.array([[5, 9], [9, 1], [1, 9], [9, 5]], np.float32)
    found = np.empty(2, np.int64)
    assert block_relink(block, np.ones(2), 0, np.array([0, 1]), np.array([2, 3]), found) == 2
    assert sorted(found) == [1, 2]


def test_takes_no_more_swaps_than_reported_and_none_too_small():
    block = np.array([[4, 4], [3, 3], [2.9999, 2.9999], [1, 1]], np.float32)
    weights, order = np.ones(2), np.arange(4)
    for most, last in ((0, 0), (1, 1), (2, 2), (3, 3)):
        centers = np.array([0])
        found = block_local_search(block, weights, 0, centers, order, 1e-9, most)
        assert found == (most, 2 * block[last, 0])
        assert centers.tolist() == [last]
    centers = np.array([0])
    block_local_search(block[:3], weights, 0, centers, order[:3], 1e-3, 100)
    assert centers.tolist() == [1]  # 2.9999 is less than a thousandth better


def test_seeds_follow_their_distribution():
    x = np.array([0.0, 1.0, 4.0, 6.0])
    block = np.abs(np.subtract.outer(x, x)).astype(np.float32)
    weights = np.array([2.0, 1.0, -5.0, 4.0])
    weight = np.maximum(weights, 0)
    chances = [weight[a] / weight.sum() * weight * block[a] / (weight @ block[a]) for a in range(4)]
    expected = np.array(chances)
    seen, rng, centers = np.zeros((4, 4)), np.random.default_rng(1), np.empty(2, np.int64)
    for _ in range(4000):
        block_seeds(block, weights, rng.random(2), 0, centers)
        seen[tuple(centers)] += 1
    assert (seen[expected == 0] == 0).all()
    assert chisquare(seen[expected > 0], 4000 * expected[expected > 0]).pvalue > 1e-4
