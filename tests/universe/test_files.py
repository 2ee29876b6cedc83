"""Every graph format, its quirks and its errors, on small files."""

import networkx as nx
import numpy as np
import pytest

from metricdp.errors import DirectedGraphError, GraphFileError
from metricdp.testing.formats import edges
from metricdp.universe import graph_from, read_graph_file, read_nodes, read_pmed_p
from tests import beside, cases, refuses
from tests.universe.test_tables import write

FILES = beside(__file__, "files.toml")
REFUSED = beside(__file__, "refused.toml")


@cases(("name", "content", "options", "lines"), *FILES["read"])
def test_what_is_read(tmp_path, name, content, options, lines):
    graph = read_graph_file(write(tmp_path, content, name), **options)
    assert edges(graph) == {(tail, head): length for tail, head, length in lines}
    assert graph.name == name and graph.coordinates is None
    assert {type(i) for i in graph.ids} == {type(lines[0][0])}


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [(name, content, {}, REFUSED[name][content]) for name in REFUSED for content in REFUSED[name]]
    + FILES["refused"],
)
def test_refusals_say_what_and_where(tmp_path, name, content, options, message):
    path = write(tmp_path, content, name)
    caught = refuses(message, read_graph_file, path, **options)
    assert "\n" not in str(caught) and (str(path) in str(caught) or "format" in options)


@cases(("name", "content"), *FILES["one_way"])
def test_one_way_files_need_symmetrize(tmp_path, name, content):
    path = write(tmp_path, content, name)
    refuses("--symmetrize", read_graph_file, path, error=DirectedGraphError)
    assert len(read_graph_file(path, symmetrize=True).indices) == 2


def test_parquet_edges_and_nodes(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"u": [10, 20], "v": [20, 30], "length": [1.5, 2.5], "geometry": [b"..", b".."]}
    pq.write_table(pa.table(columns), tmp_path / "e.parquet")
    nodes = {"id": [30, 20, 10], "x": [3.0, 2.0, 1.0], "y": [0, 0, 0]}
    pq.write_table(pa.table(nodes), tmp_path / "n.parquet")
    graph = read_graph_file(tmp_path / "e.parquet", nodes=tmp_path / "n.parquet")
    assert edges(graph) == {(10, 20): 1.5, (20, 30): 2.5}
    assert graph.coordinates.tolist() == [[1, 0], [2, 0], [3, 0]]
    assert graph.coordinate_system == "xy"
    pq.write_table(pa.table({"u": ["10"], "v": ["20"]}), tmp_path / "s.parquet")
    assert read_graph_file(tmp_path / "s.parquet").ids == ["10", "20"]


TNTP = (
    "<NUMBER OF ZONES> 1\n<NUMBER OF LINKS> 4\n<ORIGINAL HEADER>~ \tInit node \n<END OF METADATA> "
    "\n\n\n"
    "~ \tInit node \tTerm node \tCapacity \tLength \tFree Flow Time \t; \n"
    " \t1 \t2 \t9.0 \t0.5 \t2 \t; \n\t2\t1\t9\t0.5\t2\t;\n\t2\t4\t9\t0\t3\t;\n\t4\t2\t9\t0\t3\t;\n"
)


def test_tntp(tmp_path):
    path = write(tmp_path, TNTP, "town_net.tntp.gz")
    assert edges(read_graph_file(path)) == {(1, 2): 0.5, (2, 4): 0}
    assert edges(read_graph_file(path, weight="free_flow_time")) == {(1, 2): 2, (2, 4): 3}
    write(tmp_path, "Node \tX \tY \t;\n1 \t5.5 \t \t6 \t \t; \n2\t7\t8\t;\n", "town_node.tntp")
    graph = read_graph_file(path)
    np.testing.assert_array_equal(graph.coordinates, [[5.5, 6], [7, 8], [np.nan, np.nan]])
    assert graph.coordinate_system == "xy"


@cases(("lines", "system", "first"), *FILES["places"])
def test_dimacs_coordinates_beside_the_graph(tmp_path, lines, system, first):
    path = write(tmp_path, "p sp 2 2\na 1 2 4\na 2 1 4\n", "town.gr.gz")
    assert read_graph_file(path).coordinates is None
    beside = write(tmp_path, "c x\np aux sp co 2\n" + lines, "town.co.gz")
    graph = read_graph_file(path)
    assert graph.coordinate_system == system and graph.coordinates[0].tolist() == first
    elsewhere = write(tmp_path, "v 1 1 1\nv 2 2000000000 2\n", "other.co")
    assert read_graph_file(path, nodes=elsewhere).coordinates[1].tolist() == [2e9, 2]
    for vertex in ("1.5", "1e30", "nan"):
        write(tmp_path, f"v {vertex} 0 0\nv 2 1 1\n", "other.co")
        refuses("whole numbers", read_nodes, elsewhere, error=GraphFileError)
    beside.write_text("v 1 1\n")
    refuses(r"town\.co\.gz: is not a gzip file", read_graph_file, path, error=GraphFileError)
    write(tmp_path, "v 1 1\n", "town.co.gz")
    with pytest.raises(GraphFileError, match=r"town\.co\.gz, line 1: expected 'v id x y'"):
        read_graph_file(path)


@cases(("header", "system"), *FILES["headers"])
def test_nodes_files(tmp_path, header, system):
    path = write(tmp_path, "u,v\n3,1\n1,2\n", "e.csv")
    nodes = write(tmp_path, f"{header}\n2,-71.5,-30\n1,-71,-29.5\n99,0,0\n", "n.csv")
    graph = read_graph_file(path, nodes=nodes)
    assert graph.ids == [1, 2, 3] and graph.coordinate_system == system
    np.testing.assert_array_equal(graph.coordinates, [[-71, -29.5], [-71.5, -30], [np.nan, np.nan]])


@cases(("content", "message"), *FILES["nodes"])
def test_bad_nodes_files(tmp_path, content, message):
    path, nodes = write(tmp_path, "u,v\n1,2\n", "e.csv"), write(tmp_path, content, "n.csv")
    refuses(message, read_graph_file, path, nodes=nodes)


def test_nodes_match_as_text_when_nothing_matches_as_is(tmp_path):
    path = write(tmp_path, "u,v\n1,2\n", "e.csv")
    nodes = write(tmp_path, "id,x,y\n1,5,5\n2,6,6\nx9,7,7\n", "n.csv")
    assert read_graph_file(path, nodes=nodes).coordinates.tolist() == [[5, 5], [6, 6]]
    assert read_nodes(nodes)[0] == ["1", "2", "x9"]


def test_graphml_ids_lengths_and_choices(tmp_path):
    graph = nx.Graph([(5, 7, {"length": "12.5", "hops": 2}), (7, 9, {"length": "1", "hops": 2})])
    path = tmp_path / "g.graphml"
    nx.write_graphml(graph, path)
    assert edges(read_graph_file(path)) == {(5, 7): 12.5, (7, 9): 1}
    assert edges(read_graph_file(path, weight="hops")) == {(5, 7): 2, (7, 9): 2}
    assert edges(read_graph_file(path, weight="unit")) == {(5, 7): 1, (7, 9): 1}
    words = "'km' is missing on 2 of 2 edges; attributes that exist: 'hops', 'length'"
    refuses(words, read_graph_file, path, weight="km")
    graph.edges[5, 7]["length"] = "long"
    nx.write_graphml(graph, path)
    refuses("'length' must hold numbers, not str 'long'", read_graph_file, path)
    nx.write_graphml(nx.Graph([("a", "7", {"hops": 2})]), path)
    refuses("no edge attribute is known as a length; numeric ones: hops", read_graph_file, path)
    nx.write_graphml(nx.Graph([("a", "7", {"length": 2.0, "travel_time": 1.0})]), path)
    refuses("length, travel_time; name one", read_graph_file, path)
    nx.write_graphml(nx.Graph([("a", "7", {"name": "x"})]), path)
    assert edges(read_graph_file(path)) == {("a", "7"): 1}


def test_osmnx_graphml_comes_back_as_osmnx_reads_it(tmp_path):
    ox = pytest.importorskip("osmnx")
    graph = nx.MultiDiGraph(crs="epsg:4326", simplified=True)
    for i, (x, y) in enumerate([(-71.3, -29.9), (-71.4, -29.8), (-71.5, -30.0)]):
        graph.add_node(10**9 + i, x=x, y=y, street_count=2)
    for u, v in ((0, 1), (1, 0), (1, 2), (2, 1), (0, 1)):
        graph.add_edge(10**9 + u, 10**9 + v, osmid=[1, 2], oneway=False, length=100.5 + u + v)
    path = tmp_path / "town.graphml"
    ox.save_graphml(graph, path)
    zipped = write(tmp_path, path.read_bytes(), "town.graphml.gz")
    expected = graph_from(ox.load_graphml(path))
    for file in (path, zipped):
        got = read_graph_file(file)
        assert got.ids == expected.ids == [10**9, 10**9 + 1, 10**9 + 2]
        known = {(10**9, 10**9 + 1): 101.5, (10**9 + 1, 10**9 + 2): 103.5}
        assert edges(got) == edges(expected) == known
        assert got.coordinate_system == "lonlat" and got.coordinates[0].tolist() == [-71.3, -29.9]


def test_pmed_p(tmp_path):
    assert read_pmed_p(write(tmp_path, " 3 1 2 \n1 2 5\n", "a.txt")) == 2
    with pytest.raises(GraphFileError, match="header 'n m p'"):
        read_pmed_p(write(tmp_path, "u,v\n1,2\n", "b.txt"))
