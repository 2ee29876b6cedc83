"""Streets keep their courses from the file to the layers."""

import itertools

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.universe import graph_from
from metricdp.universe.bends import Bends, bends_of, between, polylines

NAMES = ["a", "b", "c"]
PLACES = {"a": (0.0, 0.0), "b": (2.0, 0.0), "c": (2.0, 4.0)}
LINES = {("a", "b"): "LINESTRING (0 0, 1 1, 2 0)", ("c", "b"): "LINESTRING (2 0, 3 1, 3 3, 2 4)"}


def streets(kind=nx.MultiDiGraph, drop=()):
    graph = kind()
    for name in NAMES:
        graph.add_node(name, x=PLACES[name][0], y=PLACES[name][1])
    for (u, v), line in LINES.items():
        held = {} if (u, v) in drop else {"geometry": line}
        graph.add_edge(u, v, length=5.0, **held)
        if graph.is_directed():
            graph.add_edge(v, u, length=5.0, **held)  # as OSMnx may: the same line for both
    return graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_courses_go_from_the_first_of_each_pair_to_the_second(kind):
    graph = graph_from(streets(kind))
    assert graph.pairs().tolist() == [[0, 1], [1, 2]]
    assert graph.bends.offsets.tolist() == [0, 1, 3]
    assert graph.bends.xy.tolist() == [[1, 1], [3, 1], [3, 3]]


def test_the_course_of_the_shortest_of_parallel_edges_counts():
    graph = streets(nx.MultiGraph)
    graph.add_edge("a", "b", length=4.0, geometry="LINESTRING (0 0, 1 -1, 2 0)")
    graph.add_edge("b", "b", length=1.0, geometry="LINESTRING (2 0, 9 9, 2 0)")
    assert graph_from(graph).bends.xy[0].tolist() == [1, -1]


def test_the_largest_component_keeps_its_courses():
    graph = streets(nx.Graph)
    lone = nx.relabel_nodes(streets(nx.Graph), lambda name: f"0{name}")
    lone.remove_node("0c")
    kept = graph_from(nx.compose(lone, graph), largest_component=True)
    assert kept.ids == NAMES and kept.bends.xy.tolist() == [[1, 1], [3, 1], [3, 3]]


def test_graphs_without_lines_have_none_and_damaged_lines_are_straight():
    assert graph_from(streets(drop=tuple(LINES))).bends is None
    for text in ("LINESTRING (0 0, x y, 2 0)", "LINESTRING Z (0 0 0, 1 1 1)", "POINT (1 1)", "", 7):
        assert bends_of([text], np.zeros((1, 2)), np.ones((1, 2))) is None


def test_files_keep_courses(tmp_path):
    nx.write_graphml(streets(), tmp_path / "streets.graphml")
    assert len(mdp.read_graph(tmp_path / "streets.graphml").graph.bends.xy) == 3
    gpd, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    rows = {"u": ["a", "b"], "v": ["b", "c"]}
    lines = shapely.from_wkt(list(LINES.values()))
    frame = gpd.GeoDataFrame(rows, geometry=lines, crs=32719)
    frame.to_file(tmp_path / "streets.gpkg", layer="edges")
    for options in ({}, {"topology": "geometry"}):
        metric = mdp.read_graph(tmp_path / "streets.gpkg", **options)
        assert len(metric.graph.bends.xy) == 3
        layer = mdp.k_median(metric, k=1).to_geopandas("streets")
        assert layer.geometry.length.sum() == pytest.approx(sum(line.length for line in lines))


def naive_cut(xy, share):
    """Walk along a line until a share of it is behind."""
    step = [float(np.hypot(*(b - a))) for a, b in itertools.pairwise(xy)]
    left, before = share * sum(step), [xy[0]]
    for i, long in enumerate(step):
        if left <= long:
            at = xy[i] + (left / long if long else 0.0) * (xy[i + 1] - xy[i])
            return [*before, at], [at, *xy[i + 1 :]]
        left -= long
        before.append(xy[i + 1])
    return [*before, xy[-1]], [xy[-1], xy[-1]]


def test_cutting_is_walking():
    rng = np.random.default_rng(5)
    offsets = np.r_[0, np.cumsum(rng.integers(0, 5, 200))]
    bends = Bends(offsets, rng.random((offsets[-1], 2)))
    starts, ends = rng.random((2, 200, 2))
    share = np.r_[0.0, 1.0, rng.random(198)]
    whole = polylines(starts, ends, bends)
    first = between(*whole, np.zeros(200), share)
    second = between(*whole, share, np.ones(200))
    for i in range(2, 200):
        xy = np.vstack([starts[i], bends.xy[offsets[i] : offsets[i + 1]], ends[i]])
        for (places, line), wanted in zip((first, second), naive_cut(xy, share[i])):
            np.testing.assert_allclose(places[line == i], wanted, atol=1e-9)
