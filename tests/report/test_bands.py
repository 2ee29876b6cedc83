"""Service bands against distances computed place by place."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from tests import path_metric, refuses
from tests.report.conftest import seen, settle

LIMITS = [1.5, 3.25]


def town(seed=0, n=6, directed=False, crs=None):
    graph = nx.grid_2d_graph(n, n, create_using=nx.DiGraph if directed else None)
    graph.graph["crs"] = crs
    if directed:
        graph.remove_edges_from(list(graph.edges)[::7])
        graph = graph.subgraph(max(nx.strongly_connected_components(graph), key=len)).copy()
    rng = np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["length"] = float(rng.uniform(1, 2))
    for node, data in graph.nodes(data=True):
        data["x"], data["y"] = map(float, node)
    return mdp.GraphMetric(graph, weight="length", directed=directed)


def test_points_and_demand_are_counted_by_distance():
    metric = town()
    plan = mdp.k_median(metric, k=2, weights=np.arange(36.0))
    bands = plan.bands(LIMITS)
    wanted = [int(d > 1.5) + int(d > 3.25) for d in metric.nearest(plan.centers)[1]]
    assert bands.label.tolist() == wanted and bands.interval is None
    found = bands.demand.tolist()
    assert found == [sum(i for i, b in enumerate(wanted) if b == c) for c in range(3)]
    assert bands.share.sum() == pytest.approx(1) and bands.to_columns()["to"] == [*LIMITS, None]


def test_a_release_tells_intervals():
    metric = town()
    homes = mdp.PrivateDemand(metric, [(0, 0)] * 900 + [(5, 5)] * 300)
    bands = mdp.k_median(metric, homes, k=1, epsilon=2).bands([1.5, 100])
    assert bands.demand.sum() == pytest.approx(1200, abs=200)
    reported = bands.to_columns()
    bounds = zip(reported["low"], reported["demand"], reported["high"], strict=True)
    assert all(a <= b <= c for a, b, c in bounds)
    assert len(reported["low"]) == 3


@pytest.mark.parametrize("directed", [False, True])
def test_streets_are_cut_where_a_limit_is_reached(directed):
    pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    metric = town(1, directed=directed)
    plan = mdp.k_median(metric, k=2)
    streets = plan.bands(LIMITS).to_geopandas("streets").geometry
    away = metric.nearest(plan.centers)[1]
    at = {node: away[i] for i, node in enumerate(metric.ids)}
    arcs = {(metric.ids[u], metric.ids[v]): length for u, v, length in listed(metric)}
    total = 0.0
    for u, v in {tuple(sorted(arc)) for arc in arcs}:
        there, back = arcs.get((u, v), np.inf), arcs.get((v, u), np.inf)
        for t in np.linspace(0.013, 0.987, 9):
            own = min(at[u] + t * back, at[v] + (1 - t) * there)
            if min(abs(own - limit) for limit in LIMITS) < 1e-6:
                continue
            place = shapely.Point((1 - t) * np.array(u) + t * np.array(v))
            near = [i for i, shape in enumerate(streets) if shape.distance(place) < 1e-9]
            assert near == [int(own > 1.5) + int(own > 3.25)], (u, v, t)
        total += 1.0
    assert sum(shape.length for shape in streets) == pytest.approx(total)


def listed(metric):
    graph = metric.graph
    return zip(graph.tails().tolist(), graph.indices.tolist(), graph.lengths.tolist())


def test_areas_do_not_overlap_and_are_saved(tmp_path):
    gpd, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    metric = town(2)
    bands = mdp.k_median(metric, k=2).bands(LIMITS)
    areas = bands.to_geopandas()
    for i, node in enumerate(metric.ids):
        inside = shapely.within(shapely.Point(node), areas.geometry.to_numpy())
        assert inside.tolist() == [b == bands.label[i] for b in range(3)]
    union = shapely.union_all(areas.geometry.to_numpy())
    assert areas.geometry.area.sum() == pytest.approx(union.area)
    path = bands.save(tmp_path / "bands.gpkg")
    assert sorted(gpd.list_layers(path)["name"]) == ["band_streets", "bands", "layer_styles"]
    refuses("no declared coordinate system", bands.save, tmp_path / "bands.geojson")
    placed = mdp.k_median(town(2, crs="EPSG:32719"), k=2).bands(LIMITS)
    assert len(gpd.read_file(placed.save(tmp_path / "bands.GeoJSON"))) == 3


def test_a_page_shows_bands_and_sites(show, tmp_path):
    plan = mdp.k_median(town(), k=2)
    page = show(plan.bands(LIMITS).save(tmp_path / "bands.html", title="Reach"))
    settle(page)
    assert "Reach" in page.title()
    box, reported = page.locator("#stage").bounding_box(), set()
    wide, left, bottom = seen(page)
    per, at = wide / box["width"], np.array(plan.universe.ids) - 2.5  # the middle of the town is 0
    places = [((x - left) / per, box["height"] - (y - bottom) / per) for x, y in at]
    for x, y in places:
        page.mouse.move(box["x"] + x, box["y"] + y)
        reported.add(page.locator("#tip").inner_text())
    assert {f"Center {i + 1} · {site}" for i, site in enumerate(plan.centers)} <= reported
    points = [text for text in reported if text.startswith("(")]
    away = dict(zip(map(str, plan.universe.ids), plan.universe.nearest(plan.centers)[1]))
    assert len(points) > 25, len(points)
    for text in points:
        name, distance = text.split("\n")
        assert float(distance.split()[0]) == pytest.approx(away[name], abs=0.01)


def test_bands_without_places_have_numbers_alone(tmp_path):
    bands = mdp.k_median(path_metric(5), k=1).bands([1])
    assert bands.demand.tolist() == [3.0, 2.0]
    pytest.importorskip("geopandas")
    refuses("no coordinates", bands.to_geopandas)
    refuses("ending", bands.save, tmp_path / "bands.txt")
