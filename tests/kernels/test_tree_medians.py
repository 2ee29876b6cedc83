"""The step to the medians of shortest-path trees: never up, and right where the graph is a tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.kernels.tree_medians import tree_medians
from tests import naive

few = settings(max_examples=100, derandomize=True)


def step(graph, weights, centers, power=1):
    n, edges = graph
    medians, distance = np.empty(len(centers), np.int64), np.empty(n, np.int64)
    tree_medians(
        *(csr := naive.csr(n, edges)),
        csr[2],
        np.asarray(weights, float),
        power,
        np.array(centers, np.int64),
        medians,
        distance,
    )
    return medians, distance


@few
@given(naive.graphs(), st.sampled_from([1, 2]), st.data())
def test_cost_never_rises(graph, power, data):
    n, true = graph[0], naive.all_pairs(*graph)
    weights = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    centers = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4, unique=True))
    medians, distance = step(graph, weights, centers, power)
    np.testing.assert_array_equal(distance, naive.nearest(true, centers))
    assert naive.cost(true, weights, medians, power) <= naive.cost(true, weights, centers, power)


@few
@given(naive.graphs(), st.sampled_from([1, 2]), st.data())
def test_one_center_of_a_tree_moves_to_its_median(graph, power, data):
    n = graph[0]
    tree = (n, graph[1][: n - 1])
    weights = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    medians, _ = step(tree, weights, [data.draw(st.integers(0, n - 1))], power)
    true = naive.all_pairs(*tree)
    assert (
        naive.cost(true, weights, medians, power) == naive.best_centers(true, weights, 1, power)[1]
    )


@pytest.mark.parametrize("power", [1, 2])
def test_every_cell_of_a_tree_gets_its_median(power):
    rng = np.random.default_rng(2)
    for seed in range(20):
        n, edges = naive.random_graph(40, seed, extra=0)
        edges = [(u, v, w + 1 + 0.001 * u) for u, v, w in edges]  # no ties between cells
        true, centers = naive.all_pairs(n, edges), rng.choice(n, 3, replace=False)
        weights = rng.integers(0, 5, n)
        scaled = (n, [(u, v, round(1000 * w)) for u, v, w in edges])
        medians, _ = step(scaled, weights, centers, power)
        cell = true[centers].argmin(axis=0)
        for i, median in enumerate(medians):
            inside = weights * (cell == i)
            assert inside @ true[median] ** power <= (true[cell == i] ** power @ inside).min() * (
                1 + 1e-9
            )


def test_without_weight_centers_stay():
    medians, _ = step((5, [(i, i + 1, 1) for i in range(4)]), np.zeros(5), [1, 4])
    assert medians.tolist() == [1, 4]
