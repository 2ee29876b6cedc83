"""Networks, and what their coordinates are in, from geographic files and OSMnx's graphs."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp import cli
from metricdp.errors import DirectedGraphError, GraphFileError
from tests import geo_world as world
from tests import refuses

FORMATS = ["edges.gpkg", "edges.geojson", "edges.shp", "edges.parquet", "edges.fgb"]


def rows_of(metric):
    return metric.distances(metric.ids)


def test_an_osmnx_graph_keeps_its_system():
    metric = mdp.GraphMetric(world.street_graph())
    assert (metric.crs, metric.coordinate_system) == (world.UTM, "xy")
    degrees = nx.MultiDiGraph(world.street_graph(), crs="epsg:4326")
    for _, data in degrees.nodes(data=True):
        data["x"], data["y"] = -71.0, -29.0
    assert mdp.GraphMetric(degrees).crs == "EPSG:4326"
    assert mdp.GraphMetric(degrees).coordinate_system == "lonlat"


def test_directions_that_differ_by_rounding_are_one_length():
    """OSMnx adds up the pieces of a street once from each end."""
    graph = nx.MultiDiGraph(crs="epsg:4326")
    graph.add_edge("a", "b", length=0.1 + 0.2 + 0.3)
    graph.add_edge("b", "a", length=0.3 + 0.2 + 0.1)
    metric = mdp.GraphMetric(graph, weight="length")
    assert not metric.directed and np.ptp(rows_of(metric)[[0, 1], [1, 0]]) == 0
    graph.add_edge("b", "c", length=1.0)
    graph.add_edge("c", "b", length=1.0001)
    refuses("2 arcs", mdp.GraphMetric, graph, error=DirectedGraphError, weight="length")


@pytest.mark.parametrize("name", FORMATS)
def test_lines_with_ids_are_edges(tmp_path, name):
    path = world.write(world.edge_frame(), tmp_path / name)
    known = mdp.GraphMetric(world.street_graph())
    metric = mdp.read_graph(path)
    assert sorted(metric.ids) == sorted(known.ids)
    order = [metric.ids.index(i) for i in known.ids]
    assert np.array_equal(rows_of(metric)[np.ix_(order, order)], rows_of(known))
    assert metric.crs == world.UTM
    assert np.allclose(metric.coordinates[order], known.coordinates, atol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_lines_without_ids_meet_where_they_end(tmp_path, name):
    metric = mdp.read_graph(world.write(world.edge_frame()[["geometry"]], tmp_path / name))
    assert len(metric) == world.SIDE**2
    rows = rows_of(metric)
    assert rows.max() == pytest.approx(10 * world.STEP, abs=2)  # lengths in meters, also of degrees
    assert "meters" in metric.graph.measured


def test_nodes_of_an_osmnx_geopackage_are_places(tmp_path):
    path = tmp_path / "osmnx.gpkg"
    world.node_frame().to_file(path, layer="nodes")
    world.edge_frame().to_file(path, layer="edges", mode="a")
    metric = mdp.read_graph(path)
    known = mdp.GraphMetric(world.street_graph())
    order = [metric.ids.index(i) for i in known.ids]
    assert np.allclose(metric.coordinates[order], known.coordinates)
    assert metric.graph.measured == "column 'length'"


def test_one_way_streets_are_directed(tmp_path):
    frame = world.edge_frame()
    frame["oneway"] = [True, *[False] * (len(frame) - 1)]
    path = world.write(frame, tmp_path / "edges.gpkg")
    refuses("directed", mdp.read_graph, path)
    assert len(mdp.read_graph(path, symmetrize=True)) == world.SIDE**2


def test_refusals_say_what_there_is(tmp_path):
    frame = world.edge_frame()
    frame["travel_time"] = 3.0
    path = world.write(frame, tmp_path / "edges.gpkg")
    refuses(r"length, travel_time; name one", mdp.read_graph, path)
    assert rows_of(mdp.read_graph(path, weight="travel_time")).max() == 30
    two, bad = tmp_path / "two.gpkg", tmp_path / "bad.gpkg"
    frame.to_file(two, layer="a")
    frame.to_file(two, layer="b", mode="a")
    assert len(mdp.read_graph(two, weight="length", layer="b")) == 36
    bad.write_bytes(b"SQLite format 3\0 and no more")
    homes = world.write(world.homes(9), tmp_path / "homes.gpkg")
    for file, asked, words in (
        (two, {"weight": "length"}, "several layers: a, b"),
        (two, {"weight": "length", "layer": "c"}, "no layer 'c'; layers: a, b"),
        (path, {"weight": "length", "crs": "EPSG:4326"}, "declares EPSG:32719"),
        (homes, {}, "edges are lines"),
        (bad, {}, "not a geographic file"),
    ):
        refuses(words, mdp.read_graph, file, error=GraphFileError, **asked)


def test_a_table_may_be_reported_its_system(tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,x,y\n1,280000,6690000\n2,280200,6690000\n")
    edges.write_text("from,to,length\n1,2,200\n")
    assert mdp.read_graph(edges, nodes=nodes).crs is None
    assert mdp.read_graph(edges, nodes=nodes, crs=32719).crs == world.UTM
    words = "unknown coordinate system 'nowhere'"
    refuses(words, mdp.read_graph, edges, nodes=nodes, crs="nowhere")
    refuses("no coordinates", mdp.read_graph, edges, crs=32719)


@pytest.mark.parametrize("name", ["a.gpkg", "a.shp", "a.fgb", "a.geojson", "a.parquet", "a.json"])
@pytest.mark.parametrize("content", ["vrt", "gpkg", "geojson", "fgb"])
def test_a_public_file_opens_no_other(tmp_path, name, content, capsys):
    """A VRT named ``roads.gpkg`` made the command print coordinates of a table beside it."""
    if name.endswith(content):
        pytest.skip("is what its name says")
    path = tmp_path / name
    path.write_bytes(world.CONTENTS[content](tmp_path, ["a", "b"]))
    refused = refuses("", mdp.read_graph, path)
    assert cli.main(["cluster", str(path), "-k", "1"]) == 2
    said = capsys.readouterr()
    assert "280000" not in said.out + said.err + str(refused)


def test_public_features_and_layers_keep_their_columns(tmp_path):
    """Of GeoJSON by JSON, of a GeoPackage by SQLite: with missing cells, names and numbers."""
    import geopandas as gpd

    from metricdp.universe.formats.format import File
    from metricdp.universe.formats.geographic import layer

    frame = world.node_frame()
    frame["name"] = ["é", None] * (len(frame) // 2)
    frame["size"] = 1.5
    for name in ("a.gpkg", "a.geojson", "a.shp", "a.fgb", "a.parquet"):
        path = world.write(frame, tmp_path / name)
        read = layer(File(path, path.read_bytes()), None).sort_values("osmid", ignore_index=True)
        known = gpd.read_file(path) if name != "a.parquet" else gpd.read_parquet(path)
        known = known.sort_values("osmid", ignore_index=True)
        assert read["osmid"].tolist() == known["osmid"].tolist()
        assert read["size"].tolist() == known["size"].tolist()
        assert read["name"].isna().tolist() == known["name"].isna().tolist()
        assert read.geometry.tolist() == known.geometry.tolist() and read.crs == known.crs


@pytest.mark.parametrize("name", FORMATS)
def test_a_town_in_twelve_rows_of_many_lines_each_is_the_town(tmp_path, name):
    """Roads by class: a row ends in the middle of another one's lines, and crosses itself."""
    from shapely import MultiLineString

    frame = world.edge_frame()
    rows = [MultiLineString(list(frame.geometry.iloc[5 * i : 5 * i + 5])) for i in range(12)]
    classes = world.gpd.GeoDataFrame({"road": list("abcdefghijkl")}, geometry=rows, crs=world.UTM)
    whole = mdp.read_graph(world.write(frame[["geometry"]], tmp_path / f"lines_{name}"))
    metric = mdp.read_graph(world.write(classes, tmp_path / name))
    assert len(metric) == len(whole) == world.SIDE**2
    orders = [np.lexsort(np.round(m.coordinates, 5).T) for m in (metric, whole)]
    found, known = (rows_of(m)[np.ix_(o, o)] for m, o in zip((metric, whole), orders))
    assert np.allclose(found, known, rtol=1e-6)


def test_ids_that_the_lines_contradict_are_refused_with_the_cure(tmp_path):
    """Streets that were cut, with the numbers of whole ones; lines drawn backwards are none."""
    frame = world.edge_frame()
    even = frame.index % 2 == 0
    turned = frame.set_geometry(frame.geometry.reverse().where(even, frame.geometry))
    assert len(mdp.read_graph(world.write(turned, tmp_path / "turned.gpkg"))) == world.SIDE**2
    stale = frame.assign(u=np.arange(len(frame)) // 3, v=np.arange(len(frame)) // 5)
    path = world.write(stale, tmp_path / "stale.gpkg")
    words = r"'u' and 'v' name are nowhere.*topology='geometry'"
    refuses(words, mdp.read_graph, path, error=GraphFileError)
    assert len(mdp.read_graph(path, topology="geometry")) == world.SIDE**2


@pytest.mark.parametrize("name", FORMATS)
def test_lines_of_several_pieces_and_stale_ids_are_read_by_geometry(tmp_path, name):
    """One line in two pieces that lie apart, and ids that no longer say what meets what."""
    from shapely import LineString, MultiLineString

    a, b, c, d = [(280_000.0 + 100 * i, 6_690_000.0) for i in range(4)]
    lines = [MultiLineString([[a, b], [c, d]]), LineString([b, c])]
    said = {"u": [1, 3], "v": [2, 4], "length": [300.0, 100.0]}
    frame = world.gpd.GeoDataFrame(said, geometry=lines, crs=world.UTM)
    path = world.write(frame, tmp_path / name)
    refuses(r"topology='geometry'|disconnected", mdp.read_graph, path)
    metric = mdp.read_graph(path, topology="geometry")
    assert len(metric) == 4
    order = np.argsort(metric.coordinates[:, 0])  # an hour of the plane, or degrees
    rows = rows_of(metric)[np.ix_(order, order)]
    assert np.allclose(rows[0], [0, 150, 250, 400], atol=2)  # halves of the 300 m that are said
    plain = world.write(frame[["geometry"]], tmp_path / f"plain_{name}")
    rows = rows_of(mdp.read_graph(plain))[np.ix_(order, order)]
    assert rows.max() == pytest.approx(300, abs=2)
    refuses("topology must be one of", mdp.read_graph, path, topology="stars")
    refuses("name ids", mdp.read_graph, path, topology="geometry", source="u", target="v")
    (tmp_path / "roads.csv").write_text("from,to,length\na,b,1\n")
    refuses("has no lines", mdp.read_graph, tmp_path / "roads.csv", topology="geometry")
