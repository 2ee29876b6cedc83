"""Heat maps as tables, layers, rasters and pages."""

import itertools
import re
import sys
from unittest import mock

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError, MissingExtraError
from metricdp.report.colors import HEAT
from tests import refuses
from tests.report.conftest import settle
from tests.report.map.test_map import data_of, ids_of, unsqueezed, weights_of


def town(places=True):
    graph = nx.grid_2d_graph(8, 8)
    for node, data in graph.nodes(data=True):
        if places:
            data["x"], data["y"] = -71.3 + 0.01 * node[0], -30.0 + 0.01 * node[1]
    for _, _, data in graph.edges(data=True):
        data["length"] = 1000.0
    graph.graph["crs"] = "EPSG:4326"
    metric = mdp.GraphMetric(graph)
    metric.measured_in = "m"
    return metric


@pytest.fixture(scope="module")
def heat():
    metric = town()
    homes = mdp.PrivateDemand(metric, [(1, 1)] * 900 + [(6, 5)] * 400)
    return mdp.release(metric, homes, epsilon=4).heatmap(bandwidth=2500)


def test_colors_follow_the_highest_density_and_the_noise(heat):
    assert heat.breaks[-1] == heat.density.max() / 2 and len(heat.breaks) == len(HEAT) - 1
    reported = heat.to_columns()
    at = reported["vertex"].index((1, 1))
    assert heat.classes[at] == 6 and reported["density"][at] == heat.density.max()
    unsure = heat.density < 2 * heat.standard_error
    assert (heat.classes[unsure] == 0).all() and heat.per == (1000.0, "km")
    assert len(heat.to_frame()) == 64 and "2.5 km" in repr(heat)


def test_the_page_has_every_density_and_its_error(heat):
    page = heat.page(title="Homes")
    data = data_of(page)
    order = [heat.universe.ids.index(eval(name)) for name in ids_of(data)]
    assert weights_of(data) == pytest.approx(1000 * heat.density[order], rel=1e-5)
    assert unsqueezed(data["levels"][0]["label"]) == heat.classes[order].tolist()
    assert data["palette"] == list(HEAT) and "<title>Homes" in page
    assert "Privacy receipt" in page and "2.5 km" in page and "per km" in page.lower()
    public = mdp.heatmap(town(), bandwidth=2500).page()
    assert "Not private" in public and "Privacy receipt" not in public
    assert mdp.heatmap(town(places=False), bandwidth="2.5 km").page()


def test_files_by_ending(heat, tmp_path):
    gpd = pytest.importorskip("geopandas")
    path = heat.save(tmp_path / "heat.gpkg")
    assert {"heat", "heat_streets"} <= set(gpd.list_layers(path)["name"])
    points, streets = (gpd.read_file(path, layer=name) for name in ("heat", "heat_streets"))
    assert points["density"].tolist() == pytest.approx(heat.density.tolist())
    assert len(streets) == 112 and streets.crs.to_epsg() == 4326
    assert set(streets["color"]) <= set(HEAT)
    found = streets[streets.geometry.intersects(points.geometry[0])]
    neighbors = [heat.universe.ids.index(one) for one in [(0, 1), (1, 0)]]
    means = (heat.density[neighbors] + heat.density[0]) / 2
    assert sorted(found["density"]) == pytest.approx(sorted(means))
    assert len(gpd.read_file(heat.save(tmp_path / "heat.geojson"))) == 64
    assert len(gpd.read_parquet(heat.save(tmp_path / "heat.parquet"))) == 64
    assert heat.save(tmp_path / "heat.csv").read_text().startswith("vertex,density,standard_error")
    refuses("ending", heat.save, tmp_path / "heat.txt")


def test_a_table_of_costs_is_smoothed_by_its_symmetric_distances():
    table = mdp.CostTable([[0.0, 1.0, 8.0], [8.0, 7.0, 0.0]])
    found = mdp.heatmap(table, [1, 1, 4], bandwidth=2).density
    assert found.tolist() == mdp.heatmap(table.symmetric, [1, 1, 4], bandwidth=2).density.tolist()
    assert found[2] == 4.0


def test_a_raster_has_the_density_of_what_is_near(heat, tmp_path):
    with pytest.importorskip("rasterio").open(heat.save(tmp_path / "heat.tif")) as file:
        density, doubt = file.read()
        assert file.crs.to_epsg() == 4326 and "EPSILON" in file.tags()["METRICDP_RECEIPT"].upper()
        for at, place in enumerate(heat.universe.coordinates):
            row, column = file.index(*place)
            assert density[row, column] == pytest.approx(heat.density[at], rel=1e-5)
            assert doubt[row, column] == pytest.approx(heat.standard_error[at], rel=1e-5)
        assert np.isnan(density[file.index(-71.295, -29.995)])
    with pytest.raises(InputError, match="no coordinates"):
        mdp.heatmap(town(places=False), bandwidth=2).save(tmp_path / "none.tif")
    with mock.patch.dict(sys.modules, {"rasterio": None}):
        reported = refuses("", heat.save, tmp_path / "none.tif", error=MissingExtraError)
    assert reported.extra == "geo" and not (tmp_path / "none.tif").exists()


def test_a_picture_is_drawn(heat, tmp_path):
    pytest.importorskip("matplotlib")
    assert heat.save(tmp_path / "heat.png").read_bytes().startswith(b"\x89PNG")
    alone = mdp.heatmap(mdp.EuclideanMetric([[0, 0], [4, 0], [9, 3]]), bandwidth=5)
    assert alone.per == (1.0, "point") and alone.plot().get_title().startswith("demand per point")
    assert "Points" in alone.page()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"width": 390, "height": 780}])
def test_a_browser_draws_it(heat, show, tmp_path, options):
    page = show(heat.save(tmp_path / "heat.html"), **options)
    settle(page)
    page.evaluate("document.getElementById('stage').scrollIntoView()")
    box = page.locator("#stage").bounding_box()
    shown = page.evaluate("stage.seen()")

    def told(x, y):
        page.mouse.move(box["x"] + x * shown["wide"], box["y"] + y * shown["high"])
        return page.locator("#tip").inner_text()

    places = itertools.product(np.linspace(0.1, 0.9, 25), np.linspace(0.3, 0.7, 12))
    assert any(re.search(r"demand per km .* ± ", told(*at)) for at in places)
