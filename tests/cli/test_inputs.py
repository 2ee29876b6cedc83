"""How commands read graphs: directions kept, used both ways, or refused."""

import json
import os

import pytest

from metricdp.cli import main

RING = "from,to,time,oneway\na,b,1,1\nb,c,2,1\nc,a,4,1\nc,d,1,0\nd,e,1,1\n"


@pytest.fixture
def ring(tmp_path):
    file = tmp_path / "ring.csv"
    file.write_text(RING, encoding="utf-8")
    return str(file)


def run(capsys, *arguments):
    status = main(["cluster", *arguments, "-k", "1"])
    out, err = capsys.readouterr()
    return status, json.loads(out)["centers"] if out else None, err


def test_directed_graphs_are_refused_by_default(ring, capsys):
    status, _, said = run(capsys, ring)
    assert status == 2
    assert "--directed" in said
    assert "--symmetrize" in said


def test_directions_are_kept(ring, capsys, tmp_path):
    status, _, said = run(capsys, ring, "--directed")
    assert status == 2
    assert "not strongly connected: 2 strongly connected components of 4, 1 vertices" in said
    options = (ring, "--directed", "--largest-component")
    homes = tmp_path / "homes.csv"
    homes.write_text("vertex\n" + "a\n" * 9 + "b\n" * 8, encoding="utf-8")
    # there from a to b takes 1, from b to a 6
    demand = ("--demand", str(homes), "--non-private")
    assert run(capsys, *options, *demand)[1] == ["b"]
    assert run(capsys, *options, "--direction", "from-center", *demand)[1] == ["a"]
    status, _, said = run(capsys, *options, "--direction", "round-trip")
    assert status == 0
    assert "4 vertices, 5 arcs" in said


def test_a_private_answer_is_directed(ring, capsys, tmp_path):
    homes = tmp_path / "homes.csv"
    homes.write_text("vertex\n" + "a\n" * 9000 + "b\n" * 8000, encoding="utf-8")
    options = (ring, "--directed", "--largest-component", "--demand", str(homes), "--epsilon", "1")
    assert run(capsys, *options)[1] == ["b"]
    status, _, said = run(capsys, *options, "--method", "local-search")
    assert status == 2
    assert "same in both directions" in said


def test_symmetrizing_is_reported(ring, capsys):
    status, _, said = run(capsys, ring, "--symmetrize", "--largest-component")
    assert status == 0
    assert "symmetrized: 4 arcs had no reverse and 0 one of another length" in said
    assert "in the median, at most" in said
    assert run(capsys, ring, "--symmetrize", "--directed")[0] == 2


def test_private_demand_is_not_read_from_a_pipe(ring, capsys, tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    pipe = str(tmp_path / "pipe.csv")
    os.mkfifo(pipe)
    status, _, said = run(capsys, ring, "--symmetrize", "--demand", pipe, "--epsilon", "1")
    assert status == 2 and "is a pipe" in said
