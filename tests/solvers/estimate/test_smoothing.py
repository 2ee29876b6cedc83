"""Smoothed demand against its definition, and the errors and bandwidths that go with it."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers.estimate.credible import UNEVEN
from metricdp.solvers.estimate.smoothing import Smoothing, drawn_demand, standard_error
from tests import grid_metric, path_metric, refuses
from tests.naive import random_graph


def town(seed, n=40):
    n, edges = random_graph(n, seed)
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((u, v, {"length": float(w)}) for u, v, w in edges)
    return mdp.GraphMetric(graph), edges


def naive_density(away, lengths, demand, bandwidth):
    kernel = np.where(away < bandwidth, (1 - (away / bandwidth) ** 2) ** 2, 0.0)
    found = np.zeros(len(away))
    for u in range(len(away)):
        found += demand[u] * kernel[u] / (kernel[u] * lengths).sum()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_demand_is_spread_by_the_kernel_of_shortest_paths(seed):
    metric, edges = town(seed)
    graph = nx.Graph()
    for u, v, w in edges:
        if u != v:
            graph.add_edge(u, v, w=min(w, graph.get_edge_data(u, v, {"w": w})["w"]))
    own = np.zeros(40)
    for u, v, w in graph.edges(data="w"):
        own[[u, v]] += w / 2
    own = np.maximum(own, own.mean() / 1000)
    paths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="w"))
    away = np.array([[paths[u][v] for v in range(40)] for u in range(40)])
    weights = np.random.default_rng(seed).integers(0, 4, 40).astype(float)
    for bandwidth in (0.5, 7.5, 15.9, 1e300):
        heat = mdp.heatmap(metric, weights, bandwidth=bandwidth)
        assert heat.lengths == pytest.approx(own)
        assert heat.density == pytest.approx(naive_density(away, own, weights, bandwidth))
        assert heat.density @ heat.lengths == pytest.approx(weights.sum())
        table = mdp.heatmap(mdp.PrecomputedMetric(away + (away == 0) * 0.0), weights, bandwidth=9)
        assert table.density == pytest.approx(naive_density(away, np.ones(40), weights, 9))


def test_moving_demand_to_a_net_keeps_it_and_changes_little():
    metric = path_metric(4000)
    weights = np.zeros(4000)
    weights[1000:3000] = np.random.default_rng(0).random(2000)
    away = np.abs(np.subtract.outer(np.arange(4000), np.arange(4000))).astype(float)
    lengths = np.r_[0.5, np.ones(3998), 0.5]
    heat = mdp.heatmap(metric, weights, bandwidth=400)
    exact = naive_density(away, lengths, weights, 400)
    assert heat.density @ heat.lengths == pytest.approx(weights.sum())
    assert np.abs(heat.density - exact).max() < 0.02 * exact.max()


def test_one_way_streets_count_both_ways():
    ring = nx.cycle_graph(9, create_using=nx.DiGraph)
    two_way = mdp.GraphMetric(nx.cycle_graph(9), weight=None)
    known = mdp.heatmap(two_way, {4: 3}, bandwidth=3).density
    for direction in ("to-center", "round-trip"):
        metric = mdp.GraphMetric(ring, weight=None, directed=True, direction=direction)
        assert mdp.heatmap(metric, {4: 3}, bandwidth=3).density == pytest.approx(known)


def test_draws_keep_counts_and_deviate_as_intervals_do():
    metric = grid_metric(9, 9)
    homes = mdp.PrivateDemand(metric, [(2, 2)] * 40 + [(7, 5)] * 60)
    reported = mdp.release(metric, homes, epsilon=0.5)._credible
    drawn = drawn_demand(reported)
    labels, parts = reported.tree.labels, reported.tree.n_parts
    counts = np.array([np.bincount(labels, one, parts) for one in drawn.T])
    assert counts == pytest.approx(reported.draws(len(counts)))
    big = int(np.bincount(labels).argmax())
    inside = np.flatnonzero(labels == big)
    for count, one in zip(counts[:, big], drawn.T):
        share = min(1.0, np.sqrt(UNEVEN**2 + 1 / max(count, 1e-9)))
        high = count * share + count * (1 - share) / len(inside)
        assert one[inside].max() == pytest.approx(high)


@pytest.mark.parametrize("graph", [True, False])
def test_the_bandwidth_is_the_smallest_that_noise_allows(graph):
    metric = path_metric(60)
    away = metric.distances(range(60))
    metric = metric if graph else mdp.PrecomputedMetric(away)
    coins = np.random.default_rng(3)
    demand = np.column_stack([np.full(60, 5.0), coins.poisson(5.0, (60, 200))])
    kernel = Smoothing(metric)
    width = kernel.bandwidth(demand, 0.15)

    def typical(bandwidth):
        density = kernel.density(demand, bandwidth)
        return np.median(standard_error(density) / density[:, 0])

    assert 2 < width < 60
    assert typical(width * 1.2) < 0.15 < typical(width / 1.44)
    assert kernel.bandwidth(demand * 0 + np.eye(60, 201), 0.1) >= 59 / 1.2  # hopeless: everything
    assert standard_error(np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 3.0]])).tolist() == [1.0, 0.0]


def test_what_cannot_be_drawn_is_refused():
    metric = path_metric(9)
    release = mdp.release(metric, mdp.PrivateDemand(metric, [3] * 900), epsilon=1)
    assert mdp.heatmap(release).receipt is release.receipt
    refuses("", mdp.heatmap, release, [1.0] * 9)
    refuses("", lambda: release.heatmap(error=-1))
    release.estimate = None
    refuses("give a bandwidth", release.heatmap)
    heat = release.heatmap(bandwidth=2)
    assert heat.standard_error is None and heat.classes.max() == 6
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    box = mdp.release(space, mdp.PrivateDemand(space, [[0.5, 0.5]] * 99), epsilon=1)
    refuses("finite universe", box.heatmap)
