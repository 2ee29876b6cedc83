"""Counts on the nodes of a tree against their definitions; least-element lists, nested clusters and
boxes are held to theirs by ``tests/partitions/finite/test_hst.py``.
"""

import hypothesis.strategies as st
import numpy as np
import pytest

import metricdp as mdp
from metricdp.kernels.hst import consistent_counts, counts_above_noise
from tests import naive, tries

small_sets = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=8)


@tries(80, small_sets, st.integers(0, 10**6), fixed=True)
def test_consistent_counts_are_the_least_squares_fit(points, seed):
    rng = np.random.default_rng(seed)
    tree = mdp.build_hst(mdp.EuclideanMetric(np.array(points, float)), int(rng.integers(100)))
    value, variance = rng.normal(size=tree.n_nodes) * 10, rng.uniform(0.1, 5, tree.n_nodes)
    inner = np.flatnonzero(tree.last_level < tree.n_levels - 1)
    variance[rng.permutation(inner)[: len(inner) // 2]] = np.inf
    found, spread = consistent_counts(tree.parent, value, variance, tree.sizes.astype(float))
    expected = naive.least_squares_counts(tree.parent, value, variance)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert (spread <= variance).all()
    assert spread[0] == pytest.approx(naive.least_squares_variance(tree.parent, variance)[0])
    assert (spread >= naive.least_squares_variance(tree.parent, variance) - 1e-9).all()


def test_what_was_not_counted_is_spread_evenly():
    parent = np.array([-1, 0, 0, 1, 1], np.int32)
    sizes = np.array([4.0, 3, 1, 2, 1])
    value, variance = np.array([8.0, 0, 0, 0, 0]), np.array([1.0, *[np.inf] * 4])
    found, spread = consistent_counts(parent, value, variance, sizes)
    np.testing.assert_allclose(found, [8, 6, 2, 4, 2])
    assert spread.tolist() == [1.0, *[np.inf] * 4]


def test_nodes_are_above_the_noise_and_the_rest_is_spread():
    parent = np.array([-1, 0, 0, 0, 1, 1], np.int32)
    sizes = np.array([10.0, 4, 4, 2, 3, 1])
    value, deviation = np.array([100.0, 70, 3, 27, 69, 1]), np.array([0.0, 10, 10, 30, 10, 10])
    counts, above = counts_above_noise(parent, value, deviation, sizes)
    assert above.tolist() == [True, True, False, False, True, False]
    np.testing.assert_allclose(counts, [100, 70, 20, 10, 69, 1])
    value = np.array([100.0, 9, 9, 9, 69, 1])
    counts, above = counts_above_noise(parent, value, np.full(6, 10.0), sizes)
    assert above.tolist() == [True] + 5 * [False]  # below a node in the noise, none is above it
    np.testing.assert_allclose(counts, sizes * 10)
