"""``metricdp bench``: gaps against all choices, tables that say what the JSON says."""

import gzip
import json
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.bench import p_median
from metricdp.errors import GraphFileError
from metricdp.universe.formats.tsplib import read_points
from tests import beside, cases, refuses
from tests.cli_world import fails, run, works
from tests.data import DATA, needs_data
from tests.naive import best_centers

REFUSED = beside(__file__, "refused.toml")
POINTS = np.random.default_rng(4).integers(0, 60, (14, 2)).astype(float)


def text(points, kind="EUC_2D"):
    nodes = "".join(f"{i + 1} {x:.1f} {y:e}\n" for i, (x, y) in enumerate(points))
    head = f"NAME : tiny14\nTYPE : TSP\nDIMENSION : {len(points)}\nEDGE_WEIGHT_TYPE : {kind}\n"
    return f"{head}NODE_COORD_SECTION\n{nodes}EOF\n"


def least(p):
    costs = np.array([[int(np.hypot(*(a - b))) for a in POINTS] for b in POINTS])
    return int(best_centers(costs, np.ones(len(POINTS)), p)[1])


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
    lines = "".join(f" {i} {j} {cost} \n" for i, j, cost in edges)
    return f" {n} {len(edges)} {k} \n{lines}", int(best_centers(distance, np.ones(n), k)[1])


def state(folder, rows):
    lines = "".join(f"{name},{p},{cost}\n" for name, p, cost in rows)
    (folder / p_median.TABLE).write_text("instance,p,opt_or_best_known\n" + lines)


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A folder orlib with instances 1, 2 and 10 and their optima, which the library's own have not
    got; and points. The working directory is its parent.
    """
    folder = tmp_path / "orlib"
    folder.mkdir()
    optima = []
    for number, (n, k) in {1: (12, 2), 2: (14, 3), 10: (9, 9)}.items():
        content, optimum = instance(n, k, number)
        (folder / f"pmed{number}.txt").write_text(content)
        optima.append((f"pmed{number}", k, optimum))
    (folder / "pmed2.txt.gz").write_bytes(gzip.compress((folder / "pmed2.txt").read_bytes()))
    (folder / "pmed2.txt").unlink()
    (folder / "tiny14.tsp").write_text(text(POINTS))
    state(folder, [*optima, *(("tiny14", p, least(p)) for p in (2, 3))])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(p_median.datasets, "names", list)
    return folder


def measured(capsys, options="", suite="pmed"):
    return run(capsys, "bench", suite, "orlib", *options.split())


def reported(capsys, options="", suite="pmed"):
    ran = measured(capsys, f"--json {options}", suite)
    assert (ran.status, ran.err) == (0, "")
    return ran.json


def test_all_instances_of_a_folder_in_order_against_brute_force(library, capsys):
    rows = reported(capsys)["rows"]
    expected = [("pmed1", 12, 2), ("pmed2", 14, 3), ("pmed10", 9, 9)]
    assert [(row["instance"], row["n"], row["p"]) for row in rows] == expected
    assert [row["best_known"] for row in rows] == [instance(12, 2, 1)[1], instance(14, 3, 2)[1], 0]
    for row in rows[:2]:
        assert row["gap_percent"] == pytest.approx(100 * (row["cost"] / row["best_known"] - 1))
        assert row["gap_percent"] >= 0
        assert 0 < row["seconds"] < 60


def test_files_ask_for_their_own_p_and_their_folder_states_optima(library, capsys):
    (library / p_median.TABLE).unlink()
    content, optimum = instance(12, 4, 5)
    (library / "pmed1.txt").write_text(content)  # no copy of the library's own
    optima = library / p_median.OPTIMA
    optima.write_text(f"pmed1 {optimum}\n  pmed10   0 \nPmed 3\n")
    found = reported(capsys)
    expected = [(4, optimum), (3, None), (9, 0)]
    assert [(row["p"], row["best_known"]) for row in found["rows"]] == expected
    assert [(row["k"], row["optimum"]) for row in found["rows"]] == expected
    assert found["summary"]["optimal"] == found["summary"]["at_best_known"]
    optima.write_text("no optimum\n")
    assert "expected lines such as 'pmed1 5819'" in measured(capsys).err


def test_gaps_and_proofs_against_all_choices(library, capsys):
    found = reported(capsys, "--exact --effort thorough", "tsplib")
    assert [(row["p"], row["cost"]) for row in found["rows"]] == [(2, least(2)), (3, least(3))]
    assert all(row["gap_percent"] == row["proven_percent"] == 0 for row in found["rows"])
    assert found["summary"]["at_best_known"] == found["summary"]["proven_optimal"] == 2


def test_the_table_says_what_the_json_says(library, capsys):
    ran = measured(capsys, "--instances 1-2")
    lines = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    heads = "instance n p best known cost gap % bound proven % seconds"
    assert lines[0].split() == heads.split()
    for line, row in zip(lines[1:3], reported(capsys, "--instances 1-2")["rows"]):
        shown = line.split()
        assert shown[:4] == [row["instance"], str(row["n"]), str(row["p"]), str(row["best_known"])]
        assert float(shown[4]) == row["cost"] and shown[6:8] == ["-", "-"]
        assert float(shown[5]) == pytest.approx(row["gap_percent"], abs=5e-5)
    assert len({len(line) for line in lines[:3]}) == 1  # aligned
    assert lines[3] == "" and lines[4] == "2 problems, the best cost is known of 2"
    assert re.fullmatch(r"at the best known: [0-2]; within 0.1 %: [0-2]", lines[5])
    assert re.fullmatch(r"gap: mean [0-9.]+ %, worst [0-9.]+ %", lines[6])
    assert re.fullmatch(r"time: [0-9.]+ s in the solver, [0-9.]+ s in all", lines[7])


def test_the_summary_counts_gaps():
    """Planted optima: one reached, one missed by a bit less than 0.1 %, one by more."""
    row = {"instance": "a", "proven_percent": None, "seconds": 0.1}
    rows = [{**row, "gap_percent": gap} for gap in (0.09, 0.0, 100.0, None)]
    found, lines = p_median.summary(rows, 0.0)
    counts = ("problems", "with_known_value", "at_best_known", "within_0.1_percent")
    assert [found[name] for name in counts] == [4, 3, 1, 2]
    assert found["worst_gap_percent"] == pytest.approx(100.0)
    assert found["mean_gap_percent"] == pytest.approx((0.09 + 0 + 100) / 3)
    assert lines[2] == "gap: mean 33.3633 %, worst 100.0000 %"


def test_an_unknown_best_cost_is_a_dash_and_a_null(library, capsys):
    (library / p_median.TABLE).unlink()
    rows = reported(capsys, "--instances 1 -p 2,3")["rows"]
    assert [row["gap_percent"] for row in rows] == [None, None]
    lines = measured(capsys, "--instances 1 -p 2").out.splitlines()
    assert lines[1].split()[3] == lines[1].split()[5] == "-"
    assert "the best cost is known of 0" in lines[3] and "at the best" not in lines[4]
    assert str(least(4)) in measured(capsys, "--instances tiny14 -p 4 --effort 0.1", "tsplib").out


def test_a_cost_below_the_stated_optimum_is_pointed_out(library, capsys):
    state(library, [("pmed1", 2, 1_000_000)])
    last = measured(capsys).out.splitlines()[-1]
    assert last == "pmed1: the cost is below the best that is stated"


def test_instances_are_chosen_by_number():
    names = p_median.LIBRARIES["pmed"].names
    assert names("10,1") == ["pmed10", "pmed1"] and names("2,2") == ["pmed2"]
    assert names(" 1 - 2 ") == ["pmed1", "pmed2"]


@cases(("options", "message"), *REFUSED["options"])
def test_bad_input_is_one_line_and_status_2(library, capsys, options, message):
    (library.parent / "empty").mkdir()
    ran = fails(capsys, message, f"bench {options} --output out.json")
    assert len(ran.lines) == 1


@cases(("name", "content", "message"), *REFUSED["files"])
def test_a_bad_file_is_named(library, capsys, name, content, message):
    (library / name).write_text(content)
    ran = measured(capsys)
    assert (ran.status, ran.out, len(ran.lines)) == (2, "", 1) and message in ran.err


@pytest.mark.parametrize(
    "broken", [text(POINTS, "GEO"), text(POINTS).replace(": 14", ": 15"), "no", text(POINTS)[:-60]]
)
def test_broken_points_are_refused(tmp_path, broken):
    path = tmp_path / "a.tsp"
    path.write_text(broken)
    refuses("", read_points, path, error=GraphFileError)


def test_help_and_a_missing_suite(capsys):
    assert "pmed" in run(capsys, "bench", "--help").out
    assert run(capsys, "bench").status == run(capsys, "bench", "nothing").status == 2


@needs_data
def test_real_instances_without_a_folder_are_near_their_optima(capsys, monkeypatch, here):
    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    found = works(capsys, "bench", "pmed", "--instances", "1-10", "--json").json
    assert [row["best_known"] for row in found["rows"][:2]] == [5819, 4093]
    assert found["summary"]["with_known_value"] == found["summary"]["within_0.1_percent"] == 10
    assert found["summary"]["at_best_known"] >= 9
    assert all(row["gap_percent"] >= -1e-9 for row in found["rows"])


def test_ctrl_c_keeps_what_is_done(library, capsys, monkeypatch):
    real = mdp.k_median

    def until_the_third(*args, **options):
        if options["k"] == 9:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(mdp, "k_median", until_the_third)
    ran = measured(capsys, "--output out.json")
    interrupted = "interrupted after 2 of 3 problems"
    assert (ran.status, ran.err) == (130, f"metricdp: wrote out.json\nmetricdp: {interrupted}\n")
    written = json.loads(Path("out.json").read_text())
    assert [row["instance"] for row in written["rows"]] == ["pmed1", "pmed2"]
    assert "2 problems, " in ran.out
    assert written["unfinished"] == interrupted
    nothing = measured(capsys, "--instances 10 --output none.json")
    assert (nothing.status, nothing.out, nothing.err) == (130, "", "metricdp: interrupted\n")
    assert not Path("none.json").exists()
