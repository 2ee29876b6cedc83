"""How commands read universes: directions kept, used both ways, or refused; tables of sites ×
clients; graphs of which few vertices have a place, and data of another town than its network.
"""

import ast
import inspect
import json
import os
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.cli import build_parser, main
from metricdp.cli.sites import read_areas
from metricdp.errors import InputError, ShatteredGraphError
from metricdp.universe.graph import build_graph
from tests import refuses
from tests.cli_world import build_road, fails, run, works

RING = "from,to,time,oneway\na,b,1,1\nb,c,2,1\nc,a,4,1\nc,d,1,0\nd,e,1,1\n"
ASK = "cluster ring.csv -k 1"
DIRECTED = f"{ASK} --directed --largest-component"


@pytest.fixture
def ring(here):
    (here / "ring.csv").write_text(RING, encoding="utf-8")
    (here / "few.csv").write_text("vertex\n" + "a\n" * 9 + "b\n" * 8, encoding="utf-8")
    (here / "many.csv").write_text("vertex\n" + "a\n" * 9000 + "b\n" * 8000, encoding="utf-8")


def test_directions_are_refused_by_default_and_kept_if_asked(ring, capsys):
    for option in ("--directed", "--symmetrize"):
        fails(capsys, option, ASK)
    torn = "not strongly connected: 2 strongly connected components of 4, 1 vertices"
    fails(capsys, torn, ASK, "--directed")
    # there from a to b takes 1, from b to a 6
    demand = ("--demand", "few.csv", "--non-private")
    assert works(capsys, DIRECTED, *demand).json["centers"] == ["b"]
    assert works(capsys, DIRECTED, "--direction", "from-center", *demand).json["centers"] == ["a"]
    assert "4 vertices, 5 arcs" in works(capsys, DIRECTED, "--direction", "round-trip").err


def test_a_private_answer_is_directed(ring, capsys):
    asked = (DIRECTED, "--demand", "many.csv", "--epsilon", "1")
    assert works(capsys, *asked).json["centers"] == ["b"]
    fails(capsys, "same in both directions", *asked, "--method", "local-search")


def test_symmetrizing_is_reported(ring, capsys):
    said = works(capsys, ASK, "--symmetrize", "--largest-component").err
    assert "symmetrized: 4 arcs had no reverse and 0 one of another length" in said
    assert "in the median, at most" in said
    fails(capsys, "", ASK, "--symmetrize", "--directed")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_private_demand_is_not_read_from_a_pipe(ring, capsys):
    os.mkfifo("pipe.csv")
    fails(capsys, "is a pipe", ASK, "--symmetrize", "--demand", "pipe.csv", "--epsilon", "1")


SITES, CLIENTS = ["a", "b", "c"], ["x", "y", "z", "w"]
COSTS = np.array([[5.0, 9, 1, 4], [2, 7, 4, 4], [8, 1, 3, 9]])


@pytest.fixture
def files(here):
    pairs = [f"{s},{c},{COSTS[i, j]}" for i, s in enumerate(SITES) for j, c in enumerate(CLIENTS)]
    Path("long.csv").write_text("\n".join(["from_id,to_id,travel_time", *pairs]))
    rows = [f"{s},{','.join(map(str, COSTS[i]))}" for i, s in enumerate(SITES)]
    Path("wide.csv").write_text("\n".join(["site," + ",".join(CLIENTS), *rows]))
    Path("w.csv").write_text("vertex,weight\nx,3\ny,2\nw,1\n")
    Path("two.csv").write_text("vertex\na\nb\n")
    Path("room.csv").write_text("vertex,capacity\na,4\nb,4\nc,3\n")

    Path("people.csv").write_text("vertex\n" + "x\n" * 500 + "y\n" * 400)
    return here


@pytest.mark.parametrize("name", ["long.csv", "wide.csv"])
def test_public_objectives(name, files, capsys):
    table = mdp.CostTable(COSTS, SITES, CLIENTS)
    call = ["cluster", name, "--format", "costs", "--weights", "w.csv", "-k", "2"]
    weights = {"x": 3, "y": 2, "w": 1}
    found = run(capsys, *call, "--candidates", "two.csv").json
    same = mdp.solve(table, mdp.objectives.KMedian(2), weights=weights, candidates=["a", "b"])
    assert (found["centers"], found["value"]) == (same.centers, same.value)
    found = run(capsys, *call, *["--objective", "capacitated", "--capacity", "room.csv"]).json
    objective = mdp.objectives.Capacitated(2, {"a": 4, "b": 4, "c": 3})
    same = mdp.solve(table, objective, weights=weights)
    assert (found["centers"], found["value"]) == (same.centers, same.value)


def test_sites_and_clients_can_be_swapped(files, capsys):
    call = ["cluster", "long.csv", "--format", "costs", "--source", "to_id", "--target", "from_id"]
    found = run(capsys, *call, "-k", "1", "--objective", "p-center").json
    assert found["centers"] == ["z"] and found["value"] == 4


def test_private_demand(files, capsys):
    call = ["cluster", "wide.csv", "--format", "costs", "-k", "2", "--objective", "max-coverage"]
    found = run(capsys, *call, *["--limit", "2", "--demand", "people.csv", "--epsilon", "5"]).json
    # noise of e^-5 a unit cannot turn 400 records over: below 1e-100
    assert sorted(found["centers"]) == ["b", "c"] and found["weights"] == "noisy"


def test_costs_have_a_unit_and_a_proof(files, capsys):
    call = ["cluster", "wide.csv", "--format", "costs", "-k", "2", "--weights", "w.csv"]
    limits = ["--objective", "max-coverage", "--limit", "180 s", "--measured-in", "min"]
    found = run(capsys, *call, *limits).json
    assert found["distance_unit"] == "min" and found["value"] == 5  # a serves y within 3, b x
    ran = run(capsys, *call, "--exact")
    assert ran.status == 0 and "proven optimal" in ran.err


def test_a_private_answer_on_a_table_is_reported_with_its_estimates(here, capsys):
    """Centers are sites, and no points of the universe: nothing paid is lost on their way out."""
    rng = np.random.default_rng(3)
    costs = rng.integers(1, 90, (9, 40))
    rows = "\n".join(f"site {i}," + ",".join(map(str, row)) for i, row in enumerate(costs))
    Path("t.csv").write_text("site," + ",".join(f"c{i}" for i in range(40)) + f"\n{rows}\n")
    Path("d.csv").write_text("client\n" + "".join(f"c{i}\n" for i in rng.integers(0, 40, 3000)))
    asked = "cluster t.csv --format costs --demand d.csv --demand-column client -k 3 --epsilon 2"
    assert main([*asked.split(), "--coreset", "weights.csv"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert set(reported["centers"]) <= {f"site {i}" for i in range(9)}
    assert reported["estimates"]["mean"]["low"] > 0
    told_of = {row.split(",")[0] for row in Path("weights.csv").read_text().splitlines()[1:]}
    assert told_of and told_of <= {f"c{i}" for i in range(40)}
    for option in (["--stability"], ["--output", "plan.html"]):
        fails(capsys, "table of costs", *asked.split(), "--ledger", "l.journal", *option)


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


def test_weights_of_a_demand_file_are_told_to_be_unread(here, capsys):
    """As a file of public demand has them, or a coreset."""
    build_road(here, 9, ["3,7", "5,9"], "vertex,weight")
    call = "cluster roads.csv -k 1 --demand homes.csv"
    said = "the column 'weight' of homes.csv is not read: each row is one record"
    assert said in works(capsys, call, "--epsilon", "1").err
    assert said in works(capsys, call, "--non-private").err
    assert said not in works(capsys, call, "--demand-column", "weight", "--non-private").err


def test_vertices_are_named_in_a_table_of_numbers_as_they_are_in_the_graph(here, capsys):
    """The weight of 1.10 went to 1.1."""
    roads = "from,to,length\nA,1.1,1\n1.1,1.2,1\n1.2,1.10,1\n1.10,B,1\n"
    (here / "zones.csv").write_text(roads, encoding="utf-8")
    (here / "weights.csv").write_text("vertex,weight\n1.10,9\n1.2,1\n", encoding="utf-8")
    found = works(capsys, "cluster zones.csv -k 1 --weights weights.csv").json
    assert found["centers"] == ["1.10"]
    table = read_areas("weights.csv", "weight", mdp.read_graph("zones.csv"))
    assert table == {"1.10": "9", "1.2": "1"}


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
    there = town_at((13.4, 52.5))
    refuses("another town", lambda: mdp.PrivateDemand.from_frame(there, frame, **fiji))


def test_coordinates_without_a_limit_are_noted_before_the_charge(world, capsys):
    call = ["cluster", "roads.csv", "--nodes", "nodes.csv", "--demand", "homes.csv", "-k", "2"]
    call += ["--epsilon", "1", "--x", "lon", "--y", "lat"]
    said = run(capsys, *call).lines
    note = next(i for i, line in enumerate(said) if "--max-snap 2km leaves it out" in line)
    assert note < next(i for i, line in enumerate(said) if "spent epsilon" in line)
    place = '{"type": "Point", "coordinates": [-71.3, -29.9]}'
    home = f'{{"type": "Feature", "properties": {{}}, "geometry": {place}}}'
    Path("homes.geojson").write_text(f'{{"type": "FeatureCollection", "features": [{home}]}}')
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
    named = commands.values()  # type: ignore[union-attr]
    snapping = [one for one in named if "--max-snap" in one._option_string_actions]
    limits = [one.get_default("max_snap") for one in snapping]
    assert len(limits) >= 3 and set(limits) == {None}
    plugin = Path(__file__).parents[2] / "qgis" / "metricdp_qgis" / "algorithms.py"
    calls = [node for node in ast.walk(ast.parse(plugin.read_text())) if isinstance(node, ast.Call)]
    asked = [call for call in calls if call.args and ast.unparse(call.args[0]) == "'MAX_SNAP'"]
    assert [len(call.args) for call in asked] == [2]  # no default
