"""``metricdp cluster TABLE --format costs``: tables of sites × clients, long ones and matrices."""

import json
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.cli import main
from tests import cases
from tests.cli_world import fails, run

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
    Path("below.csv").write_text("vertex,capacity\na,4\nb,-4\nc,3\n")
    Path("hole.csv").write_text("site,x,y\na,5,\nb,2,7\n")
    Path("minus.csv").write_text("site,x,y\na,5,-1\nb,2,7\n")
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


@cases(
    ("options", "rule"),
    ("long.csv -k 9", "has only 3 sites"),
    ("long.csv -k 1 --symmetrize", "--symmetrize is about graphs"),
    ("long.csv -k 1 --map m.html", "--map needs a graph"),
    ("hole.csv -k 1", "say what a pair costs that cannot be reached (--unreachable)"),
    ("minus.csv -k 1", "costs must not be negative; 1 are"),
    ("two.csv -k 1", "name two of them (--source, --target)"),
    ("long.csv -k 1 --weight seconds", "no column 'seconds'"),
    ("long.csv -k 1 --limit 3min", "not known what distances"),
    ("long.csv -k 2 --objective capacitated --capacity 1", "below the demand"),
    ("long.csv -k 2 --objective capacitated --capacity below.csv", "not negative"),
    ("long.csv --objective facility-location --opening-costs -3", "not negative"),
    ("long.csv --objective set-cover --limit 0.5", "no choice of sites covers all demand"),
)
def test_bad_calls_get_one_line(options, rule, files, capsys):
    fails(capsys, rule, "cluster", *options.split(), "--format", "costs")


def test_costs_have_a_unit_and_a_proof(files, capsys):
    call = ["cluster", "wide.csv", "--format", "costs", "-k", "2", "--weights", "w.csv"]
    limits = ["--objective", "max-coverage", "--limit", "180 s", "--measured-in", "min"]
    found = run(capsys, *call, *limits).json
    assert found["distance_unit"] == "min" and found["value"] == 5  # a serves y within 3, b x
    ran = run(capsys, *call, "--exact")
    assert ran.status == 0 and "proven optimal" in ran.err


def test_other_commands_want_a_graph(files, capsys):
    table = ("long.csv", "--format", "costs", "--records", "99")
    fails(capsys, "is for metricdp cluster", "plan", *table, "-k", "1")
    Path("roads.csv").write_text("from,to,length\na,b,1\n")
    asked = ("cluster", "roads.csv", "-k", "1", "--unreachable", "3")
    fails(capsys, "--unreachable is for --format costs", *asked)


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
