"""What the canvas is given of a universe, read back naively, and the frame of its pages: markup,
scripts and styles in their order, and text that stays text.
"""

import base64
import json

import networkx as nx
import numpy as np

import metricdp as mdp
from metricdp.report.canvas import network
from metricdp.report.canvas.stage import notes_html, page_html, script_json
from tests.report.map.test_map import grid, unsqueezed


def test_points_all_in_one_place_have_no_picture_of_territories():
    metric = grid(3)
    metric.coordinates = np.zeros((9, 2))
    net = network.DrawnUniverse(metric)
    assert net.ground is None and net.data()["x"]["n"] == 9


def test_edges_are_reported_once_each_way_or_not():
    graph = nx.DiGraph([(0, 1, {"length": 1}), (1, 0, {"length": 2}), (1, 2, {"length": 1})])
    graph.add_edge(2, 0, length=1)
    for v, (x, y) in enumerate(((0, 0), (1, 0), (1, 1))):
        graph.nodes[v].update(x=x, y=y)
    net = network.DrawnUniverse(mdp.GraphMetric(graph, directed=True))
    ends = net.order[net.edges]
    expected = {frozenset(pair) for pair in ((0, 1), (1, 2), (0, 2))}
    assert {frozenset(pair) for pair in ends.tolist()} == expected
    reported = net.data()
    tails = np.array(unsqueezed(reported["tails"]))
    np.testing.assert_array_equal(np.c_[tails, tails + unsqueezed(reported["reach"])], net.edges)


def test_many_weights_keep_three_digits_of_either_sign():
    weights = np.random.default_rng(0).normal(0, 3, 60_000)
    reported = network.packed_weights(weights)
    values = np.frombuffer(base64.b64decode(reported["values"]["bdata"]), "<f4")
    assert len(values) < 20_000
    assert np.abs(values[unsqueezed(reported["index"])] / weights - 1).max() < 0.006


def test_centers_without_a_place_are_records_too():
    places = np.array([[1.5, 2.5], [np.nan, 0.0]])
    label, color = np.array([0, 1, 1]), np.array([3, 4])
    weights = np.array([1.0, 2.0, -0.5])
    first, second = network.center_records(["a", 7], places, label, color, weights)
    reported = {"id": "a", "rank": 1, "color": 3, "vertices": 1, "mass": 1.0}
    assert first == {**reported, "x": 1.5, "y": 2.5}
    assert (second["id"], second["mass"], second["x"], second["y"]) == ("7", 1.5, None, None)


def test_edges_are_drawn_along_their_courses():
    graph = nx.MultiDiGraph(crs="EPSG:4326")
    for name, x in (("a", 10.0), ("b", 10.02), ("c", 10.04)):
        graph.add_node(name, x=x, y=50.0)
    graph.add_edge("b", "a", length=1.0, geometry="LINESTRING (10 50, 10.005 50.01, 10.02 50)")
    graph.add_edge("c", "b", length=1.0)
    net = network.DrawnUniverse(mdp.GraphMetric(graph, symmetrize=True))
    by_name = {net.metric.ids[i]: net.points[p] for p, i in enumerate(net.order.tolist())}
    (at,) = net.bends.xy
    assert np.diff(net.bends.offsets).sum() == 1
    edge = net.edges[net.bends.line()[0]]
    assert {net.metric.ids[i] for i in net.order[edge].tolist()} == {"a", "b"}
    step = (by_name["b"] - by_name["a"])[0]  # kilometers of 0.02 degrees of longitude
    np.testing.assert_allclose(at - by_name["a"], [step / 4, 1.112], atol=1e-3)
    assert net.data()["bends"]["x"]["n"] == 1


EVIL = "</script><img src=x onerror=alert(1)>"


def page(title="a map", layer="Roads", credit=None):
    more = {"beside": "", "notes": "", "scripts": ["map/page.js"], "styles": ["explore/page.css"]}
    return page_html(title, {"network": layer}, credit, {"id": EVIL}, **more)


def test_what_users_say_is_text():
    shown = page(EVIL, EVIL, EVIL)
    assert EVIL not in shown and "<img" not in shown and shown.count("&lt;img") == 5
    assert EVIL not in notes_html([EVIL], "Notes") and "<h2>Notes</h2>" in notes_html([], "Notes")
    reported = script_json({"id": EVIL, "n": 1})
    assert "<" not in reported and json.loads(reported) == {"id": EVIL, "n": 1}
    assert '<p id="credit" hidden></p>' in page()
    assert '<p id="credit">© me</p>' in page(credit="© me")
