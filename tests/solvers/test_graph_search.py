"""Swap local search on graphs without a matrix: every number it keeps, and the optimum it ends in,
against brute force.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from metricdp.metrics.directed import DIRECTIONS
from metricdp.solvers import graph_search
from metricdp.solvers.graph_search import GraphSearch
from metricdp.solvers.stopping import Deadline
from tests import everything, metric_of, naive, one_way_metric, road_like


def world(seed=0, kind="fractions", n=60):
    if kind in DIRECTIONS:
        metric = one_way_metric(n, kind)
    else:
        metric = metric_of(*naive.random_graph(n, seed, integers=kind == "integers"))
    rng = np.random.default_rng(seed)
    return metric, rng.normal(1, 1, n) * (rng.random(n) < 0.8), rng


def swept(search, rng):
    """The search at its end."""
    while search.sweep(rng, passes=100):
        pass
    return search


def check_optimum(search, metric, weights, power=1, free=slice(None), slots=slice(None)):
    """Hold that no swap of one of these slots to one of these vertices lowers the true cost."""
    true, centers = everything(metric), search.centers
    assert search.cost == pytest.approx(naive.cost(true, weights, centers, power))
    changes = naive.swap_changes(true, weights, centers.tolist(), power)
    changes[centers] = 0
    assert changes[free, slots].min() >= -1e-5 * abs(search.cost) - 1e-9


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("k", [1, 2, 6, 59])
@pytest.mark.parametrize("kind", ["integers", "fractions", *DIRECTIONS[:2]])
def test_a_sweep_ends_in_a_local_optimum(power, k, kind):
    metric, weights, rng = world(k, kind)
    start = rng.choice(60, k, replace=False)
    search = GraphSearch(metric, weights, start, power)
    assert search.cost == pytest.approx(naive.cost(everything(metric), weights, start, power))
    check_optimum(swept(search, rng), metric, weights, power)
    assert len(set(search.centers.tolist())) == k and search.tried >= (60 - k)


def test_zero_lengths_and_repeats():
    metric = metric_of(30, [(i, i + 1, i % 3 == 0) for i in range(29)])
    search = swept(GraphSearch(metric, np.ones(30), np.arange(8)), np.random.default_rng(0))
    check_optimum(search, metric, np.ones(30))


def test_a_budget_of_visits(monkeypatch):
    monkeypatch.setattr(graph_search, "_BATCH", 16)
    metric, weights, rng = world(5)
    everyone = rng.permutation(60)
    free, bound, none = (GraphSearch(metric, np.abs(weights), np.arange(5)) for _ in range(3))
    none.budget = 0
    assert none.improve(everyone) == none.visited == none.tried == 0
    free.improve(everyone)
    bound.budget = free.visited / 2
    bound.improve(everyone)
    assert bound.budget <= bound.visited < free.visited and bound.tried < free.tried
    assert bound.descend() and bound.budget == free.visited / 2  # the last descent is never cut


def test_sums_are_renewed(monkeypatch):
    monkeypatch.setattr(graph_search, "_RECOMPUTE_AFTER", 0)
    metric, weights, rng = world(6)
    search = GraphSearch(metric, weights, np.arange(5))
    search.sweep(rng, 10)
    expected = pytest.approx(naive.cost(everything(metric), weights, search.centers), rel=1e-12)
    assert search.cost == expected


@pytest.mark.parametrize("power", [1, 2])
def test_opened_centers_stay_and_others_stand_only_where_allowed(power):
    metric, weights, rng = world(7)
    allowed = rng.choice(60, 15, replace=False)
    start = np.r_[9, 30, np.setdiff1d(allowed, [9, 30])[:3]]
    search = GraphSearch(metric, weights, start, power, allowed=allowed, opened=2)
    before = search.cost
    check_optimum(swept(search, rng), metric, weights, power, allowed, slice(2, None))
    assert search.centers[:2].tolist() == [9, 30] and search.cost < before
    assert search.descend() and set(search.centers[2:]) <= set(allowed)
    everyone = GraphSearch(metric, weights, np.array([9, 30]), power, opened=2)
    everyone.sweep(rng)
    assert everyone.descend() and everyone.centers.tolist() == [9, 30]


def test_over_means_over():
    metric, weights, rng = world(8)
    search = GraphSearch(metric, weights, np.arange(5), deadline=Deadline(0.0))
    search.sweep(rng, 5)
    assert not search.descend() and search.tried == 0 and search.centers.tolist() == [0, 1, 2, 3, 4]
    assert search.cost == pytest.approx(naive.cost(everything(metric), weights, range(5)))


def test_where_candidates_come_from():
    metric = road_like(15)
    rng = np.random.default_rng(0)
    weights = np.ones(len(metric))
    weights[:100] = 0
    centers = rng.choice(len(metric), 3, replace=False)
    search = GraphSearch(metric, weights, centers)
    graph = metric.graph
    hop = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr))
    hops = dijkstra(hop, indices=centers)
    for most in (1, 5, 40, 10**4):
        drawn = metric.order[search.near(most, 10**3, rng)]
        size = min(most, len(metric) - 1)
        assert len(drawn) == 3 * size  # whole balls
        rim = np.sort(hops, axis=1)[:, size]  # one for the center itself
        reach = Counter(drawn.tolist())
        for v, times in reach.items():
            assert times <= ((hops[:, v] > 0) & (hops[:, v] <= rim)).sum()
        for row, last in zip(hops, rim):
            assert set(np.flatnonzero((row > 0) & (row < last))) <= set(reach)
    assert len(metric.order[search.near(40, 5, rng)]) == 15
    drawn = [metric.order[search.near(12, 3, rng)] for _ in range(400)]
    counts = Counter(np.concatenate(drawn).tolist())
    assert min(counts.values()) > 50  # 36 vertices, 100 times each if no ball meets another
    probable = metric.order[search.probable(2000, rng)]
    assert not set(probable) & (set(range(100)) | set(centers))  # no demand, or no cost
    drawn = np.bincount(probable, minlength=len(metric))
    assert np.corrcoef(drawn, weights * naive.nearest(everything(metric), centers))[0, 1] > 0.5
    assert len(GraphSearch(metric, np.zeros(len(metric)), centers).probable(5, rng)) == 0


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_descent_ends_where_no_neighbor_is_better(k, power):
    metric = road_like(12)
    rng, weights = np.random.default_rng(1), np.ones(len(metric))
    search = GraphSearch(metric, weights, rng.choice(len(metric), k, replace=False), power)
    before = search.cost
    assert search.descend() and search.cost < before
    changes = naive.swap_changes(everything(metric), weights, search.centers.tolist(), power)
    graph = metric.graph
    for center in search.centers:
        near = graph.indices[graph.indptr[center] : graph.indptr[center + 1]]
        for v in set(near) - set(search.centers):
            assert changes[v].min() >= -1e-8 * search.cost
