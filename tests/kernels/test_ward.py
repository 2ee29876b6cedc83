"""Ward's tree against SciPy, and the costs of its nodes against brute force."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist

from metricdp.kernels.ward import node_costs, ward_tree
from tests import naive, tries


def tree(points, sizes):
    squares = cdist(points, points, "sqeuclidean").astype(np.float32)
    return ward_tree(squares, np.asarray(sizes, float))


def scipy_merges(points):
    """{leaves: height² / 2} of SciPy's tree; its height of two points is their distance, Ward's
    cost half its square.
    """
    table = linkage(points, method="ward")
    sets = naive.leaf_sets(table[:, :2].astype(int))
    heights = zip(sets[len(points) :], table[:, 2])
    return {frozenset(leaves): height**2 / 2 for leaves, height in heights}


@pytest.mark.parametrize("seed", range(4))
def test_a_point_of_size_s_is_s_points(seed):
    rng = np.random.default_rng(seed)
    points, sizes = rng.normal(size=(25, 2)), rng.integers(1, 6, 25)
    owner = np.repeat(np.arange(25), sizes)
    repeated = scipy_merges(points[owner])
    high = {leaves: height for leaves, height in repeated.items() if height > 1e-12}
    grouped = {frozenset(owner[list(leaves)]): height for leaves, height in high.items()}
    mine = naive.ward_merges(points, sizes, tree(points, sizes))
    assert set(mine) == set(grouped)
    for leaves, height in grouped.items():
        assert mine[leaves] == pytest.approx(height, rel=1e-5)


@pytest.mark.parametrize("m", [5, 64, 300])
@pytest.mark.parametrize("distance", [1.0, 0.3, 2e5])
def test_points_equally_far_apart_are_halved_again_and_again(m, distance):
    squares = np.full((m, m), distance**2, np.float32)
    np.fill_diagonal(squares, 0.0)
    children = ward_tree(squares, np.ones(m))
    sets = naive.leaf_sets(children)
    for i, (left, right) in enumerate(children):
        whole = len(sets[m + i])
        assert max(len(sets[left]), len(sets[right])) <= max(0.75 * whole, 2 / 3 * whole + 1)


@tries(60, st.integers(1, 9), st.integers(0, 10**6), fixed=True)
def test_node_costs(m, seed):
    rng = np.random.default_rng(seed)
    nodes, children = list(range(m)), np.empty((m - 1, 2), np.int64)
    for i in range(m - 1):  # any binary tree, chains too
        a, b = rng.choice(len(nodes), 2, replace=False)
        children[i] = nodes[a], nodes[b]
        nodes = [v for v in nodes if v not in children[i]] + [m + i]
    half = rng.integers(0, 9, (m, m)).astype(float)
    distances, sizes = (half + half.T) * (1 - np.eye(m)), rng.integers(1, 4, m).astype(float)
    within = rng.random(m)
    size, cost = node_costs(children, distances.astype(np.float32), sizes, within)
    expected_size, expected_cost = naive.node_costs(children, distances, sizes, within)
    np.testing.assert_array_equal(size, expected_size)
    np.testing.assert_allclose(cost, expected_cost, rtol=1e-12)
