"""From an installation to a map of one's own network: one command for an OSMnx graph and a
GeoPackage of homes, and what it writes lies where it should, to the metre.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from metricdp.universe.crs import described

world = pytest.importorskip("tests.geo_world")

COMMAND = (
    "cluster streets.graphml --symmetrize --demand homes.gpkg --max-snap 500m -k 2 --epsilon 2 "
    "--output plan.gpkg --map map.html"
)


def osmnx_graphml(path):
    """As `osmnx.save_graphml` writes a projected graph: directed, parallel, all values as text."""
    graph = world.street_graph()
    crs = str(graph.graph["crs"])
    reported = nx.MultiDiGraph(crs=crs, created_with="OSMnx 2.0", simplified="True")
    for v, facts in graph.nodes(data=True):
        reported.add_node(v, **{name: str(value) for name, value in facts.items()})
    for u, v, key, facts in graph.edges(keys=True, data=True):
        said = {name: str(value) for name, value in facts.items()}
        reported.add_edge(u, v, key=key, **said, highway="residential", oneway="False")
    reported.remove_edge(100, 101)  # one street goes one way
    nx.write_graphml(reported, path)


def test_one_command_from_an_osmnx_graph_and_homes_to_a_map(tmp_path):
    osmnx_graphml(tmp_path / "streets.graphml")
    world.write(world.homes(900), tmp_path / "homes.gpkg")  # longitude and latitude
    own = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}

    def typed(command):
        ask = [sys.executable, "-m", "metricdp", *command.split()]
        given = {"cwd": tmp_path, "env": own, "timeout": 600}
        return subprocess.run(ask, capture_output=True, text=True, check=False, **given)

    wrong = typed(COMMAND.replace(" --symmetrize", ""))  # the only turn to take, and it is reported
    assert wrong.returncode == 2 and "--directed" in wrong.stderr and "--symmetrize" in wrong.stderr
    assert not (tmp_path / "plan.gpkg").exists()
    ran = typed(COMMAND)
    assert ran.returncode == 0, ran.stderr
    assert f"{described(world.UTM)}, lengths: attribute 'length'" in ran.stderr
    reported = json.loads(ran.stdout)
    assert sorted(map(int, reported["centers"])) == [100, 135] and reported["crs"] == world.UTM
    sites = world.gpd.read_file(tmp_path / "plan.gpkg", layer="sites")
    assert sites.crs == world.UTM
    corners = np.array([[world.EAST, world.NORTH]]) + np.array([[0, 0], [1000, 1000]])
    found = sites.geometry.get_coordinates().to_numpy()
    np.testing.assert_allclose(found[found[:, 0].argsort()], corners, atol=1)
    homes = world.gpd.read_file(tmp_path / "homes.gpkg").to_crs(world.UTM)
    assert homes.distance(sites.union_all()).max() < 60  # where QGIS draws both
    assert (tmp_path / "map.html").read_text("utf-8").rstrip().endswith("</html>")
