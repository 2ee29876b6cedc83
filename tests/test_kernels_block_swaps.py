"""Local search on a block of costs: its end is a local optimum by brute force, its cost is that of its centers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chisquare

from metricdp.kernels.block_swaps import block_local_search, block_seeds
from tests import naive

few = settings(max_examples=150, deadline=None, derandomize=True)


@st.composite
def problems(draw):
    """(block of float32 or float64, weights, start, order)."""
    m, n = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    block = draw(arrays(np.int64, (m, n), elements=st.integers(0, 9))).astype(dtype)
    weights = draw(arrays(np.int64, n, elements=st.integers(-2, 4))).astype(np.float64)
    start = draw(st.permutations(range(m)))[: draw(st.integers(1, m))]
    return block, weights, np.array(start, np.int64), np.array(draw(st.permutations(range(m))), np.int64)


@few
@given(problems())
def test_ends_in_a_local_optimum(problem):
    block, weights, centers, order = problem
    before = naive.cost(block, weights, centers)
    cost = block_local_search(block, weights, centers, order, 1e-9, 10_000)
    assert len(set(centers)) == len(centers)
    assert cost == pytest.approx(naive.cost(block, weights, centers), abs=1e-9)
    assert cost <= before
    closed = [c for c in range(len(block)) if c not in centers]
    assert (naive.swap_changes(block, weights, centers.tolist())[closed] > -1e-6).all()


def test_ends_in_a_local_optimum_on_a_larger_block():
    rng = np.random.default_rng(0)
    block, weights = rng.random((40, 70)).astype(np.float32), rng.normal(1, 1, 70)
    for k in (1, 2, 10, 39, 40):
        centers = rng.choice(40, k, replace=False)
        cost = block_local_search(block, weights, centers, rng.permutation(40), 1e-9, 10_000)
        changes = naive.swap_changes(block, weights, centers.tolist())
        changes[centers] = 0
        assert changes.min() > -1e-6 * abs(cost) - 1e-9
        assert cost == pytest.approx(naive.cost(block, weights, centers), rel=1e-9)


def test_takes_no_more_swaps_than_told_and_none_too_small():
    block = np.array([[4.0, 4.0], [3.0, 3.0], [2.9999, 2.9999], [1.0, 1.0]])
    weights, order = np.ones(2), np.arange(4)
    for most, last in ((0, 0), (1, 1), (2, 2), (3, 3)):
        centers = np.array([0])
        assert block_local_search(block, weights, centers, order, 1e-9, most) == 2 * block[last, 0]
        assert centers.tolist() == [last]
    centers = np.array([0])
    block_local_search(block[:3], weights, centers, order[:3], 1e-3, 100)
    assert centers.tolist() == [1]  # 2.9999 is less than a thousandth better


def seeds(block, weights, uniforms):
    centers = np.empty(len(uniforms), np.int64)
    block_seeds(block, np.asarray(weights, float), np.asarray(uniforms, float), block.argmin(axis=0), centers)
    return centers


@few
@given(problems(), st.data())
def test_seeds_are_distinct_rows(problem, data):
    block, weights, _, _ = problem
    k = data.draw(st.integers(1, len(block)))
    uniforms = data.draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=k, max_size=k))
    chosen = seeds(block, weights, uniforms)
    assert len(set(chosen)) == k
    assert ((chosen >= 0) & (chosen < len(block))).all()


def test_seeds_follow_their_law():
    x = np.array([0.0, 1.0, 4.0, 6.0])
    block, weights = np.abs(np.subtract.outer(x, x)), np.array([2.0, 1.0, -5.0, 4.0])
    mass = np.maximum(weights, 0)
    expected = np.array([mass[a] / mass.sum() * mass * block[a] / (mass @ block[a]) for a in range(4)])
    seen, rng = np.zeros((4, 4)), np.random.default_rng(1)
    for _ in range(4000):
        a, b = seeds(block, weights, rng.random(2))
        seen[a, b] += 1
    assert (seen[expected == 0] == 0).all()
    assert chisquare(seen[expected > 0], 4000 * expected[expected > 0]).pvalue > 1e-4
