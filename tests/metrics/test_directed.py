"""Costs of travel in one direction, against all shortest paths of networkx and brute force."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import metricdp as mdp
from metricdp.errors import DirectedGraphError, DisconnectedGraphError
from metricdp.metrics.directed import DIRECTIONS
from tests import refuses


def one_way_town(n=40, seed=0, longest=9):
    """A strongly connected graph of one-way and two-way arcs, zero lengths among them."""
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, 3 / n + 0.02, seed=seed, directed=True)
    for _, _, data in graph.edges(data=True):
        data["time"] = int(rng.integers(0, longest))
    return graph.subgraph(max(nx.strongly_connected_components(graph), key=len)).copy()


def costs_of(graph, direction):
    """(n, n): row of each center, column of each vertex it serves."""
    ids = list(graph)
    time = dict(nx.all_pairs_dijkstra_path_length(graph, weight="time"))
    way = np.array([[time[u][v] for v in ids] for u in ids], float)
    return {"to-center": way.T, "from-center": way, "round-trip": way + way.T}[direction]


def universe(graph, direction="to-center"):
    return mdp.GraphMetric(graph, weight="time", directed=True, direction=direction)


def town(direction, **size):
    """A universe, and its costs as rows of centers."""
    graph = one_way_town(**size)
    return universe(graph, direction), costs_of(graph, direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("seed", range(6))
def test_rows_are_the_costs_of_centers_and_symmetric_bounds_both_directions(seed, direction):
    metric, expected = town(direction, seed=seed, n=5 + 6 * seed)
    n = len(metric)
    everyone = np.arange(n)
    assert np.array_equal(metric.distance_rows(everyone), expected)
    assert np.array_equal(metric.distances(metric.ids[:2]), expected[:2])
    assert np.array_equal(metric.grid_rows(everyone[:3], everyone[::-1]), expected[:3, ::-1])
    assert np.array_equal(metric.distance_block(everyone, everyone[:2]), expected[:, :2])
    assert metric.diameter_bound() >= expected.max()
    for k in range(1, min(n, 4)):
        centers = np.random.default_rng(seed).choice(n, k, replace=False)
        label, distance = metric.nearest_to(centers)
        assert np.array_equal(distance, expected[centers].min(axis=0))
        assert np.array_equal(expected[centers[label], everyone], distance)
    bound = metric.symmetric.distance_rows(everyone)
    assert list(metric.symmetric.ids) == list(metric.ids)
    assert np.array_equal(bound, bound.T)
    assert (bound >= np.maximum(expected, expected.T)).all()
    # exchanging a record at u for one at v changes the cost of any center by at most D(u, v)
    assert (np.abs(expected[:, :, None] - expected[:, None, :]).max(axis=0) <= bound).all()


def test_ways_around_that_are_not_found_near_go_through_a_vertex(monkeypatch):
    monkeypatch.setattr("metricdp.metrics.directed._AROUND", 1)
    graph = one_way_town(seed=3)
    metric, expected = universe(graph), costs_of(graph, "to-center")
    everyone = np.arange(len(metric))
    assert np.array_equal(metric.distance_rows(everyone), expected)
    assert (metric.symmetric.distance_rows(everyone) >= np.maximum(expected, expected.T)).all()


@pytest.mark.parametrize("direction", DIRECTIONS[:2])
@pytest.mark.parametrize("seed", range(8))
def test_cells_make_a_graph_of_real_paths(seed, direction):
    metric, expected = town(direction, seed=seed, longest=3)
    even, rng = np.ones(len(metric)), np.random.default_rng(1)
    centers, label, distance = metric.seed_centers(6, even, rng)
    assert np.array_equal(distance, expected[centers].min(axis=0))
    between = metric.cell_distances(centers, label, distance)
    assert np.isfinite(between).all()
    assert (between >= expected[np.ix_(centers, centers)]).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_balls_and_searches_ask_who_could_serve(direction):
    metric, costs = town(direction, seed=4, n=30)
    points, amounts = np.arange(0, len(metric), 2), np.arange(len(metric))[::2] + 1
    for steps in (0, 5, 12):
        balls, total = metric.balls(steps), np.zeros(len(metric), np.int64)
        for center in range(5):
            inside = np.flatnonzero(costs[center] <= steps)
            assert np.array_equal(np.sort(balls.members(center)), inside)
        balls.add(total, points, amounts)
        assert np.array_equal(total, (costs[:, points] <= steps) @ amounts)
    found = {}

    def take(i, numbers, distances):
        at = metric.outer(np.asarray(numbers, np.int64))
        found[i] = dict(zip(at.tolist(), np.asarray(distances).tolist()))

    metric.searches(points).each(np.arange(len(points)), np.full(len(points), 8), take)
    for i, point in enumerate(points.tolist()):
        assert set(np.flatnonzero(costs[:, point] < 8).tolist()) <= set(found[i])
        assert all(costs[at, point] == length for at, length in found[i].items())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_release_answers_with_directed_costs(direction):
    metric, costs = town(direction, seed=7, n=40)
    ids = metric.ids
    demand = mdp.PrivateDemand(metric, [ids[0]] * 50_000 + [ids[5]] * 50_000 + [ids[9]] * 20_000)
    weights = np.zeros(len(ids))
    weights[[0, 5, 9]] = 50_000, 50_000, 20_000
    # noise of scale 2 or so beside 20,000 records
    best = min(weights @ costs[list(c)].min(axis=0) for c in combinations(range(len(ids)), 2))
    release = mdp.release(metric, demand, epsilon=1)
    for method in ("partition", "hst"):
        at = metric.positions(mdp.k_median(metric, demand, k=2, epsilon=1, method=method).centers)
        assert weights @ costs[at].min(axis=0) <= 1.05 * best + 1000
    at = metric.positions(release.k_median(k=2).centers)
    assert weights @ costs[at].min(axis=0) <= 1.05 * best + 1000


def test_methods_that_need_symmetry_take_the_bound():
    bound = universe(one_way_town(seed=7)).symmetric
    demand = mdp.PrivateDemand(bound, [bound.ids[0]] * 10)
    assert mdp.k_median(bound, demand, k=2, epsilon=1, method="local-search").k == 2


def test_trees_dominate_both_directions():
    graph = one_way_town(seed=9)
    metric, costs = universe(graph), costs_of(graph, "to-center")
    tree = mdp.build_hst(metric, seed=1)
    everyone = np.arange(len(metric))
    in_tree = tree.position_distances(everyone[:, None], everyone)
    assert tree.universe is metric
    assert (in_tree >= np.maximum(costs, costs.T)).all()


def test_evaluation_is_directed():
    ring = nx.cycle_graph(10, create_using=nx.DiGraph)
    metric = mdp.GraphMetric(ring, weight=None, directed=True)
    demand = mdp.PrivateDemand(metric, [1] * 100_000)
    report = mdp.evaluate(metric, demand, [0], epsilon=1, clip=9.0)
    assert abs(report.mean.estimate - 9) < 0.1  # from 1 around to 0


def test_what_graphs_are_taken():
    matrix = csr_array(np.array([[0, 1.0, 0], [0, 0, 2.0], [4.0, 0, 0]]))
    assert mdp.GraphMetric(matrix, directed=True).distances([0]).tolist() == [[0, 6, 4]]
    ring = pytest.importorskip("igraph").Graph(n=3, edges=[(0, 1), (1, 2), (2, 0)], directed=True)
    ring.es["length"] = [1.0, 2.0, 4.0]
    assert mdp.GraphMetric(ring, directed=True).distances([0]).tolist() == [[0, 6, 4]]
    both_ways = mdp.GraphMetric(nx.path_graph(3), weight=None, directed=True)
    assert both_ways.distances([0]).tolist() == [[0, 1, 2]]
    multi = nx.MultiDiGraph([(0, 1, {"length": 5}), (0, 1, {"length": 3}), (1, 0, {"length": 7})])
    assert mdp.GraphMetric(multi, directed=True).distances([0]).tolist() == [[0, 7]]
    assert mdp.GraphMetric(multi, directed=True).distances([1]).tolist() == [[3, 0]]


def test_files_keep_directions(tmp_path):
    file = tmp_path / "roads.csv"
    file.write_text("from,to,time,oneway\na,b,1,1\nb,c,2,1\nc,a,4,1\nc,d,1,1\n", encoding="utf-8")
    refuses("directed=True", mdp.read_graph, file, error=DirectedGraphError)
    apart = {"error": DisconnectedGraphError, "directed": True}
    refuses("not strongly connected: 2 strongly", mdp.read_graph, file, **apart)
    metric = mdp.read_graph(file, directed=True, largest_component=True, direction="from-center")
    assert metric.ids == ["a", "b", "c"] and metric.distances(["a"]).tolist() == [[0, 1, 3]]
    assert repr(metric.graph) == "Graph('roads.csv', 3 vertices, 3 arcs)"


def test_rows_without_a_column_of_directions_are_arcs(tmp_path):
    """Travel up and down a slope took the shorter time both ways."""
    slope = "1 2 9\n2 1 1\n2 3 9\n3 2 1\n"
    csv = slope.replace(" ", ",")
    tables = (slope, 18), (f"from,to,time\n{csv}", 18)
    both = "from,to,oneway,time\n1,2,0,9\n2,1,0,1\n2,3,0,9\n3,2,0,1\n"
    for table, far in (*tables, (both, 2)):
        (tmp_path / "slope.txt").write_text(table)
        assert mdp.read_graph(tmp_path / "slope.txt").distances([3]).max() == 2
        metric = mdp.read_graph(tmp_path / "slope.txt", directed=True)
        assert metric.distances([1]).max() == 2 and metric.distances([3]).max() == far


def test_lines_without_directions_are_no_arcs(tmp_path):
    gpd, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    lines = [shapely.LineString([(0, 0), (9, 0)]), shapely.LineString([(9, 0), (0, 0)])]
    file = tmp_path / "ways.gpkg"
    gpd.GeoDataFrame({"length": [2.0, 1.0]}, geometry=lines, crs="EPSG:32719").to_file(file)
    refuses("no directions to keep; leave", mdp.read_graph, file, directed=True)
    named = {"u": [1, 2], "v": [2, 1], "length": [2.0, 1.0]}
    gpd.GeoDataFrame(named, geometry=lines, crs="EPSG:32719").to_file(file)
    assert mdp.read_graph(file, directed=True).distances([1, 2]).tolist() == [[0, 1], [2, 0]]


def test_symmetrized_graphs_tell_how_far_both_directions_differ():
    ring = nx.cycle_graph(3, create_using=nx.DiGraph)
    reported = mdp.GraphMetric(ring, weight=None, symmetrize=True).graph.asymmetry
    expected = (3, 0, 2.0, 2.0)
    assert (reported.one_way, reported.unequal, reported.median, reported.largest) == expected
    assert "3 arcs had no reverse" in str(reported)
    assert mdp.GraphMetric(nx.path_graph(3), weight=None, symmetrize=True).graph.asymmetry is None


def test_checksums_know_their_direction():
    graph = one_way_town(seed=1)
    assert universe(graph).checksum() == universe(graph).checksum()
    assert universe(graph).checksum() != universe(graph, "from-center").checksum()
