"""What a result shows of itself, against what can be counted by hand."""

import json
from functools import cache

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.audit.patch import patched
from metricdp.methods import solving
from metricdp.methods.box import quadtree
from metricdp.report.plan_files import plan_ending
from tests import path_metric, refuses

LINE = nx.path_graph(6)
nx.set_node_attributes(LINE, {i: {"x": float(i), "y": 0.0} for i in LINE})
METRIC = mdp.GraphMetric(LINE, weight=None)


def test_tables_and_graphs():
    pd = pytest.importorskip("pandas")
    result = mdp.k_median(METRIC, k=2, weights=[1, 1, 1, 0, 0, 3])
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame) and frame["center"].tolist() == result.centers
    assert frame["demand"].sum() == 6 and frame["points"].sum() == 6
    assert frame["x"].tolist() == [float(c) for c in result.centers]
    graph = result.to_networkx()
    assert set(graph.edges) == set(LINE.edges)
    for node, data in graph.nodes(data=True):
        assert data["distance"] == abs(node - data["center"])
        assert data["is_center"] == (node in result.centers)
    assert graph.nodes[5]["demand"] == 3


def test_html_holds_no_markup_of_ids():
    metric = mdp.PrecomputedMetric(1.0 - np.eye(2), ids=["<b>", "&"])
    shown = mdp.k_median(metric, k=2)._repr_html_()
    assert "<td><b></td>" not in shown and "&lt;b&gt;" in shown


SPACE = mdp.EuclideanSpace([0, 0], [1, 1])
HOMES = np.repeat([[0.2, 0.2], [0.8, 0.7]], 2000, axis=0)
ROWS = ["rank", "center", "x", "y", "points", "demand", "mean_distance", "distance_unit", "load"]


@cache
def boxed():
    """Solutions in a box, of each way to one."""
    demand = mdp.PrivateDemand(SPACE, HOMES)
    release = mdp.release(SPACE, demand, epsilon=4)
    with patched(quadtree, "POINTS", 200), patched(solving, "_BOX_PLACES", 200):
        return (
            mdp.k_means(SPACE, demand, k=2, epsilon=4),
            mdp.k_median(SPACE, demand, k=2, epsilon=4, method="quadtree"),
            release.k_median(2),
            release.solve(mdp.objectives.KMedian(2)),
        )


def test_boxes_have_rows_labels_and_cost():
    for plan in boxed():
        assert plan.universe is SPACE and "2 centers" in plan._repr_html_()
        frame = plan.to_frame()
        assert list(frame.columns) == ROWS and frame["center"].tolist() == [0, 1]
        assert frame[["x", "y"]].to_numpy() == pytest.approx(plan.centers)
        assert frame["demand"].sum() == pytest.approx(np.maximum(plan.weights, 0).sum())
        points = plan.to_frame(assignments=True)
        assert len(points) == len(plan.labels) == len(plan.weights)
        at = np.array(points["vertex"].tolist())
        away = np.linalg.norm(at[:, None] - plan.centers[None], axis=2)
        assert points["distance"].to_numpy() == pytest.approx(away.min(axis=1))
        assert points["center"].tolist() == away.argmin(axis=1).tolist() == plan.labels.tolist()
        assert plan.cost == pytest.approx(plan.weights @ away.min(axis=1) ** plan.power, rel=1e-6)
        refuses("is no graph", plan.to_networkx)


@pytest.fixture(scope="module")
def solutions():
    homes = mdp.PrivateDemand(METRIC, [0] * 500 + [5] * 500)
    alone = mdp.k_median(METRIC, homes, k=2, epsilon=1, method="local-search")
    release = mdp.release(METRIC, homes, epsilon=1)
    finite = (alone, release.k_means(2), mdp.solve(release, mdp.objectives.PCenter(2)))
    return (*finite, mdp.k_median(METRIC, k=2), *boxed())


@pytest.mark.parametrize("ending", ["csv", "json", "gpkg", "parquet", "html", "png"])
def test_every_solution_is_saved_by_ending(tmp_path, ending, solutions):
    pytest.importorskip("geopandas")
    pytest.importorskip("matplotlib")
    for i, plan in enumerate(solutions[:: 1 if ending in ("csv", "json") else 2]):
        found = plan.save(tmp_path / f"plan{i}.{ending}").read_bytes()
        assert len(found) > 50
        if ending == "json":
            assert json.loads(found) == json.loads(json.dumps(plan.to_dict()))
        if ending == "csv":
            assert found.decode().splitlines()[1].startswith("1,")
        if ending == "png":
            assert found.startswith(b"\x89PNG")
        if ending == "html":
            assert b"<title>2 centers" in found


def test_geojson_of_a_box_needs_a_system(tmp_path):
    pytest.importorskip("geopandas")
    release = mdp.release(SPACE, mdp.PrivateDemand(SPACE, HOMES), epsilon=4)
    refuses("no declared coordinate system", release.k_median(2).save, tmp_path / "plan.geojson")
    degrees = mdp.EuclideanSpace([0, 0], [1, 1], crs="EPSG:4326")
    plan = mdp.k_median(degrees, mdp.PrivateDemand(degrees, HOMES), k=2, epsilon=4)
    found = json.loads(plan.save(tmp_path / "plan.geojson").read_text())["features"]
    assert np.array([f["geometry"]["coordinates"] for f in found]) == pytest.approx(plan.centers)


def test_endings_that_cannot_be_written_say_why(tmp_path, monkeypatch):
    plan = mdp.k_median(path_metric(3), k=1)
    refuses(r"must be one of \.json, .*\.png", plan.save, tmp_path / "plan.xlsx")
    for ending in ("gpkg", "png", "geojson"):
        refuses("no coordinates in the plane", plan.save, tmp_path / f"plan.{ending}")
    space = mdp.EuclideanSpace([0, 0, 0], [1, 1, 1])
    deep = mdp.k_means(space, mdp.PrivateDemand(space, np.full((500, 3), 0.4)), k=1, epsilon=2)
    refuses("no coordinates in the plane", deep.save, tmp_path / "plan.png")
    table = deep.save(tmp_path / "plan.csv").read_text()
    assert table.startswith("rank,center,x1,x2,x3,points,demand")
    monkeypatch.setattr("metricdp.errors.find_spec", lambda name: None)
    for ending, extra in (("parquet", "parquet"), ("png", "plots")):
        lacks = mdp.errors.MissingExtraError
        refuses(extra, mdp.k_median(METRIC, k=1).save, tmp_path / f"plan.{ending}", error=lacks)
    assert [p.name for p in tmp_path.iterdir()] == ["plan.csv"]


def test_plans_that_serve_nobody_are_json():
    table = mdp.CostTable([[5.0, 6.0], [7.0, 8.0]])
    plan = mdp.solve(table, mdp.objectives.MaxCoverage(k=1, limit=1))
    facts = json.dumps([plan.to_dict(), plan.stability().to_dict()], allow_nan=False)
    assert json.loads(facts)[0]["percentiles"] == {"50": None, "90": None, "95": None, "100": None}
    assert [str(load) for load in plan.loads.values()] == ["0.0"]
    refuses("not a table of costs", plan.page)
    refuses("not a table of costs", plan_ending, "plan.html", table)


def test_centers_alone_tell_no_weights():
    homes = mdp.PrivateDemand(METRIC, [0] * 500)
    alone = mdp.k_median(METRIC, homes, k=1, epsilon=1, method="local-search")
    assert [alone.cost, alone.weights, alone.loads, alone.mean, alone.served] == [None] * 5
    assert len(alone.labels) == 6
    assert list(alone.to_columns()) == ["rank", "center", "x", "y", "points"]
    for ask in (lambda: alone.percentiles, lambda: alone.compare([0])):
        refuses("released centers alone", ask)


def test_the_picture_has_all_centers():
    pytest.importorskip("matplotlib").use("agg")
    axes = mdp.k_median(METRIC, k=2).plot()
    assert {t.get_text() for t in axes.texts} == {"1", "2"}


def test_unknown_layers_are_refused():
    pytest.importorskip("geopandas")
    refuses("layer must be one of", mdp.k_median(METRIC, k=1).to_geopandas, "roads")
    refuses("no coordinates", mdp.k_median(path_metric(3), k=1).to_geopandas)


# One-way roads in what a result is shown as: all arcs, and streets of the right center


def one_way_ring(n: int = 8) -> nx.DiGraph:
    """A ring of one-way streets of 100 m, and one street both ways across, longer one way."""
    graph = nx.DiGraph()
    for v in range(n):
        angle = 2 * np.pi * v / n
        graph.add_node(v, x=float(100 * np.cos(angle)), y=float(100 * np.sin(angle)))
    nx.add_cycle(graph, range(n), length=100.0)
    graph.add_edge(0, n // 2, length=300.0)
    graph.add_edge(n // 2, 0, length=100.0)
    return graph


@pytest.mark.parametrize("direction", ["to-center", "from-center", "round-trip"])
def test_all_arcs_are_in_the_graph(direction):
    metric = mdp.GraphMetric(one_way_ring(), directed=True, direction=direction)
    found = mdp.k_median(metric, k=2).to_networkx()
    assert found.is_directed()
    ring = one_way_ring()
    expected = {v: {w: {"length": d["length"]} for w, d in ring[v].items()} for v in range(8)}
    assert nx.to_dict_of_dicts(found) == expected


def naive_share(metric, graph, u, v, label, direction):
    """By 2,000 places along an edge: which share of it, from u on, does u's center serve?"""
    distance = dict(zip(metric.ids, metric.nearest(label)[1].tolist()))
    there = graph[u][v]["length"] if graph.has_edge(u, v) else np.inf
    back = graph[v][u]["length"] if graph.has_edge(v, u) else np.inf
    t = (np.arange(2000) + 0.5) / 2000
    by_u = distance[u] + t * (back if direction == "to-center" else there)
    by_v = distance[v] + (1 - t) * (there if direction == "to-center" else back)
    return float((by_u <= by_v).mean())


@pytest.mark.parametrize("direction", ["to-center", "from-center"])
def test_streets_belong_to_the_center_that_is_reached_along_them(direction):
    pytest.importorskip("geopandas")
    graph = one_way_ring()
    metric = mdp.GraphMetric(graph, directed=True, direction=direction)
    result = mdp.k_median(metric, k=2)
    label = dict(zip(metric.ids, metric.nearest(result.centers)[0].tolist()))
    streets = result.to_geopandas("streets")
    place = {v: np.array([d["x"], d["y"]]) for v, d in graph.nodes(data=True)}
    wanted = np.zeros(2)
    for u, v in {tuple(sorted(e)) for e in graph.edges}:
        length = float(np.linalg.norm(place[u] - place[v]))
        same = label[u] == label[v]
        share = 1 if same else naive_share(metric, graph, u, v, result.centers, direction)
        wanted[label[u]] += share * length
        wanted[label[v]] += (1 - share) * length
    assert len(set(label.values())) == 2
    np.testing.assert_allclose(streets.length.to_numpy(), wanted, rtol=2e-3)
