"""On a terminal people get tables; pipes, files and ``--json`` get JSON."""

import json
import sys

import pytest

from tests import cases
from tests.cli_world import CANARIES, build_world, run

GRAPH = ["roads.csv", "--nodes", "nodes.csv"]
PRIVATE = ["cluster", *GRAPH, "-k", "2", "--demand", "homes.csv", "--epsilon", "4"]


@pytest.fixture
def world(here, monkeypatch, capsys):
    build_world(here)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: self is sys.stdout, raising=False)
    return here


def test_private_centers_are_a_table_on_a_terminal(world, capsys):
    ran = run(capsys, *PRIVATE, "--output", "out.json")
    lines = ran.out.splitlines()
    assert lines[0].split("  ")[-1].strip() == "mean distance" and "records (noisy)" in lines[0]
    assert {line.split()[1] for line in lines[1:3]} == {"100", "124"}
    assert all("-71." in line and line.endswith(" m") for line in lines[1:3])
    assert any(line.startswith("mean distance") and "95 % credible" in line for line in lines)
    assert any(line.startswith("receipt: epsilon 4 per record") for line in lines)
    assert len(lines) < 20 and max(map(len, lines[:6])) < 80
    assert sorted(json.loads((world / "out.json").read_text())["centers"]) == [100, 124]
    assert not [canary for canary in CANARIES if canary in ran.out and canary != "-71.3002"]
    assert sorted(run(capsys, *PRIVATE, "--json").json["centers"]) == [100, 124]


@pytest.mark.parametrize("wide", [50, 80, 140])
def test_nothing_is_wider_than_the_terminal(wide, world, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(wide))
    out = run(capsys, *PRIVATE).out
    assert "discrete Laplace" in out.replace("\n    ", " ") and "receipt: epsilon 4" in out
    assert max(map(len, out.splitlines())) <= wide


@cases(
    ("words", "said"),
    ("-k 2", "demand"),
    ("-k 2 --objective p-center", "p-center: "),
    ("-k 2 --certificate", "proven"),
    ("-k 2 --limit 300m", "k-median: "),
)
def test_public_centers_too(words, said, world, capsys):
    ran = run(capsys, "cluster", *GRAPH, *words.split(), "-q")
    assert ran.status == 0 and said in ran.out and "receipt" not in ran.out
    assert ran.out.splitlines()[0].split()[:1] == ["center"]


def test_figures_are_reported_once(world, capsys):
    (world / "c.json").write_text("[100]")
    call = ["evaluate", *GRAPH, "--demand", "homes.csv", "--centers", "c.json"]
    ran = run(capsys, *call, "--epsilon", "4")
    assert ran.out.count("mean distance") == 1 and "mean distance" not in ran.err
    assert "receipt: epsilon 4" in ran.out
    assert run(capsys, *call, "--epsilon", "4", "--json").json["k"] == 1
    exact = run(capsys, *call).out
    assert " m\n" in exact and "none: exact" in exact and "{" not in exact


def test_plans_and_prices_are_tables(world, capsys):
    call = ["plan", *GRAPH, "--records", "500", "-k", "2", "--epsilons", "4", "--repeats", "1"]
    ran = run(capsys, *call)
    assert ran.out.split()[:2] == ["epsilon", "median"] and "9 in 10" not in ran.err
    call = ["explore", *GRAPH, "--demand", "homes.csv", "-k", "2", "--epsilons", "1,2"]
    ran = run(capsys, *call, "--dry-run")
    assert "epsilon        3\n" in ran.out and "charged        no" in ran.out
    ran = run(capsys, *call, "--repeats", "1", "--output", "page.html")
    head, strong, weak = (line.split("  ") for line in ran.out.splitlines()[:3])
    assert [cell.strip() for cell in head if cell][:3] == ["level", "epsilon", "mean distance"]
    assert strong[-1].endswith(" m") and weak[-1].endswith(" m")
    assert "receipt: epsilon 3" in ran.out and "{" not in ran.out


def test_wide_tables_are_cut_into_pieces_that_fit(world, capsys, monkeypatch):
    call = ["plan", *GRAPH, "--records", "500", "-k", "2", "--epsilons", "1,4", "--repeats", "1"]
    for columns, pieces in ((80, 2), (140, 1)):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = run(capsys, *call, "-q").out.splitlines()
        assert max(map(len, lines)) <= columns
        assert sum(line.startswith("epsilon  ") for line in lines) == pieces
        assert sum(line.startswith("no data  ") for line in lines) == pieces


def test_facts_of_other_commands_are_lines(world, capsys):
    ran = run(capsys, "tree", *GRAPH, "--output", "t.hst", "-q")
    assert ran.out.splitlines()[0].split() == ["output", "t.hst"]
    ran = run(capsys, "stream init day.state", *GRAPH, "--epsilon", "4", "--horizon", "9")
    assert ran.status == 0 and "{" not in ran.out and "[" not in ran.out
