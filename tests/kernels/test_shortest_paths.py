"""Dijkstra rows where they end, and seeding, against slow reference implementations; whole rows and
Voronoi diagrams are held to theirs by the tests of metrics.
"""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import chisquare

from metricdp.kernels.shortest_paths import FAR, distance_rows, sample_by_distance
from tests import naive, tries

NONE = np.empty(0, np.int64)


def test_rows_of_what_cannot_be_reached_are_far():
    graph = naive.csr(5, [(0, 1, 3), (2, 3, 1), (3, 4, 1)])
    rows = np.empty((2, 5), np.int64)
    distance_rows(graph, np.array([0, 4]), NONE, True, rows)
    assert rows.tolist() == [[0, 3, FAR, FAR, FAR], [FAR, FAR, 2, 1, 0]]
    some = np.empty((2, 2), np.int64)
    # the first search must not leave anything behind
    distance_rows(graph, np.array([0, 4]), np.array([1, 2]), False, some)
    assert some.tolist() == [[3, FAR], [FAR, 2]]


def seeds(graph, weights, k, seed=0, power=1):
    n, edges = graph
    return sample_by_distance(naive.csr(n, edges), np.asarray(weights, float), seed, power, k)


@tries(80, naive.graphs(), st.data(), fixed=True)
def test_seeds_are_distinct_with_their_voronoi_diagram(graph, data):
    n, edges = graph
    true = naive.all_pairs(n, edges)
    weights = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    k = data.draw(st.integers(1, n))
    seed, power = data.draw(st.integers(0, 2**62)), data.draw(st.sampled_from([1, 2]))
    centers, label, distance = seeds(graph, weights, k, seed, power)
    assert len(set(centers)) == k
    np.testing.assert_array_equal(distance, naive.nearest(true, centers))
    np.testing.assert_array_equal(true[centers[label], np.arange(n)], distance)
    # no cell is empty, also at distance 0 from another center
    np.testing.assert_array_equal(label[centers], np.arange(k))
    positive = np.flatnonzero(weights)
    reached = [int((naive.nearest(true, centers[:i])[positive] > 0).any()) for i in range(1, k)]
    for more, center in zip(reached, centers[1:]):
        # while demand is unserved the next center stands on demand
        assert weights[center] > 0 or not more


@pytest.mark.parametrize("power", [1, 2])
def test_seeds_follow_their_distribution(power):
    graph = (4, [(0, 1, 1), (1, 2, 3), (2, 3, 2)])
    weights, true = np.array([2.0, 1.0, 1.0, 4.0]), naive.all_pairs(*graph).astype(float)
    expected = np.zeros((4, 4))
    for a in range(4):
        weight = weights * true[a] ** power
        expected[a] = weights[a] / weights.sum() * weight / weight.sum()
    seen = np.zeros((4, 4))
    for seed in range(4000):
        a, b = seeds(graph, weights, 2, seed, power)[0]
        seen[a, b] += 1
    assert (seen[expected == 0] == 0).all()
    assert chisquare(seen[expected > 0], 4000 * expected[expected > 0]).pvalue > 1e-4


@pytest.mark.parametrize("late", [5, 6, 7])
def test_late_seeds_follow_their_distribution_although_sums_are_renewed_rarely(late):
    n, true = 40, np.abs(np.subtract.outer(np.arange(40), np.arange(40))).astype(float)
    graph = (n, [(i, i + 1, 1) for i in range(n - 1)])
    errors = []
    for seed in range(2000):
        centers = seeds(graph, np.ones(n), late + 1, seed, power=2)[0]
        square = naive.nearest(true, centers[:late]) ** 2
        # drawn proportionally to squared distance
        errors.append(square[centers[late]] - square @ square / square.sum())
    # renewed sums without rejection are 9 off
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(len(errors))
