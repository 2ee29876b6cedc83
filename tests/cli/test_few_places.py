"""Graphs of which some vertices have a place, or none, and demand of which little is left."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.universe.graph import build_graph
from tests import refuses
from tests.cli_world import fails, run


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
