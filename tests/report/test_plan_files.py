"""A plan in every format, read back by others; layers where they belong, to the meter."""

import io
import json
import shutil
import sqlite3
import subprocess
import zipfile
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.cli import main
from metricdp.report.colors import ink_on
from tests import cases, grid_metric, refuses
from tests import geo_world as world

gpd, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")

METRIC = mdp.GraphMetric(world.street_graph())


@pytest.fixture(scope="module")
def result():
    demand = mdp.PrivateDemand.from_frame(METRIC, world.homes(4000))
    return mdp.k_median(METRIC, demand, k=2, epsilon=5)


def test_sites_are_where_they_are_in_every_format(tmp_path, result):
    corners = [[world.EAST, world.NORTH], [world.EAST + 1000, world.NORTH + 1000]]
    for ending, system in (("gpkg", 32719), ("geojson", 4326), ("parquet", 32719)):
        path = tmp_path / f"plan.{ending}"
        result.save(path)
        options = {"layer": "sites"} if ending == "gpkg" else {}
        read = gpd.read_parquet(path) if ending == "parquet" else gpd.read_file(path, **options)
        assert read.crs.to_epsg() == system
        meters = read.to_crs(world.UTM).geometry
        assert np.abs(np.array(sorted([p.x, p.y] for p in meters)) - corners).max() < 0.5
        assert read["demand"].sum() == pytest.approx(4000, rel=0.05)
        assert sorted(read["center"]) == sorted(result.centers)
    reported = json.loads(result.save(tmp_path / "plan.json").read_text())
    assert sorted(reported["coordinates"]) == corners and reported["crs"] == world.UTM
    table = (tmp_path / "plan.csv", result.save(tmp_path / "plan.csv").read_text())[1]
    assert table.startswith("rank,center,x,y,points,demand,mean_distance,distance_unit,load\n")


def test_ids_of_numpy_are_numbers_in_every_file(tmp_path):
    """As of a graph from an array of edges; they were text in geographic files."""
    graph = nx.Graph(crs="EPSG:4326")
    graph.add_edges_from(np.array([[7, 8], [8, 9]]))
    for node in graph:
        graph.nodes[node].update(x=node / 100, y=0.0)
    plan = mdp.k_median(mdp.GraphMetric(graph, weight=None), k=1)
    for ending in ("gpkg", "geojson", "parquet"):
        path = plan.save(tmp_path / f"plan.{ending}")
        read = gpd.read_parquet(path) if ending == "parquet" else gpd.read_file(path)
        assert read["center"].tolist() == [8]


def test_layers_fit_together(result):
    layers = "sites territories streets spider demand".split()
    sites, areas, streets, spider, demand = (result.to_geopandas(layer) for layer in layers)
    for frame in (sites, areas, streets, spider, demand):
        assert frame.crs.to_epsg() == 32719
    for site, area in zip(sites.geometry, areas.geometry):
        assert area.covers(site)
    assert areas.geometry.iloc[0].intersection(areas.geometry.iloc[1]).area < 1e-3
    whole = 2 * world.SIDE * (world.SIDE - 1) * world.STEP
    assert streets.geometry.length.sum() == pytest.approx(whole)
    ends = {site.coords[0] for site in sites.geometry}
    assert all(line.coords[-1] in ends for line in spider.geometry)
    for frame in (spider, demand):
        assert frame["demand"].sum() == pytest.approx(sites["demand"].sum())
    assert len(demand) <= result.release.partition.n_parts


def test_streets_between_territories_are_cut_where_both_are_equally_far():
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, {i: {"x": 10.0 * i, "y": 0.0} for i in graph})
    nx.set_edge_attributes(graph, 10.0, "length")
    found = mdp.k_median(mdp.GraphMetric(graph), k=2, opened=[0, 3])
    assert found.to_geopandas("streets").geometry.length.tolist() == [15.0, 15.0]


def test_the_geopackage_has_styles_a_receipt_and_a_project_with_sites_on_top(tmp_path, result):
    path = result.save(tmp_path / "plan.gpkg")
    with sqlite3.connect(path) as file:
        styles = dict(file.execute("select f_table_name, styleQML from layer_styles"))
        default = file.execute("select min(useAsDefault) from layer_styles").fetchone()
        bought = file.execute("select epsilon from receipt").fetchall()
        (content,) = file.execute("select content from qgis_projects").fetchone()
    assert set(styles) == {"sites", "territories", "streets", "spider", "demand"}
    assert default == (1,) and len(bought) == len(result.receipt.mechanisms)
    import pyogrio

    reported = pyogrio.read_info(path, layer="sites")["dataset_metadata"]
    assert json.loads(reported["METRICDP_RECEIPT"])["epsilon_exact"] == "5"
    assert not list(tmp_path.glob(".metricdp*"))
    packed = zipfile.ZipFile(io.BytesIO(bytes.fromhex(content)))
    reported = ElementTree.fromstring(packed.read("metricdp.qgs"))
    order = ["sites", "demand", "spider", "streets", "territories"]
    assert [layer.get("name") for layer in reported.iter("layer-tree-layer")] == order
    for layer, name in zip(reported.iter("maplayer"), order, strict=True):
        assert layer.findtext("datasource") == f"./plan.gpkg|layername={name}"
        assert layer.findtext("srs/spatialrefsys/authid") == "EPSG:32719"
        assert layer.find("renderer-v2") is not None
    assert list(gpd.list_layers(path).dropna()["name"]) == order
    light = [c for c in gpd.read_file(path, layer="sites")["color"] if ink_on(c) != "#ffffff"]
    assert all(f"'{c}'" in styles["sites"] for c in [*light, "#000000"])


@pytest.mark.skipif(shutil.which("ogrinfo") is None, reason="GDAL's ogrinfo is not installed")
def test_ogrinfo_reads_it(tmp_path, result):
    path = result.save(tmp_path / "plan.gpkg")
    said = subprocess.run(["ogrinfo", path], capture_output=True, text=True, check=True).stdout
    for line in ("sites (Point)", "territories (Multi Polygon)", "streets (Multi Line String)"):
        assert line in said


@pytest.mark.skipif(world.QGIS is None, reason="QGIS is not installed")
def test_qgis_finds_each_site_in_its_territory(tmp_path, result):
    path = result.save(tmp_path / "plan.gpkg")
    ask = {"POLYGONS": f"{path}|layername=territories", "POINTS": f"{path}|layername=sites"}
    counted = tmp_path / "counted.csv"
    ask |= {"FIELD": "n", "OUTPUT": counted}
    ran = world.qgis("native:countpointsinpolygon", ask, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert gpd.pd.read_csv(counted)["n"].tolist() == [1, 1]


def test_plane_coordinates_never_become_longitude_and_latitude(tmp_path):
    plane = mdp.EuclideanMetric([[2.0, 3.0], [5.0, 6.0]])
    release = mdp.release(plane, mdp.PrivateDemand(plane, [0] * 50), epsilon=1)
    for one in (mdp.k_median(plane, k=1), release.coreset()):
        refuses("longitude and latitude", one.save, tmp_path / "plan.geojson")
    demand = mdp.PrivateDemand.from_frame(METRIC, world.homes(900))
    mdp.release(METRIC, demand, epsilon=5).coreset().save(tmp_path / "core.geojson")
    assert gpd.read_file(tmp_path / "core.geojson").geometry.x.between(-71.4, -71.1).all()


@pytest.mark.parametrize("size", [0, 3000, 30_000])
def test_a_full_disk_is_said_in_one_line_and_leaves_the_former_file(tmp_path, result, size):
    resource = pytest.importorskip("resource")
    target = tmp_path / "plan.gpkg"
    target.write_bytes(b"former")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))  # Python ignores the signal
    try:
        refuses(r"plan\.gpkg|File too large", result.save, target, error=OSError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert target.read_bytes() == b"former" and list(tmp_path.iterdir()) == [target]


def test_the_system_is_said_and_a_box_of_swapped_coordinates_refused(tmp_path, capsys):
    network = world.write(world.edge_frame(), tmp_path / "edges.gpkg")
    homes = world.write(world.homes(300), tmp_path / "homes.parquet")
    ask = ["cluster", str(network), "--demand", str(homes), "-k", "2", "--epsilon", "1"]
    assert main([*ask, "--output", str(tmp_path / "plan.gpkg")]) == 0
    assert "EPSG:32719" in capsys.readouterr().err
    assert main([*ask, "--max-snap", "500m", "--box", "-30.1,-71.4,-29.7,-71.1"]) == 2
    assert "x and y are swapped" in capsys.readouterr().err


COVERAGE = mdp.objectives.MaxCoverage(k=2, limit=1)
CAPACITIES = mdp.objectives.Capacitated(k=2, capacities=8)


@pytest.mark.parametrize(
    ("objective", "ending"),
    [(CAPACITIES, ".csv"), (COVERAGE, ".geojson"), (COVERAGE, ".gpkg"), (CAPACITIES, ".parquet")],
    ids=["csv", "geojson", "gpkg", "parquet"],
)
def test_plans_of_other_objectives_are_written_too(tmp_path, objective, ending):
    plan = mdp.solve(grid_metric(3, 4, step=0.01, crs="EPSG:4326"), objective)
    path = plan.save(tmp_path / f"plan{ending}")
    if ending == ".csv":
        lines = path.read_text().splitlines()
        assert ",load" in lines[0]
        assert len(lines) == 3
    elif ending == ".parquet":
        assert gpd.read_parquet(path)["load"].sum() == plan.served
    else:
        sites = gpd.read_file(path, layer="sites") if ending == ".gpkg" else gpd.read_file(path)
        assert sites["load"].sum() == plan.served
    assert plan.to_geopandas()["load"].tolist() == list(plan.loads.values())


@cases(
    ("ids", "shown"),
    ([2**63, 2**70], [2**63, 2**70]),
    ([float("inf"), 1.5], ["inf", 1.5]),
    ([np.datetime64("2020-01-01"), np.datetime64("2021-01-01")], ["2020-01-01", "2021-01-01"]),
    ids=["long integers", "infinite", "dates of NumPy"],
)
def test_ids_that_a_format_has_no_type_for_are_written_as_text(tmp_path, ids, shown):
    result = mdp.k_median(mdp.GraphMetric(nx.Graph([(*ids, {"length": 1.0})])), k=2)
    reported = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert sorted(map(str, reported["centers"])) == sorted(map(str, shown))
    result.save(tmp_path / "plan.json")
    result.save(tmp_path / "plan.parquet")
    table = gpd.pd.read_parquet(tmp_path / "plan.parquet")
    assert sorted(map(str, table["center"])) == sorted(map(str, shown))
