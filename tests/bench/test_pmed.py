"""``metricdp bench``: gaps against brute force, tables that say what the JSON says."""

import gzip
import itertools
import json
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.bench import pmed
from tests import cases
from tests.cli_world import run
from tests.data import DATA

needs_data = pytest.mark.skipif(
    not (DATA / "pmed").is_dir(), reason="real data not found; set METRICDP_DATA to its folder"
)


def instance(n, k, seed):
    """A random instance with repeated edges as text, and its optimum by trying all centers (of a
    repeated edge the last cost counts).
    """
    rng = np.random.default_rng(seed)
    edges = [(i, i + 1, int(rng.integers(1, 100))) for i in range(1, n)]
    edges += [
        (*map(int, rng.choice(n, 2, replace=False) + 1), int(rng.integers(1, 100)))
        for _ in range(n)
    ]
    edges += [(i, j, cost + 50) for i, j, cost in edges[: n // 2]]
    graph = nx.Graph()
    for i, j, cost in edges:
        graph.add_edge(i, j, cost=cost)
    distance = np.asarray(nx.floyd_warshall_numpy(graph, nodelist=range(1, n + 1), weight="cost"))
    best = min(
        distance[:, list(centers)].min(axis=1).sum()
        for centers in itertools.combinations(range(n), k)
    )
    return f" {n} {len(edges)} {k} \n" + "".join(
        f" {i} {j} {cost} \n" for i, j, cost in edges
    ), int(best)


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A folder orlib with instances 1, 2 and 10 and their optima; the working directory is its
    parent.
    """
    folder = tmp_path / "orlib"
    folder.mkdir()
    optima = ["Data file   Optimal solution value"]
    for number, (n, k) in {1: (12, 2), 2: (14, 3), 10: (9, 9)}.items():
        text, optimum = instance(n, k, number)
        (folder / f"pmed{number}.txt").write_text(text)
        optima.append(f"pmed{number}       {optimum}")
    (folder / "pmed2.txt.gz").write_bytes(gzip.compress((folder / "pmed2.txt").read_bytes()))
    (folder / "pmed2.txt").unlink()
    (folder / "pmedopt.txt").write_text("\n".join(optima) + "\n")
    (folder / "pmedcap1.txt").write_text("another problem")
    monkeypatch.chdir(tmp_path)
    return folder


def measured(capsys, options=""):
    return run(capsys, "bench", "pmed", "orlib", *options.split())


def rows_of(capsys, options=""):
    ran = measured(capsys, f"--json {options}")
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)["rows"]


def test_all_instances_of_a_folder_in_order_against_brute_force(library, capsys):
    rows = rows_of(capsys)
    expected = [("pmed1", 12, 2), ("pmed2", 14, 3), ("pmed10", 9, 9)]
    assert [(row["instance"], row["n"], row["k"]) for row in rows] == expected
    assert [row["optimum"] for row in rows] == [instance(12, 2, 1)[1], instance(14, 3, 2)[1], 0]
    for row in rows[:2]:
        assert row["gap_percent"] == pytest.approx(100 * (row["cost"] / row["optimum"] - 1))
        assert row["gap_percent"] >= 0
        assert 0 < row["seconds"] < 60


def test_the_table_says_what_the_json_says(library, capsys):
    ran = measured(capsys, "--instances 1-2")
    lines = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert lines[0].split() == "instance n k optimum cost gap % seconds".split()
    for line, row in zip(lines[1:3], rows_of(capsys, "--instances 1-2")):
        shown = line.split()
        assert shown[:4] == [row["instance"], str(row["n"]), str(row["k"]), str(row["optimum"])]
        assert float(shown[4]) == row["cost"]
        assert float(shown[5]) == pytest.approx(row["gap_percent"], abs=5e-4)
    assert len({len(line) for line in lines[:3]}) == 1  # aligned
    assert lines[3] == "" and lines[4] == "2 instances, the optimum is known of 2"
    assert re.fullmatch(r"exactly optimal: [0-2]; within 0.1 %: [0-2]", lines[5])
    assert re.fullmatch(r"gap: mean [0-9.]+ %, worst [0-9.]+ %( \(pmed[12]\))?", lines[6])
    assert re.fullmatch(r"time: [0-9.]+ s in the solver, [0-9.]+ s in all", lines[7])


def test_the_summary_counts_gaps():
    """Planted optima: one reached, one missed by a bit less than 0.1 %, one by more."""

    def reported(*costs_and_optima):
        rows = [
            {
                "instance": f"pmed{i}",
                "optimum": optimum,
                "gap_percent": 100 * (cost / optimum - 1),
                "seconds": 0.1,
            }
            for i, (cost, optimum) in enumerate(costs_and_optima, start=1)
        ]
        return pmed._summary(rows, 0.0)

    report, lines = reported((100_090, 100_000), (77, 77), (2.0, 1))
    assert report["optimal"] == 1 and report["within_0.1_percent"] == 2
    assert report["worst_gap_percent"] == pytest.approx(100.0)
    assert report["mean_gap_percent"] == pytest.approx((0.09 + 0 + 100) / 3)
    assert lines[2] == "gap: mean 33.3633 %, worst 100.000 % (pmed3)"
    assert reported((5.0, 5))[1][2] == "gap: mean 0.0000 %, worst 0.000 %"


def test_an_unknown_optimum_is_a_dash_and_a_null(library, capsys):
    (library / "pmedopt.txt").unlink()
    assert [row["gap_percent"] for row in rows_of(capsys)] == [None, None, None]
    ran = measured(capsys)
    assert ran.out.splitlines()[1].split()[3::2] == ["-", "-"]
    assert "the optimum is known of 0" in ran.out and "optimal:" not in ran.out


def test_a_cost_below_the_stated_optimum_is_pointed_out(library, capsys):
    (library / "pmedopt.txt").write_text(f"pmed1 1000000\npmed2 {instance(14, 3, 2)[1]}\n")
    last = measured(capsys, "--instances 1,2").out.splitlines()[-1]
    assert last == "pmed1: the cost is below the stated optimum, which is of another graph"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("10,1", ["pmed1", "pmed10"]), (" 1 - 2 ", ["pmed1", "pmed2"]), ("2,2", ["pmed2"])],
)
def test_instances_are_chosen_by_number(library, text, numbers):
    assert [row["instance"] for row in pmed.run(library, instances=text).rows] == numbers


@cases(
    ("options", "message"),
    (["nowhere"], "nowhere is not a folder"),
    (["empty"], "no file pmed1.txt"),
    (["orlib", "--instances", "1-3"], "orlib has no pmed3.txt"),
    (["orlib", "--instances", "41"], "from 1 to 40"),
    (["orlib", "--instances", "5-1"], "from 1 to 40"),
    (["orlib", "--instances", "1;2"], "from 1 to 40"),
    (["orlib", "--instances", ""], "from 1 to 40"),
    (["orlib", "--seed", "-1"], "--seed"),
    (["orlib", "--time-limit", "0"], "time_limit must be"),
    (["orlib", "--time-limit", "soon"], "--time-limit"),
    (["orlib", "--output", "empty"], "is a directory"),
    (["orlib", "extra"], "unrecognized arguments"),
)
def test_bad_input_is_one_line_and_status_2(library, capsys, options, message):
    (library.parent / "empty").mkdir()
    output = [] if "--output" in options else ["--output", "out.json"]
    ran = run(capsys, "bench", "pmed", *options, *output)
    assert (ran.status, ran.out, len(ran.lines)) == (2, "", 1)
    assert ran.err.startswith("metricdp: error: ") and message in ran.err
    assert not Path("out.json").exists()


@cases(
    ("name", "text", "message"),
    ("pmed1.txt", "3 1 1\n1 2 x\n", "pmed1.txt, line 2: expected 'i j cost'"),
    ("pmed1.txt", "4 1 1\n1 2 5\n", "disconnected"),
    ("pmedopt.txt", "nothing here", "pmedopt.txt: expected lines such as"),
)
def test_a_bad_file_is_named(library, capsys, name, text, message):
    (library / name).write_text(text)
    ran = measured(capsys)
    assert (ran.status, ran.out, len(ran.lines)) == (2, "", 1) and message in ran.err


def test_help_and_a_missing_suite(capsys):
    assert "pmed" in run(capsys, "bench", "--help").out
    assert run(capsys, "bench").status == run(capsys, "bench", "nothing").status == 2


@needs_data
def test_without_a_folder_the_data_sets_are_used(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    monkeypatch.chdir(tmp_path)
    ran = run(capsys, "bench", "pmed", "--instances", "1,2", "--json")
    assert [row["optimum"] for row in json.loads(ran.out)["rows"]] == [5819, 4093]


@needs_data
def test_real_instances_are_near_their_optima():
    report = pmed.run(DATA / "pmed", instances="1-10")
    assert report.summary["with_known_optimum"] == report.summary["within_0.1_percent"] == 10
    assert report.summary["optimal"] >= 9
    assert all(row["gap_percent"] >= -1e-9 for row in report.rows)


def test_ctrl_c_keeps_what_is_done(library, capsys, monkeypatch):
    real = mdp.k_median

    def until_the_third(*args, **options):
        if options["k"] == 9:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(mdp, "k_median", until_the_third)
    ran = measured(capsys, "--output out.json")
    interrupted = "interrupted after 2 of 3 instances"
    assert (ran.status, ran.err) == (130, f"metricdp: wrote out.json\nmetricdp: {interrupted}\n")
    written = json.loads(Path("out.json").read_text())
    assert [row["instance"] for row in written["rows"]] == ["pmed1", "pmed2"]
    assert "2 instances, " in ran.out
    assert written["unfinished"] == interrupted
    nothing = measured(capsys, "--instances 10 --output none.json")
    assert (nothing.status, nothing.out, nothing.err) == (130, "", "metricdp: interrupted\n")
    assert not Path("none.json").exists()
