"""How commands read graphs: directions kept, used both ways, or refused."""

import os

import pytest

from tests.cli_world import fails, works

RING = "from,to,time,oneway\na,b,1,1\nb,c,2,1\nc,a,4,1\nc,d,1,0\nd,e,1,1\n"
ASK = "cluster ring.csv -k 1"
DIRECTED = f"{ASK} --directed --largest-component"


@pytest.fixture
def ring(here):
    (here / "ring.csv").write_text(RING, encoding="utf-8")
    (here / "few.csv").write_text("vertex\n" + "a\n" * 9 + "b\n" * 8, encoding="utf-8")
    (here / "many.csv").write_text("vertex\n" + "a\n" * 9000 + "b\n" * 8000, encoding="utf-8")


def test_directed_graphs_are_refused_by_default(ring, capsys):
    for option in ("--directed", "--symmetrize"):
        fails(capsys, option, ASK)


def test_directions_are_kept(ring, capsys):
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
