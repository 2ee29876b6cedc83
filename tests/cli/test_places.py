"""Graphs of which few vertices have a place, and data of another town than its network."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.cli import build_parser
from metricdp.errors import InputError, ShatteredGraphError
from metricdp.universe.graph import build_graph
from tests import refuses
from tests.cli_world import fails, run, works


@pytest.fixture
def town(here):
    """A long path without places, a short one with; homes beside the short one."""
    long, short = [(i, i + 1) for i in range(40)], [(i, i + 1) for i in range(100, 110)]
    rows = [f"{a},{b},10" for a, b in long + short]
    (here / "roads.csv").write_text("source,target,length\n" + "\n".join(rows) + "\n")
    places = [f"{i},{10 * (i - 100)},0" for i in range(100, 111)]
    (here / "nodes.csv").write_text("id,x,y\n" + "\n".join(places) + "\n")
    (here / "homes.csv").write_text("x,y\n" + "31,2\n82,-1\n" * 500)
    (here / "ids.csv").write_text("vertex\n" + "3\n" * 200)
    return here


ASKED = ("cluster", "roads.csv", "--nodes", "nodes.csv", "--largest-component", "-k", "2")


def test_a_component_without_places_takes_no_coordinates_and_no_budget(town, capsys):
    paid = ("--epsilon", "1", "--ledger", "a.ledger")
    fails(capsys, "coordinates", *ASKED, "--demand", "homes.csv", *paid)
    ran = run(capsys, *ASKED, "--demand", "ids.csv", "--epsilon", "1")
    assert ran.status == 0 and "no coordinates" in ran.err
    assert "coordinates" not in ran.json


def test_how_many_vertices_have_a_place_is_said(town, capsys):
    (town / "nodes.csv").write_text("id,x,y\n" + "".join(f"{i},{i},0\n" for i in range(7)))
    ran = run(capsys, *ASKED)
    assert ran.status == 0 and "planar coordinates of 7 of them" in ran.err


def test_a_noisy_number_that_is_too_small_is_said(town, capsys):
    (town / "nobody.csv").write_text("vertex\n")
    asked = (*ASKED, "--demand", "nobody.csv", "--epsilon", "200")
    few = "is too small for k=2: the centers mean little"  # noise of scale 0.1: 4 once in e^40
    assert few in run(capsys, *asked).err
    assert run(capsys, *asked, "-q").err == ""
    (town / "nobody.csv").write_text("vertex\n" + "3\n" * 500)
    assert few not in run(capsys, *asked).err


def test_places_of_no_vertex_are_none():
    placed = {"coordinates": np.full((3, 2), np.nan), "coordinate_system": "xy"}
    graph = build_graph([0, 1], [1, 2], [1.0, 1.0], ids=[0, 1, 2], directed=False, **placed)
    assert graph.coordinates is None and graph.coordinate_system is None
    refuses("", lambda: mdp.PrivateDemand.from_coordinates(mdp.GraphMetric(graph), [[0.0, 0.0]]))


# What is public says that data and network are of different towns: told before the charge


def town_at(at, crs="EPSG:4326"):
    metric = mdp.EuclideanMetric(np.add(at, [[0.0, 0.0], [0.01, 0.0], [0.0, 0.01]]))
    metric.coordinates = metric.points
    metric.coordinate_system, metric.crs = "lonlat", crs
    return metric


def test_a_system_for_another_part_of_the_world_is_refused_and_costs_nothing():
    """Pharmacies of Berlin, in its own grid, on a network of Algeria."""
    pytest.importorskip("pyproj")
    frame = pytest.importorskip("pandas").DataFrame({"x": [392_000.0] * 9, "y": [5_820_000.0] * 9})
    said = {"x": "x", "y": "y", "crs": "EPSG:25833"}
    with pytest.raises(InputError, match=r"which is for Europe .* lies elsewhere.*another town"):
        mdp.PrivateDemand.from_frame(town_at((3.06, 36.75)), frame, **said)
    mdp.PrivateDemand.from_frame(town_at((13.4, 52.5)), frame, **said)
    fiji = {"x": "x", "y": "y", "crs": "EPSG:3460"}  # crosses the antimeridian
    for longitude in (178.4, -179.9):
        mdp.PrivateDemand.from_frame(town_at((longitude, -18.1)), frame, **fiji)
    refuses(
        "another town", lambda: mdp.PrivateDemand.from_frame(town_at((13.4, 52.5)), frame, **fiji)
    )


def test_coordinates_without_a_limit_are_noted_before_the_charge(world, capsys):
    call = ["cluster", "roads.csv", "--nodes", "nodes.csv", "--demand", "homes.csv", "-k", "2"]
    call += ["--epsilon", "1", "--x", "lon", "--y", "lat"]
    said = run(capsys, *call).lines
    note = next(i for i, line in enumerate(said) if "--max-snap 2km leaves it out" in line)
    assert note < next(i for i, line in enumerate(said) if "spent epsilon" in line)
    Path("homes.geojson").write_text(
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, '
        '"geometry": {"type": "Point", "coordinates": [-71.3, -29.9]}}]}'
    )
    assert "another town counts" in run(capsys, *call[:5], "homes.geojson", *call[6:10]).err
    for more in (["--max-snap", "2km"], ["--box", "-72,-30,-71,-29"], ["-q"]):
        assert "another town" not in run(capsys, *call, *more).err


def test_a_small_part_is_not_taken_for_the_network(here, capsys):
    pieces = "".join(f"{10 * i},{10 * i + 1},1\n{10 * i + 1},{10 * i + 2},1\n" for i in range(9))
    Path("torn.csv").write_text("from,to,length\n" + pieces)
    ran = run(capsys, "cluster", "torn.csv", "-k", "1", "--largest-component")
    assert ran.status == 2 and "has 3 of 27 vertices" in ran.err and "split them" in ran.err
    with pytest.raises(ShatteredGraphError) as refused:
        mdp.read_graph("torn.csv", largest_component=True)
    assert refused.value.sizes == [3] * 9
    whole = "".join(f"{i},{i + 1},1\n" for i in range(100, 130))
    Path("town.csv").write_text("from,to,length\n" + "".join(pieces.splitlines(True)[:4]) + whole)
    ran = works(capsys, "cluster", "town.csv", "-k", "1", "--largest-component")
    assert "kept the largest component: 31 of 37 vertices, 6 left out" in ran.err


def test_no_limit_is_the_default_everywhere():
    """A limit changes the guarantee (no relation with a public number of records), so nobody gets
    one unasked: not in Python, by a command, or in QGIS.
    """
    for way in (mdp.PrivateDemand.from_frame, mdp.PrivateDemand.from_coordinates):
        assert inspect.signature(way).parameters["max_snap"].default is None
    commands = build_parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    limits = [
        command.get_default("max_snap")
        for command in commands.values()  # type: ignore[union-attr]
        if "--max-snap" in command._option_string_actions
    ]
    assert len(limits) >= 3 and set(limits) == {None}
    plugin = Path(__file__).parents[2] / "qgis" / "metricdp_qgis" / "algorithms.py"
    calls = [node for node in ast.walk(ast.parse(plugin.read_text())) if isinstance(node, ast.Call)]
    asked = [call for call in calls if call.args and ast.unparse(call.args[0]) == "'MAX_SNAP'"]
    assert [len(call.args) for call in asked] == [2]  # no default
